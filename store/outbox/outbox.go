package outbox

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcprec/mcprec/store"
)

// Local is the store in which sessions wait, such as a boltstore with its option Outbox.
type Local interface {
	store.Store
	store.Spooler
	store.Keyed
	// Waiting lists the sessions that are still here, those of live recorders, too.
	Waiting(ctx context.Context) ([]store.SpoolInfo, error)
	// Release removes the session of a dead recorder without a tombstone.
	Release(ctx context.Context, id store.SessionID) error
	// KeepShippedState keeps a few bytes beside a session, and ShippedState returns them; nil: there
	// are none.
	KeepShippedState(id store.SessionID, data []byte) error
	ShippedState(id store.SessionID) ([]byte, error)
	// Alone runs f unless another process or call runs its own.
	Alone(ctx context.Context, f func(context.Context) error) (ran bool, err error)
}

// Shared is the store of several machines.
type Shared interface {
	store.Store
	store.Claimer
}

// Summary is made from the masked events of a session, in their order.
type Summary interface {
	Apply(event store.Event) error
	Data() []byte
}

// Options configures an Outbox. The zero value ships events as they are.
type Options struct {
	// Target names the shared store in messages, without its credentials.
	Target string
	// Mask returns the function that masks the events of one session, in their order. nil: events
	// are shipped as they are.
	Mask func(store.Header) (func(store.Event) store.Event, error)
	// Summarize returns a new summary, which is kept in the shared store if that is a
	// store.Summarizer. nil: there are no summaries.
	Summarize func() Summary
	// SessionLimit is how many bytes of a session may wait for the shared store, and TotalLimit how
	// many in the whole outbox. They count payloads, and are no exact measure of files. 0: 1 GiB and
	// 10 GiB.
	SessionLimit, TotalLimit int64
	// HoldBack is how long a complete session stays here after its last acknowledgement. 0: 5 min.
	HoldBack time.Duration
	// CloseBudget is how long Close waits for the shared store, and half of it more for calls that
	// end late. 0: 1 s; clients of MCP give a server two seconds to end before they kill it.
	CloseBudget time.Duration
	// Trouble is called when the shipping of a session stops for good, or an event is cut; nil: it is
	// only counted. It is not called on the way of a write.
	Trouble func(error)
	// Uptime returns how long the machine has run, asleep or not, and a name of this run; "": not
	// known. nil: the system's.
	Uptime func() (boot string, uptime time.Duration)
}

// lastCalls is how long calls may take that give claims back when CloseBudget is over.
func (o Options) lastCalls() time.Duration { return o.CloseBudget / 2 }

// Outbox is a local store whose sessions go to a shared one. The methods are safe for concurrent use.
type Outbox struct {
	store.Store // the local one: what is read and listed
	local       Local
	options     Options
	link        link

	ctx     context.Context // of shipments and flushes
	cancel  context.CancelFunc
	closing chan struct{} // closed by Close: no shipment tries again after a failure
	running sync.WaitGroup

	mu       sync.Mutex // guards the fields below
	closed   bool
	sessions map[store.SessionID]*session // of this process, until they are complete
	watched  bool                         // a goroutine measures what others left
	lastErr  error
	lastAt   time.Time

	began   time.Time
	heard   atomic.Int64 // when the shared store last did what was asked, in nanoseconds after began
	waiting atomic.Int64 // bytes of the sessions that are not acknowledged
	others  atomic.Int64 // bytes that other recorders left, when last measured
	counts  counts
}

// counts are the counters of Stats.
type counts struct {
	shipped, shippedBytes, acknowledged, acknowledgedBytes atomic.Uint64
	retries, refused, lost, cut                            atomic.Uint64
}

var (
	_ store.Store   = (*Outbox)(nil)
	_ store.Spooler = (*Outbox)(nil)
	_ store.Keyed   = (*Outbox)(nil)
)

