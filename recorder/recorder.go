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

// BlockedThreshold is how long a write to a peer must block to leave a Delivered event.
const BlockedThreshold = 10 * time.Millisecond

// Recorder records one session. Its taps may be used concurrently.
type Recorder struct {
	header store.Header
	disk   outage.Options
	log    *log
}

// Option changes how a Recorder records.
type Option func(*Recorder)

// MaxFrame limits how many bytes of a frame are recorded; 0: no limit. A longer frame passes whole.
// The log has the beginning, the number of missing bytes, and a "lost" event behind; a spool has
// every byte of a pipe.
func MaxFrame(bytes int64) Option {
	return func(recorder *Recorder) { recorder.log.maxFrame = bytes }
}

// Strict lets only written bytes pass: when the store fails, or a write takes longer than five
// seconds, the session ends.
func Strict() Option {
	return func(recorder *Recorder) {
		recorder.log.strict, recorder.disk.Bound, recorder.disk.Budget = true, 5*time.Second, outage.NewBudget(0)
	}
}

// Trouble calls f once, in a goroutine of its own, when the disk does not take a write: from then
// on events wait in memory, or are lost.
func Trouble(f func(error)) Option {
	return func(recorder *Recorder) { recorder.disk.Report = f }
}

// Clock takes the times of the log, and how long a receiver has not read, from now instead of the
// system's clock. It does not change how long the recorder waits for the disk, or at the end for
// another process.
func Clock(now func() time.Time) Option {
	return func(recorder *Recorder) { recorder.log.clock, recorder.log.start = now, now() }
}

// Summary is the outcome of a session.
type Summary struct {
	ID     store.SessionID
	Frames uint64 // recorded
	Bytes  uint64 // of the recorded frames
	Lost   uint64 // frames, lines and other events that could not be stored
	Cut    uint64 // frames longer than MaxFrame
	Err    error  // the first failure of the store that lost something, or nil
	// Trouble is the first fault of the disk, or nil. The events of an outage are not lost
	// if the disk took them later.
	Trouble error
}

// New starts a session in the store: it adds a missing id and start time to the header, and
// writes the Opened event. If the disk does not answer, New waits for [outage.Bound],
// and Close reports a later failure. Secrets are recorded, except for credentials in HTTP
// headers: package mask removes secrets from copies that leave the store.
func New(ctx context.Context, spooler store.Spooler, header store.Header, options ...Option) (*Recorder, error) {
	r := newRecorder(header)
	for _, o := range options {
		o(r)
	}
	r.header.MaxFrame = r.log.maxFrame
	if r.header.Start.IsZero() {
		r.header.Start = r.log.start
	}
	opened := store.Event{Seq: 1, Kind: store.Opened, Payload: r.header.Encode()}
	open := func() (store.Spool, error) { return spooler.Spool(ctx, opened) }
	var err error
	if informed, ok := spooler.(interface{ Info() store.Info }); ok && informed.Info().Durability == "process" {
		var inner store.Spool // in memory: no write waits for a disk
		if inner, err = open(); err == nil {
			r.log.spool = outage.Direct(inner, r.disk.Report)
		}
	} else {
		r.log.spool, err = outage.Open(open, r.disk)
	}
	if err != nil {
		return nil, fmt.Errorf("start recording: %w", err)
	}
	return r, nil
}

// Unrecorded returns a Recorder without a store: the wire goes first. Frames pass and count as
// lost, because of cause.
func Unrecorded(cause error) *Recorder {
	r := newRecorder(store.Header{})
	r.log.spool = outage.Direct(outage.Unavailable{Cause: cause}, nil)
	r.log.sum.Err = cause
	return r
}

func newRecorder(header store.Header) *Recorder {
	l := &log{turn: make(turn, 1), start: time.Now(), seq: 1}
	r := &Recorder{header: header, log: l, disk: outage.Options{Bound: outage.Bound, Budget: outage.Shared}}
	if r.header.ID == "" {
		r.header.ID = NewID()
	}
	l.sum.ID = r.header.ID
	return r
}

// NewID returns an id for a session that begins now.
func NewID() store.SessionID { return store.SessionID(uuid.Must(uuid.NewV7()).String()) }

// ID returns the session's id.
func (r *Recorder) ID() store.SessionID { return r.header.ID }

// Now returns the time on the recorder's clock.
func (r *Recorder) Now() time.Time { return r.log.clock.now() }

// Lost returns how many frames, lines and other events could not be stored so far. It waits for
// no disk.
func (r *Recorder) Lost() uint64 { return r.log.lost.Load() }

// Waiting returns how many events wait in memory for the disk. It waits for no disk.
func (r *Recorder) Waiting() int { return r.log.spool.Queued() }

// Tap returns a new tap for frames of the direction.
func (r *Recorder) Tap(dir transport.Direction) *Tap {
	return &Tap{log: r.log, kind: store.Frame, dir: dir}
}

// StderrTap returns a new tap for the server's standard error.
func (r *Recorder) StderrTap() *Tap { return &Tap{log: r.log, kind: store.Stderr} }

// Stream returns the recording of one direction of an exchange; number is the Stream of its
// events.
func (r *Recorder) Stream(number uint64, dir transport.Direction) Stream {
	return Stream{log: r.log, number: number, dir: dir}
}

// Record writes one event of mcprec's own kinds; info is one of store's Info types.
func (r *Recorder) Record(kind store.Kind, dir transport.Direction, info any) {
	r.log.record(kind, dir, info)
}

// Seal writes the end of the log. A program in a hurry may leave the rest of Close to the next
// mcprec. Taps pass nothing on after Seal.
func (r *Recorder) Seal() {
	l := r.log
	l.take()
	defer l.give()
	if l.sealed {
		return
	}
	l.begin()
	if text := l.spool.Waiting(); text != "" {
		l.addInfo(store.Note, transport.NoDirection, store.NoteInfo{Text: text})
	}
	l.addEnd()
	l.ended = l.commit() == nil // if not, Close tries again
	l.sealed = true
}

// Close seals the log, waits while the disk takes the events in memory, and closes the spool. A
// log whose end cannot be written is read like the log of a recorder that died.
func (r *Recorder) Close() Summary {
	r.Seal()
	l := r.log
	l.take()
	defer l.give()
	if l.closed {
		return l.sum
	}
	l.closed = true
	left, fault := l.spool.Drain()
	l.sum.Trouble = l.spool.Trouble()
	if fault != nil {
		l.giveUp(left, fault)
	}
	var last []store.Part
	if !l.ended {
		l.begin()
		l.addEnd()
		last = l.parts
	}
	written, err := l.spool.Finish(last)
	l.ended = l.ended || written
	if !l.ended {
		l.sum.Lost += uint64(len(l.unsaid))
		l.lost.Store(l.sum.Lost)
	}
	if err != nil {
		l.fail(err)
	}
	return l.sum
}
