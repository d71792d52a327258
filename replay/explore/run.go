package explore

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/mcprec/mcprec/replay/phrase"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
)

// Run is one schedule of a plan. [Plan.Setup] builds the peers on it; all of them
// live in its bubble and end with it.
type Run struct {
	// Data is the plan's own: Setup may leave here what Check wants to see.
	Data any

	plan     *Plan
	level    Level
	parser   *parser // of the search, or nil
	kind     Engine
	patient  bool // real time passes before a standstill is a stall
	engine   engine
	moves    atomic.Uint64 // counted by the gate; see tick
	capacity Capacity
	split    bool // ack is a step of its own
	gate     *gate
	client   transport.Conn
	server   transport.Conn
	ctx      context.Context
	cancel   context.CancelFunc
	ops      []*Operation
	byName   map[string]*Operation
	halves   []*half   // that play from the plan's session
	actors   []*actor  // that do so under a model
	ended    int       // operations that have returned
	panicked *breakage // the first panic
	failure  error     // of Fail
	within   string    // Setup or Check, while it runs

	token      *Token   // followed, or nil
	untraced   bool     // though it follows one: nobody reads where goroutines stood
	next       int      // choice of the token
	turns      []string // the token's choices in words
	chooser    Chooser
	systematic bool // the chooser is asked even where there is no choice
	limit      int
	horizon    time.Duration

	steps     []Step // released, in order
	trail     trail
	unlearned bool // a step was released of which it is not known what it touched
	lessons   lessons
	choices   []Choice
	beats     beats
	moved     bool      // something but a beat happened since the last rest
	still     int       // steps when it came to rest after that
	woken     bool      // a timer fired, and no step but beats since
	since     time.Time // the virtual time when it had
	notes     []string
	handed    *flight            // traced: the last step gave it to a live end
	handlers  map[string]*flight // traced: by goroutine, what a handler was called for
	closers   map[string]int     // traced: by goroutine, the step since which it stands in a Close
	assay     *assay             // of a run that is made to prove a freeze

	outcome
}

// outcome is how a run ended.
type outcome struct {
	verdict   string
	category  string
	seen      string // of a hang, the category as far as frames alone show it
	why       string
	shape     string    // of a hang, see fingerprint
	about     []*flight // frames that a hang is about
	err       error
	late      bool // an operation ended by a timer alone
	cut       bool // the chooser ended it
	stuck     bool // goroutines were left that nothing ends
	froze     bool // the run was given up where it stood
	busy      bool // it was given up while somebody computed
	retry     bool // undecided in a bubble, and real time may tell
	stacks    []string
	stood     []*Operation // that had not returned
	waits     []Wait
	chain     *chain
	broken    []Breach // rules, by live ends
	sequence  []string
	recording []store.Event
}

// Operation is a user operation of a run.
type Operation struct {
	run     *Run
	name    string
	played  bool // of a recorded half, which starts it itself
	behind  bool // only told of where no other stands
	do      func(context.Context) error
	started bool
	where   string // its goroutine, of a traced gate
	done    bool
	err     error
	after   []*Operation // that must have returned before it starts
	last    bool         // all others must
}

// breakage is a panic of a goroutine that this package started.
type breakage struct {
	where string
	value any
	stack string
}

type operationKey struct{}

// operationOf names the operation that a context comes from, or "".
func operationOf(ctx context.Context) string {
	name, _ := ctx.Value(operationKey{}).(string)
	return name
}

// Client returns the client's end of the gate.
func (r *Run) Client() transport.Conn { return r.client }

// Server returns the server's end of the gate.
func (r *Run) Server() transport.Conn { return r.server }

// Context ends with the run.
func (r *Run) Context() context.Context { return r.ctx }

