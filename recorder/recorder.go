package recorder

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/mcprec/mcprec/recorder/outage"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
)

// BlockedThreshold is how long a write to a peer must block to leave a
// Delivered event.
const BlockedThreshold = 10 * time.Millisecond

// maxIdleParts is how many parts' memory a session that rests may keep: there may be hundreds.
const maxIdleParts = 256

// Option changes how a Recorder records.
type Option func(*Recorder)

// MaxFrame has the recorder record at most so many bytes of a frame; 0: all. A longer frame
// passes whole. In the log it is cut, its event says by how much, and a "lost" event stands
// behind it; a spool has all of what passed through a pipe.
func MaxFrame(bytes int64) Option {
	return func(r *Recorder) { r.maxFrame = bytes }
}

// Strict has the recorder pass nothing on that is not written: when the store fails, or lets a
// write wait for five seconds, it ends the session.
func Strict() Option {
	return func(r *Recorder) {
		r.strict, r.disk.Bound, r.disk.Budget = true, 5*time.Second, outage.NewBudget(0)
	}
}

// Trouble has f called, once and in a goroutine of its own, when the disk does not take what
// is written to it: what follows waits in memory, or is lost.
func Trouble(f func(error)) Option {
	return func(r *Recorder) { r.disk.Report = f }
}

// Recorder records one session. Its taps may be used concurrently.
type Recorder struct {
	header   store.Header
	start    time.Time
	strict   bool
	maxFrame int64 // 0: no limit
	disk     outage.Options

	turn      turn // guards the fields below
	spool     *outage.Spool
	seq       uint64         // of the newest event, as parts have it
	sealed    bool           // nothing is recorded any more
	failed    bool           // the recorder is strict, and something is not written
	ended     bool           // the end of the log is written, or waits
	closed    bool           // the spool is
	parts     []store.Part   // of the write that is being made
	gap       store.LostInfo // lost since the last write, and not told yet
	broken    []uint64       // events begun in the spool that will get no more parts
	unsaid    []store.Event  // what must be told and could not yet be
	sum       Summary
	doubt     *store.NoteInfo // told by this write: the disk did not keep what it took
	recovered *store.NoteInfo // told by this write: an outage is over
}

// turn is the right to use the fields that the writes of a recorder share. One goroutine has
// it at a time. It is not a mutex: a goroutine that has the turn may hand it to another, which
// then gives it back.
type turn chan struct{}

func (t turn) take() { t <- struct{}{} }
func (t turn) give() { <-t }

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
// waits for [outage.Bound], and what fails then is told by Close. Secrets are recorded too, but for
// the credentials of HTTP headers: package mask takes them out of what leaves the store.
func New(ctx context.Context, s store.Spooler, h store.Header, options ...Option) (*Recorder, error) {
	r := newRecorder(h)
	for _, o := range options {
		o(r)
	}
	r.header.MaxFrame = r.maxFrame
	opened := store.Event{Seq: 1, Kind: store.Opened, Payload: r.header.Encode()}
	open := func() (store.Spool, error) { return s.Spool(ctx, opened) }
	if err := r.open(open, inMemory(s)); err != nil {
		return nil, fmt.Errorf("start recording: %w", err)
	}
	return r, nil
}

// Unrecorded returns a Recorder that passes everything on and stores nothing:
// the wire goes first. All that passes is counted as lost, because of cause.
func Unrecorded(cause error) *Recorder {
	r := newRecorder(store.Header{})
	r.spool = outage.Direct(outage.Unavailable{Cause: cause}, nil)
	r.sum.Err = cause
	return r
}

// open opens the spool; atOnce if that never waits for a disk.
func (r *Recorder) open(open func() (store.Spool, error), atOnce bool) (err error) {
	if !atOnce {
		r.spool, err = outage.Open(open, r.disk)
		return err
	}
	s, err := open()
	if err == nil {
		r.spool = outage.Direct(s, r.disk.Report)
	}
	return err
}

