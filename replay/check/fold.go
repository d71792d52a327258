package check

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/mcprec/mcprec/replay"
	"github.com/mcprec/mcprec/replay/order"
	"github.com/mcprec/mcprec/replay/phrase"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

// Fold is the projection that finds. [New] makes it.
type Fold struct {
	emit    func(Finding)
	gate    Gate
	scopes  scopes
	tools   definitions
	tallies tallies
	last    [3]moment        // the last frame of each direction
	end     ending           // how the session ended
	stopped [3]uint64        // the event from which its receiver no longer read
	held    [3]time.Duration // for how long the last frame before that was not taken
	notices [3]int           // notifications of each direction
	blocked [3]stall         // the last write of each direction that blocked
	at      time.Duration    // of the latest event
	seq     uint64           // its Seq
	frames  uint64           // so far
	asked   uint64           // requests of the client, but for subscriptions
	replies uint64           // answers to them
	results uint64           // those of the answers that are no error
	came    failures         // what else their requests came to
	listens bool             // the client asked for subscriptions
	slowest time.Duration    // the longest that one of them took, but for the handshake
	cutIn   bool             // it was said that the recording begins in the middle
	heads   bool             // the status of some exchange is recorded
	lost    uint64           // the event of the first gap
	found   map[string]int   // by severity
	hangs   bool             // a call that was left without an answer was found
	skip    map[uint64]bool  // streams whose next frame was sent before
	courses courses
	sent    recent[uint64, place] // events with an id
	flying  *flying
	retries retries
	silence silence
	like    likeness
	fault   error // a schema that cannot be read
}

// stall is a write that blocked.
type stall struct {
	moment
	upto    uint64
	blocked time.Duration
}

// moment is an event and its time; the zero moment is none.
type moment struct {
	seq uint64
	at  time.Duration
}

// New returns a fold that gives its findings to emit.
func New(gate Gate, emit func(Finding)) *Fold {
	return &Fold{
		gate: gate, emit: emit, scopes: newScopes(), tools: definitions{}, tallies: tallies{},
		found: map[string]int{}, skip: map[uint64]bool{}, courses: courses{all: map[uint64]*course{0: {}}},
		sent: newRecent[uint64, place](mostEvents), retries: newRetries(),
		like: likeness{seen: map[string]string{}},
	}
}

// Apply takes the next event.
func (f *Fold) Apply(e store.Event) error {
	if e.Kind == store.Frame && e.Cut == 0 {
		return f.ApplyParsed(e, order.Parse(e.AsFrame()))
	}
	f.seq, f.at = e.Seq, e.At
	switch e.Kind {
	case store.Opened:
		header, err := store.ParseHeader(e.Payload)
		if err == nil && header.Transport == "memory" {
			f.flying = &flying{} // all deliveries are recorded
		}
		return err
	case store.Frame:
		return f.cut(e)
	case store.Note:
		f.noted(e)
	case store.HTTP:
		return f.http(e)
	case store.Closed:
		f.end.sealed = true
		f.silence.ends(e)
	case store.EOF:
		info, err := store.DecodePayload[store.EOFInfo](e)
		if err != nil {
			return err
		}
		f.silence.ends(e)
		way := e.Dir & 3 % 3
		switch info.By {
		case "sender":
			f.end.closed[way] = moment{e.Seq, e.At}
		case "receiver":
			f.stopped[way], f.held[way] = e.Seq, e.At-f.last[way].at
		case "recorder":
			f.end.gaveUp = e.Seq
		}
		return nil
	case store.Exited:
		info, err := store.DecodePayload[store.ExitInfo](e)
		f.end.exit, f.end.exited = info, moment{e.Seq, e.At}
		f.silence.ends(e)
		return err
	case store.Delivered:
		info, err := store.DecodePayload[store.DeliveredInfo](e)
		if err == nil {
			f.takes(e, info)
		}
		f.blocked[e.Dir&3%3] = stall{moment{e.Seq, e.At}, info.Upto, info.Blocked}
		return err
	case store.Lost:
		info, err := store.DecodePayload[store.LostInfo](e)
		f.lose(e, info)
		return err
	}
	return nil
}

