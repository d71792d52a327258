package explore

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptrace"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcprec/mcprec/replay/explore/gate"
	"github.com/mcprec/mcprec/replay/explore/schedule"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

// The walk over HTTP comes to each class of all orders, and the runs of a class end in the same state.
// The numbers are of the schedules that are needed, where a response has no limit.
func TestWebWalk(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name      string
		all, some int // with and without orders that differ in steps that commute
		cuts      int
		begin     func(*webPeers)
	}{
		{"two calls", 21, 11, 0, func(p *webPeers) { p.call(1, "default", -1, 0); p.call(2, "default", -1, 0) }},
		{"three calls", 1681, 343, 0, func(p *webPeers) {
			p.call(1, "default", -1, 0)
			p.call(2, "default", -1, 0)
			p.call(3, "default", -1, 0)
		}},
		{"a call with progress and another", 121, 41, 0, func(p *webPeers) { p.call(1, "progress", -1, 0); p.call(2, "default", -1, 0) }},
		{"cancelled", 41, 21, 0, func(p *webPeers) { p.call(1, "slow", -1, 0); p.cancel(1) }},
		{"given up", 36, 20, 0, func(p *webPeers) { p.call(1, "progress", 1, 0); p.call(2, "default", -1, 0) }},
		{"broken off, and resumed", 984, 363, 1, func(p *webPeers) { p.call(1, "progress", -1, 1); p.call(2, "default", -1, 0) }},
		{"a notification on the GET stream, and DELETE", 327, 102, 0, func(p *webPeers) {
			p.request("listen", http.MethodGet, "", -1, 0)
			p.call(1, "notify", -1, 0)
			p.request("delete", http.MethodDelete, "", -1, 0).After("call 1")
		}},
		{"a GET stream, given up, and DELETE", 255, 146, 0, func(p *webPeers) {
			giveUp := p.short()
			p.request("listen", http.MethodGet, "", -1, 0)
			p.ctx = p.run.Context()
			p.call(1, "notify", -1, 0)
			p.first = giveUp
			p.request("close", http.MethodDelete, "", -1, 0).After("call 1")
		}},
		{"an answer after which another call is given up", 43, 30, 0, func(p *webPeers) {
			giveUp := p.short()
			p.call(1, "default", -1, 0)
			p.ctx = p.run.Context()
			p.then = giveUp
			p.call(2, "default", -1, 0)
		}},
		{"a burst", 13, 13, 0, func(p *webPeers) {
			p.call(1, "progress", -1, 0)
			p.call(2, "default", -1, 0)
			p.run.Burst("call 1", "call 2")
		}},
	} {
		if c.all > 300 && !long {
			continue
		}
		for _, room := range []int{Unbounded, 1} {
			p := Plan{HTTP: &HTTP{Cuts: c.cuts}, Capacities: fixed(room, room), Schedules: 10_000}
			whole, walked := sameEnds(t, fmt.Sprint(c.name, " at ", room), p, c.begin)
			if room == Unbounded && (whole.Schedules != c.all || walked.Schedules != c.some) {
				t.Errorf("%s: %d orders in all, walked %d, want %d and %d", c.name, whole.Schedules, walked.Schedules, c.all, c.some)
			}
		}
	}
}

// So does the walk of random programs.
func TestWebWalkRandom(t *testing.T) {
	t.Parallel()
	compared, all, walked, classes := 0, 0, 0, 0
	verdicts := map[string]int{}
	programs := scale(16, 3000)
	for n := range programs {
		dice := rand.New(rand.NewPCG(1, uint64(n)))
		room := []int{Unbounded, Unbounded, 0, 1}[dice.IntN(4)]
		p := Plan{
			HTTP: &HTTP{Cuts: dice.IntN(2)}, Lawless: dice.IntN(2) == 0, Timers: dice.IntN(2),
			Capacities: fixed(room, room), Schedules: scale(200, 3000), Shrink: -1,
		}
		whole, some := sameEnds(t, fmt.Sprint("program ", n), p, func(p *webPeers) { p.program(rand.New(rand.NewPCG(2, uint64(n)))) })
		if whole.Ended == EndSchedules {
			continue
		}
		compared++
		verdicts[whole.Verdict]++
		all += whole.Schedules
		walked += some.Schedules
		classes += some.Coverage.Classes
	}
	t.Logf("%d programs, %v: %d orders in all, walked %d for %d classes", compared, verdicts, all, walked, classes)
	if compared < programs/2 {
		t.Errorf("only %d of %d programs were compared", compared, programs)
	}
}

