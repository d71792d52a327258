//go:build amd64 || arm64

package external

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/mcprec/mcprec/replay/external/child"
	"github.com/mcprec/mcprec/replay/match"
	"github.com/mcprec/mcprec/replay/standin"
	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
	"github.com/mcprec/mcprec/transport/procfs"
)

// serverEnv makes the test binary a server with the fault that its value names.
const serverEnv = "MCPREC_EXTERNAL_SERVER"

func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == passOnArg {
		panic(child.PassOn(os.Args[2]))
	}
	if fault := os.Getenv(serverEnv); fault != "" {
		os.Exit(serve(fault))
	}
	if fault := os.Getenv(webEnv); fault != "" {
		os.Exit(runWebCounter(fault, os.Args[1]))
	}
	if fault := os.Getenv(probedEnv); fault != "" {
		os.Exit(runProbed(fault))
	}
	if fault := os.Getenv(clientEnv); fault != "" {
		os.Exit(call(fault, os.Args[1]))
	}
	if fault := os.Getenv(httpClientEnv); fault != "" {
		os.Exit(callOverHTTP(fault, os.Args[1]))
	}
	// Under the race detector a process sleeps a second at its end.
	if err := os.Setenv("GORACE", "atexit_sleep_ms=0"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// serve is a counter as an MCP server: the tool add counts, get tells the count.
func serve(fault string) (status int) {
	if strings.HasPrefix(fault, "talks") {
		talk(fault)
		return 0
	}
	count := 0
	page := make([]byte, 1<<20)
	ending := prepareEnding(fault)
	var unread chan string // lines that wait for the client to read; nil: they are written at once
	if fault == "gives up on who does not read" {
		unread = make(chan string, 8)
		go func() {
			for line := range unread {
				fmt.Print(line)
			}
		}()
	}
	answer := func(m transport.Message, result string) {
		if unread != nil {
			giveUp(unread, fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", m.ID, result))
			return
		}
		if _, err := fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", m.ID, result); err != nil && fault == "stays without output" {
			ending.stays.Store(true)
		}
	}
	started := time.Now()
	var rest []byte
	answered := map[string]bool{}
	var work *transport.Message              // the call that goes on until the call finish comes, or both answers
	var said []transport.Message             // the answers to the questions of the call both
	var late []transport.Message             // the calls that wait for that one
	roots := ""                              // what the client has said
	asking := map[string]transport.Message{} // the calls of roots, by the ids of their questions
	tools, listed := 1, 1                    // of the list of tools and in the resource, and as it was told last
	place := 0                               // in the list of pages
	var turns []string                       // the ids of its questions, in order
	isHeld := false                          // by a call that was cancelled
	var slow []chan bool                     // calls whose end is waited for
	var awaiting *transport.Message          // the call that goes on until a get comes, or has come
	hasCome := false                         // a get
	for {
		size, err := os.Stdin.Read(page)
		if err != nil {
			if fault == "drops what runs at its end" {
				return 0
			}
			for _, done := range slow {
				<-done
			}
			if ending.stays.Load() || work != nil && fault == "lingers in a call" {
				fault = "lingers"
			}
			return atEnd(fault)
		}
		if fault == "breaks characters" {
			rest = append(rest, bytes.ToValidUTF8(page[:size], []byte("?"))...)
		} else {
			rest = append(rest, page[:size]...)
		}
		last := bytes.LastIndexByte(rest, '\n') + 1
		messages := messagesIn(rest[:last])
		rest = rest[last:]
		before := count
		for i, m := range messages {
			if awaiting != nil && fault == "is woken by any message" {
				answer(*awaiting, `{"content":[{"type":"text","text":"come"}]}`)
				awaiting = nil
			}
			switch m.Method {
			case mcp.MethodPing:
				answer(m, `{}`)
			case "initialize":
				answer(m, `{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"counter","version":"1"}}`)
			case "notifications/initialized":
				switch fault {
				case "asks":
					fmt.Println(`{"jsonrpc":"2.0","id":"q","method":"roots/list"}`)
				case "reads at its end":
					awaitEndOf(os.Stdin)
				case "prints", "prints and drops":
					fmt.Println("Ready.")
				}
			case "":
				id := string(m.ID)
				if fault == "takes answers in turn" && len(turns) > 0 {
					id, turns = turns[0], turns[1:]
				}
				call, isThere := asking[id]
				if m.Error != nil && fault == "waits for a result" {
					continue
				}
				if isThere {
					roots = string(m.Result) + string(m.Error)
					delete(asking, id)
					if timeline.TargetOf(call) == "model" {
						roots = ""
						answer(call, fmt.Sprintf(`{"content":[{"type":"text","text":%q}]}`, string(m.Result)))
						continue
					}
					answer(call, fmt.Sprintf(`{"content":[{"type":"text","text":%q}]}`, roots))
					continue
				}
				said = append(said, m)
				if len(said) < 2 {
					continue
				}
				isModel := func(m transport.Message) bool { return transport.MemberText(m.Result, "model") != "" }
				switch {
				case fault == "takes answers as they come" && isModel(said[0]):
					answer(*work, `{"content":[{"type":"text","text":"no list of roots"}],"isError":true}`)
				case fault == "says how they came":
					answer(*work, fmt.Sprintf(`{"content":[{"type":"text","text":"%s, %s"}]}`, said[0].ID[1:5], said[1].ID[1:5]))
				default:
					answer(*work, `{"content":[]}`)
				}
				work, said = nil, nil
				for _, m := range late {
					answer(m, fmt.Sprintf(`{"content":[{"type":"text","text":"%d"}]}`, count))
				}
			case "tools/list":
				if strings.Contains(fault, "by pages") {
					cursor := transport.MemberText(m.Params, "cursor")
					if place++; cursor == "" {
						place = 0
					}
					next, _ := strconv.Atoi(cursor)
					if fault == "lists by pages from one place" {
						next = place
					}
					answer(m, fmt.Sprintf(`{"tools":[{"name":"add%d","inputSchema":{"type":"object"}}],"nextCursor":"%d"}`, next, next+1))
					continue
				}
				if fault == "lists another each time" {
					tools++
				}
				if fault != "lists what it had" {
					listed = tools
				}
				answer(m, `{"tools":[`+strings.TrimSuffix(strings.Repeat(`{"name":"add","inputSchema":{"type":"object"}},`, listed), ",")+`]}`)
				listed = tools
			case "resources/read":
				if fault != "lists what it had" {
					listed = tools
				}
				answer(m, fmt.Sprintf(`{"contents":[{"uri":"a://1","text":"%d"}]}`, listed))
				listed = tools
			case "notifications/roots/list_changed":
				roots = "" // which is asked for again
				isHeld = fault == "waits for its new roots"
			case "notifications/cancelled":
				if strings.HasPrefix(fault, "spoils") {
					close(spoilt)
				}
				isHeld = fault == "holds what is cancelled" && len(asking) > 0 && i == 0
				if fault == "dies in its second step" && isSecond.Load() {
					return 3
				}
				if stepping.Load() > 0 {
					stirred <- true
				}
				if id := timeline.CancelledID(m); fault == "dies" || fault == "dies of a late cancellation" && answered[string(id)] {
					fmt.Fprintln(os.Stderr, "boom")
					return 3
				}
			case "tools/call":
				if fault == "dies of a call in its second step" && isSecond.Load() {
					return 3
				}
				if stepping.Load() > 0 {
					stirred <- true
				}
				if fault == "tells the third call what runs" && string(m.ID) == "3" {
					answer(m, fmt.Sprintf(`{"content":[{"type":"text","text":"%d"}]}`, stepping.Load()))
					continue
				}
				if fault == "has ten workers" && i >= 10 {
					continue
				}
				if text := crowded[fault]; text != "" && len(messages) > mostSerial && i == len(messages)-1 {
					answer(m, fmt.Sprintf(`{"content":[{"type":"text","text":%q}],"isError":true}`, text))
					continue
				}
				if i > 0 && messages[i-1].Method == "tools/call" && strings.HasSuffix(fault, "drops") {
					continue
				}
				if i > 0 && messages[i-1].Method == "notifications/initialized" && fault == "is not ready" {
					answer(m, `{"content":[{"type":"text","text":"not ready"}]}`)
					continue
				}
				if isHeld {
					continue
				}
				if fault == "holds" {
					go hold(make(chan bool))
					continue
				}
				if fault == "takes a call for an answer" && work != nil && string(m.ID) == `"roots"` {
					continue
				}
				if fault == "keeps others waiting" && work != nil {
					late = append(late, m)
					continue
				}
				if timeline.TargetOf(m) == "grow" {
					tools++
					fmt.Println(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
				}
				if timeline.TargetOf(m) == "edit" {
					tools++
					fmt.Println(`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"a://1"}}`)
				}
				if timeline.TargetOf(m) == "roots" && roots != "" {
					answer(m, fmt.Sprintf(`{"content":[{"type":"text","text":%q}]}`, roots))
					continue
				}
				if timeline.TargetOf(m) == "roots" {
					id := fmt.Sprintf("%q", "roots"+string(m.ID))
					asking[id] = m
					turns = append(turns, id)
					fmt.Printf(`{"jsonrpc":"2.0","id":%s,"method":"roots/list"}`+"\n", id)
					continue
				}
				if timeline.TargetOf(m) == "model" {
					id := fmt.Sprintf("%q", "model"+string(m.ID))
					asking[id] = m
					turns = append(turns, id)
					fmt.Printf(`{"jsonrpc":"2.0","id":%s,"method":"sampling/createMessage","params":{"maxTokens":1,"messages":[]}}`+"\n", id)
					continue
				}
				if timeline.TargetOf(m) == "both" {
					work = &m
					fmt.Println(`{"jsonrpc":"2.0","id":"roots","method":"roots/list"}`)
					fmt.Println(`{"jsonrpc":"2.0","id":"model","method":"sampling/createMessage","params":{"maxTokens":1,"messages":[]}}`)
					continue
				}
				if isBehindGet := i > 0 && timeline.TargetOf(messages[i-1]) == "get"; isBehindGet && count == 1 && fault == "drops behind an early get" {
					continue
				}
				if timeline.TargetOf(m) == "steps" {
					slow = append(slow, make(chan bool, 1))
					go takeSteps(m, slow[len(slow)-1], fault != "tells the third call what runs" && fault != "drops what runs at its end")
					continue
				}
				if timeline.TargetOf(m) == "slow" {
					if running.Add(1) > 1 && fault == "awaits one at its end" {
						continue
					}
					var spoils chan bool
					if strings.HasPrefix(fault, "spoils") && len(messages) > 1 { // the first of the two is cancelled
						spoils = spoilt
					}
					slow = append(slow, make(chan bool, 1))
					go answerLater(m, spoils, slow[len(slow)-1], fault == "spoils what runs")
					continue
				}
				switch target := timeline.TargetOf(m); {
				case target == "await" && hasCome && fault != "awaits the next":
					answer(m, `{"content":[{"type":"text","text":"come"}]}`)
					continue
				case target == "await":
					awaiting = &m
					continue
				case target == "get" && (fault != "misses what comes together" || len(messages) == 1):
					hasCome = true
					if awaiting != nil {
						answer(*awaiting, `{"content":[{"type":"text","text":"come"}]}`)
						awaiting = nil
					}
				}
				if timeline.TargetOf(m) == "work" {
					work = &m
					continue
				}
				if timeline.TargetOf(m) == "finish" {
					answer(m, `{}`)
					m, work = *work, nil
				}
				if startsFile := os.Getenv(startsEnv); startsFile != "" && !isEarlyStart(startsFile) {
					continue // not before the end of the input, and then it ends
				}
				if fault == "slow" && timeline.TargetOf(m) == "get" {
					time.Sleep(300 * time.Millisecond)
				}
				if fault == "counts the time" {
					count = int(time.Since(started) / (200 * time.Millisecond))
				}
				if strings.HasPrefix(fault, "loses") {
					count = before // as if each had read the count first
				}
				if timeline.TargetOf(m) == "add" {
					count++
				}
				answered[string(m.ID)] = true
				if i > 0 && messages[i-1].Method == "tools/call" && fault == "answers twice" {
					answer(m, `{"content":[]}`)
				}
				if note := transport.MemberText(m.Params, "arguments", "note"); note != "" {
					answer(m, fmt.Sprintf(`{"content":[{"type":"text","text":%q}]}`, note))
					continue
				}
				answer(m, fmt.Sprintf(`{"content":[{"type":"text","text":"%d"}]}`, count))
			}
		}
	}
}

// spoilt is closed when the calls that run fail with a cancelled one.
var spoilt = make(chan bool)

// running counts the calls that answerLater has not answered.
var running atomic.Int32

// answerLater answers a call on a timer, or when it is spoilt with a failure, or another text, and says so.
func answerLater(m transport.Message, spoils, done chan bool, fails bool) {
	text := ""
	if spoils == nil {
		time.Sleep(50 * time.Millisecond)
	} else {
		<-spoils
		text = "spoilt"
	}
	fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":%q}],"isError":%v}}`+"\n", m.ID, text, spoils != nil && fails)
	running.Add(-1)
	done <- true
}

// hold holds a call for ever.
func hold(done chan bool) { <-done }

func messagesIn(data []byte) (list []transport.Message) {
	for line := range bytes.Lines(data) {
		list = append(list, timeline.MessagesOf(transport.Frame{Bytes: bytes.TrimSpace(line)})...)
	}
	return list
}

// ending is what a server knows of its end.
type ending struct{ stays atomic.Bool }

// prepareEnding sees to the signals of a server's end.
func prepareEnding(fault string) *ending {
	e := &ending{}
	switch fault {
	case "swallows SIGTERM", "swallows SIGTERM and lingers":
		signal.Ignore(syscall.SIGTERM)
	case "stays at SIGTERM":
		asked := make(chan os.Signal, 1)
		signal.Notify(asked, syscall.SIGTERM)
		go func() {
			<-asked
			e.stays.Store(true)
		}()
	case "ignores a broken pipe", "stays without output":
		signal.Ignore(syscall.SIGPIPE)
	}
	return e
}

// atEnd is what a server does at the end of its input.
func atEnd(fault string) (status int) {
	switch fault {
	case "lingers", "loses and lingers", "swallows SIGTERM and lingers":
		reader, writer, err := os.Pipe() // both ends are its own: nothing comes
		if err == nil {
			_, _ = io.Copy(io.Discard, reader)
			_ = writer.Close()
		}
	case "lingers on a timer":
		time.Sleep(time.Hour)
	case "dies at its end":
		fmt.Fprintln(os.Stderr, "boom")
		return 3
	}
	return 0
}

// awaitEndOf waits until nobody has the other end of a pipe, and reads nothing.
func awaitEndOf(pipe *os.File) {
	poll := struct {
		fd              int32
		wanted, happens int16
	}{fd: int32(pipe.Fd())} // nothing is wanted: the kernel tells of a hang-up all the same
	for poll.happens == 0 {
		_, _, _ = syscall.Syscall6(syscall.SYS_PPOLL, uintptr(unsafe.Pointer(&poll)), 1, 0, 0, 0, 0)
	}
}

// session is a recorded session of a client with the counter.
func session() []store.Event {
	events, say := newSession()
	say(c2s, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"roots":{}},"clientInfo":{"name":"c","version":"1"}}}`)
	say(s2c, `{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"counter","version":"1"}}}`)
	say(c2s, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	count := 0
	for id, tool := range []string{"add", "add", "get", "add"} {
		if tool == "add" {
			count++
		}
		say(c2s, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":{}}}`, id+1, tool)
		say(s2c, `{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":"%d"}]}}`, id+1, count)
	}
	return *events
}

