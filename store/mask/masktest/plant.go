// Package masktest plants secrets into events, for the tests of what is quoted of them.
package masktest

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport/mcp"
)

// Secret is how each secret of [Plant] begins.
const Secret = "zq7Kx"

// Plantings is how many ways of planting [Plant] knows.
const Plantings = 4

// keptAsTheyAre are members whose values say what a message is.
var keptAsTheyAre = []string{"jsonrpc", "id", "method", mcp.MemberProtocolVersion, mcp.MemberProgressToken, mcp.MemberRequestID, mcp.MemberTaskID,
	"cursor", mcp.MemberNextCursor, "name", "type", "status", mcp.MemberResultType, mcp.MetaProtocolVersion, mcp.MetaSubscriptionID}

// Plant returns events with secrets in their frames: behind the texts (0), as texts that are JSON (1), as URLs (2), or as
// members of the objects (3). No frame becomes another one by it.
func Plant(events []store.Event, planting int) []store.Event {
	planted := make([]store.Event, len(events))
	n := 0
	next := func() string {
		n++
		return fmt.Sprintf("%s%05dWm4RtY", Secret, n)
	}
	for i, e := range events {
		if e.Kind == store.Frame {
			e.Payload = plant(e.Payload, planting, next)
		}
		planted[i] = e
	}
	return planted
}

func plant(payload []byte, planting int, next func() string) []byte {
	var b bytes.Buffer
	key := ""
	for i := 0; i < len(payload); i++ {
		switch c := payload[i]; {
		case c == '{' && planting == 3 && i > 0:
			rest := bytes.TrimLeft(payload[i+1:], " \t\r\n")
			fmt.Fprintf(&b, `{"password":"%s"`, next())
			if !bytes.HasPrefix(rest, []byte("}")) {
				b.WriteByte(',')
			}
		case c == '"':
			end := i + 1
			for end < len(payload) && payload[end] != '"' {
				if payload[end] == '\\' {
					end++
				}
				end++
			}
			if end >= len(payload) {
				b.Write(payload[i:])
				return b.Bytes()
			}
			text := string(payload[i+1 : end])
			i = end
			if bytes.HasPrefix(bytes.TrimLeft(payload[end+1:], " \t\r\n"), []byte(":")) {
				key = text
			} else if !strings.Contains("|"+strings.Join(keptAsTheyAre, "|")+"|", "|"+key+"|") {
				switch planting {
				case 0:
					text += " password=" + next()
				case 1:
					text = fmt.Sprintf(`{\"token\":\"%s\"}`, next())
				case 2:
					text += "?api_key=" + next()
				}
			}
			fmt.Fprintf(&b, `"%s"`, text)
		default:
			b.WriteByte(c)
		}
	}
	return b.Bytes()
}
