//go:build amd64 || arm64

package external

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mcprec/mcprec/replay/external/child"
	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
)

// clientEnv makes the test binary a client with the fault that its value names; its argument is the server.
const clientEnv = "MCPREC_EXTERNAL_CLIENT"

// passOnArg makes the test binary what a client under test starts as its server.
const passOnArg = "passon"

// caller is a client of the counter, with a fault.
type caller struct {
	fault   string
	in      io.WriteCloser
	out     io.Reader
	pending []byte
	forgot  bool     // the call
	said    []string // progress and results
	strays  int      // answers that were not waited for
	notes   int
	turns   int // questions that it has answered
}

// call is a client that calls a tool twice and prints what it saw.
func call(fault, server string) (status int) {
	c, wait, err := startCounter(fault, server)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	mode, _, _ := strings.Cut(fault, ",")
	l := &lister{fault: fault, in: c.in}
	if keep := map[string]func(io.Reader){"lists": l.run, "watches": l.watch, "reads": l.follow, "fetches": l.fetch}[mode]; keep != nil {
		keep(c.out)
		_ = c.in.Close()
		_ = wait()
		return 0
	}
	if strings.HasPrefix(fault, "follows") {
		status := c.follow()
		_ = c.in.Close()
		_ = wait()
		return status
	}
	if strings.HasPrefix(fault, "gives up") {
		isWhole := c.giveUp()
		_ = c.in.Close()
		_ = wait()
		if !isWhole && fault == "gives up, and fails" {
			return 1
		}
		return 0
	}
	if kind, isProbe := strings.CutPrefix(fault, "probes, "); isProbe || fault == "discovers" {
		c.say(`{"jsonrpc":"2.0","id":100,"method":"server/discover","params":{}}`)
		c.await("100")
		if isProbe { // with a server of its own
			_ = c.in.Close()
			_ = wait()
			return call(kind, server)
		}
	}
	c.say(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"roots":{}},"clientInfo":{"name":"c","version":"1"}}}`)
	isAnswered := c.await("0")
	c.say(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	for id := 1; id <= 2 && isAnswered; id++ {
		c.say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"count","arguments":{"from":%q},"_meta":{"progressToken":"t%d"}}}`, id, os.Getenv("FROM"), id))
		isAnswered = c.await(fmt.Sprint(id))
	}
	if fault == "prints to a server alone" && isAnswered {
		if _, err := io.WriteString(c.in, `{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`+"\n"); err != nil {
			return 1
		}
	}
	_ = c.in.Close()
	if err := wait(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	switch {
	case !isAnswered && fault == "restarts":
		return call("healthy", server)
	case !isAnswered && fault == "waits on":
		sleepForEver()
	case fault == "lingers":
		sleepForEver()
	}
	fmt.Println(strings.Join(c.said, " "))
	if !isAnswered {
		fmt.Fprintln(os.Stderr, "the server has ended")
		return 1
	}
	return 0
}

