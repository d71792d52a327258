package probe

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

// talk is one conversation with a peer.
type talk struct {
	Line
	answers map[string]string            // to the peer's requests: results, by method
	keeps   func(transport.Message) bool // which requests of the peer get no answer; nil: none
	kept    []transport.Message          // these requests
	asked   []transport.Message          // all requests of the peer
	told    []transport.Message          // all notifications of the peer
	replies map[string]transport.Message // the peer's answers, by the id of our request
	order   []string                     // the ids of replies
	stand   Stand                        // of the last rest
	heard   int                          // messages from the peer, without pings
	frames  int                          // from the peer
	ids     int                          // given so far
}

func newTalk(line Line, answers map[string]string) *talk {
	return &talk{Line: line, answers: answers, replies: map[string]transport.Message{}}
}

// request sends a request and returns its id.
func (t *talk) request(method, params string) string {
	id, frame := t.newRequest(method, params)
	t.Send(frame)
	return id
}

// newRequest makes a request with an id of its own. Params may be "".
func (t *talk) newRequest(method, params string) (id string, frame transport.Frame) {
	t.ids++
	id = fmt.Sprintf("probe-%d", t.ids)
	if params != "" {
		params = `,"params":` + params
	}
	return id, text(`{"jsonrpc":"2.0","id":%q,"method":%q%s}`, id, method, params)
}

// notification makes a notification. Params may be "".
func notification(method, params string) transport.Frame {
	if params != "" {
		params = `,"params":` + params
	}
	return text(`{"jsonrpc":"2.0","method":%q%s}`, method, params)
}

func text(format string, args ...any) transport.Frame {
	return transport.Frame{Bytes: fmt.Appendf(nil, format, args...)}
}

// answer answers a request of the peer: with the result for its method, or else with an error.
func (t *talk) answer(m transport.Message) {
	result, known := t.answers[m.Method]
	if m.Method == mcp.MethodInitialize {
		version := transport.MemberText(m.Params, mcp.MemberProtocolVersion)
		result, known = strings.Replace(result, revisionMark, version, 1), true
	}
	if !known {
		t.Send(text(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"mcprec probe does not know this method"}}`, m.ID))
		return
	}
	t.Send(text(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result))
}

// rest waits until the peer is at rest, and answers what it asks meanwhile.
func (t *talk) rest() {
	for {
		t.stand = t.Rest()
		mustAnswer := false
		for _, f := range t.stand.Heard {
			t.frames++
			for _, m := range timeline.MessagesOf(f) {
				mustAnswer = t.hear(m) || mustAnswer
			}
		}
		if !mustAnswer {
			return
		}
	}
}

// hear notes a message of the peer, and reports whether it was answered.
func (t *talk) hear(m transport.Message) bool {
	if m.Method != mcp.MethodPing { // a keepalive says nothing
		t.heard++
	}
	switch m.Kind() {
	case transport.Response:
		id, _ := transport.Text(m.ID)
		t.replies[id] = m
		t.order = append(t.order, id)
	case transport.Notification:
		t.told = append(t.told, m)
	case transport.Request:
		t.asked = append(t.asked, m)
		if t.keeps != nil && t.keeps(m) {
			t.kept = append(t.kept, m)
			return false
		}
		t.answer(m)
		return true
	}
	return false
}

// await rests until a condition holds, lets time pass between, and reports whether it came to hold.
func (t *talk) await(holds func() bool) bool {
	for tries := 0; ; tries++ {
		t.rest()
		if holds() {
			return true
		}
		if t.stand.Over || !t.Pass(tries) {
			return false
		}
	}
}

// settle rests until no timer of the peer is worth waiting for.
func (t *talk) settle() { t.await(func() bool { return false }) }

// isAnswered reports whether every one of our requests has an answer.
func (t *talk) isAnswered(ids ...string) bool {
	return !slices.ContainsFunc(ids, func(id string) bool { _, answered := t.replies[id]; return !answered })
}

// goesOn reports whether the peer did something after its first messages, of which since counts those that
// are no pings: it sent another, or ended without failing. A peer that cancels a request has given up.
func (t *talk) goesOn(since int) bool {
	cancelled := 0
	for _, m := range t.told {
		if m.Method == mcp.NotificationCancelled {
			cancelled++
		}
	}
	return cancelled == 0 && (t.heard > since || t.stand.Over && !t.stand.Failed)
}

// burst sends count requests of a method in one go and returns their ids. A request is padded to about size
// bytes.
func (t *talk) burst(method string, count, size int) []string {
	ids := make([]string, count)
	frames := make([]transport.Frame, count)
	for i := range count {
		ids[i], frames[i] = t.newRequest(method, padding(size))
	}
	t.Send(frames...)
	return ids
}

// padding returns params that make a request about size bytes long; "" if it is as long without.
func padding(size int) string {
	const without = 110
	if size <= without {
		return ""
	}
	return fmt.Sprintf(`{"_meta":{"mcprec.probe/padding":%q}}`, strings.Repeat("x", size-without))
}

// repeated returns a list that has the frame count times.
func repeated(frame transport.Frame, count int) []transport.Frame {
	return slices.Repeat([]transport.Frame{frame}, count)
}

// orderOfAnswers says in which order the answers came to requests that were sent in the order of ids.
func orderOfAnswers(ids, answered []string) string {
	came := slices.DeleteFunc(slices.Clone(answered), func(id string) bool { return !slices.Contains(ids, id) })
	reversed := slices.Clone(came)
	slices.Reverse(reversed)
	switch {
	case slices.Equal(came, ids):
		return "as asked"
	case slices.Equal(reversed, ids):
		return "reversed"
	}
	places := make([]string, len(came))
	for i, id := range came {
		places[i] = fmt.Sprint(slices.Index(ids, id) + 1)
	}
	return "another: " + strings.Join(places, " ")
}
