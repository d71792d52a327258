package check_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mcprec/mcprec/replay/check"
	"github.com/mcprec/mcprec/replay/order"
	"github.com/mcprec/mcprec/replay/schema"
	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/jsonl"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
	"github.com/mcprec/mcprec/transport/procfs"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// golden compares with a file of testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	want, err := os.ReadFile(path)
	if *update {
		err = os.WriteFile(path, []byte(got), 0o644)
		want = []byte(got)
	}
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s is otherwise; -update rewrites it, read the diff. Now:\n%s", path, got)
	}
}

// findings folds a session.
func findings(t *testing.T, gate check.Gate, events []store.Event) (found []check.Finding, s check.Summary) {
	t.Helper()
	f := check.New(gate, func(one check.Finding) { found = append(found, one) })
	if err := timeline.Project(timeline.Steps(jsonl.Each(events)), f); err != nil {
		t.Fatal(err)
	}
	return found, f.Close(0)
}

// TestSessions: what is found in the sessions that are here, each line of it looked
// at. Most sessions of published peers break nothing and are not in the file.
func TestSessions(t *testing.T) {
	golden(t, "sessions.txt", inFolders(t, nil,
		filepath.Join("..", "..", "fixtures"), filepath.Join("..", "..", "fixtures", "testdata", "sessions"),
		filepath.Join("..", "..", "store", "foreign", "testdata", "mcp-frames")))
}

// TestCorpus is the same for the whole set, where $MCPREC_CORPUS names its folder.
func TestCorpus(t *testing.T) {
	folder := os.Getenv("MCPREC_CORPUS")
	if folder == "" {
		t.Skip("$MCPREC_CORPUS names no folder")
	}
	golden(t, "corpus.txt", inFolders(t, nil, folder))
	golden(t, "corpus-schema.txt", inFolders(t, &schema.Validator{}, folder))
}

// TestSchemas: which messages of the sessions that are here do not fit their schema.
func TestSchemas(t *testing.T) {
	golden(t, "schema.txt", inFolders(t, &schema.Validator{},
		filepath.Join("..", "..", "fixtures"), filepath.Join("..", "..", "store", "foreign", "testdata", "mcp-frames")))
}

// inFolders lists what is found in the sessions of folders, of the schemas alone if
// there are some.
func inFolders(t *testing.T, schemas *schema.Validator, folders ...string) string {
	var b strings.Builder
	sessions := 0
	for _, folder := range folders {
		paths, err := filepath.Glob(filepath.Join(folder, "*.jsonl"))
		if err != nil || len(paths) == 0 {
			t.Fatalf("%s: %d sessions, %v", folder, len(paths), err)
		}
		for _, path := range paths {
			sessions++
			events, err := jsonl.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			found, _ := findings(t, check.Gate{Schema: schemas}, events)
			if schemas != nil {
				found = slices.DeleteFunc(found, func(f check.Finding) bool { return f.Rule != "S1" })
			}
			if len(found) > 0 {
				fmt.Fprintln(&b, filepath.Base(path))
			}
			for _, f := range found {
				fmt.Fprintf(&b, "  %s\n", f)
			}
		}
	}
	return fmt.Sprintf("%d sessions\n%s", sessions, b.String())
}

// TestLive holds that a call of a session that goes on has waited until now, and is an error
// only once it has waited long.
func TestLive(t *testing.T) {
	events := check.ParseExample(`@
> {"id":1,"method":"tools/call","params":{"name":"count"}}
< {"id":7,"method":"roots/list"}`)
	for now, want := range map[time.Duration]string{
		0:                `note E2: tools/call "count" (id 1, #4) was open when the recording broke off: how long it waited is not recorded`,
		time.Second:      `note E2: tools/call "count" (id 1, #4) has been open for 996ms`,
		10 * time.Second: `#4 #5 error E1: The client has waited 9.996s for the server to answer tools/call "count" (id 1, #4). During the call the server asked the client for roots/list (id 7, #5), and the client has not answered in 9.995s`,
	} {
		found := ""
		f := check.New(check.Gate{}, func(one check.Finding) { found += one.String() + "\n" })
		if err := timeline.Project(timeline.Steps(jsonl.Each(events)), f); err != nil {
			t.Fatal(err)
		}
		f.Close(now)
		if !strings.Contains(found, want) {
			t.Errorf("at %v: found\n%swant %s", now, found, want)
		}
	}
}

// TestServerStays: a server that goes on behind the end of its client is a warning while the session goes on. A client
// that went on before the answer to initialize has not left behind that answer.
func TestServerStays(t *testing.T) {
	header := store.Header{Transport: "stdio", Processes: &store.Processes{Server: procfs.ID{PID: 7}, Recorder: procfs.ID{PID: 6}}}
	events := append([]store.Event{{Seq: 1, Kind: store.Opened, Payload: header.Encode()}}, check.ParseExample(`> {"id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}
> {"method":"notifications/initialized"}
< {"id":0,"result":{"protocolVersion":"2025-11-25"}}
eof/c2s {"by":"sender"}`)[1:]...)
	found := ""
	f := check.New(check.Gate{}, func(one check.Finding) { found += one.String() + "\n" })
	if err := timeline.Project(timeline.Steps(jsonl.Each(events)), f); err != nil {
		t.Fatal(err)
	}
	f.Close(20 * time.Second)
	if !strings.Contains(found, "warning E17: The client closed its end 20s ago") || strings.Contains(found, "E10") {
		t.Errorf("found\n%swant a warning E17, and no E10", found)
	}
}

