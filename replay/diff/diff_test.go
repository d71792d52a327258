package diff_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcprec/mcprec/fixtures"
	"github.com/mcprec/mcprec/replay"
	"github.com/mcprec/mcprec/replay/diff"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
)

// compared compares two sessions.
func compared(t testing.TB, o diff.Options, a, b []store.Event) *diff.Report {
	t.Helper()
	d := diff.NewDigester(o)
	c := diff.New(d, o)
	x, y := c.Sides()
	both := [2][]store.Event{a, b}
	for side, s := range [...]*diff.Session{x, y} {
		for _, e := range both[side] {
			if err := s.Apply(e, d.Digest(e)); err != nil {
				t.Fatal(err)
			}
		}
	}
	c.Match()
	for side, events := range both {
		wanted := c.Wants(side)
		for _, e := range events {
			if _, ok := slices.BinarySearch(wanted, e.Seq); ok {
				c.Take(side, e)
			}
		}
	}
	return c.Report()
}

// told is a report on a few lines.
func told(r *diff.Report) string {
	var b strings.Builder
	for _, f := range r.Findings {
		note := ""
		if f.Note {
			note = "note "
		}
		fmt.Fprintf(&b, "%s%s %s %v %v %s", note, f.Section, f.Kind, f.A, f.B, f.What)
		if f.Text != "" {
			b.WriteString(": " + f.Text)
		}
		for _, d := range f.Differences {
			fmt.Fprintf(&b, "; %s %s %s", d.Place(), d.Want, d.Got)
		}
		b.WriteString("\n")
	}
	return b.String()
}

// sessions are the real ones that are here, and all of $MCPREC_CORPUS.
func sessions(t testing.TB) map[string][]store.Event {
	t.Helper()
	found := map[string][]store.Event{}
	for _, folder := range []string{filepath.Join("..", "..", "fixtures"), filepath.Join("..", "..", "fixtures", "foreign", "testdata", "mcp-frames"), os.Getenv("MCPREC_CORPUS")} {
		paths, err := filepath.Glob(filepath.Join(folder, "*.jsonl"))
		if err != nil || len(paths) == 0 && folder != "" {
			t.Fatalf("%s: %d sessions, %v", folder, len(paths), err)
		}
		for _, path := range paths {
			if found[filepath.Base(path)], err = fixtures.ReadFile(path); err != nil {
				t.Fatal(err)
			}
		}
	}
	return found
}

// TestItself: a session and itself differ in nothing, not even in a note; neither do a
// session and the same with other ids.
func TestItself(t *testing.T) {
	for name, events := range sessions(t) {
		r := compared(t, diff.Options{Bytes: true}, events, events)
		if len(r.Findings) > 0 || len(r.Mapped) > 0 || !r.Same() {
			t.Errorf("%s: %s%v", name, told(r), r.Mapped)
		}
		if r := compared(t, diff.Options{}, events, later(events)); len(r.Findings) > 0 {
			t.Errorf("%s, later: %s", name, told(r))
		}
	}
}

// later is a session in which everything took twice as long.
func later(events []store.Event) []store.Event {
	events = slices.Clone(events)
	for i := range events {
		events[i].At *= 2
	}
	return events
}

// plan is a change to a session: the events, and the sections that must tell of it.
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
	calls := replay.NewCalls()
	for _, e := range events {
		if err := calls.Apply(e); err != nil {
			return p, false
		}
	}
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
	calls := replay.NewCalls()
	for _, e := range events {
		if err := calls.Apply(e); err != nil {
			return p, false
		}
	}
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

// TestTwoRecordings: values that are made up in each recording are no difference, unless
// they are used in two ways.
func TestTwoRecordings(t *testing.T) {
	const lines = `> {"id":1,"method":"tools/call","params":{"name":"new"}}
< {"id":1,"result":{"order":"%[1]s","at":"%[3]s"}}
> {"id":2,"method":"tools/call","params":{"name":"get","arguments":{"order":"%[1]s"}}}
< {"id":2,"result":{"order":"%[2]s"}}`
	x, y, z := "11111111-2222-4333-8444-555555555555", "aaaaaaaa-2222-4333-8444-555555555555", "bbbbbbbb-2222-4333-8444-555555555555"
	a := recorded(t, "2026-01-01T00:00:00Z", fmt.Sprintf(lines, x, x, "2026-01-01T00:00:01Z"))
	for _, c := range []struct {
		name, text, want string
	}{
		{"the same values", fmt.Sprintf(lines, x, x, "2026-01-01T00:00:01Z"), ""},
		{"other values", fmt.Sprintf(lines, y, y, "2026-05-01T00:00:02Z"), ""},
		{"another id comes back", fmt.Sprintf(lines, y, z, "2026-05-01T00:00:02Z"),
			"payload changed [5] [5] the answer to tools/call \"get\"; /result/order \"" + y + "\" \"" + z + "\"\n"},
		{"a time of no clock", fmt.Sprintf(lines, y, y, "2027-05-01T00:00:02Z"),
			"payload changed [3] [3] the answer to tools/call \"new\"; /result/at \"2026-01-01T00:00:01Z\" \"2027-05-01T00:00:02Z\"\n"},
	} {
		if got := told(compared(t, diff.Options{}, a, recorded(t, "2026-05-01T00:00:00Z", c.text))); got != c.want {
			t.Errorf("%s:\n%s", c.name, got)
		}
	}
}

// recorded reads a session from lines: > what the client said, < what the server did, a
// second each.
func recorded(t testing.TB, start, lines string) []store.Event {
	t.Helper()
	at, err := time.Parse(time.RFC3339, start)
	if err != nil {
		t.Fatal(err)
	}
	events := []store.Event{{Seq: 1, Kind: store.Opened, Payload: store.Header{ID: store.SessionID(start), Start: at}.Encode()}}
	for line := range strings.Lines(lines) {
		dir := map[byte]transport.Direction{'>': transport.ClientToServer, '<': transport.ServerToClient}[line[0]]
		n := len(events)
		events = append(events, store.Event{
			Seq: uint64(n) + 1, At: time.Duration(n) * time.Second, Kind: store.Frame, Dir: dir, Payload: []byte(strings.TrimSpace(line[1:])),
		})
	}
	return events
}
