package diff

import (
	"bytes"
	"hash/maphash"
	"slices"
	"time"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

// message is the record of one message, about a hundred bytes and no payload.
type message struct {
	seq     uint64
	at      time.Duration
	stream  uint64
	content uint64 // [Digest].content
	key     uint64 // of a request
	bytes   uint64
	shape   uint64 // the content without values that look made up; only of unpaired messages
	size    int32
	part    int32 // the place in a batch
	name    int32 // the index in names
	call    int32 // the request that an answer, progress or a cancellation names, or none
	near    int32 // else, of a notification and a request: the only call that was open, or none
	reply   int32 // of a request: its answer, or none
	pair    int32 // the message of the other session, or none
	kind    transport.MessageKind
	dir     transport.Direction

	cancelled bool // of a request
}

// none is the index of no message.
const none = -1

// owner is the call that a message belongs to, as far as the session tells.
func (m *message) owner() int32 {
	if m.call != none {
		return m.call
	}
	return m.near
}

// isAnswer reports whether a message answers a request of the session.
func (m *message) isAnswer() bool { return m.kind == transport.Response && m.call != none }

// Session is one recording, folded into a list of messages.
type Session struct {
	Header store.Header
	Events uint64
	Frames uint64
	Lost   uint64
	Exit   string

	took     time.Duration
	seed     maphash.Seed
	names    *names
	list     []message
	requests [3][]int32           // of each direction
	open     map[linkKey][]int32  // requests by id; the first and the last have no answer
	exchange map[linkKey][]int32  // requests by id and HTTP exchange, until that ends
	inStream map[uint64][]linkKey // the keys in exchange, by HTTP exchange
	tokens   map[linkKey]int32    // requests by progress token
	tools    map[string]uint64    // hashes of the tools that the server listed, by name
	toolsSeq uint64               // the last list of tools
	stderr   uint64               // lines of standard error
	lines    map[uint64]int       // how often each line of standard error came, by hash
	status   map[uint64]int32     // of an HTTP exchange
	legacy   bool                 // the transport is HTTP+SSE
	selected []uint64             // a bit for each selected event; nil: all events are
}

// linkKey finds the request that a message names: by direction, the hash of an id or token,
// and the HTTP exchange; exchange 0 finds the latest of any exchange.
type linkKey struct {
	hash   uint64
	stream uint64
	dir    transport.Direction
}

func newSession(seed maphash.Seed, n *names) *Session {
	return &Session{
		seed: seed, names: n, open: map[linkKey][]int32{}, exchange: map[linkKey][]int32{}, inStream: map[uint64][]linkKey{},
		tokens: map[linkKey]int32{}, tools: map[string]uint64{}, lines: map[uint64]int{}, status: map[uint64]int32{},
	}
}

// SelectNone limits the report to events that Select names.
func (s *Session) SelectNone() { s.selected = make([]uint64, s.Events/64+1) }

// Select adds an event to the report's.
func (s *Session) Select(seq uint64) {
	if at := seq / 64; at < uint64(len(s.selected)) {
		s.selected[at] |= 1 << (seq % 64)
	}
}

// isSelected reports whether one of the events is selected.
func (s *Session) isSelected(seqs ...uint64) bool {
	for _, seq := range seqs {
		if at := seq / 64; s.selected == nil || at < uint64(len(s.selected)) && s.selected[at]>>(seq%64)&1 == 1 {
			return true
		}
	}
	return false
}

// keptLines is how many different lines of standard error a session distinguishes.
const keptLines = 100_000

// Apply takes the next event, with the digests of its messages.
func (s *Session) Apply(e store.Event, digests []Digest) (err error) {
	s.Events, s.took = e.Seq, max(s.took, e.At)
	switch e.Kind {
	case store.Frame:
		s.Frames++
		for i := range digests {
			s.message(e, int32(i), &digests[i])
		}
	case store.Stderr:
		s.stderr++
		if h := maphash.Bytes(s.seed, bytes.TrimSpace(e.Payload)); s.lines[h] > 0 || len(s.lines) < keptLines {
			s.lines[h]++
		}
	case store.Opened:
		s.Header, err = store.ParseHeader(e.Payload)
	case store.Exited:
		var info store.ExitInfo
		info, err = store.DecodePayload[store.ExitInfo](e)
		s.Exit = info.String()
	case store.Lost:
		var info store.LostInfo
		info, err = store.DecodePayload[store.LostInfo](e)
		s.Lost += info.Frames
	case store.HTTP:
		var info store.HTTPInfo
		info, err = store.DecodePayload[store.HTTPInfo](e)
		switch info.What {
		case store.HTTPResponse:
			s.status[e.Stream] = int32(info.Status)
		case store.HTTPEnd, store.HTTPAbort, store.HTTPBroken, store.HTTPNone, store.HTTPLeft:
			for _, k := range s.inStream[e.Stream] { // another exchange may still bring the answer
				delete(s.exchange, k)
			}
			delete(s.inStream, e.Stream)
		}
		s.legacy = s.legacy || info.SSE != nil && info.SSE.Event == "endpoint"
	}
	return err
}

// message appends one message, linked to the request that it names.
func (s *Session) message(e store.Event, part int32, g *Digest) {
	m := message{
		seq: e.Seq, at: e.At, stream: e.Stream, part: part, kind: g.kind, dir: e.Dir,
		content: g.content, key: g.key, bytes: g.bytes, size: int32(min(g.size, 1<<30)),
		name: s.names.of(g.method, g.target), call: none, near: none, reply: none, pair: none,
	}
	at := int32(len(s.list))
	switch {
	case g.kind == transport.Request:
		k := linkKey{g.id, 0, e.Dir}
		s.open[k] = append(s.open[k], at)
		if e.Stream != 0 {
			k.stream = e.Stream
			s.exchange[k] = append(s.exchange[k], at)
			s.inStream[e.Stream] = append(s.inStream[e.Stream], k)
		}
		if g.token != 0 {
			s.tokens[linkKey{g.token, 0, e.Dir}] = at
			s.tokens[linkKey{g.token, e.Stream, e.Dir}] = at
		}
	case g.kind == transport.Response:
		s.answer(&m, g, at)
	case g.kind == transport.Invalid: // names no request
	case g.method == mcp.NotificationProgress:
		call, ok := s.tokens[linkKey{g.token, e.Stream, e.Dir.Reverse()}]
		if !ok {
			call, ok = s.tokens[linkKey{g.token, 0, e.Dir.Reverse()}]
		}
		if ok {
			m.call = call
		}
	case g.method == mcp.NotificationCancelled:
		m.call = s.latest(e.Dir, g.id)
		if m.call != none {
			s.list[m.call].cancelled = true
		}
	case g.subscription != 0:
		m.call = s.latest(e.Dir.Reverse(), g.subscription)
	}
	s.list = append(s.list, m)
}

// latest returns the latest open request with an id.
func (s *Session) latest(dir transport.Direction, id uint64) int32 {
	if list := s.open[linkKey{id, 0, dir}]; len(list) > 0 {
		return list[len(list)-1]
	}
	return none
}

// answer links a response to its request: to the first open request with the id in the same
// exchange. If the exchange had no such request, to the first open request with the id that
// HTTP has not refused. A second response to a request belongs to no request.
func (s *Session) answer(m *message, g *Digest, at int32) {
	isOpen := func(at int32) bool { return s.list[at].reply == none }
	k := linkKey{g.id, 0, m.dir.Reverse()}
	open := s.open[k]
	list := s.exchange[linkKey{k.hash, m.stream, k.dir}]
	if len(list) == 0 {
		list = open
		isOpen = func(at int32) bool { return s.list[at].reply == none && s.status[s.list[at].stream] < 300 }
	}
	i := slices.IndexFunc(list, isOpen)
	if i < 0 {
		return
	}
	m.call = list[i]
	s.list[m.call].reply = at
	// Forget answered requests before the first open one and after the last: the map must not
	// hold a million of them.
	for len(open) > 0 && s.list[open[0]].reply != none {
		open = open[1:]
	}
	for len(open) > 0 && s.list[open[len(open)-1]].reply != none {
		open = open[:len(open)-1]
	}
	if len(open) == 0 {
		delete(s.open, k)
	} else {
		s.open[k] = open
	}
	m.name = s.list[m.call].name
	if s.names.list[m.name].method != mcp.MethodListTools {
		return
	}
	s.toolsSeq = m.seq
	for _, t := range g.tools {
		if _, known := s.tools[t.name]; known || len(s.tools) < keptTools {
			s.tools[t.name] = t.content
		}
	}
}

// close ends the fold. It gives each notification and request that names no call the only
// call that was open then, counting only calls that were answered.
func (s *Session) close() {
	var open, sum [3]int32 // of each direction's calls: how many, and the sum of their indices
	for i := range s.list {
		m := &s.list[i]
		to := m.dir.Reverse()
		if m.isAnswer() {
			open[to]--
			sum[to] -= m.call
			continue
		}
		if (m.kind == transport.Notification || m.kind == transport.Request) && m.call == none && open[to] == 1 {
			m.near = sum[to]
		}
		if m.kind != transport.Request {
			continue
		}
		s.requests[m.dir] = append(s.requests[m.dir], int32(i))
		if m.reply != none {
			open[m.dir]++
			sum[m.dir] += int32(i)
		}
	}
	s.open, s.exchange, s.inStream, s.tokens = nil, nil, nil, nil
}

// latency is how long an answered call took.
func (s *Session) latency(m *message) time.Duration { return max(0, s.list[m.reply].at-m.at) }
