#!/usr/bin/env bash
# Runs every fuzz target, for a number of executions (300x) or a time (10s) each.
# The minimiser is kept short: it can take minutes over one interesting input.
set -euo pipefail
cd "$(dirname "$0")/.."
budget=${1:-2000x}
log=$(mktemp)
trap 'rm -f "$log"' EXIT
grep -rlE '^func Fuzz' --include='*_test.go' internal | sort | while read -r file; do
	for target in $(grep -oE '^func Fuzz[A-Za-z0-9_]+' "$file" | awk '{print $2}'); do
		go test -run '^$' -fuzz "^$target\$" -fuzztime "$budget" -fuzzminimizetime 1x "./$(dirname "$file")" >"$log" 2>&1 || { cat "$log"; exit 1; }
		printf '%-60s %s\n' "$(dirname "$file") $target" "$(grep -oE 'execs: [0-9]+' "$log" | tail -1)"
	done
done
