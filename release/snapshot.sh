#!/usr/bin/env bash
# Builds everything that a release is made of, in dist, and publishes nothing;
# then tries it: the Debian package is installed in a scratch root and the rpm
# and apk are unpacked beside it; npm packages are made of the same programs.
set -euo pipefail
cd "$(dirname "$0")/.."
GORELEASER=github.com/goreleaser/goreleaser/v2@v2.15.1
CYCLONEDX=github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod@v1.10.0

[ -z "$(git status --porcelain)" ] || { echo "commit first: a release says which commit it is from" >&2; exit 1; }
[ -d .git ] || { echo "run this in a clone: in a linked worktree the go command leaves no stamp of the commit" >&2; exit 1; }
mkdir -p bin/tools
test -x bin/tools/cyclonedx-gomod || GOBIN=$PWD/bin/tools go install "$CYCLONEDX"
test -x bin/tools/goreleaser || GOBIN=$PWD/bin/tools go install "$GORELEASER"
bin/tools/goreleaser check
bin/tools/goreleaser release --snapshot --clean --skip=publish

version=$(sed -n 's/.*"version":"\([^"]*\)".*/\1/p' dist/metadata.json)
programs=()
for pair in linux_amd64:linux-x64 linux_arm64:linux-arm64 darwin_amd64:darwin-x64 darwin_arm64:darwin-arm64 windows_amd64:win32-x64 windows_arm64:win32-arm64; do
	programs+=("${pair#*:}=$(echo dist/holdfast_"${pair%:*}"_*/holdfast*)")
done
if command -v node >/dev/null; then
	node npm/build.mjs --version "$version" --owner "${HOLDFAST_OWNER:-OWNER}" --out dist/npm "${programs[@]}"
else
	echo "NOT made: npm packages (no node here)"
fi
(cd dist && sha256sum --quiet -c checksums.txt)
./release/try.sh
