package diff_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/mcprec/mcprec/replay/diff"
	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
)

// planted is a change to a session: the events, and the sections that must tell of it.
type planted struct {
	events []store.Event
	at     uint64 // the Seq that must be among those of a finding of B, or of A
	inA    bool
	want   string // section
}

// TestPlanted: what is changed at random in a real session is found, and nothing else;
// and the other way round it is told the other way round.
func TestPlanted(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 1))
	all := sessions(t)
	names := make([]string, 0, len(all))
	for name := range all {
		names = append(names, name)
	}
	slices.Sort(names)
	counts := map[string]int{}
	for _, name := range names {
		for plant, change := range plants {
			for range 3 {
				p, ok := change(random, all[name])
				if !ok {
					continue
				}
				counts[plant]++
				checkPlanted(t, name+", "+plant, all[name], p)
			}
		}
	}
	t.Log(counts)
	for plant := range plants {
		if counts[plant] < 5 {
			t.Errorf("%s was planted %d times", plant, counts[plant])
		}
	}
}

func checkPlanted(t *testing.T, name string, events []store.Event, p planted) {
	t.Helper()
	r := compared(t, diff.Options{}, events, p.events)
	back := compared(t, diff.Options{}, p.events, events)
	total := 0
	for section, n := range r.Counts {
		if total += n; back.Counts[section] != n {
			t.Errorf("%s at #%d: %d in %s, %d the other way round\n%s-\n%s", name, p.at, n, section, back.Counts[section], told(r), told(back))
		}
	}
	found := slices.ContainsFunc(r.Findings, func(f diff.Finding) bool {
		return f.Section == p.want && !f.Note && slices.Contains(map[bool][]uint64{true: f.A, false: f.B}[p.inA], p.at)
	})
	if !found || total != 1 {
		t.Errorf("%s at #%d: want one in %s:\n%s", name, p.at, p.want, told(r))
	}
}

var plants = map[string]func(*rand.Rand, []store.Event) (planted, bool){
	"a changed field":        plantField,
	"a dropped notification": plantDrop,
	"an added call":          plantCall,
	"a swap":                 plantSwap,
	"a dropped answer":       plantSilence,
	"a changed notification": plantNotice,
	"calls the other way":    plantTurn,
}

// single is the only message of a frame.
func single(e store.Event) (m transport.Message, ok bool) {
	if e.Kind != store.Frame {
		return m, false
	}
	messages, err := e.AsFrame().Messages()
	if err != nil || len(messages) != 1 || strings.HasPrefix(strings.TrimSpace(string(e.Payload)), "[") {
		return m, false
	}
	return messages[0], true
}

// renumbered gives events their Seqs again.
func renumbered(events []store.Event) []store.Event {
	events = slices.Clone(events)
	for i := range events {
		events[i].Seq = uint64(i) + 1
	}
	return events
}

// pick returns the index of a random event that is wanted.
func pick(random *rand.Rand, events []store.Event, wanted func(i int, m transport.Message) bool) (int, bool) {
	var list []int
	for i, e := range events {
		if m, ok := single(e); ok && wanted(i, m) {
			list = append(list, i)
		}
	}
	if len(list) == 0 {
		return 0, false
	}
	return list[random.IntN(len(list))], true
}

// plantField adds a member to the params of a call or to a result that answers one.
func plantField(random *rand.Rand, events []store.Event) (p planted, ok bool) {
	calls := timeline.CallsOf(events)
	answers := map[uint64]string{}
	for _, c := range calls.All() {
		answers[c.Response] = c.Method
	}
	i, ok := pick(random, events, func(i int, m transport.Message) bool {
		method, answered := answers[events[i].Seq]
		inParams := m.Kind() == transport.Request && m.Method == "tools/call" && len(m.Params) > 2
		inResult := m.Kind() == transport.Response && answered && method != "initialize" && method != "server/discover" && len(m.Result) > 2
		return inParams || inResult
	})
	if !ok {
		return p, false
	}
	m, _ := single(events[i])
	part := "params"
	if m.Result != nil {
		part = "result"
	}
	start, _, _ := transport.Locate(events[i].Payload, part)
	p = planted{events: slices.Clone(events), at: events[i].Seq, want: diff.Payload}
	text := string(events[i].Payload)
	p.events[i].Payload = []byte(text[:start+1] + `"planted":[1,"two"],` + text[start+1:])
	return p, true
}

// plantDrop leaves out a notification of the server.
func plantDrop(random *rand.Rand, events []store.Event) (p planted, ok bool) {
	i, ok := pick(random, events, func(i int, m transport.Message) bool {
		return m.Kind() == transport.Notification && events[i].Dir == transport.ServerToClient && !isAgain(events, i)
	})
	if !ok {
		return p, false
	}
	return planted{events: renumbered(slices.Delete(slices.Clone(events), i, i+1)), at: events[i].Seq, inA: true, want: diff.Notifications}, true
}

