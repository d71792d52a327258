package standin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/mcprec/mcprec/transport"
)

// ServeOptions say how a Player is served.
type ServeOptions struct {
	// Pacer spaces the frames; nil is [Unpaced].
	Pacer Pacer
	// Patience with a silent client; 0 is half a second.
	Patience time.Duration
	// Live is asked what is not recorded; nil: an error is the answer.
	Live *Live
	// Say is told, from one goroutine at a time, what somebody who watches should
	// know at once; nil: nobody does.
	Say func(text string)
	// Heard gets the number of the HTTP exchange of a frame that came, and of the recorded
	// exchange that this one stands for, before anything is written that follows from
	// it; nil: nobody is.
	Heard func(live, recorded uint64)
}

// Serve plays p to the client at the other end of conn until the client ends its
// side, writes what there is to say, and returns nil. It returns the context's
// error, or the connection's, wrapped. What the client did otherwise than the
// recorded one is in p.Close. Serve closes conn, which also ends a write to a
// client that does not read.
func Serve(ctx context.Context, conn transport.Conn, p *Player, o ServeOptions) error {
	inner, cancel := context.WithCancel(ctx)
	s := newServing(conn, p, o)
	var workers sync.WaitGroup
	var closeErr error
	workers.Go(func() {
		<-inner.Done()
		closeErr = conn.Close() // wakes a write that heeds no context
	})
	if o.Live != nil {
		live, leave := context.WithCancel(inner)
		defer leave()
		o.Live.cancel = leave
		workers.Go(func() { o.Live.run(live) })
	}
	workers.Go(func() { s.read(inner, cancel) })
	err := s.write(inner)
	cancel()
	workers.Wait()
	switch {
	case ctx.Err() != nil && err != nil:
		return fmt.Errorf("serve session: %w", ctx.Err())
	case s.readErr != nil && err != nil:
		return fmt.Errorf("serve session: read from client: %w", s.readErr)
	case err != nil && !s.ended && !errors.Is(err, transport.ErrClosed): // a client that has ended need not hear the rest
		return fmt.Errorf("serve session: write to client: %w", err)
	case closeErr != nil:
		return fmt.Errorf("serve session: close: %w", closeErr)
	}
	return nil
}

// serving is a Player between a reader and a writer, which are apart so that a
// client that writes much before it reads is always heard.
type serving struct {
	ServeOptions
	conn transport.Conn
	gap  func(n int) time.Duration // in front of frame n; nil: none
	news chan struct{}             // there may be more to write, or to wait for

	mu      sync.Mutex // never held across a read, a write or a wait
	player  *Player
	said    int // frames that the player has returned
	told    int // of its findings, that were said
	queue   []outgoing
	rest    *pendingGap // the writer's, between two frames
	ended   bool        // the client's side
	readErr error       // why nothing is heard any more, if not for that
}

// outgoing is a frame on its way to the client.
type outgoing struct {
	frame transport.Frame
	n     int // the player's number of it
	gap   time.Duration
}

// pendingGap is a recorded gap that is waited for in front of frame n.
type pendingGap struct {
	n   int
	end context.CancelFunc
}

func newServing(conn transport.Conn, p *Player, o ServeOptions) *serving {
	if o.Patience == 0 {
		o.Patience = defaultPatience
	}
	say, one := o.Say, sync.Mutex{}
	o.Say = func(text string) {
		one.Lock()
		defer one.Unlock()
		if say != nil {
			say(text)
		}
	}
	s := &serving{ServeOptions: o, conn: conn, news: make(chan struct{}, 1), player: p}
	switch o.Pacer.(type) {
	case nil:
		s.Pacer = Unpaced{}
	case Unpaced:
	case Apart:
		s.gap = p.apart
	default:
		s.gap = p.Gap
	}
	if l := o.Live; l != nil {
		l.s, l.router, l.start, l.news = s, newLiveRouter(p), time.Now(), make(chan struct{}, 1)
	}
	s.add(p.Start())
	return s
}

// notify leaves word for one goroutine that waits, or will.
func notify(news chan struct{}) {
	select {
	case news <- struct{}{}:
	default:
	}
}

// add queues what the player has returned.
func (s *serving) add(frames []transport.Frame) {
	for _, f := range frames {
		next := outgoing{frame: f, n: s.said}
		if s.gap != nil {
			next.gap = s.gap(s.said)
		}
		s.queue = append(s.queue, next)
		s.said++
	}
}

