#!/usr/bin/env bash
# Builds the last commit in two clones in two folders and compares the bytes, for
# each platform. With FULL=1 the second build uses no cache of the first.
set -euo pipefail
cd "$(dirname "$0")/.."
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
git clone -q --no-hardlinks . "$tmp/one"
git clone -q --no-hardlinks . "$tmp/another-folder"
build() { # folder, cache
	for platform in ${PLATFORMS:-linux/amd64 linux/arm64 darwin/arm64 windows/amd64}; do
		(cd "$tmp/$1" && env ${2:+GOCACHE="$2"} CGO_ENABLED=0 GOOS="${platform%/*}" GOARCH="${platform#*/}" \
			go build -trimpath -buildvcs=true -ldflags='-s -w' -o "out/$(tr / _ <<<"$platform")" ./cmd/holdfast)
	done
}
build one ""
build another-folder "${FULL:+$tmp/cache}"
go version -m "$tmp/one/out"/* | grep -q "vcs.revision=$(git rev-parse HEAD)" || { echo "no stamp of the commit" >&2; exit 1; }
(cd "$tmp/one/out" && sha256sum -- *) >"$tmp/sums"
cat "$tmp/sums"
(cd "$tmp/another-folder/out" && sha256sum --quiet -c "$tmp/sums")
echo "same bytes in both folders"
