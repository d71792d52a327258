package replay

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

// detour decides what goes past a Player to a live server behind it, and back. It
// is pure: the connections are its caller's.
type detour struct {
	player    *Player
	handshake []transport.Frame           // of the live client, as the player has answered it
	open      map[mcp.Key]open            // by id: what the live server has still to answer
	asked     map[mcp.Key]json.RawMessage // its own requests under way: its id, by the client's
	tokens    map[mcp.Key]bool            // progress tokens of those
	taken     map[mcp.Key]bool            // ids of the recorded server's requests
	renamed   int
	renames   map[mcp.Key]json.RawMessage // of those: the client's id of the latest, by its own
	added     []store.Event               // what passed, as the live server knows it
}

// open is a request under way.
type open struct {
	id     json.RawMessage
	method string
	stream uint64
}

func newDetour(p *Player) *detour {
	d := &detour{player: p, open: map[mcp.Key]open{}, asked: map[mcp.Key]json.RawMessage{}, tokens: map[mcp.Key]bool{}, taken: map[mcp.Key]bool{}, renames: map[mcp.Key]json.RawMessage{}}
	for _, r := range p.replies {
		for _, q := range r.asks {
			d.taken[q.id] = true
		}
	}
	return d
}

// fromClient says who is to hear a frame of the client: the player or the live server.
// A batch with anything in it that is not recorded goes to the live server whole; one
// with a redacted value to nobody, see refuse.
func (d *detour) fromClient(f transport.Frame, at time.Duration) (toPlayer bool, toLive, toClient []transport.Frame) {
	messages := messagesOf(f)
	if !slices.ContainsFunc(messages, d.isForLive) {
		for _, m := range messages {
			if m.Method == methodInitialize || m.Method == methodInitialized {
				d.handshake = append(d.handshake, f)
			}
		}
		return true, nil, nil
	}
	if mask := maskPattern().Find(f.Bytes); mask != nil {
		toLive, toClient = d.refuse(f, string(mask), at)
		return false, toLive, toClient
	}
	for i, m := range messages {
		switch m.Kind() {
		case transport.Request:
			d.open[mcp.KeyOf(m.ID)] = open{bytes.Clone(m.ID), m.Method, f.Stream}
		case transport.Response:
			key := mcp.KeyOf(m.ID)
			if id := d.asked[key]; id != nil {
				delete(d.asked, key)
				f.Bytes, _ = splice(f.Bytes, id, append(within(f.Bytes, i), "id")...)
			}
		default:
			delete(d.open, mcp.KeyOf(cancels(m))) // an answer is not waited for any more
		}
	}
	d.add(transport.ClientToServer, f, at)
	return false, []transport.Frame{f}, nil
}

// isForLive reports whether a message of the client is for the live server.
func (d *detour) isForLive(m transport.Message) bool {
	switch m.Kind() {
	case transport.Request:
		return !d.player.Knows(m)
	case transport.Response:
		return d.asked[mcp.KeyOf(m.ID)] != nil
	case transport.Notification:
		_, cancelled := d.open[mcp.KeyOf(cancels(m))]
		return cancelled || m.Method == methodProgress && d.tokens[mcp.KeyOf(m.ProgressToken())]
	}
	return false
}

// fromLive takes a frame of the live server and returns it as the client is to see
// it: with other ids of requests where a recorded request has the same.
func (d *detour) fromLive(f transport.Frame, at time.Duration) transport.Frame {
	d.add(transport.ServerToClient, f, at)
	for i, m := range messagesOf(f) {
		switch m.Kind() {
		case transport.Notification:
			if id := d.renames[mcp.KeyOf(cancels(m))]; id != nil {
				f.Bytes, _ = splice(f.Bytes, id, append(within(f.Bytes, i), "params", "requestId")...)
			}
		case transport.Response:
			key := mcp.KeyOf(m.ID)
			if o, ok := d.open[key]; ok {
				f.Stream = o.stream
				delete(d.open, key)
			}
		case transport.Request:
			id := bytes.Clone(m.ID)
			if d.taken[mcp.KeyOf(id)] {
				d.renamed++
				id = fmt.Appendf(nil, `"mcprec-live-%d"`, d.renamed)
				d.renames[mcp.KeyOf(m.ID)] = id
				f.Bytes, _ = splice(f.Bytes, id, append(within(f.Bytes, i), "id")...)
			}
			d.asked[mcp.KeyOf(id)] = bytes.Clone(m.ID)
			if token := m.ProgressToken(); token != nil {
				d.tokens[mcp.KeyOf(token)] = true
			}
		}
	}
	return f
}

func (d *detour) add(dir transport.Direction, f transport.Frame, at time.Duration) {
	d.added = append(d.added, store.Event{At: at, Kind: store.Frame, Dir: dir, Payload: f.Bytes, Unterminated: f.Unterminated})
}

// abandon answers what is under way in place of a live server that cannot. It was
// never asked, as far as the recording goes: or that would be silent the next time.
func (d *detour) abandon(why string) []transport.Frame {
	d.added = slices.DeleteFunc(d.added, func(e store.Event) bool {
		return e.Dir == transport.ClientToServer && slices.ContainsFunc(messagesOf(e.AsFrame()), func(m transport.Message) bool {
			_, under := d.open[mcp.KeyOf(m.ID)]
			return m.Kind() == transport.Request && under
		})
	})
	text, _ := json.Marshal("mcprec: not recorded, and " + why)
	var frames []transport.Frame
	for _, key := range slices.Sorted(maps.Keys(d.open)) {
		o := d.open[key]
		line := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%s}}`, o.id, MissCode, text)
		frames = append(frames, transport.Frame{Bytes: line, Stream: o.stream})
	}
	clear(d.open)
	return frames
}
