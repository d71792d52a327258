package standin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/mcprec/mcprec/replay/fault"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/streamable"
)

// ServeOptions say how a Player is served.
type ServeOptions struct {
	// Pacer spaces the frames; nil is [Unpaced].
	Pacer Pacer
	// Patience with a silent client; 0 is half a second.
	Patience time.Duration
	// Live gets unrecorded requests; nil: an error answers them.
	Live *Live
	// Say gets urgent news for a watching person, from one goroutine at a time; it may be nil.
	Say func(text string)
	// Faults decides what goes wrong with the frames; nil: nothing does. An Endpoint needs one
	// for each session.
	Faults *fault.Machine
	// Stderr gets what a fault writes to standard error; nil: nothing is written.
	Stderr io.Writer
	// Told gets each fault before it happens, from one goroutine at a time; it may be nil.
	Told func(text string)
	// Tap wraps the connection, to see what passes on it; it may be nil.
	Tap func(transport.Conn) transport.Conn

	// heard gets the numbers of a live and of the recorded HTTP exchange when a frame has
	// come, before any answer is written; it may be nil.
	heard func(live, recorded uint64)
	// responses carries out faults over HTTP; nil: there is one stream, such as stdio.
	responses responses
}

// responses are the HTTP responses that frames go out on.
type responses interface {
	Answer(exchange uint64, answer streamable.Answer)
	Break(frame transport.Frame, half, open bool)
	EndStream(frame transport.Frame)
}

// errCut ends a session whose only stream a fault has cut.
var errCut = errors.New("cut by a fault")

// Serve plays player to the client at the other end of conn until the client ends, writes the
// remaining frames, and returns nil. It returns the context's error, or the connection's,
// wrapped. The verdicts on the client are in player.Close. Serve closes conn, which also ends a
// write to a client that does not read.
func Serve(ctx context.Context, conn transport.Conn, player *Player, options ServeOptions) error {
	inner, cancel := context.WithCancel(ctx)
	if options.Tap != nil {
		conn = options.Tap(conn)
	}
	s := &serving{ServeOptions: options, conn: conn, start: time.Now(), news: make(chan struct{}, 1), player: player}
	if s.Patience == 0 {
		s.Patience = defaultPatience
	}
	switch s.Pacer.(type) {
	case nil:
		s.Pacer = Unpaced{}
	case Unpaced:
	case Apart:
		s.gap = player.apart
	default:
		s.gap = player.Gap
	}
	s.add(player.Start())
	var workers sync.WaitGroup
	var closeErr error
	workers.Go(func() {
		<-inner.Done()
		closeErr = conn.Close() // wakes a write that heeds no context
	})
	if l := s.Live; l != nil {
		live, leave := context.WithCancel(inner)
		defer leave()
		l.serving, l.router, l.start, l.news, l.cancel = s, newLiveRouter(player), time.Now(), make(chan struct{}, 1), leave
		workers.Go(func() { l.run(live) })
	}
	workers.Go(func() { s.read(inner, cancel) })
	err := s.write(inner)
	cancel()
	workers.Wait()
	switch {
	case errors.Is(err, errCut):
		return nil
	case ctx.Err() != nil && err != nil:
		return fmt.Errorf("serve session: %w", ctx.Err())
	case s.readErr != nil && err != nil:
		return fmt.Errorf("serve session: read from client: %w", s.readErr)
	case err != nil && !s.ended && !errors.Is(err, transport.ErrClosed): // a client after the end need not hear the rest
		return fmt.Errorf("serve session: write to client: %w", err)
	case closeErr != nil:
		return fmt.Errorf("serve session: close: %w", closeErr)
	}
	return nil
}

