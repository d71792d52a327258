package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/mcprec/mcprec/replay/phrase"
	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
)

// filterEvents yields the events that fit as a session of its own, which every command can
// read. It has the beginning, the end and the lost events of the whole session. Its events are
// numbered anew, and a note at its end counts the events left out.
func filterEvents(events iter.Seq2[store.Event, error], o exportOptions) iter.Seq2[store.Event, error] {
	return func(yield func(store.Event, error) bool) {
		n := filteredLog{expr: o.expr, kept: map[transport.Direction][]uint64{}}
		fits := false
		t := timeline.NewTranscript(func(e timeline.Entry) error {
			fits = o.fits.Selects(&e)
			return nil
		})
		t.Foresee(o.endings)
		for e, err := range events {
			if err == nil {
				err = t.Apply(e)
			}
			if err != nil {
				yield(e, err)
				return
			}
			for _, kept := range n.take(e, fits) {
				if !yield(kept, nil) {
					return
				}
			}
		}
		if !n.closed {
			yield(n.note(), nil)
		}
	}
}

// filteredLog numbers the events that are kept.
type filteredLog struct {
	expr   string
	kept   map[transport.Direction][]uint64 // the old Seqs
	was    []uint64                         // the old Seqs of all; the new Seq is the index + 1
	read   uint64
	frames uint64
	at     time.Duration
	closed bool
}

// take returns the events that replace e: none, e itself, or before the last event the note.
func (n *filteredLog) take(e store.Event, fits bool) (list []store.Event) {
	n.read++
	n.at = e.At
	switch e.Kind {
	case store.Opened:
		e.Payload = n.opened(e.Payload)
	case store.Closed:
		n.closed = true
		list = append(list, n.note())
		if info, err := store.DecodePayload[store.ClosedInfo](e); err == nil {
			info.Frames = n.frames
			e.Payload = store.EncodePayload(info)
		}
	case store.Lost:
	default:
		if !fits {
			return nil
		}
	}
	if e, fits = n.renumber(e); !fits {
		return nil
	}
	n.kept[e.Dir] = append(n.kept[e.Dir], n.read)
	return append(list, n.add(e, n.read))
}

// add gives an event its Seq.
func (n *filteredLog) add(e store.Event, was uint64) store.Event {
	n.was = append(n.was, was)
	e.Seq = uint64(len(n.was))
	if e.Kind == store.Frame {
		n.frames++
	}
	return e
}

// renumber changes the Seqs that an event names. It returns false if the frame of a delivered
// event was left out.
func (n *filteredLog) renumber(e store.Event) (store.Event, bool) {
	switch e.Kind {
	case store.Delivered:
		info, err := store.DecodePayload[store.DeliveredInfo](e)
		if err != nil {
			return e, true
		}
		i, exact := slices.BinarySearch(n.kept[e.Dir], info.Upto)
		if !exact && i == 0 {
			return e, false
		}
		if !exact {
			i--
		}
		info.Upto = n.now(n.kept[e.Dir][i])
		e.Payload = store.EncodePayload(info)
	case store.HTTP:
		info, err := store.DecodePayload[store.HTTPInfo](e)
		if err == nil && info.SSE != nil && info.SSE.Frame != 0 {
			info.SSE.Frame = n.now(info.SSE.Frame)
			e.Payload = store.EncodePayload(&info)
		}
	}
	return e, true
}

// now returns the new Seq of an event, 0 if it was left out.
func (n *filteredLog) now(was uint64) uint64 {
	if i, ok := slices.BinarySearch(n.was, was); ok {
		return uint64(i + 1)
	}
	return 0
}

// opened gives the header an id that is derived from the session's and the filter.
func (n *filteredLog) opened(payload []byte) []byte {
	h, err := store.ParseHeader(payload)
	if err != nil || h.ID == "" {
		return payload
	}
	id := store.DeriveSessionID([]byte(string(h.ID) + "\n" + n.expr))
	return bytes.Replace(payload, []byte(`"`+string(h.ID)+`"`), []byte(`"`+string(id)+`"`), 1)
}

// note returns the note that counts the events left out.
func (n *filteredLog) note() store.Event {
	kept := len(n.was)
	if n.closed {
		kept++ // the last event, after the note
	}
	text, _ := json.Marshal(n.expr) // a string can always be encoded
	payload := fmt.Sprintf("mcprec export --filter %s: %d of %s", text, kept, phrase.Plural(n.read, "event"))
	return n.add(store.Event{At: n.at, Kind: store.Note, Dir: transport.NoDirection, Payload: []byte(payload)}, n.read)
}
