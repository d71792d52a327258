package picture

import (
	"fmt"
	"maps"
	"slices"
	"sort"

	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/store"
)

// Range makes the rows of some events of a session, from these events and from the requests
// that they answer. It has a copy of what it needs from the Index, which may grow meanwhile.
type Range struct {
	from, to uint64
	links    map[uint64][]rangeLink // of the events of the range and of the wanted requests
	refused  map[uint64]uint64      // by an HTTP status of the range: the request of the first call
	calls    map[uint32]*timeline.Call
	wants    []uint64
	rows     []Row
	err      error
}

// rangeLink is the link of a message of a frame.
type rangeLink struct {
	partLink
	request uint32
}

// Range returns the range of at most count events from Seq from on.
func (x *Index) Range(from uint64, count int) *Range {
	from = max(from, 1)
	r := &Range{
		from: from, to: min(x.Len(), from-1+uint64(max(count, 0))), rows: []Row{},
		links: map[uint64][]rangeLink{}, refused: map[uint64]uint64{}, calls: map[uint32]*timeline.Call{},
	}
	wanted := map[uint64]bool{}
	for seq := from; seq <= r.to; seq++ {
		links := x.linksOf(seq)
		r.links[seq] = links
		if x.flags[seq-1]&flagFrame == 0 && x.callOf[seq-1] > 0 {
			r.refused[seq] = x.Request(seq)
		}
		for _, l := range links {
			if request := uint64(l.request); l.role == timeline.Answers && request < from {
				wanted[request] = true
			}
		}
	}
	for seq := range wanted {
		r.links[seq] = slices.DeleteFunc(x.linksOf(seq), func(l rangeLink) bool { return l.role != timeline.Asks })
	}
	r.wants = slices.Sorted(maps.Keys(wanted))
	return r
}

// linksOf returns the links of a frame's messages; none for an event that is not a frame.
func (x *Index) linksOf(seq uint64) (links []rangeLink) {
	parts := x.batches[seq]
	if number := x.callOf[seq-1]; number > 0 && x.flags[seq-1]&flagFrame != 0 {
		_, late := slices.BinarySearch(x.late[number-1], uint32(seq))
		parts = []partLink{{call: number - 1, role: timeline.Role(x.flags[seq-1] >> roleShift), late: late}}
	}
	for _, p := range parts {
		links = append(links, rangeLink{p, x.calls[p.call].request})
	}
	return links
}

// Events returns the first and the last Seq of the range; the first is the greater if the
// range is empty.
func (r *Range) Events() (from, to uint64) { return r.from, r.to }

// Wants returns the Seqs of the requests before the range that Apply needs first, in order.
func (r *Range) Wants() []uint64 { return r.wants }

// Apply takes the next event: first the events in Wants, then those of the range, in order.
func (r *Range) Apply(event store.Event) error {
	links, known := r.links[event.Seq]
	if !known {
		return fmt.Errorf("row of event %d: the range is from %d to %d", event.Seq, r.from, r.to)
	}
	var refused []*timeline.Call
	if request := r.refused[event.Seq]; request != 0 {
		refused = []*timeline.Call{{Request: request}}
	}
	entry := timeline.NewEntry(event, refused, func(place int) timeline.Link {
		i := sort.Search(len(links), func(i int) bool { return int(links[i].place) >= place })
		if i == len(links) || int(links[i].place) != place {
			return timeline.Link{}
		}
		return r.link(event, links[i])
	})
	if r.err != nil {
		return r.err
	}
	if event.Seq >= r.from {
		r.rows = append(r.rows, RowOf(entry))
	}
	return nil
}

// link returns the link of a message with its call.
func (r *Range) link(event store.Event, l rangeLink) timeline.Link {
	call := r.calls[l.call]
	switch {
	case l.role == timeline.Asks:
		call = &timeline.Call{Dir: event.Dir, Request: event.Seq, At: event.At, Stream: event.Stream}
		r.calls[l.call] = call
	case call == nil && l.role == timeline.Answers:
		r.err = fmt.Errorf("row of event %d: its request, event %d, did not come before", event.Seq, l.request)
		return timeline.Link{}
	case call == nil:
		call = &timeline.Call{Request: uint64(l.request)}
	}
	return timeline.Link{Call: call, Role: l.role, Late: l.late}
}

// Rows returns the rows of the events so far.
func (r *Range) Rows() []Row { return r.rows }
