//go:build amd64 || arm64

package external

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

// lister is a client that keeps a list of tools as its server says that it has changed, with a fault.
type lister struct {
	fault   string
	in      io.Writer
	asked   int
	loading int // lists under way
	isStale bool
	changes int
	tools   []string
}

// run prints the tools, has the server add two, and prints them when it has them.
func (l *lister) run(out io.Reader) {
	lines := bufio.NewScanner(out)
	until := func(isDone func() bool) {
		for !isDone() && lines.Scan() {
			for _, m := range timeline.MessagesOf(transport.Frame{Bytes: lines.Bytes()}) {
				l.hear(m)
			}
		}
	}
	isLoaded := func() bool { return l.loading == 0 }
	l.ask(mcp.MethodInitialize, `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}`)
	lines.Scan()
	_, _ = fmt.Fprintln(l.in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	l.load()
	until(isLoaded)
	fmt.Println(l.tools)
	l.changes = 0
	l.ask(mcp.MethodCallTool, `{"name":"install"}`)
	until(func() bool {
		isThere := slices.Contains(l.tools, "second") || l.fault == "lists, drops changes meanwhile" && l.changes > 1
		return isThere && isLoaded()
	})
	fmt.Println(l.tools)
}

func (l *lister) ask(method, params string) {
	l.asked++
	_, _ = fmt.Fprintf(l.in, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`+"\n", l.asked, method, params)
}

func (l *lister) load() {
	l.loading++
	l.tools = nil
	l.ask(mcp.MethodListTools, "{}")
}

func (l *lister) hear(m transport.Message) {
	var page struct {
		Tools      []struct{ Name string }
		NextCursor string
	}
	switch {
	case m.Method == mcp.MethodPing:
		_, _ = fmt.Fprintf(l.in, `{"jsonrpc":"2.0","id":%s,"result":{}}`+"\n", m.ID)
	case m.Method == mcp.NotificationToolListChanged:
		l.changes++
		if l.loading == 0 || l.fault == "lists, mixes pages" {
			l.load()
		} else if l.fault != "lists, drops changes meanwhile" {
			l.isStale = true
		}
	case json.Unmarshal(m.Result, &page) == nil && page.Tools != nil:
		for _, tool := range page.Tools {
			l.tools = append(l.tools, tool.Name)
		}
		if page.NextCursor != "" {
			l.ask(mcp.MethodListTools, fmt.Sprintf(`{"cursor":%q}`, page.NextCursor))
			return
		}
		l.loading--
		if l.isStale {
			l.isStale = false
			l.load()
		}
	}
}

// listerSession is a recorded session of the client.
func listerSession() []store.Event {
	header := store.Header{ID: "01a20a05-df07-77d5-b81a-7728635191af", Transport: "stdio"}
	events := append([]store.Event{{Seq: 1, Kind: store.Opened, Payload: header.Encode()}}, framesOf(`> {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}
		< {"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"s","version":"1"}}}
		> {"jsonrpc":"2.0","method":"notifications/initialized"}
		> {"jsonrpc":"2.0","id":2,"method":"tools/list","params":{}}
		< {"jsonrpc":"2.0","id":2,"result":{"tools":[{"name":"install","inputSchema":{"type":"object"}}],"nextCursor":"b"}}
		> {"jsonrpc":"2.0","id":3,"method":"tools/list","params":{"cursor":"b"}}
		< {"jsonrpc":"2.0","id":3,"result":{"tools":[{"name":"plain","inputSchema":{"type":"object"}}]}}
		> {"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"install"}}
		< {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}
		> {"jsonrpc":"2.0","id":5,"method":"tools/list","params":{}}
		< {"jsonrpc":"2.0","id":5,"result":{"tools":[{"name":"install","inputSchema":{"type":"object"}}],"nextCursor":"b"}}
		> {"jsonrpc":"2.0","id":6,"method":"tools/list","params":{"cursor":"b"}}
		< {"jsonrpc":"2.0","id":6,"result":{"tools":[{"name":"plain","inputSchema":{"type":"object"}},{"name":"first","inputSchema":{"type":"object"}}]}}
		< {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}
		< {"jsonrpc":"2.0","id":4,"result":{"content":[]}}
		> {"jsonrpc":"2.0","id":7,"method":"tools/list","params":{}}
		< {"jsonrpc":"2.0","id":7,"result":{"tools":[{"name":"install","inputSchema":{"type":"object"}}],"nextCursor":"b"}}
		> {"jsonrpc":"2.0","id":8,"method":"tools/list","params":{"cursor":"b"}}
		< {"jsonrpc":"2.0","id":8,"result":{"tools":[{"name":"plain","inputSchema":{"type":"object"}},{"name":"first","inputSchema":{"type":"object"}},{"name":"second","inputSchema":{"type":"object"}}]}}`)...)
	for i := range events {
		events[i].Seq = uint64(i + 1)
	}
	return events
}

// TestListingClients holds what is found when a list changes while a client asks for it, and that nothing is found of a client
// that waits for the change which its call has made: no order has that in front of the call.
func TestListingClients(t *testing.T) {
	for fault, want := range map[string]string{
		"lists, drops changes meanwhile": "it was told while it waited for tools/list that this had changed (#10), and did not ask for it again\n  line 2 is\n    [install plain first]\n  and in the recorded order\n    [install plain first second]\n",
		"lists, mixes pages":             "line 1 is\n    [install plain install plain]\n  and in the recorded order it prints no such line\n  the server says in front of the answer to tools/list (#6) that a list has changed\n  token: x1.change6\n",
		"lists":                          "100 orders of 10 messages with 0 requests ",
	} {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			report, err := ExploreClient(counterClient(fault), listerSession(), Options{Schedules: Usual, SameOutput: true})
			if err != nil || !strings.Contains(report.Text(), want) || report.Passed() != (fault == "lists") {
				t.Errorf("%v, found:\n%s", err, report.Text())
			}
		})
	}
}

// TestHeardBetween holds that what a client says between the two parts of a message is heard, also if it says nothing more.
func TestHeardBetween(t *testing.T) {
	report, err := ExploreClient(counterClient("lists"), listerSession(), Options{Token: "x1.join14-16.split16@24"})
	if err != nil || !report.Passed() {
		t.Errorf("%v, found:\n%s", err, report.Text())
	}
}

// watch waits until a resource has changed, which it may have before the subscription is there.
func (l *lister) watch(out io.Reader) {
	lines := bufio.NewScanner(out)
	text := ""
	until := func(isMine func(transport.Message) bool) {
		for isOver := false; !isOver && lines.Scan(); {
			for _, m := range timeline.MessagesOf(transport.Frame{Bytes: lines.Bytes()}) {
				var read struct{ Contents []struct{ Text string } }
				if _ = json.Unmarshal(m.Result, &read); len(read.Contents) > 0 { // what cannot be read is not there
					text = read.Contents[0].Text
				}
				isOver = isOver || isMine(m)
			}
		}
	}
	ask := func(method, params string) {
		l.ask(method, params)
		id := strconv.Itoa(l.asked)
		until(func(m transport.Message) bool { return string(m.ID) == id })
	}
	read := func() { ask(mcp.MethodReadResource, `{"uri":"a://1"}`) }
	ask(mcp.MethodInitialize, `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}`)
	_, _ = fmt.Fprintln(l.in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	if l.fault == "watches, and reads first" {
		read()
	}
	ask(mcp.MethodSubscribe, `{"uri":"a://1"}`)
	if l.fault == "watches" {
		read()
	}
	for text == "old" {
		until(func(m transport.Message) bool { return m.Method == mcp.NotificationResourceUpdated })
		read()
	}
}

// TestWatchingClients holds that a client is found which misses what changes between its reading and its subscription.
func TestWatchingClients(t *testing.T) {
	for fault, row := range map[string]struct{ first, second, want string }{
		"watches, and reads first": {mcp.MethodReadResource, mcp.MethodSubscribe, "HANG (observed; not a proof): it has every answer, the answer to resources/subscribe a://1 (#8) is the last, says no more and does not end; "},
		"watches":                  {mcp.MethodSubscribe, mcp.MethodReadResource, "2 orders"},
	} {
		events, say := greetedSession(`{"resources":{"subscribe":true}}`)
		*events = (*events)[:1]
		result := func(text string) string { return fmt.Sprintf(`{"contents":[{"uri":"a://1","text":%q}]}`, text) }
		say(c2s, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`)
		say(s2c, `{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{"resources":{"subscribe":true}},"serverInfo":{"name":"s","version":"1"}}}`)
		say(c2s, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
		for id, method := range []string{row.first, row.second} {
			say(c2s, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":{"uri":"a://1"}}`, id+2, method)
			say(s2c, `{"jsonrpc":"2.0","id":%d,"result":%s}`, id+2, map[string]string{mcp.MethodReadResource: result("old"), mcp.MethodSubscribe: "{}"}[method])
		}
		say(s2c, `{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"a://1"}}`)
		say(c2s, `{"jsonrpc":"2.0","id":4,"method":"resources/read","params":{"uri":"a://1"}}`)
		say(s2c, `{"jsonrpc":"2.0","id":4,"result":%s}`, result("new"))
		token := map[string]string{"watches": "x1.gap6", "watches, and reads first": "x1.gap8"}[fault]
		report, err := ExploreClient(counterClient(fault), *events, Options{Token: token})
		if err != nil || !strings.HasPrefix(report.Text(), row.want) {
			t.Errorf("%s: %v, found:\n%s", fault, err, report.Text())
		}
	}
}

// follow reads a resource whenever it changes, and prints what it has at last, or what it reads.
func (l *lister) follow(out io.Reader) {
	lines := bufio.NewScanner(out)
	reads, newest, isOver, text := 0, 0, false, ""
	read := func() { reads++; l.ask(mcp.MethodReadResource, `{"uri":"a://1"}`) }
	l.ask(mcp.MethodInitialize, `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}`)
	lines.Scan()
	_, _ = fmt.Fprintln(l.in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	l.ask(mcp.MethodSubscribe, `{"uri":"a://1"}`)
	lines.Scan()
	l.ask(mcp.MethodCallTool, `{"name":"race"}`)
	for (!isOver || reads > 0) && lines.Scan() {
		m := timeline.MessagesOf(transport.Frame{Bytes: lines.Bytes()})[0]
		var got struct {
			Contents []struct{ Text string }
			Content  []any
		}
		_ = json.Unmarshal(m.Result, &got) // what cannot be read is not there
		switch id, _ := strconv.Atoi(string(m.ID)); {
		case m.Method == mcp.MethodPing:
			_, _ = fmt.Fprintf(l.in, `{"jsonrpc":"2.0","id":%s,"result":{}}`+"\n", m.ID)
		case m.Method == mcp.NotificationResourceUpdated:
			read()
		case got.Content != nil:
			isOver = true
		case len(got.Contents) > 0:
			reads--
			if l.fault == "reads, prints each" {
				fmt.Println(got.Contents[0].Text)
			}
			if id > newest || l.fault == "reads, keeps the last" {
				newest, text = id, got.Contents[0].Text
			}
		}
	}
	if l.fault != "reads, prints each" {
		fmt.Println(text)
	}
}

// TestFollowingReads holds that a client is found which goes by the answer that comes last, where that is to an earlier request,
// and that nothing is said of one that prints each.
func TestFollowingReads(t *testing.T) {
	t.Parallel()
	events, say := greetedSession(`{"resources":{"subscribe":true}}`)
	*events = (*events)[:1]
	say(c2s, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`)
	say(s2c, `{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{"resources":{"subscribe":true}},"serverInfo":{"name":"s","version":"1"}}}`)
	say(c2s, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	say(c2s, `{"jsonrpc":"2.0","id":2,"method":"resources/subscribe","params":{"uri":"a://1"}}`)
	say(s2c, `{"jsonrpc":"2.0","id":2,"result":{}}`)
	say(c2s, `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"race"}}`)
	for leg := 1; leg <= 3; leg++ {
		say(s2c, `{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"a://1"}}`)
		say(c2s, `{"jsonrpc":"2.0","id":%d,"method":"resources/read","params":{"uri":"a://1"}}`, leg+3)
		say(s2c, `{"jsonrpc":"2.0","id":%d,"result":{"contents":[{"uri":"a://1","text":"leg %d"}]}}`, leg+3, leg)
	}
	say(s2c, `{"jsonrpc":"2.0","id":3,"result":{"content":[]}}`)
	for fault, want := range map[string]string{
		"reads, keeps the last":   "DIFFERENT OUTPUT: the client prints otherwise than in the recorded order; reproduced 3 times out of 3\n  it goes by an old answer that has come behind a newer one\n  line 1 is\n    leg 1\n  and if the two answers are the same\n    leg 3\n",
		"reads, keeps the newest": "2 orders",
		"reads, prints each":      "2 orders",
	} {
		report, err := ExploreClient(counterClient(fault), *events, Options{Token: "x1.late10", SameOutput: true})
		if err != nil || !strings.HasPrefix(report.Text(), want) {
			t.Errorf("%s: %v, found:\n%s", fault, err, report.Text())
		}
	}
}

// fetch asks at once where two things are, and fetches each from there. With a fault it takes the first answer to come for that to
// the first request.
func (l *lister) fetch(out io.Reader) {
	things := []string{"ladder", "rope"}
	l.ask(mcp.MethodInitialize, `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}`)
	fetched := 0
	for lines, found := bufio.NewScanner(out), 0; fetched < len(things) && lines.Scan(); {
		m := timeline.MessagesOf(transport.Frame{Bytes: lines.Bytes()})[0]
		var got struct{ Content []struct{ Text string } }
		_ = json.Unmarshal(m.Result, &got) // what cannot be read is not there
		id, _ := strconv.Atoi(string(m.ID))
		switch {
		case m.Method == mcp.MethodPing:
			_, _ = fmt.Fprintf(l.in, `{"jsonrpc":"2.0","id":%s,"result":{}}`+"\n", m.ID)
		case id == 1:
			_, _ = fmt.Fprintln(l.in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
			for _, thing := range things {
				l.ask(mcp.MethodCallTool, fmt.Sprintf(`{"name":"find","arguments":{"thing":%q}}`, thing))
			}
		case id <= 3:
			thing := things[id-2]
			if l.fault == "fetches, in turn" {
				thing = things[found]
			}
			found++
			l.ask(mcp.MethodCallTool, fmt.Sprintf(`{"name":"fetch","arguments":{"thing":%q,"from":%q}}`, thing, got.Content[0].Text))
		default:
			fetched++
		}
	}
	fmt.Println("fetched", fetched)
}

// TestFetchingClients holds that a client is found which takes an answer for that to another request, and asks for what is nowhere.
func TestFetchingClients(t *testing.T) {
	t.Parallel()
	events, say := newSession()
	say(c2s, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`)
	say(s2c, `{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}`)
	say(c2s, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	say(c2s, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"find","arguments":{"thing":"ladder"}}}`)
	say(c2s, `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"find","arguments":{"thing":"rope"}}}`)
	say(s2c, `{"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"shed"}]}}`)
	say(c2s, `{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"fetch","arguments":{"thing":"ladder","from":"shed"}}}`)
	say(s2c, `{"jsonrpc":"2.0","id":3,"result":{"content":[{"type":"text","text":"boat"}]}}`)
	say(c2s, `{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"fetch","arguments":{"thing":"rope","from":"boat"}}}`)
	say(s2c, `{"jsonrpc":"2.0","id":4,"result":{"content":[]}}`)
	say(s2c, `{"jsonrpc":"2.0","id":5,"result":{"content":[]}}`)
	for fault, want := range map[string]string{
		"fetches, in turn": "DIFFERENT OUTPUT: the client asks for something else than in the recorded order; reproduced 3 times out of 3\n" +
			"  it asks for\n    tools/call {\"arguments\":{\"from\":\"boat\",\"thing\":\"ladder\"},\"name\":\"fetch\"}\n" +
			"  and in the recorded order for\n    tools/call {\"arguments\":{\"from\":\"shed\",\"thing\":\"ladder\"},\"name\":\"fetch\"}\n",
		"fetches": "",
	} {
		report, err := ExploreClient(counterClient(fault), *events, Options{Schedules: 25, SameOutput: true})
		if err != nil || want == "" && len(report.Findings) > 0 || !strings.HasPrefix(report.Text(), want) {
			t.Errorf("%s: %v, found:\n%s", fault, err, report.Text())
		}
	}
}