// serving is a Player between a reader and a writer. The two are apart: a client may write
// much before it reads.
type serving struct {
	ServeOptions
	conn  transport.Conn
	start time.Time                 // of Serve
	gap   func(n int) time.Duration // in front of frame n; nil: no gaps
	news  chan struct{}             // there may be more to write, or to wait for

	saying sync.Mutex // held for a call of Say, or of Told

	mu       sync.Mutex // never held across a read, a write or a wait
	player   *Player
	returned int // frames returned by the player
	reported int // findings said before
	queue    []outgoing
	rest     outgoing           // the frame of the writer's present wait
	endGap   context.CancelFunc // ends the wait; nil: no wait
	ended    bool               // the client's side
	readErr  error              // why the reader has stopped, unless the client has ended
}

// outgoing is a frame on its way to the live end.
type outgoing struct {
	frame transport.Frame
	n     int           // place among the frames returned by a Player
	gap   time.Duration // in front of it
}

// partingTimeout is how long a shell reads on after ending its own side. Most servers heed the
// end of input and are done in an instant; Close deals with the others.
const partingTimeout = 2 * time.Second

// notify wakes a goroutine that waits for news, now or later.
func notify(news chan struct{}) {
	select {
	case news <- struct{}{}:
	default:
	}
}

// say reports news to the caller.
func (s *serving) say(text string) {
	if s.Say != nil {
		s.saying.Lock()
		defer s.saying.Unlock()
		s.Say(text)
	}
}

// add queues frames of the player.
func (s *serving) add(frames []transport.Frame) {
	for _, f := range frames {
		next := outgoing{frame: f, n: s.returned}
		if s.gap != nil {
			next.gap = s.gap(s.returned)
		}
		s.queue = append(s.queue, next)
		s.returned++
	}
}

// pass queues frames from elsewhere than the player.
func (s *serving) pass(frames []transport.Frame) {
	for _, f := range frames {
		s.queue = append(s.queue, outgoing{frame: f})
	}
	notify(s.news)
}

// read gives the client's frames to the player until the client ends. A broken connection ends
// the writer as well.
func (s *serving) read(ctx context.Context, broken context.CancelFunc) {
	for ctx.Err() == nil {
		f, err := s.conn.Read(ctx)
		refused := err == nil && s.refuse(f)
		s.mu.Lock()
		switch {
		case refused:
		case err == io.EOF:
			s.add(s.player.End())
			s.ended = true
			if s.Live != nil {
				// A live server that does not read, or does not end, is left after a while.
				time.AfterFunc(partingTimeout, s.Live.cancel)
				notify(s.Live.news)
			}
		case err != nil:
			s.readErr = err
		case s.Live == nil || s.Live.hear(f):
			out := s.player.Receive(f)
			if s.heard != nil {
				s.heard(f.Stream, s.player.streams[f.Stream])
			}
			s.add(out)
		}
		s.endRest()
		news := faults(s.player.findings[s.reported:])
		s.reported = len(s.player.findings)
		s.mu.Unlock()
		notify(s.news)
		if err == io.EOF {
			return
		}
		if err != nil {
			break
		}
		for _, v := range news {
			s.say(v.String())
		}
	}
	broken()
}

// endRest ends the wait for a gap that is over.
func (s *serving) endRest() {
	if s.endGap != nil && (s.ended || s.player.Overtaken(s.rest.n)) {
		s.endGap()
	}
}

// write writes the queue until the client has ended and the queue is empty.
func (s *serving) write(ctx context.Context) error {
	for {
		s.mu.Lock()
		steps := s.faultsDue()
		more := len(s.queue) > 0 && len(steps) == 0
		var next outgoing
		if more {
			next = s.queue[0]
			s.queue = s.queue[1:]
		}
		over := s.ended && (s.Live == nil || s.Live.over) && !s.isHeld()
		s.mu.Unlock()
		var err error
		switch {
		case len(steps) > 0:
			err = s.carryOut(ctx, steps)
		case more:
			if next.gap > 0 {
				err = s.pace(ctx, next)
			}
			if err == nil {
				err = s.send(ctx, next.frame)
			}
		case over:
			return nil
		default:
			err = s.wait(ctx)
		}
		if err != nil {
			return err
		}
	}
}