// TestExplain: every rule is explained, and its example is found to break it.
func TestExplain(t *testing.T) {
	var b strings.Builder
	var rules []string
	for _, d := range check.Demands() {
		if d.Title == "" || d.Severity == 0 || d.First == "" || d.Last == "" {
			t.Errorf("%+v says too little", d)
		}
		if slices.Contains(rules, d.Rule) {
			continue
		}
		rules = append(rules, d.Rule)
		text, ok := check.Explain(d.Rule)
		if !ok || check.Name(d.Rule) == "" {
			t.Errorf("%s is not explained", d.Rule)
		}
		if _, found, example := strings.Cut(text, "is found as\n"); example != !strings.ContainsAny(d.Rule[:1], "GS") || example && !strings.Contains(found, " "+d.Rule+": ") {
			t.Errorf("the example of %s does not break it:\n%s", d.Rule, text)
		}
		b.WriteString(text + "\n")
	}
	if _, ok := check.Explain("P0"); ok {
		t.Error("there is no P0")
	}
	golden(t, "explain.txt", b.String())
}

// lines makes a session of lines: > or < and a frame, each a second after the other,
// or a kind/direction and its payload. An object that says nothing of jsonrpc gets the
// member that every message has.
func lines(text ...string) []store.Event {
	events := []store.Event{{Seq: 1, Kind: store.Opened, Payload: store.Header{}.Encode()}}
	for i, line := range text {
		sign, payload, _ := strings.Cut(line, " ")
		if object, ok := strings.CutPrefix(payload, "{"); ok && strings.ContainsAny(sign[:1], "<>") && !strings.Contains(payload, "jsonrpc") {
			payload = `{"jsonrpc":"2.0",` + object
		}
		e := store.Event{Seq: uint64(i) + 2, At: time.Duration(i+1) * time.Second, Kind: store.Frame, Payload: []byte(payload)}
		if way := strings.TrimRight(sign, "0123456789"); way != sign {
			e.Stream, _ = strconv.ParseUint(sign[len(way):], 10, 64)
			sign = strings.TrimRight(way, "/")
		}
		switch sign {
		case ">":
			e.Dir = transport.ClientToServer
		case "<":
			e.Dir = transport.ServerToClient
		default:
			kind, dir, _ := strings.Cut(sign, "/")
			e.Kind = store.Kind(kind)
			e.Dir, _ = transport.ParseDirection(dir)
		}
		events = append(events, e)
	}
	return events
}

const (
	call   = `> {"id":1,"method":"tools/call","params":{"name":"count"}}`
	answer = `< {"id":1,"result":{}}`
	bye    = `eof/c2s {"by":"sender"}`
	closed = `closed {"messages":2}`
)

// TestWhoHasIt: of a call without an answer it is said who had it.
func TestWhoHasIt(t *testing.T) {
	sseCall := []string{
		`http/c2s/1 {"what":"request","method":"GET","path":"/sse"}`,
		`http/s2c/1 {"what":"event","sse":{"event":"endpoint"},"body":"/messages"}`,
		`http/c2s/2 {"what":"request","method":"POST","path":"/messages"}`,
		`>2 {"id":1,"method":"tools/call"}`,
		`http/s2c/2 {"what":"end"}`,
	}
	for _, test := range []struct {
		name  string
		lines []string
		want  []string // rule, severity, and a part of the text
	}{
		{"answered", []string{call, answer, bye, closed}, nil},
		{"never answered", []string{call, bye, closed}, []string{"E1 error until the client closed its end (#3)"}},
		{"live", []string{call}, []string{"E2 note was open when the recording broke off: how long it waited is not recorded"}},
		{"killed", []string{call, `eof/s2c {"by":"sender"}`, `exit {"code":-1,"signal":"killed"}`, closed}, []string{"E1 error until the server ended, by the signal killed (#3)"}},
		{"no longer read by the server", []string{call, `eof/c2s {"by":"receiver"}`, closed}, []string{"E1 error The server has closed its input (#3)"}},
		{"no longer read by the client", []string{call, `< {"method":"x"}`, `eof/s2c {"by":"receiver"}`, closed}, []string{"E1 error until the client closed its end (#4)"}},
		{"slow", []string{call, `delivered/c2s {"upto":2,"blocked_ns":6000000000}`, closed}, []string{"E1 error The server took #2 after a write had blocked for 6s (#3)"}},
		{"the client owes", []string{call, `< {"id":1,"method":"sampling/createMessage"}`, bye, closed},
			[]string{`E1 error During the call the server asked the client for sampling/createMessage (id 1, #3), and the client did not answer in 10s`}},
		{"the client owes, and nobody left", []string{call, `< {"id":1,"method":"sampling/createMessage"}`, closed},
			[]string{`E1 error During the call the server asked the client for sampling/createMessage (id 1, #3), and the client`}},
		{"roots at the end", []string{`< {"id":1,"method":"roots/list"}`, bye, closed}, []string{"E1 error The server waited 10s for the client to answer roots/list"}},
		{"the recorder let go", []string{call, `eof/s2c {"by":"recorder"}`, closed}, []string{"E2 note the recorder no longer read the server (#3)"}},
		{"the recorder let go of a dead server", []string{call, `exit {"code":1}`, `eof/s2c {"by":"recorder"}`, closed}, []string{"E1 error The server ended 10s after the request (#3), with exit status 1"}},
		{"cancelled", []string{call, `> {"method":"notifications/cancelled","params":{"requestId":1}}`, bye, closed}, []string{"E1 error This lasted until the client gave it up (#3)"}},
		{"a subscription", []string{`> {"id":1,"method":"subscriptions/listen"}`, bye, closed}, []string{"E1 error The client waited 10s for the server to acknowledge subscriptions/listen"}},
		{"HTTP+SSE, live", sseCall, []string{"E1 error until the recording broke off"}},
		{"HTTP+SSE, closed", append(slices.Clone(sseCall), closed), []string{"E1 error The server sent nothing since"}},
		{"HTTP+SSE, hung up", append(slices.Clone(sseCall), `http/c2s/1 {"what":"abort"}`, closed), []string{"E1 error The server sent nothing since"}},
		{"HTTP+SSE, the recorder ended", append(slices.Clone(sseCall), `http//1 {"what":"left"}`, closed), []string{"E1 error until the recording ended (#8)"}},
		{"HTTP+SSE, not sent", append(slices.Clone(sseCall[:4]), `http/s2c/2 {"what":"none","error":"refused"}`, closed), []string{"E1 error until the connection to the server was closed without a response (#6)"}},
		{"lost before a hang", []string{`lost {"frames":1,"bytes":9,"reason":"full"}`, call, `eof/c2s {"by":"receiver"}`, closed},
			[]string{"E7 warning 1 event with 9 bytes is not recorded", "E1 warning until the recording ended (#5); or what is missing at #2 explains it"}},
		{"lost", []string{call, `lost {"frames":1,"bytes":9,"reason":"full"}`, bye, closed}, []string{"E7 warning 1 event with 9 bytes is not recorded", "E1 warning or what is missing at #3 explains it"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			events := lines(test.lines...)
			for i := range events {
				events[i].At *= 10
			}
			found, _ := findings(t, check.Gate{}, events)
			found = slices.DeleteFunc(found, func(f check.Finding) bool { return f.Rule == "E13" || f.Rule == "E16" }) // see TestEnding, TestMiddle
			if len(found) != len(test.want) {
				t.Fatalf("found %v, want %v", found, test.want)
			}
			for i, f := range found {
				head, text, _ := strings.Cut(test.want[i], string(f.Severity.String())+" ")
				if strings.TrimSpace(head) != f.Rule || !strings.Contains(f.Text, text) {
					t.Errorf("found %v, want %s", f, test.want[i])
				}
			}
		})
	}
}

