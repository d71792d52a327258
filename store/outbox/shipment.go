package outbox

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mcprec/mcprec/store"
)

// StoppedError says that a session is not shipped any more by this process. Its spool stays.
type StoppedError struct {
	ID    store.SessionID
	Cause error
}

// Error tells the reason in the terms of the shared store.
func (e *StoppedError) Error() string {
	conflict := (*store.ConflictError)(nil)
	local := (*localError)(nil)
	why := e.Cause.Error()
	switch {
	case errors.As(e.Cause, &local):
	case errors.As(e.Cause, &conflict):
		why = fmt.Sprintf("the shared store has another recording under this id, which ends at event %d", conflict.Head.Seq)
	case errors.Is(e.Cause, store.ErrLive):
		why = "another recorder has claimed it in the shared store"
	case errors.Is(e.Cause, store.ErrExists):
		why = "it was deleted in the shared store"
	}
	return fmt.Sprintf("session %s is not shipped: %s; the recording stays in the outbox", e.ID, why)
}

// Unwrap returns the cause.
func (e *StoppedError) Unwrap() error { return e.Cause }

// errLeft is the end of a shipment that leaves the rest to a flush.
var errLeft = errors.New("left to a later flush")

// saveEvery is how often a shipment writes its state while it makes progress.
const saveEvery = 5 * time.Second

// releaseTime is how long the last calls of a shipment may take, together. When the budget of a Close
// is over they get half of Options.lastCalls more.
const releaseTime = 10 * time.Second

// shipment is the way of one session from the local store into the shared one. One goroutine runs
// it.
type shipment struct {
	outbox  *Outbox
	session *session // nil: of a dead recorder
	id      store.SessionID
	follow  bool           // the recorder may still write
	tries   int            // failures in a row after which it ends; 0: none
	random  func() float64 // for the pauses

	state state
	saved time.Time
	dirty bool // the state has changed since it was saved

	claim     store.Claim // nil: none yet
	number    int         // of the connection of the claim
	regain    bool        // this process may have had a claim before
	attempted uint64      // the highest event that was handed to the shared store
	shared    Shared

	reading *reading   // nil: none yet
	resume  store.Head // the shared log's end when the reading began
	head    store.Head // up to where the shared log is a beginning of the masked one
	bytes   int64      // of the local log, up to head
	skipped store.Event
	batch   []item // behind head
	held    *item  // behind the batch
	ended   bool   // the local log has no further events
	single  bool   // send one event at a time

	failures int    // in a row
	began    uint64 // the first resume
}

// run ships the session. It returns nil when the shared store has all of it, a StoppedError, or
// another error if the rest is left to a flush.
func (s *shipment) run(ctx context.Context) error {
	data, err := s.outbox.local.ShippedState(s.id)
	if err != nil {
		s.outbox.note(err)
	}
	s.state = parseState(data)
	s.saved = time.Now()
	err = s.ship(ctx)
	var summary Summary
	if s.reading != nil {
		s.reading.stop()
		summary = s.reading.summary
	}
	if stopped := (*StoppedError)(nil); errors.As(err, &stopped) && lasting(stopped.Cause) {
		s.state.Stopped = err.Error()
		s.dirty = true
	}
	s.save()
	if s.claim == nil {
		return err
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTime)
	defer cancel()
	defer context.AfterFunc(s.outbox.ctx, func() { time.AfterFunc(s.outbox.options.lastCalls()/2, cancel) })()
	if fault := s.claim.Release(last); fault != nil {
		s.outbox.note(fault)
	} else if keeper, ok := s.shared.(store.Summarizer); ok && err == nil && summary != nil {
		if fault := keeper.KeepSummaries(last, []store.Summary{{ID: s.id, Head: s.head, Data: summary.Data()}}); fault != nil {
			s.outbox.note(fault) // a reader makes it
		}
	}
	return err
}

// ship takes steps until the session is complete or there is a reason to end.
func (s *shipment) ship(ctx context.Context) error {
	for {
		done, err := s.step(ctx)
		if err == nil && done {
			return nil
		}
		if ctx.Err() != nil {
			return fmt.Errorf("%w: %w", errLeft, ctx.Err())
		}
		if err == nil {
			s.failures = 0
			continue
		}
		s.failures++
		s.outbox.note(err)
		s.outbox.counts.retries.Add(1)
		events := len(s.batch)
		if s.single {
			events = min(events, 1)
		}
		switch decide(err, s.head.Seq, events, s.failures, s.regain && s.claim == nil) {
		case actStop:
			return &StoppedError{s.id, err}
		case actReopen:
			s.disconnect(ctx)
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
		if s.tries > 0 && s.failures >= s.tries {
			return err
		}
		if !s.pause(ctx, pauseAfter(s.failures, s.random())) {
			return fmt.Errorf("%w: %w", errLeft, err)
		}
	}
}

// pause waits, and reports whether to go on.
func (s *shipment) pause(ctx context.Context, length time.Duration) bool {
	timer := time.NewTimer(length)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
	case <-s.outbox.closing:
	}
	return false
}

