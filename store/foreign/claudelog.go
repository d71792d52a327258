package foreign

import (
	"bytes"
	"encoding/json"
	"time"

	"github.com/mcprec/mcprec/transport"
)

// The format claude-desktop-log: a log of Claude Desktop, mcp-server-NAME.log of one server or
// mcp.log of all. In the first the server's name comes before the level, in the second after it:
//
//	2025-06-27T07:58:07.774Z [NAME] [info] Message from client: {…}
//	2025-06-27T07:58:07.774Z [info] [NAME] Message from client: {…} { metadata: undefined }
//
// Since July 2025 a line ends with metadata, an object of one line or more as Node.js shows it;
// one that is undefined is left out. Other lines without a time are in the log of one server
// the server's standard error.
var claudeDesktop = hostDialect{
	host: "Claude Desktop",
	remark: "the messages have the bytes of Claude Desktop's log, which are those of its own encoding and not those that passed; " +
		"times are whole milliseconds; lines of standard error have the time of the line before them",
	wants: "some versions of Claude Desktop write none; mcprec record -- COMMAND in its configuration records the server",
	parse: parseClaudeLine,
}

var (
	claudeOwnLine   = lazily(`^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z) \[(.+?)\] \[(info|warn|error|debug)\] `)
	claudeMainLine  = lazily(`^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z) \[(info|warn|error|debug)\] (?:\[(.+?)\] )?`)
	claudeNothing   = []byte(" { metadata: undefined }")
	claudeOpenBrace = []byte(" {")
)

// claudeWords are the texts of Claude Desktop with a meaning.
var claudeWords = map[string]hostLine{
	"Initializing server...":  {what: hostStart},
	"Shutting down server...": {what: hostStop},
	"Server transport closed": {what: hostEOF, dir: transport.ServerToClient},
	"Client transport closed": {what: hostEOF, dir: transport.ClientToServer},
	"Message from client: ":   {what: hostMessage, dir: transport.ClientToServer},
	"Message from server: ":   {what: hostMessage, dir: transport.ServerToClient},
}

func parseClaudeLine(line []byte) (hostLine, bool) {
	var stamp, server, level []byte
	rest := restStderr
	var text []byte
	if m := claudeMainLine().FindSubmatch(line); m != nil {
		stamp, level, server = m[1], m[2], m[3]
		text = line[len(m[0]):]
		rest = restWords
	} else if m := claudeOwnLine().FindSubmatch(line); m != nil {
		stamp, server, level = m[1], m[2], m[3]
		text = line[len(m[0]):]
	} else {
		return hostLine{}, false
	}
	at, err := time.Parse(time.RFC3339Nano, string(stamp))
	if err != nil {
		return hostLine{}, false
	}
	text = bytes.TrimSuffix(text, claudeNothing)
	l := claudeWords[string(text)]
	for _, prefix := range []string{"Message from client: ", "Message from server: "} {
		if after, ok := bytes.CutPrefix(text, []byte(prefix)); ok {
			l = claudeWords[prefix]
			text = claudeMessage(after)
		}
	}
	if quoted, ok := notJSON(claudeWithoutObject(text)); ok && l.what == hostWords && level != nil {
		l.what = hostNotJSON
		l.quoted = quoted
	}
	l.stamp = at
	l.server = string(server)
	l.level = string(level)
	l.text = text
	l.transport = "stdio"
	l.more = rest
	if bytes.HasSuffix(line, claudeOpenBrace) {
		l.more = restObject
	}
	return l, true
}

// claudeWithoutObject returns words without the beginning of metadata behind them.
func claudeWithoutObject(text []byte) []byte { return bytes.TrimSuffix(text, claudeOpenBrace) }

// claudeMessage returns a message without the metadata behind it.
func claudeMessage(text []byte) []byte {
	dec := json.NewDecoder(bytes.NewReader(text))
	var message json.RawMessage
	if dec.Decode(&message) != nil {
		return text
	}
	end := dec.InputOffset()
	if bytes.HasPrefix(text[end:], claudeOpenBrace) {
		return text[:end]
	}
	return text
}
