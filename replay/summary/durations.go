package summary

import (
	"cmp"
	"math/bits"
	"slices"
	"time"
)

// Durations counts durations by steps of a logarithmic scale. The zero Durations is empty.
type Durations struct {
	count uint64
	max   time.Duration
	steps []step // in order, none empty
}

// step counts the durations of one step.
type step struct{ number, count uint64 }

// stepsPerDoubling is how many steps there are from a duration to the double.
const stepsPerDoubling = 128

// stepOf numbers a duration: the first 2·stepsPerDoubling are exact, above them a step is less
// than one hundredth of the duration.
func stepOf(d time.Duration) uint64 {
	n := uint64(max(d, 0))
	if n < 2*stepsPerDoubling {
		return n
	}
	shift := uint64(bits.Len64(n) - bits.Len64(stepsPerDoubling))
	return shift*stepsPerDoubling + n>>shift
}

// longest returns the longest duration of a step.
func longest(number uint64) time.Duration {
	if number < 2*stepsPerDoubling {
		return time.Duration(number)
	}
	shift := number/stepsPerDoubling - 1
	return time.Duration((number-shift*stepsPerDoubling+1)<<shift - 1)
}

// Count returns the number of durations.
func (d *Durations) Count() uint64 { return d.count }

// Max returns the longest duration ever added, or 0.
func (d *Durations) Max() time.Duration { return d.max }

// Add adds a duration.
func (d *Durations) Add(took time.Duration) {
	d.max = max(d.max, took)
	d.add(stepOf(took), 1)
}

func (d *Durations) add(number, count uint64) {
	i, found := d.find(number)
	if !found {
		d.steps = slices.Insert(d.steps, i, step{number: number})
	}
	d.steps[i].count += count
	d.count += count
}

func (d *Durations) find(number uint64) (int, bool) {
	return slices.BinarySearchFunc(d.steps, number, func(s step, n uint64) int { return cmp.Compare(s.number, n) })
}

// Remove undoes an Add. Max stays.
func (d *Durations) Remove(took time.Duration) {
	i, found := d.find(stepOf(took))
	if !found {
		return
	}
	d.count--
	if d.steps[i].count--; d.steps[i].count == 0 {
		d.steps = slices.Delete(d.steps, i, i+1)
	}
}

// Merge adds the durations of other.
func (d *Durations) Merge(other *Durations) {
	d.max = max(d.max, other.max)
	for _, s := range other.steps {
		d.add(s.number, s.count)
	}
}

// Quantile returns the longest duration of the fastest percent, exact to one hundredth; 0
// without durations.
func (d *Durations) Quantile(percent uint64) time.Duration {
	rank := max((d.count*percent+99)/100, 1)
	for _, s := range d.steps {
		if s.count >= rank {
			return min(longest(s.number), d.max)
		}
		rank -= s.count
	}
	return d.max
}
