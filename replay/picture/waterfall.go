package picture

import (
	"cmp"
	"slices"
	"sort"
	"time"

	"github.com/mcprec/mcprec/transport"
)

// Waterfall is a session to the scale of time.
type Waterfall struct {
	End  time.Duration `json:"end"`  // of the latest event
	Bars []Bar         `json:"bars"` // in the order of the requests
	Left int           `json:"left"` // calls that are not among Bars: shorter ones
	// C2S, S2C and Fault count the messages of the client, of the server, and the failures, in equal
	// parts of the time.
	C2S   []int `json:"c2s"`
	S2C   []int `json:"s2c"`
	Fault []int `json:"fault"`
}

// Bar is a call to the scale of time.
type Bar struct {
	Request uint64        `json:"request"`
	End     uint64        `json:"end"` // as of a [Call]
	At      time.Duration `json:"at"`
	Until   time.Duration `json:"until"` // 0 where the call is open
	Dir     string        `json:"dir"`
	How     string        `json:"how"`
	Lane    int           `json:"lane"` // calls that overlap stand in different lanes, as far as there are any
}

// markEvery is how many events stand between two times that are kept.
const markEvery = 32

// barLanes is the number of lanes.
const barLanes = 5

// Time returns when an event was, to 0.4 % of the pauses between it and the nearest of each 32 events
// whose time is kept; 0 for an event that the index does not have.
func (x *Index) Time(seq uint64) time.Duration {
	if seq == 0 || seq > x.Len() {
		return 0
	}
	n := int(seq - 1)
	at := x.times[n/markEvery]
	for _, pause := range x.pauses[n/markEvery*markEvery+1 : n+1] {
		at += unpackPause(pause)
	}
	return min(at, x.at)
}

// SeqAt returns the first event that is not before a time; the last one if there is none.
func (x *Index) SeqAt(at time.Duration) uint64 {
	mark := max(0, sort.Search(len(x.times), func(i int) bool { return x.times[i] >= at })-1)
	for seq := uint64(mark*markEvery) + 1; seq <= x.Len(); seq++ {
		if x.Time(seq) >= at {
			return seq
		}
	}
	return x.Len()
}

// Waterfall returns at most a number of calls, those without an end before the others, and of these the
// longest, and the messages in so many parts of the time.
func (x *Index) Waterfall(bars, parts int) Waterfall {
	w := Waterfall{End: x.at, Bars: x.bars(bars), C2S: make([]int, parts), S2C: make([]int, parts), Fault: make([]int, parts)}
	w.Left = len(x.calls) - len(w.Bars)
	setLanes(w.Bars, x.at)
	at := time.Duration(0)
	for i, flags := range x.flags {
		if at += unpackPause(x.pauses[i]); i%markEvery == 0 {
			at = x.times[i/markEvery]
		}
		part := 0
		if x.at > 0 {
			part = min(parts-1, int(float64(at)/float64(x.at)*float64(parts)))
		}
		switch {
		case parts == 0 || flags&flagFrame == 0:
			continue
		case transport.Direction(flags&dirMask) == transport.ClientToServer:
			w.C2S[part]++
		case transport.Direction(flags&dirMask) == transport.ServerToClient:
			w.S2C[part]++
		}
		if flags&flagFault != 0 {
			w.Fault[part]++
		}
	}
	return w
}

// bars chooses the calls of a waterfall.
func (x *Index) bars(most int) []Bar {
	type length struct {
		number int
		lasts  time.Duration
	}
	chosen := make([]length, 0, 2*most) // the longest so far, and as many of the others again
	keep := func() {
		slices.SortFunc(chosen, func(a, b length) int {
			return cmp.Or(cmp.Compare(b.lasts, a.lasts), cmp.Compare(a.number, b.number))
		})
		chosen = chosen[:min(most, len(chosen))]
	}
	for number, c := range x.calls {
		lasts := 2*x.at + 1 - x.Time(uint64(c.request)) // longer than any call with an end
		if c.end != never {
			lasts = x.Time(uint64(c.end)) - x.Time(uint64(c.request))
		}
		if chosen = append(chosen, length{number, lasts}); len(chosen) == cap(chosen) {
			keep()
		}
	}
	keep()
	slices.SortFunc(chosen, func(a, b length) int { return cmp.Compare(a.number, b.number) })
	bars := make([]Bar, len(chosen))
	for i, one := range chosen {
		c := x.calls[one.number]
		bars[i] = Bar{Request: uint64(c.request), At: x.Time(uint64(c.request)), Dir: dirOf(c.dir), How: c.outcome.String()}
		if c.end != never {
			bars[i].End = uint64(c.end)
			bars[i].Until = x.Time(uint64(c.end))
		}
	}
	return bars
}

// setLanes gives each bar the first lane in which it stands alone: those without an end first, for they are what
// somebody looks for. The last lane takes the others.
func setLanes(bars []Bar, end time.Duration) {
	order := make([]*Bar, len(bars))
	for i := range bars {
		order[i] = &bars[i]
	}
	isOver := func(bar *Bar) int { return min(int(bar.End), 1) }
	slices.SortStableFunc(order, func(a, b *Bar) int { return cmp.Compare(isOver(a), isOver(b)) })
	var lanes [barLanes - 1][]*Bar
	until := func(bar *Bar) time.Duration {
		if bar.End == 0 {
			return end + 1
		}
		return bar.Until
	}
	for _, bar := range order {
		bar.Lane = slices.IndexFunc(lanes[:], func(lane []*Bar) bool {
			return !slices.ContainsFunc(lane, func(other *Bar) bool { return bar.At < until(other) && other.At < until(bar) })
		})
		if bar.Lane < 0 {
			bar.Lane = barLanes - 1
			continue
		}
		lanes[bar.Lane] = append(lanes[bar.Lane], bar)
	}
}