// follow cancels a call, makes another, and waits for what the server notes of it.
func (c *caller) follow() (status int) {
	c.say(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`)
	c.await("0")
	c.say(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	c.say(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"work","_meta":{"progressToken":"w"}}}`)
	c.say(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
	c.say(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"count"}}`)
	if !c.await("2") {
		return 1
	}
	if c.fault == "follows, dies of a late answer" && c.strays > 0 || c.fault == "follows, dies of late progress" && slices.Contains(c.said, "progress") {
		return 2
	}
	if c.notes == 0 { // is the server there?
		c.say(`{"jsonrpc":"2.0","id":3,"method":"ping"}`)
		c.await("3")
		if c.notes > 0 && c.fault == "follows, has looked before" {
			sleepForEver() // as if for the next one
		}
		for c.notes == 0 && c.await("note") {
		}
	}
	return 0
}

// TestFollowingClients holds what is found when a notification comes one message later, and when a cancelled call is answered.
func TestFollowingClients(t *testing.T) {
	header := store.Header{ID: "01a20a05-df07-77d5-b81a-7728635191ad", Transport: "stdio"}
	events := append([]store.Event{{Seq: 1, Kind: store.Opened, Payload: header.Encode()}}, framesOf(`> {"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}
		< {"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25","capabilities":{"logging":{}},"serverInfo":{"name":"counter","version":"1"}}}
		> {"jsonrpc":"2.0","method":"notifications/initialized"}
		> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"work","_meta":{"progressToken":"w"}}}
		> {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}
		> {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"count"}}
		< {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"counted"}}
		< {"jsonrpc":"2.0","id":2,"result":{"content":[]}}`)...)
	for i := range events {
		events[i].Seq = uint64(i + 1)
	}
	const nothing = "2 orders of 3 messages with 0 requests "
	for _, row := range []struct{ token, fault, want string }{
		{"x1.behind8", "follows, has looked before", "HANG (observed; not a proof): it says no more and does not end; "},
		{"x1.behind8", "follows", nothing},
		{"x1.anyway8", "follows, dies of a late answer", "DIED: the client ended: exit status 2; reproduced 3 times out of 3\n  in front of notifications/message (#8) the server answers what the client has cancelled, as if the two had crossed on the way\n"},
		{"x1.anyway8", "follows, dies of late progress", "DIED: the client ended: exit status 2; reproduced 3 times out of 3\n"},
		{"x1.anyway8", "follows", nothing},
	} {
		report, err := ExploreClient(counterClient(row.fault), events, Options{Token: row.token})
		if err != nil || !strings.HasPrefix(report.Text(), row.want) {
			t.Errorf("%s: %v, found:\n%s", row.fault, err, report.Text())
		}
	}
	report, err := ExploreClient(counterClient("follows"), events, Options{Schedules: Usual}) // which has both
	if err != nil || !report.Passed() || report.Planned != 100 {
		t.Errorf("%v, found:\n%s", err, report.Text())
	}
}

// giveUp makes three calls, gives the first up if that is not answered within two seconds, prints what each said, and reports
// whether all were answered.
func (c *caller) giveUp() (isWhole bool) {
	isWhole = true
	c.say(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`)
	c.await("0")
	c.say(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	answers := make(chan transport.Message)
	go func() {
		for reader := bufio.NewScanner(c.out); reader.Scan(); {
			answers <- timeline.MessagesOf(transport.Frame{Bytes: reader.Bytes()})[0]
		}
		close(answers)
	}()
	for id, again := 1, 0; id <= 3+again; id++ {
		c.say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"count"}}`, id))
		said := "nothing"
		var enough <-chan time.Time
		if id == 1 {
			enough = time.After(2 * time.Second)
		}
		for isOver := false; said == "nothing" && !isOver; {
			select {
			case m := <-answers:
				if string(m.ID) != fmt.Sprint(id) && c.fault == "gives up, asks again, and stops" {
					sleepForEver()
				}
				if string(m.ID) == fmt.Sprint(id) || c.fault == "gives up, takes any answer" {
					said = string(m.Result)
				}
			case <-enough:
				isOver, isWhole = true, false
				if strings.HasPrefix(c.fault, "gives up, asks again") && again == 0 {
					again = 1
				}
				c.say(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, id))
			}
		}
		fmt.Println(id, said)
	}
	return isWhole
}

// countedSession is a session of a client that calls a tool three times.
func countedSession() []store.Event {
	header := store.Header{ID: "01a20a05-df07-77d5-b81a-7728635191ad", Transport: "stdio"}
	events := append([]store.Event{{Seq: 1, Kind: store.Opened, Payload: header.Encode()}}, framesOf(`> {"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}
		< {"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"counter","version":"1"}}}
		> {"jsonrpc":"2.0","method":"notifications/initialized"}
		> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"count"}}
		< {"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"1"}]}}
		> {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"count"}}
		< {"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"2"}]}}
		> {"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"count"}}
		< {"jsonrpc":"2.0","id":3,"result":{"content":[{"type":"text","text":"3"}]}}`)...)
	for i := range events {
		events[i].Seq = uint64(i + 1)
	}
	return events
}

// TestOverdue: a client that has given a call up takes the answer for that to the next one. Others print that there was none,
// which is no fault.
func TestOverdue(t *testing.T) {
	events := countedSession()
	for _, row := range []struct {
		fault  string
		kind   Fault
		detail string
	}{
		{"gives up", "", ""},
		{"gives up, and fails", "", ""},
		{"gives up, asks again", "", ""},
		{"gives up, asks again, and stops", Hang, "it has every answer, the answer to tools/call count (#8) is the last, says no more and does not end"},
		{"gives up, takes any answer", Different, "line 2 is\n    2 {\"content\":[{\"type\":\"text\",\"text\":\"1\"}]}\n  and if that answer comes at the end\n    2 {\"content\":[{\"type\":\"text\",\"text\":\"2\"}]}"},
	} {
		t.Run(row.fault, func(t *testing.T) {
			t.Parallel()
			x := newExplorer(clientPeer{Client: counterClient(row.fault), events: events}, Options{SameOutput: true})
			if goesOn, err := x.playPlain(); err != nil || !goesOn {
				t.Fatalf("the recorded order: %v, goes on: %t", err, goesOn)
			}
			played, err := x.playOnce(Schedule{{Kind: Overdue, First: 6, Last: 6}}, child.Searching)
			found := played.found
			if err != nil || !played.isPassed || (found == nil) != (row.kind == "") || found != nil && (found.kind != row.kind || found.detail != row.detail) {
				t.Errorf("%v, passed: %t, found %+v", err, played.isPassed, found)
			}
		})
	}
}

// TestGivesUpUnread: a client that gives a call up, as its server reads nothing, may print so and fail.
func TestGivesUpUnread(t *testing.T) {
	for _, fault := range []string{"gives up", "gives up, and fails"} {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			report, err := ExploreClient(counterClient(fault), countedSession(), Options{SameOutput: true, Token: "x1.unread3-8"})
			if err != nil || len(report.Findings) > 0 {
				t.Errorf("%v, found:\n%s", err, report.Text())
			}
		})
	}
}

// startCounter starts the server, with pipes to it or with pairs of sockets, as node does.
func startCounter(fault, server string) (c *caller, wait func() error, err error) {
	cmd := exec.Command(server)
	cmd.Stderr = os.Stderr
	switch fault {
	case "reads no errors":
		cmd.Stderr = nil
		if _, err := cmd.StderrPipe(); err != nil {
			return nil, nil, err
		}
	case "keeps errors":
		cmd.Stderr = new(bytes.Buffer)
	}
	c = &caller{fault: fault}
	if strings.HasPrefix(fault, "sockets") {
		var ours, theirs [2]*os.File
		for i := range ours {
			pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
			if err != nil {
				return nil, nil, err
			}
			ours[i], theirs[i] = os.NewFile(uintptr(pair[0]), "ours"), os.NewFile(uintptr(pair[1]), "theirs")
			defer func() { _ = theirs[i].Close() }()
		}
		c.in, c.out = ours[0], ours[1]
		cmd.Stdin, cmd.Stdout = theirs[0], theirs[1]
		return c, cmd.Wait, cmd.Start()
	}
	if c.in, err = cmd.StdinPipe(); err != nil {
		return nil, nil, err
	}
	if c.out, err = cmd.StdoutPipe(); err != nil {
		return nil, nil, err
	}
	return c, cmd.Wait, cmd.Start()
}

// sleepForEver waits for what only this process could write.
func sleepForEver() {
	if reader, writer, err := os.Pipe(); err == nil {
		_, _ = io.Copy(io.Discard, reader)
		_ = writer.Close()
	}
}

func (c *caller) say(text string) { _, _ = io.WriteString(c.in, text+"\n") }

// await reads until an answer has come, and reports whether it did.
func (c *caller) await(id string) bool {
	page := make([]byte, 1<<20)
	for {
		for {
			line, rest, isWhole := bytes.Cut(c.pending, []byte("\n"))
			if !isWhole {
				break
			}
			c.pending = rest
			if c.hear(line, id) {
				return true
			}
		}
		count, err := c.out.Read(page)
		if err != nil {
			return false
		}
		c.pending = append(c.pending, page[:count]...)
		if c.fault == "takes chunks for messages" && c.pending[len(c.pending)-1] != '\n' {
			panic("unexpected end of JSON input")
		}
	}
}

// hear takes a frame, and reports whether it is the answer.
func (c *caller) hear(line []byte, id string) bool {
	for _, m := range timeline.MessagesOf(transport.Frame{Bytes: line}) {
		isChange := m.Method == "notifications/tools/list_changed"
		switch {
		case isChange && c.fault == "forgets its first call at a change" && id == "1":
			c.forgot = true
		case c.fault == "takes any message with its id" && m.ID != nil && string(m.ID) == id && m.Result == nil:
			panic("the answer has no result")
		case m.Kind() == transport.Response && string(m.ID) != id:
			c.strays++
		case m.Method == "notifications/message":
			c.notes++
			if id == "note" {
				return true
			}
		case m.Kind() == transport.Response && string(m.ID) == id && c.forgot:
		case m.Kind() == transport.Response && string(m.ID) == id:
			c.said = append(c.said, "result "+string(m.Result))
			return true
		case m.Method == "notifications/cancelled" && c.fault == "stays busy":
			c.forgot = true
		case m.Kind() == transport.Request && c.forgot && c.fault == "stays busy":
		case m.Kind() == transport.Request && c.fault == "answers its last question" && bytes.Contains(c.pending, []byte("roots/list")):
		case m.Kind() == transport.Request && c.fault == "answers by what comes after" && bytes.Contains(c.pending, []byte("notifications/progress")):
			c.say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"roots":[{"uri":"file:///a"}]}}`, m.ID))
		case m.Method == "elicitation/create":
			c.turns++
			content := transport.Member(m.Params, "message")
			if c.fault == "answers in turn" {
				content = fmt.Append(nil, c.turns)
			}
			c.say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"action":"accept","content":{"n":%s}}}`, m.ID, content))
		case m.Kind() == transport.Request && m.Method != "ping":
			c.say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"roots":[]}}`, m.ID))
		case m.Kind() == transport.Request && c.fault != "no pong":
			c.say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{}}`, m.ID))
		case m.Method == "notifications/progress":
			if strings.HasSuffix(c.fault, "swallows") {
				sleepForEver()
			}
			if c.fault == "loses progress" && bytes.Contains(c.pending, []byte(`"result"`)) {
				continue // the answer is there already, and the callback gone
			}
			c.said = append(c.said, "progress")
		case isChange && c.fault == "says how far nothing is":
			c.say(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"t","progress":1}}`)
		case isChange && c.fault == "tells changes":
			c.said = append(c.said, "changed")
		}
	}
	return false
}

