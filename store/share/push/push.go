package push

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gofrs/flock"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/share/stream"
)

// Folder is the store of this machine, as boltstore.Store is.
type Folder interface {
	Read(ctx context.Context, id store.SessionID, from uint64, options store.ReadOptions) iter.Seq2[store.Event, error]
	Sessions(ctx context.Context, query store.Query) iter.Seq2[store.Session, error]
	Info() store.Info
}

// Stream is where sessions are shipped to, as stream.Stream is.
type Stream interface {
	Head(ctx context.Context, id store.SessionID) (store.Head, error)
	Append(ctx context.Context, id store.SessionID, after uint64, events []store.Event) (store.Head, error)
	Read(ctx context.Context, id store.SessionID, from uint64, live func() bool) iter.Seq2[store.Event, error]
	Tell(ctx context.Context, e stream.Entry) error
	Close() error
}

// Judge finds out whether something is stuck in a session, from its masked events in their order.
type Judge interface {
	Apply(event store.Event) error
	// Stuck returns for how long something has been stuck at a time since the session's start; 0: nothing is.
	Stuck(now time.Duration) time.Duration
}

// Options configures a Push. The zero value ships events as they are.
type Options struct {
	// Name is the folder below the store's folder push/ where the push keeps its own files.
	Name string
	// Machine names this machine in the entries of sessions.
	Machine string
	// Mask returns the function that masks the events of one session, in their order, and may change its
	// header. nil: events are shipped as they are.
	Mask func(store.Header) (func(store.Event) store.Event, error)
	// Judge returns a new Judge; nil: nothing is told of what is stuck.
	Judge func() Judge
	// HoldBack is how long after its last acknowledgement a complete session is looked at again. 0: 5 min.
	HoldBack time.Duration
	// Lease is how long a live session is so without a word. 0: that of the stream.
	Lease time.Duration
	// Trouble is called when the shipping of a session stops, an event is cut, or the stream does not answer
	// for a minute; nil: nobody is told.
	Trouble func(error)
	// Uptime returns how long the machine has run, asleep or not, and a name of this run; "": not known. nil:
	// the system's.
	Uptime func() (boot string, uptime time.Duration)
}

// Push ships the sessions of a folder.
type Push struct {
	folder  Folder
	options Options
	link    link
	states  states

	acknowledged atomic.Uint64 // events

	mu      sync.Mutex // guards the fields below
	running map[store.SessionID]*shipment
	idle    map[store.SessionID]*idleSession // of sessions that are not live
	lastErr error
	failing time.Time // since when nothing was acknowledged although it was tried; zero: that is not so
	told    bool      // of that failing
}

// idleSession is what is known of a session that has no shipment just now.
type idleSession struct {
	state state
	read  bool // from its file
	retry time.Time
}

// New returns a Push. open connects to the stream, when there is something to ship, and again when the
// connection is of no use any more.
func New(folder Folder, open func(context.Context) (Stream, error), options Options) *Push {
	if options.HoldBack <= 0 {
		options.HoldBack = 5 * time.Minute
	}
	if options.Lease <= 0 {
		options.Lease = 35 * time.Second
	}
	if options.Uptime == nil {
		options.Uptime = machineUptime
	}
	return &Push{folder: folder, options: options, link: link{open: open, turn: make(chan struct{}, 1)},
		states:  states(filepath.Join(folder.Info().Location, "push", options.Name)),
		running: map[store.SessionID]*shipment{}, idle: map[store.SessionID]*idleSession{}}
}

const (
	// lookEvery is how often a push looks for new sessions, and listEvery how often it lists the folder
	// although nothing seems to have changed.
	lookEvery = 200 * time.Millisecond
	listEvery = time.Minute
	// retryAfter is when a session is tried again whose shipping has stopped for now.
	retryAfter = time.Minute
	// atOnce is how many sessions are shipped at once whose recorders have ended. Live ones have no bound.
	atOnce = 4
	// beatsInLease is how often the entry of a live session is told in the time of its lease.
	beatsInLease = 3.5
	// silentFor is how long the stream may take nothing before Trouble says so.
	silentFor = time.Minute
	// giveUpAfter ends a Run with Shipped or Safe with an error if the stream takes nothing for so long.
	giveUpAfter = 30 * time.Second
)

// Until says when Run ends by itself.
type Until int

// The ends of a Run.
const (
	Forever Until = iota
	Shipped       // when the stream has acknowledged every session whose recorder has ended
	Safe          // when it has still shown them after the hold-back as well
)