// TestUnheeded holds that a call is noted which a server answers after it has read its cancellation.
func TestUnheeded(t *testing.T) {
	events, say := newSession()
	say(c2s, `{"jsonrpc":"2.0","id":"hello","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`)
	say(s2c, `{"jsonrpc":"2.0","id":"hello","result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"counter","version":"1"}}}`)
	say(c2s, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	say(c2s, `{"jsonrpc":"2.0","id":0,"method":"tools/call","params":{"name":"work"}}`)
	say(c2s, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":0}}`)
	say(c2s, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"finish"}}`)
	say(s2c, `{"jsonrpc":"2.0","id":1,"result":{}}`)
	report, err := Explore(counter("goes on"), *events, Options{Schedules: 1})
	if err != nil {
		t.Fatal(err)
	}
	want := "note: tools/call work (#5) was answered after it was cancelled: the server had read the cancellation, and come to rest\n"
	if !report.Passed() || !strings.HasPrefix(report.Text(), want) {
		t.Errorf("found:\n%s", report.Text())
	}
}

// TestUnreadIsHeeded holds that an answer which lay unread when its call was cancelled is no note.
func TestUnreadIsHeeded(t *testing.T) {
	report, err := Explore(counter("healthy"), session(), Options{Token: "x1.unread5-9.later5"})
	if err != nil || !report.Passed() || len(report.Unheeded) > 0 {
		t.Errorf("%v, found:\n%s", err, report.Text())
	}
}

// TestAwaits holds that a call which is answered when another has come is no hang, also in orders in which that does not come, or
// in which it has come before; and that it is one if the two come together and it is answered in both orders of them.
func TestAwaits(t *testing.T) {
	t.Parallel()
	events, say := greetedSession(`{"tools":{}}`)
	for id, tool := range []string{"await", "get", "add"} {
		say(c2s, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":{}}}`, id+1, tool)
		if tool != "await" {
			say(s2c, `{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":"%d"}]}}`, id+1, id/2)
		}
		if tool == "get" {
			say(s2c, `{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"come"}]}}`)
		}
	}
	const note = "note: the server answers these only when another message has come, so an order without that message is no hang: tools/call await (#5)\n"
	for fault, hang := range map[string]string{
		"healthy":                    "",
		"awaits the next":            "",
		"misses what comes together": "HANG (observed; not a proof): no answer to tools/call await (#5); ",
	} {
		report, err := Explore(counter(fault), *events, Options{Schedules: 80})
		text := report.Text()
		if err != nil || !strings.HasPrefix(text, hang) || !strings.Contains(text, note) || len(report.Findings) != min(len(hang), 1) {
			t.Errorf("%s: %v, found:\n%s", fault, err, text)
		}
	}
	report, err := Explore(counter("is woken by any message"), *events, Options{})
	const stuck = "; a ping has brought the answer; reproduced 3 times out of 3\n"
	if text := report.Text(); err != nil || !strings.HasPrefix(text, "HANG") || !strings.Contains(text, stuck) {
		t.Errorf("%v, found:\n%s", err, text)
	}
}