// New returns an outbox around a local store, which it closes. The connection to the shared store is
// opened when the first session is to be shipped, and again when it was lost.
func New(local Local, open func(context.Context) (Shared, error), options Options) *Outbox {
	if options.SessionLimit <= 0 {
		options.SessionLimit = 1 << 30
	}
	if options.TotalLimit <= 0 {
		options.TotalLimit = 10 << 30
	}
	if options.HoldBack <= 0 {
		options.HoldBack = 5 * time.Minute
	}
	if options.CloseBudget <= 0 {
		options.CloseBudget = time.Second
	}
	if options.Uptime == nil {
		options.Uptime = machineUptime
	}
	o := &Outbox{Store: local, local: local, options: options, link: link{open: open, turn: make(chan struct{}, 1)},
		closing: make(chan struct{}), sessions: map[store.SessionID]*session{}, began: time.Now()}
	o.ctx, o.cancel = context.WithCancel(context.Background())
	return o
}

// RedactionKey returns the key of the local store.
func (o *Outbox) RedactionKey() ([]byte, error) { return o.local.RedactionKey() }

// enter starts work that Close waits for; the caller calls o.running.Done.
func (o *Outbox) enter() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return store.ErrClosed
	}
	o.running.Add(1)
	return nil
}

// clock reads the clocks of the machine.
func (o *Outbox) clock() clock {
	boot, uptime := o.options.Uptime()
	return clock{time.Now(), boot, uptime}
}

// trouble tells the user.
func (o *Outbox) trouble(err error) {
	o.note(err)
	if o.options.Trouble != nil {
		o.options.Trouble(err)
	}
}

// note keeps the newest error for Stats.
func (o *Outbox) note(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.lastErr = err
	o.lastAt = time.Now()
}

// session counts the bytes that one session of this process has written, and those acknowledged. The
// recorder and the shipment change it.
type session struct {
	id       store.SessionID
	started  time.Time
	written  atomic.Int64 // bytes of payloads
	acked    atomic.Int64 // the same
	events   atomic.Uint64
	ackedSeq atomic.Uint64
	oldest   atomic.Int64 // At of the oldest event in the batch; -1: there is none
	shipping atomic.Bool
	full     bool // the last write was refused; used by the recorder only
}

// Spool starts a live session in the local store and its shipment.
func (o *Outbox) Spool(ctx context.Context, opened store.Event) (store.Spool, error) {
	header, err := store.ParseHeader(opened.Payload)
	if err != nil {
		return nil, fmt.Errorf("open spool: %w", err)
	}
	if err := o.enter(); err != nil {
		return nil, fmt.Errorf("open spool of session %s: %w", header.ID, err)
	}
	inner, err := o.local.Spool(ctx, opened)
	if err != nil {
		o.running.Done()
		return nil, err
	}
	x := &session{id: header.ID, started: time.Now()}
	x.oldest.Store(-1)
	x.shipping.Store(true)
	p := &spool{outbox: o, session: x, inner: inner}
	p.count(int64(len(opened.Payload)), 1)
	o.mu.Lock()
	o.sessions[x.id] = x
	if !o.watched {
		o.watched = true
		o.running.Add(1)
		go o.watch()
	}
	o.mu.Unlock()
	go o.shipLive(x)
	return p, nil
}

// spool is a spool of the local store that counts.
type spool struct {
	outbox  *Outbox
	session *session
	inner   store.Spool
}

// Write hands the parts to the local spool, unless too much waits for the shared store.
func (p *spool) Write(parts []store.Part) error {
	var bytes int64
	var events uint64
	for i := range parts {
		bytes += int64(len(parts[i].Payload))
		switch {
		case parts[i].Chunk:
			events += parts[i].Lines
		case !parts[i].Cont:
			events++
		}
	}
	if err := p.outbox.admit(p.session, bytes, parts); err != nil {
		return err
	}
	if err := p.inner.Write(parts); err != nil {
		return err
	}
	p.count(bytes, events)
	return nil
}

func (p *spool) count(bytes int64, events uint64) {
	p.session.written.Add(bytes)
	p.session.events.Add(events)
	p.outbox.waiting.Add(bytes)
}

// Close closes the local spool, and does not wait for the shipment.
func (p *spool) Close() error { return p.inner.Close() }

// OnDoubt passes f to the local spool.
func (p *spool) OnDoubt(f func(from uint64, cause error)) {
	if unsteady, ok := p.inner.(store.Unsteady); ok {
		unsteady.OnDoubt(f)
	}
}

