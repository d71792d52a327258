package diff_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mcprec/mcprec/replay/diff"
	"github.com/mcprec/mcprec/replay/internal/replaytest"
	"github.com/mcprec/mcprec/replay/match"
	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/jsonl"
	"github.com/mcprec/mcprec/transport"
)

// compared compares two sessions.
func compared(t testing.TB, o diff.Options, a, b []store.Event) *diff.Report {
	t.Helper()
	return read(t, o, a, b).Report()
}

// read returns the comparison of two sessions that have been read.
func read(t testing.TB, o diff.Options, a, b []store.Event) *diff.Comparison {
	t.Helper()
	d := diff.NewDigester(o)
	c := diff.New(d, o)
	x, y := c.Sides()
	both := [2][]store.Event{a, b}
	for side, s := range [...]*diff.Session{x, y} {
		for step, err := range timeline.NewModel(diff.Remembered).Steps(jsonl.Each(both[side])) {
			if err = errors.Join(err, s.Take(step, d.Digest(timeline.MessagesOf(step.AsFrame())))); err != nil {
				t.Fatal(err)
			}
		}
	}
	return c
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

// TestSame: a report is asked about all sections, or about some.
func TestSame(t *testing.T) {
	r := compared(t, diff.Options{}, recorded(t, "2026-01-01T00:00:00Z", `exit {"code":0}`), recorded(t, "2026-05-01T00:00:00Z", `exit {"code":1}`))
	if r.Same() || r.Same(diff.Calls, diff.Exit) || !r.Same(diff.Calls, diff.Payload) {
		t.Errorf("%+v", r.Counts)
	}
}

// TestTiming: how long calls took by name, and which took much longer.
func TestTiming(t *testing.T) {
	const ask, other = `> {"id":%[1]d,"method":"tools/call","params":{"name":"x","n":%[1]d}}`, `> {"id":"p%[1]d","method":"ping"}`
	call := func(id int, waits int) string {
		return fmt.Sprintf(ask+"\n", id) + strings.Repeat("stderr\n", waits) + fmt.Sprintf("< {\"id\":%d,\"result\":{}}\n", id)
	}
	question := "< {\"id\":1,\"method\":\"ping\"}\n" + strings.Repeat("stderr\n", 90) + "> {\"id\":1,\"result\":{}}\n"
	a := call(1, 0) + call(2, 1) + call(3, 50) + fmt.Sprintf(other, 4) + "\n" + question
	b := call(1, 0) + call(2, 20) + call(3, 3) + fmt.Sprintf(other, 4) + "\n" + strings.Replace(question, "stderr\n", "", 80)
	r := compared(t, diff.Options{}, recorded(t, "2026-01-01T00:00:00Z", a), recorded(t, "2026-05-01T00:00:00Z", b))
	slower := ""
	for _, s := range r.Slower {
		slower += fmt.Sprintf("%s #%d %v #%d %v; ", s.What, s.A, s.InA, s.B, s.InB)
	}
	if want := `tools/call "x" #7 51s #26 4s; tools/call "x" #4 2s #4 21s; `; slower != want {
		t.Errorf("slower: %s", slower)
	}
	want := diff.Latency{What: `tools/call "x"`, CallsA: 3, CallsB: 3, P50A: 2 * time.Second, P50B: 4 * time.Second, P95A: 51 * time.Second, P95B: 21 * time.Second, Ratio: 2}
	if len(r.Timing) != 1 || r.Timing[0] != want {
		t.Errorf("%+v", r.Timing)
	}
}

// recorded reads a session from lines, a second each: > what the client said, < what the server did, the number of
// its exchange behind the sign if it has one; or a kind, a direction and an exchange, and the payload.
func recorded(t testing.TB, start, lines string) []store.Event {
	t.Helper()
	at, err := time.Parse(time.RFC3339, start)
	if err != nil {
		t.Fatal(err)
	}
	events := []store.Event{{Seq: 1, Kind: store.Opened, Payload: store.Header{ID: store.SessionID(start), Start: at}.Encode()}}
	for line := range strings.Lines(lines) {
		word, payload, _ := strings.Cut(strings.TrimSpace(line), " ")
		n := len(events)
		e := store.Event{Seq: uint64(n) + 1, At: time.Duration(n) * time.Second, Kind: store.Frame, Payload: []byte(payload)}
		exchange := ""
		if dir, ok := map[byte]transport.Direction{'>': transport.ClientToServer, '<': transport.ServerToClient}[word[0]]; ok {
			e.Dir = dir
			exchange = word[1:]
		} else {
			part := append(strings.Split(word, "/"), "", "")
			e.Kind = store.Kind(part[0])
			e.Dir, _ = transport.ParseDirection(part[1])
			exchange = part[2]
		}
		e.Stream, _ = strconv.ParseUint(exchange, 10, 64)
		events = append(events, e)
	}
	return events
}

// TestFindings: what is told of small sessions that differ in one thing, and what is no difference.
func TestFindings(t *testing.T) {
	const ask = `> {"id":1,"method":"tools/call","params":{"name":"x","_meta":{"progressToken":7}}}`
	const step, answer = `< {"method":"notifications/progress","params":{"progressToken":7,"progress":1}}`, `< {"id":1,"result":{}}`
	on := func(exchange int, line string) string { return fmt.Sprintf("%c%d%s", line[0], exchange, line[1:]) }
	log := func(text string) string {
		return `< {"method":"notifications/message","params":{"level":"info","data":"` + text + `"}}`
	}
	same := func(answers ...string) (lines []string) {
		for i, text := range answers {
			lines = append(lines, fmt.Sprintf(`> {"id":%d,"method":"ping"}`, i), fmt.Sprintf(`< {"id":%d,"result":{"n":%q}}`, i, text))
		}
		return lines
	}
	const stop = `> {"method":"notifications/cancelled","params":{"requestId":1}}`
	listen := `> {"id":1,"method":"subscriptions/listen","params":{}}`
	for _, c := range []struct {
		name    string
		options diff.Options
		a, b    []string
		want    string
	}{
		{"an answer overtakes progress", diff.Options{}, []string{ask, step, answer}, []string{ask, answer, step}, `order swapped [3 4] [4 3] notifications/progress: came after the answer to tools/call "x" (#3) in B, before it (#4) in A`},
		{"on two streams no order is known", diff.Options{}, []string{on(1, ask), on(1, step), on(1, answer)}, []string{on(1, ask), on(1, answer), on(2, step)}, ""},
		{"on one stream", diff.Options{}, []string{on(1, ask), on(1, step), on(1, answer)}, []string{on(1, ask), on(1, answer), on(1, step)}, `order swapped [3 4] [4 3] notifications/progress: came after the answer to tools/call "x" (#3) in B, before it (#4) in A`},
		{"in any order", diff.Options{Rules: match.Rules{AnyOrder: true}}, []string{ask, step, answer}, []string{ask, answer, step}, `note order swapped [3 4] [4 3] notifications/progress: came after the answer to tools/call "x" (#3) in B, before it (#4) in A`},
		{"a call in one alone", diff.Options{}, []string{ask, step, answer, log("z")}, []string{log("z")}, `calls only in A [2 4] [] tools/call "x": answered by #4, with 1 more that belong to it`},
		{"an answer in one alone", diff.Options{}, []string{ask, step, answer}, []string{ask, step}, `calls only in A [4] [2] the answer to tools/call "x": #2 has none in B`},
		{"one of several like it", diff.Options{}, same("a", "b", "c", "d"), same("a", "c", "d"), `calls only in A [4 5] [] ping: answered by #5`},
		{"one more of several", diff.Options{}, same("a", "c", "d"), same("a", "q", "c", "d"), `calls only in B [] [4 5] ping: answered by #5`},
		{"two that differ between two that do not", diff.Options{}, []string{log("a"), log("one"), log("b"), log("two"), log("c")}, []string{log("a"), log("1"), log("b"), log("2"), log("c")}, "payload changed [3] [3] notifications/message; /params/data \"one\" \"1\"\npayload changed [5] [5] notifications/message; /params/data \"two\" \"2\""},
		{"a result and an error", diff.Options{}, []string{ask, answer}, []string{ask, `< {"id":1,"error":{"code":1,"message":"no"}}`}, `payload changed [3] [3] the answer to tools/call "x": a result in A, an error in B; /result {} nothing; /error nothing {"code":1,"message":"no"}`},
		{"an error and a result", diff.Options{}, []string{ask, `< {"id":1,"error":{"code":1,"message":"no"}}`}, []string{ask, answer}, `payload changed [3] [3] the answer to tools/call "x": an error in A, a result in B; /result nothing {}; /error {"code":1,"message":"no"} nothing`},
		{"exits", diff.Options{}, []string{ask, `exit {"code":0}`}, []string{ask, `exit {"code":2}`}, `exit changed [] [] the server's exit: 0 in A, 2 in B`},
		{"an exit that is not recorded", diff.Options{}, []string{ask, `exit {"code":0}`}, []string{ask}, ""},
		{"standard error", diff.Options{}, []string{ask, "stderr one", "stderr one"}, []string{ask, "stderr one", "stderr two"}, `note stderr changed [] [] standard error: 2 lines in A, 2 in B; 1 only in A, 1 only in B`},
		{"stray output", diff.Options{}, []string{ask, "< loading", answer}, []string{ask, "< starting", answer}, "stray output only in A [3] [] a stray line of the server, not JSON-RPC: \"loading\"\nstray output only in B [] [3] a stray line of the server, not JSON-RPC: \"starting\""},
		{"noise in one alone", diff.Options{}, []string{ask, "< loading", answer}, []string{ask, answer}, `stray output only in A [3] [] a stray line of the server, not JSON-RPC: "loading"`},
		{"two messages in a line", diff.Options{}, []string{ask, step, answer}, []string{ask, step + answer[2:]}, ""},
		{"a message over several lines", diff.Options{}, []string{ask, answer}, []string{ask, "< {", `< "id": 1,`, `< "result": {}`, "< }"}, ""},
		{"Content-Length", diff.Options{}, []string{ask, answer}, []string{ask, "< Content-Length: 22", "< ", "< " + `{"id":1,"result":{}}`}, ""},
		{"a part of no message", diff.Options{}, []string{ask, "< {", `< "id": 1,`, answer}, []string{ask, answer}, "stray output only in A [3] [] a stray line of the server, not JSON-RPC: \"{\"\nstray output only in A [4] [] a stray line of the server, not JSON-RPC: \"\\\"id\\\": 1,\""},
		{"values to be normalized", diff.Options{Rules: match.Rules{Normalize: match.Normalizers()}},
			[]string{`> {"id":1,"method":"tools/call","params":{"name":"x","at":"2020-01-01"}}`, answer}, []string{`> {"id":1,"method":"tools/call","params":{"name":"x","at":"2021-01-01"}}`, answer}, ""},
		{"values that are not", diff.Options{},
			[]string{`> {"id":1,"method":"tools/call","params":{"name":"x","at":"2020-01-01"}}`, answer}, []string{`> {"id":1,"method":"tools/call","params":{"name":"x","at":"2021-01-01"}}`, answer}, `payload changed [2] [2] tools/call "x"; /params/at "2020-01-01" "2021-01-01"`},
		{"the results of subscriptions", diff.Options{}, []string{listen, `< {"id":1,"result":{"_meta":{"io.modelcontextprotocol/subscriptionId":1},"x":1}}`},
			[]string{listen, `< {"id":1,"result":{"_meta":{"io.modelcontextprotocol/subscriptionId":2},"x":2}}`}, `payload changed [3] [3] the answer to subscriptions/listen; /result/x 1 2`},
		{"the ids of subscriptions", diff.Options{}, []string{listen, `< {"id":1,"result":{"_meta":{"io.modelcontextprotocol/subscriptionId":1,"y":1},"x":1}}`},
			[]string{listen, `< {"id":1,"result":{"_meta":{"y":1},"x":1}}`}, ""},
		{"statuses", diff.Options{}, []string{on(1, ask), `http/s2c/1 {"what":"response","status":200}`, on(1, answer)},
			[]string{on(1, ask), `http/s2c/1 {"what":"response","status":201}`, `http/s2c/1 {"what":"event","sse":{"event":"message"}}`, on(1, answer)}, `http changed [2] [2] tools/call "x": status 200 in A, 201 in B`},
		{"a status that is not recorded", diff.Options{}, []string{on(1, ask), `http/s2c/1 {"what":"response","status":200}`, on(1, answer)}, []string{on(1, ask), on(1, answer)}, ""},
		{"tools", diff.Options{}, []string{`> {"id":1,"method":"tools/list"}`, `< {"id":1,"result":{"tools":[{"name":"x"},{"name":"y"},{"name":"z"}]}}`},
			[]string{`> {"id":1,"method":"tools/list"}`, `< {"id":1,"result":{"tools":[{"name":"x"},{"name":"y","title":"Y"},{"name":"w"}]}}`}, "tools changed [3] [3] tool \"y\"; /title nothing \"Y\"\ntools only in A [3] [3] tool \"z\"\ntools only in B [3] [3] tool \"w\""},
		{"tools, and what is beside them", diff.Options{}, []string{`> {"id":1,"method":"tools/list"}`, `< {"id":1,"result":{"tools":[{"name":"x"}],"ttlMs":1}}`},
			[]string{`> {"id":1,"method":"tools/list"}`, `< {"id":1,"result":{"tools":[{"name":"x","title":"X"}],"ttlMs":2}}`}, "payload changed [3] [3] the answer to tools/list; /result/ttlMs 1 2\ntools changed [3] [3] tool \"x\"; /title nothing \"X\""},
		{"the schema of a tool", diff.Options{}, []string{`> {"id":1,"method":"tools/list"}`, `< {"id":1,"result":{"tools":[{"name":"w"},{"name":"x","inputSchema":{"type":"object","properties":{"n":{"type":"integer"}}}}]}}`},
			[]string{`> {"id":1,"method":"tools/list"}`, `< {"id":1,"result":{"tools":[{"name":"x","inputSchema":{"type":"object","properties":{"n":{"type":"string"}},"required":["n"]}},{"name":"w"}]}}`},
			"tools changed [3] [3] tool \"x\"; /inputSchema/properties/n/type \"integer\" \"string\"; /inputSchema/required nothing [\"n\"]"},
		{"tools that no client asked for", diff.Options{}, []string{`> {"id":1,"method":"tools/list"}`, `< {"id":1,"result":{"tools":[{"name":"x"}]}}`, ask, answer}, []string{ask, answer}, `calls only in A [2 3] [] tools/list: answered by #3`},
		{"at the same time", diff.Options{}, []string{ask, answer, `> {"id":2,"method":"ping"}`, `< {"id":2,"result":{}}`}, []string{ask, `> {"id":2,"method":"ping"}`, answer, `< {"id":2,"result":{}}`}, `note order swapped [2 4] [2 3] tools/call "x": and ping: one after the other in A, at the same time in B`},
		{"a notification of the client crosses an answer", diff.Options{}, []string{ask, answer, `> {"method":"notifications/x"}`, `> {"id":2,"method":"ping"}`, `< {"id":2,"result":{}}`},
			[]string{ask, `> {"method":"notifications/x"}`, answer, `> {"id":2,"method":"ping"}`, `< {"id":2,"result":{}}`}, ""},
		{"a status that is only in B", diff.Options{}, []string{on(1, ask), on(1, answer)}, []string{on(1, ask), `http/s2c/1 {"what":"response","status":200}`, on(1, answer)}, ""},
		{"an exit that is only in B", diff.Options{}, []string{ask}, []string{ask, `exit {"code":0}`}, ""},
		{"progress behind the answer to a cancelled call", diff.Options{}, []string{ask, step, stop, answer}, []string{ask, stop, answer, step}, ""},
		{"what seems to belong to a call", diff.Options{}, []string{ask, log("z"), answer}, []string{ask, answer, log("z")}, `order swapped [3 4] [4 3] notifications/message: came after the answer to tools/call "x" (#3) in B, before it (#4) in A`},
		{"what may belong to another call", diff.Options{}, []string{ask, log("z"), answer, `> {"id":2,"method":"ping"}`, `< {"id":2,"result":{}}`}, []string{ask, answer, `> {"id":2,"method":"ping"}`, `< {"id":2,"result":{}}`, log("z")}, ""},
		{"answers that overtake each other", diff.Options{}, []string{ask, `> {"id":2,"method":"ping"}`, answer, `< {"id":2,"result":{}}`}, []string{ask, `> {"id":2,"method":"ping"}`, `< {"id":2,"result":{}}`, answer}, `note order swapped [4 5] [5 4] the answer to tools/call "x": came after the answer to ping in B, before it in A; the calls ran at the same time`},
		{"notifications of the client on two exchanges", diff.Options{}, []string{`>1 {"method":"notifications/a"}`, `>2 {"method":"notifications/b"}`}, []string{`>1 {"method":"notifications/b"}`, `>2 {"method":"notifications/a"}`}, ""},
		{"notifications of the client on a pipe", diff.Options{}, []string{`> {"method":"notifications/a"}`, `> {"method":"notifications/b"}`}, []string{`> {"method":"notifications/b"}`, `> {"method":"notifications/a"}`}, `order swapped [2 3] [3 2] notifications/a: came after notifications/b (#2) in B, before it (#3) in A`},
		{"calls the other way round", diff.Options{}, []string{ask, answer, `> {"id":2,"method":"ping"}`, `< {"id":2,"result":{}}`}, []string{`> {"id":2,"method":"ping"}`, `< {"id":2,"result":{}}`, ask, answer}, `order swapped [2 4] [4 2] tools/call "x": came after ping (#2) in B, before it (#4) in A`},
	} {
		got := told(compared(t, c.options, recorded(t, "2026-01-01T00:00:00Z", strings.Join(c.a, "\n")), recorded(t, "2026-05-01T00:00:00Z", strings.Join(c.b, "\n"))))
		if got = strings.TrimSuffix(got, "\n"); got != c.want {
			t.Errorf("%s:\n\t%q", c.name, got)
		}
	}
}

// TestRefusedAnswer: an answer that HTTP refuses is not the answer of its request.
func TestRefusedAnswer(t *testing.T) {
	var refused, taken []store.Event
	for e, err := range jsonl.Decode(strings.NewReader(replaytest.RefusedAnswer)) {
		if err != nil {
			t.Fatal(err)
		}
		refused = append(refused, e)
		if e.Stream != 2 { // the exchange of the refused answer
			taken = append(taken, e)
		}
	}
	const want = `calls only in A [7] [] an answer of the client to no request`
	if got := strings.TrimSpace(told(compared(t, diff.Options{}, refused, taken))); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}