// counter is the counter with a fault.
func counter(fault string) Server {
	return Server{Command: []string{os.Args[0]}, Env: []string{serverEnv + "=" + fault}}
}

// TestFaults holds what is found of servers with a fault each, and that the token shows it again.
func TestFaults(t *testing.T) {
	for fault, want := range map[string]struct {
		kind      Fault
		isCertain bool
		says      string
	}{
		"drops":              {Hang, true, "HANG (observed; not a proof): no answer to tools/call add (#7); all "},
		"loses":              {NotSerial, true, "RACE: these calls affect each other: no order of them explains the answers: tools/call add (#5), tools/call add (#7)"},
		"is not ready":       {NotSerial, true, "RACE: these calls affect each other: together with what goes before it, another answer than alone: tools/call add (#5)"},
		"dies":               {Died, true, "DIED: the server ended: exit status 3: boom"},
		"lingers":            {Lingers, true, "DOES NOT EXIT when its input closes: all "},
		"prints":             {Illegal, true, "ILLEGAL: the server sent 6 bytes that are not JSON-RPC: \"Ready.\"; a stray line on stdout (console.log?): log to stderr (E4: only messages are on the wire; basic/transports, stdio)"},
		"answers twice":      {Illegal, true, "ILLEGAL: the server sent a second response to tools/call (id 2) (P1: a request is answered once; basic, Responses)"},
		"lingers on a timer": {Lingers, false, "SUSPECT, does not exit when its input closes: all "},
	} {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			events := session()
			report, err := Explore(counter(fault), events, Options{Schedules: 30})
			if err != nil {
				t.Fatal(err)
			}
			at := slices.IndexFunc(report.Findings, func(f Finding) bool { return f.Kind == want.kind })
			if at < 0 {
				t.Fatalf("found:\n%s", report.Text())
			}
			found := report.Findings[at]
			if found.Certain != want.isCertain || found.Held != times || !strings.Contains(report.Text(), want.says) {
				t.Errorf("found:\n%s", report.Text())
			}
			again, err := Explore(counter(fault), events, Options{Token: found.Token})
			if err != nil || !slices.ContainsFunc(again.Findings, func(f Finding) bool { return f.Kind == want.kind && f.Token == found.Token }) {
				t.Errorf("the token %s shows %v\n%s", found.Token, err, again.Text())
			}
		})
	}
}