// ApplyParsed is Apply of a frame that was read already.
func (f *Fold) ApplyParsed(e store.Event, p order.Parsed) error {
	if e.Dir != transport.ClientToServer && e.Dir != transport.ServerToClient {
		return fmt.Errorf("frame event %d: no direction", e.Seq)
	}
	if e.Cut > 0 {
		return f.cut(e)
	}
	f.seq, f.at = e.Seq, e.At
	f.frames++
	if e.Dir == transport.ClientToServer {
		f.silence.speaks(f, e)
	}
	f.last[e.Dir] = moment{e.Seq, e.At}
	if end := f.end.closed[e.Dir].seq; end != 0 && e.Stream == 0 {
		f.finds(afterEnd, e.Dir, "", []uint64{e.Seq, end}, "the %s sent a frame after the end of its stream (#%d)", e.Dir.Sender(), end)
	}
	x := f.passes(e, p)
	if f.skip[e.Stream] {
		delete(f.skip, e.Stream)
		return nil
	}
	if e.Dir == transport.ServerToClient && x.refused() && (x.turnedAway() || !answersInWords(p)) {
		f.concludes(e, nil, x, p)
		return nil
	}
	if p.Messages == nil {
		f.noise(e)
		return nil
	}
	if !utf8.Valid(e.Payload) {
		f.finds(notUTF8, e.Dir, "", []uint64{e.Seq}, "the %s sent a message that is not UTF-8", e.Dir.Sender())
	}
	if e.Stream != 0 && e.Dir == transport.ClientToServer {
		x.posts(p)
	}
	s := f.scopes.of(e, p)
	if s == nil {
		f.cancelsElsewhere(e, p)
		return nil
	}
	s.last[e.Dir] = moment{e.Seq, e.At}
	for i := range p.Messages {
		s.begins(e, &p.Messages[i])
	}
	for _, v := range s.rules.Observe(e.Dir, p) {
		if s.kept && s.begun == middle && v.NeedsBeginning() {
			f.headless(s)
			continue
		}
		f.violation(e, v)
	}
	if e.Stream != 0 && e.Dir == transport.ClientToServer {
		frame := p.Keys()
		x.undo = append(x.undo, func(string) { s.rules.Refuse(transport.ClientToServer, frame) })
	}
	for i := range p.Messages {
		f.message(e, s, &p.Messages[i])
		if m := &p.Messages[i]; e.Stream != 0 && e.Dir == transport.ServerToClient && m.Kind() == transport.Response {
			f.answersOnGet(e, x, string(m.ID))
		}
	}
	if e.Dir == transport.ClientToServer && x.refused() { // before its body was here
		f.refuses(e, x.status)
	}
	f.concludes(e, s, x, p)
	return f.fault
}

// concludes takes note of what a frame over HTTP is the whole of: a request's body, or
// a response that is one body, of which some recordings say no end.
func (f *Fold) concludes(e store.Event, s *scope, x *course, p order.Parsed) {
	switch {
	case e.Stream == 0:
	case e.Dir == transport.ClientToServer && len(p.Messages) == 1:
		f.routed(e, s, &p.Messages[0])
	case e.Dir == transport.ServerToClient && x.single && x.ended == 0:
		f.exchangeEnds(e, store.HTTPInfo{What: store.HTTPEnd})
	}
}

// message follows a message's call.
func (f *Fold) message(e store.Event, s *scope, m *transport.Message) {
	if m.Kind() != transport.Invalid {
		f.introduces(e, s, m)
	}
	switch m.Kind() {
	case transport.Request:
		f.opens(e, s, m)
		f.fits(e, s, m, "")
	case transport.Response:
		f.fits(e, s, m, f.answers(e, s, m))
	case transport.Notification:
		f.notices[e.Dir]++
		f.notifies(e, s, m)
		f.fits(e, s, m, "")
	case transport.Invalid:
		f.finds(noise, e.Dir, s.rules.Revision(), []uint64{e.Seq}, "the %s sent JSON that is no message: %s", e.Dir.Sender(), excerpt(m.Raw))
	}
}

