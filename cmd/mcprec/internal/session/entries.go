package session

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/cli"
	"github.com/mcprec/mcprec/replay/state"
	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/phrase"
)

// Reading says what [Session.Entries] reads.
type Reading struct {
	First uint64 // the first wanted entry
	Ahead bool   // a request knows how its call ends; the session is read twice, from its start
	Whole bool   // the session is read from its start: any message may be asked for its call
	store.ReadOptions
}

// pairingReach is how many events before the first wanted one are read, for the requests that
// responses belong to. A session of a million events would take seconds to read.
const pairingReach = 20_000

// Entries passes the entries of the session to emit, in their order: the wanted ones, and some
// before them.
func (s *Session) Entries(ctx context.Context, reading Reading, emit func(timeline.Entry) error) error {
	t, err := s.Transcript(ctx, reading.Ahead, emit)
	if err != nil {
		return err
	}
	return reading.project(ctx, s.Events, t)
}

// project passes the events that are to be read to the transcript.
func (r Reading) project(ctx context.Context, events func(context.Context, uint64, store.ReadOptions) iter.Seq2[store.Event, error], t *timeline.Transcript) error {
	from := uint64(1)
	if !r.Ahead && !r.Whole && r.First > pairingReach {
		from = r.First - pairingReach
	}
	return timeline.Project(timeline.Steps(events(ctx, from, r.ReadOptions)), t)
}

// Entry returns the entry of one event. It reads on to the answers of the event's requests. A call
// without an answer has waited until now, if the session is live.
func (s *Session) Entry(ctx context.Context, seq uint64) (timeline.Entry, error) {
	var found *timeline.Entry
	last := uint64(0)
	reading := Reading{First: seq, ReadOptions: store.ReadOptions{Unfinished: true}}
	err := s.Entries(ctx, reading, func(entry timeline.Entry) error {
		if last = entry.Seq; entry.Seq == seq {
			found = &entry
		}
		if found == nil || slices.ContainsFunc(found.Messages, func(m timeline.EntryMessage) bool {
			return m.Kind == transport.Request && m.Call != nil && m.Call.Response == 0
		}) {
			return nil
		}
		return errFound
	})
	if err != nil && !errors.Is(err, errFound) {
		return timeline.Entry{}, err
	}
	if found == nil {
		return timeline.Entry{}, cli.Usagef("%s has no event #%d; it ends at #%d", s.Name, seq, max(last, s.Head))
	}
	for _, m := range found.Messages {
		if m.Call != nil && m.Call.Response == 0 {
			m.Call.Latency = max(s.Now()-m.Call.At, 0)
		}
	}
	return *found, nil
}

// Introduction is what the ends of a session said of themselves when they met.
type Introduction struct {
	Server   string `json:"server,omitempty"` // name and version
	Client   string `json:"client,omitempty"`
	Revision string `json:"revision,omitempty"`
}

// introducedWithin is how many events are read for an Introduction.
const introducedWithin = 100

// Introduction reads the first events of the session, and rewinds it. What was not said there
// is "". The reading that follows reports a damaged log.
func (s *Session) Introduction(ctx context.Context) (in Introduction, err error) {
	if err := s.Keep(); err != nil {
		return in, err
	}
	at := state.New()
	for step, err := range timeline.Steps(s.Events(ctx, 1, store.ReadOptions{})) {
		if err == nil {
			err = at.Take(step)
		}
		if err != nil || step.Seq > introducedWithin {
			break
		}
		if step.Kind != store.Frame {
			continue
		}
		view := at.View(0)
		name := func(p state.Peer) string {
			return strings.TrimSpace(phrase.Name(p.Name) + " " + phrase.Name(p.Version))
		}
		in = Introduction{name(view.Server), name(view.Client), phrase.Name(view.Revision)}
		if in.Server != "" && in.Client != "" && in.Revision != "" {
			break
		}
	}
	return in, s.Rewind()
}

// String returns the names and the revision on a line.
func (in Introduction) String() string {
	var parts []string
	for _, part := range []struct{ word, name string }{{"server", in.Server}, {"client", in.Client}, {"revision", in.Revision}} {
		if part.name != "" {
			parts = append(parts, part.word+" "+part.name)
		}
	}
	return strings.Join(parts, ", ")
}
