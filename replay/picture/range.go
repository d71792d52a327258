package picture

import (
	"fmt"
	"maps"
	"slices"
	"sort"

	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/framing"
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
	step := timeline.Step{Event: event}
	if request := r.refused[event.Seq]; request != 0 {
		step.Refused = []*timeline.Call{{Request: request}}
	}
	if event.Kind == store.Frame {
		if err := r.readFrame(&step, links); err != nil {
			return err
		}
	}
	if event.Seq >= r.from {
		r.rows = append(r.rows, RowOf(timeline.NewEntry(step)))
	}
	return nil
}

// readFrame gives a step its messages, with the links that the index has.
func (r *Range) readFrame(step *timeline.Step, links []rangeLink) error {
	if timeline.IsUnended(step.Event) && step.Dir == transport.ServerToClient {
		step.Unended = true
		return nil
	}
	messages, err := step.AsFrame().Messages()
	if err != nil && len(links) > 0 {
		if found := framing.InLine(step.Payload); len(found.Messages) > 0 {
			step.Misframed = &timeline.Misframed{Found: found, From: step.Seq}
			messages, err = found.Messages, nil
		}
	}
	step.Noise = err != nil
	step.Batch = err == nil && step.AsFrame().IsBatch()
	for place := range messages {
		m := timeline.Message{Message: messages[place], Kind: messages[place].Kind()}
		i := sort.Search(len(links), func(i int) bool { return int(links[i].place) >= place })
		if i < len(links) && int(links[i].place) == place {
			if err := r.link(step, &m, links[i]); err != nil {
				return err
			}
		}
		step.Messages = append(step.Messages, m)
	}
	return nil
}

// link gives a message its call.
func (r *Range) link(step *timeline.Step, message *timeline.Message, l rangeLink) error {
	call := r.calls[l.call]
	switch {
	case l.role == timeline.Asks:
		call = timeline.NewCall(step.Event, &message.Message)
		r.calls[l.call] = call
	case call == nil && l.role == timeline.Answers:
		return fmt.Errorf("row of event %d: its request, event %d, did not come before", step.Seq, l.request)
	case call == nil:
		call = &timeline.Call{Request: uint64(l.request)}
	}
	if l.role == timeline.Answers {
		call.AnswerWith(step.Moment(), &message.Message)
	}
	message.Call = call
	message.Role = l.role
	message.Late = l.late
	return nil
}

// Rows returns the rows of the events so far.
func (r *Range) Rows() []Row { return r.rows }
