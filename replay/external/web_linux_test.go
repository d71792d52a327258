//go:build amd64 || arm64

package external

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcprec/mcprec/replay/external/child"
	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

// webEnv makes the test binary an HTTP server with the fault that its value names; its argument is the
// address.
const webEnv = "MCPREC_EXTERNAL_WEB"

// webCounter is the counter as a server of Streamable HTTP. Its responses are streams that can be resumed.
type webCounter struct {
	fault string

	mu       sync.Mutex
	count    int
	fresh    map[net.Conn]bool // connections without a request so far
	beside   map[net.Conn]bool // connections that were fresh beside others
	sessions int
	sent     []string                       // all events, in order
	latest   string                         // the session that has asked last
	another  chan struct{}                  // is closed when that is another
	hasLeft  bool                           // a standalone stream has ended, or its session
	kept     []string                       // the events of standalone streams that have ids
	opened   int                            // standalone streams
	isOpen   bool                           // one of them is
	alone    map[string]http.ResponseWriter // those that news go to, by session
	deleted  chan struct{}                  // is closed when the session is
	streams  map[string][]string            // the events behind the first one, by the id of that one
	met      []string                       // the sessions of the calls that were beside another
	hasMet   *sync.Cond                     // on mu: it is another number
	running  map[string]chan bool           // calls beside those of another session, by their session and id, or by their id alone; closed when they are cancelled
	isOver   chan bool                      // is closed when one of them was
	queued   int                            // what waits for a standalone stream
	isHeld   bool                           // a call of the second session runs, or has never given back what it held
}

func runWebCounter(fault, address string) (status int) {
	switch fault {
	case "does not listen":
		sleepForEver()
	case "has a timer":
		time.AfterFunc(5*time.Second, func() {})
	case "does not start":
		fmt.Fprintln(os.Stderr, "no")
		return 4
	}
	s := &webCounter{fault: fault, fresh: map[net.Conn]bool{}, beside: map[net.Conn]bool{}, streams: map[string][]string{}, running: map[string]chan bool{}, isOver: make(chan bool), alone: map[string]http.ResponseWriter{}, another: make(chan struct{}), deleted: make(chan struct{})}
	s.hasMet = sync.NewCond(&s.mu)
	server := &http.Server{
		Addr: address, Handler: s, ConnState: s.note,
		ConnContext: func(ctx context.Context, conn net.Conn) context.Context {
			return context.WithValue(ctx, connKey{}, conn)
		},
	}
	fmt.Fprintln(os.Stderr, server.ListenAndServe())
	return 1
}

// connKey is the key of a request's connection.
type connKey struct{}

// note notes which connections are there, without a request, at the same time.
func (s *webCounter) note(conn net.Conn, state http.ConnState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if state != http.StateNew {
		delete(s.fresh, conn)
		return
	}
	s.fresh[conn] = true
	for other := range s.fresh {
		s.beside[other] = len(s.fresh) > 1
	}
}

// ServeHTTP implements http.Handler.
func (s *webCounter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.Method {
	case http.MethodDelete:
		s.end()
		if s.fault == "does not end" {
			<-r.Context().Done()
		}
		if s.fault == "ends with the session" {
			os.Exit(3)
		}
	case http.MethodGet:
		s.get(w, r)
	default:
		body, err := io.ReadAll(r.Body)
		messages := timeline.MessagesOf(transport.Frame{Bytes: body})
		if err != nil || len(messages) != 1 {
			http.Error(w, "want a message", http.StatusBadRequest)
			return
		}
		s.post(w, r, messages[0])
	}
}

