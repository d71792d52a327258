package push

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/share/stream"
)

// StoppedError says that a session is not shipped: for good if the cause is a *store.ConflictError, else for now.
type StoppedError struct {
	ID    store.SessionID
	Cause error
}

// Error tells the reason.
func (e *StoppedError) Error() string {
	why := e.Cause.Error()
	if conflict := (*store.ConflictError)(nil); errors.As(e.Cause, &conflict) {
		why = fmt.Sprintf("the stream has another recording under this id, which ends at event %d", conflict.Head.Seq)
	}
	return fmt.Sprintf("session %s is not shipped: %s", e.ID, why)
}

// Unwrap returns the cause.
func (e *StoppedError) Unwrap() error { return e.Cause }

// saveEvery is how often a shipment writes its state while it makes progress.
const saveEvery = 5 * time.Second

// lastTime is how long the last calls of a shipment may take, together.
const lastTime = 2 * time.Second

// shipment is the way of one session from the folder into the stream. One goroutine runs it; another tells its
// entry while the session is live.
type shipment struct {
	push   *Push
	id     store.SessionID
	follow bool           // the recorder may still write
	random func() float64 // for the pauses

	state state
	saved time.Time
	dirty bool // the state has changed since it was saved
	told  bool // the session's entry was written

	stream Stream // nil: no connection yet
	number int    // of the connection

	reading *reading    // nil: none yet
	resume  store.Head  // the end of the stream's log when the reading began
	skipped store.Event // the last event that the stream had
	batch   []store.Event
	held    *store.Event // behind the batch
	ended   bool         // the local log has no further events
	single  bool         // send one event at a time

	failures int // in a row

	mu      sync.Mutex // guards what the entry is made from
	head    store.Head // up to where the stream's log is a beginning of the masked one
	current *reading
}

// run ships the session. It returns nil when the stream has all of it, a StoppedError, or the error of ctx.
func (s *shipment) run(ctx context.Context) error {
	known, err := s.push.states.read(s.id)
	if err != nil {
		s.push.note(err)
	}
	s.state = known
	s.saved = time.Now()
	err = s.ship(ctx)
	if s.reading != nil {
		s.reading.stop()
	}
	if stopped := (*StoppedError)(nil); errors.As(err, &stopped) {
		if conflict := (*store.ConflictError)(nil); errors.As(err, &conflict) {
			s.state.Stopped = err.Error()
			s.dirty = true
		}
	}
	s.save()
	if s.stream != nil && err != nil {
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastTime)
		defer cancel()
		if tellErr := s.tell(last, s.stream, false); tellErr != nil {
			s.push.note(tellErr) // it is no longer live when the lease has ended
		}
	}
	return err
}

// tell writes the session's entry.
func (s *shipment) tell(ctx context.Context, to Stream, live bool) error {
	s.mu.Lock()
	r, head := s.current, s.head
	s.mu.Unlock()
	if r == nil || head.Seq == 0 {
		return nil
	}
	e := stream.Entry{Head: head, Machine: s.push.options.Machine, Live: live}
	if e.Header, e.Stuck = r.told(time.Now()); !live {
		e.Stuck = 0
	}
	return to.Tell(ctx, e)
}