// noise tells of bytes that are no message.
func (f *Fold) noise(e store.Event) {
	if len(bytes.TrimSpace(e.Payload)) == 0 {
		f.finds(blank, e.Dir, "", []uint64{e.Seq}, "the %s sent a blank line", e.Dir.Sender())
		return
	}
	f.finds(noise, e.Dir, "", []uint64{e.Seq}, "the %s sent %s that %s no message: %s", e.Dir.Sender(),
		phrase.Plural(e.Size(), "byte"), phrase.Agree(e.Size(), "is", "are"), excerpt(e.Payload))
}

func (f *Fold) lose(e store.Event, info store.LostInfo) {
	f.finds(gap, e.Dir, "", []uint64{e.Seq}, "%s with %s %s not recorded (%s): from here on nothing is certain",
		phrase.Plural(info.Frames, "event"), phrase.Plural(info.Bytes, "byte"), phrase.Agree(info.Frames, "is", "are"), clip(info.Reason))
	if f.lost == 0 {
		f.lost = e.Seq
	}
}

// cut takes a frame whose end is not recorded: what it was is not certain.
func (f *Fold) cut(e store.Event) error {
	f.seq, f.at = e.Seq, e.At
	f.frames++
	f.last[e.Dir&3%3] = moment{e.Seq, e.At}
	if e.Stream == 0 { // the event behind it tells
		if f.lost == 0 {
			f.lost = e.Seq
		}
		return nil
	}
	f.lose(e, store.LostInfo{Frames: 1, Bytes: e.Cut, Reason: "it is longer than was to be recorded of a frame"})
	return nil
}

// violation gives out what package order found.
func (f *Fold) violation(e store.Event, v order.Violation) {
	text, severity := phrase.Shorten(v.Text, 300), v.Severity
	switch {
	case v.Race:
		text += "; it may have crossed it, which a recording cannot tell"
	case f.scopes.unordered(e, v):
		severity = order.Note
		text += "; over HTTP these are two streams, whose order a recording cannot tell"
	}
	f.give(Finding{
		Rule: v.Rule, Title: v.Title, Severity: severity, Revision: v.Revision, Section: v.Section,
		Dir: e.Dir, Events: []uint64{e.Seq}, Text: text,
	})
}

// finds gives out a finding of one of the rules here.
func (f *Fold) finds(d order.Demand, dir transport.Direction, revision string, events []uint64, format string, args ...any) {
	f.give(Finding{
		Rule: d.Rule, Title: d.Title, Severity: d.Severity, Revision: revision, Section: d.Section,
		Dir: dir, Events: events, Text: fmt.Sprintf(format, args...),
	})
}

// give hands a finding out. Behind a gap what seems wrong may be what is missing.
func (f *Fold) give(found Finding) {
	if f.lost != 0 && found.Severity == order.Error && found.Rule[0] != 'G' {
		found.Severity = order.Warning
		found.Text += fmt.Sprintf("; or what is missing at #%d explains it", f.lost)
	}
	found.Revision = clip(found.Revision) // a peer may name any
	f.found[found.Severity.String()]++
	f.hangs = f.hangs || found.Rule == unanswered.Rule
	f.emit(found)
}

// lane is one direction, over HTTP of one exchange: what was written on it, and taken.
// A session in memory also says how many frames were on their way.
type lane struct {
	sent  uint64 // the last frame
	taken uint64 // the last that is known to be taken
	by    uint64 // the event that said so
}

