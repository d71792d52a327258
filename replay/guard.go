package replay

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

// Guard makes the driver refuse to send what a redaction left in the place of a
// secret, unless the live server has given the value by then: a real server must not
// take it for one. It returns what it is bound to refuse, for the recorded server
// never gave it. Call it before Start.
func (d *Driver) Guard() (refused []string) {
	d.guarded = true
	given := map[string]bool{}
	heard := 0
	for _, l := range d.lines {
		for ; heard < l.before; heard++ {
			for _, mask := range maskPattern().FindAll(d.turns[heard].msg().Raw, -1) {
				given[string(mask)] = true
			}
		}
		for _, mask := range maskPattern().FindAll(l.frame.Bytes, -1) {
			if !given[string(mask)] {
				refused = append(refused, l.holds(mask))
				break
			}
		}
	}
	return refused
}

func (l *line) holds(mask []byte) string {
	return fmt.Sprintf("#%d %s holds %s", l.seq, l.what(), mask)
}

// refuses reports whether the frame of a line must not be sent, which ends the
// client's side.
func (d *Driver) refuses(l *line, f transport.Frame) bool {
	if !d.guarded {
		return false
	}
	mask := maskPattern().Find(f.Bytes)
	if mask == nil {
		return false
	}
	d.refused, d.ended = l.holds(mask), true
	return true
}

// refuse answers what is for the live server and holds a redacted value, which came
// to the client with a recorded answer: a request to the client, an answer of the
// client to the live server. Nothing else of the frame goes on.
func (d *detour) refuse(f transport.Frame, mask string, at time.Duration) (toLive, toClient []transport.Frame) {
	for _, m := range messagesOf(f) {
		what, id, to := about(m), m.ID, &toClient
		if m.Kind() == transport.Response {
			what, id, to = "an answer", d.asked[mcp.KeyOf(m.ID)], &toLive
		}
		text := fmt.Sprintf("%s holds %s, which stands for a secret: it was not sent to the live server", what, mask)
		d.player.extra(what, text, true)
		if id == nil {
			continue
		}
		quoted, _ := json.Marshal("mcprec: " + text)
		line := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%s}}`, id, MissCode, quoted)
		*to = append(*to, transport.Frame{Bytes: line, Stream: f.Stream})
		if m.Kind() == transport.Response {
			delete(d.asked, mcp.KeyOf(m.ID))
			d.add(transport.ClientToServer, transport.Frame{Bytes: line}, at)
		}
	}
	return toLive, toClient
}
