package external

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcprec/mcprec/store"
)

// TestScript holds that the script of a finding shows it to the server with the fault, and not to one without.
func TestScript(t *testing.T) {
	for _, row := range []struct {
		fault, token string
		shows, not   string
	}{
		{"drops", "x1.join5-7", "reproduced: no answer to tools/call add (id 2) after 1 s\n", "not reproduced: every call was answered\n"},
		{"dies", "x1.cancel5", "reproduced: the server ended by itself, with status 3\n", "not reproduced: the server goes on\n"},
		{"lingers", "x1.default", "reproduced: the server goes on 1 s after its input has closed\n", "not reproduced: the server ended with status 0\n"},
		{"late", "x1.endrest5", "reproduced: the server ended with status 0, without an answer to tools/call add (id 1)\n", "not reproduced: every call was answered\n"},
		{"awaits one at its end", "x1.leave5-9", "reproduced: the server ended with status 0, without an answer to tools/call slow (id 3)\n", "not reproduced: every call was answered\n"},
		{"stays at SIGTERM", "x1.term5", "reproduced: the server goes on 1 s after that and the end of its input\n", "not reproduced: the server ended with status 143\n"},
		{"stays without output", "x1.gone5", "reproduced: the server goes on 1 s after that and the end of its input\n", "not reproduced: the server ended with status "},
		{"prints", "x1.default", "what the server said; it breaks the rule that is told above:\n", "what the server said; it breaks the rule that is told above:\n"},
		{"loses", "x1.join5-7", "what the server said; the recorded order and this one differ as told above:\n", "what the server said; the recorded order and this one differ as told above:\n"},
	} {
		t.Run(row.fault, func(t *testing.T) {
			t.Parallel()
			server := counter(row.fault)
			events := session()
			if row.fault == "late" {
				server.Env = append(server.Env, startsEnv+"="+filepath.Join(t.TempDir(), "starts"))
				events = events[:6]
			}
			if row.fault == "awaits one at its end" {
				events = slowSession()
			}
			report, err := Explore(server, events, Options{Token: row.token, Keep: true})
			if err != nil || report.Shown == nil {
				t.Fatalf("%v, found:\n%s", err, report.Text())
			}
			text, err := report.Shown.Script(server)
			if err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(t.TempDir(), "a finding.sh")
			if err := os.WriteFile(file, text, 0o600); err != nil {
				t.Fatal(err)
			}
			run := func(patience string, command ...string) string {
				cmd := exec.Command("sh", append([]string{file}, command...)...)
				cmd.Env = append(os.Environ(), "PATIENCE="+patience, "REST=0.05")
				said, err := cmd.Output()
				if code := cmd.ProcessState.ExitCode(); code != map[bool]int{true: 1}[strings.HasPrefix(string(said), "reproduced")] {
					t.Errorf("%v, status %d: %s", err, code, said)
				}
				return string(said)
			}
			if said := run("1"); !strings.HasPrefix(said, row.shows) {
				t.Errorf("it says %q, want %q\n%s", said, row.shows, text)
			}
			patience := "60"
			if row.fault == "dies" { // that it does not is known when the patience is over
				patience = "1"
			}
			if said := run(patience, "env", serverEnv+"=healthy", startsEnv+"=", os.Args[0]); !strings.HasPrefix(said, row.not) {
				t.Errorf("to a healthy server it says %q, want %q", said, row.not)
			}
		})
	}
}

// TestShownEvents holds that the play of a token is a session, also one that shows nothing.
func TestShownEvents(t *testing.T) {
	report, err := Explore(counter("healthy"), session(), Options{Token: "x1.join5-7", Keep: true})
	if err != nil || report.Shown == nil || report.Shown.Finding != nil {
		t.Fatalf("%v, found:\n%s", err, report.Text())
	}
	if _, err := report.Shown.Script(Server{}); err == nil {
		t.Error("there is a script of nothing")
	}
	var said []string
	for _, e := range report.Shown.Events(store.Header{ID: "01a20a05-df07-77d5-b81a-7728635191af"}) {
		word := string(e.Kind)
		if e.Kind == store.Frame {
			word = e.Dir.String()
		}
		said = append(said, word)
	}
	if want := "opened c2s s2c c2s c2s c2s s2c s2c c2s s2c c2s s2c eof exit closed"; strings.Join(said, " ") != want {
		t.Errorf("its events are %v, want %s", said, want)
	}
}

// TestHangInSession holds that a play of a hang as a session has the time that mcprec waited, an end, and in its note the
// numbers of its own events.
func TestHangInSession(t *testing.T) {
	t.Parallel()
	finding := &Finding{Kind: Hang, Peer: "server", Requests: []Request{{15, "tools/call add"}}, Choices: []string{"the client cancels tools/call add (#12) at once"}, Held: 3, Of: 3}
	shown := &Shown{Finding: finding, from: c2s, Until: 6 * time.Second, Moves: []Move{
		{Kind: Wrote, At: 1, Frames: [][]byte{[]byte("{}"), []byte("{}"), []byte("{}")}, Seqs: []uint64{12, 0, 15}},
	}}
	events := shown.Events(store.Header{})
	last := events[len(events)-2:]
	if last[0].Kind != store.EOF || last[1].Kind != store.Closed || last[0].At != shown.Until || last[1].At != shown.Until {
		t.Errorf("it ends with %v", last)
	}
	info, err := store.DecodePayload[store.NoteInfo](events[1])
	if err != nil || !strings.Contains(info.Text, "tools/call add (#5)") || !strings.Contains(info.Text, "cancels tools/call add (#3)") {
		t.Errorf("%v, its note is %q", err, info.Text)
	}
}