// TestIllegalBesides holds that a rule which is broken in each order is found once, beside what else there is, and is not what
// the token of another order shows.
func TestIllegalBesides(t *testing.T) {
	report, err := Explore(counter("prints and drops"), session(), Options{Schedules: 30})
	isIllegal := func(f Finding) bool { return f.Kind == Illegal }
	if err != nil || len(report.Findings) < 2 || !isIllegal(report.Findings[0]) || slices.ContainsFunc(report.Findings[1:], isIllegal) {
		t.Fatalf("%v, found:\n%s", err, report.Text())
	}
	hang := report.Findings[1].Token
	if report, err = Explore(counter("prints and drops"), session(), Options{Token: hang}); err != nil || len(report.Findings) != 1 || report.Findings[0].Token != hang {
		t.Errorf("%v, %s shows:\n%s", err, hang, report.Text())
	}
}

// TestInPartsAndCrossed holds that a message which is split inside a character, and a cancellation that crosses the answer, are
// played to a server: one that breaks characters answers otherwise, and one that knows no late cancellation dies.
func TestInPartsAndCrossed(t *testing.T) {
	events := session()
	events[4].Payload = bytes.Replace(events[4].Payload, []byte(`"arguments":{}`), []byte(`"arguments":{"note":"żółć"}`), 1)
	events[5].Payload = bytes.Replace(events[5].Payload, []byte(`"text":"1"`), []byte(`"text":"żółć"`), 1)
	for fault, want := range map[string]string{
		"breaks characters":           "DIFFERENT ANSWER when a message comes in two parts: tools/call add (#5)",
		"dies of a late cancellation": "DIED: the server ended: exit status 3: boom",
		"healthy":                     "nothing was found",
	} {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			report, err := Explore(counter(fault), events, Options{Schedules: 60})
			if err != nil || !strings.Contains(report.Text(), want) || len(report.Findings) > 1 || fault != "healthy" && report.Findings[0].Held != times {
				t.Errorf("%v, found:\n%s", err, report.Text())
			}
		})
	}
}

// askedSession is a recorded session with a call in which the server asks two questions. say adds to it.
func askedSession() (events *[]store.Event, say func(dir transport.Direction, format string, args ...any)) {
	events, say = newSession()
	say(c2s, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"sampling":{}},"clientInfo":{"name":"c","version":"1"}}}`)
	say(s2c, `{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"counter","version":"1"}}}`)
	say(c2s, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	say(c2s, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"both","arguments":{}}}`)
	say(s2c, `{"jsonrpc":"2.0","id":"roots","method":"roots/list"}`)
	say(s2c, `{"jsonrpc":"2.0","id":"model","method":"sampling/createMessage","params":{"maxTokens":1,"messages":[]}}`)
	say(c2s, `{"jsonrpc":"2.0","id":"roots","result":{"roots":[]}}`)
	say(c2s, `{"jsonrpc":"2.0","id":"model","result":{"role":"assistant","model":"m","content":{"type":"text","text":"yes"}}}`)
	say(s2c, `{"jsonrpc":"2.0","id":1,"result":{"content":[]}}`)
	return events, say
}

// TestQuestionsReversed holds that two questions of a server are answered in the other order, too, and that it is a
// fault if a call fails then: the server takes the answers as they come, and not by their ids.
func TestQuestionsReversed(t *testing.T) {
	events, _ := askedSession()
	for fault, want := range map[string]string{
		"takes answers as they come": "DIFFERENT ANSWER when two questions of the server are answered in the other order: tools/call both (#5); reproduced 3 times out of 3",
		"says how they came":         "nothing was found", // which is no fault
		"healthy":                    "nothing was found",
	} {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			report, err := Explore(counter(fault), *events, Options{Schedules: 40})
			if err != nil || !strings.Contains(report.Text(), want) || len(report.Findings) > 1 {
				t.Errorf("%v, found:\n%s", err, report.Text())
			}
		})
	}
}

// TestBusyClient holds that a call is noted which a server answers only when the client has answered its question about
// another.
func TestBusyClient(t *testing.T) {
	events, say := askedSession()
	say(c2s, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"get","arguments":{}}}`)
	say(s2c, `{"jsonrpc":"2.0","id":2,"result":{"content":[]}}`)
	for fault, want := range map[string]string{
		"keeps others waiting": "note: the server keeps these waiting until the client has answered its question about another call, which may take a person minutes: tools/call get (#11)\n",
		"healthy":              "",
	} {
		report, err := Explore(counter(fault), *events, Options{Token: "x1.busy5-11"})
		if err != nil || !report.Passed() || !strings.HasPrefix(report.Text(), want+"2 orders") {
			t.Errorf("%s: %v, found:\n%s", fault, err, report.Text())
		}
		report, err = Explore(counter(fault), *events, Options{Schedules: 20}) // which has that order, and one in which the call is withdrawn
		if err != nil || !report.Passed() || !strings.Contains(report.Text(), want) || len(report.Blocked) > 0 != (want != "") {
			t.Errorf("%s: %v, found:\n%s", fault, err, report.Text())
		}
	}
}

// TestAlias holds that a server loses a call that has the id of its own question, and that a call is answered that has it.
func TestAlias(t *testing.T) {
	events, say := askedSession()
	say(c2s, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"get","arguments":{}}}`)
	say(c2s, `{"jsonrpc":"2.0","id":"three","method":"tools/call","params":{"name":"get","arguments":{}}}`)
	say(c2s, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"three"}}`)
	say(s2c, `{"jsonrpc":"2.0","id":2,"result":{"content":[]}}`)
	for fault, want := range map[string]string{
		"takes a call for an answer": "HANG (observed; not a proof): no answer to tools/call get (#11); ",
		"keeps others waiting":       "2 orders of 6 messages with 4 requests ", // it answers in the end
		"healthy":                    "2 orders of 6 messages with 4 requests ",
	} {
		report, err := Explore(counter(fault), *events, Options{Token: "x1.alias5-11"})
		if err != nil || !strings.HasPrefix(report.Text(), want) {
			t.Errorf("%s: %v, found:\n%s", fault, err, report.Text())
		}
	}
}

// TestAsksMore holds that a server which asks its client more often than in the recording gets the recorded answer again, and
// that nothing is said of its answers where there is none.
func TestAsksMore(t *testing.T) {
	for _, row := range []struct{ reply, want string }{
		{`"result":{"roots":[{"uri":"file:///a"}]}`, "20 orders of 4 messages with 3 requests"},
		{`"error":{"code":-32601,"message":"none"}`, " orders in which it asked for what the recording does not have\n"},
	} {
		events, say := newSession()
		say(c2s, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"roots":{}},"clientInfo":{"name":"c","version":"1"}}}`)
		say(s2c, `{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"counter","version":"1"}}}`)
		say(c2s, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
		say(c2s, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"roots","arguments":{}}}`)
		say(s2c, `{"jsonrpc":"2.0","id":"roots1","method":"roots/list"}`)
		say(c2s, `{"jsonrpc":"2.0","id":"roots1",%s}`, row.reply)
		say(s2c, `{"jsonrpc":"2.0","id":1,"result":{"content":[]}}`)
		say(c2s, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"roots","arguments":{}}}`)
		say(s2c, `{"jsonrpc":"2.0","id":2,"result":{"content":[]}}`)
		report, err := Explore(counter("healthy"), *events, Options{Schedules: 20})
		if err != nil || !report.Passed() || !strings.Contains(report.Text(), row.want) {
			t.Errorf("%s: %v, found:\n%s", row.reply, err, report.Text())
		}
	}
}

