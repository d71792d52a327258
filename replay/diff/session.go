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

// message is what is held of each.
type message struct {
	seq     uint64
	at      time.Duration
	stream  uint64
	content uint64
	key     uint64 // of a request
	bytes   uint64
	shape   uint64 // of what is left without it
	size    int32
	part    int32 // its place in a batch
	name    int32 // in the comparison's names
	call    int32 // that an answer, progress or a cancellation names; else none
	near    int32 // of a notification and of a request: the only call that was open; else none
	reply   int32 // of a request
	pair    int32 // in the other session
	kind    transport.MessageKind
	dir     transport.Direction

	cancelled bool // of a request
}

// none is the index of no message.
const none = -1

// Session is a recording, folded.
type Session struct {
	Header  store.Header
	Events  uint64
	Frames  uint64
	Lost    uint64
	Exit    string
	took    time.Duration
	seed    maphash.Seed
	names   *names
	list    []message
	asks    [3][]int32           // the requests of each direction
	waiting map[linkKey][]int32  // by id: the first and the last are open
	calls   map[linkKey][]int32  // by id and HTTP exchange, until that ends
	asked   map[uint64][]linkKey // the keys of calls, by exchange
	tokens  map[linkKey]int32
	tools   map[string]uint64
	listed  uint64           // Seq of the last list of tools
	said    map[uint64]int   // lines of standard error, by hash, how often
	status  map[uint64]int32 // of an HTTP exchange
	legacy  bool             // the transport is HTTP+SSE
	stderr  uint64
	chosen  []uint64 // a bit for each event that is selected; nil: all are
}

// SelectNone leaves only events to tell of that Select names.
func (s *Session) SelectNone() { s.chosen = make([]uint64, s.Events/64+1) }

// Select names an event that is told of.
func (s *Session) Select(seq uint64) {
	if at := seq / 64; at < uint64(len(s.chosen)) {
		s.chosen[at] |= 1 << (seq % 64)
	}
}

// isChosen reports whether one of the events is told of.
func (s *Session) isChosen(seqs ...uint64) bool {
	for _, seq := range seqs {
		if at := seq / 64; s.chosen == nil || at < uint64(len(s.chosen)) && s.chosen[at]>>(seq%64)&1 == 1 {
			return true
		}
	}
	return false
}

// linkKey finds the request that a message names: by its direction, the hash of an id,
// and the HTTP exchange, or 0 for the latest of any.
type linkKey struct {
	hash   uint64
	stream uint64
	dir    transport.Direction
}

func newSession(seed maphash.Seed, n *names) *Session {
	return &Session{
		seed: seed, names: n, waiting: map[linkKey][]int32{}, calls: map[linkKey][]int32{}, asked: map[uint64][]linkKey{},
		tokens: map[linkKey]int32{}, tools: map[string]uint64{}, said: map[uint64]int{}, status: map[uint64]int32{},
	}
}

// keptLines is how many different lines of standard error are told apart.
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
		if h := maphash.Bytes(s.seed, bytes.TrimSpace(e.Payload)); s.said[h] > 0 || len(s.said) < keptLines {
			s.said[h]++
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
			for _, k := range s.asked[e.Stream] { // it may still be answered on another exchange
				delete(s.calls, k)
			}
			delete(s.asked, e.Stream)
		}
		s.legacy = s.legacy || info.SSE != nil && info.SSE.Event == "endpoint"
	}
	return err
}

// message takes one message, and links it to the request that it names.
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
		s.waiting[k] = append(s.waiting[k], at)
		if k.stream = e.Stream; k.stream != 0 {
			s.calls[k] = append(s.calls[k], at)
			s.asked[e.Stream] = append(s.asked[e.Stream], k)
		}
		if g.token != 0 {
			s.tokens[linkKey{g.token, 0, e.Dir}] = at
			s.tokens[linkKey{g.token, e.Stream, e.Dir}] = at
		}
	case g.kind == transport.Response:
		s.answer(&m, g, at)
	case g.kind == transport.Invalid: // it names no request
	case g.method == mcp.NotificationProgress:
		call, ok := s.tokens[linkKey{g.token, e.Stream, e.Dir.Reverse()}]
		if !ok {
			call, ok = s.tokens[linkKey{g.token, 0, e.Dir.Reverse()}]
		}
		if ok {
			m.call = call
		}
	case g.method == mcp.NotificationCancelled:
		if m.call = s.latest(e.Dir, g.id); m.call != none {
			s.list[m.call].cancelled = true
		}
	case g.stands != 0:
		m.call = s.latest(e.Dir.Reverse(), g.stands)
	}
	s.list = append(s.list, m)
}

// latest finds the latest open request with an id.
func (s *Session) latest(dir transport.Direction, id uint64) int32 {
	if list := s.waiting[linkKey{id, 0, dir}]; len(list) > 0 {
		return list[len(list)-1]
	}
	return none
}

// answer finds the request that a response answers: that of its exchange, and where the
// exchange asked nothing with the id the first that is open and that HTTP has not refused.
// A second response to a request belongs to none.
func (s *Session) answer(m *message, g *Digest, at int32) {
	isOpen := func(at int32) bool { return s.list[at].reply == none }
	k := linkKey{g.id, 0, m.dir.Reverse()}
	waiting := s.waiting[k]
	list := s.calls[linkKey{k.hash, m.stream, k.dir}]
	if len(list) == 0 {
		list = waiting
		isOpen = func(at int32) bool { return s.list[at].reply == none && s.status[s.list[at].stream] < 300 }
	}
	i := slices.IndexFunc(list, isOpen)
	if i < 0 {
		return
	}
	m.call = list[i]
	s.list[m.call].reply = at
	// Forget the calls that are over, before the first that is open and after the last:
	// a million of them are not held.
	for len(waiting) > 0 && s.list[waiting[0]].reply != none {
		waiting = waiting[1:]
	}
	for len(waiting) > 0 && s.list[waiting[len(waiting)-1]].reply != none {
		waiting = waiting[:len(waiting)-1]
	}
	if s.waiting[k] = waiting; len(waiting) == 0 {
		delete(s.waiting, k)
	}
	m.name = s.list[m.call].name
	if s.names.list[m.name].method != mcp.MethodListTools {
		return
	}
	s.listed = m.seq
	for _, t := range g.tools {
		if _, known := s.tools[t.name]; known || len(s.tools) < keptTools {
			s.tools[t.name] = t.content
		}
	}
}

// close looks back over the whole session: of what names no call it finds the only one
// that was open, of those that were answered.
func (s *Session) close() {
	var open, sum [3]int32
	for i := range s.list {
		m := &s.list[i]
		to := m.dir.Reverse()
		switch {
		case m.kind == transport.Response && m.call != none:
			open[to]--
			sum[to] -= m.call
			continue
		case (m.kind == transport.Notification || m.kind == transport.Request) && m.call == none && open[to] == 1:
			m.near = sum[to]
		}
		if m.kind == transport.Request {
			s.asks[m.dir] = append(s.asks[m.dir], int32(i))
		}
		if m.kind == transport.Request && m.reply != none {
			open[m.dir]++
			sum[m.dir] += int32(i)
		}
	}
	s.waiting, s.calls, s.asked, s.tokens = nil, nil, nil, nil
}

// owner is the call that a message belongs to, as far as one can tell.
func (m *message) owner() int32 {
	if m.call != none {
		return m.call
	}
	return m.near
}
