package recorder

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
)

// BlockedThreshold is how long a write to a peer must block to leave a
// Delivered event.
const BlockedThreshold = 10 * time.Millisecond

// Option changes how a Recorder records.
type Option func(*Recorder)

// Recorder records one session. Its taps may be used concurrently.
type Recorder struct {
	header   store.Header
	start    time.Time
	budget   *budget
	strict   bool
	maxFrame int64 // 0: no limit
	trouble  func(error)
	back     *backlog                       // nil: the spool never lets a write wait
	doubt    atomic.Pointer[store.NoteInfo] // of a disk that failed, to be told with the next write

	turn    turn // guards the fields below
	spool   store.Spool
	seq     uint64 // of the newest event, as parts have it
	sealed  bool
	failed  bool         // it is strict, and something is not written
	ended   bool         // the end of the log is written, or waits
	closed  bool         // the spool is
	parts   []store.Part // scratch of one write
	own     *own         // whose they are; nil: none is made
	gap     store.LostInfo
	broken  []uint64        // events begun in the spool that will get no more parts
	unsaid  []store.Event   // what must be told and could not yet be
	news    *string         // of a disk that answers again, to be told with the next write
	doubted *store.NoteInfo // what this write tells of a disk that failed
	sum     Summary
}

// Summary says what became of a session.
type Summary struct {
	ID     store.SessionID
	Frames uint64 // recorded
	Bytes  uint64 // of the recorded frames
	Lost   uint64 // frames, lines and other events that could not be stored
	Cut    uint64 // frames that are longer than was to be recorded of one
	Err    error  // the first failure of the store by which something is lost, or nil
	// Trouble is the first time that the disk did not take what was written, or nil.
	// What then waited in memory need not be lost.
	Trouble error
}

// New starts a session in the store: it gives the header an id and a start
// time, unless it has them, and writes the Opened event. If the disk does not answer, New
// waits for [Bound], and what fails then is told by Close. Secrets are recorded too, but for
// the credentials of HTTP headers: package mask takes them out of what leaves the store.
func New(ctx context.Context, s store.Spooler, h store.Header, options ...Option) (*Recorder, error) {
	r := newRecorder(h)
	for _, o := range options {
		o(r)
	}
	r.header.MaxFrame = r.maxFrame
	opened := store.Event{Seq: 1, Kind: store.Opened, Payload: r.header.Encode()}
	if err := r.open(func() (store.Spool, error) { return s.Spool(ctx, opened) }, inMemory(s)); err != nil {
		return nil, fmt.Errorf("start recording: %w", err)
	}
	return r, nil
}

// Unrecorded returns a Recorder that passes everything on and stores nothing:
// the wire goes first. All that passes is counted as lost, because of cause.
func Unrecorded(cause error) *Recorder {
	r := newRecorder(store.Header{})
	r.spool = noSpool{cause}
	r.sum.Err = cause
	return r
}

type noSpool struct{ cause error }

func (s noSpool) Write([]store.Part) error { return s.cause }
func (s noSpool) Close() error             { return nil }

func newRecorder(h store.Header) *Recorder {
	r := &Recorder{header: h, start: time.Now(), seq: 1, turn: newTurn(), budget: sharedBudget}
	if r.header.ID == "" {
		r.header.ID = store.SessionID(uuid.Must(uuid.NewV7()).String())
	}
	if r.header.Start.IsZero() {
		r.header.Start = r.start
	}
	r.sum.ID = r.header.ID
	return r
}

// ID returns the session's id.
func (r *Recorder) ID() store.SessionID { return r.header.ID }

// Tap returns a new tap for frames of the direction.
func (r *Recorder) Tap(dir transport.Direction) *Tap {
	return &Tap{recorder: r, kind: store.Frame, dir: dir}
}

// StderrTap returns a new tap for the server's standard error.
func (r *Recorder) StderrTap() *Tap { return &Tap{recorder: r, kind: store.Stderr} }

// Record writes one event of mcprec's own kinds; info is one of store's Info
// types.
func (r *Recorder) Record(kind store.Kind, dir transport.Direction, info any) {
	r.turn.take()
	defer r.turn.give()
	if r.sealed {
		return
	}
	at := r.at()
	r.begin(at)
	e := store.Event{At: at, Kind: kind, Dir: dir, Payload: store.EncodePayload(info)}
	r.add(e, false)
	switch err := r.commit(); {
	case err == nil:
	case kind == store.Exited:
		r.unsaid = append(r.unsaid, e)
	default:
		r.lose(store.LostInfo{Frames: 1}, err)
	}
}

// at returns the offset of this moment. To be called with the turn, so
// that At does not fall from one event to the next.
func (r *Recorder) at() time.Duration { return time.Since(r.start) }

