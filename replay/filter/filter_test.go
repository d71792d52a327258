package filter_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcprec/mcprec/replay/filter"
	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/jsonl"
	"github.com/mcprec/mcprec/transport"
)

// events is a session with something for every field; event N is at (N-1)*100ms.
func events(t *testing.T) []store.Event {
	list := []store.Event{{Kind: store.Opened, Payload: store.Header{Transport: "http"}.Encode()}}
	for _, line := range []string{
		`2 c2s 1 frame {"id":1,"method":"initialize","params":{}}`,
		`3 s2c 1 frame {"id":1,"result":{"serverInfo":{"name":"Wörld"}}}`,
		`4 c2s 2 frame {"id":7,"method":"tools/call","params":{"name":"search","_meta":{"progressToken":"p"}}}`,
		`5 c2s 3 frame {"id":"7","method":"tools/call","params":{"name":"count, sorted"}}`,
		`6 s2c 2 frame {"method":"notifications/progress","params":{"progressToken":"p","progress":1}}`,
		`7 s2c 2 frame {"id":7.0,"result":{"content":"a\u00e9b"}}`,
		`8 c2s 4 frame {"method":"notifications/cancelled","params":{"requestId":"7"}}`,
		`9 s2c 3 frame {"id":"7","error":{"code":-32800,"message":"gone"}}`,
		`10 s2c 2 frame {"method":"notifications/progress","params":{"progressToken":"p","progress":2}}`,
		`11 s2c 0 frame starting: kind:odd`,
		`12 c2s 5 frame [{"id":8,"method":"ping"},{"id":9,"method":"resources/read","params":{"uri":"file:///a b"}}]`,
		`13 s2c 5 frame {"id":8,"result":{}}`,
		`14 s2c 0 frame {"id":77,"result":{}}`,
		`15 c2s 6 http {"what":"request","method":"POST","path":"/mcp"}`,
		`16 s2c 6 http {"what":"response","status":404}`,
		`17  0 stderr a warning, twice`,
		`18 s2c 0 frame {"id":1,"method":"ping"}`,
		`19 s2c 0 frame {"method":"notifications/progress","params":{"progress":1}}`,
	} {
		part := strings.SplitN(line, " ", 5)
		e := store.Event{Kind: store.Kind(part[3]), Payload: []byte(part[4])}
		e.Dir, _ = transport.ParseDirection(part[1])
		e.Stream = uint64(part[2][0] - '0')
		list = append(list, e)
	}
	for i := range list {
		list[i].Seq, list[i].At = uint64(i+1), time.Duration(i)*100*time.Millisecond
	}
	return list
}

func project(t *testing.T, p timeline.Projection, list []store.Event) {
	t.Helper()
	if err := timeline.Project(timeline.Steps(jsonl.Each(list)), p); err != nil {
		t.Fatal(err)
	}
}

// selected returns the numbers of the events that the expression selects.
func selected(t *testing.T, expr string, list []store.Event) (seqs []uint64) {
	t.Helper()
	f, err := filter.Parse(expr)
	if err != nil {
		t.Fatal(err)
	}
	transcript := timeline.NewTranscript(func(e timeline.Entry) error {
		if f.Selects(&e) {
			seqs = append(seqs, e.Seq)
		}
		return nil
	})
	if f.Ahead() {
		endings := timeline.NewEndings()
		project(t, endings, list)
		transcript.Foresee(endings)
	}
	project(t, transcript, list)
	return seqs
}

