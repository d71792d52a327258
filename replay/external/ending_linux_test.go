//go:build amd64 || arm64

package external

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcprec/mcprec/replay/external/child"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
)

// sessionOf is a session with one call of a tool.
func sessionOf(tool string) []store.Event {
	events, say := newSession()
	say(c2s, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`)
	say(s2c, `{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"counter","version":"1"}}}`)
	say(c2s, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	say(c2s, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q}}`, tool)
	return *events
}

// TestRoughEnds holds what comes of servers in four languages that get SIGTERM with a call in hand, or whose output is
// closed: one that ends at the end of its input, whatever it does before and however it ends, is not at fault.
func TestRoughEnds(t *testing.T) {
	for name, server := range map[string]func(fault string) Server{
		"go": counter,
		"node": func(fault string) Server {
			return Server{Command: []string{"node", filepath.Join("testdata", "ending.mjs"), fault}}
		},
		"python": func(fault string) Server {
			return Server{Command: []string{"python3", filepath.Join("testdata", "ending.py"), fault}}
		},
		"sh": func(fault string) Server {
			return Server{Command: []string{"sh", filepath.Join("testdata", "ending.sh"), fault}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := exec.LookPath(server("healthy").Command[0]); err != nil {
				t.Skip(name + " is not here")
			}
			for _, row := range []struct {
				fault     string
				tool      string
				choice    Kind
				stays     bool
				outlasted bool // SIGTERM
			}{
				{"healthy", "work", Term, false, false},
				{"healthy", "add", Term, false, false},
				{"healthy", "add", Gone, false, false},
				{"swallows SIGTERM", "work", Term, false, true},
				{"stays at SIGTERM", "work", Term, true, false},
				{"ignores a broken pipe", "add", Gone, false, false},
				{"stays without output", "work", Gone, false, false}, // it writes nothing
				{"stays without output", "add", Gone, true, false},
			} {
				played, err := serverPeer{Server: server(row.fault), events: sessionOf(row.tool)}.play(Schedule{{Kind: row.choice, First: 5, Last: 5}}, child.Searching)
				if err != nil {
					t.Fatal(err)
				}
				stays := played.found != nil && played.found.kind == Lingers && played.found.at == row.choice
				if stays != row.stays || !stays && played.found != nil || slices.Equal(played.outlasted, []uint64{5}) != row.outlasted {
					t.Errorf("%s, %s of %s: found %+v, outlasted %v", row.fault, row.choice, row.tool, played.found, played.outlasted)
				}
			}
		})
	}
}

