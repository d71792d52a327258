package shrink

import (
	"fmt"
	"math/rand/v2"

	"github.com/mcprec/mcprec/replay/closed"
	"github.com/mcprec/mcprec/store"
)

// talk makes random sessions that two conforming peers might have had.
type talk struct {
	*rand.Rand
	lines []string
	next  int
	calls []*talking // open
}

// talking is an open request.
type talking struct {
	id, arrow, back, method string
	progress                int
}

func randomSession(rng *rand.Rand, frames int, shaken bool) []store.Event {
	t := &talk{Rand: rng}
	if shaken {
		t.lines = append(t.lines, handshake...)
	}
	for range frames {
		t.say()
	}
	for len(t.calls) > 0 {
		t.answer(0)
	}
	return script(t.lines...)
}

func (t *talk) add(arrow, format string, args ...any) {
	t.lines = append(t.lines, arrow+" "+fmt.Sprintf(`{"jsonrpc":"2.0",`+format+`}`, args...))
}

func (t *talk) say() {
	switch n := t.IntN(100); {
	case n < 20:
		t.ask(">", "<", `tools/call`, fmt.Sprintf(`"name":"x%d","arguments":{"n":%d}`, t.IntN(3), n))
	case n < 28:
		t.ask("<", ">", `ping`, "")
	case n < 34:
		t.ask("<", ">", `sampling/createMessage`, `"messages":[],"maxTokens":1`)
	case n < 40:
		t.ask(">", "<", `tools/list`, "")
	case n < 50:
		t.add("<", `"method":"notifications/tools/list_changed"`)
	case n < 55:
		t.add(">", `"method":"notifications/roots/list_changed"`)
	case n < 75 && len(t.calls) > 0:
		c := t.calls[t.IntN(len(t.calls))]
		c.progress++
		t.add(c.back, `"method":"notifications/progress","params":{"progressToken":"t%s","progress":%d}`, c.id, c.progress)
	case n < 78 && len(t.calls) > 0:
		c := t.calls[t.IntN(len(t.calls))]
		t.add(c.arrow, `"method":"notifications/cancelled","params":{"requestId":%s,"reason":"no"}`, c.id)
	case len(t.calls) > 0:
		t.answer(t.IntN(len(t.calls)))
	}
}

func (t *talk) ask(arrow, back, method, params string) {
	t.next++
	c := &talking{id: fmt.Sprint(t.next), arrow: arrow, back: back, method: method}
	t.calls = append(t.calls, c)
	if params != "" {
		params += ","
	}
	t.add(arrow, `"id":%s,"method":%q,"params":{%s"_meta":{"progressToken":"t%s"}}`, c.id, method, params, c.id)
}

func (t *talk) answer(i int) {
	c := t.calls[i]
	t.calls = append(t.calls[:i], t.calls[i+1:]...)
	t.add(c.back, `"id":%s,"result":{}`, c.id)
}

func randomModel(rng *rand.Rand) closed.Model {
	return [...]closed.Model{closed.SingleThreaded, closed.AnswersInline, closed.NotificationQueue(0), closed.NotificationQueue(1), closed.NotificationQueue(2)}[rng.IntN(5)]
}
