package foreign

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

// harItem is an event of an exchange, and its place among the events of other exchanges: by
// seq if the entries know that, else by time, and at the same time by rank.
type harItem struct {
	store.Event
	what     string // as in harPlace
	endpoint bool   // the event that names the URL for messages
	seq      uint64
	rank     harRank
}

type harRank int8

const (
	harBefore harRank = iota // a message of a stream, before the exchange that reacts to it
	harPlain                 // an event whose time the entry has
	harOver                  // the end of an exchange
	harAfter                 // a message of a stream that reacts to this end
)

// order gives the events the places that the entry's _order has, and reports whether every
// frame has a place. Another event without a place follows the event before it.
func (e *harExchange) order(items []harItem) (bool, error) {
	rest := e.Order
	for i := range items {
		it := &items[i]
		n := slices.IndexFunc(rest, func(place harPlace) bool { return place.What == it.what })
		switch {
		case n >= 0:
			at, err := time.ParseDuration(rest[n].At)
			if err != nil || at < 0 {
				return false, fmt.Errorf("_order: at is %q: want a time as 12.3ms", rest[n].At)
			}
			it.At = at
			it.seq = rest[n].Seq
			it.Unterminated = rest[n].Unterminated
			rest = rest[n+1:]
		case it.what == "":
			return false, nil
		case i > 0:
			it.At = items[i-1].At
			it.seq = items[i-1].seq
		}
	}
	return true, nil
}

// harOrder infers the order of a document's messages from requests and their answers.
type harOrder struct {
	begun, ended []time.Duration             // of each entry
	asked        map[mcp.Key][]int           // the entries with a client's request, by request id
	answered     map[mcp.Key][]time.Duration // the client's answers to the server, by request id
}

// spread gives every event a time and a rank.
func (h *har) spread(exchanges [][]harItem) {
	o := harOrder{asked: map[mcp.Key][]int{}, answered: map[mcp.Key][]time.Duration{}}
	// If all entries begin at a whole millisecond, ends are cut to milliseconds as well: else an
	// answer would seem to come after the request that it causes.
	isFine := func(exchange *harExchange) bool {
		return exchange.start.Sub(h.entries[0].start)%time.Millisecond != 0
	}
	fine := slices.ContainsFunc(h.entries, isFine)
	for i, e := range h.entries {
		begun := e.start.Sub(h.entries[0].start)
		ended := begun + max(0, duration(e.Time))
		if !fine {
			ended = ended.Truncate(time.Millisecond)
		}
		o.begun = append(o.begun, begun)
		o.ended = append(o.ended, ended)
		for _, it := range exchanges[i] {
			if it.Kind != store.Frame || it.Dir != transport.ClientToServer {
				continue
			}
			for _, m := range messagesOf(it.Payload) {
				switch id := mcp.KeyOf(m.ID); m.Kind() {
				case transport.Request:
					if n := len(o.asked[id]); n == 0 || o.asked[id][n-1] != i {
						o.asked[id] = append(o.asked[id], i)
					}
				case transport.Response:
					o.answered[id] = append(o.answered[id], begun)
				}
			}
		}
	}
	for i, e := range h.entries {
		headed := max(o.begun[i], o.ended[i]-max(0, duration(e.Timings.Receive)))
		items := exchanges[i]
		body := 0 // the index of the response body's first event
		for j := range items {
			it := &items[j]
			it.rank = harPlain
			switch {
			case it.Dir == transport.ClientToServer && body == 0:
				it.At = o.begun[i]
			case body == 0:
				it.At = headed
				body = j + 1
			default:
				it.At = o.ended[i]
			}
		}
		if e.isPseudo() {
			continue
		}
		items[len(items)-1].rank = harOver
		if e.media() == mcp.MediaEventStream && body > 0 {
			o.placeStream(i, items[body:len(items)-1], headed)
		}
	}
}

// placeStream places the messages of an entry's stream, from the last to the first. None
// comes before from, the time of the response's headers.
func (o *harOrder) placeStream(entry int, items []harItem, from time.Duration) {
	at := o.ended[entry]
	rank := harPlain
	for i := len(items) - 1; i >= 0; i-- {
		it := &items[i]
		if it.endpoint { // the first message needs it
			at = from
		}
		if it.Kind == store.Frame {
			for _, m := range messagesOf(it.Payload) {
				at, rank = o.latest(m, entry, from, at, rank)
			}
		}
		if at <= from {
			at = from
			rank = harPlain
		}
		it.At = at
		it.rank = rank
	}
}

// candidates is the number of requests with one id that are tried, from the last one back.
const candidates = 64

// latest returns the latest place of a stream's message that other exchanges allow: at most
// the given place.
func (o *harOrder) latest(m transport.Message, entry int, from, at time.Duration, rank harRank) (time.Duration, harRank) {
	switch m.Kind() {
	case transport.Request:
		answered := o.answered[mcp.KeyOf(m.ID)] // in the order of the times
		i, _ := slices.BinarySearch(answered, from)
		if i < len(answered) && answered[i] <= at {
			return answered[i], harBefore
		}
	case transport.Response:
		asked := o.asked[mcp.KeyOf(m.ID)] // in the order of the entries
		if _, own := slices.BinarySearch(asked, entry); own {
			return at, rank
		}
		i, _ := slices.BinarySearchFunc(asked, at, func(n int, at time.Duration) int { return cmp.Compare(o.begun[n], at) })
		for _, n := range slices.Backward(asked[max(0, i-candidates):i]) {
			if o.ended[n] < at {
				return o.ended[n], harAfter
			}
		}
	}
	return at, rank
}