// Run ships what is in the folder and what comes, until ctx ends or as until says. With Shipped and Safe it
// leaves live sessions alone. One push at a time works on a folder and a stream: the error is store.ErrBusy
// while another does.
func (p *Push) Run(ctx context.Context, until Until) (err error) {
	unlock, err := p.lock()
	if err != nil {
		return fmt.Errorf("push: %w", err)
	}
	defer unlock()
	var shipments sync.WaitGroup
	beats, endBeats := context.WithCancel(ctx)
	defer func() {
		endBeats()
		shipments.Wait()
		err = errors.Join(err, p.link.close())
	}()
	shipments.Go(func() { p.beat(beats) })
	work, cancel := context.WithCancel(ctx)
	defer cancel()
	changed := make(chan struct{}, 1) // a shipment has ended
	changed <- struct{}{}
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	var seen string
	var listed time.Time
	for {
		due := time.Now().After(listed.Add(listEvery))
		select {
		case <-ctx.Done():
			if until != Forever {
				return ctx.Err()
			}
			return nil
		case <-changed:
			due = true
		case <-look.C:
		}
		if err := p.failure(giveUpAfter); err != nil && until != Forever {
			return err
		}
		now := p.signature()
		if !due && now == seen && time.Now().Before(p.nextDue()) {
			continue
		}
		seen, listed = now, time.Now()
		left, err := p.start(work, until, &shipments, changed)
		if err != nil && ctx.Err() == nil {
			p.trouble(fmt.Errorf("list the folder: %w", err))
		}
		if until != Forever && left == 0 {
			return err
		}
	}
}

// lock makes this the only push of the folder to the stream.
func (p *Push) lock() (unlock func(), err error) {
	if err := os.MkdirAll(string(p.states), 0o700); err != nil {
		return nil, err
	}
	lock := flock.New(filepath.Join(string(p.states), "lock"), flock.SetPermissions(0o600))
	ok, err := lock.TryLock()
	if err == nil && !ok {
		err = fmt.Errorf("another push of this folder runs: %w", store.ErrBusy)
	}
	return func() { _ = lock.Unlock() }, err
}

// signature tells whether sessions have come or gone, or databases have changed, since it was last asked for. It
// costs less than a listing.
func (p *Push) signature() string {
	var text strings.Builder
	for _, folder := range []string{"spool", "store"} {
		entries, _ := os.ReadDir(filepath.Join(p.folder.Info().Location, folder)) // a listing tells the error
		for _, entry := range entries {
			switch filepath.Ext(entry.Name()) {
			case ".log":
				text.WriteString(entry.Name())
			case ".db":
				if info, err := entry.Info(); err == nil {
					fmt.Fprint(&text, entry.Name(), info.Size(), info.ModTime())
				}
			}
		}
	}
	return text.String()
}

// nextDue returns when the first session is due that waits for a time.
func (p *Push) nextDue() time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	due := time.Now().Add(listEvery)
	for _, idle := range p.idle {
		if !idle.retry.IsZero() && idle.retry.Before(due) {
			due = idle.retry
		}
	}
	return due
}

// start starts the shipments that are due, and returns how many sessions are left for Run to wait for.
func (p *Push) start(ctx context.Context, until Until, shipments *sync.WaitGroup, changed chan<- struct{}) (left int, err error) {
	known := map[store.SessionID]bool{}
	busy := 0
	p.mu.Lock()
	for _, s := range p.running {
		if !s.follow {
			busy++
		}
	}
	p.mu.Unlock()
	for found, fault := range p.folder.Sessions(ctx, store.Query{}) {
		if fault != nil {
			err = errors.Join(err, fault)
			continue
		}
		known[found.ID] = true
		live := found.State == store.Live
		p.mu.Lock()
		_, runs := p.running[found.ID]
		idle := p.idle[found.ID]
		if idle == nil {
			idle = &idleSession{}
			p.idle[found.ID] = idle
		}
		p.mu.Unlock()
		if runs {
			left++
			continue
		}
		if !idle.read {
			if idle.state, fault = p.states.read(found.ID); fault != nil {
				err = errors.Join(err, fault)
			}
			idle.read = true
		}
		what, wait := p.dueFor(idle, found)
		switch {
		case what == isRefused || what == isDone || live && until != Forever:
			continue
		case time.Now().Before(idle.retry):
			left += waitsFor(what, until)
			continue
		case what == toHold:
			p.mu.Lock()
			idle.retry = time.Now().Add(wait)
			p.mu.Unlock()
			left += waitsFor(what, until)
			continue
		}
		left += waitsFor(what, until)
		if what == toLook && until == Shipped {
			left++ // it is looked at first
		}
		if !live {
			if busy == atOnce {
				continue // one that ends makes room
			}
			busy++
		}
		s := &shipment{push: p, id: found.ID, follow: live, random: rand.Float64}
		p.mu.Lock()
		p.running[found.ID] = s
		p.mu.Unlock()
		shipments.Go(func() {
			p.work(ctx, s, what, idle)
			select {
			case changed <- struct{}{}:
			default:
			}
		})
	}
	if err == nil && ctx.Err() == nil {
		p.forget(known)
	}
	return left, errors.Join(err, ctx.Err())
}

