package standin

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/mcprec/mcprec/transport"
)

// Pacer spaces what is sent by the recorded gaps. It never changes the order.
type Pacer interface {
	// Pace waits as long as it makes of a recorded gap, from now on. It returns
	// the context's error when that ends first.
	Pace(ctx context.Context, gap time.Duration) error
}

// Unpaced waits for nothing.
type Unpaced struct{}

// Pace implements [Pacer].
func (Unpaced) Pace(context.Context, time.Duration) error { return nil }

// Apart waits for one thing: a response that was recorded some time after the
// notifications before it comes that long after them, or By if that is less. Clients lose
// progress that they read together with the result (typescript-sdk issue 2580), and
// from a live server they seldom do.
type Apart struct{ By time.Duration }

// Pace implements [Pacer].
func (a Apart) Pace(ctx context.Context, gap time.Duration) error {
	return Paced{Max: a.By}.Pace(ctx, gap)
}

// Paced waits for the recorded gaps, at a speed.
type Paced struct {
	// Speed is how many times faster than recorded: 2 halves the gaps. 0 is 1.
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

// wait is what becomes of a gap.
func (p Paced) wait(gap time.Duration) time.Duration {
	if p.Speed != 0 {
		gap = time.Duration(min(float64(gap)/p.Speed, math.MaxInt64/2))
	}
	if p.Max > 0 {
		gap = min(gap, p.Max)
	}
	return gap
}

// ParsePacer reads a Pacer: none, recorded, or a speed such as 2x or 0.5x. Gaps
// are at most longest, unless that is 0.
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

// ioLoop holds a reader and a writer apart, so that a peer which writes much
// before it reads is always heard.
type ioLoop struct {
	pacer Pacer
	in    chan readResult
	out   chan outgoing
	begun chan struct{} // a frame's gap is over
	taken chan struct{} // the transport has the frame
	ended chan error    // how the writer ended
}

func newIOLoop(pacer Pacer) *ioLoop {
	if pacer == nil {
		pacer = Unpaced{}
	}
	return &ioLoop{
		pacer: pacer, in: make(chan readResult), out: make(chan outgoing),
		begun: make(chan struct{}, 1), taken: make(chan struct{}, 1), ended: make(chan error, 1),
	}
}

// readResult is what a Read returned.
type readResult struct {
	frame transport.Frame
	err   error
}

func (s *ioLoop) read(ctx context.Context, conn transport.Conn) {
	for {
		f, err := conn.Read(ctx)
		select {
		case s.in <- readResult{f, err}:
		case <-ctx.Done():
			return
		}
		if err != nil {
			return
		}
	}
}

// write writes one frame after the other, each after its gap, until out is closed.
func (s *ioLoop) write(ctx context.Context, conn transport.Conn) error {
	for {
		select {
		case next, more := <-s.out:
			if !more {
				return nil
			}
			if err := s.pacer.Pace(ctx, next.gap); err != nil {
				return err
			}
			if err := report(ctx, s.begun); err != nil {
				return err
			}
			if err := conn.Write(ctx, next.frame); err != nil {
				return err
			}
			if err := report(ctx, s.taken); err != nil {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// report tells of a step of the writer. When the server is gone nobody may be
// listening: the word on the frame before can still be there.
func report(ctx context.Context, to chan struct{}) error {
	select {
	case to <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
