// Package release holds the tests of what a release is made of: the packages
// for npm, the description for registries of MCP servers, man pages. The
// programs and configuration are in this folder, in npm and in .goreleaser.yaml.
package release
