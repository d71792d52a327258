#!/bin/sh
# Records each server scenario of the official conformance suite, and plays it to the server in other
# orders, over HTTP and over stdio:
#
#	run.sh FOLDER        the recordings go to FOLDER, and are made only where they are missing
#
# HTTP is the command of the server over HTTP, with %PORT for its port, STDIO the one on stdio, URL the
# path of its endpoint, ORDERS how many orders of each session are tried. By default the server is the one
# that the Go SDK has for this. mcprec and the suite (npm install) are in the PATH or beside this file.
set -eu
folder=${1:?name a folder for the recordings}
here=$(cd "$(dirname "$0")" && pwd)
PATH=$here/node_modules/.bin:$PATH
: "${ORDERS:=40}" "${URL:=/}" "${PORT:=3901}"
if [ -z "${HTTP:-}" ]; then
	GOBIN=$here/bin go install github.com/modelcontextprotocol/go-sdk/conformance/everything-server@v1.8.0
	PATH=$here/bin:$PATH
	HTTP='everything-server -http localhost:%PORT -stateless=false' STDIO=everything-server
fi
mkdir -p "$folder"
proxy=$((PORT + 1))

record() {
	# shellcheck disable=SC2046 # words on purpose
	$(echo "$HTTP" | sed "s/%PORT/$PORT/g") >"$folder/$1.log" 2>&1 &
	server=$!
	mcprec record --target "http://localhost:$PORT$URL" --listen "127.0.0.1:$proxy" -o "$folder/$1.jsonl" 2>>"$folder/$1.log" >"$folder/$1.url" &
	recorder=$!
	until [ -s "$folder/$1.url" ] && curl -s -o /dev/null "http://localhost:$PORT$URL"; do sleep 0.1; done
	rm "$folder/$1.url"
	conformance server --url "http://127.0.0.1:$proxy$URL" --scenario "$1" >>"$folder/$1.log" 2>&1 || echo "$1: the suite says that it fails, see $folder/$1.log"
	kill -INT $recorder
	wait $recorder || true
	kill $server
	wait $server 2>/dev/null || true
}

# say prints what a search found, a line for each finding, and how many orders it tried.
say() {
	printf '%-32s %-6s %s\n' "$(basename "$1" .jsonl)" "$2" "$(grep -E ' orders? of ' "$1.$2")"
	grep -E '^(HANG|SUSPECT|DIED|LOST|DOES NOT EXIT|RACE|mcprec:)|^  token: ' "$1.$2" || true
}

status=0
for scenario in $(conformance list --server | sed -n 's/^  - \([^ ]*\) .*/\1/p'); do
	[ -e "$folder/$scenario.jsonl" ] || record "$scenario"
	for session in "$folder/$scenario".jsonl "$folder/$scenario"-[0-9].jsonl; do
		[ -e "$session" ] || continue
		# shellcheck disable=SC2086 # words on purpose
		mcprec explore -n "$ORDERS" --target "http://localhost:%PORT$URL" "$session" -- $HTTP >"$session.http" 2>&1 || status=1
		say "$session" http
		[ -n "${STDIO:-}" ] || continue
		# shellcheck disable=SC2086
		mcprec explore -n "$ORDERS" "$session" -- $STDIO >"$session.stdio" 2>&1 || status=1
		say "$session" stdio
	done
done
exit $status
