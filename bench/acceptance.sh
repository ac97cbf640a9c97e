#!/usr/bin/env bash
# Real coding tools against the files that setup writes, with a scripted model on
# loopback: no login, no network. See bench/acceptance.
#
# ACCEPTANCE_CACHE=DIR keeps what npm installs (about 1.3 GB). ONLY=codex,claude
# runs some of the clients. Where npm can't be reached the script says so and
# ends with 0: look for the line "acceptance: passed".
set -euo pipefail
cd "$(dirname "$0")/.."

CLIENTS="codex=@openai/codex@0.171.0 claude=@anthropic-ai/claude-code@2.1.332 gemini=@google/gemini-cli@0.61.0 copilot=@github/copilot@1.0.102 opencode=opencode-ai@1.18.33"
cache=${ACCEPTANCE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/holdfast-acceptance}

skip() { echo "acceptance: SKIPPED, $1"; exit 0; }
command -v npm >/dev/null || skip "npm is not installed"
mkdir -p "$cache"
for c in $CLIENTS; do
	name=${c%%=*} pkg=${c#*=}
	[ "$(cat "$cache/$name/pinned" 2>/dev/null || true)" = "$pkg" ] && continue
	npm ping >/dev/null 2>&1 || skip "the npm registry can't be reached"
	echo "acceptance: installing $pkg"
	mkdir -p "$cache/$name"
	# Claude Code's engines ask for a newer Node than its native program needs.
	npm install --prefix "$cache/$name" --no-audit --no-fund --no-package-lock --force --loglevel=error "$pkg" >"$cache/$name.log" 2>&1 || { cat "$cache/$name.log" >&2; exit 1; }
	echo "$pkg" >"$cache/$name/pinned"
done

mkdir -p bin
CGO_ENABLED=0 go build -trimpath -o bin/holdfast ./cmd/holdfast
go test -c -o bin/acceptance.test ./bench/acceptance
export HOLDFAST_ACCEPTANCE=$cache HOLDFAST_BIN=$PWD/bin/holdfast ACCEPTANCE_ONLY=${ONLY:-}
alone=()
if unshare -rn ip link set lo up 2>/dev/null; then
	alone=(unshare -rn sh -c 'ip link set lo up; exec "$@"' sh) # nothing but loopback
else
	echo "acceptance: without a network name space; the clients could reach the network"
fi
cd bench/acceptance
"${alone[@]}" ../../bin/acceptance.test -test.v -test.count=1 -test.timeout 30m "$@"
echo "acceptance: passed"