// TestStaysFor holds what the report says of a server that stays: at which end, what SIGTERM does, and of its simplest end only.
func TestStaysFor(t *testing.T) {
	for _, row := range []struct{ fault, tool, token, says, shown string }{
		{"lingers", "add", "x1.default", "DOES NOT EXIT when its input closes: all ", "; SIGTERM ends it; reproduced 3 times out of 3\n"},
		{"swallows SIGTERM and lingers", "add", "x1.default", "DOES NOT EXIT when its input closes: all ", "; SIGTERM does not end it either; reproduced 3 times out of 3\n"},
		{"swallows SIGTERM and lingers", "add", "x1.term5", "DOES NOT EXIT when its input closes: all ", "token: x1.default\n"},
		{"lingers in a call", "work", "x1.gone5", "DOES NOT EXIT when its input closes: all ", "token: x1.endrest5\n"},
		{"stays at SIGTERM", "add", "x1.term5", "DOES NOT EXIT when it gets SIGTERM, and its input closes then: all ", "token: x1.term5\n"},
		{"stays without output", "add", "x1.gone5", "DOES NOT EXIT when its output closes, and its input then: all ", "; SIGTERM ends it; reproduced 3 times out of 3\n"},
		{"swallows SIGTERM", "add", "x1.term5", "note: the server goes on after SIGTERM until its input closes: ", "tools/call add (#5)\n"},
	} {
		t.Run(row.fault+row.token, func(t *testing.T) {
			t.Parallel()
			events := sessionOf(row.tool)
			add := func(dir transport.Direction, frame string) {
				seq := uint64(len(events) + 1)
				events = append(events, store.Event{Seq: seq, At: time.Duration(seq), Kind: store.Frame, Dir: dir, Payload: []byte(frame)})
			}
			if row.tool == "work" { // the client gives it up
				add(c2s, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
				add(c2s, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"finish"}}`)
				add(s2c, `{"jsonrpc":"2.0","id":2,"result":{}}`)
			} else {
				add(s2c, `{"jsonrpc":"2.0","id":1,"result":{}}`)
			}
			report, err := Explore(counter(row.fault), events, Options{Token: row.token})
			text := report.Text()
			isNote := strings.HasPrefix(row.says, "note")
			if err != nil || report.Passed() != isNote || !isNote && len(report.Findings) != 1 || !strings.HasPrefix(text, row.says) || !strings.Contains(text, row.shown) {
				t.Errorf("%v, found:\n%s", err, text)
			}
		})
	}
}

// TestStaysOnce holds that a search tells of a server that never ends when its input does, and not of each other end too.
func TestStaysOnce(t *testing.T) {
	report, err := Explore(counter("lingers"), session(), Options{Schedules: 40})
	if err != nil || len(report.Findings) != 1 || report.Findings[0].Token != "x1.default" || report.Played < 20 {
		t.Errorf("%v, found:\n%s", err, report.Text())
	}
}

// TestShownRoughEnds holds that a play of a rough end is a session with its signal or its closed output, the end of the input
// when the server is at rest, and how the server ended; and that its script leaves the server alone in between.
func TestShownRoughEnds(t *testing.T) {
	for _, row := range []struct{ fault, token, events, exit, script string }{
		{"stays at SIGTERM", "x1.term5", "opened note c2s s2c c2s c2s s2c signal eof-c2s closed", "", "\nrest\nterminate\nrest\nfinish\n\nleaves\n"},
		{"stays without output", "x1.gone5", "opened note c2s s2c c2s eof-s2c c2s eof-c2s signal exit closed", "signal: terminated", "\nrest\nfinish\n\nleaves\n"},
	} {
		t.Run(row.fault, func(t *testing.T) {
			t.Parallel()
			events := append(sessionOf("add"), store.Event{Seq: 6, At: 6, Kind: store.Frame, Dir: s2c, Payload: []byte(`{"jsonrpc":"2.0","id":1,"result":{}}`)})
			report, err := Explore(counter(row.fault), events, Options{Token: row.token, Keep: true})
			if err != nil || report.Shown == nil {
				t.Fatalf("%v, found:\n%s", err, report.Text())
			}
			var said []string
			exit := ""
			for _, e := range report.Shown.Events(store.Header{ID: "01a20a05-df07-77d5-b81a-7728635191af"}) {
				word := string(e.Kind)
				switch e.Kind {
				case store.Frame:
					word = e.Dir.String()
				case store.EOF:
					word += "-" + e.Dir.String()
				case store.Exited:
					info, err := store.DecodePayload[store.ExitInfo](e)
					if err != nil {
						t.Error(err)
					}
					exit = info.String()
				}
				said = append(said, word)
			}
			if strings.Join(said, " ") != row.events || exit != row.exit {
				t.Errorf("its events are %v, exit %q, want %s, %q", said, exit, row.events, row.exit)
			}
			if script, err := report.Shown.Script(counter(row.fault)); err != nil || !strings.Contains(string(script), row.script) {
				t.Errorf("%v, its script is without %q:\n%s", err, row.script, script)
			}
		})
	}
}

// TestEndsWithStatus holds that a server which ends with a status when its input closes is not at fault if it did so
// in the recording, whatever the order; and that it is with another status, or where the recording says nothing.
func TestEndsWithStatus(t *testing.T) {
	healthy := filepath.Join("testdata", "ending.sh")
	server := Server{Command: []string{"sh", "-c", "sh " + healthy + " healthy; exit 3"}}
	ended := func(by string, status int) []store.Event {
		events := sessionOf("add")
		seq := uint64(len(events) + 1)
		eof := store.Event{Seq: seq, Kind: store.EOF, Dir: c2s, Payload: fmt.Appendf(nil, `{"by":%q}`, by)}
		return append(events, eof, store.Event{Seq: seq + 1, Kind: store.Exited, Payload: fmt.Appendf(nil, `{"code":%d}`, status)})
	}
	for name, row := range map[string]struct {
		events []store.Event
		isDead bool
	}{
		"as recorded":       {ended("sender", 3), false},
		"another status":    {ended("sender", 4), true},
		"recorded with 0":   {ended("sender", 0), true},
		"died before":       {ended("receiver", 3), true},
		"no end is on file": {sessionOf("add"), true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found, err := Explore(server, row.events, Options{Schedules: 4})
			if err != nil {
				t.Fatal(err)
			}
			isDead := len(found.Findings) > 0 && found.Findings[0].Kind == Died
			told := strings.Contains(found.Text(), "not judged: the server ends with exit status 3 when its input closes, as it did in the recording\n")
			if isDead != row.isDead || told == row.isDead {
				t.Errorf("died: %v, told: %v\n%s", isDead, told, found.Text())
			}
		})
	}
}