// Op adds a user operation, such as one call of a client. It runs on a goroutine
// of its own, begins at a named step and must return: an operation that never
// does is what this package looks for. Frames written under its context carry
// its name. Only Setup may call it.
func (r *Run) Op(name string, do func(ctx context.Context) error) *Operation {
	if r.byName[name] != nil {
		panic(fmt.Sprintf("explore: operation %s: added twice", name))
	}
	op := &Operation{run: r, name: name, do: do}
	if r.byName == nil {
		r.byName = map[string]*Operation{}
	}
	r.ops, r.byName[name] = append(r.ops, op), op
	return op
}

// After holds the operation back until the named ones have returned, whatever
// they return; they must have been added before. What several operations need,
// such as a handshake, is an operation of its own that they come after: were they
// to wait for it themselves, they would all wake in one step, and their order
// would be the Go scheduler's and in no token.
func (op *Operation) After(names ...string) *Operation {
	for _, name := range names {
		before := op.run.byName[name]
		if before == nil || before == op {
			panic(fmt.Sprintf("explore: operation %s: it cannot come after %s, which was not added before", op.name, name))
		}
		op.after = append(op.after, before)
	}
	return op
}

// AfterAll holds the operation back until all others have returned, also those
// that a recorded client has: it is the end of the session.
func (op *Operation) AfterAll() *Operation {
	op.last = true
	return op
}

// heldBy returns an operation that must return before this one starts, or nil.
func (op *Operation) heldBy() *Operation {
	for _, before := range op.after {
		if !before.done {
			return before
		}
	}
	if op.last {
		for _, other := range op.run.ops {
			if !other.done && !other.last {
				return other
			}
		}
	}
	return nil
}

// Go runs a peer's own goroutine, such as a server's loop. It need not return
// before the gate closes. Unlike a bare go statement it makes a panic a verdict.
func (r *Run) Go(do func(ctx context.Context)) {
	go func() {
		defer r.mend("a peer's goroutine")
		do(r.ctx)
	}()
}

// Fail ends the run: its check has failed, with err. The first call counts. Any
// goroutine of the run may call it.
func (r *Run) Fail(err error) {
	r.gate.hold()
	defer r.gate.free()
	if r.failure == nil {
		r.failure = err
	}
	r.gate.poke()
}

// Err returns what an operation returned; it is for Check.
func (r *Run) Err(name string) error {
	op := r.byName[name]
	if op == nil {
		return fmt.Errorf("operation %s: there is none", name)
	}
	return op.err
}

// mend turns a panic into a breakage. It is deferred.
func (r *Run) mend(where string) {
	v := recover()
	if v == nil {
		return
	}
	r.gate.hold()
	defer r.gate.free()
	if r.panicked == nil {
		r.panicked = &breakage{where: where, value: v, stack: string(debug.Stack())}
	}
	r.gate.poke()
}

// start releases an operation.
func (r *Run) start(op *Operation) {
	op.started = true
	ctx := context.WithValue(r.ctx, operationKey{}, op.name)
	go func() {
		err := errors.New("its goroutine was ended (runtime.Goexit)")
		defer func() {
			r.gate.hold()
			op.done, op.err = true, err
			r.ended++
			r.gate.poke()
			r.gate.free()
		}()
		defer r.mend("operation " + op.name)
		if r.gate.traced {
			op.where = goroutineOf(stackHead())
			r.gate.tick()
		}
		err = op.do(ctx)
	}()
}

// finished reports whether every operation has returned.
func (r *Run) finished() bool { return r.ended == len(r.ops) }

// errVain is of a run in which nothing must return and nobody checks anything: it would
// pass whatever the peers do.
var errVain = errors.New("the plan has no operation and no Check: add with Run.Op what must return")

// unfinished lists the operations that have not returned.
func (r *Run) unfinished() []*Operation {
	var ops, behind []*Operation
	for _, op := range r.ops {
		switch {
		case op.done:
		case op.behind || op.played && !op.started: // they wait for the others
			behind = append(behind, op)
		default:
			ops = append(ops, op)
		}
	}
	if len(ops) == 0 {
		return behind
	}
	return ops
}