// waitsFor returns 1 if a Run waits for a session for which this is due.
func waitsFor(what due, until Until) int {
	if what == toShip || until == Safe {
		return 1
	}
	return 0
}

// dueFor returns what is due for a session of the folder.
func (p *Push) dueFor(idle *idleSession, found store.Session) (due, time.Duration) {
	at := p.clock()
	elapsed, ok := idle.state.elapsed(at)
	if !ok && idle.state.Complete { // the clock was set back
		idle.state.acknowledge(idle.state.Head.head(), at)
		if err := p.states.keep(found.ID, &idle.state); err != nil {
			p.note(err)
		}
	}
	if found.State == store.Live && idle.state.Stopped == "" {
		return toShip, 0
	}
	return idle.state.due(found.Head.Seq, elapsed, p.options.HoldBack)
}

// work does what is due for a session, and notes how it ended.
func (p *Push) work(ctx context.Context, s *shipment, what due, idle *idleSession) {
	isThere := false
	var err error
	if what == toLook {
		isThere, err = p.look(ctx, s.id, &idle.state)
	}
	if err == nil && !isThere {
		err = s.run(ctx)
	}
	stopped := (*StoppedError)(nil)
	p.mu.Lock()
	delete(p.running, s.id)
	idle.read = false // it has changed
	idle.retry = time.Time{}
	if err != nil {
		idle.retry = time.Now().Add(retryAfter)
	}
	p.mu.Unlock()
	switch {
	case errors.As(err, &stopped):
		p.trouble(err)
	case err != nil && ctx.Err() == nil:
		p.note(err)
	}
}

// look reports whether the stream still has a complete session, which is done then. Its entry is told again, which
// a power cut may have taken back as well.
func (p *Push) look(ctx context.Context, id store.SessionID, known *state) (bool, error) {
	call, cancel := context.WithTimeout(ctx, callTime(0))
	defer cancel()
	s, number, err := p.link.get(call)
	if err != nil {
		return false, err
	}
	head, err := s.Head(call, id)
	switch {
	case errors.Is(err, store.ErrNotFound), err == nil && !known.isAt(head):
		return false, nil
	case err != nil:
		if errors.Is(err, store.ErrClosed) {
			p.link.drop(number)
		}
		return false, err
	}
	for event, err := range s.Read(call, id, 1, nil) {
		if err != nil {
			return false, err
		}
		header, err := store.ParseHeader(event.Payload)
		if err == nil {
			err = s.Tell(call, stream.Entry{Header: header, Head: head, Machine: p.options.Machine})
		}
		if err != nil {
			return false, err
		}
		break
	}
	p.heard()
	known.Done = true
	return true, p.states.keep(id, known)
}

// beat tells the entries of live sessions in time, and Trouble when the stream has taken nothing for long.
func (p *Push) beat(ctx context.Context) {
	tick := time.NewTicker(time.Duration(float64(p.options.Lease) / beatsInLease))
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		p.mu.Lock()
		var live []*shipment
		for _, s := range p.running {
			if s.follow {
				live = append(live, s)
			}
		}
		told := p.told
		p.mu.Unlock()
		if err := p.failure(silentFor); err != nil && !told && p.options.Trouble != nil {
			p.mu.Lock()
			p.told = true
			p.mu.Unlock()
			p.options.Trouble(fmt.Errorf("%w; the folder has what waits", err))
		}
		if len(live) == 0 {
			continue
		}
		s, _, err := p.link.get(ctx)
		if err != nil {
			p.note(err)
			continue
		}
		slots := make(chan struct{}, 16)
		var telling sync.WaitGroup
		for _, x := range live {
			slots <- struct{}{}
			telling.Go(func() {
				if err := x.tell(ctx, s, true); err != nil {
					p.note(err)
				}
				<-slots
			})
		}
		telling.Wait()
	}
}