// ship takes steps until the session is complete or there is a reason to end.
func (s *shipment) ship(ctx context.Context) error {
	for {
		done, err := s.step(ctx)
		if err == nil && done {
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err == nil {
			s.failures = 0
			continue
		}
		s.failures++
		s.push.note(err)
		events := len(s.batch)
		if s.single {
			events = min(events, 1)
		}
		switch decide(err, s.head.Seq, events, s.failures) {
		case actStop:
			return &StoppedError{s.id, err}
		case actReopen:
			s.restart()
			s.push.link.drop(s.number)
			s.stream = nil
		case actReread:
			s.restart()
		case actSplit:
			s.single = true
			continue
		case actCut:
			if err := s.cutFirst(); err != nil {
				return &StoppedError{s.id, err}
			}
			continue
		}
		if err := pause(ctx, pauseAfter(s.failures, s.random())); err != nil {
			return err
		}
	}
}

func pause(ctx context.Context, length time.Duration) error {
	timer := time.NewTimer(length)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// step takes the next step: it connects, finds where to go on, takes a batch from the local log, or sends one.
// done: the stream has the whole session.
func (s *shipment) step(ctx context.Context) (done bool, err error) {
	switch {
	case s.stream == nil:
		call, cancel := context.WithTimeout(ctx, callTime(0))
		defer cancel()
		s.stream, s.number, err = s.push.link.get(call)
		return false, err
	case s.reading == nil:
		return false, s.begin(ctx)
	case len(s.batch) == 0 && !s.ended:
		return false, s.gather(ctx)
	case len(s.batch) > 0:
		return false, s.send(ctx)
	}
	if s.head.Seq < s.resume.Seq {
		if err := s.checkLast(ctx); err != nil {
			return false, err
		}
		if s.state.Head.head() != s.resume { // from now on this is the end that must still be there
			s.state.acknowledge(s.resume, s.push.clock())
		}
		s.setHead(s.resume)
	}
	if err := s.tell(ctx, s.stream, false); err != nil { // without its entry nobody would find the session
		return false, err
	}
	s.state.Complete = true
	s.state.Done = false
	s.dirty = true
	return true, nil
}

// begin finds the end of the stream's log and starts to read the local one.
func (s *shipment) begin(ctx context.Context) error {
	call, cancel := context.WithTimeout(ctx, callTime(0))
	defer cancel()
	head, err := s.stream.Head(call, s.id)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	s.resume = head
	s.reading = s.push.startReading(ctx, s.id, s.follow, s.state.Cut)
	s.mu.Lock()
	s.current = s.reading
	s.mu.Unlock()
	return nil
}

// restart drops what was read, to read again behind the present end of the stream's log.
func (s *shipment) restart() {
	if s.reading != nil {
		s.reading.stop()
	}
	s.reading = nil
	s.setHead(store.Head{})
	s.batch = nil
	s.held = nil
	s.ended = false
}

func (s *shipment) setHead(head store.Head) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.head = head
}

// gather takes events from the local log until a batch is due.
func (s *shipment) gather(ctx context.Context) error {
	var size batchSize
	leaves := time.NewTimer(time.Hour)
	defer leaves.Stop()
	add := func(event store.Event) {
		if len(s.batch) == 0 {
			leaves.Reset(batchAge)
		}
		s.batch = append(s.batch, event)
		size.events++
		size.bytes += len(event.Payload)
	}
	if s.held != nil {
		add(*s.held)
		s.held = nil
	}
	for !size.full() && !s.ended {
		var late <-chan time.Time
		if len(s.batch) > 0 {
			late = leaves.C
		}
		select {
		case event, ok := <-s.reading.events:
			switch {
			case !ok && s.reading.err != nil:
				return s.reading.err
			case !ok:
				s.ended = true
			case event.Seq <= s.resume.Seq:
				if err := s.skip(ctx, event); err != nil {
					return err
				}
			case size.takes(len(event.Payload)):
				add(event)
			default:
				s.held = &event
				return nil
			}
		case <-late:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// skip passes an event that the stream has. At the end of its log the two must be the same.
func (s *shipment) skip(ctx context.Context, event store.Event) error {
	head, err := s.head.Next(event)
	if err != nil {
		return &localError{err}
	}
	s.skipped = event
	if head.Seq == s.resume.Seq {
		if !sameLog(s.resume, head, s.state.Head.head()) {
			switch isOurs, err := s.hasAcknowledged(ctx); {
			case err != nil:
				s.restart() // to ask again
				return err
			case !isOurs:
				return &store.ConflictError{ID: s.id, Head: s.resume}
			}
		}
		head = s.resume
	}
	s.setHead(head)
	if head == s.resume {
		s.acknowledged(ctx, false)
	}
	return nil
}

// hasAcknowledged reports whether the stream's log begins with what it acknowledged to a process before this
// one. Then it is the same recording, which was masked with another key or by other rules.
func (s *shipment) hasAcknowledged(ctx context.Context) (bool, error) {
	known := s.state.Head.head()
	if known.Seq == 0 || known.Seq > s.resume.Seq {
		return false, nil
	}
	var head store.Head
	for event, err := range s.stream.Read(ctx, s.id, 1, nil) {
		if err == nil {
			head, err = head.Next(event)
		}
		if err != nil {
			return false, fmt.Errorf("compare with the stream: %w", err)
		}
		if head.Seq == known.Seq {
			break
		}
	}
	return head == known, nil
}

// checkLast checks the stream's log, which is longer than the local one, by the last local event: after
// a power cut the disk may have lost what was shipped already.
func (s *shipment) checkLast(ctx context.Context) error {
	if s.head.Seq == 0 || s.state.Head.Seq >= s.head.Seq {
		return nil
	}
	call, cancel := context.WithTimeout(ctx, callTime(len(s.skipped.Payload)))
	defer cancel()
	_, err := s.stream.Append(call, s.id, s.skipped.Seq-1, []store.Event{s.skipped})
	if conflict := (*store.ConflictError)(nil); errors.As(err, &conflict) {
		return &store.ConflictError{ID: s.id, Head: s.resume}
	}
	return err
}

// send appends the batch, or its first event.
func (s *shipment) send(ctx context.Context) error {
	count := len(s.batch)
	if s.single {
		count = 1
	}
	want := s.head
	payloads := 0
	for _, event := range s.batch[:count] {
		head, err := want.Next(event)
		if err != nil {
			return &localError{err}
		}
		want = head
		payloads += len(event.Payload)
	}
	call, cancel := context.WithTimeout(ctx, callTime(payloads))
	defer cancel()
	head, err := s.stream.Append(call, s.id, s.head.Seq, s.batch[:count])
	if err != nil {
		return err
	}
	if head.Seq != want.Seq || head.Chain != want.Chain {
		return &store.ConflictError{ID: s.id, Head: head}
	}
	s.push.acknowledged.Add(uint64(count))
	clear(s.batch[:count])
	s.batch = s.batch[count:]
	if len(s.batch) == 0 {
		s.batch = nil
		s.single = false
	}
	s.setHead(want)
	s.acknowledged(ctx, true)
	return nil
}

// acknowledged notes that the stream has the log up to s.head; now: as of just now, and not since whenever it was
// acknowledged before.
func (s *shipment) acknowledged(ctx context.Context, now bool) {
	s.push.heard()
	if s.follow && !s.told {
		s.told = true
		if err := s.tell(ctx, s.stream, true); err != nil {
			s.push.note(err) // the next beat tells it
		}
	}
	if !now && s.state.Head.head() == s.head { // it was known, and since when
		return
	}
	first := s.state.Head.Seq == 0
	s.state.Complete = false
	s.state.acknowledge(s.head, s.push.clock())
	s.dirty = true
	if first || time.Since(s.saved) >= saveEvery {
		s.save()
	}
}

// save writes the state, if it has changed.
func (s *shipment) save() {
	if !s.dirty {
		return
	}
	s.saved = time.Now()
	if err := s.push.states.keep(s.id, &s.state); err != nil {
		s.push.note(err) // without it the stream's log tells the same, and the hold-back is longer
		return
	}
	s.dirty = false
}

// cutFirst cuts the first event of the batch, which the stream does not take. The state has to be safe before:
// another process must cut it at the same place.
func (s *shipment) cutFirst() error {
	first := s.batch[0]
	event, ok := cut(first, cutTo)
	if !ok {
		return fmt.Errorf("event %d (%s, %s): %w", first.Seq, first.Kind, sizeText(int64(len(first.Payload))), stream.ErrTooLarge)
	}
	if s.state.Cut == nil {
		s.state.Cut = map[uint64]int{}
	}
	s.state.Cut[event.Seq] = cutTo
	s.dirty = true
	s.save()
	if s.dirty {
		return &localError{errors.New("the state of the shipping cannot be written")}
	}
	s.batch[0] = event
	s.push.trouble(fmt.Errorf("session %s: event %d has %s, more than the stream takes; its first %s are shipped, and the folder has it whole",
		s.id, event.Seq, sizeText(int64(len(first.Payload))), sizeText(cutTo)))
	return nil
}