// callerSession is a recorded session of the client.
func callerSession() (events []store.Event) {
	header := store.Header{ID: "01a20a05-df07-77d5-b81a-7728635191ae", Transport: "stdio"}
	events = append(events, store.Event{Seq: 1, Kind: store.Opened, Payload: header.Encode()})
	say := func(dir transport.Direction, text string) {
		seq := uint64(len(events) + 1)
		events = append(events, store.Event{Seq: seq, At: time.Duration(seq) * time.Millisecond, Kind: store.Frame, Dir: dir, Payload: []byte(text)})
	}
	c2s, s2c := transport.ClientToServer, transport.ServerToClient
	say(c2s, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"roots":{}},"clientInfo":{"name":"c","version":"1"}}}`)
	say(s2c, `{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"counter","version":"1"}}}`)
	say(c2s, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	say(c2s, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"count","arguments":{"from":""},"_meta":{"progressToken":"t1"}}}`)
	say(s2c, `{"jsonrpc":"2.0","id":"q","method":"roots/list"}`)
	say(c2s, `{"jsonrpc":"2.0","id":"q","result":{"roots":[]}}`)
	say(s2c, `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"t1","progress":1}}`)
	say(s2c, `{"jsonrpc":"2.0","id":1,"result":{"content":[]}}`)
	say(s2c, `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
	say(c2s, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"count","arguments":{"from":""},"_meta":{"progressToken":"t2"}}}`)
	say(s2c, `{"jsonrpc":"2.0","id":2,"result":{"content":[]}}`)
	return events
}