// TestIntroduces: a message that does not say that it is JSON-RPC, and a request of
// 2026-07-28 that does not say what it must of its client, are found without --schema.
func TestIntroduces(t *testing.T) {
	const (
		whole = `"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"a","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}`
		first = `> {"id":0,"method":"tools/list","params":{"_meta":{` + whole + `}}}`
	)
	bare := lines(call)
	bare[1].Payload = []byte(`{"id":1,"method":"ping"}`)
	for name, test := range map[string]struct {
		events []store.Event
		want   string // rules, in their order, and a part of the last one's text
	}{
		"no jsonrpc":          {bare, "P13 sent ping without \"jsonrpc\":\"2.0\""},
		"another jsonrpc":     {lines(`> {"jsonrpc":2.0,"id":1,"method":"ping"}`), "P13 with \"jsonrpc\":2.0, not"},
		"in the middle":       {lines(`> {"id":1,"jsonrpc":"2.0","method":"ping"}`), ""},
		"one that says all":   {lines(first), ""},
		"no _meta":            {lines(first, `> {"id":1,"method":"tools/list"}`), "P14 tools/list (id 1) without io.modelcontextprotocol/protocolVersion and io.modelcontextprotocol/clientCapabilities in its _meta"},
		"a probe":             {lines(`> {"id":1,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`), "P14 P14 without io.modelcontextprotocol/clientInfo"},
		"only in the header":  {lines(`http/c2s/1 {"what":"request","method":"POST","header":{"Mcp-Protocol-Version":["2026-07-28"]}}`, `>1 {"id":1,"method":"server/discover"}`), "P14 without io.modelcontextprotocol/protocolVersion"},
		"an older revision":   {lines(append(slices.Clone(shaken), `> {"id":1,"method":"tools/list"}`)...), ""},
		"a notification":      {lines(first, `> {"method":"notifications/cancelled","params":{"requestId":0}}`), ""},
		"a server's response": {lines(first, `< {"id":0,"result":{}}`), ""},
	} {
		found, _ := findings(t, check.Gate{}, test.events)
		found = slices.DeleteFunc(found, func(f check.Finding) bool { return f.Rule[0] != 'P' })
		got := ""
		for i, f := range found {
			got += f.Rule + " "
			if i == len(found)-1 {
				got += f.Text
			}
		}
		rules, text, _ := strings.Cut(test.want, " ")
		for strings.HasPrefix(text, "P") {
			more, rest, _ := strings.Cut(text, " ")
			rules, text = rules+" "+more, rest
		}
		if !strings.HasPrefix(got, rules) || !strings.Contains(got, text) || test.want == "" && got != "" {
			t.Errorf("%s: found %q, want %q", name, got, test.want)
		}
	}
}