// get gives the standalone stream, or the rest of another one.
func (s *webCounter) get(w http.ResponseWriter, r *http.Request) {
	id := r.Header.Get(mcp.HeaderLastEventID)
	s.mu.Lock()
	events := s.streams[id]
	isNews := strings.HasPrefix(id, "news ")
	if isNews {
		at := slices.IndexFunc(s.kept, func(event string) bool { return strings.HasPrefix(event, "id: "+id+"\n") })
		events = s.kept[at+1:]
	}
	if s.fault == "resumes in another order" && len(events) > 2 {
		events = slices.Concat(events[1:2], events[:1], events[2:])
	}
	if s.fault == "resumes all streams" && id != "" {
		events = s.sent[slices.Index(s.sent, events[0]):]
	}
	s.mu.Unlock()
	if s.fault == "does not resume" && id != "" {
		http.Error(w, "no stream", http.StatusNotFound)
		return
	}
	s.mu.Lock()
	isSecond := s.fault == "has one stream" && s.isOpen && id == ""
	s.isOpen = true
	s.opened++
	number := s.opened
	s.mu.Unlock()
	if isSecond {
		http.Error(w, "there is a stream", http.StatusConflict)
		return
	}
	if s.fault == "forgets" {
		events = nil // they were sent once
	}
	w.Header().Set("Content-Type", mcp.MediaEventStream)
	_, _ = io.WriteString(w, strings.Join(events, "")) // an error is the client's end
	_ = http.NewResponseController(w).Flush()
	if len(events) == 0 || isNews {
		s.mu.Lock()
		session := r.Header.Get(mcp.HeaderSessionID)
		s.alone[session] = w
		s.mu.Unlock()
		<-r.Context().Done()
		s.mu.Lock()
		if s.alone[session] == w || s.fault == "tells nobody behind an older stream" {
			delete(s.alone, session)
		}
		s.hasLeft = s.hasLeft || s.fault == "ends with a stream" || s.fault == "ends with an older stream" && number < s.opened
		s.isOpen = false
		s.mu.Unlock()
	}
}

// end ends a session.
func (s *webCounter) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fault == "ends every session" {
		s.hasLeft = true
	}
	if s.fault == "tells nobody when one leaves" {
		clear(s.alone)
	}
	select {
	case <-s.deleted:
	default:
		close(s.deleted)
	}
}

// keyOf returns the key of a call.
func (s *webCounter) keyOf(r *http.Request, id json.RawMessage) string {
	if s.fault == "cancels by the id alone" {
		return string(id)
	}
	return r.Header.Get(mcp.HeaderSessionID) + " " + string(id)
}

// runsUntilCancelled runs a call until one was cancelled. It reports whether that was this one, and has unlocked the counter then.
func (s *webCounter) runsUntilCancelled(w http.ResponseWriter, r *http.Request, m transport.Message) bool {
	cancelled := make(chan bool)
	s.running[s.keyOf(r, m.ID)] = cancelled
	s.mu.Unlock()
	select {
	case <-cancelled:
		close(s.isOver)
		w.Header().Set("Content-Type", mcp.MediaEventStream)
		return true
	case <-s.isOver:
		s.mu.Lock()
		return false
	}
}

// tell tells those who listen that the tools have changed. With ids it is kept for those who come back.
func (s *webCounter) tell() {
	event := `data: {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}` + "\n\n"
	if strings.HasPrefix(s.fault, "tells with ids") {
		event = fmt.Sprintf("id: news %d\n%s", s.count, event)
		if len(s.alone) > 0 || s.fault == "tells with ids" {
			s.kept = append(s.kept, event)
		}
	}
	for _, stream := range s.alone {
		_, _ = io.WriteString(stream, event) // an error is the client's end
		_ = http.NewResponseController(stream).Flush()
	}
}