// step takes the next step: it claims the session, finds where to go on, takes a batch from the local
// log, or sends one. done: the shared store has the whole session.
func (s *shipment) step(ctx context.Context) (done bool, err error) {
	switch {
	case s.claim == nil:
		return false, s.claimIt(ctx)
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
			s.state.acknowledge(s.resume, s.bytes, s.outbox.clock())
		}
	}
	s.state.Complete = true
	s.dirty = true
	return true, nil
}

func (s *shipment) claimIt(ctx context.Context) error {
	call, cancel := context.WithTimeout(ctx, callTime(0))
	defer cancel()
	shared, number, err := s.outbox.link.get(call)
	if err != nil {
		return fmt.Errorf("connect to %s: %w", s.outbox.options.Target, err)
	}
	claim, err := shared.Claim(call, s.id)
	if err != nil {
		s.number = number
		s.regain = s.regain || !errors.Is(err, store.ErrLive) // the call may have done it
		return err
	}
	s.outbox.hear()
	s.claim = claim
	s.shared = shared
	s.number = number
	s.regain = true
	return nil
}

// begin finds the end of the shared log and starts to read the local one.
func (s *shipment) begin(ctx context.Context) error {
	call, cancel := context.WithTimeout(ctx, callTime(0))
	defer cancel()
	head, err := s.shared.Head(call, s.id)
	if errors.Is(err, store.ErrNotFound) {
		head = store.Head{}
		err = nil
	}
	switch {
	case err != nil:
		return err
	case s.follow && head.Seq > s.attempted: // this recorder has not written that
		return &store.ConflictError{ID: s.id, Head: head}
	}
	if s.began == 0 {
		s.began = head.Seq
	}
	s.resume = head
	s.reading = s.outbox.startReading(ctx, s.id, s.follow, s.state.Cut)
	return nil
}

// restart drops what was read, to read again behind the shared log's present end.
func (s *shipment) restart() {
	if s.reading != nil {
		s.reading.stop()
	}
	s.reading = nil
	s.head = store.Head{}
	s.bytes = 0
	s.batch = nil
	s.held = nil
	s.ended = false
}

// disconnect gives the connection up, with the claim if there is one.
func (s *shipment) disconnect(ctx context.Context) {
	if s.claim != nil {
		call, cancel := context.WithTimeout(ctx, time.Second)
		_ = s.claim.Release(call) // else the shared store ends it after a while
		cancel()
	}
	s.claim = nil
	s.restart()
	s.outbox.link.drop(s.number)
}