// FullError is the error of a write while too much waits for the shared store.
type FullError struct {
	Waiting int64 // bytes
	Target  string
}

// Error names the shared store and what waits for it.
func (e *FullError) Error() string {
	return fmt.Sprintf("the outbox is full: %s wait for %s", sizeText(e.Waiting), e.Target)
}

// admit refuses parts for which there is no room. The log's own events, such as its end, always have
// room.
func (o *Outbox) admit(x *session, bytes int64, parts []store.Part) error {
	waiting := x.written.Load() - x.acked.Load()
	total := o.waiting.Load() + o.others.Load()
	ok := room(waiting+bytes, o.options.SessionLimit, x.full)
	if ok && room(total+bytes, o.options.TotalLimit, x.full) {
		x.full = false
		return nil
	}
	if ok {
		waiting = total
	}
	own := true
	for i := range parts {
		switch parts[i].Kind {
		case store.Lost, store.Note, store.Exited, store.Closed, store.EOF, store.Signal:
		default:
			own = false
		}
	}
	if own {
		return nil
	}
	x.full = true
	o.counts.refused.Add(1)
	return &FullError{waiting, o.options.Target}
}

// measureEvery is how often a recorder that writes looks at what others have left in the outbox.
const measureEvery = 10 * time.Second

// watch measures the outbox, while sessions write.
func (o *Outbox) watch() {
	defer o.running.Done()
	ticker := time.NewTicker(measureEvery)
	defer ticker.Stop()
	for seen := int64(-1); ; {
		if now := o.waiting.Load(); now != seen {
			seen = now
			o.measure(o.ctx)
		}
		select {
		case <-ticker.C:
		case <-o.closing:
			return
		}
	}
}

// measure counts the bytes that other recorders have left in the outbox, roughly.
func (o *Outbox) measure(ctx context.Context) {
	list, err := o.local.Waiting(ctx)
	if err != nil && ctx.Err() == nil {
		o.note(err)
	}
	total := int64(0)
	for _, info := range list {
		o.mu.Lock()
		_, own := o.sessions[info.ID]
		o.mu.Unlock()
		if own {
			continue
		}
		data, _ := o.local.ShippedState(info.ID) // without it all of the session waits
		if known := parseState(data); !known.Complete {
			total += max(info.Bytes-known.Bytes, 0)
		}
	}
	o.others.Store(total)
}

// shipLive ships a session of this process.
func (o *Outbox) shipLive(x *session) {
	defer o.running.Done()
	defer x.shipping.Store(false)
	s := &shipment{outbox: o, session: x, id: x.id, follow: true, random: rand.Float64}
	err := s.run(o.ctx)
	stopped := (*StoppedError)(nil)
	switch {
	case err == nil:
		o.forget(x)
	case errors.As(err, &stopped):
		o.trouble(err)
	}
}

// forget drops a session of this process that is complete in the shared store.
func (o *Outbox) forget(x *session) {
	o.waiting.Add(x.acked.Load() - x.written.Load()) // what the counting was wrong by
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.sessions, x.id)
}

// hear notes that the shared store has done what was asked.
func (o *Outbox) hear() { o.heard.Store(int64(time.Since(o.began))) }

// isSilent reports whether the shared store has let events wait for longer than Close would, and done
// nothing meanwhile.
func (o *Outbox) isSilent() bool {
	budget := o.options.CloseBudget
	return time.Since(o.began)-time.Duration(o.heard.Load()) > budget && o.Stats().OldestWaiting > budget
}

// Close gives the shipments Options.CloseBudget to send the rest, unless the shared store has been silent
// for as long already, and closes the connection and the local store. Spools must be closed before. A later
// Flush sends what is left. Close does not wait for an adapter that does not return.
func (o *Outbox) Close() error {
	o.mu.Lock()
	closed := o.closed
	o.closed = true
	o.mu.Unlock()
	if closed {
		return nil
	}
	close(o.closing)
	ended := make(chan struct{})
	go func() {
		o.running.Wait()
		close(ended)
	}()
	wait := o.options.CloseBudget
	if o.isSilent() {
		wait = 0
	}
	budget := time.NewTimer(wait)
	defer budget.Stop()
	select {
	case <-ended:
	case <-budget.C:
	}
	o.cancel()
	grace := time.NewTimer(o.options.lastCalls())
	defer grace.Stop()
	unlinked := make(chan error, 1)
	go func() {
		<-ended
		unlinked <- o.link.close()
	}()
	select {
	case err := <-unlinked:
		return errors.Join(err, o.local.Close())
	case <-grace.C:
		return fmt.Errorf("close outbox: %s does not answer", o.options.Target)
	}
}

