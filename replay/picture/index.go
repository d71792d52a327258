package picture

import (
	"fmt"
	"math"
	"slices"
	"sort"
	"time"

	"github.com/mcprec/mcprec/replay/sequence"
	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
)

// Index is the projection of the parts of a session's picture. [NewIndex] makes it. One
// goroutine at a time may use it.
type Index struct {
	endings *timeline.Endings
	at      time.Duration
	flags   []uint8         // of each event
	pauses  []uint16        // before each event: see packPause
	times   []time.Duration // of each markEvery events, the first
	callOf  []uint32        // of each event: 1 + the number of the call of its only message, or of the first call that its status answers
	batches map[uint64][]partLink
	calls   []call
	ends    ends                // of the calls
	late    map[uint32][]uint32 // the late events of a call, by its number
	rails   [3]sequence.Rails[uint32]
	widest  [3]int // columns, by the direction of the requests
	marked  int
}

// The flags of an event. The two lowest bits are its direction.
const (
	dirMask     = 3
	flagFrame   = 1 << 2
	flagFault   = 1 << 3
	flagFinding = 1 << 4
	roleShift   = 5 // the bits above are the timeline.Role of the only message
)

// partLink is the link of a message in a batch.
type partLink struct {
	place, call uint32
	role        timeline.Role
	late        bool
}

// call is a request and its end.
type call struct {
	request uint32
	end     uint32 // the answer or the cancellation; never while the call is open
	column  uint8
	dir     transport.Direction
	outcome outcome
}

const never = math.MaxUint32

type outcome uint8

const (
	open outcome = iota
	answered
	failed
	cancelled
)

func (o outcome) String() string {
	return [...]string{open: "open", answered: "answered", failed: "failed", cancelled: "cancelled"}[o]
}

// railColumns is how many calls of an end have a column of their own.
const railColumns = 64

// NewIndex returns the index of a session before its first event.
func NewIndex() *Index {
	x := &Index{
		endings: timeline.NewEndings(),
		batches: map[uint64][]partLink{}, late: map[uint32][]uint32{},
	}
	for dir := range x.rails {
		x.rails[dir] = sequence.NewRails[uint32](railColumns)
	}
	return x
}

// Take takes the next step. It returns an error for an event out of order, and for one whose rest has
// not come.
func (x *Index) Take(step timeline.Step) error {
	event := step.Event
	switch {
	case event.Seq != x.Len()+1 || event.Seq >= never:
		return fmt.Errorf("index event %d: it does not come after event %d", event.Seq, x.Len())
	case event.Open:
		return fmt.Errorf("index event %d: its rest has not come", event.Seq)
	}
	x.pauses = append(x.pauses, packPause(event.At-x.at))
	x.at = event.At
	if len(x.flags)%markEvery == 0 {
		x.times = append(x.times, event.At)
	}
	x.callOf = append(x.callOf, 0)
	flags := uint8(0)
	if event.Dir == transport.ClientToServer || event.Dir == transport.ServerToClient {
		flags = uint8(event.Dir)
	}
	x.flags = append(x.flags, flags)
	_ = x.endings.Take(step) // it never fails
	switch event.Kind {
	case store.Frame:
		x.onFrame(step)
	case store.Lost:
		x.flag(event.Seq, flagFault)
	case store.HTTP:
		for _, c := range step.Undone {
			if c.Response == 0 && c.Cancelled == 0 {
				x.reopen(uint32(c.Number()))
			}
		}
		for i, c := range step.Refused {
			number := uint32(c.Number())
			if i == 0 {
				x.callOf[event.Seq-1] = number + 1
			}
			x.end(number, uint32(event.Seq), timeline.Answers, failed)
		}
	}
	return nil
}

func (x *Index) flag(seq uint64, flag uint8) { x.flags[seq-1] |= flag }

func (x *Index) onFrame(step timeline.Step) {
	x.flag(step.Seq, flagFrame)
	if step.Noise && step.Cut == 0 {
		x.flag(step.Seq, flagFault)
	}
	for i := range step.Messages {
		m := &step.Messages[i]
		failure := m.Role == timeline.Answers && m.Call.Failure != ""
		if failure || m.Kind == transport.Invalid || m.Kind == transport.Response && m.Role != timeline.Answers {
			x.flag(step.Seq, flagFault)
		}
		if m.Call == nil {
			continue
		}
		number := uint32(m.Call.Number())
		if len(step.Messages) == 1 {
			x.callOf[step.Seq-1] = number + 1
			x.flag(step.Seq, uint8(m.Role)<<roleShift)
		} else {
			x.batches[step.Seq] = append(x.batches[step.Seq], partLink{uint32(i), number, m.Role, m.Late})
		}
		x.onMessage(uint32(step.Seq), number, m, failure)
	}
	for _, c := range step.Refused { // before the body came
		x.end(uint32(c.Number()), uint32(step.Seq), timeline.Answers, failed)
	}
}