func (s *webCounter) post(w http.ResponseWriter, r *http.Request, m transport.Message) {
	if m.Kind() != transport.Request {
		if m.Method == mcp.NotificationCancelled && s.fault == "ignores cancellations" {
			<-r.Context().Done()
		}
		if m.Method == mcp.NotificationCancelled && strings.HasPrefix(s.fault, "cancels") {
			s.mu.Lock()
			close(s.running[s.keyOf(r, timeline.CancelledID(m))])
			s.mu.Unlock()
			<-s.isOver
		}
		w.WriteHeader(http.StatusAccepted)
		return
	}
	result := `{}`
	s.mu.Lock()
	if m.Method == mcp.MethodUnsubscribe && s.fault == "tells nobody when one unsubscribes" {
		clear(s.alone)
	}
	if session := r.Header.Get(mcp.HeaderSessionID); session != s.latest {
		s.latest = session
		close(s.another)
		s.another = make(chan struct{})
	}
	if s.hasLeft && m.Method != mcp.MethodInitialize {
		s.mu.Unlock()
		http.Error(w, "no session", http.StatusNotFound)
		return
	}
	switch m.Method {
	case mcp.MethodInitialize:
		s.sessions++
		if s.sessions > 1 && s.fault == "refuses others" {
			s.mu.Unlock()
			http.Error(w, "one client is enough", http.StatusBadRequest)
			return
		}
		if s.sessions > 1 && s.fault == "one session" {
			s.mu.Unlock()
			<-r.Context().Done()
			return
		}
		w.Header().Set(mcp.HeaderSessionID, strconv.Itoa(s.sessions))
		result = `{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"counter","version":"1"}}`
	case mcp.MethodCallTool:
		conn, _ := r.Context().Value(connKey{}).(net.Conn)
		switch isBeside := s.beside[conn]; {
		case isBeside && s.fault == "hangs beside others":
			s.mu.Unlock()
			<-r.Context().Done()
			return
		case isBeside && s.fault == "fails beside others":
			s.mu.Unlock()
			http.Error(w, "boom", http.StatusInternalServerError)
			return
		}
		if s.fault == "keeps calls open" || s.fault == "ends calls with their session" {
			s.mu.Unlock()
			w.Header().Set("Content-Type", mcp.MediaEventStream)
			_ = http.NewResponseController(w).Flush()
			if s.fault == "keeps calls open" {
				sleepForEver()
			}
			<-s.deleted
			return
		}
		if strings.HasPrefix(s.fault, "cancels") && s.sessions > 1 && s.runsUntilCancelled(w, r, m) {
			return
		}
		for s.isHeld {
			s.hasMet.Wait()
		}
		for s.fault == "queues for a stream" && len(s.alone) == 0 && s.queued == 16 {
			s.hasMet.Wait()
		}
		s.queued++
		if strings.HasPrefix(s.fault, "holds") && s.latest == "2" {
			s.isHeld = true
			s.mu.Unlock()
			<-s.deleted
			s.mu.Lock()
			s.isHeld = s.fault == "holds what nobody waits for"
			s.hasMet.Broadcast()
		}
		if timeline.TargetOf(m) == "add" {
			s.count++
			if strings.HasPrefix(s.fault, "notes later") {
				go s.noteLater(s.latest, s.another)
			}
			if strings.HasPrefix(s.fault, "tells") {
				s.tell()
			}
		}
		result = fmt.Sprintf(`{"content":[{"type":"text","text":"%d"}]}`, s.count)
		if s.fault == "mixes clients" {
			own := r.Header.Get(mcp.HeaderSessionID)
			of := own
			if s.beside[conn] { // it goes on when the other has come
				s.met = append(s.met, own)
				s.hasMet.Broadcast()
				at := len(s.met) - 1
				for len(s.met)%2 == 1 {
					s.hasMet.Wait()
				}
				of = s.met[at^1]
			}
			result = fmt.Sprintf(`{"content":[{"type":"text","text":"session %s"}]}`, of)
		}
	}
	first := "of " + string(m.ID)
	answer := fmt.Sprintf("id: answer to %s\ndata: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":%s}\n\n", m.ID, m.ID, result)
	var events []string
	if token := transport.Member(m.Params, mcp.MemberMeta, mcp.MemberProgressToken); token != nil {
		for n := range 2 {
			events = append(events, fmt.Sprintf("id: %d of %s\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":%s,\"progress\":%d}}\n\n", n, m.ID, token, n+1))
		}
	}
	events = append(events, answer)
	s.streams[first] = events
	s.sent = append(s.sent, answer)
	s.mu.Unlock()
	w.Header().Set("Content-Type", mcp.MediaEventStream)
	_, _ = fmt.Fprintf(w, "id: %s\ndata: \n\n%s", first, strings.Join(events, "")) // an error is the client's end
}

