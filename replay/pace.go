package replay

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
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

// Gap returns how long after the latest of its causes the frame was recorded that
// was returned as number n, counted from 0 over all that were. Its causes are what
// was recorded before it and has happened: messages of the live client, and frames
// that were sent. It is asked when the frame is returned, and 0 for a frame that
// was not recorded.
func (p *Player) Gap(n int) time.Duration {
	if r := p.out[n]; r != nil {
		return p.gap(r)
	}
	return 0
}

func (p *Player) gap(r *reply) time.Duration {
	last := p.heardBefore(r)
	for _, o := range slices.Backward(p.replies[:r.index]) {
		if o.sent {
			last = max(last, o.at)
			break
		}
	}
	return r.at - last
}

// heardBefore returns when the last message recorded before r was, of those that
// have come.
func (p *Player) heardBefore(r *reply) time.Duration {
	for _, c := range slices.Backward(p.cues[:r.before]) {
		if c.arrived {
			return c.at
		}
	}
	return 0
}

// apart returns, of a response, how long after the first of the notifications it was
// recorded that stand before it, with nothing else sent or heard since; 0 of others.
func (p *Player) apart(n int) (gap time.Duration) {
	r := p.out[n]
	if r == nil || !r.answers() {
		return 0
	}
	since := p.heardBefore(r)
	for _, o := range slices.Backward(p.replies[:r.index]) {
		if o.sent && (o.answers() || len(o.asks) > 0 || o.at < since) {
			break
		}
		if o.sent {
			gap = r.at - o.at
		}
	}
	return gap
}

// Overtaken reports whether frame n, counted as for Gap, belongs to no request and
// the live client has said already what was recorded after it: then the recorded
// moment of the frame is over.
func (p *Player) Overtaken(n int) bool {
	r := p.out[n]
	return r != nil && len(r.owners) == 0 && r.before < p.reach
}
