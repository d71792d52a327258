package summary

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcprec/mcprec/replay/filter"
	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/store/jsonl"
)

// header is the first line of every session below.
const header = `{"mcprec":1,"transport":"stdio"}
`

// summarize folds a session in the form of a fixture.
func summarize(t *testing.T, text string, now time.Duration) Summary {
	t.Helper()
	f := NewFold()
	if err := timeline.Project(timeline.Steps(jsonl.Decode(strings.NewReader(header+text))), f); err != nil {
		t.Fatal(err)
	}
	return f.Close(now)
}

// describe writes a summary in a line.
func describe(s Summary) string {
	text := fmt.Sprintf("client=%v server=%v revision=%s requests=%d errors=%d hung=%d", s.Client, s.Server, s.Revision, s.Requests, s.Errors, s.Hung)
	for _, x := range s.Tools {
		text += fmt.Sprintf("; %s calls=%d errors=%d open=%d hung=%d bytes=%d max=%v", x.Name, x.Calls, x.Errors, x.Open, x.Hung, x.Bytes, x.Durations.Max())
	}
	return text
}

func TestFold(t *testing.T) {
	for _, row := range []struct {
		name, events string
		now          time.Duration
		want         string
	}{
		{name: "empty", want: "client= server= revision= requests=0 errors=0 hung=0"},
		{name: "the ends name themselves", events: `{"at":"1ms","dir":"c2s","frame":{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","clientInfo":{"name":"ide","version":"2"}}}}
{"at":"2ms","dir":"s2c","frame":{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-06-18","serverInfo":{"name":"files","version":"1.0"}}}}
`, want: "client=ide 2 server=files 1.0 revision=2025-06-18 requests=1 errors=0 hung=0"},
		{name: "2026-07-28 has the names in _meta", events: `{"at":"1ms","dir":"c2s","frame":{"jsonrpc":"2.0","id":0,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"ide","version":"2"}}}}}
{"at":"2ms","dir":"s2c","frame":{"jsonrpc":"2.0","id":0,"result":{"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"files","version":"1.0"}},"tools":[]}}}
`, want: "client=ide 2 server=files 1.0 revision=2026-07-28 requests=1 errors=0 hung=0"},
		{name: "answers, errors of three kinds", events: `{"at":"1ms","dir":"c2s","frame":{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"b"}}}
{"at":"4ms","dir":"s2c","frame":{"jsonrpc":"2.0","id":1,"result":{"content":[]}}}
{"at":"5ms","dir":"c2s","frame":{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"a"}}}
{"at":"6ms","dir":"s2c","frame":{"jsonrpc":"2.0","id":2,"result":{"content":[],"isError":true}}}
{"at":"7ms","dir":"c2s","frame":{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"a"}}}
{"at":"9ms","dir":"s2c","frame":{"jsonrpc":"2.0","id":3,"error":{"code":-32602,"message":"no"}}}
{"at":"10ms","dir":"c2s","frame":{"jsonrpc":"2.0","id":4,"method":"prompts/list"}}
{"at":"11ms","dir":"s2c","frame":{"jsonrpc":"2.0","id":4,"error":{"code":-32601,"message":"no"}}}
`, want: "client= server= revision= requests=4 errors=3 hung=0; a calls=2 errors=2 open=0 hung=0 bytes=262 max=2ms; b calls=1 errors=0 open=0 hung=0 bytes=116 max=3ms"},
		{name: "a call without an answer, a cancelled one, a subscription, a ping of the server", events: `{"at":"1ms","dir":"c2s","frame":{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a"}}}
{"at":"2ms","dir":"c2s","frame":{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"a"}}}
{"at":"3ms","dir":"c2s","frame":{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}}
{"at":"4ms","dir":"c2s","frame":{"jsonrpc":"2.0","id":3,"method":"subscriptions/listen"}}
{"at":"5ms","dir":"s2c","frame":{"jsonrpc":"2.0","id":1,"method":"ping"}}
{"at":"6ms","dir":"c2s","frame":{"jsonrpc":"2.0","id":1,"result":{}}}
{"at":"60s","kind":"eof","dir":"c2s","data":{"by":"sender"}}
`, want: "client= server= revision= requests=3 errors=0 hung=1; a calls=2 errors=0 open=1 hung=1 bytes=136 max=0s"},
		{name: "a call that was given up at once", events: `{"at":"1ms","dir":"c2s","frame":{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a"}}}
{"at":"9ms","kind":"eof","dir":"c2s","data":{"by":"sender"}}
`, want: "client= server= revision= requests=1 errors=0 hung=0; a calls=1 errors=0 open=1 hung=0 bytes=68 max=0s"},
		{name: "a live call is not hung at once", now: 3 * time.Second, events: `{"at":"1ms","dir":"c2s","frame":{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a"}}}
`, want: "client= server= revision= requests=1 errors=0 hung=0; a calls=1 errors=0 open=1 hung=0 bytes=68 max=0s"},
		{name: "a live call that waits long is", now: time.Minute, events: `{"at":"1ms","dir":"c2s","frame":{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a"}}}
`, want: "client= server= revision= requests=1 errors=0 hung=1; a calls=1 errors=0 open=1 hung=1 bytes=68 max=0s"},
		{name: "an HTTP status is an answer, once", events: `{"at":"1ms","dir":"c2s","stream":7,"frame":{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a"}}}
{"at":"2ms","dir":"s2c","stream":7,"kind":"http","data":{"what":"response","status":401}}
{"at":"3ms","dir":"s2c","stream":7,"frame":{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"no"}}}
`, want: "client= server= revision= requests=1 errors=1 hung=0; a calls=1 errors=1 open=0 hung=0 bytes=68 max=1ms"},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := summarize(t, row.events, row.now)
			if got := describe(s); got != row.want {
				t.Errorf("got  %s\nwant %s", got, row.want)
			}
		})
	}
}