// sameEnds makes all runs of a plan with and without orders that differ in steps that commute. It
// compares nothing if there are more runs than the plan allows.
func sameEnds(t *testing.T, name string, p Plan, begin func(*webPeers)) (whole, walked Report) {
	t.Helper()
	whole, all := webStates(t, p, begin, exhaustive{naive: true})
	if whole.Ended == EndSchedules {
		return whole, walked
	}
	for _, states := range all {
		if len(states) > 1 {
			t.Fatalf("%s: runs of a class end in %d states:\n%s", name, len(states), strings.Join(slices.Collect(maps.Keys(states)), "\n---\n"))
		}
	}
	walked, some := webStates(t, p, begin, exhaustive{})
	same := maps.EqualFunc(all, some, maps.Equal[map[string]bool, map[string]bool])
	if whole.Verdict != walked.Verdict || whole.Verdict == Pass && !same {
		t.Fatalf("%s: %d classes, walked %d\n%s%s", name, len(all), len(some), whole.Text(), walked.Text())
	}
	if walked.Verdict == Pass && (walked.Ended != EndVisited || walked.Tried[0].Classes != len(some)) {
		t.Fatalf("%s: a class ended twice, or not all were visited\n%s", name, walked.Text())
	}
	return whole, walked
}

// webStates makes all runs of a plan, and returns the report and, by class, the states in which the
// runs ended.
func webStates(t *testing.T, p Plan, begin func(*webPeers), s exhaustive) (Report, map[uint64]map[string]bool) {
	t.Helper()
	states := map[uint64]map[string]bool{}
	var peers *webPeers
	lessons := ""
	p.Setup = func(r *Run) {
		peers = newWebPeers(r)
		begin(peers)
	}
	p.Check = func(r *Run) error {
		if r.course.walk == nil { // a run that is made again
			return nil
		}
		learned := fmt.Sprint(r.course.trail.Touching)
		if learned != lessons { // the walk has begun again
			clear(states)
			lessons = learned
		}
		tally := schedule.NewTally()
		tally.Add(&r.course.trail)
		for class := range tally.Classes {
			if states[class] == nil {
				states[class] = map[string]bool{}
			}
			states[class][peers.state()] = true
		}
		return nil
	}
	r, _ := everything(t, p, s)
	return r, states
}

// webPeers is a client and a server over HTTP that note what they see.
type webPeers struct {
	run   *Run
	ctx   context.Context // of the next request
	first func()          // what the next operation does first
	then  func()          // what it does at its end
	notes chan string     // for the GET stream; "" ends it

	mu   sync.Mutex // never held across a wait
	seen [2][]sight // by the client, by the server
	slow map[string]cancellable
}

// sight is something that an end saw after so many steps.
type sight struct {
	steps int
	what  string
}

const (
	clientSaw = iota
	serverSaw
)

// cancellable is a call that lasts until it is cancelled.
type cancellable struct {
	context.Context
	end context.CancelFunc
}

func newWebPeers(r *Run) *webPeers {
	p := &webPeers{run: r, ctx: r.Context(), first: idle, then: idle, notes: make(chan string, 10), slow: map[string]cancellable{}}
	r.Handle(http.HandlerFunc(p.serve))
	return p
}

func (p *webPeers) saw(end int, format string, args ...any) {
	p.run.peers.gate.Lock()
	steps := len(p.run.course.steps)
	p.run.peers.gate.Unlock()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.seen[end] = append(p.seen[end], sight{steps, fmt.Sprintf(format, args...)})
}

// state tells all that the ends and the gate know when the run is over. What an end saw after the same
// step has no order.
func (p *webPeers) state() string {
	var lines []string
	for end, seen := range p.seen {
		slices.SortStableFunc(seen, func(a, b sight) int {
			return cmp.Or(cmp.Compare(a.steps, b.steps), strings.Compare(a.what, b.what))
		})
		for _, s := range seen {
			lines = append(lines, fmt.Sprint(end, " ", s.what))
		}
	}
	var facts []string
	g := p.run.peers.gate
	g.Lock()
	defer g.Unlock()
	for _, x := range g.HTTP.Exchanges {
		fact := fmt.Sprint(x.Name, " over ", x.Over(), ", resumable ", x.Resumable())
		for _, m := range x.Moments() {
			info, _ := json.Marshal(m.Info)
			fact += fmt.Sprintf("\n\t%v %s", m.Dir, info)
			if m.Flight != nil {
				fact += m.Flight.Name
			}
		}
		facts = append(facts, fact)
	}
	for _, c := range g.Names.Calls {
		fact := fmt.Sprint(c.Name, " cancelled ", c.Cancelled, ", abandoned ", c.Abandoned(), ", owed ", c.Owed(), ", open ", c.Open())
		if c.Response != nil {
			fact += ", " + c.Response.Name
		}
		facts = append(facts, fact)
	}
	for _, b := range g.Breaches {
		facts = append(facts, fmt.Sprint("breach ", b.Violation, b.Frame))
	}
	slices.Sort(facts)
	return strings.Join(slices.Concat(lines, facts), "\n")
}

