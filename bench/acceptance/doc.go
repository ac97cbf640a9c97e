// Package acceptance holds the tests that run real coding tools against the
// files that setup writes. The model they talk to is scripted, in this process,
// on loopback; nothing of them is known to the rest of the program. The tests
// skip unless bench/acceptance.sh runs them, since the tools come from npm.
package acceptance