// gather takes events from the local log until a batch is due.
func (s *shipment) gather(ctx context.Context) error {
	var size batchSize
	leaves := time.NewTimer(time.Hour)
	defer leaves.Stop()
	add := func(x item) {
		if len(s.batch) == 0 {
			leaves.Reset(batchWait(s.age(x.event)))
			s.setOldest(x.event.At)
		}
		s.batch = append(s.batch, x)
		size.events++
		size.bytes += len(x.event.Payload)
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
		case x, ok := <-s.reading.items:
			switch {
			case !ok && s.reading.err != nil:
				return s.reading.err
			case !ok:
				s.ended = true
			case x.event.Seq <= s.resume.Seq:
				if err := s.skip(ctx, x); err != nil {
					return err
				}
			case size.takes(len(x.event.Payload)):
				add(x)
			default:
				s.held = &x
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

// skip passes an event that the shared log has. At the end of that log the two must be the same.
func (s *shipment) skip(ctx context.Context, x item) error {
	head, err := s.head.Next(x.event)
	if err != nil {
		return &localError{err}
	}
	s.head = head
	s.bytes += x.bytes
	s.skipped = x.event
	if head.Seq < s.resume.Seq {
		return nil
	}
	if !sameLog(s.resume, head, s.state.Head.head()) {
		switch isOurs, err := s.hasAcknowledged(ctx); {
		case err != nil:
			s.restart() // to ask again
			return err
		case !isOurs:
			return &store.ConflictError{ID: s.id, Head: s.resume}
		}
	}
	s.head = s.resume
	s.acknowledged()
	return nil
}

// hasAcknowledged reports whether the shared log begins with what it acknowledged to a process before
// this one. Then it is the same recording, which was masked with another key or by other rules.
func (s *shipment) hasAcknowledged(ctx context.Context) (bool, error) {
	known := s.state.Head.head()
	if known.Seq == 0 || known.Seq > s.resume.Seq {
		return false, nil
	}
	var head store.Head
	for event, err := range s.shared.Read(ctx, s.id, 1, store.ReadOptions{}) {
		if err == nil {
			head, err = head.Next(event)
		}
		if err != nil {
			return false, fmt.Errorf("compare with the shared store: %w", err)
		}
		if head.Seq == known.Seq {
			break
		}
	}
	return head == known, nil
}

// checkLast checks the shared log, which is longer than the local one, by the last local event: after
// a power cut the disk may have lost what was shipped already.
func (s *shipment) checkLast(ctx context.Context) error {
	if s.head.Seq == 0 || s.state.Head.Seq >= s.head.Seq {
		return nil
	}
	call, cancel := context.WithTimeout(ctx, callTime(len(s.skipped.Payload)))
	defer cancel()
	_, err := s.claim.Append(call, s.skipped.Seq-1, []store.Event{s.skipped})
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
	events := make([]store.Event, count)
	want := s.head
	payloads, bytes, lost := 0, s.bytes, uint64(0)
	for i, x := range s.batch[:count] {
		head, err := want.Next(x.event)
		if err != nil {
			return &localError{err}
		}
		want = head
		events[i] = x.event
		payloads += len(x.event.Payload)
		bytes += x.bytes
		if x.event.Kind == store.Lost {
			info, _ := store.DecodePayload[store.LostInfo](x.event) // it only counts
			lost += info.Frames
		}
	}
	s.attempted = max(s.attempted, want.Seq)
	s.outbox.counts.shipped.Add(uint64(count))
	s.outbox.counts.shippedBytes.Add(uint64(payloads))
	call, cancel := context.WithTimeout(ctx, callTime(payloads))
	defer cancel()
	head, err := s.claim.Append(call, s.head.Seq, events)
	if err != nil {
		return err
	}
	if head.Seq != want.Seq || head.Chain != want.Chain {
		return &store.ConflictError{ID: s.id, Head: head}
	}
	s.outbox.hear()
	s.outbox.counts.acknowledged.Add(uint64(count))
	s.outbox.counts.acknowledgedBytes.Add(uint64(payloads))
	s.outbox.counts.lost.Add(lost)
	s.head = want
	s.bytes = bytes
	clear(s.batch[:count])
	s.batch = s.batch[count:]
	if len(s.batch) == 0 {
		s.batch = nil
		s.single = false
		s.setOldest(-1)
	} else {
		s.setOldest(s.batch[0].event.At)
	}
	s.acknowledged()
	return nil
}

// acknowledged notes that the shared store has the log up to s.head.
func (s *shipment) acknowledged() {
	if s.session != nil {
		before := s.session.acked.Swap(s.bytes)
		s.outbox.waiting.Add(before - s.bytes)
		s.session.ackedSeq.Store(s.head.Seq)
	}
	if s.state.Head.head() == s.head { // it was known, and since when
		return
	}
	first := s.state.Head.Seq == 0
	s.state.Complete = false
	s.state.acknowledge(s.head, s.bytes, s.outbox.clock())
	s.dirty = true
	if first || time.Since(s.saved) >= saveEvery {
		s.save()
	}
}

// age returns how long ago an event was recorded; 0 for the events of a recorder that has ended.
func (s *shipment) age(event store.Event) time.Duration {
	if s.session == nil {
		return 0
	}
	return time.Since(s.session.started) - event.At
}

func (s *shipment) setOldest(at time.Duration) {
	if s.session != nil {
		s.session.oldest.Store(int64(at))
	}
}

// save writes the state, if it has changed.
func (s *shipment) save() {
	if !s.dirty {
		return
	}
	s.saved = time.Now()
	if err := s.outbox.local.KeepShippedState(s.id, s.state.encode()); err != nil {
		s.outbox.note(err) // without it the shared store's log tells the same, and the hold-back is longer
		return
	}
	s.dirty = false
}

// cutFirst cuts the first event of the batch, which the shared store does not take. The state has to
// be safe before: another process must cut it at the same place.
func (s *shipment) cutFirst() error {
	first := &s.batch[0]
	size := len(first.event.Payload)
	event, ok := cut(first.event, cutTo)
	if !ok {
		return fmt.Errorf("event %d (%s, %s): %w", first.event.Seq, first.event.Kind, sizeText(int64(size)), store.ErrTooLarge)
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
	first.event = event
	s.outbox.counts.cut.Add(1)
	s.outbox.trouble(fmt.Errorf("session %s: event %d has %s, which %s does not take; its first %s are shipped, and the whole recording stays in the outbox",
		s.id, event.Seq, sizeText(int64(size)), s.outbox.options.Target, sizeText(cutTo)))
	return nil
}