// TestRelist holds that the client asks for a list or a resource as soon as it has changed, and that a server must not leave it
// with an old one; nothing can be said where each answer is another.
func TestRelist(t *testing.T) {
	const tool = `{"inputSchema":{"type":"object"},"name":"add"}`
	const list = "tools/list is answered by\n    {\"tools\":[" + tool + "]}\n  and when the server is at rest by\n    {\"tools\":[" + tool + "," + tool + "]}\n"
	const resource = "resources/read a://1 is answered by\n    {\"contents\":[{\"text\":\"1\",\"uri\":\"a://1\"}]}\n  and when the server is at rest by\n    {\"contents\":[{\"text\":\"2\",\"uri\":\"a://1\"}]}\n"
	for _, row := range []struct{ name, change, shows string }{
		{"grow", `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`, list},
		{"edit", `{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"a://1"}}`, resource},
	} {
		events, say := greetedSession(`{"tools":{"listChanged":true},"resources":{"subscribe":true}}`)
		say(c2s, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":{}}}`, row.name)
		say(s2c, "%s", row.change)
		say(s2c, `{"jsonrpc":"2.0","id":1,"result":{"content":[]}}`)
		for fault, want := range map[string]string{
			"lists what it had":       "DIFFERENT ANSWER when the client asks for a list or a resource as soon as the server says that it has changed, and is told nothing after: tools/call " + row.name + " (#5); reproduced 3 times out of 3\n  " + row.shows,
			"lists another each time": "20 orders",
			"healthy":                 "20 orders",
		} {
			report, err := Explore(counter(fault), *events, Options{Schedules: 20})
			if err != nil || !strings.HasPrefix(report.Text(), want) {
				t.Errorf("%s, %s: %v, found:\n%s", row.name, fault, err, report.Text())
			}
		}
	}
}

// greetedSession is a recorded session that has just begun, with what the server says that it can do. say adds to it.
func greetedSession(capabilities string) (events *[]store.Event, say func(dir transport.Direction, format string, args ...any)) {
	events, say = newSession()
	say(c2s, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"roots":{"listChanged":true}},"clientInfo":{"name":"c","version":"1"}}}`)
	say(s2c, `{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25","capabilities":%s,"serverInfo":{"name":"counter","version":"1"}}}`, capabilities)
	say(c2s, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return events, say
}

// TestDeclined holds that a call is cancelled while the server waits for the answer to its question, that a question is
// answered with an error, and that the client tells of other roots.
func TestDeclined(t *testing.T) {
	events, say := greetedSession(`{"tools":{}}`)
	say(c2s, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"roots","arguments":{}}}`)
	say(s2c, `{"jsonrpc":"2.0","id":"roots1","method":"roots/list"}`)
	say(c2s, `{"jsonrpc":"2.0","id":"roots1","result":{"roots":[]}}`)
	say(s2c, `{"jsonrpc":"2.0","id":1,"result":{"content":[]}}`)
	say(c2s, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"get","arguments":{}}}`)
	say(s2c, `{"jsonrpc":"2.0","id":2,"result":{"content":[]}}`)
	for fault, want := range map[string]string{
		"holds what is cancelled": "HANG (observed; not a proof): no answer to tools/call get (#9); ",
		"waits for its new roots": "HANG (observed; not a proof): no answer to tools/call get (#9); ",
		"waits for a result":      "HANG (observed; not a proof): no answer to tools/call roots (#5); ",
		"healthy":                 "",
	} {
		does := map[string]string{
			"holds what is cancelled": "  the client cancels tools/call roots (#5) while the server waits for its answer to a question, and answers then\n  token: x1.withdraw5\n",
			"waits for its new roots": "  the client says, together with tools/call roots (#5), that its roots have changed\n  token: x1.roots5\n",
			"waits for a result":      "  the client answers the questions behind tools/call roots (#5) with an error, as when its user declines\n  token: x1.refuse5\n",
		}[fault]
		report, err := Explore(counter(fault), *events, Options{Schedules: 30})
		if err != nil || report.Passed() != (want == "") || !strings.HasPrefix(report.Text(), want) || !strings.Contains(report.Text(), does) {
			t.Errorf("%s: %v, found:\n%s", fault, err, report.Text())
		}
	}
}

