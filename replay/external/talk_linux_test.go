//go:build amd64 || arm64

package external

import (
	"bufio"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/transport"
)

// talk is a server whose calls run side by side: save tells that a resource has changed, and is answered a moment later; dump
// has a long answer. The call insert adds a resource in front of the others, of which a page has two, and where tells the client's
// roots.
func talk(fault string) {
	pause := 30 * time.Millisecond
	if fault == "talks, tells once" {
		pause = time.Second
	}
	var calls sync.WaitGroup
	var output sync.Mutex
	var saving atomic.Int32
	next := make(chan bool, 1) // has a value when a call of save has come behind another that goes on
	write := func(format string, args ...any) {
		line := fmt.Appendf(nil, format+"\n", args...)
		if fault == "talks, tears its lines" { // os.Stdout would write each line whole
			_, _ = syscall.Write(1, line)
			return
		}
		output.Lock()
		defer output.Unlock()
		_, _ = os.Stdout.Write(line)
	}
	resources := []string{"b", "c", "d", "e"}
	questions, roots := 0, ""
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		for _, m := range timeline.MessagesOf(transport.Frame{Bytes: lines.Bytes()}) {
			id := string(m.ID)
			switch tool := timeline.TargetOf(m); {
			case m.Method == "initialize":
				write(`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{"resources":{"subscribe":true}},"serverInfo":{"name":"s","version":"1"}}}`, id)
			case m.Method == "resources/subscribe":
				write(`{"jsonrpc":"2.0","id":%s,"result":{}}`, id)
			case tool == "save":
				if saving.Add(1) > 1 {
					next <- true
				}
				if saving.Load() == 1 || fault != "talks, tells once" {
					write(`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"a://1"}}`)
				}
				calls.Go(func() {
					select { // in the recorded order no other call comes while this one goes on
					case <-next:
					case <-time.After(pause):
					}
					saving.Add(-1)
					write(`{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"saved"}]}}`, id)
				})
			case m.Method == "notifications/initialized" || m.Method == "notifications/roots/list_changed":
				if fault == "talks of roots" || fault == "talks of any roots" {
					questions++
					write(`{"jsonrpc":"2.0","id":%d,"method":"roots/list"}`, questions)
				}
			case m.Result != nil:
				if id == strconv.Itoa(questions) || fault == "talks of any roots" {
					roots = string(m.Result)
				}
			case tool == "where":
				write(`{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":%q}]}}`, id, roots)
			case tool == "insert":
				resources = slices.Insert(resources, 0, "a")
				write(`{"jsonrpc":"2.0","id":%s,"result":{"content":[]}}`, id)
			case m.Method == "resources/list":
				cursor := transport.MemberText(m.Params, "cursor")
				at, _ := slices.BinarySearch(resources, cursor)
				next := ""
				if number, err := strconv.Atoi(cursor); err == nil && fault == "talks, pages by number" {
					at = number
				}
				if at+2 < len(resources) {
					next = resources[at+2]
				}
				if next != "" && fault == "talks, pages by number" {
					next = strconv.Itoa(at + 2)
				}
				var page []string
				for _, name := range resources[at:min(at+2, len(resources))] {
					page = append(page, fmt.Sprintf(`{"name":"x","uri":"a://%s"}`, name))
				}
				if next != "" {
					next = fmt.Sprintf(`,"nextCursor":%q`, next)
				}
				write(`{"jsonrpc":"2.0","id":%s,"result":{"resources":[%s]%s}}`, id, strings.Join(page, ","), next)
			case tool == "dump":
				calls.Go(func() {
					write(`{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":%q}]}}`, id, strings.Repeat("line\n", 3000))
				})
			}
		}
	}
	calls.Wait()
}