// takes is rules U1 and U2, of what an event says that a receiver has taken.
func (f *Fold) takes(e store.Event, info store.DeliveredInfo) {
	f.flying.takes(e, info.Upto)
	if info.Upto >= e.Seq {
		f.finds(takenUnsent, e.Dir, "", []uint64{e.Seq}, "the %s took #%d, which stands behind it", e.Dir.Receiver(), info.Upto)
		return
	}
	x := f.courses.of(e.Stream)
	if x == nil {
		return
	}
	switch l := &x.lanes[e.Dir&3%3]; {
	case info.Upto > l.sent:
		f.finds(takenUnsent, e.Dir, "", []uint64{e.Seq}, "the %s took #%d, and the %s had written no frame behind #%d", e.Dir.Receiver(), info.Upto, e.Dir.Sender(), l.sent)
	case info.Upto < l.taken:
		f.finds(takenBack, e.Dir, "", []uint64{e.Seq, l.by}, "the %s took #%d after it had taken #%d (#%d)", e.Dir.Receiver(), info.Upto, l.taken, l.by)
	default:
		l.taken, l.by = info.Upto, e.Seq
	}
}

// flying is which frames are on their way in a session in memory, each of whose
// deliveries is recorded; nil of others. Several threads may write at once, and each has
// a frame in its hand: only progress of one token is sure to be of one, as it rises.
type flying struct {
	frames [3][]progressFrame
	most   [3]int    // of one token at once
	at     [3]uint64 // the frame with which there were
}

type progressFrame struct {
	seq   uint64
	token string
}

// mostFlying is how many frames are followed; a lane without bounds may have any number.
const mostFlying = 4096

func (w *flying) sends(e store.Event, p order.Parsed) {
	if w == nil || e.Stream != 0 || len(p.Messages) != 1 || p.Messages[0].Method != mcp.NotificationProgress {
		return
	}
	way, token := e.Dir&3%3, string(mcp.KeyOf(p.Messages[0].ProgressToken()))
	if len(w.frames[way]) >= mostFlying {
		return
	}
	w.frames[way] = append(w.frames[way], progressFrame{e.Seq, strings.Clone(token)})
	n := 0
	for _, f := range w.frames[way] {
		if f.token == token {
			n++
		}
	}
	if n > w.most[way] {
		w.most[way], w.at[way] = n, e.Seq
	}
}

func (w *flying) takes(e store.Event, upto uint64) {
	if w == nil || e.Stream != 0 {
		return
	}
	way := e.Dir & 3 % 3
	n := 0
	for n < len(w.frames[way]) && w.frames[way][n].seq <= upto {
		n++
	}
	w.frames[way] = w.frames[way][n:]
}

// noted is rule U4, where an exploration notes its token, and in it the capacity. A frame
// stands where its Write began: one more than the capacity may wait in its writer's hand.
func (f *Fold) noted(e store.Event) {
	w := f.flying
	rooms, ok := roomsOf(e.Payload)
	if w == nil || !ok {
		return
	}
	for _, dir := range []transport.Direction{transport.ClientToServer, transport.ServerToClient} {
		if room := rooms[dir]; room >= 0 && w.most[dir] > int(room)+1 {
			f.finds(overfull, dir, "", []uint64{w.at[dir], e.Seq}, "%d frames of progress of one call of the %s were on their way at once, at a capacity of %v (#%d)", w.most[dir], dir.Receiver(), room, e.Seq)
		}
	}
}

// roomsOf reads the capacities of a token of an exploration.
func roomsOf(note []byte) (rooms [3]replay.Room, ok bool) {
	_, rest, found := bytes.Cut(note, []byte("token mcprec1."))
	text, _, _ := strings.Cut(string(rest[:min(len(rest), 64)]), ".")
	c2s, s2c, both := strings.Cut(text, "-")
	if !found || !both {
		return rooms, false
	}
	for dir, text := range map[transport.Direction]string{transport.ClientToServer: c2s, transport.ServerToClient: s2c} {
		if text == "u" {
			text = replay.Unbounded.String()
		}
		room, err := replay.ParseRoom(text)
		if err != nil {
			return rooms, false
		}
		rooms[dir] = room
	}
	return rooms, true
}