// slowSession is a recorded session with a call that is answered at once, and two that take longer.
func slowSession() []store.Event {
	events, say := greetedSession(`{"tools":{}}`)
	for id, tool := range []string{"get", "slow", "slow"} {
		say(c2s, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":{}}}`, id+1, tool)
		say(s2c, `{"jsonrpc":"2.0","id":%d,"result":{"content":[]}}`, id+1)
	}
	return *events
}

// TestTwoAtOnce holds that a server must answer two calls that run when its input ends, that two calls come together in the
// other order, and that a call must not fail because another is cancelled.
func TestTwoAtOnce(t *testing.T) {
	for _, row := range []struct {
		token, fault string
		events       []store.Event
		want         string
	}{
		{"x1.leave5-9", "awaits one at its end", slowSession(), "LOST: the client ended its output, and the server ended without an answer to tools/call slow (#9)"},
		{"x1.leave5-9", "healthy", slowSession(), "2 orders"},
		{"x1.swap7-9", "drops behind an early get", session(), "HANG (observed; not a proof): no answer to tools/call add (#7); "},
		{"x1.swap7-9", "healthy", session(), "2 orders"},
		{"x1.quit7-9", "spoils what runs", slowSession(), "DIFFERENT ANSWER when one of two calls at once is cancelled: tools/call slow (#9); reproduced 3 times out of 3\n"},
		{"x1.quit9-7", "spoils what runs", slowSession(), "DIFFERENT ANSWER when one of two calls at once is cancelled: tools/call slow (#7); reproduced 3 times out of 3\n"},
		{"x1.quit7-9", "spoils the text of what runs", slowSession(), "DIFFERENT ANSWER when one of two calls at once is cancelled: tools/call slow (#9); reproduced 3 times out of 3\n"},
		{"x1.quit9-7", "healthy", slowSession(), "note: tools/call slow (#9) was answered after it was cancelled"},
	} {
		report, err := Explore(counter(row.fault), row.events, Options{Token: row.token})
		if err != nil || !strings.HasPrefix(report.Text(), row.want) {
			t.Errorf("%s, %s: %v, found:\n%s", row.token, row.fault, err, report.Text())
		}
	}
}

// TestLastFirst holds that the questions of two calls are answered in the other order, and that an answer belongs to its id.
func TestLastFirst(t *testing.T) {
	events, say := greetedSession(`{"tools":{}}`)
	for id, tool := range []string{"roots", "model"} {
		method := map[string]string{"roots": "roots/list", "model": "sampling/createMessage"}[tool]
		result := map[string]string{"roots": `{"roots":[]}`, "model": `{"role":"assistant","model":"m","content":{"type":"text","text":"yes"}}`}[tool]
		say(c2s, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":{}}}`, id+1, tool)
		say(s2c, `{"jsonrpc":"2.0","id":"%s%d","method":%q,"params":{"maxTokens":1,"messages":[]}}`, tool, id+1, method)
		say(c2s, `{"jsonrpc":"2.0","id":"%s%d","result":%s}`, tool, id+1, result)
		say(s2c, `{"jsonrpc":"2.0","id":%d,"result":{"content":[]}}`, id+1)
	}
	for fault, want := range map[string]string{
		"takes answers in turn": "RACE: these calls affect each other: no order of them explains the answers: tools/call roots (#5), tools/call model (#9); reproduced 3 times out of 3\n",
		"healthy":               "",
	} {
		report, err := Explore(counter(fault), *events, Options{Schedules: 30})
		if err != nil || !strings.HasPrefix(report.Text(), want) || report.Passed() != (want == "") || len(report.Findings) > 1 || len(report.Blocked) > 0 {
			t.Errorf("%s: %v, found:\n%s", fault, err, report.Text())
		}
	}
}

// TestRewalk holds that a list is begun again between two of its pages: the page belongs to its cursor.
func TestRewalk(t *testing.T) {
	events, say := greetedSession(`{"tools":{}}`)
	for id, params := range []string{`{}`, `{"cursor":"1"}`} {
		say(c2s, `{"jsonrpc":"2.0","id":%d,"method":"tools/list","params":%s}`, id+1, params)
		say(s2c, `{"jsonrpc":"2.0","id":%d,"result":{"tools":[],"nextCursor":"%d"}}`, id+1, id+1)
	}
	for fault, want := range map[string]string{
		"lists by pages from one place": "DIFFERENT ANSWER when the client begins a list again between two of its pages: tools/list (#7); reproduced 3 times out of 3\n",
		"lists by pages":                "20 orders",
	} {
		report, err := Explore(counter(fault), *events, Options{Schedules: 20})
		if err != nil || !strings.HasPrefix(report.Text(), want) {
			t.Errorf("%s: %v, found:\n%s", fault, err, report.Text())
		}
	}
}

// TestSmallestBurst holds that of a burst whose answers no order explains the smallest part is told that shows it.
func TestSmallestBurst(t *testing.T) {
	for token, want := range map[string]string{"x1.join4-7": "x1.join5-7", "x1.join4-9": "x1.join7-9"} {
		report, err := Explore(counter("loses"), session(), Options{Token: token})
		if err != nil || len(report.Findings) != 1 || report.Findings[0].Token != want {
			t.Errorf("%s: %v, found:\n%s", token, err, report.Text())
		}
	}
}

// TestJobs holds that a search with several processes at once finds what one with a single process finds.
func TestJobs(t *testing.T) {
	for _, fault := range []string{"healthy", "drops", "loses", "dies"} {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			var found [][]string
			for _, jobs := range []int{1, 3} {
				report, err := Explore(counter(fault), session(), Options{Schedules: 30, Jobs: jobs})
				if err != nil {
					t.Fatal(err)
				}
				list := []string{fmt.Sprintf("%d of %d orders, ended %q", report.Played, report.Planned, report.Ended)}
				for _, f := range report.Findings {
					list = append(list, fmt.Sprintf("%s %s, %d of %d", f.Kind, f.Token, f.Held, f.Of))
				}
				found = append(found, list)
			}
			if !slices.Equal(found[0], found[1]) {
				t.Errorf("with one job:\n%q\nwith three:\n%q", found[0], found[1])
			}
		})
	}
}

// crowd is a peer whose first schedules do not end before so many are played at once.
type crowd struct {
	size     int
	here     atomic.Int32
	together chan struct{} // closed when all are here
}

func (*crowd) name() string                                 { return "server" }
func (*crowd) recorded() string                             { return "client" }
func (*crowd) asking() peer                                 { return unasked{} }
func (c *crowd) knowing(play) peer                          { return c }
func (*crowd) results() []uint64                            { return nil }
func (*crowd) joins(frame) bool                             { return false }
func (*crowd) whyApart(_, _ frame) string                   { return "" }
func (*crowd) words(c Choice, _ func(uint64) string) string { return Schedule{c}.Token() }

func (c *crowd) play(schedule Schedule, _ child.Patience) (play, error) {
	if len(schedule) > 0 {
		if c.here.Add(1) == int32(c.size) {
			close(c.together)
		}
		<-c.together
	}
	return play{frames: []frame{{seq: 1, isRequest: true, split: 5}}}, nil
}

func (*crowd) choices([]frame) [][]Schedule {
	var cancels []Schedule
	for seq := range uint64(10) {
		cancels = append(cancels, Schedule{{Kind: Cancel, First: seq, Last: seq}})
	}
	return [][]Schedule{cancels}
}

// unasked has nothing to tell of its lines: a play for them finds nothing.
type unasked struct{ *crowd }

func (unasked) play(Schedule, child.Patience) (play, error) { return play{}, nil }

// TestJobsAtOnce holds that as many schedules are played at once as there are jobs. With fewer the test
// would hang.
func TestJobsAtOnce(t *testing.T) {
	c := &crowd{size: 4, together: make(chan struct{})}
	report, err := explore(c, Options{Schedules: 8, Jobs: c.size})
	if err != nil || report.Played != 8 {
		t.Errorf("%v, played %d orders, want 8", err, report.Played)
	}
}

// stubborn is a peer that hangs in each schedule that cancels its third frame.
type stubborn struct {
	crowd
	hangs int
}