// call calls a tool; see request and respond.
func (p *webPeers) call(id int, tool string, lines, resumes int) *Operation {
	const format = `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"%s %d","_meta":{"progressToken":"p%d"}}}`
	return p.request(fmt.Sprint("call ", id), http.MethodPost, fmt.Sprintf(format, id, tool, id, id), lines, resumes)
}

// cancel cancels a call.
func (p *webPeers) cancel(id int) {
	p.request("cancel", http.MethodPost, fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, id), -1, 0)
}

// request makes a request in an operation and reads the response, of which it closes the body after so
// many lines of data, or reads all if lines is -1. A response that breaks off is resumed so many times.
func (p *webPeers) request(name, method, body string, lines, resumes int) *Operation {
	ctx, first, then, last := gate.WithOperation(p.ctx, name), p.first, p.then, ""
	exchange := func(method string) (again bool) {
		req, _ := http.NewRequestWithContext(ctx, method, "http://server/", strings.NewReader(body))
		if method == http.MethodGet {
			req.Body = nil
			req.Header.Set("Last-Event-ID", last)
		}
		resp, err := p.run.HTTPClient().Do(req)
		if err != nil {
			p.saw(clientSaw, "%s: %v", name, err)
			return false
		}
		p.saw(clientSaw, "%s: %s", name, resp.Status)
		scanner := bufio.NewScanner(resp.Body)
		for lines != 0 && scanner.Scan() {
			p.saw(clientSaw, "%s: %s", name, scanner.Text())
			if id, ok := strings.CutPrefix(scanner.Text(), "id: "); ok && id != "" {
				last = id
			}
			if strings.HasPrefix(scanner.Text(), "data: ") {
				lines--
			}
		}
		_ = resp.Body.Close()
		p.saw(clientSaw, "%s: ends: %v", name, scanner.Err())
		return last != "" && scanner.Err() != nil
	}
	return p.run.Op(name, func(context.Context) error {
		first()
		again := exchange(method)
		for n := 0; again && n < resumes; n++ {
			again = exchange(http.MethodGet)
		}
		then()
		return nil
	})
}

// short gives the next requests a context, and returns what ends it.
func (p *webPeers) short() (giveUp context.CancelFunc) {
	p.ctx, giveUp = context.WithCancel(p.run.Context())
	context.AfterFunc(p.run.Context(), giveUp)
	return giveUp
}

// program makes random operations: requests that are answered at once, with progress, after a
// cancellation, or not at all, of which some are given up or broken off; a GET stream; a DELETE. Calls
// begin in a burst only if their handlers share nothing: what comes of others is in no order.
func (p *webPeers) program(dice *rand.Rand) {
	giveUp := p.short()
	short := p.ctx
	hurried, stop := context.WithTimeout(p.run.Context(), time.Minute)
	context.AfterFunc(p.run.Context(), stop)
	traced := httptrace.WithClientTrace(p.run.Context(), &httptrace.ClientTrace{
		WroteRequest: func(httptrace.WroteRequestInfo) { p.saw(clientSaw, "a request was written") },
	})
	contexts := []context.Context{p.run.Context(), p.run.Context(), p.run.Context(), short, hurried, traced}
	tools := []string{"default", "default", "progress", "slow", "notify", "point", "abort"}
	var apart []string
	for i := range 1 + dice.IntN(3) {
		p.ctx = contexts[dice.IntN(len(contexts))]
		tool, lines := tools[dice.IntN(len(tools))], []int{-1, -1, 0, 1}[dice.IntN(4)]
		p.first = idle
		isHasty := dice.IntN(6) == 0
		if isHasty {
			p.first = giveUp
		}
		p.then = []func(){giveUp, idle, idle, idle}[dice.IntN(4)]
		var op *Operation
		kind := dice.IntN(8)
		switch kind {
		case 0:
			op = p.request(fmt.Sprint("call ", i), http.MethodGet, "", lines, 0)
		case 1:
			op = p.request(fmt.Sprint("call ", i), http.MethodDelete, "", lines, 0)
		default:
			op = p.call(i, tool, lines, 1+dice.IntN(2))
		}
		if i > 0 && dice.IntN(3) == 0 {
			op.After(fmt.Sprint("call ", i-1))
		} else if kind > 1 && !isHasty && slices.Contains([]string{"default", "progress", "point", "abort"}, tool) {
			apart = append(apart, op.name)
		}
	}
	if dice.IntN(2) == 0 {
		p.run.Burst(apart...)
	}
	p.ctx, p.first, p.then = p.run.Context(), idle, idle
	switch dice.IntN(4) {
	case 0:
		p.run.Op("give up", func(context.Context) error { giveUp(); return nil })
	case 1:
		p.cancel(0)
	case 2:
		p.run.Op("end", func(context.Context) error { p.notes <- ""; p.slowCall("0").end(); return nil })
	}
}

