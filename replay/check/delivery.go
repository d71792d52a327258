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

// Rules U1, U2 and U4: the steps of a frame. No real session breaks U1 or U2.
var (
	takenRule = newRule(order.Rule{ID: "U1", Name: "what is taken",
		Why: `A receiver takes a frame after its sender wrote it. A recording that says otherwise was put
together wrongly, and no verdict about it means anything.`,
		Example: `@
delivered/c2s {"upto":9}`})
	takenWritten = newDemand(takenRule, "a frame is taken after it was written", order.Error, "")

	laneRule = newRule(order.Rule{ID: "U2", Name: "the order of a lane",
		Why: `A lane is first in, first out: what is taken goes forward only.`,
		Example: `@
delivered/c2s {"upto":3}
delivered/c2s {"upto":1}`})
	takenForward = newDemand(laneRule, "frames are taken in the order in which they were written", order.Error, "")

	capacityRule = newRule(order.Rule{ID: "U4", Name: "room on the way",
		Why: `An exploration notes the capacity that it gave each direction. What one thread of a peer has
on its way at once, such as the progress of a call, is no more than that and one frame in its
hand: more is a capacity that was not kept.`,
		Example: `opened {"mcprec":1,"transport":"memory"}
> {"id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}
< {"id":0,"result":{"protocolVersion":"2025-11-25"}}
> {"method":"notifications/initialized"}
> {"id":1,"method":"tools/call","params":{"name":"count","_meta":{"progressToken":"t"}}}
< {"method":"notifications/progress","params":{"progressToken":"t"}}
< {"method":"notifications/progress","params":{"progressToken":"t"}}
< {"method":"notifications/progress","params":{"progressToken":"t"}}
< {"id":1,"result":{}}
note pass, token mcprec1.0-1.L0.a.eager`})
	capacityKept = newDemand(capacityRule, "no more frames of one thread are on their way than there is room", order.Warning, "")
)

// index returns a direction as an index, whatever a damaged event says.
func index(dir transport.Direction) int {
	if dir != transport.ClientToServer && dir != transport.ServerToClient {
		return 0
	}
	return int(dir)
}

// lane is one direction of an exchange, with the frames written on it and taken from it.
type lane struct {
	sent    uint64 // the last frame
	taken   uint64 // the last frame certainly taken
	takenBy uint64 // the event that said so
}

// onDelivered is rules U1 and U2: the receiver has read up to a frame.
func (l *lane) onDelivered(r *reporter, e store.Event, upto uint64) {
	switch {
	case upto > l.sent:
		r.report(takenWritten, e.Dir, "", []uint64{e.Seq}, "the %s took #%d, and the %s had written no frame behind #%d", e.Dir.Receiver(), upto, e.Dir.Sender(), l.sent)
	case upto < l.taken:
		r.report(takenForward, e.Dir, "", []uint64{e.Seq, l.takenBy}, "the %s took #%d after it had taken #%d (#%d)", e.Dir.Receiver(), upto, l.taken, l.takenBy)
	default:
		l.taken = upto
		l.takenBy = e.Seq
	}
}

// inFlight is rule U4: the progress notifications on the way in a session in memory, which
// records each delivery; other sessions have a nil inFlight. Several threads may write at
// once, each with a frame in hand. Progress of a token comes from a single thread, because the
// numbers rise.
type inFlight struct {
	frames [3][]progressFrame
	most   [3]int    // of a token at once
	at     [3]uint64 // the frame with which there were as many
}

type progressFrame struct {
	seq   uint64
	token mcp.Key
}

// onFrame notes a frame, up to 4096 of a direction: a lane may have no bound.
func (w *inFlight) onFrame(e store.Event, p order.Parsed) {
	if w == nil || e.Stream != 0 || len(p.Messages) != 1 || p.Messages[0].Method != mcp.NotificationProgress || len(w.frames[e.Dir]) >= 4096 {
		return
	}
	token := mcp.KeyOf(p.Messages[0].ProgressToken())
	w.frames[e.Dir] = append(w.frames[e.Dir], progressFrame{e.Seq, token})
	n := 0
	for _, frame := range w.frames[e.Dir] {
		if frame.token == token {
			n++
		}
	}
	if n > w.most[e.Dir] {
		w.most[e.Dir] = n
		w.at[e.Dir] = e.Seq
	}
}

func (w *inFlight) onDelivered(e store.Event, upto uint64) {
	if w == nil || e.Stream != 0 {
		return
	}
	frames := &w.frames[index(e.Dir)]
	for len(*frames) > 0 && (*frames)[0].seq <= upto {
		*frames = (*frames)[1:]
	}
}

// onNote is rule U4, if an exploration notes a token with the capacity. A frame's event marks
// the beginning of a Write: a frame beyond the capacity may wait in the writer's hand.
func (w *inFlight) onNote(r *reporter, e store.Event) {
	_, rest, found := bytes.Cut(e.Payload, []byte("token mcprec1."))
	text, _, _ := strings.Cut(string(rest[:min(len(rest), 64)]), ".")
	c2s, s2c, both := strings.Cut(text, "-")
	if w == nil || !found || !both {
		return
	}
	var capacity [3]replay.Room
	for dir, text := range map[transport.Direction]string{transport.ClientToServer: c2s, transport.ServerToClient: s2c} {
		if text == "u" {
			text = replay.Unbounded.String()
		}
		room, err := replay.ParseRoom(text)
		if err != nil {
			return
		}
		capacity[dir] = room
	}
	for _, dir := range []transport.Direction{transport.ClientToServer, transport.ServerToClient} {
		if room := capacity[dir]; room >= 0 && w.most[dir] > int(room)+1 {
			r.report(capacityKept, dir, "", []uint64{w.at[dir], e.Seq}, "%d frames of progress of one call of the %s were on their way at once, at a capacity of %v (#%d)", w.most[dir], dir.Receiver(), room, e.Seq)
		}
	}
}