func (s *stubborn) asking() peer      { return &quietly{s} }
func (s *stubborn) knowing(play) peer { return s }

// quietly is a stubborn peer that does not count its hangs.
type quietly struct{ *stubborn }

func (q *quietly) play(schedule Schedule, patience child.Patience) (play, error) {
	defer func(hangs int) { q.hangs = hangs }(q.hangs)
	played, err := q.stubborn.play(schedule, patience)
	played.lines = []string{"held at server.go:7 (count)"}
	return played, err
}

func (s *stubborn) play(schedule Schedule, _ child.Patience) (play, error) {
	played := play{frames: []frame{{seq: 1, isRequest: true, split: 5}}}
	if slices.ContainsFunc(schedule, func(c Choice) bool { return c.First == 3 }) {
		s.hangs++
		played.found = &fault{kind: Hang, look: procfs.Look{Activity: procfs.Asleep}}
	}
	return played, nil
}

// TestShown holds that a schedule with all choices of a finding is left out, and another takes its place.
func TestShown(t *testing.T) {
	s := &stubborn{}
	var found []Finding
	var watched []string
	report, err := explore(s, Options{Schedules: 40, Found: func(f Finding) { found = append(found, f) }, Progress: func(p Progress) {
		if p.Watched != "" {
			watched = append(watched, fmt.Sprintf("%s, %d of %d: %s", p.Watched, p.Played, p.Planned, p.Does))
		}
	}})
	if !reflect.DeepEqual(found, report.Findings) || report.Text() != found[0].Text()+report.Rest() {
		t.Errorf("told while it searched: %+v", found)
	}
	if want := []string{"possible hang, 5 of 40: x1.cancel3"}; !slices.Equal(watched, want) {
		t.Errorf("watched %q, want %q", watched, want)
	}
	if err != nil || len(report.Findings) != 1 || report.Findings[0].Token != "x1.cancel3" || !strings.Contains(report.Text(), "\n  held at server.go:7 (count)\n") || s.hangs != times || report.Played != 40 {
		t.Errorf("%v, %d plays with the hang, want %d, found:\n%s", err, s.hangs, times, report.Text())
	}
}

// TestApart holds that the report says which calls no order sends together, and why.
func TestApart(t *testing.T) {
	events, say := newSession()
	say(c2s, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`)
	say(s2c, `{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"counter","version":"1"}}}`)
	say(c2s, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	for id := range 3 {
		say(c2s, `{"jsonrpc":"2.0","id":%d,"method":"tools/list","params":{"cursor":"page %d"}}`, id+1, id)
		say(s2c, `{"jsonrpc":"2.0","id":%d,"result":{"tools":[],"nextCursor":"page %d"}}`, id+1, id+1)
	}
	x := newExplorer(serverPeer{}, Options{})
	driver := standin.NewDriver(*events, match.Rules{By: match.ByMethod})
	driver.AllowReorder()
	for _, e := range *events {
		if e.Kind == store.Frame && e.Dir == c2s {
			x.plain.frames = append(x.plain.frames, frame{seq: e.Seq, isRequest: e.Seq > 4, beside: []uint64{e.Seq}, needs: driver.Needs(e.Seq)})
		}
	}
	x.plain.frames = append(x.plain.frames, frame{seq: 20, isRequest: true}) // behind something else
	x.report.Apart = x.apart()
	want := "not joined: #5 and #7, #7 and #9: the second needs the answer to the first\nnot joined: #9 and #20: the second waits for what comes between them\n"
	if text := x.report.Text(); !strings.HasSuffix(text, want) {
		t.Errorf("it says\n%s, want\n%s", text, want)
	}
}

// TestWaited holds that a suspect with a timer that is not far away tells how long mcprec has waited for such timers.
func TestWaited(t *testing.T) {
	for timer, want := range map[time.Duration]string{
		20 * time.Millisecond:  "all 2 threads sleep, and its next timer is due; mcprec has waited for 30s; reproduced 3 times out of 3",
		200 * time.Millisecond: "all 2 threads sleep, and its next timer is in 200ms; mcprec has waited for 30s; reproduced 3 times out of 3",
		child.V8Timer:          "all 2 threads sleep, and its next timer is in 8.1s; mcprec has waited for 1m15s; reproduced 3 times out of 3",
		time.Hour:              "all 2 threads sleep, and its next timer is in 1h0m0s; reproduced 3 times out of 3",
	} {
		x := newExplorer(&crowd{}, Options{})
		x.add(nil, &fault{kind: Hang, look: procfs.Look{Activity: procfs.Timed, Timer: timer, Threads: 2}}, times, times, play{})
		if text := x.report.Text(); !strings.Contains(text, want) {
			t.Errorf("%v:\n%s", timer, text)
		}
	}
}

// startsEnv names a file that notes each start of a server. The first two play the recorded order, and answer
// a call. The later ones would answer it later than the client ends.
const startsEnv = "MCPREC_EXTERNAL_STARTS"

func isEarlyStart(path string) bool {
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return false
	}
	defer func() { _ = file.Close() }()
	_, err = file.WriteString("x")
	info, statErr := file.Stat()
	return err == nil && statErr == nil && info.Size() <= 2
}

// TestLost holds what is said of servers that end with their client, and owe it an answer: a server at work is
// to give it, and one whose client is gone at once need not.
func TestLost(t *testing.T) {
	for token, want := range map[string]string{
		"x1.endrest5": "LOST: the client ended its output, and the server ended without an answer to tools/call add (#5); reproduced 3 times out of 3",
		"x1.end5":     "note: the client ended its output right behind a request, and the server ended without an answer: tools/call add (#5)\n",
	} {
		server := counter("late")
		server.Env = append(server.Env, startsEnv+"="+filepath.Join(t.TempDir(), "starts"))
		report, err := Explore(server, session()[:6], Options{Token: token})
		if err != nil || report.Passed() != strings.HasPrefix(want, "note") || !strings.HasPrefix(report.Text(), want) {
			t.Errorf("%s: %v, found:\n%s", token, err, report.Text())
		}
	}
}

// TestEnds holds what comes of servers whose input ends behind a call that they do not answer any more: at
// once, before they have read the call, or when they are at rest.
func TestEnds(t *testing.T) {
	events, say := newSession()
	say(c2s, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`)
	say(s2c, `{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"counter","version":"1"}}}`)
	say(c2s, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	say(c2s, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"work"}}`)
	for _, row := range []struct {
		fault  string
		choice Kind
		want   Fault
		detail string
	}{
		{"healthy", End, "", ""},
		{"healthy", LateEnd, Lost, ""},
		{"reads at its end", End, "", ""},
		{"reads at its end", LateEnd, Hang, "72 bytes that it was sent are not read"},
		{"dies at its end", End, Died, "exit status 3: boom"},
		{"dies at its end", LateEnd, Died, "exit status 3: boom"},
	} {
		played, err := serverPeer{Server: counter(row.fault), events: *events}.play(Schedule{{Kind: row.choice, First: 5, Last: 5}}, child.Searching)
		found := played.found
		if row.want == "" && err == nil && found == nil && slices.Equal(played.dropped, []uint64{5}) {
			continue
		}
		if err != nil || found == nil || found.kind != row.want || found.detail != row.detail || !slices.Equal(found.events, []uint64{5}) {
			t.Errorf("%s, %s: %v, found %+v, dropped %v, want %q: %q", row.fault, row.choice, err, found, played.dropped, row.want, row.detail)
		}
	}
}

// TestHealthy holds that nothing is found of servers without a fault.
func TestHealthy(t *testing.T) {
	for _, kind := range []string{"healthy", "asks"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			report, err := Explore(counter(kind), session(), Options{Schedules: 60})
			if err != nil || !report.Passed() || len(report.NotHeld) > 0 || report.Played < 40 {
				t.Errorf("%v, found:\n%s", err, report.Text())
			}
		})
	}
}

// TestSettle holds that an answer with a clock in it is not compared, though it is the same in plays that take the same time.
func TestSettle(t *testing.T) {
	for fault, want := range map[string]bool{"counts the time": true, "healthy": false} {
		x := newExplorer(serverPeer{Server: counter(fault), events: session()}, Options{})
		_, err := x.playPlain()
		if err == nil {
			err = x.settle()
		}
		if err != nil || x.unstable[9] != want {
			t.Errorf("%s: %v, %v are unstable", fault, err, x.unstable)
		}
	}
}

// TestSlow holds that a server which takes longer than the search waits at first is explored all the same.
func TestSlow(t *testing.T) {
	x := newExplorer(serverPeer{Server: counter("slow"), events: session()}, Options{Schedules: 6})
	x.patience.Timer = time.Millisecond
	if err := x.run(); err != nil || !x.report.Passed() || len(x.report.NotHeld) > 0 || x.report.Requests != 5 || x.report.Planned != 6 || x.report.Played < 6 {
		t.Errorf("%v, found:\n%s", err, x.report.Text())
	}
}

// TestLingeringLosesToo holds that a server which always goes on after the end is still compared with the
// orders of its calls.
func TestLingeringLosesToo(t *testing.T) {
	report, err := Explore(counter("loses and lingers"), session(), Options{Schedules: 9})
	if err != nil {
		t.Fatal(err)
	}
	var kinds []Fault
	for _, f := range report.Findings {
		kinds = append(kinds, f.Kind)
	}
	if !slices.Contains(kinds, Lingers) || !slices.Contains(kinds, NotSerial) {
		t.Errorf("found:\n%s", report.Text())
	}
}

// TestForeignToken holds that a token of another session is refused: it would change nothing.
func TestForeignToken(t *testing.T) {
	for _, token := range []string{"x1.join5-70", "x1.order5-7-70", "x1.end6"} {
		report, err := Explore(counter("healthy"), session(), Options{Token: token})
		if err == nil || !strings.Contains(err.Error(), "token "+token+": the recorded client sends no message #") {
			t.Errorf("%s: %v\n%s", token, err, report.Text())
		}
	}
}

// TestFolder holds that each process has a copy of the folder, and that the client speaks of that one.
func TestFolder(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "file"), []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	events := session()
	events[4].Payload = bytes.Replace(events[4].Payload, []byte(`"arguments":{}`), fmt.Appendf(nil, `"arguments":{"path":%q}`, dir+"/file"), 1)
	script := `read -r hello; echo '{"jsonrpc":"2.0","id":0,"result":{}}'; read -r ready