// TestQuotedOnce: a name that cannot be printed is quoted, and not twice.
func TestQuotedOnce(t *testing.T) {
	found, _ := findings(t, check.Gate{Forbid: []string{"a\x1b"}}, lines(`> {"id":1,"method":"tools/call","params":{"name":"a\u001b"}}`, `> {"method":"notifications/cancelled","params":{"requestId":1}}`))
	for _, f := range found {
		if strings.Contains(f.Text, "tools/call") != strings.Contains(f.Text, `tools/call "a\x1b" (id`) || strings.Contains(f.Text, "the tool") && !strings.Contains(f.Text, `the tool "a\x1b"`) {
			t.Errorf("%v quotes the name otherwise", f)
		}
	}
}

// TestGate: what the user asks for.
func TestGate(t *testing.T) {
	session := lines(append(slices.Clone(shaken), call, answer, bye, closed)...)
	for _, test := range []struct {
		gate check.Gate
		want string
	}{
		{check.Gate{MaxDuration: time.Second, Expect: []string{"count"}, Forbid: []string{"delete"}}, ""},
		{check.Gate{MaxDuration: time.Second - 1}, "G1G1"},
		{check.Gate{Expect: []string{"count", "delete"}}, "G2"},
		{check.Gate{Forbid: []string{"count"}}, "G3"},
	} {
		found, s := findings(t, test.gate, session)
		got := ""
		for _, f := range found {
			got += f.Rule
		}
		if got != test.want || s.Errors != len(got)/2 {
			t.Errorf("%+v: found %v, %d errors", test.gate, found, s.Errors)
		}
	}
}

// TestTally: what the calls came to; a hundred of them took 1 s to 100 s.
func TestTally(t *testing.T) {
	var text []string
	for n := range 100 {
		text = append(text, fmt.Sprintf(`> {"id":%d,"method":"tools/call","params":{"name":"count"}}`, n))
	}
	for n := range 100 {
		text = append(text, fmt.Sprintf(`< {"id":%d,"result":{"isError":%t}}`, 99-n, n < 10))
	}
	_, s := findings(t, check.Gate{}, lines(text...))
	if len(s.Tallies) != 1 || s.Frames != 200 {
		t.Fatalf("%+v", s)
	}
	c := s.Tallies[0]
	if c.Name != "count" || !c.Tool || c.Calls != 100 || c.Failed != 10 || c.Max != 199*time.Second || c.Requests != 7290 || c.Responses != 5180 {
		t.Errorf("%+v", c)
	}
	for got, want := range map[time.Duration]time.Duration{c.P50: 99 * time.Second, c.P95: 189 * time.Second, c.P99: 197 * time.Second} {
		if got < want || got > want+want/100 {
			t.Errorf("got %v, want %v", got, want)
		}
	}
}

// TestBaseline: the tools of a trusted session are those that its server listed last.
func TestBaseline(t *testing.T) {
	b := check.NewBaseline("trusted")
	events := lines(`> {"id":1,"method":"tools/list"}`, `< {"id":1,"method":"ping"}`, `> {"id":1,"result":{"tools":[{"name":"no"}]}}`, `< not JSON`,
		`< {"id":1,"result":{"tools":[{"name":"x"},{"name":"y"}]}}`, `> {"id":2,"method":"prompts/list"}`, `< {"id":2,"result":{"tools":[{"name":"z"}]}}`,
		`> {"id":3,"method":"tools/list"}`, `< {"id":3,"error":{"code":1,"message":"x"}}`)
	if err := timeline.Project(timeline.Steps(jsonl.Each(events)), b); err != nil {
		t.Fatal(err)
	}
	if tools, lists := b.Tools(); tools != 2 || lists != 1 {
		t.Errorf("%d tools in %d lists, want 2 in 1", tools, lists)
	}
}

// TestRevision: a session may change its revision: discover is refused, then comes a
// handshake. What is legal in neither is an error.
func TestRevision(t *testing.T) {
	found, s := findings(t, check.Gate{}, lines(
		`> {"id":"p","method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"a","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`,
		`< {"id":"p","error":{"code":-32601,"message":"no"}}`,
		`> {"id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18"}}`,
		`< {"id":0,"result":{"protocolVersion":"2025-06-18"}}`,
		`> {"method":"notifications/initialized"}`, `< {"id":1,"method":"ping"}`, `> {"id":1,"result":{}}`, closed))
	if len(found) > 0 || s.Revision != mcp.Revision2025_06_18 {
		t.Errorf("found %v, revision %s", found, s.Revision)
	}
}

