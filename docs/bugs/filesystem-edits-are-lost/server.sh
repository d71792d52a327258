#!/bin/sh
# The server with a fresh file of two lines, to be started in docs/bugs.
mkdir -p /tmp/edits
printf 'alpha\nbeta\n' >/tmp/edits/a.txt
exec node node_modules/@modelcontextprotocol/server-filesystem/dist/index.js /tmp/edits
