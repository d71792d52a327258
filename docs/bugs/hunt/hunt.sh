#!/bin/sh
# Explores published MCP servers and clients, one after the other, and prints a line for each row of
# packages.txt and clients.txt: the package, what mcprec explore found with its tokens, and the seconds it took.
#
# Usage: sh hunt.sh [WORD]      only the rows that contain WORD
#
# Needs mcprec, npm and go in the PATH. HUNT is the folder for the packages, the sessions and what explore said
# (default ./hunted), LIMIT the time for each (default 60s). A package that is installed there is not installed again.
here=$(cd "$(dirname "$0")" && pwd)
hunt=${HUNT:-$PWD/hunted}
limit=${LIMIT:-60s}
reference=npm:@modelcontextprotocol/server-everything@2026.8.31 # what a client is recorded with
export HERE="$here"
mkdir -p "$hunt/home" || exit 2 # for programs that keep something at home

# install PACKAGE,PACKAGE...: into the present folder. go:NAME is a client of this folder, with the releases of docs/bugs/go.mod.
install() {
  npm=
  for package in $(echo "$1" | tr , ' '); do
    case $package in
    npm:*) npm="$npm ${package#npm:}" ;;
    go:*) (folder=$PWD && cd "$here" && go build -o "$folder/client" "./clients/${package#go:}") || return ;;
    esac
  done
  test -z "$npm" || npm install --silent --prefix . --no-save --omit=dev --ignore-scripts --force $npm
}

# found FILE: what explore said, on one line.
found() {
  awk '/^(HANG|SUSPECT|DIED|LOST|DOES NOT EXIT|ILLEGAL|RACE|DIFFERENT ANSWER|NO NEW SESSION)/ { word = $0; sub(/[:(].*/, "", word); sub(/ $/, "", word) }
    word && /^  token: / { list = list ", " word " " $2; word = "" }
    /nothing was compared/ { list = list ", " $0 }
    / orders? of .*(nothing was found|findings?$)/ { orders = $1 }
    /^mcprec: / { last = substr($0, 9) }
    END { print (list ? substr(list, 3) : orders ? "nothing" : "not explored: " last) (orders ? ", " orders " orders" : "") }' "$1"
}

# explore ROW: explore makes the session of a server itself. A client of %SERVER, or of %URL over HTTP, is recorded with the
# reference server first, over stdio.
explore() {
  case $1 in
  *%SERVER* | *%URL*)
    cp "$here"/clients/*.mjs . && rm -f made.jsonl
    server="mcprec record --label hunt -o made.jsonl -- mcp-server-everything"
    eval "$(echo "$1" | sed -e "s|%SERVER|$server|" -e "s|%URL|$server|")" || return
    test -e made.jsonl || mcprec export -o made.jsonl hunt # of a client that has killed the recorder with its server
    eval "mcprec explore -n 100 --limit $limit made.jsonl --as-server -- $1"
    ;;
  *)
    cp "$here"/servers/*.mjs .
    eval "mcprec explore -n 100 --limit $limit --force -o made.jsonl $1"
    ;;
  esac
}

cat "$here/packages.txt" "$here/clients.txt" | while read -r packages row; do
  case $packages in '' | '#'*) continue ;; esac
  case "$packages $row" in *"$1"*) ;; *) continue ;; esac
  case $row in *%SERVER* | *%URL*) packages=$packages,$reference ;; esac
  name=${packages%%,*}
  folder=$hunt/$(echo "${name#*:}" | tr -c 'A-Za-z0-9.\n' _)
  case $row in *%URL* | *%PORT*) name="$name over HTTP" ;; esac
  mkdir -p "$folder" && cd "$folder" || exit 2
  if ! test -e installed; then
    install "$packages" >install.txt 2>&1 </dev/null && touch installed || { echo "$name: cannot be installed"; continue; }
  fi
  start=$(date +%s)
  (export HOME="$hunt/home" PATH="$PWD/node_modules/.bin:$PWD:$PATH" && explore "$row") >said.txt 2>&1 </dev/null
  echo "$name: $(found said.txt), $(($(date +%s) - start)) s"
done
