#!/usr/bin/env bash
# Runs every fuzz target for the time given, one after another.
set -euo pipefail
cd "$(dirname "$0")/.."
time=${1:-5s}
grep -rlE '^func Fuzz' --include='*_test.go' internal | sort | while read -r file; do
	grep -oE '^func (Fuzz[A-Za-z0-9_]+)' "$file" | awk '{print $2}' | while read -r target; do
		go test -run '^$' -fuzz "^$target\$" -fuzztime "$time" "./$(dirname "$file")" >/tmp/fuzz.$$ 2>&1 || { cat /tmp/fuzz.$$; rm -f /tmp/fuzz.$$; exit 1; }
		printf '%-60s %s\n' "$(dirname "$file") $target" "$(grep -oE 'execs: [0-9]+' /tmp/fuzz.$$ | tail -1)"
	done
done
rm -f /tmp/fuzz.$$