// Stats tell how the shipping goes.
type Stats struct {
	Target    string
	Connected bool
	// EventsWaiting and BytesWaiting are those of this process that are not acknowledged, and
	// BytesLeft those that other recorders have left, when last measured.
	EventsWaiting uint64
	BytesWaiting  int64
	BytesLeft     int64
	// OldestWaiting is the age of the oldest event of this process that is not acknowledged.
	OldestWaiting time.Duration
	// Shipped counts all that was handed to the shared store, what was repeated as often.
	EventsShipped, BytesShipped           uint64
	EventsAcknowledged, BytesAcknowledged uint64
	Retries                               uint64 // calls of the shared store that failed
	Refused                               uint64 // writes while the outbox was full
	Lost                                  uint64 // frames that the shipped logs tell as lost
	Cut                                   uint64 // events that were too large for the shared store
	LastError                             error  // the newest; nil: there was none
	LastErrorAt                           time.Time
}

// Stats returns the counts since New.
func (o *Outbox) Stats() Stats {
	s := Stats{Target: o.options.Target, Connected: o.link.isOpen.Load(), BytesLeft: o.others.Load(),
		EventsShipped: o.counts.shipped.Load(), BytesShipped: o.counts.shippedBytes.Load(),
		EventsAcknowledged: o.counts.acknowledged.Load(), BytesAcknowledged: o.counts.acknowledgedBytes.Load(),
		Retries: o.counts.retries.Load(), Refused: o.counts.refused.Load(), Lost: o.counts.lost.Load(), Cut: o.counts.cut.Load()}
	o.mu.Lock()
	defer o.mu.Unlock()
	s.LastError = o.lastErr
	s.LastErrorAt = o.lastAt
	for _, x := range o.sessions {
		events, acked := x.events.Load(), x.ackedSeq.Load()
		if events <= acked {
			continue
		}
		s.EventsWaiting += events - acked
		s.BytesWaiting += max(x.written.Load()-x.acked.Load(), 0)
		at := time.Duration(x.oldest.Load())
		if acked == 0 {
			at = 0
		}
		if at >= 0 {
			s.OldestWaiting = max(s.OldestWaiting, time.Since(x.started)-at)
		}
	}
	return s
}

// link is the connection to the shared store, which shipments and flushes share.
type link struct {
	open    func(context.Context) (Shared, error)
	turn    chan struct{} // holds an element while somebody uses the fields below
	shared  Shared        // nil: there is no connection
	number  int           // of the connection
	isOpen  atomic.Bool
	closing sync.WaitGroup
}

// get returns the connection and its number. The first caller opens it, and others wait for that.
func (l *link) get(ctx context.Context) (Shared, int, error) {
	select {
	case l.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, 0, ctx.Err()
	}
	defer func() { <-l.turn }()
	if l.shared == nil {
		shared, err := l.open(ctx)
		if err != nil {
			return nil, 0, err
		}
		l.shared = shared
		l.number++
		l.isOpen.Store(true)
	}
	return l.shared, l.number, nil
}

// drop closes a connection that is of no use, unless another one is open already.
func (l *link) drop(number int) {
	l.turn <- struct{}{}
	defer func() { <-l.turn }()
	if l.shared == nil || l.number != number {
		return
	}
	shared := l.shared
	l.shared = nil
	l.isOpen.Store(false)
	l.closing.Go(func() { _ = shared.Close() }) // a broken connection may be slow at that
}

// close closes the connection, after the last use.
func (l *link) close() (err error) {
	if l.shared != nil {
		err = l.shared.Close()
		l.shared = nil
	}
	l.closing.Wait()
	return err
}