// TestTimedOut: a call whose sender gave up is found where it did, in the words of any
// SDK; one that a person cancelled is a note.
func TestTimedOut(t *testing.T) {
	cancel := func(reason string) string {
		return `> {"method":"notifications/cancelled","params":{"requestId":1,"reason":` + strconv.Quote(reason) + `}}`
	}
	for _, reason := range []string{
		"McpError: MCP error -32001: Request timed out", "Request timed out", "context deadline exceeded", "tools/call: context deadline exceeded",
		"Timed out while waiting for response to ClientRequest. Waited 2.0 seconds.", "Did not observe any item or terminal signal within 20000ms in 'source'",
		"TimeoutError: The operation was aborted due to timeout", "request timeout", "Time-out", "deadline has elapsed: the deadline was exceeded",
		"MCP error -32001", "timeout", "Timeout of 30000ms exceeded", "aborted due to timeout", "tool call timeout after 30s", "ETIMEDOUT", "asyncio.TimeoutError", "java.util.concurrent.TimeoutException", "the request timeout was reached",
	} {
		for _, fail := range []bool{false, true} {
			want := map[bool]order.Severity{false: order.Warning, true: order.Error}[fail]
			found, s := findings(t, check.Gate{FailOnTimeout: fail}, lines(append(slices.Clone(shaken), call, cancel(reason), bye, closed)...))
			if len(found) != 1 || found[0].Rule != "E11" || found[0].Severity != want || found[0].Dir != transport.ServerToClient {
				t.Errorf("%s, %t: found %v", reason, fail, found)
			} else if c := s.Tallies[0]; c.Name != "count" || c.Calls != 1 || c.Cancelled != 1 || c.Open != 0 || c.Max != time.Second {
				t.Errorf("%s: counted as %+v", reason, c)
			}
		}
	}
	for _, reason := range []string{"user pressed stop", "context canceled", "AbortError: This operation was aborted", "",
		"the user set a timeout field and then pressed cancel", "the user wanted no timeout, and went on", "order 5-32001 was withdrawn", "the user edited the TimeoutEditor"} {
		found, _ := findings(t, check.Gate{FailOnTimeout: true}, lines(append(slices.Clone(shaken), call, cancel(reason), bye, closed)...))
		if len(found) != 1 || found[0].Rule != "E2" || !strings.Contains(found[0].Text, strings.TrimPrefix(reason, "AbortError: ")+"; the server had said nothing") {
			t.Errorf("%s: found %v", reason, found)
		}
	}
	found, _ := findings(t, check.Gate{}, lines(append(slices.Clone(shaken), call, cancel("McpError: MCP error -32001: Request timed out"))...))
	if want := `tools/call "count" (id 1, #5) was given up after 1s (#6): Request timed out; the server had said nothing since`; len(found) == 0 || found[0].Text != want {
		t.Errorf("found %v, want %s", found, want)
	}
	found, _ = findings(t, check.Gate{}, lines(append(slices.Clone(shaken), call, `< {"id":9,"method":"roots/list"}`, cancel("timed out"))...))
	if len(found) == 0 || found[0].Dir != transport.ClientToServer || !strings.Contains(found[0].Text, "the server had sent #6 last, 1s before, and waited itself for the client to answer roots/list (id 9, #6)") {
		t.Errorf("found %v: it is the client that does not answer", found)
	}
}

// TestMaxDuration: a call that was never answered or was cancelled counts by how long it
// waited, once.
func TestMaxDuration(t *testing.T) {
	cancel := `> {"method":"notifications/cancelled","params":{"requestId":1,"reason":"user pressed stop"}}`
	for name, test := range map[string]struct {
		lines  []string
		want   int
		tally  string // calls, failed, open, cancelled
		waited time.Duration
	}{
		"answered":                          {[]string{call, answer, bye, closed}, 0, "1 0 0 0", time.Second},
		"answered late":                     {[]string{call, cancel, cancel, answer, bye, closed}, 1, "1 0 0 1", 3 * time.Second},
		"cancelled":                         {[]string{call, `< {"method":"x"}`, cancel, bye, closed}, 1, "1 0 0 1", 2 * time.Second},
		"cancelled soon":                    {[]string{call, cancel, `< {"method":"x"}`, bye, closed}, 0, "1 0 0 1", time.Second},
		"never answered":                    {[]string{call, `< {"method":"x"}`, bye, closed}, 1, "1 0 1 0", 2 * time.Second},
		"cancelled late, answered later":    {[]string{call, `< {"method":"x"}`, cancel, answer, bye, closed}, 1, "1 0 0 1", 3 * time.Second},
		"a subscription":                    {[]string{`> {"id":1,"method":"subscriptions/listen"}`, `< {"method":"x"}`, `< {"method":"x"}`, bye, closed}, 0, "1 0 1 0", 0},
		"the recording goes no further":     {[]string{call, `< {"method":"x"}`, `< {"method":"x"}`}, 1, "1 0 1 0", 2 * time.Second},
		"the server ended, and said so":     {[]string{call, `exit {"code":1}`, bye, closed}, 0, "1 0 1 0", time.Second},
		"what came behind the client's end": {[]string{call, bye, `stderr a`, `stderr b`, closed}, 0, "1 0 1 0", time.Second},
	} {
		found, s := findings(t, check.Gate{MaxDuration: 3 * time.Second / 2}, lines(append(slices.Clone(shaken), test.lines...)...))
		n := 0
		for _, f := range found {
			if f.Rule == "G1" {
				n++
			}
		}
		var c check.Tally
		for _, one := range s.Tallies {
			if one.Name != "initialize" {
				c = one
			}
		}
		if got := fmt.Sprint(c.Calls, c.Failed, c.Open, c.Cancelled); n != test.want || got != test.tally || c.Max != test.waited {
			t.Errorf("%s: G1 %d times, want %d; counted as %s, %v, want %s, %v: %v", name, n, test.want, got, c.Max, test.tally, test.waited, found)
		}
	}
}