// onMessage updates a call from one of its messages.
func (x *Index) onMessage(seq, number uint32, message *timeline.Message, failure bool) {
	dir := message.Call.Dir
	if dir != transport.ClientToServer && dir != transport.ServerToClient {
		dir = transport.NoDirection
	}
	if message.Late {
		x.late[number] = append(x.late[number], seq)
	}
	switch message.Role {
	case timeline.Asks:
		column, change := x.rails[dir].Follow(number+1, message.Role)
		if change == sequence.NoChange {
			column = railColumns
		}
		x.widest[dir] = max(x.widest[dir], column+1)
		x.calls = append(x.calls, call{request: seq, end: never, column: uint8(column), dir: dir})
		x.ends.set(x.calls, int(number))
	case timeline.Answers:
		result := answered
		if failure {
			result = failed
		}
		x.end(number, seq, message.Role, result)
	case timeline.Cancels, timeline.CancelsPast:
		x.end(number, seq, message.Role, cancelled)
	}
}

// end ends a call, unless it is over.
func (x *Index) end(number, seq uint32, role timeline.Role, outcome outcome) {
	c := &x.calls[number]
	if c.end != never {
		return
	}
	c.end = seq
	c.outcome = outcome
	x.rails[c.dir].Follow(number+1, role)
	x.ends.set(x.calls, int(number))
}

// reopen opens a call again whose answer, or cancellation, HTTP has refused.
func (x *Index) reopen(number uint32) {
	c := &x.calls[number]
	c.end = never
	c.outcome = open
	if !x.rails[c.dir].Reopen(number+1, int(c.column)) {
		c.column = railColumns
		x.widest[c.dir] = railColumns + 1
	}
	x.ends.set(x.calls, int(number))
}

// packPause packs a duration into the exponent and the first eight bits of the fraction of a
// float32, which is exact to 0.4 %.
func packPause(pause time.Duration) uint16 {
	return uint16(math.Float32bits(float32(max(pause, 0))) >> 15)
}

func unpackPause(packed uint16) time.Duration {
	return time.Duration(math.Float32frombits(uint32(packed) << 15))
}

// Len returns how many events the index has.
func (x *Index) Len() uint64 { return uint64(len(x.flags)) }

// CallCount returns how many calls there are.
func (x *Index) CallCount() int { return len(x.calls) }

// At returns the time of the latest event.
func (x *Index) At() time.Duration { return x.at }

// Endings returns a copy of how the calls end. An open call lasts until the latest event.
func (x *Index) Endings() *timeline.Endings {
	endings := x.endings.Clone()
	endings.Close(x.at)
	return endings
}

// Rails says how many columns the calls of each end need.
type Rails struct {
	Client int `json:"client"`
	Server int `json:"server"`
}

// Rails returns how many columns are needed so far.
func (x *Index) Rails() Rails {
	return Rails{x.widest[transport.ClientToServer], x.widest[transport.ServerToClient]}
}

// Mark notes that a finding is about an event. It ignores an event that the index does not
// have.
func (x *Index) Mark(seq uint64) {
	if seq > 0 && seq <= x.Len() && x.flags[seq-1]&flagFinding == 0 {
		x.flag(seq, flagFinding)
		x.marked++
	}
}

// Marked returns how many events are marked.
func (x *Index) Marked() int { return x.marked }

// Request returns the Seq of the request that an event belongs to: that of the call of its
// first message with a call, or of the first call that an HTTP status answers. 0: none.
func (x *Index) Request(seq uint64) uint64 {
	if seq == 0 || seq > x.Len() {
		return 0
	}
	if number := x.callOf[seq-1]; number > 0 {
		return uint64(x.calls[number-1].request)
	}
	if parts := x.batches[seq]; len(parts) > 0 {
		return uint64(x.calls[parts[0].call].request)
	}
	return 0
}

// Call is the rail of a call.
type Call struct {
	Request uint64   `json:"request"`
	End     uint64   `json:"end"` // the answer or the cancellation; 0: never
	Dir     string   `json:"dir"` // of the request
	Column  int      `json:"column"`
	How     string   `json:"how"`            // answered, failed, cancelled or open
	Late    []uint64 `json:"late,omitempty"` // messages about the call after its end, within the asked range
}

// Calls returns the calls that are open at some event of a range, in the order of their
// requests.
func (x *Index) Calls(from, to uint64) []Call {
	list := []Call{}
	if from > to || from > x.Len() {
		return list
	}
	from = max(from, 1)
	to = min(to, x.Len())
	begun := sort.Search(len(x.calls), func(i int) bool { return uint64(x.calls[i].request) > to })
	for number := range x.ends.from(x.calls, uint32(from), begun) {
		list = append(list, x.call(number, uint32(from), uint32(to)))
	}
	return list
}

func (x *Index) call(number int, from, to uint32) Call {
	c := x.calls[number]
	made := Call{Request: uint64(c.request), Dir: dirOf(c.dir), Column: int(c.column), How: c.outcome.String()}
	if c.end != never {
		made.End = uint64(c.end)
	}
	late := x.late[uint32(number)]
	first, _ := slices.BinarySearch(late, from)
	for _, seq := range late[first:] {
		if seq > to {
			break
		}
		made.Late = append(made.Late, uint64(seq))
	}
	return made
}