// mostFaults is how many places of one message are told; the others are counted.
const mostFaults = 5

// fits is rule S1 of a message; the method is its request's if it is a response.
func (f *Fold) fits(e store.Event, s *scope, m *transport.Message, method string) {
	if f.gate.Schema == nil {
		return
	}
	revision := s.rules.Revision()
	if revision == "" {
		revision = f.revisionOf(f.courses.begin(e.Stream))
	}
	faults, err := f.gate.Schema.Check(revision, m, method)
	if err != nil && f.fault == nil {
		f.fault = err
	}
	for i, fault := range faults {
		if i == mostFaults {
			f.finds(misfit, e.Dir, revision, []uint64{e.Seq}, "%s of the %s does not fit in %s", named(m, method), e.Dir.Sender(), phrase.Plural(len(faults)-i, "more place"))
			return
		}
		d, text, path := misfit, phrase.Shorten(fault.Text, 300), fault.Path
		if path == "" {
			path = "the message"
		}
		if fault.Reason != "" {
			d, text = misprint, text+"; "+fault.Reason
		}
		f.finds(d, e.Dir, revision, []uint64{e.Seq}, "%s of the %s: %s: %s", named(m, method), e.Dir.Sender(), phrase.Shorten(path, 200), text)
	}
}

func named(m *transport.Message, method string) string {
	switch {
	case m.Kind() != transport.Response:
		return clip(m.Method)
	case method == "":
		return "a response"
	}
	return "the response to " + clip(method)
}

// introduces applies the rules P13 and P14: each message must name its JSON-RPC version,
// and from 2026-07-28 on each request its revision and its client. They need no schema, and
// every peer looks at them.
func (f *Fold) introduces(e store.Event, s *scope, m *transport.Message) {
	revision := s.rules.Revision()
	if !saysJSONRPC(m.Raw) {
		said := `without "jsonrpc":"2.0"`
		if version := transport.Member(m.Raw, "jsonrpc"); version != nil {
			said = fmt.Sprintf(`with "jsonrpc":%s, not "2.0"`, clip(string(version)))
		}
		f.finds(notJSONRPC, e.Dir, revision, []uint64{e.Seq}, "the %s sent %s %s", e.Dir.Sender(), named(m, ""), said)
	}
	if e.Dir != transport.ClientToServer || m.Kind() != transport.Request || m.Method == mcp.MethodInitialize {
		return
	}
	if revision = max(revision, f.revisionOf(f.courses.begin(e.Stream)), versionOf(m)); revision < mcp.Revision2026_07_28 {
		return
	}
	var missing []string
	for _, name := range []string{mcp.MetaProtocolVersion, mcp.MetaClientCapabilities} {
		if transport.Member(m.Params, mcp.MemberMeta, name) == nil {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		f.finds(unnamed, e.Dir, revision, []uint64{e.Seq}, "the client sent %s (id %s) without %s in its _meta", clip(m.Method), clip(string(m.ID)), strings.Join(missing, " and "))
	}
	if !slices.Contains(missing, mcp.MetaProtocolVersion) && transport.Member(m.Params, mcp.MemberMeta, mcp.MetaClientInfo) == nil {
		f.finds(anonymous, e.Dir, revision, []uint64{e.Seq}, "the client sent %s (id %s) without %s in its _meta", clip(m.Method), clip(string(m.ID)), mcp.MetaClientInfo)
	}
}

// saysJSONRPC reports whether a message has the member that all have. Most have it first
// or last, where it is found without reading the others.
func saysJSONRPC(message []byte) bool {
	const member = `"jsonrpc":"2.0"`
	return bytes.HasPrefix(message, []byte("{"+member+",")) || bytes.HasSuffix(message, []byte(","+member+"}")) ||
		string(transport.Member(message, "jsonrpc")) == `"2.0"`
}