while read -r line; do path=${line#*\"path\":\"}; id=${line#*\"id\":}; echo "{\"jsonrpc\":\"2.0\",\"id\":${id%%,*},\"result\":{\"text\":\"$(cat "${path%%\"*}" 2>/dev/null) $1\"}}"; done`
	played, err := serverPeer{Server: Server{Command: []string{"sh", "-c", script, "sh", child.FolderMark}, Folder: dir}, events: events}.play(nil, child.Searching)
	if err != nil || played.found != nil || played.answers[5] != `{"text":"text %DIR"}` {
		t.Errorf("%v %+v %q", err, played.found, played.answers)
	}
}

// TestStart holds what is said of a command that does not start, or ends at once.
func TestStart(t *testing.T) {
	if _, err := Explore(Server{Command: []string{"/no/such/program"}}, session(), Options{Schedules: 1}); err == nil || !strings.Contains(err.Error(), "start /no/such/program") {
		t.Errorf("%v", err)
	}
	report, err := Explore(Server{Command: []string{"sh", "-c", "echo no >&2; exit 4"}}, session(), Options{Schedules: 9})
	if err != nil || len(report.Findings) != 1 || report.Findings[0].Kind != Died || report.Findings[0].Detail != "exit status 4: no" {
		t.Errorf("%v\n%s", err, report.Text())
	}
}

// flipping is a peer that hangs in its cancellation of frame 3: in one patient play without a timer, in the others with
// that of V8.
type flipping struct {
	crowd
	at, plays int      // which patient play has no timer
	with      []string // how long each play of the hang would wait for the timer
}

func (s *flipping) knowing(play) peer { return s }

func (s *flipping) play(schedule Schedule, patience child.Patience) (play, error) {
	played := play{frames: []frame{{seq: 1, isRequest: true, split: 5}, {seq: 3, isRequest: true, split: 5}}}
	if slices.ContainsFunc(schedule, func(c Choice) bool { return c.First == 3 }) {
		s.with = append(s.with, patience.OfV8.String())
		look := procfs.Look{Activity: procfs.Timed, Timer: child.V8Timer}
		if patience == child.Confirming {
			if s.plays++; s.plays == s.at {
				look = procfs.Look{Activity: procfs.Asleep}
			}
		}
		played.found = &fault{kind: Hang, look: look}
	}
	return played, nil
}

// TestOneAtRest holds that one play in which nothing could wake the process makes a hang of what the others may only
// suspect, and that no play behind it waits for timers again.
func TestOneAtRest(t *testing.T) {
	for at, want := range map[int]string{1: "true, 0s 1m15s 0s", 2: "true, 0s 1m15s 1m15s", 9: "false, 0s 1m15s 1m15s"} {
		s := &flipping{at: at}
		report, err := explore(s, Options{Token: "x1.cancel3"})
		if err != nil || len(report.Findings) != 1 {
			t.Fatalf("%v, found:\n%s", err, report.Text())
		}
		if got := fmt.Sprintf("%v, %s", report.Findings[0].Certain, strings.Join(s.with, " ")); got != want {
			t.Errorf("play %d at rest: %s, want %s", at, got, want)
		}
		if isTold := strings.Contains(report.Text(), "play it again with --token"); isTold == report.Findings[0].Certain {
			t.Errorf("it says:\n%s", report.Text())
		}
	}
}