func TestSelects(t *testing.T) {
	list := events(t)
	for expr, want := range map[string]string{
		"":                                 "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19",
		"tool:search":                      "4 6 7 10",
		"tool:sea*":                        "4 6 7 10",
		"tool:*":                           "4 5 6 7 8 9 10",
		"tool:*c*":                         "4 5 6 7 8 9 10",
		"tool:*x*":                         "",
		`tool:"*"`:                         "",
		`tool:"count, sorted"`:             "5 8 9",
		`tool:"count, sorted",search`:      "4 5 6 7 8 9 10",
		`tool:search|"count, sorted"`:      "4 5 6 7 8 9 10",
		"tool:search dir:c2s":              "4",
		"tool:search -kind:response":       "4 6 10",
		"!tool:search kind:response":       "3 9 13 14",
		"method:tools/call":                "4 5 6 7 8 9 10",
		"method:notifications/*":           "6 8 10 19",
		"method:ping":                      "12 13 18",
		`target:"file:///a b"`:             "12",
		"target:file:*":                    "12",
		"id:7":                             "4 6 7 10",
		`id:"7"`:                           "5 8 9",
		"id:7.0":                           "4 6 7 10",
		"id:1":                             "2 3 18",
		"id:1 dir:s2c":                     "3 18",
		"id:7*":                            "4 5 6 7 8 9 10 14",
		"dir:s2c kind:request":             "18",
		"kind:req|notify":                  "2 4 5 6 8 10 12 18 19",
		"kind:stray":                       "11",
		"kind:batch":                       "12",
		"kind:stderr,http":                 "15 16 17",
		"kind:opened":                      "1",
		"-kind:message":                    "1 15 16 17",
		"status:pending":                   "12 18",
		"status:pending tool:*":            "",
		"status:ok":                        "2 3 4 6 7 10 12 13",
		"status:error":                     "5 8 9 16",
		"status:cancelled":                 "5 8 9",
		"status:late":                      "4 5 6 7 8 9 10",
		"status:orphan":                    "14 19",
		"status:404":                       "16",
		"status:4xx":                       "16",
		"status:-32800":                    "5 8 9",
		"took:>300ms":                      "5 8 9 12",
		"took:300ms":                       "4 6 7 10",
		"took:<=0.1":                       "2 3 12 13 18",
		"at:>1.5s":                         "17 18 19",
		"at:>=1.5s":                        "16 17 18 19",
		"at:1s":                            "11 12 13 14 15 16 17 18 19",
		"at:1.0s":                          "11",
		"at:1s..1.2s":                      "11 12 13",
		"at:..0.1":                         "1 2",
		"at:1.6s..":                        "17 18 19",
		"seq:5":                            "5",
		"seq:#5,7..8":                      "5 7 8",
		"seq:>16":                          "17 18 19",
		"stream:2":                         "4 6 7 10",
		"stream:>4":                        "12 13 15 16",
		"WÖRLD":                            "3",
		"aéb":                              "7",
		"warning,":                         "17",
		"warn*twice":                       "17",
		"twice*warn":                       "",
		`"kind:odd"`:                       "11",
		"gone|twice":                       "9 17",
		"-e":                               "11",
		"tools/call -kind:request":         "6 7 8 9 10",
		`"say \"x\""`:                      "",
		"  tool:search\tstatus:ok \n":      "4 6 7 10",
		"tool:search at:..500ms|900ms..1s": "4 6 10",
	} {
		if got := strings.Trim(fmt.Sprint(selected(t, expr, list)), "[]"); got != want {
			t.Errorf("%s\n got %s\nwant %s", expr, got, want)
		}
	}
}

// TestNotAhead: while nobody knows how the calls end, each is what it is so far.
func TestNotAhead(t *testing.T) {
	f, err := filter.Parse("status:pending")
	if err != nil {
		t.Fatal(err)
	}
	var seqs []uint64
	project(t, timeline.NewTranscript(func(e timeline.Entry) error {
		if f.Selects(&e) {
			seqs = append(seqs, e.Seq)
		}
		return nil
	}), events(t))
	if want := []uint64{2, 4, 5, 6, 12, 18}; !slices.Equal(seqs, want) {
		t.Errorf("got %v, want %v", seqs, want)
	}
}

func TestSelectsCall(t *testing.T) {
	call := &timeline.Call{
		Dir: transport.ClientToServer, ID: "7", Method: "tools/call", Target: "search", Request: 4, At: time.Second, Response: 9, Latency: time.Second,
	}
	for expr, want := range map[string]bool{
		"": true, "tool:search": true, "tool:other": false, "id:7": true, `id:"7"`: false, "dir:c2s": true, "dir:s2c": false,
		"status:ok": true, "status:pending": false, "took:>500ms": true, "at:1s": true, "seq:4": true, "search": true, "-search": false,
		"kind:request": true,
	} {
		f, err := filter.Parse(expr)
		if err != nil {
			t.Fatal(err)
		}
		if f.SelectsCall(call) != want {
			t.Errorf("%s: not %t", expr, want)
		}
	}
	for _, row := range []struct {
		call timeline.Call
		took bool
	}{
		{timeline.Call{Request: 4, Response: 5}, true}, // at once
		{timeline.Call{Request: 4, Latency: time.Microsecond}, true},
		{timeline.Call{Request: 4}, false}, // nobody knows how long it has been open
	} {
		f, err := filter.Parse("took:<1ms")
		if err != nil {
			t.Fatal(err)
		}
		if f.SelectsCall(&row.call) != row.took {
			t.Errorf("%+v: not %t", row.call, row.took)
		}
	}
}

