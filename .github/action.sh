#!/bin/sh
# The steps of the action, one by its name:
#
#   action.sh install   downloads a release, verifies it, and unpacks it to $RUNNER_TEMP/mcprec
#   action.sh ci        runs mcprec ci, and exits as it does
#
# What is asked for is in the environment: INPUT_VERSION, INPUT_SHA256, INPUT_URL, INPUT_FIXTURES,
# INPUT_SERVER, INPUT_TARGET, INPUT_FAIL_ON, INPUT_SARIF, INPUT_JUNIT, INPUT_ARGS.
set -euf

fail() {
	echo "mcprec action: $*" >&2
	exit 2
}

folder="${RUNNER_TEMP:?}/mcprec"

# sum prints the SHA-256 of a file.
sum() {
	if command -v sha256sum >/dev/null; then
		sha256sum "$1" | cut -d ' ' -f 1
	else
		shasum -a 256 "$1" | cut -d ' ' -f 1
	fi
}

# fetch downloads a file of the release into the folder.
fetch() {
	case $INPUT_URL in
	file://*) cp "${INPUT_URL#file://}/$1" "$folder/$1" ;;
	*) curl -fsSL --retry 3 -o "$folder/$1" "$INPUT_URL/$1" ;;
	esac || fail "cannot download $INPUT_URL/$1"
}

install() {
	version="${INPUT_VERSION#v}"
	[ -n "$version" ] || fail "name a version"
	[ -n "$INPUT_SHA256" ] || fail "pin the release: give sha256, the SHA-256 of its SHA256SUMS"
	: "${INPUT_URL:=https://github.com/mcprec/mcprec/releases/download/v$version}"
	ending=tar.gz
	case $(uname -s) in
	Linux) system=linux ;;
	Darwin) system=darwin ;;
	MINGW* | MSYS*) system=windows ending=zip ;;
	*) fail "no release for $(uname -s)" ;;
	esac
	case $(uname -m) in
	x86_64 | amd64) arch=amd64 ;;
	aarch64 | arm64) arch=arm64 ;;
	*) fail "no release for $(uname -m)" ;;
	esac
	name="mcprec_${version}_${system}_$arch"
	mkdir -p "$folder"
	fetch SHA256SUMS
	got=$(sum "$folder/SHA256SUMS")
	[ "$got" = "$INPUT_SHA256" ] || fail "SHA256SUMS of $version is not the pinned one: its SHA-256 is $got, want $INPUT_SHA256"
	want=$(grep " [ *]$name.$ending\$" "$folder/SHA256SUMS" | cut -d ' ' -f 1)
	[ -n "$want" ] || fail "the release has no $name.$ending"
	fetch "$name.$ending"
	got=$(sum "$folder/$name.$ending")
	[ "$got" = "$want" ] || fail "$name.$ending is damaged: its SHA-256 is $got, want $want"
	case $ending in
	zip) unzip -qo "$folder/$name.zip" -d "$folder" ;;
	*) tar -xzf "$folder/$name.tar.gz" -C "$folder" ;;
	esac
	rm -rf "$folder/bin"
	mv "$folder/$name" "$folder/bin"
	"$folder/bin/mcprec" version
	[ -z "${GITHUB_PATH:-}" ] || echo "$folder/bin" >>"$GITHUB_PATH"
}

# ci has the words of fixtures and args as arguments of their own, and the server's line run by sh.
ci() {
	[ -n "$INPUT_FIXTURES" ] || fail "name the fixtures"
	set -- ci --fail-on "${INPUT_FAIL_ON:-error}" --sarif "$INPUT_SARIF" --junit "$INPUT_JUNIT"
	[ -z "$INPUT_TARGET" ] || set -- "$@" --target "$INPUT_TARGET"
	# shellcheck disable=SC2086 # words on purpose; set -f keeps * as it is
	set -- "$@" $INPUT_ARGS $INPUT_FIXTURES
	[ -z "$INPUT_SERVER" ] || set -- "$@" -- sh -c "exec $INPUT_SERVER"
	exec "$folder/bin/mcprec" "$@"
}

case ${1:-} in
install | ci) "$1" ;;
*) fail "no step $*" ;;
esac