// TestLeftBehind: what the client left is a note; what it waited for in vain is the
// server's fault, and what the server waited for the client's.
func TestLeftBehind(t *testing.T) {
	const (
		ask      = `> {"id":1,"method":"tools/call","params":{"name":"count","_meta":{"progressToken":"t"}}}`
		progress = `< {"method":"notifications/progress","params":{"progressToken":"t","progress":1}}`
		ping     = `< {"id":7,"method":"ping"}`
		human    = `< {"id":7,"method":"elicitation/create"}`
	)
	for name, test := range map[string]struct {
		lines  []string
		want   string // rules and severities, in their order
		client bool   // it is the client's doing
		text   string
	}{
		"a millisecond later":     {[]string{ask, "wait 1ms", bye, closed}, "E2 note", true, "the client closed its end (#5)"},
		"in vain":                 {[]string{ask, "wait 10s", bye, closed}, "E1 error", false, "The server sent nothing since"},
		"shorter than calls take": {[]string{`> {"id":8,"method":"tools/call"}`, "wait 500ms", `< {"id":8,"result":{}}`, ask, "wait 2s", bye, closed}, "E2 note", true, "the client closed its end"},
		"much longer than calls take, for a moment": {[]string{`> {"id":8,"method":"tools/call"}`, "wait 10ms", `< {"id":8,"result":{}}`, ask, "wait 500ms", bye, closed}, "E2 note", true, "the client closed its end"},
		"longer than any call may take":             {[]string{`> {"id":8,"method":"tools/call"}`, "wait 9s", `< {"id":8,"result":{}}`, ask, "wait 11s", bye, closed}, "E1 error", false, "The server sent nothing since"},
		"it had stopped reading":                    {[]string{`> {"id":8,"method":"tools/call"}`, "wait 500ms", `< {"id":8,"result":{}}`, ask, progress, "wait 2s", `eof/s2c {"by":"receiver"}`, bye, closed}, "E2 note", true, "when the client closed its end (#8), 2.002s after its latest progress (#7)"},
		"it had stopped reading for a moment":       {[]string{`> {"id":8,"method":"tools/call"}`, "wait 500ms", `< {"id":8,"result":{}}`, ask, progress, "wait 500ms", `eof/s2c {"by":"receiver"}`, bye, closed}, "E2 note", true, ""},
		"it had stopped reading before the call":    {[]string{`> {"id":8,"method":"tools/call"}`, "wait 500ms", `< {"id":8,"result":{}}`, ask, "wait 2s", `eof/s2c {"by":"receiver"}`, bye, closed}, "E2 note", true, ""},
		"with progress that came too late":          {[]string{ask, "wait 20s", bye, progress, closed}, "E1 error", false, ""},
		"it asked when it had left":                 {[]string{bye, ask, closed}, "E6 warning E2 note", true, "was asked for when the session was over"},
		"a slow reader before the call":             {[]string{`delivered/s2c {"upto":2,"blocked_ns":20000000000}`, "wait 2s", ask, "wait 1ms", bye, closed}, "E2 note", true, "the client closed its end (#6)"},
		"a ping that it left at once":               {[]string{ask, "wait 20s", ping, "wait 1ms", bye, closed}, "E2 note E2 note", true, ""},
		"a question to a person, and no call":       {[]string{human, "wait 60s", bye, closed}, "E1 error", true, "The client had not declared elicitation"},
		"behind a gap, a moment":                    {[]string{ask, `lost {"frames":1,"bytes":0,"reason":"cut","streams":["s2c"]}`, "wait 500ms", bye, closed}, "E7 warning E2 note", true, ""},
		"behind a gap, longer than a moment":        {[]string{ask, `lost {"frames":1,"bytes":0,"reason":"cut","streams":["s2c"]}`, "wait 2s", bye, closed}, "E7 warning E2 note", true, ""},
		"behind a gap, shorter than calls take":     {[]string{`> {"id":8,"method":"tools/call"}`, "wait 500ms", `< {"id":8,"result":{}}`, ask, `lost {"frames":1,"bytes":0,"reason":"cut","streams":["s2c"]}`, "wait 2s", bye, closed}, "E7 warning E2 note", true, ""},
		"behind a gap, longer than any call may":    {[]string{`> {"id":8,"method":"tools/call"}`, "wait 9s", `< {"id":8,"result":{}}`, ask, `lost {"frames":1,"bytes":0,"reason":"cut","streams":["s2c"]}`, "wait 11s", bye, closed}, "E7 warning E2 note", true, ""},
		"behind a gap, much longer than calls take": {[]string{`> {"id":8,"method":"tools/call"}`, "wait 10ms", `< {"id":8,"result":{}}`, ask, `lost {"frames":1,"bytes":0,"reason":"cut","streams":["s2c"]}`, "wait 900ms", bye, closed}, "E7 warning E2 note", true, ""},
		"with progress":                             {[]string{ask, "wait 9s", progress, "wait 10ms", bye, closed}, "E2 note", true, "after its latest progress (#5)"},
		"with progress that stopped":                {[]string{ask, "wait 1s", progress, "wait 20s", bye, closed}, "E1 error", false, ""},
		"a heartbeat of the client":                 {[]string{`> {"id":1,"method":"ping"}`, bye, closed}, "E2 note", true, ""},
		"heartbeats of both":                        {[]string{ping, `> {"id":1,"method":"ping"}`, bye, closed}, "E2 note E2 note", true, ""},
		"a question to a person":                    {[]string{ask, human, "wait 60s", bye, closed}, "E1 error", true, "The client had not declared elicitation"},
		"a ping that it left":                       {[]string{ask, ping, "wait 60s", bye, closed}, "E1 error", true, "During the call the server asked the client for ping"},
		"a slow reader":                             {[]string{ask, "wait 20s", `delivered/s2c {"upto":2,"blocked_ns":20000000000}`, bye, closed}, "E2 note", true, "after the client had taken what was sent (#5)"},
		"asked to end":                              {[]string{ask, "wait 1ms", `eof/s2c {"by":"sender"}`, `exit {"code":-1,"signal":"terminated"}`, closed}, "E2 note", true, "was open when the server ended by the signal terminated"},
		"asked to end, in vain":                     {[]string{ask, "wait 60s", `eof/s2c {"by":"sender"}`, `exit {"code":143}`, closed}, "E1 error", false, ""},
		"the server left":                           {[]string{ask, "wait 1ms", `eof/s2c {"by":"sender"}`, `exit {"code":0}`, bye, closed}, "E1 error", false, "The server ended 4ms after the request (#6), with exit status 0"},
		"the server left its own":                   {[]string{ask, ping, `exit {"code":0}`, `eof/s2c {"by":"sender"}`, bye, closed}, "E1 error", false, "The server ended 2ms after the request (#6), with exit status 0"},
	} {
		text := strings.TrimSuffix(shakesWith(test.lines), "\n")
		var found []check.Finding
		f := check.New(check.Gate{}, func(one check.Finding) { found = append(found, one) })
		if err := timeline.Project(timeline.Steps(jsonl.Each(check.ParseExample(text))), f); err != nil {
			t.Fatal(err)
		}
		f.Close(0)
		got, said := "", ""
		for _, one := range found {
			got, said = got+" "+one.Rule+" "+one.Severity.String(), said+one.Text+"\n"
		}
		if strings.TrimSpace(got) != test.want || !strings.Contains(said, test.text) {
			t.Errorf("%s: found %v, want %s %q", name, found, test.want, test.text)
			continue
		}
		if last := found[len(found)-1]; (last.Dir == transport.ClientToServer) != test.client {
			t.Errorf("%s: %v is found to be of the %s", name, last, last.Dir.Sender())
		}
	}
}