// noteLater tells a session that its call is done: when another one asks, or after a while in which none does.
func (s *webCounter) noteLater(session string, another <-chan struct{}) {
	select {
	case <-another:
	case <-time.After(500 * time.Millisecond):
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fault == "notes later, to who asked last" {
		session = s.latest
	}
	if stream := s.alone[session]; stream != nil {
		_, _ = io.WriteString(stream, "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"level\":\"info\",\"data\":\"done\"}}\n\n") // an error is the client's end
		_ = http.NewResponseController(stream).Flush()
	}
}

// webServer is the counter over HTTP with a fault.
func webServer(fault string) Server {
	return Server{Command: []string{os.Args[0], "127.0.0.1:" + portMark}, Env: []string{webEnv + "=" + fault}, URL: "http://localhost:" + portMark + "/mcp"}
}

// TestWebFaults holds what is found of servers over HTTP with a fault each, and that the token shows it again.
func TestWebFaults(t *testing.T) {
	for fault, want := range map[string]struct {
		kind Fault
		says []string
	}{
		"hangs beside others": {Hang, []string{"HANG (observed; not a proof): no answer to tools/call add (#5); all ", " go out at once, each on a connection of its own"}},
		"forgets": {Hang, []string{"HANG (observed; not a proof): no answer to initialize (#2); all ",
			"the response to initialize (#2) is cut behind its first event with an id, and the client comes back for the rest"}},
		"fails beside others":   {Lost, []string{"LOST: the response ended without an answer to tools/call add (#5): 500 Internal Server Error: boom"}},
		"does not end":          {Hang, []string{"HANG (observed; not a proof): all ", "; the end of the session has no response; reproduced 3 times out of 3"}},
		"ends with the session": {Died, []string{"DIED: the server ended: exit status 3"}},
		"one session":           {Hang, []string{"HANG (observed; not a proof): all ", "; after the session the beginning of another one has no response; reproduced 3 times out of 3"}},
		"ignores cancellations": {Hang, []string{"HANG (observed; not a proof): all ", "; a cancellation has no response; reproduced 3 times out of 3", "the client cancels tools/call add (#5) at once"}},
		"does not start":        {Died, []string{"DIED: the server ended: exit status 4: no; reproduced 3 times out of 3"}},
	} {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			report, err := Explore(webServer(fault), session(), Options{Schedules: 20})
			if err != nil {
				t.Fatal(err)
			}
			// Whether two requests meet at the server is chance, so there may be an uncertain finding, too.
			at := slices.IndexFunc(report.Findings, func(f Finding) bool { return f.Kind == want.kind && f.Certain && f.Held == times })
			if at < 0 {
				t.Fatalf("found:\n%s", report.Text())
			}
			found := report.Findings[at]
			for _, text := range want.says {
				if !strings.Contains(report.Text(), text) {
					t.Errorf("%q is not in\n%s", text, report.Text())
				}
			}
			again, err := Explore(webServer(fault), session(), Options{Token: found.Token})
			if err != nil || !slices.ContainsFunc(again.Findings, func(f Finding) bool { return f.Kind == want.kind && f.Token == found.Token }) {
				t.Errorf("the token %s shows %v\n%s", found.Token, err, again.Text())
			}
		})
	}
}

// TestWebHealthy holds that nothing is found of servers over HTTP without a fault. One that does not give the
// rest of a stream owes no answer.
func TestWebHealthy(t *testing.T) {
	for _, kind := range []string{"healthy", "does not resume"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			report, err := Explore(webServer(kind), session(), Options{Schedules: 40})
			if err != nil || !report.Passed() || len(report.NotHeld) > 0 || report.Played < 30 || len(report.Unheeded) > 0 {
				t.Errorf("%v, found:\n%s", err, report.Text())
			}
		})
	}
}