func TestFaults(t *testing.T) {
	for expr, want := range map[string]string{
		"tool:":              `filter "tool:": at 6: want a tool's name`,
		"tool:a|":            `at 8: want a tool's name`,
		"tol:search":         `at 1: no field "tol"; want one of tool: method: target: id: dir: kind: status: took: at: seq: stream:, or a text in quotes`,
		"tool:x https://x":   `at 8: no field "https"`,
		"tool:x dir:up":      `at 12: dir: wants c2s or s2c, not "up"`,
		"dir:-":              `at 5: dir: wants c2s or s2c`,
		"kind:messages":      `at 6: kind: wants one of request, response, notification,`,
		"status:ok|late|bad": `at 16: status: wants one of pending, ok, error, cancelled, late, orphan, or a number such as 404, 4xx or -32601, not "bad"`,
		"status:0xx":         `at 8: status: wants`,
		"status:44xx":        `at 8: status: wants`,
		"status:4x":          `at 8: status: wants`,
		"status:9xx":         `at 8: status: wants`,
		"at:soon":            `at 4: at: wants a time or a range such as >1.5s, <20ms or 1s..2s, not "soon"`,
		"at:..":              `at 4: at: wants`,
		"at:2s..x":           `at 4: at: wants`,
		"at:=>2s":            `at 4: at: wants`,
		"took:-1s":           `at 6: took: wants`,
		"seq:x":              `at 5: want a number or a range such as 5..9 or >100, not "x"`,
		"seq:-1":             `at 5: want a number`,
		`"open`:              `at 1: the quote is not closed`,
		`tool:"a"b`:          `at 9: want a blank, the end or one of |,, found "b"`,
		"-":                  `at 2: want a term behind -, such as -tool:search`,
		"a - b":              `at 4: want a term behind -`,
		`tool:"` + strings.Repeat("x", 100) + `" a:b`: `x…": at 109: no field "a"`,
	} {
		if f, err := filter.Parse(expr); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\n got %v, %v\nwant %s", expr, f, err, want)
		}
	}
}

// FuzzParse: whatever is asked, it is refused in words or answered, and an event is
// selected by an expression or by its negation.
func FuzzParse(f *testing.F) {
	for _, expr := range []string{"tool:a*|b status:ok", `-"x\"y" at:1s..2s`, "id:7,\"7\"", "took:>1ms seq:<9 kind:req", "status:4xx stream:1", "a|b*c \\u00e9"} {
		f.Add(expr, `{"id":7,"method":"tools/call","params":{"name":"a\u00e9\ud83d\ude00","uri":"x"}}`)
	}
	f.Fuzz(func(t *testing.T, expr, payload string) {
		parsed, err := filter.Parse(expr)
		if err != nil {
			if !strings.Contains(err.Error(), "at ") {
				t.Errorf("%v: no place", err)
			}
			return
		}
		const blanks = " \t\r\n" // other characters that unicode calls so are text
		not, err := filter.Parse("-" + strings.TrimLeft(expr, blanks))
		words := strings.FieldsFunc(expr, func(r rune) bool { return strings.ContainsRune(blanks, r) })
		single := err == nil && len(words) == 1 && !strings.HasPrefix(strings.TrimSpace(expr), "-") && !strings.HasPrefix(strings.TrimSpace(expr), "!")
		_ = timeline.NewTranscript(func(e timeline.Entry) error {
			if got := parsed.Selects(&e); single && len(e.Messages) < 2 && got == not.Selects(&e) {
				t.Errorf("%q and its negation are both %t", expr, got)
			}
			return nil
		}).Take(timeline.NewModel(timeline.Remembered).Take(store.Event{Seq: 2, Kind: store.Frame, Dir: transport.ClientToServer, Payload: []byte(payload)}))
	})
}