// pass queues frames that are not the player's.
func (s *serving) pass(frames []transport.Frame) {
	for _, f := range frames {
		s.queue = append(s.queue, outgoing{frame: f})
	}
	notify(s.news)
}

// read gives what the client says to the player until the client ends its side.
// A connection that breaks is the end of the writer as well.
func (s *serving) read(ctx context.Context, broken context.CancelFunc) {
	var err error
	for err == nil && ctx.Err() == nil {
		var f transport.Frame
		if f, err = s.conn.Read(ctx); err == nil {
			s.hear(f, nil)
			notify(s.news)
			s.sayFindings()
		}
	}
	s.hear(transport.Frame{}, err)
	if err != io.EOF {
		broken()
	}
	notify(s.news)
}

// sayFindings reports what could not be served.
func (s *serving) sayFindings() {
	s.mu.Lock()
	list := s.player.findings.list
	news := faults(list[s.told:])
	s.told = len(list)
	s.mu.Unlock()
	for _, v := range news {
		s.Say(v.String())
	}
}

func (s *serving) hear(f transport.Frame, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case err == nil:
		if s.Live == nil || s.Live.hear(f) {
			out := s.player.Receive(f)
			if s.Heard != nil {
				s.Heard(f.Stream, s.player.Exchange(f.Stream))
			}
			s.add(out)
		}
	case err == io.EOF:
		s.add(s.player.End())
		s.ended = true
		if s.Live != nil {
			// A live server that does not read, or does not end, is left after a while.
			time.AfterFunc(partingTimeout, s.Live.cancel)
			notify(s.Live.news)
		}
	default:
		s.readErr = err
	}
	if s.rest != nil && s.isOver(s.rest.n) {
		s.rest.end()
	}
}

// isOver reports whether the gap in front of frame n need not be waited for.
func (s *serving) isOver(n int) bool { return s.ended || s.player.Overtaken(n) }

// write says what is queued until the client has ended and all is said.
func (s *serving) write(ctx context.Context) error {
	for {
		next, more, ended := s.next()
		var err error
		switch {
		case more:
			if next.gap > 0 {
				err = s.pace(ctx, next)
			}
			if err == nil {
				err = s.conn.Write(ctx, next.frame)
			}
		case ended:
			return nil
		default:
			err = s.wait(ctx)
		}
		if err != nil {
			return err
		}
	}
}

func (s *serving) next() (next outgoing, more, ended bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.queue) == 0 {
		return next, false, s.ended && (s.Live == nil || s.Live.over)
	}
	next = s.queue[0]
	s.queue = s.queue[1:]
	return next, true, s.ended
}

// pace waits for the gap in front of a frame, or until it is over.
func (s *serving) pace(ctx context.Context, next outgoing) error {
	resting, end := context.WithCancel(ctx)
	defer end()
	s.mu.Lock()
	over := s.isOver(next.n)
	s.rest = &pendingGap{n: next.n, end: end}
	s.mu.Unlock()
	if over {
		return nil
	}
	err := s.Pacer.Pace(resting, next.gap)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rest = nil
	if resting.Err() != nil {
		return ctx.Err()
	}
	return err
}

// wait waits for news, and while an answer is held back not for ever.
func (s *serving) wait(ctx context.Context) error {
	s.mu.Lock()
	held := s.player.order.waiting(false) // an answer that waits for the client
	var gap time.Duration
	if held != nil {
		gap = s.player.gap(held)
	}
	s.mu.Unlock()
	if held == nil {
		select {
		case <-s.news:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	resting, end := context.WithCancel(ctx)
	silent := make(chan error, 1)
	go func() { // until the answer would have come, and then until patience ends
		err := s.Pacer.Pace(resting, gap)
		if err == nil {
			err = Paced{}.Pace(resting, s.Patience)
		}
		silent <- err
	}()
	select {
	case <-s.news:
		end()
		<-silent
		return nil
	case err := <-silent:
		end()
		if err == nil {
			s.mu.Lock()
			before := len(s.player.without)
			s.add(s.player.Relent())
			without := s.player.Without()[before:]
			s.mu.Unlock()
			if len(without) > 0 {
				s.Say(fmt.Sprintf("the client was silent for %v: went on without %s", s.Patience, strings.Join(without, ", ")))
			}
		}
		return err
	}
}