// TestAway holds that a server is found which gives a client that comes back to one stream what it has sent on another.
func TestAway(t *testing.T) {
	for fault, want := range map[string]string{
		"resumes all streams": "ILLEGAL: the server sent a second response to tools/call (id 2) (P1: a request is answered once; basic, Responses); reproduced 3 times out of 3\n" +
			"  the response to tools/call add (#5) is cut behind its first event with an id, and the client comes back for the rest when tools/call add (#7) has gone out\n",
		"healthy": "2 orders",
	} {
		report, err := Explore(webServer(fault), session(), Options{Token: "x1.away5-7"})
		if err != nil || !strings.HasPrefix(report.Text(), want) {
			t.Errorf("%s: %v, found:\n%s", fault, err, report.Text())
		}
	}
}

// TestDeaf holds that a server is found which takes the end of a client's standalone stream for the end of its session.
func TestDeaf(t *testing.T) {
	for fault, want := range map[string]string{
		"ends with a stream": "LOST: the response ended without an answer to tools/call add (#7): 404 Not Found: no session; reproduced 3 times out of 3\n" +
			"  the client ends its standalone stream when the server sleeps with tools/call add (#5), and goes on without one\n",
		"healthy": "2 orders",
	} {
		report, err := Explore(webServer(fault), session(), Options{Token: "x1.deaf5"})
		if err != nil || !strings.HasPrefix(report.Text(), want) {
			t.Errorf("%s: %v, found:\n%s", fault, err, report.Text())
		}
	}
}

// TestDeafFlood holds that a server is found in which calls wait for room in a queue that nobody empties: the client has no
// standalone stream.
func TestDeafFlood(t *testing.T) {
	for fault, want := range map[string]string{
		"queues for a stream": "HANG (observed; not a proof): no answer to tools/call add (#7); ",
		"healthy":             "2 orders",
	} {
		report, err := Explore(webServer(fault), session(), Options{Token: "x1.deaf5.flood7@20"})
		if err != nil || !strings.HasPrefix(report.Text(), want) {
			t.Errorf("%s: %v, found:\n%s", fault, err, report.Text())
		}
	}
}

// TestReopen holds that a client puts another standalone stream in the place of its first, also if a server has one at a time:
// the end of the older one must not be taken for that of the newer one.
func TestReopen(t *testing.T) {
	for fault, want := range map[string]string{
		"ends with an older stream": "LOST: the response ended without an answer to tools/call add (#7): 404 Not Found: no session; reproduced 3 times out of 3\n" +
			"  the client opens another standalone stream when the server sleeps with tools/call add (#5), and ends the first one then, as after a lost connection\n",
		"tells nobody behind an older stream": "DIFFERENT ANSWER when the client opens another standalone stream and ends the first one then: tools/call add (#7); reproduced 3 times out of 3\n" +
			"  notifications/tools/list_changed came behind that in the recorded order, and comes no more\n",
		"tells":          "2 orders",
		"has one stream": "2 orders",
		"healthy":        "2 orders",
	} {
		report, err := Explore(webServer(fault), session(), Options{Token: "x1.reopen5"})
		if err != nil || !strings.HasPrefix(report.Text(), want) {
			t.Errorf("%s: %v, found:\n%s", fault, err, report.Text())
		}
	}
}

// TestMiss holds that a server is found whose events have ids, and that does not tell a client which comes back what it has missed.
func TestMiss(t *testing.T) {
	for fault, want := range map[string]string{
		"tells with ids, and keeps nothing": "DIFFERENT ANSWER when the client ends its standalone stream and comes back by the id of its last event: tools/call add (#11); reproduced 3 times out of 3\n" +
			"  notifications/tools/list_changed came behind that in the recorded order, and comes no more\n" +
			"  the client ends its standalone stream when the server sleeps with tools/call get (#9), and comes back by the id of its last event when tools/call add (#11) is answered\n",
		"tells with ids": "2 orders",
		"tells":          "2 orders", // its events have no ids
		"healthy":        "2 orders",
	} {
		report, err := Explore(webServer(fault), session(), Options{Token: "x1.miss9-11"})
		if err != nil || !strings.HasPrefix(report.Text(), want) {
			t.Errorf("%s: %v, found:\n%s", fault, err, report.Text())
		}
	}
}