// TestTalk holds that the client goes on as soon as it is told something, and that it reads a page at a time.
func TestTalk(t *testing.T) {
	events, say := greetedSession(`{"tools":{},"resources":{"subscribe":true}}`)
	say(c2s, `{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"a://1"}}`)
	say(s2c, `{"jsonrpc":"2.0","id":1,"result":{}}`)
	for id, tool := range []string{"save", "save", "dump", "dump"} {
		say(c2s, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":{}}}`, id+2, tool)
		say(s2c, `{"jsonrpc":"2.0","id":%d,"result":{"content":[]}}`, id+2)
	}
	for _, row := range []struct{ fault, token, want string }{
		{"talks, tells once", "x1.prompt7-9", "DIFFERENT ANSWER when the client goes on as soon as it is told something: tools/call save (#9); reproduced 3 times out of 3\n" +
			"  notifications/resources/updated a://1 came behind that in the recorded order, and comes no more\n  the client sends tools/call save (#9) as soon as the server tells it something behind tools/call save (#7)\n"},
		{"talks", "x1.prompt7-9", "2 orders"},
		{"talks, tears its lines", "x1.sip11-13", "ILLEGAL: the server sent "},
		{"talks", "x1.sip11-13", "2 orders"},
	} {
		report, err := Explore(counter(row.fault), *events, Options{Token: row.token})
		if err != nil || !strings.HasPrefix(report.Text(), row.want) {
			t.Errorf("%s: %v, found:\n%s", row.fault, err, report.Text())
		}
	}
	report, err := Explore(counter("talks"), *events, Options{Schedules: Usual})
	if err != nil || !report.Passed() || len(report.NotHeld) > 0 {
		t.Errorf("%v, found:\n%s", err, report.Text())
	}
}

// TestBetween holds that a list has each item once that is there all the time, also if a call changes it between two pages.
func TestBetween(t *testing.T) {
	events, say := greetedSession(`{"tools":{},"resources":{}}`)
	for id, params := range []string{`{}`, `{"cursor":"2"}`} {
		say(c2s, `{"jsonrpc":"2.0","id":%d,"method":"resources/list","params":%s}`, id+1, params)
		say(s2c, `{"jsonrpc":"2.0","id":%d,"result":{"resources":[],"nextCursor":"2"}}`, id+1)
	}
	say(c2s, `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"insert","arguments":{}}}`)
	say(s2c, `{"jsonrpc":"2.0","id":3,"result":{"content":[]}}`)
	for fault, want := range map[string]string{
		"talks, pages by number": "DIFFERENT ANSWER when a call is made between two of its pages: resources/list (#7), tools/call insert (#9); reproduced 3 times out of 3\n" +
			"  the list has twice a://c, which is there before and after\n  the client walks through the list of resources/list (#7), and makes the call of tools/call insert (#9) between two of its pages\n  token: x1.between7-9\n",
		"talks": "30 orders",
	} {
		report, err := Explore(counter(fault), *events, Options{Schedules: 30})
		if err != nil || !strings.HasPrefix(report.Text(), want) {
			t.Errorf("%s: %v, found:\n%s", fault, err, report.Text())
		}
	}
}

// TestMoved holds that a server goes by the roots that it has asked for last, also if the answer comes in front of an older one.
func TestMoved(t *testing.T) {
	events, say := greetedSession(`{"tools":{}}`)
	say(s2c, `{"jsonrpc":"2.0","id":1,"method":"roots/list"}`)
	say(c2s, `{"jsonrpc":"2.0","id":1,"result":{"roots":[{"uri":"file:///a"}]}}`)
	say(c2s, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"where","arguments":{}}}`)
	say(s2c, `{"jsonrpc":"2.0","id":1,"result":{"content":[]}}`)
	for fault, want := range map[string]string{
		"talks of any roots": "DIFFERENT ANSWER when the roots change while the server asks for them, and its questions are answered in the other order: notifications/initialized (#4); reproduced 3 times out of 3\n" +
			"  tools/call where (#7) is answered by\n    {\"content\":[{\"text\":\"{\\\"roots\\\":[{\\\"uri\\\":\\\"file:///a\\\"}]}\",\"type\":\"text\"}]}\n  and when they are answered in turn by\n",
		"talks of roots": "2 orders",
	} {
		report, err := Explore(counter(fault), *events, Options{Token: "x1.moved4"})
		if err != nil || !strings.HasPrefix(report.Text(), want) {
			t.Errorf("%s: %v, found:\n%s", fault, err, report.Text())
		}
	}
}