// Failures returns what judges a run of a plan without a Check: that a live end asked
// for what is not recorded, or the first error of an operation. It is for Checks
// that ask for more.
func (r *Run) Failures() error {
	for _, f := range r.strangers() {
		return fmt.Errorf("the recording does not cover this run: %s", f.Text)
	}
	for _, op := range r.ops {
		if op.err != nil {
			return fmt.Errorf("operation %s: %w", op.name, op.err)
		}
	}
	return nil
}

// virtualStart is when the time of every bubble begins, and so every session that
// is kept of a run.
var virtualStart = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// fact is an event and where in the run it belongs.
type fact struct {
	after  int // this many steps
	rank   int // 0 what the last of them did, 1 what peers did then
	event  store.Event
	flight *flight
}

// events is the run as a recording, as taps in the peers' own processes would have
// made it: a frame stands where its Write was called, a delivered event where its
// Read returned. The frames of a direction stand in the order in which they were
// taken, and those that were not after them; a frame that its writer took back is
// not there. Times are the bubble's, virtual; all that a step does has the time of the
// last frame before it.
func (r *Run) events() []store.Event {
	steps := r.shown()
	var facts []fact
	for i := range r.gate.lanes {
		facts = append(facts, r.gate.lanes[i].facts(steps)...)
	}
	ended := map[transport.Direction]bool{} // an end may close its writing side alone first
	for i, s := range steps {
		if (s.Kind == Close || s.Kind == HalfClose) && !ended[s.Dir] {
			ended[s.Dir] = true
			e := store.Event{Kind: store.EOF, Dir: s.Dir, Payload: store.EncodePayload(store.EOFInfo{By: "sender"})}
			facts = append(facts, fact{after: i + 1, event: e})
		}
	}
	slices.SortStableFunc(facts, func(a, b fact) int {
		return cmp.Or(cmp.Compare(a.after, b.after), cmp.Compare(a.rank, b.rank))
	})
	return r.sealed(facts)
}

// shown are the steps without the pings at a hang's end.
func (r *Run) shown() []Step {
	if stands(r.verdict) {
		return r.steps[:r.still]
	}
	return r.steps
}

// facts are the frames of a direction, and who read them when.
func (l *lane) facts(steps []Step) []fact {
	var facts []fact
	after := 0
	say := func(f *flight) {
		after = max(after, f.round)
		facts = append(facts, fact{after: after, rank: 1, flight: f, event: store.Event{
			Kind: store.Frame, Dir: f.dir, Payload: f.frame.Bytes,
			Stream: f.frame.Stream, Unterminated: f.frame.Unterminated}})
	}
	for _, s := range steps {
		if s.Kind == Take && s.Dir == l.dir {
			say(s.flight)
		}
	}
	for _, f := range l.waiting {
		if f.round <= len(steps) {
			say(f)
		}
	}
	for _, f := range facts {
		if given := f.flight.given; given > 0 && given <= len(steps) {
			facts = append(facts, fact{after: given, flight: f.flight, event: store.Event{Kind: store.Delivered, Dir: l.dir}})
		}
	}
	return facts
}