// begin starts the parts of one write with what an earlier failure left to say.
// r.seq is only moved by commit; add uses it as if all before had been written.
func (r *Recorder) begin(at time.Duration) {
	if r.own == nil {
		r.own = owns.Get().(*own)
	}
	r.parts = r.own.parts[:0]
	for _, seq := range r.broken {
		r.parts = append(r.parts, store.Part{Event: store.Event{Seq: seq, Unterminated: true}, Cont: true})
	}
	if r.doubted = r.doubt.Load(); r.doubted != nil {
		r.add(store.Event{At: at, Kind: store.Note, Payload: store.EncodePayload(r.doubted)}, false)
	}
	if r.gap.Frames+r.gap.Bytes > 0 {
		r.add(store.Event{At: at, Kind: store.Lost, Payload: store.EncodePayload(r.gap)}, false)
	}
	if r.back == nil {
		return
	}
	if r.news = r.back.news.Load(); r.news != nil {
		r.addNote(at, *r.news)
	}
}

// add appends a new event's first part and gives it the next Seq.
func (r *Recorder) add(e store.Event, more bool) uint64 {
	r.seq++
	e.Seq = r.seq
	r.parts = append(r.parts, store.Part{Event: e, More: more})
	return e.Seq
}

// commit writes the parts. If that fails, nothing of them is in the log: the
// sequence goes back, and the caller says what is lost.
func (r *Recorder) commit() error {
	if len(r.parts) == 0 {
		return nil
	}
	if r.back == nil {
		return r.committed(r.spool.Write(r.parts))
	}
	r.own.take(r.parts)
	w := r.back.write(r.parts)
	if w.late {
		return r.overtaken()
	}
	return r.committed(w.err)
}

// commitHere is commit for a goroutine that may be left behind: it writes itself. If that
// is overdue, another calls goOn with the turn, and nothing is this goroutine's any more.
func (r *Recorder) commitHere(goOn func()) (mine bool, err error) {
	if r.back == nil {
		return true, r.commit()
	}
	w := r.back.writeHere(r.parts, goOn)
	if w.late {
		return false, nil
	}
	return true, r.committed(w.err)
}

// overtaken goes on although the parts are not written yet: they wait in the queue.
func (r *Recorder) overtaken() error {
	r.failed = r.failed || r.strict
	r.parts, r.own = nil, nil // that write may still read them
	return r.committed(nil)
}

// committed takes note of whether the parts are written.
func (r *Recorder) committed(err error) error {
	defer r.passOn()
	if err == nil {
		r.broken = r.broken[:0]
		r.gap = store.LostInfo{}
		r.failed = r.failed || r.strict && r.doubt.Load() != nil
		if r.doubted != nil {
			r.doubt.CompareAndSwap(r.doubted, nil)
		}
		if r.news != nil {
			r.back.news.CompareAndSwap(r.news, nil)
		}
		return nil
	}
	for i := range r.parts {
		if p := &r.parts[i]; !p.Cont && !p.Chunk {
			r.seq--
		}
	}
	if r.sum.Err == nil {
		r.sum.Err = err
	}
	return err
}

// passOn passes the memory of the write on.
func (r *Recorder) passOn() {
	if r.own != nil {
		r.own.pass(r.parts)
		r.parts, r.own = nil, nil
	}
}

// rootOf returns the innermost cause: the log knows its own name and place.
func rootOf(err error) error {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err
		}
		err = inner
	}
}

// lose adds to the gap that the next write will tell of.
func (r *Recorder) lose(lost store.LostInfo, cause error) {
	r.gap.Frames += lost.Frames
	r.gap.Bytes += lost.Bytes
	r.gap.Reason = rootOf(cause).Error()
	r.inStreams(lost.Streams...)
	r.sum.Lost += lost.Frames
	r.failed = r.failed || r.strict
}

// frame records one whole frame and returns its Seq, or 0 when it could not be
// stored.
func (r *Recorder) frame(dir transport.Direction, f transport.Frame) uint64 {
	e := store.Event{Kind: store.Frame, Dir: dir, Stream: f.Stream, Unterminated: f.Unterminated, Payload: f.Bytes}
	if n := int64(len(f.Bytes)); r.maxFrame > 0 && n > r.maxFrame {
		e.Payload, e.Cut = f.Bytes[:r.maxFrame], uint64(n-r.maxFrame)
	}
	r.turn.take()
	defer r.turn.give()
	at := r.at()
	if r.over() {
		return 0
	}
	r.begin(at)
	e.At = at
	seq := r.add(e, false)
	if e.Cut > 0 {
		r.addCut(at, seq, e.Cut, dir.String())
	}
	if err := r.commit(); err != nil {
		r.lose(store.LostInfo{Frames: 1, Bytes: uint64(len(f.Bytes)), Streams: []string{dir.String()}}, err)
		return 0
	}
	r.sum.Frames++
	r.sum.Bytes += uint64(len(e.Payload))
	return seq
}