// TestToolLimit: a server with endless names of tools does not make a summary endless.
func TestToolLimit(t *testing.T) {
	var s Summary
	for i := range 3 * maxTools {
		s.tool(fmt.Sprintf("tool%06d", i)).Calls++
	}
	if got := len(s.Tools); got != maxTools+1 {
		t.Errorf("%d tools, want %d", got, maxTools+1)
	}
	if got := s.tool(others).Calls; got != 2*maxTools {
		t.Errorf("%d other calls, want %d", got, 2*maxTools)
	}
}

func TestDurations(t *testing.T) {
	var all, evens Durations
	for ms := range 1000 {
		d := time.Duration(ms+1) * time.Millisecond
		if all.Add(d); ms%2 == 0 {
			evens.Add(d)
		}
	}
	check := func(name string, d *Durations, percent uint64, want time.Duration) {
		t.Helper()
		if got := d.Quantile(percent); got < want || got > want+want/100 {
			t.Errorf("%s: p%d = %v, want %v", name, percent, got, want)
		}
	}
	check("all", &all, 50, 500*time.Millisecond)
	check("all", &all, 95, 950*time.Millisecond)
	check("all", &all, 100, time.Second)
	for ms := 1; ms < 1000; ms += 2 {
		all.Remove(time.Duration(ms+1) * time.Millisecond)
	}
	all.max = evens.max
	if !reflect.DeepEqual(all, evens) {
		t.Error("removing the others left something else")
	}
	var merged Durations
	merged.Merge(&evens)
	merged.Merge(&evens)
	check("merged", &merged, 50, 499*time.Millisecond)
	if merged.Count() != 1000 {
		t.Errorf("merged: %d durations", merged.Count())
	}
	var none Durations
	check("none", &none, 95, 0)
	for _, d := range []time.Duration{-1, 0, 1, 255, 256, 257, 511, 512, time.Second, 1<<63 - 1} {
		if last := longest(stepOf(d)); last < d || last-max(d, 0) > max(d, 0)/100 {
			t.Errorf("the longest duration in the step of %v is %v", d, last)
		}
	}
}

func TestHasCall(t *testing.T) {
	s := summarize(t, `{"at":"1ms","dir":"c2s","frame":{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"good"}}}
{"at":"4ms","dir":"s2c","frame":{"jsonrpc":"2.0","id":1,"result":{"content":[]}}}
{"at":"5ms","dir":"c2s","frame":{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"bad"}}}
{"at":"6ms","dir":"s2c","frame":{"jsonrpc":"2.0","id":2,"result":{"content":[],"isError":true}}}
{"at":"7ms","dir":"c2s","frame":{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"open"}}}
{"at":"8ms","dir":"c2s","frame":{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"cancelled"}}}
{"at":"9ms","dir":"c2s","frame":{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":4}}}
`, 0)
	crowded := s
	crowded.Tools = append(slices.Clone(s.Tools), Tool{Name: others, Calls: 1})
	for _, row := range []struct{ filter, want string }{
		{"tool:good", "yes"},
		{"tool:none", "no"},
		{"tool:good status:ok", "yes"},
		{"tool:good status:error", "no"},
		{"tool:bad status:error", "yes"},
		{"tool:bad -status:error", "no"},
		{"tool:open status:pending", "yes"},
		{"tool:* status:err|pending", "yes"},
		{"tool:cancelled", "yes"},
		{"tool:cancelled status:pending", "no"},
		{"tool:cancelled -status:ok|error|pending", "yes"},
		{"tool:good status:ok took:>1h", "partly yes"},
		{"tool:bad status:ok kind:request", "partly no"},
		{"tool:cancelled status:cancelled", "partly yes"},
		{"tool:bad status:-32601", "partly yes"},
		{"status:error", "not by calls"},
		{"-tool:good status:ok", "not by calls"},
		{"good", "not by calls"},
		{"", "not by calls"},
	} {
		fits, err := filter.Parse(row.filter)
		if err != nil {
			t.Fatal(err)
		}
		got := "not by calls"
		if calls, whole := fits.OfToolCalls(); calls != nil {
			has, known := s.HasCall(calls)
			got = map[bool]string{true: "yes", false: "no"}[has]
			if !whole {
				got = "partly " + got
			}
			if _, stillKnown := crowded.HasCall(calls); !known || stillKnown && !has {
				t.Errorf("%q: known %t; with tools whose names are not kept %t", row.filter, known, stillKnown)
			}
		}
		if got != row.want {
			t.Errorf("%q: %s, want %s", row.filter, got, row.want)
		}
	}
}