// forget drops what is known of sessions that are not in the folder any more.
func (p *Push) forget(known map[store.SessionID]bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	gone := false
	for id := range p.idle {
		if _, runs := p.running[id]; !known[id] && !runs {
			delete(p.idle, id)
			gone = true
		}
	}
	if gone {
		if err := p.states.forget(func(id store.SessionID) bool { return known[id] || p.running[id] != nil }); err != nil {
			p.lastErr = err
		}
	}
}

// clock reads the clocks of the machine.
func (p *Push) clock() clock {
	boot, uptime := p.options.Uptime()
	return clock{time.Now(), boot, uptime}
}

// trouble tells the user.
func (p *Push) trouble(err error) {
	p.note(err)
	if p.options.Trouble != nil {
		p.options.Trouble(err)
	}
}

// note keeps the newest error.
func (p *Push) note(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lastErr = err
	if p.failing.IsZero() {
		p.failing = time.Now()
	}
}

// heard notes that the stream has done what was asked.
func (p *Push) heard() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.failing = time.Time{}
	p.told = false
}

// failure returns the newest error if the stream has taken nothing for so long.
func (p *Push) failure(patience time.Duration) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.failing.IsZero() || time.Since(p.failing) < patience {
		return nil
	}
	return fmt.Errorf("the stream takes nothing: %w", p.lastErr)
}

// Progress returns how many events the stream has acknowledged to this Push, and the newest error.
func (p *Push) Progress() (acknowledged uint64, newest error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.acknowledged.Load(), p.lastErr
}

// Left is what a folder has of a session that a push ships.
type Left struct {
	Session store.Session
	Shipped uint64 // events that the stream has acknowledged
	// State is "live", "waiting" (not all of it is shipped), "held" (shipped, and to be looked at again),
	// "done", or "refused" (Why says why it is not shipped).
	State string
	Why   string
}

// Look lists what a push has shipped of a folder, and what it will. It ships nothing.
func Look(ctx context.Context, folder Folder, name string) (list []Left, err error) {
	dir := states(filepath.Join(folder.Info().Location, "push", name))
	for found, fault := range folder.Sessions(ctx, store.Query{}) {
		var known state
		if fault == nil {
			known, fault = dir.read(found.ID)
		}
		if fault != nil {
			err = errors.Join(err, fault)
			continue
		}
		x := Left{Session: found, Shipped: known.Head.Seq, Why: known.Stopped}
		what, _ := known.due(found.Head.Seq, 0, time.Hour)
		x.State = map[due]string{isRefused: "refused", toShip: "waiting", toHold: "held", toLook: "held", isDone: "done"}[what]
		if found.State == store.Live && what != isRefused {
			x.State = "live"
		}
		list = append(list, x)
	}
	slices.SortFunc(list, func(a, b Left) int { return strings.Compare(string(a.Session.ID), string(b.Session.ID)) })
	return list, err
}

// link is the connection to the stream, which the shipments share.
type link struct {
	open    func(context.Context) (Stream, error)
	turn    chan struct{} // holds an element while somebody uses the fields below
	stream  Stream        // nil: there is no connection
	number  int           // of the connection
	closing sync.WaitGroup
}

// get returns the connection and its number. The first caller opens it, and others wait for that.
func (l *link) get(ctx context.Context) (Stream, int, error) {
	select {
	case l.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, 0, ctx.Err()
	}
	defer func() { <-l.turn }()
	if l.stream == nil {
		opened, err := l.open(ctx)
		if err != nil {
			return nil, 0, err
		}
		l.stream = opened
		l.number++
	}
	return l.stream, l.number, nil
}

// drop closes a connection that is of no use, unless another one is open already.
func (l *link) drop(number int) {
	l.turn <- struct{}{}
	defer func() { <-l.turn }()
	if l.stream == nil || l.number != number {
		return
	}
	dropped := l.stream
	l.stream = nil
	l.closing.Go(func() { _ = dropped.Close() }) // a broken connection may be slow at that
}

// close closes the connection, after the last use.
func (l *link) close() (err error) {
	if l.stream != nil {
		err = l.stream.Close()
		l.stream = nil
	}
	l.closing.Wait()
	return err
}