// serve is the handler.
func (p *webPeers) serve(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	last := r.Header.Get("Last-Event-ID")
	p.saw(serverSaw, "%s %s %s", r.Method, body, last)
	var err error
	switch {
	case r.Method == http.MethodDelete:
		p.notes <- ""
	case last != "":
		id, n, _ := strings.Cut(last, "-")
		err = p.stream(w, id, int(n[0]-'0'))
	case r.Method == http.MethodGet:
		err = p.listen(w, r)
	default:
		err = p.respond(w, r, body)
	}
	p.saw(serverSaw, "%s %s returns: %v, %v", r.Method, body, err, r.Context().Err())
}

// respond responds to a POST. The first word of a tool's name says how.
func (p *webPeers) respond(w http.ResponseWriter, r *http.Request, body []byte) error {
	messages, _ := (transport.Frame{Bytes: body}).Messages()
	m := messages[0]
	if m.Kind() == transport.Notification {
		p.slowCall(string(transport.Member(m.Params, "requestId"))).end()
		w.WriteHeader(http.StatusAccepted)
		return nil
	}
	id := string(m.ID)
	tool, _, _ := strings.Cut(transport.MemberText(m.Params, "name"), " ")
	switch tool {
	case "progress":
		return p.stream(w, id, 0)
	case "slow":
		slow := p.slowCall(id)
		context.AfterFunc(r.Context(), slow.end)
		w.Header().Set("Content-Type", mcp.MediaEventStream)
		w.(http.Flusher).Flush()
		<-slow.Done()
		return event(w, "", `{"jsonrpc":"2.0","id":`+id+`,"result":{}}`)
	case "notify":
		p.notes <- id
	case "point":
		Point(r.Context(), "handler")
	case "abort":
		panic(http.ErrAbortHandler)
	}
	w.Header().Set("Content-Type", "application/json")
	_, err := fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{}}`, id)
	return err
}

// slowCall returns the call with an id, also if it is cancelled before it comes.
func (p *webPeers) slowCall(id string) cancellable {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, ok := p.slow[id]; !ok {
		ctx, end := context.WithCancel(context.Background())
		p.slow[id] = cancellable{ctx, end}
	}
	return p.slow[id]
}

// stream sends an event without data, the progress and the response, except the first n.
func (p *webPeers) stream(w http.ResponseWriter, id string, n int) error {
	w.Header().Set("Content-Type", mcp.MediaEventStream)
	for i, data := range []string{
		"", `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"p` + id + `","progress":1}}`,
		`{"jsonrpc":"2.0","id":` + id + `,"result":{}}`,
	} {
		if i < n {
			continue
		}
		if err := event(w, fmt.Sprint(id, "-", i+1), data); err != nil {
			return err
		}
	}
	return nil
}

// event sends an event.
func event(w http.ResponseWriter, id, data string) error {
	if _, err := fmt.Fprintf(w, "id: %s\ndata: %s\n\n", id, data); err != nil {
		return err
	}
	return http.NewResponseController(w).Flush()
}

// listen is the GET stream.
func (p *webPeers) listen(w http.ResponseWriter, r *http.Request) error {
	w.Header().Set("Content-Type", mcp.MediaEventStream)
	w.(http.Flusher).Flush()
	for {
		select {
		case id := <-p.notes:
			if id == "" {
				return nil
			}
			if err := event(w, "", `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`); err != nil {
				return err
			}
		case <-r.Context().Done():
			return r.Context().Err()
		}
	}
}
