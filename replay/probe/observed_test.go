package probe

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mcprec/mcprec/replay/closed"
	"github.com/mcprec/mcprec/transport"
)

// The model of every kind of observation, and none of too few.
func TestModel(t *testing.T) {
	for _, tt := range []struct {
		name string
		seen Observed
		want string // the models
	}{
		{"nothing", Observed{}, ""},
		{"no limit alone does not say whether it reads", Observed{Standing: Yes}, ""},
		{"reads while it answers", Observed{Answering: Yes}, "independent"},
		{"stops when it waits for nothing", Observed{Answering: Yes, Idle: No}, ""},
		{"does not read while it answers", Observed{Answering: No, Asking: Yes}, "answers-inline"},
		{"does not read while it asks", Observed{Answering: No, Asking: No}, "single-threaded"},
		{"waits for handlers", Observed{Answering: No, Handling: No}, "blocking-handlers"},
		{"waits for handlers, but writes beside", Observed{Answering: Yes, Handling: No, ToolsBeside: No}, "blocking-handlers"},
		{"waits for handlers but of tools", Observed{Answering: No, Handling: No, ToolsBeside: Yes}, "blocking-handlers-except-tools"},
		{"a queue", Observed{Answering: Yes, Standing: No, Stands: 2}, "notification-queue=2"},
		{"a queue, and writes answers itself", Observed{Answering: No, Standing: No}, "notification-queue=0 answers-inline"},
		{"a queue, and waits for handlers", Observed{Handling: No, Standing: No, Stands: 1}, "notification-queue=1 blocking-handlers"},
	} {
		var words []string
		for _, model := range tt.seen.Models() {
			words = append(words, model.String())
			if _, err := closed.ParseEnd(transport.ServerToClient, model.String()); err != nil {
				t.Errorf("%s: %v", tt.name, err)
			}
		}
		if got := strings.Join(words, " "); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestOrderOfAnswers(t *testing.T) {
	ids := []string{"a", "b", "c"}
	for answered, want := range map[string]string{"x a b y c": "as asked", "c b x a": "reversed", "b a c": "another: 2 1 3"} {
		if got := orderOfAnswers(ids, strings.Fields(answered)); got != want {
			t.Errorf("%s: %s, want %s", answered, got, want)
		}
	}
}

// A report has every list in JSON, also an empty one, and says in text what was not measured.
func TestReport(t *testing.T) {
	report := Report{Role: "client", Evidence: Proved}
	report.open(asksHandling, "nothing asked")
	report.conclude()
	data, err := json.Marshal(report)
	want := `{"role":"client","model":"","also":[],"evidence":"proved","peer":{"name":"","version":"","revision":"","offers":[]},"findings":[],` +
		`"not_measured":[{"key":"handling","question":"reads the answer that its handler waits for","answer":"","detail":"nothing asked"}]}`
	if err != nil || string(data) != want {
		t.Errorf("%s, %v", data, err)
	}
	text := report.Text()
	for _, part := range []string{"client whose model was not measured (each standstill is proved)", "not measured:\n  reads the answer that its handler waits for  nothing asked"} {
		if !strings.Contains(text, part) {
			t.Errorf("%q is not in\n%s", part, text)
		}
	}
	if strings.Contains(text, "mcprec replay") {
		t.Errorf("it names a model:\n%s", text)
	}
}

// scripted is a line to a peer that answers every request at once, until it has got so many frames.
type scripted struct {
	stops, sent int
	heard       []transport.Frame
}

func (s *scripted) Send(frames ...transport.Frame) {
	for _, f := range frames {
		if s.sent++; s.stops > 0 && s.sent > s.stops {
			continue
		}
		messages, _ := f.Messages()
		for _, m := range messages {
			if m.Kind() == transport.Request {
				s.heard = append(s.heard, text(`{"jsonrpc":"2.0","id":%s,"result":{"serverInfo":{"name":"scripted"}}}`, m.ID))
			}
		}
	}
}

func (s *scripted) Listen(int) {}

func (s *scripted) Rest() Stand {
	stand := Stand{Heard: s.heard}
	if s.stops > 0 {
		stand.Untaken = max(0, s.sent-s.stops)
	}
	s.heard = nil
	return stand
}

func (s *scripted) Pass(int) bool { return false }
func (s *scripted) Room() int     { return 0 }

// scripts is a bench of such peers.
type scripts struct{ stops int }

func (s scripts) Play(experiment func(Line)) error {
	experiment(&scripted{stops: s.stops})
	return nil
}

// A server that stops reading after some frames is of no model; one that answers nothing cannot be probed.
func TestServerThatStops(t *testing.T) {
	report, err := Server(scripts{stops: 20}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(report.Findings, func(f Finding) bool { return f.Question == asksBefore })
	if at < 0 || report.Findings[at].Answer != "17" { // initialize, initialized, 17 notifications, and the request
		t.Errorf("it says\n%s", report.Text())
	}
	if report.Measured && report.Word() == "independent" {
		t.Error("it is free")
	}
	if _, err := Server(scripts{stops: 1}, Options{}); err == nil || !strings.Contains(err.Error(), "it answers neither a list nor a ping") {
		t.Errorf("the error is %v", err)
	}
}

// scriptedClient is a line to a client that initializes and calls a tool. During the call it takes some
// notifications of a method; it stops in the first that is more.
type scriptedClient struct {
	stops bool
	takes map[string]int // by method; no limit for others
	took  map[string]int
	heard []transport.Frame
	stand Stand
}

func (c *scriptedClient) Send(frames ...transport.Frame) {
	for _, f := range frames {
		messages, _ := f.Messages()
		for _, m := range messages {
			c.took[m.Method]++
			limit, limited := c.takes[m.Method]
			switch {
			case c.stops:
				c.stand.Untaken++
			case limited && c.took[m.Method] > limit:
				c.stops = true
			case m.Kind() == transport.Request:
				c.heard = append(c.heard, text(`{"jsonrpc":"2.0","id":%s,"result":{}}`, m.ID))
			case m.Kind() == transport.Notification:
			case string(m.ID) == "1":
				c.heard = append(c.heard, text(`{"jsonrpc":"2.0","method":"notifications/initialized"}`), text(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"x","_meta":{"progressToken":"p"}}}`))
			case string(m.ID) == "2":
				c.stand.Over = true
			}
		}
	}
}

func (c *scriptedClient) Listen(int)    {}
func (c *scriptedClient) Pass(int) bool { return false }
func (c *scriptedClient) Room() int     { return 0 }

func (c *scriptedClient) Rest() Stand {
	stand := c.stand
	stand.Heard, c.heard = c.heard, nil
	return stand
}

// clients is a bench of such clients: of what they say first, and how they end.
type clients struct {
	takes map[string]int
	hello string
	stand Stand
}

func (c clients) Play(experiment func(Line)) error {
	experiment(&scriptedClient{takes: c.takes, took: map[string]int{}, heard: []transport.Frame{text("%s", c.hello)}, stand: c.stand})
	return nil
}

const scriptedHello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"capabilities":{"roots":{},"sampling":{}},"clientInfo":{"name":"scripted"}}}`

// The least limit of the kinds of notifications is that of the client.
func TestLeastLimit(t *testing.T) {
	for _, tt := range []struct {
		progress, message int
		want              string
	}{{3, 1, "3 1, no 1"}, {1, 3, "1 3, no 1"}, {0, 900, "0, no 0"}, {900, 2, "2, no 2"}, {900, 900, "no limit, yes 0"}} {
		takes := map[string]int{"notifications/progress": tt.progress, "notifications/message": tt.message}
		report, err := Client(clients{takes: takes, hello: scriptedHello}, Options{Notifications: 16})
		if err != nil {
			t.Fatal(err)
		}
		var limits []string
		for _, f := range report.Findings {
			if f.Question == asksStanding {
				limits = append(limits, f.Answer)
			}
		}
		observed := map[Answer]string{Yes: "yes", No: "no"}[report.Observed.Standing]
		if got := fmt.Sprintf("%s, %s %d", strings.Join(limits, " "), observed, report.Observed.Stands); got != tt.want {
			t.Errorf("it takes %d and %d: %s, want %s", tt.progress, tt.message, got, tt.want)
		}
		if peer := report.Peer; peer.Name != "scripted" || !slices.Equal(peer.Offers, []string{"roots", "sampling"}) {
			t.Errorf("the client is %+v", peer)
		}
	}
}

// What a client has to do for a probe.
func TestClientThatCannotBeProbed(t *testing.T) {
	for _, tt := range []struct {
		bench clients
		want  string
	}{
		{clients{hello: `{"jsonrpc":"2.0","id":3,"method":"ping"}`}, "it sent no initialize request"},
		{clients{hello: scriptedHello, stand: Stand{Over: true, Failed: true}}, "the function fails already"},
	} {
		if _, err := Client(tt.bench, Options{}); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%v, want %s", err, tt.want)
		}
	}
}

// failing is a bench of which one play fails.
type failing struct {
	Bench
	at, plays int
}

func (f *failing) Play(experiment func(Line)) error {
	if f.plays++; f.plays == f.at {
		return errors.New("broken bench")
	}
	return f.Bench.Play(experiment)
}

// A play that fails is told of: by the error, or beside the question that it was to answer.
func TestBenchFails(t *testing.T) {
	for name, peer := range map[string]struct {
		bench Bench
		probe func(Bench, Options) (Report, error)
	}{
		"client": {clients{takes: map[string]int{"notifications/message": 3}, hello: scriptedHello}, Client},
		"server": {scripts{}, Server},
	} {
		for at := 1; ; at++ {
			bench := &failing{Bench: peer.bench, at: at}
			report, err := peer.probe(bench, Options{Notifications: 16})
			if bench.plays < at {
				if at < 5 {
					t.Errorf("%s: %d plays", name, bench.plays)
				}
				break
			}
			if !strings.Contains(fmt.Sprint(err, report.Text()), "broken bench") {
				t.Errorf("%s, play %d: %v\n%s", name, at, err, report.Text())
			}
		}
	}
}
