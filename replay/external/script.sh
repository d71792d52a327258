set -u
dir=$(mktemp -d) || exit 3
files=$dir/files
mkdir "$files" && mkfifo "$dir/in" "$dir/pipe" || exit 3
: >"$dir/out"

start() { # COMMAND: its input is file 3 of this script; what it says goes to the file out
	{
		"$@" <&4 4<&- &
		echo $! >"$dir/server"
		wait $!
		echo $? >"$dir/status"
	} 4<"$dir/in" >"$dir/pipe" &
	starter=$!
	cat <"$dir/pipe" >>"$dir/out" &
	reader=$!
	exec 3>"$dir/in"
	trap '' PIPE
	trap '{ kill -9 $starter $reader $(cat "$dir/server"); rm -rf "$dir"; } 2>/dev/null' EXIT
	trap 'exit 3' INT TERM
}
say() { printf '%s\n' "$@" >&3; }          # messages, in one write
part() { printf '%s' "$1" >&3; }           # the beginning of a message
rest() { sleep "${REST:-0.5}"; }           # the server comes to rest
deaf() { kill -STOP $reader; }             # its output is not read
listen() { kill -CONT $reader; }           # and is read again
finish() { exec 3>&-; }                    # its input ends
shut() { kill -9 $reader; wait $reader; } 2>/dev/null # nobody reads its output any more
terminate() { kill $(cat "$dir/server"); } # it gets SIGTERM
ended() { [ -s "$dir/status" ]; }          # the server has ended
said() { grep -q -- "$1" "$dir/out"; }
answered() { grep -- "\"id\" *: *$1 *[,}]" "$dir/out" | grep -q '"result" *:\|"error" *:'; }
shows() { echo "reproduced: $*"; exit 1; }
hidden() { echo "not reproduced: $*"; exit 0; }
await() { # CONDITION...: at most PATIENCE seconds
	until=$(($(date +%s) + ${PATIENCE:-10}))
	until "$@"; do
		[ "$(date +%s)" -le $until ] || return 1
		sleep 0.1
	done
}
overOr() { ended || "$@"; }
ran() { # it is not reproduced by a command that cannot be run
	! ended || case $(cat "$dir/status") in 126 | 127) echo "the server cannot be started"; exit 3 ;; esac
}
answer() { # ID NAME
	await overOr answered "$1" || shows "no answer to $2 (id $1) after ${PATIENCE:-10} s"
	ran
	sleep 0.1 # what it said last
	answered "$1" || shows "the server ended with status $(cat "$dir/status"), without an answer to $2 (id $1)"
}
question() { await overOr said "\"method\" *: *\"$1\"" || hidden "the server did not ask $1"; }
counted() { [ "$(grep -c -- "\"method\" *: *\"$1\"" "$dir/out")" -ge "$2" ]; }
told() { # METHOD COUNT: so many of it have come
	await overOr counted "$1" "$2" || hidden "the server did not tell $1"
}
leaves() { # it must end, with whatever status
	await ended || shows "the server goes on ${PATIENCE:-10} s after that and the end of its input"
	ran
	hidden "the server ended with status $(cat "$dir/status")"
}
ends() { # it must end, with status 0
	await ended || shows "the server goes on ${PATIENCE:-10} s after its input has closed"
	ran
	status=$(cat "$dir/status")
	[ "$status" = 0 ] || shows "the server ended with status $status"
	hidden "the server ended with status 0"
}