// TestOneStream holds that a rule about the order of two messages is kept over HTTP where both have come in one stream, and its
// rest.
func TestOneStream(t *testing.T) {
	events, say := greetedSession(`{"tools":{}}`)
	say(c2s, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add","arguments":{},"_meta":{"progressToken":"t"}}}`)
	say(s2c, `{"jsonrpc":"2.0","id":1,"result":{"content":[]}}`)
	for fault, want := range map[string]string{
		"resumes in another order": "ILLEGAL: the server sent progress 1 of tools/call (id 1) after 2 (P3: progress rises with each notification; basic/utilities/progress, Progress Flow); reproduced 3 times out of 3\n" +
			"  the response to tools/call add (#5) is cut behind its first event with an id, and the client comes back for the rest\n",
		"healthy": "2 orders",
	} {
		report, err := Explore(webServer(fault), *events, Options{Token: "x1.cut5"})
		if err != nil || !strings.HasPrefix(report.Text(), want) {
			t.Errorf("%s: %v, found:\n%s", fault, err, report.Text())
		}
	}
}

// TestMeetingAfter holds that another client asks when the first has its answer, also if the server has a timer that runs for
// long.
func TestMeetingAfter(t *testing.T) {
	played, err := serverPeer{Server: webServer("has a timer"), events: session()}.play(Schedule{{Kind: Meet, First: 5, Last: 9, At: int(after)}}, child.Searching)
	if want := `{"content":[{"text":"1","type":"text"}]}`; err != nil || played.answers[guestAnswer] != want {
		t.Errorf("%v, another client gets %s, want %s", err, played.answers[guestAnswer], want)
	}
}

// TestWebOpenBehindDelete holds that a response is told that stays open though its session was deleted, and one
// that ends with its session is not.
func TestWebOpenBehindDelete(t *testing.T) {
	for fault, isOpen := range map[string]bool{"keeps calls open": true, "ends calls with their session": false, "healthy": false} {
		for _, end := range []Kind{End, LateEnd} {
			played, err := serverPeer{Server: webServer(fault), events: session()[:6]}.play(Schedule{{Kind: end, First: 5, Last: 5}}, child.Searching)
			if err != nil || played.found != nil || slices.Equal(played.open, []uint64{5}) != isOpen {
				t.Errorf("%s, %s: %v, found %+v, open %v", fault, end, err, played.found, played.open)
			}
		}
	}
	const note = "note: the client deleted its session, and the server came to rest with a response still open, and without an answer: tools/call add (#5)\n"
	if text := (Report{Open: []Request{{5, "tools/call add"}}}).Text(); !strings.HasPrefix(text, note) {
		t.Error(text)
	}
}

// TestWebStart holds what is said of a server that does not listen, or where another one does.
func TestWebStart(t *testing.T) {
	_, err := Explore(webServer("does not listen"), session(), Options{Schedules: 1})
	if err == nil || !strings.Contains(err.Error(), "it does not listen at localhost:") || !strings.Contains(err.Error(), "threads sleep") {
		t.Errorf("%v", err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	server := Server{Command: []string{"true"}, URL: "http://" + listener.Addr().String()}
	if _, err := Explore(server, session(), Options{Schedules: 1}); err == nil || !strings.Contains(err.Error(), "another process listens at "+listener.Addr().String()) {
		t.Errorf("%v", err)
	}
}

// TestServerCheck holds which URLs are refused.
func TestServerCheck(t *testing.T) {
	for address, want := range map[string]string{
		"":                            "",
		"http://localhost:%PORT/mcp":  "",
		"http://[::1]:%PORT/mcp":      "",
		"http://example.org/mcp":      "want the URL of a server that the command starts on this machine",
		"https://localhost:%PORT/mcp": "want the URL of a server that the command starts on this machine",
		"http://localhost:x/mcp":      "want a URL such as http://localhost:%PORT/mcp",
	} {
		if err := (Server{URL: address}).Check(1); fmt.Sprint(err) != "<nil>" && want == "" || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v", address, err)
		}
	}
	if err := (Server{URL: "http://localhost:80", Env: []string{"PORT=%PORT"}}).Check(1); err == nil || !strings.Contains(err.Error(), "%PORT is in the command, and not in the URL") {
		t.Errorf("%v", err)
	}
}