// inMemory reports whether a store never lets a write wait for a disk.
func inMemory(s store.Spooler) bool {
	informed, ok := s.(interface{ Info() store.Info })
	return ok && informed.Info().Durability == "process"
}

func newRecorder(h store.Header) *Recorder {
	r := &Recorder{header: h, start: time.Now(), seq: 1, turn: make(turn, 1),
		disk: outage.Options{Bound: outage.Bound, Budget: outage.Shared}}
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

// begin starts the parts of one write with what is still to be told. r.seq counts as if all
// before had been written; commit takes it back if that fails.
func (r *Recorder) begin(at time.Duration) {
	r.parts = r.parts[:0]
	for _, seq := range r.broken {
		r.parts = append(r.parts, store.Part{Event: store.Event{Seq: seq, Unterminated: true}, Cont: true})
	}
	if r.doubt = r.spool.Doubt(); r.doubt != nil {
		r.add(store.Event{At: at, Kind: store.Note, Payload: store.EncodePayload(r.doubt)}, false)
	}
	if r.gap.Frames+r.gap.Bytes > 0 {
		r.add(store.Event{At: at, Kind: store.Lost, Payload: store.EncodePayload(r.gap)}, false)
	}
	if r.recovered = r.spool.Recovered(); r.recovered != nil {
		r.add(store.Event{At: at, Kind: store.Note, Payload: store.EncodePayload(r.recovered)}, false)
	}
}

// add appends a new event's first part and gives it the next Seq.
func (r *Recorder) add(e store.Event, more bool) uint64 {
	r.seq++
	e.Seq = r.seq
	r.parts = append(r.parts, store.Part{Event: e, More: more})
	return e.Seq
}

// commit writes the parts. If that fails, nothing of them is in the log: the sequence goes
// back, and the caller says what is lost.
func (r *Recorder) commit() error {
	if len(r.parts) == 0 {
		return nil
	}
	return r.committed(r.spool.Write(r.parts))
}

// commitInline is commit for a goroutine that may be left behind: it writes itself. If that is
// overdue, another goroutine calls overdue with the turn, and nothing is this one's any more.
func (r *Recorder) commitInline(overdue func()) (mine bool, err error) {
	if mine, err = r.spool.WriteInline(r.parts, overdue); mine {
		err = r.committed(err)
	}
	return mine, err
}

// committed notes whether the parts are written, or wait to be.
func (r *Recorder) committed(err error) error {
	if err == nil {
		r.failed = r.failed || r.strict && (r.spool.Late() || r.spool.Doubt() != nil)
		r.broken = r.broken[:0]
		r.gap = store.LostInfo{}
		r.spool.Told(r.doubt)
		r.spool.Told(r.recovered)
	} else {
		for i := range r.parts {
			if p := &r.parts[i]; !p.Cont && !p.Chunk {
				r.seq--
			}
		}
		r.fault(err)
	}
	if clear(r.parts); cap(r.parts) > maxIdleParts { // a session that rests holds nothing of what passed
		r.parts = nil
	}
	return err
}

// fault notes the first failure of the store.
func (r *Recorder) fault(err error) {
	if r.sum.Err == nil {
		r.sum.Err = err
	}
}

// lose adds to the gap that the next write will tell of.
func (r *Recorder) lose(lost store.LostInfo, cause error) {
	r.gap.Frames += lost.Frames
	r.gap.Bytes += lost.Bytes
	r.gap.Reason = store.RootCause(cause).Error()
	r.inStreams(lost.Streams...)
	r.sum.Lost += lost.Frames
	r.failed = r.failed || r.strict
}

// addCut adds the event that tells of a frame that is cut.
func (r *Recorder) addCut(at time.Duration, seq, over uint64, stream string) {
	r.sum.Cut++
	r.add(store.Event{At: at, Kind: store.Lost, Payload: store.EncodePayload(store.LostInfo{Frames: 1, Bytes: over,
		Reason: fmt.Sprintf("event %d is cut after %d B", seq, r.maxFrame), Streams: []string{stream}})}, false)
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
	if r.sealed || r.failed {
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
