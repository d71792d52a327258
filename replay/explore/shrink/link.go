package shrink

import (
	"cmp"
	"slices"
	"strings"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

// request is a request of the session and what is known of it while it is read.
type request struct {
	part     int
	on       uint64 // the HTTP exchange; 0: none
	method   string
	logs     bool // it asks for log messages (2026-07-28)
	answered bool
	cancels  []int // parts that cancel it
}

// named is an id or a token, by the direction of its request.
type named struct {
	dir transport.Direction
	key mcp.Key
}

// linker reads a session and says what belongs to what.
type linker struct {
	*cut
	latest   map[named]*request   // by id
	asked    map[named][]*request // by id, without those before the first that is not answered
	tokens   map[named]*request
	requests []*request
	open     []*request       // of the client, not answered
	brought  map[string][]int // a cursor, task or state → parts whose response had it
	watched  map[string][]int // a resource → its subscriptions
}

// link makes the parts. A request and its response are one; progress and
// cancellations happen inside of their request, so does what a server asks while
// it handles one; what uses a cursor, a task or a state needs who brought it.
func (c *cut) link() {
	l := &linker{
		cut: c, latest: map[named]*request{}, asked: map[named][]*request{}, tokens: map[named]*request{},
		brought: map[string][]int{}, watched: map[string][]int{},
	}
	var batches [][]int
	for i, e := range c.frames {
		messages, _ := e.AsFrame().Messages()
		var touched []int
		for _, m := range messages {
			touched = append(touched, l.message(i, e, m))
		}
		if len(messages) == 0 {
			touched = append(touched, l.add(i))
		}
		if len(touched) > 1 {
			batches = append(batches, touched)
		}
	}
	c.join(l, batches)
	c.sort()
}

// join merges what cannot be apart: the messages of a batch, and the cancellation
// of a request that nothing else ends.
func (c *cut) join(l *linker, batches [][]int) {
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

func (l *linker) message(frame int, e store.Event, m transport.Message) int {
	dir := e.Dir
	switch m.Kind() {
	case transport.Request:
		return l.request(frame, e, m)
	case transport.Response:
		return l.response(frame, e, m)
	case transport.Notification:
		return l.notification(frame, dir, m)
	}
	return l.add(frame)
}

func (l *linker) request(frame int, e store.Event, m transport.Message) int {
	dir := e.Dir
	r := &request{on: e.Stream, method: m.Method, logs: transport.Member(m.Params, mcp.MemberMeta, mcp.MetaLogLevel) != nil}
	r.part = l.add(frame, l.uses(m)...)
	if dir == transport.ServerToClient && isNested(m.Method) && len(l.open) > 0 {
		l.inside(r.part, l.open)
	}
	if m.Method == mcp.MethodInitialize && l.handshake < 0 {
		l.handshake = r.part
	}
	if m.Method == mcp.MethodSubscribe {
		uri := string(transport.Member(m.Params, "uri"))
		l.watched[uri] = append(l.watched[uri], r.part)
	}
	id := named{dir, mcp.KeyOf(m.ID)}
	l.latest[id], l.asked[id] = r, append(l.asked[id], r)
	if token := m.ProgressToken(); token != nil {
		l.tokens[named{dir, mcp.KeyOf(token)}] = r
	}
	l.requests = append(l.requests, r)
	if dir == transport.ClientToServer {
		l.open = append(l.open, r)
	}
	if id := transport.Member(m.Params, mcp.MemberElicitationID); id != nil {
		l.bring("elicitation", id, r.part)
	}
	return r.part
}

// isNested tells the requests that a server makes for a client's request from
// those it makes by itself.
func isNested(method string) bool {
	return strings.HasPrefix(method, "sampling/") || strings.HasPrefix(method, "elicitation/")
}

// inside puts a part into one of several open requests.
func (l *linker) inside(part int, requests []*request) {
	n := need{inside: true}
	for _, r := range requests {
		n.any = append(n.any, r.part)
	}
	l.parts[part].needs = append(l.parts[part].needs, n)
}

// answered returns the request that a response answers: that of its exchange, and where
// that asked nothing with the id the first that is open, or one that was answered.
func (l *linker) answered(id named, on uint64) *request {
	list := l.asked[id]
	for len(list) > 0 && list[0].answered {
		list = list[1:]
	}
	l.asked[id] = list
	first := l.latest[id]
	if len(list) > 0 {
		first = list[0]
	}
	for _, r := range list {
		if r.on == on && !r.answered {
			return r
		}
	}
	return first
}

func (l *linker) response(frame int, e store.Event, m transport.Message) int {
	r := l.answered(named{e.Dir.Reverse(), mcp.KeyOf(m.ID)}, e.Stream)
	if r == nil {
		return l.add(frame)
	}
	if r.answered { // a second response: it may go alone
		return l.add(frame, need{any: []int{r.part}, inside: true})
	}
	r.answered = true
	l.open = slices.DeleteFunc(l.open, func(o *request) bool { return o == r })
	l.brings(m, r.part)
	return l.extend(r.part, frame)
}

func (l *linker) notification(frame int, dir transport.Direction, m transport.Message) int {
	switch m.Method {
	case mcp.NotificationInitialized:
		if l.handshake >= 0 {
			return l.extend(l.handshake, frame)
		}
	case mcp.NotificationProgress:
		return l.about(frame, l.tokens[named{dir.Reverse(), mcp.KeyOf(m.ProgressToken())}])
	case mcp.NotificationCancelled:
		// The request may be either side's: a server ends a subscription like that.
		id := mcp.KeyOf(transport.Member(m.Params, mcp.MemberRequestID))
		r := l.latest[named{dir, id}]
		if r == nil || r.answered {
			if other := l.latest[named{dir.Reverse(), id}]; other != nil && !other.answered {
				r = other
			}
		}
		part := l.about(frame, r)
		if r != nil && !r.answered {
			r.cancels = append(r.cancels, part)
		}
		return part
	}
	if id := transport.Member(m.Params, mcp.MemberMeta, mcp.MetaSubscriptionID); id != nil {
		r := l.latest[named{dir.Reverse(), mcp.KeyOf(id)}]
		if r != nil && m.Method == mcp.NotificationAcknowledged { // comes first whatever follows, so it goes with the request
			return l.extend(r.part, frame)
		}
		return l.about(frame, r)
	}
	part := l.add(frame, l.uses(m)...)
	switch m.Method {
	case mcp.NotificationResourceUpdated:
		if subscriptions := l.watched[string(transport.Member(m.Params, "uri"))]; len(subscriptions) > 0 {
			l.parts[part].needs = append(l.parts[part].needs, need{any: slices.Clone(subscriptions)})
		}
	case mcp.NotificationMessage:
		logged := slices.Clone(l.open)
		logged = slices.DeleteFunc(logged, func(r *request) bool { return !r.logs })
		if len(logged) > 0 {
			l.inside(part, logged)
		}
	}
	return part
}

// about makes a part inside a request, or of its own when there is none.
func (l *linker) about(frame int, r *request) int {
	if r == nil {
		return l.add(frame)
	}
	return l.add(frame, need{any: []int{r.part}, inside: true})
}

// brings notes the values of a response that later requests may use.
func (l *linker) brings(m transport.Message, part int) {
	l.bring("cursor", transport.Member(m.Result, mcp.MemberNextCursor), part)
	l.bring("task", transport.Member(m.Result, "task", mcp.MemberTaskID), part)
	l.bring("task", transport.Member(m.Result, mcp.MemberTaskID), part)
	l.bring("state", transport.Member(m.Result, mcp.MemberRequestState), part)
}

func (l *linker) bring(what string, raw []byte, part int) {
	if raw != nil {
		key := what + " " + string(raw)
		l.brought[key] = append(l.brought[key], part)
	}
}

// uses returns the needs of a message that has a value of an earlier response.
func (l *linker) uses(m transport.Message) []need {
	var needs []need
	for _, v := range [...]struct {
		what string
		raw  []byte
	}{
		{"cursor", transport.Member(m.Params, "cursor")},
		{"task", transport.Member(m.Params, mcp.MemberTaskID)},
		{"task", transport.Member(m.Params, mcp.MemberMeta, mcp.MetaRelatedTask, mcp.MemberTaskID)},
		{"state", transport.Member(m.Params, mcp.MemberRequestState)},
		{"elicitation", transport.Member(m.Params, mcp.MemberElicitationID)},
	} {
		if parts := l.brought[v.what+" "+string(v.raw)]; v.raw != nil && len(parts) > 0 {
			needs = append(needs, need{any: slices.Clone(parts)})
		}
	}
	return needs
}

// part is what is kept or dropped as one: a request with its response, the
// handshake, or a single notification.
type part struct {
	frames []int // indices into the cut's frames, rising
	needs  []need
}

// need lists parts of which one must be kept for another to be legal.
type need struct {
	any    []int
	inside bool // it happens inside of them: they are one group
}

// cut is a session taken apart.
type cut struct {
	opened []store.Event // the header, if there is one
	frames []store.Event
	extras []store.Event // no frames, but they may matter to who plays: eof, delivered, …
	closed store.Event   // its end, if it was sealed

	parts     []part
	partOf    []int   // frame → part
	handshake int     // a part, or -1
	groups    [][]int // parts that hang together, by their first frame
	groupOf   []int   // part → group
}

// take takes a session apart. Of a fragment the handshake may go by itself.
func take(events []store.Event, fragment bool) *cut {
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
	c.link()
	if c.handshake >= 0 && !fragment {
		for i := range c.parts {
			if i != c.handshake {
				c.parts[i].needs = append(c.parts[i].needs, need{any: []int{c.handshake}})
			}
		}
	}
	u := newUnion(len(c.parts)) // of the parts that happen inside one another
	for i, p := range c.parts {
		for _, n := range p.needs {
			for _, of := range n.any {
				if n.inside {
					u.join(i, of)
				}
			}
		}
	}
	c.groupOf = make([]int, len(c.parts))
	number := map[int]int{}
	for i := range c.parts {
		g, ok := number[u.root(i)]
		if !ok {
			g = len(c.groups)
			number[u.root(i)] = g
			c.groups = append(c.groups, nil)
		}
		c.groups[g] = append(c.groups[g], i)
		c.groupOf[i] = g
	}
	return c
}

// lower drops the parts whose needs are not kept, until what is left is
// down-closed.
func (c *cut) lower(keep []bool) {
	for changed := true; changed; {
		changed = false
		for i, p := range c.parts {
			if keep[i] && !p.stands(keep) {
				keep[i], changed = false, true
			}
		}
	}
}

// raise adds what the kept parts need, the first of each alternative.
func (c *cut) raise(keep []bool) {
	for changed := true; changed; {
		changed = false
		for i, p := range c.parts {
			for _, n := range p.needs {
				if keep[i] && !n.met(keep) {
					keep[n.any[0]], changed = true, true
				}
			}
		}
	}
}

func (p part) stands(keep []bool) bool {
	return !slices.ContainsFunc(p.needs, func(n need) bool { return !n.met(keep) })
}

func (n need) met(keep []bool) bool {
	return slices.ContainsFunc(n.any, func(i int) bool { return keep[i] })
}

// merge makes one part of those that were joined: a batch has messages of several.
func (c *cut) merge(u *union) {
	index := make([]int, len(c.parts)) // old → new
	var parts []part
	number := map[int]int{}
	for i := range c.parts {
		n, ok := number[u.root(i)]
		if !ok {
			n = len(parts)
			number[u.root(i)] = n
			parts = append(parts, part{})
		}
		index[i] = n
		parts[n].frames = append(parts[n].frames, c.parts[i].frames...)
		parts[n].needs = append(parts[n].needs, c.parts[i].needs...)
	}
	c.parts = parts
	c.renumber(index)
}

// sort brings the parts into the order of their first frames.
func (c *cut) sort() {
	order := make([]int, len(c.parts))
	for i := range c.parts {
		order[i] = i
		slices.Sort(c.parts[i].frames)
		c.parts[i].frames = slices.Compact(c.parts[i].frames)
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Compare(c.parts[a].frames[0], c.parts[b].frames[0])
	})
	index := make([]int, len(order))
	parts := make([]part, len(order))
	for to, from := range order {
		index[from] = to
		parts[to] = c.parts[from]
	}
	c.parts = parts
	c.renumber(index)
	c.partOf = make([]int, len(c.frames))
	for i, p := range c.parts {
		for _, f := range p.frames {
			c.partOf[f] = i
		}
	}
}

// renumber takes the needs to the new numbers of their parts, and forgets what a
// part would need of itself.
func (c *cut) renumber(index []int) {
	for i := range c.parts {
		var needs []need
		for _, n := range c.parts[i].needs {
			var list []int
			for _, old := range n.any {
				list = append(list, index[old])
			}
			if !slices.Contains(list, i) {
				slices.Sort(list)
				needs = append(needs, need{slices.Compact(list), n.inside})
			}
		}
		c.parts[i].needs = needs
	}
	if c.handshake >= 0 {
		c.handshake = index[c.handshake]
	}
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
	a, b = u.root(a), u.root(b)
	u.up[max(a, b)] = min(a, b)
}