// sealed numbers and times the facts, and puts the header and the end around them.
func (r *Run) sealed(facts []fact) []store.Event {
	events := []store.Event{{Kind: store.Opened}}
	numbers := map[*flight]uint64{}
	frames, at := uint64(0), time.Duration(0)
	hash := sha256.New()
	for _, f := range facts {
		e := f.event
		switch e.Kind {
		case store.Frame:
			at = max(at, f.flight.offered)
			numbers[f.flight] = uint64(len(events) + 1)
			frames++
			hash.Write(e.Payload)
		case store.Delivered:
			e.Payload = store.EncodePayload(store.DeliveredInfo{Upto: numbers[f.flight]})
		}
		e.At = at
		events = append(events, e)
	}
	text := fmt.Sprintf("%s, token %s\n%s", strings.TrimSpace(r.verdict+" "+r.category), r.asToken(), r.why)
	for i := range r.gate.lanes {
		l := &r.gate.lanes[i]
		for _, f := range slices.Concat(l.queue, l.waiting) {
			text += fmt.Sprintf("\nnot read: %v %s, %s", l.dir, f.name, l.place(f))
		}
	}
	note := store.Event{Kind: store.Note, At: at, Payload: []byte(text)}
	closed := store.Event{Kind: store.Closed, At: at, Payload: store.EncodePayload(store.ClosedInfo{Frames: frames})}
	events = append(events, note, closed)
	hash.Write(note.Payload)
	sum := hash.Sum(nil)        // names the session after its content: the same run gives the same one
	sum[6] = sum[6]&0x0f | 0x80 // a UUID of version 8
	sum[8] = sum[8]&0x3f | 0x80
	id := fmt.Sprintf("%x-%x-%x-%x-%x", sum[:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16])
	label := strings.TrimSpace("explore: " + r.verdict + " " + r.category)
	header := store.Header{ID: store.SessionID(id), Start: virtualStart, Transport: "memory", Label: label, Recorder: "mcprec"}
	events[0].Payload = header.Encode()
	for i := range events {
		events[i].Seq = uint64(i + 1)
	}
	return events
}

// Traffic that only timers bring, the same again and again, must not hide a call
// that nobody will answer: pings, a log message every minute, a poll. A beat is a
// step of such traffic. It does not put off the horizon.
//
// Three periods of the same are looked at before any is a beat, and the run still
// lasts to the horizon: a server that says that it is at work until it answers is
// not taken for one that hangs. What a user operation itself asks, and is
// answered, is no beat.

// beats counts in how many rests each kind of step was brought by timers.
type beats struct {
	rests int
	seen  map[beatName]beatCount
}

// beatName is a step's content without its occurrence.
type beatName struct {
	class int
	what  string
}

type beatCount struct{ periods, last int }

// recurs reports whether a step is a beat. What a session does of its own accord may
// bear the name of the operation that made the session, and has returned.
func (r *Run) recurs(s Step) bool {
	b := &r.beats
	switch {
	case s.flight == nil:
		return false
	case s.flight.ping:
		return true
	case b.rests == 0:
		return false
	}
	by := s.flight.op
	if s.flight.answers != nil {
		by = s.flight.answers.request.op
	}
	if op := r.byName[by]; by != "" && op != nil && !op.done { // it asks, or is answered
		return false
	}
	if b.seen == nil {
		b.seen = map[beatName]beatCount{}
	}
	name := beatName{s.class(), withoutOccurrence(s.What)}
	n := b.seen[name]
	if n.last != b.rests {
		n = beatCount{n.periods + 1, b.rests}
		b.seen[name] = n
	}
	return n.periods > 3
}

// withoutOccurrence takes the numbers out of a content name.
func withoutOccurrence(name string) string { return occurrence().ReplaceAllString(name, "#") }

var occurrence = phrase.Regexp(`#[0-9]+`)

// beatNote says what went on while a run hung, instead of how each beat began, and
// takes it out of its choices.
func (r *Run) beatNote() {
	steps := r.steps[min(r.still, len(r.steps)):]
	if len(steps) == 0 {
		return
	}
	var names []string
	for _, s := range steps {
		name := "pings"
		if s.flight != nil && !s.flight.ping {
			name = "«" + s.Dir.String() + " " + strings.TrimSuffix(withoutOccurrence(s.What), "#") + "»"
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	r.notes = slices.DeleteFunc(r.notes, func(note string) bool {
		return slices.ContainsFunc(names, func(name string) bool {
			_, what, quoted := strings.Cut(name, " ")
			return quoted && strings.Contains(withoutOccurrence(note), strings.TrimSuffix(what, "»"))
		})
	})
	if len(names) > 3 {
		names = append(names[:3], "…")
	}
	r.notes = append([]string{fmt.Sprintf("for %s nothing but %s passed, %d steps of them; the token leaves them to eager",
		r.passed(), strings.Join(names, ", "), len(steps))}, r.notes...)
	r.choices = slices.DeleteFunc(r.choices, func(c Choice) bool { return c.Step > r.still })
}