// pace waits for the gap in front of a frame, or until the gap is over.
func (s *serving) pace(ctx context.Context, next outgoing) error {
	resting, end := context.WithCancel(ctx)
	defer end()
	s.mu.Lock()
	s.rest = next
	s.endGap = end
	s.endRest()
	s.mu.Unlock()
	if resting.Err() != nil {
		return ctx.Err()
	}
	err := s.Pacer.Pace(resting, next.gap)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.endGap = nil
	if resting.Err() != nil {
		return ctx.Err()
	}
	return err
}

// wait waits for news, and not for ever while an answer waits for the client.
func (s *serving) wait(ctx context.Context) error {
	s.mu.Lock()
	held := s.player.waiting(false)
	var gap time.Duration
	if held != nil {
		gap = s.player.gapBefore(held)
	}
	due, stop := s.faultTimer()
	s.mu.Unlock()
	defer stop()
	if held == nil {
		select {
		case <-s.news:
			return nil
		case <-due:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	resting, end := context.WithCancel(ctx)
	defer end()
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
	case <-due:
		end()
		<-silent
		return nil
	case err := <-silent:
		if err != nil {
			return err
		}
	}
	s.mu.Lock()
	before := len(s.player.without)
	s.add(s.player.GiveUpWaiting())
	without := s.player.Without()[before:]
	s.mu.Unlock()
	if len(without) > 0 {
		s.say(fmt.Sprintf("the client was silent for %v: went on without %s", s.Patience, strings.Join(without, ", ")))
	}
	return nil
}

// Pacer spaces the sent frames by the recorded gaps. It never changes the order.
type Pacer interface {
	// Pace waits for a share of a recorded gap, from now on. It returns the context's error if
	// the context ends first.
	Pace(ctx context.Context, gap time.Duration) error
}

// Unpaced waits for nothing.
type Unpaced struct{}

// Pace implements [Pacer].
func (Unpaced) Pace(context.Context, time.Duration) error { return nil }

// Apart waits before a response alone, as long as the response was recorded after the
// notifications in front of it, or By if that is less. Clients lose progress read together
// with the result (typescript-sdk issue 2580), which seldom happens with a live server.
type Apart struct{ By time.Duration }

// Pace implements [Pacer].
func (a Apart) Pace(ctx context.Context, gap time.Duration) error {
	return Paced{Max: a.By}.Pace(ctx, gap)
}

// Paced waits for the recorded gaps, at a speed.
type Paced struct {
	// Speed is the factor by which to go faster than recorded: 2 halves the gaps. 0 is 1.
	Speed float64
	// Max is the longest wait there may be; 0 is no limit.
	Max time.Duration
}

// Pace implements [Pacer].
func (p Paced) Pace(ctx context.Context, gap time.Duration) error {
	wait := p.wait(gap)
	if wait <= 0 {
		return nil
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// wait returns the time to wait for a gap.
func (p Paced) wait(gap time.Duration) time.Duration {
	if p.Speed != 0 {
		gap = time.Duration(min(float64(gap)/p.Speed, math.MaxInt64/2))
	}
	if p.Max > 0 {
		gap = min(gap, p.Max)
	}
	return gap
}

// ParsePacer reads a Pacer: none, recorded, or a speed such as 2x or 0.5x. No gap is longer
// than longest, unless longest is 0.
func ParsePacer(timing string, longest time.Duration) (Pacer, error) {
	switch timing {
	case "none":
		return Unpaced{}, nil
	case "recorded":
		return Paced{Speed: 1, Max: longest}, nil
	}
	speed, err := strconv.ParseFloat(strings.TrimSuffix(timing, "x"), 64)
	if err != nil || !(speed > 0) || math.IsInf(speed, 1) {
		return nil, fmt.Errorf("timing %q: want none, recorded, or a speed such as 2x or 0.5x", timing)
	}
	return Paced{Speed: speed, Max: longest}, nil
}
