package standin

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Pacer spaces the frames that are sent by the recorded gaps. It never changes the order.
type Pacer interface {
	// Pace waits for its share of a recorded gap, from now on. It returns the context's
	// error if the context ends first.
	Pace(ctx context.Context, gap time.Duration) error
}

// Unpaced waits for nothing.
type Unpaced struct{}

// Pace implements [Pacer].
func (Unpaced) Pace(context.Context, time.Duration) error { return nil }

// Apart waits before a response alone, as long as the response was recorded after the
// notifications in front of it, or By if that is less. Clients lose progress that they read
// together with the result (typescript-sdk issue 2580), and with a live server they seldom
// do.
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
// than longest, unless that is 0.
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
