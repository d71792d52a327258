package diff_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcprec/mcprec/replay/diff"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/jsonl"
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
	for _, folder := range []string{filepath.Join("..", "..", "fixtures"), filepath.Join("..", "..", "store", "foreign", "testdata", "mcp-frames"), os.Getenv("MCPREC_CORPUS")} {
		paths, err := filepath.Glob(filepath.Join(folder, "*.jsonl"))
		if err != nil || len(paths) == 0 && folder != "" {
			t.Fatalf("%s: %d sessions, %v", folder, len(paths), err)
		}
		for _, path := range paths {
			if found[filepath.Base(path)], err = jsonl.ReadFile(path); err != nil {
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
			"payload changed [5] [5] the answer to tools/call \"get\"; /result/order \"" + x + "\" \"" + z + "\"\n"},
		{"a text with its own id", fmt.Sprintf(lines, y, y+" is late", "2026-05-01T00:00:02Z"),
			"payload changed [5] [5] the answer to tools/call \"get\"; /result/order \"" + x + "\" \"" + y + " is late\"\n"},
		{"a time of no clock", fmt.Sprintf(lines, y, y, "2027-05-01T00:00:02Z"),
			"payload changed [3] [3] the answer to tools/call \"new\"; /result/at \"2026-01-01T00:00:01Z\" \"2027-05-01T00:00:02Z\"\n"},
	} {
		if got := told(compared(t, diff.Options{}, a, recorded(t, "2026-05-01T00:00:00Z", c.text))); got != c.want {
			t.Errorf("%s:\n%s", c.name, got)
		}
	}
	const end = " is on its way to the house at the end of the long road behind the hill, "
	named := strings.ReplaceAll(lines, "order", "sessionId")
	a = recorded(t, "2026-01-01T00:00:00Z", fmt.Sprintf(named, "k3-alpha-7719", "k3-alpha-7719"+end+"red", "2026-01-01T00:00:01Z"))
	b := recorded(t, "2026-05-01T00:00:00Z", fmt.Sprintf(named, "q9-beta-22041718293", "q9-beta-22041718293"+end+"blue", "2026-05-01T00:00:02Z"))
	const want = "payload changed [5] [5] the answer to tools/call \"get\"; /result/sessionId …\"ad behind the hill, red\" …\"ad behind the hill, blue\"\n"
	if got := told(compared(t, diff.Options{}, a, b)); got != want {
		t.Errorf("a long text in which an id comes first:\n%s", got)
	}
}

// TestEmptyName: a member of params without a name is compared as any other.
func TestEmptyName(t *testing.T) {
	const lines = `> {"id":1,"method":"tools/call","params":{"name":"x","":%d}}
< {"id":1,"result":{}}`
	a, b := recorded(t, "2026-01-01T00:00:00Z", fmt.Sprintf(lines, 1)), recorded(t, "2026-05-01T00:00:00Z", fmt.Sprintf(lines, 2))
	const want = "payload changed [2] [2] tools/call \"x\"; /params/ 1 2\n"
	if got := told(compared(t, diff.Options{}, a, b)); got != want {
		t.Errorf("got  %swant %s", got, want)
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
