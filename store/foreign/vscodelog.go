package foreign

import (
	"bytes"
	"strconv"
	"time"

	"github.com/mcprec/mcprec/transport"
)

// The format vscode-log: the output of VS Code for an MCP server, "MCP: Show Output", as the
// panel shows it and as mcpServer.*.log in the folder of its logs has it. Messages are there
// at the level debug, and before version 1.99 at info with other words:
//
//	2026-07-24 02:03:14.089 [debug] [editor -> server] {…}
//	2026-07-24 02:03:14.151 [debug] [server -> editor] {…}
//	2025-03-23 16:38:00.970 [info] [Client Says] {…}
//	2025-03-23 16:38:00.989 [info] [Server Says] {…}
//	2026-07-24 02:03:14.160 [warning] [server stderr] …
//
// Times are those of the machine's zone, which the log does not name. A line without a time
// goes on with the one before.
var vsCode = hostDialect{
	host: "VS Code",
	remark: "the messages have the bytes of VS Code's log, which are those of its own encoding and not those that passed; " +
		"times are whole milliseconds, and of a zone that the log does not name: the session's start is written as if it were UTC",
	wants: "VS Code writes them at the level debug: choose Trace or Debug at the gear of the output of MCP, and start the server again",
	parse: parseVSCodeLine,
}

var (
	vsCodeLine = lazily(`^(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}) \[(trace|debug|info|warning|error)\] `)
	vsCodeExit = lazily(`^Connection state: Error Process exited with code (\d{1,9})$`)
)

// vsCodeWords are the beginnings of VS Code's texts with a meaning, longer ones before those
// that they begin with.
var vsCodeWords = []struct {
	prefix string
	line   hostLine
}{
	{"[editor -> server] ", hostLine{what: hostMessage, dir: transport.ClientToServer}},
	{"[server -> editor] ", hostLine{what: hostMessage, dir: transport.ServerToClient}},
	{"[Client Says] ", hostLine{what: hostMessage, dir: transport.ClientToServer}},
	{"[Server Says] ", hostLine{what: hostMessage, dir: transport.ServerToClient}},
	{"[server stderr] ", hostLine{what: hostStderr, transport: "stdio"}},
	{"Server command line: ", hostLine{transport: "stdio"}},
	{"Starting server from ", hostLine{}},
	{"Starting server ", hostLine{what: hostStart}},
	{"Connection state: Starting", hostLine{what: hostStart}},
	{"Connection state: Stopped", hostLine{what: hostStop}},
	{"Connection state: Error", hostLine{what: hostStop}},
}

func parseVSCodeLine(line []byte) (hostLine, bool) {
	m := vsCodeLine().FindSubmatch(line)
	if m == nil {
		return hostLine{}, false
	}
	at, err := time.Parse("2006-01-02 15:04:05.000", string(m[1]))
	if err != nil {
		return hostLine{}, false
	}
	var l hostLine
	text := line[len(m[0]):]
	for _, w := range vsCodeWords {
		after, ok := bytes.CutPrefix(text, []byte(w.prefix))
		if !ok {
			continue
		}
		l = w.line
		switch {
		case l.what == hostMessage || l.what == hostStderr:
			text = after
		case w.prefix == "Starting server ":
			l.label = string(after)
		}
		break
	}
	if exit := vsCodeExit().FindSubmatch(text); exit != nil {
		l.what = hostExit
		l.transport = "stdio"
		l.code, _ = strconv.Atoi(string(exit[1])) // digits
	}
	if quoted, ok := notJSON(text); ok && l.what == hostWords {
		l.what = hostNotJSON
		l.quoted = quoted
	}
	l.stamp = at
	l.level = string(m[2])
	l.text = text
	l.more = restWords
	return l, true
}
