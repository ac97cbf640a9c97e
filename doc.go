// Package holdfast is the module's top. It holds no code, only the tests that
// keep the house in order (arch_test.go). The program is in cmd/holdfast.
package holdfast
