package shrink

import (
	"slices"
	"strings"

	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

// part is kept or dropped as a whole: a request with its response, the handshake, or a
// single notification.
type part struct {
	frames []int // indices into the cut's frames, rising
	needs  []need
}

// need lists parts of which one must be kept for another to be legal.
type need struct {
	any    []int
	inside bool // the part is inside of these parts, in their group
}

// cut is a session taken apart.
type cut struct {
	opened []store.Event // the header, if any
	frames []store.Event
	extras []store.Event // no frames, but they may matter to the players: eof, delivered, …
	closed store.Event   // the end of a sealed session

	parts     []part  // by their first frame
	partOf    []int   // frame → part
	handshake int     // a part, or -1
	groups    [][]int // parts inside one another, by first frame
	groupOf   []int   // part → group
}

// takeApart cuts a session. A fragment may lose its handshake alone.
func takeApart(events []store.Event, fragment bool) *cut {
	c := &cut{handshake: -1}
	for _, e := range events {
		switch e.Kind {
		case store.Opened:
			c.opened = append(c.opened, e)
		case store.Frame:
			c.frames = append(c.frames, e)
		case store.Closed:
			c.closed = e
		case store.Stderr, store.Note, store.Lost:
		default:
			c.extras = append(c.extras, e)
		}
	}
	c.link(events)
	if c.handshake >= 0 && !fragment {
		for i := range c.parts {
			if i != c.handshake {
				c.parts[i].needs = append(c.parts[i].needs, need{any: []int{c.handshake}})
			}
		}
	}
	nested := newUnion(len(c.parts))
	for i, p := range c.parts {
		for _, n := range p.needs {
			for _, other := range n.any {
				if n.inside {
					nested.join(i, other)
				}
			}
		}
	}
	number := map[int]int{} // root → group
	for i := range c.parts {
		g, ok := number[nested.root(i)]
		if !ok {
			g = len(c.groups)
			number[nested.root(i)] = g
			c.groups = append(c.groups, nil)
		}
		c.groups[g] = append(c.groups[g], i)
		c.groupOf = append(c.groupOf, g)
	}
	return c
}

// met reports whether a part of the need is kept.
func (n need) met(keep []bool) bool {
	return slices.ContainsFunc(n.any, func(i int) bool { return keep[i] })
}

// dropIllegal drops parts without their needs, until every kept part has its needs.
func (c *cut) dropIllegal(keep []bool) {
	for changed := true; changed; {
		changed = false
		for i, p := range c.parts {
			if keep[i] && slices.ContainsFunc(p.needs, func(need need) bool { return !need.met(keep) }) {
				keep[i] = false
				changed = true
			}
		}
	}
}

// addNeeds adds what the kept parts need, the first of each alternative.
func (c *cut) addNeeds(keep []bool) {
	for changed := true; changed; {
		changed = false
		for i, p := range c.parts {
			for _, n := range p.needs {
				if keep[i] && !n.met(keep) {
					keep[n.any[0]] = true
					changed = true
				}
			}
		}
	}
}

// request is a request of the session, while that is read.
type request struct {
	part     int
	logs     bool // asks for log messages (2026-07-28)
	answered bool
	cancels  []int // the parts of its cancellations
}

// linker reads a session and finds the parts.
type linker struct {
	*cut
	model    *timeline.Model
	of       map[*timeline.Call]*request
	requests []*request
	open     []*request           // of the client, not answered
	listens  map[mcp.Key]*request // the latest listen with an id
	values   map[string][]int     // a cursor, task or state → the parts of the responses with that value
	watched  map[string][]int     // a resource → its subscriptions
}

// link makes the parts. A request and its response are one part. Progress and cancellations
// are inside their request, and so are the requests of a server that handles a request. A
// request with a cursor, a task or a state needs the response that brought the value.
func (c *cut) link(events []store.Event) {
	l := &linker{
		cut: c, model: timeline.NewModel(timeline.All), of: map[*timeline.Call]*request{},
		listens: map[mcp.Key]*request{}, values: map[string][]int{}, watched: map[string][]int{},
	}
	var batches [][]int
	for _, e := range events {
		step := l.model.Take(e)
		for _, refused := range step.Refused {
			l.close(l.of[refused])
		}
		if e.Kind != store.Frame {
			continue
		}
		frame := len(batches)
		var touched []int
		for i := range step.Messages {
			switch m := &step.Messages[i]; m.Kind {
			case transport.Request:
				touched = append(touched, l.request(frame, m))
			case transport.Response:
				touched = append(touched, l.response(frame, m))
			case transport.Notification:
				touched = append(touched, l.notification(frame, step, m))
			default:
				touched = append(touched, l.add(frame))
			}
		}
		if len(touched) == 0 {
			touched = append(touched, l.add(frame))
		}
		batches = append(batches, touched)
	}
	// The messages of a batch cannot be apart, nor can a request without response and its
	// cancellation.
	u := newUnion(len(c.parts))
	for _, parts := range batches {
		for _, p := range parts {
			u.join(p, parts[0])
		}
	}
	for _, r := range l.requests {
		if !r.answered && len(r.cancels) > 0 {
			u.join(r.part, r.cancels[0])
		}
	}
	c.merge(u)
}

// merge makes one part of joined parts, and sorts the parts by first frame.
func (c *cut) merge(union *union) {
	c.partOf = make([]int, len(c.frames))
	for i, p := range c.parts {
		for _, f := range p.frames {
			c.partOf[f] = i
		}
	}
	old := c.parts
	c.parts = nil
	number := map[int]int{} // root → part
	for f, p := range c.partOf {
		n, ok := number[union.root(p)]
		if !ok {
			n = len(c.parts)
			number[union.root(p)] = n
			c.parts = append(c.parts, part{})
		}
		c.parts[n].frames = append(c.parts[n].frames, f)
		c.partOf[f] = n
	}
	for i, p := range old {
		to := number[union.root(i)]
		for _, n := range p.needs {
			var list []int
			for _, other := range n.any {
				list = append(list, number[union.root(other)])
			}
			if !slices.Contains(list, to) { // a part does not need itself
				slices.Sort(list)
				c.parts[to].needs = append(c.parts[to].needs, need{slices.Compact(list), n.inside})
			}
		}
	}
	if c.handshake >= 0 {
		c.handshake = number[union.root(c.handshake)]
	}
}

// add makes a part of its own of a frame.
func (l *linker) add(frame int, needs ...need) int {
	l.parts = append(l.parts, part{frames: []int{frame}, needs: needs})
	return len(l.parts) - 1
}

// extend adds a frame to a part.
func (l *linker) extend(part, frame int) int {
	l.parts[part].frames = append(l.parts[part].frames, frame)
	return part
}

// addInside makes a part inside a request; without a request the part stands alone.
func (l *linker) addInside(frame int, request *request) int {
	if request == nil {
		return l.add(frame)
	}
	return l.add(frame, need{any: []int{request.part}, inside: true})
}

func (l *linker) request(frame int, message *timeline.Message) int {
	call := message.Call
	r := &request{logs: transport.Member(message.Params, mcp.MemberMeta, mcp.MetaLogLevel) != nil}
	r.part = l.add(frame, l.uses(message)...)
	l.of[call] = r
	l.requests = append(l.requests, r)
	if call.Dir == transport.ClientToServer {
		l.open = append(l.open, r)
	} else if strings.HasPrefix(message.Method, "sampling/") || strings.HasPrefix(message.Method, "elicitation/") {
		l.nest(r.part, l.open) // a server asks that for a client's request; the rest by itself
	}
	switch message.Method {
	case mcp.MethodInitialize:
		if l.handshake < 0 {
			l.handshake = r.part
		}
	case mcp.MethodSubscribe:
		uri := string(transport.Member(message.Params, "uri"))
		l.watched[uri] = append(l.watched[uri], r.part)
	case mcp.MethodListen:
		l.listens[call.Key()] = r
	}
	l.bring("elicitation", transport.Member(message.Params, mcp.MemberElicitationID), r.part)
	return r.part
}

// close takes a request out of the open ones.
func (l *linker) close(r *request) {
	l.open = slices.DeleteFunc(l.open, func(open *request) bool { return open == r })
}

// nest puts a part into one of several open requests.
func (l *linker) nest(part int, requests []*request) {
	if len(requests) == 0 {
		return
	}
	n := need{inside: true}
	for _, r := range requests {
		n.any = append(n.any, r.part)
	}
	l.parts[part].needs = append(l.parts[part].needs, n)
}

// response adds a response to the part of its request.
func (l *linker) response(frame int, message *timeline.Message) int {
	r := l.of[message.Call]
	if message.Role != timeline.Answers { // a second response may go alone
		return l.addInside(frame, r)
	}
	r.answered = true
	l.close(r)
	l.bring("cursor", transport.Member(message.Result, mcp.MemberNextCursor), r.part)
	l.bring("task", transport.Member(message.Result, "task", mcp.MemberTaskID), r.part)
	l.bring("task", transport.Member(message.Result, mcp.MemberTaskID), r.part)
	l.bring("state", transport.Member(message.Result, mcp.MemberRequestState), r.part)
	return l.extend(r.part, frame)
}

func (l *linker) notification(frame int, step timeline.Step, m *timeline.Message) int {
	switch m.Method {
	case mcp.NotificationInitialized:
		if l.handshake >= 0 {
			return l.extend(l.handshake, frame)
		}
	case mcp.NotificationProgress:
		return l.addInside(frame, l.of[m.Call])
	case mcp.NotificationCancelled:
		r := l.of[m.Call]
		if r == nil || r.answered { // the request may be the other side's: a server ends a subscription like that
			if other := step.Find(step.Dir.Reverse(), mcp.KeyOf(timeline.CancelledID(m.Message))); other != nil {
				r = l.of[other]
			}
		}
		part := l.addInside(frame, r)
		if r != nil && !r.answered {
			r.cancels = append(r.cancels, part)
		}
		return part
	}
	if raw := transport.Member(m.Params, mcp.MemberMeta, mcp.MetaSubscriptionID); raw != nil {
		id := mcp.KeyOf(raw)
		r := l.listens[id]
		if open := step.Find(step.Dir.Reverse(), id); open != nil {
			r = l.of[open]
		}
		if r != nil && m.Method == mcp.NotificationAcknowledged { // comes first, and goes with the request
			return l.extend(r.part, frame)
		}
		return l.addInside(frame, r)
	}
	needs := l.uses(m)
	if parts := l.watched[string(transport.Member(m.Params, "uri"))]; m.Method == mcp.NotificationResourceUpdated && len(parts) > 0 {
		needs = append(needs, need{any: slices.Clone(parts)})
	}
	part := l.add(frame, needs...)
	if m.Method == mcp.NotificationMessage {
		l.nest(part, slices.DeleteFunc(slices.Clone(l.open), func(request *request) bool { return !request.logs }))
	}
	return part
}

// bring notes a value that later requests may use.
func (l *linker) bring(what string, raw []byte, part int) {
	if raw != nil {
		key := what + " " + string(raw)
		l.values[key] = append(l.values[key], part)
	}
}

// uses returns the needs of a message that has a value of an earlier response.
func (l *linker) uses(message *timeline.Message) []need {
	var needs []need
	for _, v := range [...]struct {
		what string
		raw  []byte
	}{
		{"cursor", transport.Member(message.Params, "cursor")},
		{"task", transport.Member(message.Params, mcp.MemberTaskID)},
		{"task", transport.Member(message.Params, mcp.MemberMeta, mcp.MetaRelatedTask, mcp.MemberTaskID)},
		{"state", transport.Member(message.Params, mcp.MemberRequestState)},
		{"elicitation", transport.Member(message.Params, mcp.MemberElicitationID)},
	} {
		if parts := l.values[v.what+" "+string(v.raw)]; v.raw != nil && len(parts) > 0 {
			needs = append(needs, need{any: slices.Clone(parts)})
		}
	}
	return needs
}

// union finds which numbers hang together.
type union struct{ up []int }

func newUnion(n int) *union {
	u := &union{up: make([]int, n)}
	for i := range u.up {
		u.up[i] = i
	}
	return u
}

func (u *union) root(i int) int {
	for u.up[i] != i {
		u.up[i] = u.up[u.up[i]]
		i = u.up[i]
	}
	return i
}

// join unites two; the lower number stands for both.
func (u *union) join(a, b int) {
	a = u.root(a)
	b = u.root(b)
	u.up[max(a, b)] = min(a, b)
}
