#!/usr/bin/env bash
# Writes man pages and completions to bin/share, by the program that they are
# about: they can't be stale. The same source gives the same bytes.
set -euo pipefail
cd "$(dirname "$0")/.."
mkdir -p bin
CGO_ENABLED=0 go build -o bin/man-holdfast ./cmd/holdfast
hf=bin/man-holdfast
rm -rf bin/share
mkdir -p bin/share/man/man1 bin/share/completions
"$hf" man --list >bin/share/pages
while read -r name rest; do
	page=bin/share/man/man1/$name${rest:+-${rest// /-}}.1.gz
	# shellcheck disable=SC2086 # the words of a command are its arguments
	"$hf" man $rest | gzip -9n >"$page"
done <bin/share/pages
rm bin/share/pages
"$hf" completion bash >bin/share/completions/holdfast.bash
"$hf" completion zsh >bin/share/completions/_holdfast
"$hf" completion fish >bin/share/completions/holdfast.fish
"$hf" completion powershell >bin/share/completions/holdfast.ps1
rm "$hf"
echo "$(find bin/share/man -name '*.gz' | wc -l) man pages and $(find bin/share/completions -type f | wc -l) completions in bin/share"
