package check

import (
	"bytes"
	"strings"

	"github.com/mcprec/mcprec/replay"
	"github.com/mcprec/mcprec/replay/order"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

// lane is one direction, over HTTP of one exchange: what was written on it, and taken.
// A session in memory also says how many frames were on their way.
type lane struct {
	sent  uint64 // the last frame
	taken uint64 // the last that is known to be taken
	by    uint64 // the event that said so
}

// takes is rules U1 and U2, of what an event says that a receiver has taken.
func (f *Fold) takes(e store.Event, info store.DeliveredInfo) {
	f.flying.takes(e, info.Upto)
	if info.Upto >= e.Seq {
		f.finds(takenUnsent, e.Dir, "", []uint64{e.Seq}, "the %s took #%d, which stands behind it", e.Dir.Receiver(), info.Upto)
		return
	}
	x := f.courses.of(e.Stream)
	if x == nil {
		return
	}
	switch l := &x.lanes[e.Dir&3%3]; {
	case info.Upto > l.sent:
		f.finds(takenUnsent, e.Dir, "", []uint64{e.Seq}, "the %s took #%d, and the %s had written no frame behind #%d", e.Dir.Receiver(), info.Upto, e.Dir.Sender(), l.sent)
	case info.Upto < l.taken:
		f.finds(takenBack, e.Dir, "", []uint64{e.Seq, l.by}, "the %s took #%d after it had taken #%d (#%d)", e.Dir.Receiver(), info.Upto, l.taken, l.by)
	default:
		l.taken, l.by = info.Upto, e.Seq
	}
}

// flying is which frames are on their way in a session in memory, each of whose
// deliveries is recorded; nil of others. Several threads may write at once, and each has
// a frame in its hand: only progress of one token is sure to be of one, as it rises.
type flying struct {
	frames [3][]progressFrame
	most   [3]int    // of one token at once
	at     [3]uint64 // the frame with which there were
}

type progressFrame struct {
	seq   uint64
	token string
}

// mostFlying is how many frames are followed; a lane without bounds may have any number.
const mostFlying = 4096

func (w *flying) sends(e store.Event, p order.Parsed) {
	if w == nil || e.Stream != 0 || len(p.Messages) != 1 || p.Messages[0].Method != "notifications/progress" {
		return
	}
	way, token := e.Dir&3%3, string(mcp.KeyOf(p.Messages[0].ProgressToken()))
	if len(w.frames[way]) >= mostFlying {
		return
	}
	w.frames[way] = append(w.frames[way], progressFrame{e.Seq, strings.Clone(token)})
	n := 0
	for _, f := range w.frames[way] {
		if f.token == token {
			n++
		}
	}
	if n > w.most[way] {
		w.most[way], w.at[way] = n, e.Seq
	}
}

func (w *flying) takes(e store.Event, upto uint64) {
	if w == nil || e.Stream != 0 {
		return
	}
	way := e.Dir & 3 % 3
	n := 0
	for n < len(w.frames[way]) && w.frames[way][n].seq <= upto {
		n++
	}
	w.frames[way] = w.frames[way][n:]
}

// opened looks whether a session's deliveries are all recorded.
func (f *Fold) opened(e store.Event) error {
	header, err := store.ParseHeader(e.Payload)
	if err == nil && header.Transport == "memory" {
		f.flying = &flying{}
	}
	return err
}

// noted is rule U4, where an exploration notes its token, and in it the capacity. A frame
// stands where its Write began: one more than the capacity may wait in its writer's hand.
func (f *Fold) noted(e store.Event) {
	w := f.flying
	rooms, ok := roomsOf(e.Payload)
	if w == nil || !ok {
		return
	}
	for _, dir := range []transport.Direction{transport.ClientToServer, transport.ServerToClient} {
		if room := rooms[dir]; room >= 0 && w.most[dir] > int(room)+1 {
			f.finds(overfull, dir, "", []uint64{w.at[dir], e.Seq}, "%d frames of progress of one call of the %s were on their way at once, at a capacity of %v (#%d)", w.most[dir], dir.Receiver(), room, e.Seq)
		}
	}
}

// roomsOf reads the capacities of a token of an exploration.
func roomsOf(note []byte) (rooms [3]replay.Room, ok bool) {
	_, rest, found := bytes.Cut(note, []byte("token mcprec1."))
	text, _, _ := strings.Cut(string(rest[:min(len(rest), 64)]), ".")
	c2s, s2c, both := strings.Cut(text, "-")
	if !found || !both {
		return rooms, false
	}
	for dir, text := range map[transport.Direction]string{transport.ClientToServer: c2s, transport.ServerToClient: s2c} {
		if text == "u" {
			text = replay.Unbounded.String()
		}
		room, err := replay.ParseRoom(text)
		if err != nil {
			return rooms, false
		}
		rooms[dir] = room
	}
	return rooms, true
}
