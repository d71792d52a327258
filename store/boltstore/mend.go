package boltstore

import (
	"slices"

	"github.com/mcprec/mcprec/store"
)

// mender makes an unbroken log of the records that are left of one: lost events stand
// for those that are missing, and an event that lacks something in its middle ends there.
type mender struct {
	order  store.Sequence // of what was given out
	opened store.Event
	cause  string
	bytes  uint64 // that are missing and no lost event has told of
	lost   uint64 // events that lost events stand for
}

// take returns what stands in the log for the next part that is left, before which so
// many bytes are of none.
func (m *mender) take(p store.Part, skipped int64) (out []store.Part) {
	if skipped > 0 {
		out = m.sever(skipped)
	}
	switch {
	case p.Cont && !slices.Contains(m.order.Open(), p.Seq), !p.Cont && p.Seq <= m.order.Seq():
		m.bytes += uint64(len(p.Payload))
		return out
	case !p.Cont:
		out = append(out, m.fill(p.Seq-1)...)
	}
	return append(out, m.give(p)...)
}

// end returns what stands for what is missing at the end, up to the event that was begun
// last. If that is the Closed event it is given.
func (m *mender) end(last uint64, skipped int64, ending *store.Part) (out []store.Part) {
	if skipped > 0 {
		out = m.sever(skipped)
	}
	if ending != nil && ending.Seq == last && m.order.Seq() < last {
		out = append(out, m.fill(last-1)...)
		return append(out, m.give(*ending)...)
	}
	return append(out, m.fill(last)...)
}

// sever ends the events that are open: what is missing may be of any of them.
func (m *mender) sever(skipped int64) (out []store.Part) {
	m.bytes += uint64(skipped)
	for _, seq := range m.order.Open() {
		out = append(out, m.give(store.Part{Event: store.Event{Seq: seq, Unterminated: true}, Cont: true})...)
	}
	return out
}

// fill returns a lost event for each that is missing up to one.
func (m *mender) fill(upto uint64) (out []store.Part) {
	if m.order.Seq() == 0 && upto > 0 {
		out = m.give(store.Part{Event: m.opened})
	}
	for m.order.Seq() < upto {
		info := store.LostInfo{Frames: 1, Bytes: m.bytes, Reason: m.cause, Streams: []string{"c2s", "s2c", "stderr"}}
		e := store.Event{Seq: m.order.Seq() + 1, At: m.order.At(), Kind: store.Lost, Payload: store.EncodePayload(info)}
		out = append(out, m.give(store.Part{Event: e})...)
		m.bytes, m.lost = 0, m.lost+1
	}
	return out
}

// give returns a part if it fits, and counts it as missing if not.
func (m *mender) give(p store.Part) []store.Part {
	order, err := m.order.After([]store.Part{p})
	if err != nil {
		m.bytes += uint64(len(p.Payload))
		return nil
	}
	m.order = order
	return []store.Part{p}
}
