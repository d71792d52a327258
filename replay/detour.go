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
)

// detour decides what goes past a Player to a live server behind it, and back. It
// is pure: the connections are its caller's.
type detour struct {
	player    *Player
	handshake []transport.Frame          // of the live client, as the player has answered it
	open      map[string]open            // by id: what the live server has still to answer
	asked     map[string]json.RawMessage // its own requests under way: its id, by the client's
	tokens    map[string]bool            // progress tokens of those
	taken     map[string]bool            // ids of the recorded server's requests
	renamed   int
	renames   map[string]json.RawMessage // of those: the client's id of the latest, by its own
	added     []store.Event              // what passed, as the live server knows it
}

// open is a request under way.
type open struct {
	method string
	stream uint64
}

func newDetour(p *Player) *detour {
	d := &detour{player: p, open: map[string]open{}, asked: map[string]json.RawMessage{}, tokens: map[string]bool{}, taken: map[string]bool{}, renames: map[string]json.RawMessage{}}
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
	if mask := maskPattern.Find(f.Bytes); mask != nil {
		toLive, toClient = d.refuse(f, string(mask), at)
		return false, toLive, toClient
	}
	for i, m := range messages {
		switch m.Kind() {
		case transport.Request:
			d.open[string(m.ID)] = open{m.Method, f.Stream}
		case transport.Response:
			if id := d.asked[string(m.ID)]; id != nil {
				delete(d.asked, string(m.ID))
				f.Bytes, _ = splice(f.Bytes, id, append(within(f.Bytes, i), "id")...)
			}
		default:
			delete(d.open, string(cancels(m))) // an answer is not waited for any more
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
		return d.asked[string(m.ID)] != nil
	case transport.Notification:
		_, cancelled := d.open[string(cancels(m))]
		return cancelled || m.Method == methodProgress && d.tokens[string(m.ProgressToken())]
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
			if id := d.renames[string(cancels(m))]; id != nil {
				f.Bytes, _ = splice(f.Bytes, id, append(within(f.Bytes, i), "params", "requestId")...)
			}
		case transport.Response:
			if o, ok := d.open[string(m.ID)]; ok {
				f.Stream = o.stream
				delete(d.open, string(m.ID))
			}
		case transport.Request:
			id := bytes.Clone(m.ID)
			if d.taken[string(id)] {
				d.renamed++
				id = fmt.Appendf(nil, `"mcprec-live-%d"`, d.renamed)
				d.renames[string(m.ID)] = id
				f.Bytes, _ = splice(f.Bytes, id, append(within(f.Bytes, i), "id")...)
			}
			d.asked[string(id)] = bytes.Clone(m.ID)
			if token := m.ProgressToken(); token != nil {
				d.tokens[string(token)] = true
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
			_, under := d.open[string(m.ID)]
			return m.Kind() == transport.Request && under
		})
	})
	text, _ := json.Marshal("mcprec: not recorded, and " + why)
	var frames []transport.Frame
	for _, id := range slices.Sorted(maps.Keys(d.open)) {
		line := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%s}}`, id, MissCode, text)
		frames = append(frames, transport.Frame{Bytes: line, Stream: d.open[id].stream})
	}
	clear(d.open)
	return frames
}