// counterClient is the client with a fault.
func counterClient(fault string) Client {
	return Client{Command: []string{os.Args[0], child.ServerMark}, Env: []string{clientEnv + "=" + fault}, PassOn: []string{os.Args[0], passOnArg}}
}

// TestClientFaults holds what is found of clients with a fault each, and that the token shows it again.
func TestClientFaults(t *testing.T) {
	const rest = ", none on a timer, and only a new message from the server could wake it; reproduced 3 times out of 3"
	const alone = ", none on a timer, and nothing could wake it; reproduced 3 times out of 3"
	for fault, want := range map[string]struct {
		kind Fault
		says []string
	}{
		"swallows":                           {Hang, []string{"HANG (observed; not a proof): it has every answer, the answer to tools/call count (#9) is the last, says no more and does not end; it has not read all; all ", rest, "  in the recorded order, without the pauses of the recording\n  token: x1.default"}},
		"sockets, swallows":                  {Hang, []string{"HANG (observed; not a proof): it has every answer, the answer to tools/call count (#9) is the last, says no more and does not end; it has not read all; all ", rest, "  in the recorded order, without the pauses of the recording\n  token: x1.default"}},
		"no pong":                            {Hang, []string{"HANG (observed; not a proof): it does not answer a ping; ", rest, "  the server sends a ping in front of "}},
		"waits on":                           {Hang, []string{"HANG (observed; not a proof): its server has ended, and it waits for the answer to initialize; ", alone, "  the server ends in place of "}},
		"probes, waits on":                   {Hang, []string{"HANG (observed; not a proof): its server has ended, and it waits for the answer to initialize; ", alone, "  the server ends in place of "}},
		"takes chunks for messages":          {Died, []string{"DIED: the client ended: exit status 2: ", " goes out in two writes, split at byte "}},
		"lingers":                            {Lingers, []string{"DOES NOT EXIT when its server ends: all ", alone, "  in the recorded order, without the pauses of the recording\n  token: x1.default"}},
		"loses progress":                     {Different, []string{"DIFFERENT OUTPUT: the client prints otherwise than in the recorded order; reproduced 3 times out of 3", `result {"content":[]} result`, " arrive together"}},
		"forgets its first call at a change": {Hang, []string{"HANG (observed; not a proof): it has every answer, the answer to tools/call count (#9) is the last, says no more and does not end; all ", rest, "  the server says in front of ", " that a list has changed\n"}},
		"reads no errors":                    {Hang, []string{"HANG (observed; not a proof): it does not read its server's standard error, where there is room for 64 KiB: the server waits in a write there; all ", rest, "  in front of the answer to tools/call count (#", ") the server writes 1024 KiB of lines to its standard error\n"}},
		"says how far nothing is":            {Illegal, []string{`ILLEGAL: the client sent progress for token "t", which no request of the server had (P3: `, "  in the recorded order, without the pauses of the recording\n  token: x1.default"}},
		"answers its last question":          {Hang, []string{"HANG (observed; not a proof): it does not answer roots/list (#6); ", rest, "  the server asks roots/list (#6) twice at once, under two ids\n  token: x1.twin6"}},
		"takes any message with its id":      {Died, []string{"DIED: the client ended: exit status 2: ", "  the server asks roots/list (#6) under the id of a call of the client that has no answer: each end has its own ids\n  token: x1.namesake6"}},
		"stays busy":                         {Hang, []string{"HANG (observed; not a proof): it does not answer roots/list (#6); ", rest, "  in front of roots/list (#6) the server asks the same under another id, and cancels that at once\n  token: x1.retract6"}},
		"answers by what comes after":        {Different, []string{"DIFFERENT OUTPUT: the client answers roots/list (#6) otherwise than in the recorded order; reproduced 3 times out of 3\n  by\n    {\"roots\":[{\"uri\":\"file:///a\"}]}\n  and in the recorded order by\n    {\"roots\":[]}\n", " arrive together"}},
		"prints to a server alone":           {Different, []string{"DIFFERENT OUTPUT: the client prints otherwise than in the recorded order; reproduced 3 times out of 3", "the server ends right behind the answer to tools/call count (#12)"}},
	} {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			options := Options{Schedules: 25, SameOutput: want.kind == Different}
			report, err := ExploreClient(counterClient(fault), callerSession(), options)
			if err != nil {
				t.Fatal(err)
			}
			text := report.Text()
			at := slices.IndexFunc(report.Findings, func(f Finding) bool { return f.Kind == want.kind })
			if at < 0 {
				t.Fatalf("found:\n%s", text)
			}
			found := report.Findings[at]
			for _, part := range want.says {
				if !strings.Contains(text, part) {
					t.Errorf("found:\n%swithout %q", text, part)
				}
			}
			if !found.Certain || found.Held != times || found.Peer != "client" {
				t.Errorf("%+v", found)
			}
			options.Token = found.Token
			again, err := ExploreClient(counterClient(fault), callerSession(), options)
			if err != nil || !slices.ContainsFunc(again.Findings, func(f Finding) bool { return f.Kind == want.kind && f.Token == found.Token }) {
				t.Errorf("the token %s shows %v\n%s", found.Token, err, again.Text())
			}
		})
	}
}