func shakesWith(lines []string) string {
	return strings.Join(append(slices.Clone(shaken), lines...), "\n")
}

// TestEnding: a session in which nothing worked says so.
func TestEnding(t *testing.T) {
	const (
		init  = `> {"id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}`
		fails = `exit {"code":1}`
		out   = `eof/s2c {"by":"sender"}`

		refusal = `< {"id":0,"error":{"code":-32603,"message":"boom"}}`
		probe   = `> {"id":"p","method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"a","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`
		unknown = `< {"id":"p","error":{"code":-32601,"message":"no"}}`
	)
	healthy := append(slices.Clone(shaken), call, answer)
	for name, test := range map[string]struct {
		lines []string
		want  string
		text  string
	}{
		"it did not start":                  {[]string{`stderr no such file`, fails, out, closed}, "E13 error", "the server ended with exit status 1 and had sent nothing"},
		"and its client had no input":       {[]string{bye, fails, out, closed}, "E13 error", ""},
		"and it was asked":                  {[]string{init, fails, out, bye, closed}, "E1 error E13 error", ""},
		"no message":                        {[]string{bye, `exit {"code":0}`, closed}, "E13 warning", "there is no message in the recording"},
		"no message, and still live":        {nil, "", ""},
		"nothing asked":                     {[]string{`> {"method":"notifications/x"}`, bye, closed}, "E16 note E13 warning", "the client asked for nothing"},
		"nothing answered":                  {[]string{init, bye, closed}, "E2 note E13 warning", "1 request of the client, and no answer"},
		"nothing answered, asked to end":    {[]string{init, `exit {"code":-1,"signal":"terminated"}`, closed}, "E2 note E13 warning", ""},
		"refused by HTTP":                   {[]string{`http/c2s/1 {"what":"request","method":"POST"}`, ">1 " + init[2:], `http/s2c/1 {"what":"response","status":401}`, `http/s2c/1 {"what":"end"}`, closed}, "E13 warning", "1 request of the client, and no result: HTTP status 401"},
		"refused by HTTP, in words":         {join(post(1, "", init[2:]), reply(1, 500, `{"id":0,"error":{"code":-32603,"message":"boom"}}`), []string{closed}), "E13 warning", "no result: HTTP status 500"},
		"each refused by HTTP":              {join(post(1, "", init[2:]), reply(1, 401, ""), post(2, "", init[2:]), reply(2, 302, ""), post(3, "", init[2:]), reply(3, 401, ""), []string{closed}), "E13 warning", "3 requests of the client, and no result: HTTP status 401 (2), HTTP status 302 (1)"},
		"refused, then served":              {join(post(1, "", init[2:]), reply(1, 401, ""), opening(2, "s"), []string{closed}), "", ""},
		"answered with an error":            {[]string{init, refusal, bye, closed}, "E13 warning", "1 request of the client, and no result: error -32603 (boom)"},
		"answered with a text for an error": {[]string{init, `< {"id":0,"error":"boom"}`, bye, closed}, "P13 error E13 warning", "1 request of the client, and no result: an error without a code (boom)"},
		"answered with an empty error":      {[]string{init, `< {"id":0,"error":{}}`, bye, closed}, "P13 error E13 warning", "1 request of the client, and no result: an error without a code"},
		"a code that is a text":             {[]string{init, `< {"id":0,"error":{"code":"ENOENT","message":"no file"}}`, bye, closed}, "P13 error E13 warning", `no result: error "ENOENT" (no file)`},
		"one an error, one without answer":  {[]string{init, refusal, `> {"id":1,"method":"ping"}`, `eof/s2c {"by":"sender"}`, bye, closed}, "E1 error E13 warning", "2 requests of the client, and no result: error -32603 (boom) (1), no answer (1)"},
		"a probe that is refused":           {[]string{probe, unknown, bye, closed}, "E13 note", "the client asked which revisions the server knows (server/discover), and nothing else: error -32601 (no)"},
		"a probe that HTTP refuses":         {join(post(1, "", probe[2:]), reply(1, 404, ""), []string{closed}), "E13 note", "HTTP status 404"},
		"a probe that needs a login":        {join(post(1, "", probe[2:]), reply(1, 401, ""), []string{closed}), "E13 warning", "HTTP status 401"},
		"a probe, and an error":             {[]string{probe, unknown, init, refusal, bye, closed}, "E13 warning", "error -32601 (no) (1), error -32603 (boom) (1)"},
		"all refused, and some was lost":    {[]string{init, refusal, `lost {"frames":1,"bytes":9,"reason":"disk full"}`, bye, closed}, "E7 warning", ""},
		"all refused, and no end":           {[]string{init, refusal}, "", ""},
		"all refused, and the server died":  {[]string{init, refusal, fails, out, closed}, "E12 warning E13 warning", "no result: error -32603 (boom)"},
		"a result, in the middle":           {[]string{`> {"id":1,"method":"ping"}`, `< {"id":1,"result":{}}`, bye, closed}, "E16 note", ""},
		"it died":                           {append(slices.Clone(healthy), fails, out, bye, closed), "E12 warning", "the server ended with exit status 1 before the client had closed its end"},
		"it was killed":                     {append(slices.Clone(healthy), out, `exit {"code":-1,"signal":"killed"}`, bye, closed), "E12 warning", "by the signal killed"},
		"it ended by itself":                {append(slices.Clone(healthy), out, `exit {"code":0}`, bye, closed), "", ""},
		"it was asked to end":               {append(slices.Clone(healthy), out, `exit {"code":-1,"signal":"terminated"}`, closed), "", ""},
		"and a shell says so":               {append(slices.Clone(healthy), out, `exit {"code":143}`, closed), "", ""},
		"it failed behind the client's end": {append(slices.Clone(healthy), bye, fails, out, closed), "E15 note", "1s after the client had closed its end (#7), with exit status 1"},
		"it was slow to end":                {append(slices.Clone(healthy), bye, `stderr a`, `exit {"code":0}`, closed), "E15 warning", "2s after the client had closed its end (#7), with exit status 0"},
		"its client ended it by a signal":   {append(slices.Clone(healthy), bye, `exit {"code":-1,"signal":"terminated"}`, out, closed), "E15 warning", "1s after the client had closed its end (#7), by the signal terminated"},
		"and by one that none can catch":    {append(slices.Clone(healthy), bye, `exit {"code":137}`, out, closed), "E15 warning", "with exit status 137"},
		"it outlived its client":            {append(slices.Clone(healthy), bye, `stderr a`, `stderr b`, `stderr c`, `stderr d`, fails, out, closed), "E15 warning", "after the client had closed its end (#7), with exit status 1; meanwhile it sent nothing"},
		"a launcher failed, and it goes on": {slices.Concat([]string{fails}, healthy, []string{bye, out, closed}), "", ""},
		"the same, and it leaves a request": {slices.Concat([]string{fails}, shaken, []string{call, out, closed}), "E1 error", "The server closed its output 1s after the request (#7)"},
	} {
		found, s := findings(t, check.Gate{}, lines(test.lines...))
		got, said := "", ""
		for _, one := range found {
			got, said = got+" "+one.Rule+" "+one.Severity.String(), said+one.Text+"\n"
		}
		if strings.TrimSpace(got) != test.want || !strings.Contains(said, test.text) {
			t.Errorf("%s: found %v, want %s %q", name, found, test.want, test.text)
		}
		if exits := strings.Contains(strings.Join(test.lines, " "), "exit {"); exits != (s.Exit != "") {
			t.Errorf("%s: the summary says %q of the exit", name, s.Exit)
		}
	}
}

// TestDamagedEvents: an event of mcprec's own that cannot be read is an error of each
// kind, not a fact that is left out.
func TestDamagedEvents(t *testing.T) {
	for _, kind := range []store.Kind{store.Delivered, store.Exited, store.EOF, store.Lost, store.HTTP, store.Opened} {
		f := check.New(check.Gate{}, func(check.Finding) {})
		err := f.Take(timeline.NewModel(0).Take(store.Event{Seq: 1, Kind: kind, Dir: transport.ServerToClient, Stream: 1, Payload: []byte("{")}))
		if err == nil {
			t.Errorf("a damaged %s event is passed over", kind)
		}
	}
}

// TestWhatBlockedIsTold: the last write that blocked is told of a call behind it, in its
// direction, with what it took.
func TestWhatBlockedIsTold(t *testing.T) {
	found, _ := findings(t, check.Gate{}, lines(append(slices.Clone(shaken), call, `delivered/c2s {"upto":5,"blocked_ns":6000000000}`, "stderr a", "stderr b", "stderr c", closed)...))
	if len(found) != 1 || found[0].Rule != "E1" || !strings.Contains(found[0].Text, "The server took #5 after a write had blocked for 6s (#6)") {
		t.Errorf("found %v", found)
	}
}
