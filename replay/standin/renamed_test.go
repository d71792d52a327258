package standin_test

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/mcprec/mcprec/replay/match"
	"github.com/mcprec/mcprec/transport"
)

// renamed stands between the two halves of a session as if both were other
// programs: each end gives its requests ids and progress tokens that the recorded
// one did not use, of the other JSON type, and knows no others.
type renamed struct {
	ids, tokens [3]naming // by the direction of the request
	fresh       int
}

// naming is what one end calls its requests.
type naming struct {
	live     map[string]string // recorded → live, the latest
	recorded map[string]string // live → recorded
}

// answered are the recorded ids that a server wrote otherwise in its answer.
var answered = map[string]string{"1e2": "100"}

func newRenamed() *renamed {
	var r renamed
	for dir := range r.ids {
		r.ids[dir] = naming{map[string]string{}, map[string]string{}}
		r.tokens[dir] = naming{map[string]string{}, map[string]string{}}
	}
	return &r
}

// translate takes a frame as its sender says it, and returns it in the words of
// the recording and in those of the receiver.
func (r *renamed) translate(dir transport.Direction, frame []byte) (recorded, delivered []byte) {
	recorded = r.each(frame, func(m transport.Message, put putter) { r.back(dir, m, put) })
	delivered = r.each(recorded, func(m transport.Message, put putter) { r.rename(dir, m, put) })
	return recorded, delivered
}

// putter puts a value into a message, in place of what it is nil of.
type putter func(value string, path ...string)

func (r *renamed) each(frame []byte, edit func(transport.Message, putter)) []byte {
	messages, _ := transport.Frame{Bytes: frame}.Messages()
	for i, m := range messages {
		edit(m, func(value string, path ...string) {
			if frame[0] == '[' {
				path = append([]string{strconv.Itoa(i)}, path...)
			}
			frame, _ = match.Splice(frame, []byte(value), path...)
		})
	}
	return frame
}

// back puts the recorded names of the other end into what was said to it.
func (r *renamed) back(dir transport.Direction, m transport.Message, put putter) {
	other := dir.Reverse()
	place := func(n naming, raw json.RawMessage, path ...string) {
		if raw == nil {
			return
		}
		if recorded, ok := n.recorded[string(raw)]; ok {
			if respelled := answered[recorded]; respelled != "" {
				recorded = respelled
			}
			put(recorded, path...)
		} else if _, known := n.live[string(raw)]; known {
			put(`"of the recording"`, path...) // which the other end never said
		}
	}
	if m.Kind() == transport.Response {
		place(r.ids[other], m.ID, "id")
	}
	if m.Method == "notifications/progress" {
		place(r.tokens[other], m.ProgressToken(), "params", "progressToken")
	}
	for part, raw := range map[string]json.RawMessage{"params": m.Params, "result": m.Result} {
		const id = "io.modelcontextprotocol/subscriptionId"
		place(r.ids[transport.ClientToServer], transport.Member(raw, "_meta", id), part, "_meta", id)
	}
}

// rename gives what an end says of its own requests its live names.
func (r *renamed) rename(dir transport.Direction, m transport.Message, put putter) {
	switch {
	case m.Kind() == transport.Request:
		put(r.name(r.ids[dir], m.ID), "id")
		if token := m.ProgressToken(); token != nil {
			put(r.name(r.tokens[dir], token), "params", "_meta", "progressToken")
		}
	case m.Method == "notifications/cancelled":
		if live, ok := r.ids[dir].live[string(transport.Member(m.Params, "requestId"))]; ok {
			put(live, "params", "requestId")
		}
	}
}

// name returns a new name for a recorded one.
func (r *renamed) name(n naming, recorded json.RawMessage) string {
	r.fresh++
	live := strconv.Itoa(1000000 + r.fresh)
	if recorded[0] != '"' {
		live = fmt.Sprintf(`"live %d"`, r.fresh)
	}
	n.live[string(recorded)], n.recorded[live] = live, string(recorded)
	return live
}