// TestAnswersInTurn holds that a client is found which answers the questions of its server in the order of its calls, and not by
// what they ask.
func TestAnswersInTurn(t *testing.T) {
	for fault, want := range map[string]string{
		"answers in turn": "DIFFERENT OUTPUT: the client answers elicitation/create (#6) otherwise than in the recorded order; reproduced 3 times out of 3\n" +
			"  by\n    {\"action\":\"accept\",\"content\":{\"n\":3}}\n  and in the recorded order by\n    {\"action\":\"accept\",\"content\":{\"n\":1}}\n" +
			"  the server keeps elicitation/create (#6) back until the client does nothing more without it\n  token: x1.late6\n",
		"healthy": "25 orders",
	} {
		events := slices.Clone(callerSession()[:5])
		say := func(dir transport.Direction, format string, args ...any) {
			seq := uint64(len(events) + 1)
			events = append(events, store.Event{Seq: seq, At: time.Duration(seq) * time.Millisecond, Kind: store.Frame, Dir: dir, Payload: fmt.Appendf(nil, format, args...)})
		}
		for n := 1; n <= 3; n++ {
			say(s2c, `{"jsonrpc":"2.0","id":"q%d","method":"elicitation/create","params":{"message":"a%[1]d"}}`, n)
		}
		for n := 1; n <= 3; n++ {
			say(c2s, `{"jsonrpc":"2.0","id":"q%d","result":{"action":"accept","content":{"n":"a%[1]d"}}}`, n)
		}
		say(s2c, `{"jsonrpc":"2.0","id":1,"result":{"content":[]}}`)
		say(c2s, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"count","arguments":{"from":""},"_meta":{"progressToken":"t2"}}}`)
		say(s2c, `{"jsonrpc":"2.0","id":2,"result":{"content":[]}}`)
		report, err := ExploreClient(counterClient(fault), events, Options{Schedules: 25, SameOutput: true})
		if err != nil || !strings.HasPrefix(report.Text(), want) || len(report.Findings) > 1 {
			t.Errorf("%s: %v, found:\n%s", fault, err, report.Text())
		}
	}
}

// TestHealthyClients holds that nothing is found of clients without a fault, also of one that starts its
// server again, of one whose params are never those of the recording, of those that ask server/discover first, and of one that prints
// what it is told when it is told.
func TestHealthyClients(t *testing.T) {
	for _, kind := range []string{"healthy", "sockets", "restarts", "tells changes", "keeps errors", "discovers", "probes, healthy"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			client := counterClient(kind)
			client.Env = append(client.Env, "FROM="+kind)
			report, err := ExploreClient(client, callerSession(), Options{Schedules: 40, SameOutput: true})
			if err != nil || !report.Passed() || len(report.NotHeld) > 0 || report.Unjudged > 0 || report.Played < 35 {
				t.Errorf("%v, found:\n%s", err, report.Text())
			}
		})
	}
}

// TestClientOfNothing holds what is said of clients that cannot be explored.
func TestClientOfNothing(t *testing.T) {
	for script, want := range map[string]string{
		"exit 4":         "the client ended without starting %SERVER as its server: exit status 4",
		"read -r x < $0": "the client has not started %SERVER as its server: its only thread sleeps",
		`echo '{"jsonrpc":"2.0","id":1,"method":"tools/list"}' | "$1"`: "the client asks tools/list, which the recording has no answer for",
	} {
		path := filepath.Join(t.TempDir(), "fifo")
		if err := syscall.Mkfifo(path, 0o600); err != nil {
			t.Fatal(err)
		}
		fifo, err := os.OpenFile(path, os.O_RDWR, 0) // sh waits in read, not in open
		if err != nil {
			t.Fatal(err)
		}
		client := Client{Command: []string{"sh", "-c", script, path, child.ServerMark}, PassOn: []string{os.Args[0], passOnArg}}
		report, err := ExploreClient(client, callerSession(), Options{Schedules: 1})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v\n%s", script, err, report.Text())
		}
		_ = fifo.Close()
	}
}

// TestForeignClientToken holds that a token of the client's half is refused with a client under test.
func TestForeignClientToken(t *testing.T) {
	report, err := ExploreClient(counterClient("healthy"), callerSession(), Options{Token: "x1.cancel5"})
	if err == nil || !strings.Contains(err.Error(), "the recorded server sends no message #5") {
		t.Errorf("%v\n%s", err, report.Text())
	}
}

// TestPingUnread holds that a server which does not read hears the answer to its ping later.
func TestPingUnread(t *testing.T) {
	report, err := ExploreClient(counterClient("healthy"), callerSession(), Options{Token: "x1.unread6-12.ping9"})
	if err != nil || !report.Passed() {
		t.Errorf("%v\n%s", err, report.Text())
	}
}