// isAgain reports whether the same was said elsewhere: then it is another one that seems
// to be missing.
func isAgain(events []store.Event, i int) bool {
	for k, e := range events {
		if k != i && e.Kind == store.Frame && string(e.Payload) == string(events[i].Payload) {
			return true
		}
	}
	return false
}

// plantCall adds a call that was answered with an error.
func plantCall(random *rand.Rand, events []store.Event) (p planted, ok bool) {
	i, ok := pick(random, events, func(i int, m transport.Message) bool {
		return m.Kind() == transport.Response && events[i].Dir == transport.ServerToClient
	})
	if !ok {
		return p, false
	}
	e := events[i]
	call, answer := e, e
	call.Dir = transport.ClientToServer
	call.Payload = []byte(`{"jsonrpc":"2.0","id":"planted","method":"tools/call","params":{"name":"planted"}}`)
	answer.Payload = []byte(`{"jsonrpc":"2.0","id":"planted","error":{"code":-32602,"message":"no such tool"}}`)
	call.Stream, answer.Stream = 1<<40, 1<<40
	if e.Stream == 0 {
		call.Stream, answer.Stream = 0, 0
	}
	return planted{events: renumbered(slices.Insert(slices.Clone(events), i+1, call, answer)), at: e.Seq + 1, want: diff.Calls}, true
}

// plantSwap puts progress behind the answer of its call.
func plantSwap(random *rand.Rand, events []store.Event) (p planted, ok bool) {
	calls := timeline.CallsOf(events)
	var list []int
	for _, c := range calls.All() {
		if n := len(c.Progress); n > 0 && c.Cancelled == 0 && c.Response == c.Progress[n-1]+1 {
			list = append(list, int(c.Response)-1)
		}
	}
	if len(list) == 0 {
		return p, false
	}
	i := list[random.IntN(len(list))]
	if events[i].Stream != events[i-1].Stream {
		return p, false
	}
	swapped := slices.Clone(events)
	swapped[i], swapped[i-1] = swapped[i-1], swapped[i]
	return planted{events: renumbered(swapped), at: events[i-1].Seq, inA: true, want: diff.Order}, true
}

// plantSilence leaves out the last answer to the client.
func plantSilence(_ *rand.Rand, events []store.Event) (p planted, ok bool) {
	calls := timeline.CallsOf(events)
	last := uint64(0)
	for _, c := range calls.All() {
		if c.Dir == transport.ClientToServer && c.Cancelled == 0 {
			last = max(last, c.Response)
		}
	}
	if last == 0 {
		return p, false
	}
	if _, ok := single(events[last-1]); !ok {
		return p, false
	}
	return planted{events: renumbered(slices.Delete(slices.Clone(events), int(last)-1, int(last))), at: last, inA: true, want: diff.Calls}, true
}

// plantNotice adds a member to the params of a notification of the server.
func plantNotice(random *rand.Rand, events []store.Event) (p planted, ok bool) {
	i, ok := pick(random, events, func(i int, m transport.Message) bool {
		return m.Kind() == transport.Notification && events[i].Dir == transport.ServerToClient && len(m.Params) > 2 && !isAgain(events, i)
	})
	if !ok {
		return p, false
	}
	start, _, _ := transport.Locate(events[i].Payload, "params")
	p = planted{events: slices.Clone(events), at: events[i].Seq, want: diff.Payload}
	text := string(events[i].Payload)
	p.events[i].Payload = []byte(text[:start+1] + `"planted":true,` + text[start+1:])
	return p, true
}

// plantTurn makes two calls of stdio, next to each other and each answered at once, in the
// other order.
func plantTurn(random *rand.Rand, events []store.Event) (p planted, ok bool) {
	i, ok := pick(random, events, func(i int, m transport.Message) bool {
		if i+3 >= len(events) || m.Method != "tools/call" || m.ProgressToken() != nil {
			return false
		}
		answer, ok := single(events[i+1])
		next, also := single(events[i+2])
		last, too := single(events[i+3])
		return ok && also && too && events[i].Stream == 0 && next.Method == "tools/call" &&
			string(answer.ID) == string(m.ID) && string(last.ID) == string(next.ID) && last.Kind() == transport.Response &&
			answer.Kind() == transport.Response && string(next.Params) != string(m.Params)
	})
	if !ok {
		return p, false
	}
	turned := slices.Clone(events)
	copy(turned[i:], events[i+2:i+4])
	copy(turned[i+2:], events[i:i+2])
	return planted{events: renumbered(turned), at: events[i].Seq, inA: true, want: diff.Order}, true
}
