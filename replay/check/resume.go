package check

import (
	"hash/maphash"

	"github.com/mcprec/mcprec/replay/order"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
)

// strand is a stream of server-sent events over all exchanges that carry it: the first,
// and those that take it up again.
type strand struct {
	stream uint64 // the first exchange
	count  uint64 // events with an id
}

// place is where an event stands: the so manieth of its strand, from 1.
type place struct {
	*strand
	n   uint64
	seq uint64 // 0: where a client says that it is
}

// mostEvents is how many events with an id are remembered, by session and id: a client
// takes up a stream where it was cut, not long ago.
const mostEvents = 1 << 17

var idSeed = maphash.MakeSeed()

func eventKey(session, id string) uint64 {
	return maphash.Comparable(idSeed, [2]string{session, id})
}

// resume takes note of a request that takes up a stream behind an event.
func (f *Fold) resume(e store.Event, x *course, id string) {
	x.resumed = true
	revision := f.revisionOf(x)
	if revision >= order.Revision2026_07_28 {
		f.finds(resumedModern, transport.ClientToServer, revision, []uint64{e.Seq}, "the client asked for what comes after event %s of a stream", clip(id))
		return
	}
	p, known := f.sent.get(eventKey(x.session, id))
	if !known {
		if own := f.scopes.sessions[x.session]; own != nil && own.begun == middle {
			f.headless(own)
		} else if resumes(revision) {
			f.finds(eventUnknown, transport.ClientToServer, revision, []uint64{e.Seq}, "the client asked for what comes after event %s, which was never sent in its session", clip(id))
		}
		return
	}
	x.place = place{strand: p.strand, n: p.n}
}

// events takes note of an event with an id, and reports whether it was sent before.
func (f *Fold) events(e store.Event, x *course, id string) (again bool) {
	key := eventKey(x.session, id)
	p, known := f.sent.get(key)
	if !known {
		if x.place.strand == nil {
			x.place.strand = &strand{stream: e.Stream}
		}
		x.place.count++
		x.place.n = x.place.count
		f.sent.put(key, place{x.place.strand, x.place.n, e.Seq})
		return false
	}
	if revision := f.revisionOf(x); resumes(revision) {
		f.judgeEvent(e, x, p, revision, id)
	}
	if x.place.strand == nil {
		x.place.strand = p.strand
	}
	if x.place.strand == p.strand {
		x.place.n = max(x.place.n, p.n)
	}
	return x.resumed
}

// judgeEvent is rule P11 of an event that was sent before.
func (f *Fold) judgeEvent(e store.Event, x *course, p place, revision, id string) {
	says := func(d order.Demand, format string) {
		if x.session == "" && !x.resumed {
			return // several clients may be in one recording, and each has ids of its own
		}
		f.finds(d, transport.ServerToClient, revision, []uint64{e.Seq, p.seq}, format, clip(id), p.seq)
	}
	switch own := x.place.strand; {
	case !x.resumed:
		says(eventTwice, "the server sent event %s, which has the id of #%d")
	case own != nil && own != p.strand:
		says(eventOfOther, "the server sent event %s again, which is of another stream (#%d)")
	case p.n <= x.place.n:
		says(eventAgain, "the server sent event %s again (#%d), which is not behind what the client has")
	}
}

// answersOnGet is rule P11 of a response.
func (f *Fold) answersOnGet(e store.Event, x *course, id string) {
	if revision := f.revisionOf(x); x.method == "GET" && !x.resumed && x.status < 300 && id != "null" && !f.scopes.events && resumes(revision) {
		f.finds(answerOnGet, transport.ServerToClient, revision, []uint64{e.Seq, x.asked}, "the server sent the response to id %s on a stream that the client opened with GET (#%d)", clip(id), x.asked)
	}
}
