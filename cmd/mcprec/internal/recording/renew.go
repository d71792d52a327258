package recording

import (
	"bytes"
	"fmt"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/report"
	"github.com/mcprec/mcprec/replay/diff"
	"github.com/mcprec/mcprec/replay/match"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/jsonl"
	"github.com/mcprec/mcprec/transport"
)

// Renew turns the events of a drive into the recording that replaces the driven one. A reviewer should see what the
// server now says otherwise, and nothing else: so the header and the times stay, and each message that matches under
// the rules stays as it was recorded; how long a write had blocked is left out. f has the secrets with which the server was driven. A drive over another transport
// keeps its own events.
func (f Fill) Renew(recorded, driven []store.Event, rules match.Rules) ([]store.Event, error) {
	before, err := store.ParseHeader(recorded[0].Payload)
	if err != nil {
		return nil, err
	}
	after, err := store.ParseHeader(driven[0].Payload)
	if err != nil || before.Transport != after.Transport {
		return driven, err
	}
	driven = withoutWaits(driven)
	filled, _ := f.fill(recorded)
	places, err := counterparts(filled, driven, rules)
	if err != nil {
		return nil, err
	}
	// A client that repeated what the server made up, an id or a cursor, said something else than recorded. Then a
	// match does not stay: the recording would have the server's old value and the client's new one.
	keepsMatches := true
	for i, e := range driven {
		if e.Kind == store.Frame && e.Dir == transport.ClientToServer {
			was := places[i].event
			keepsMatches = keepsMatches && was != nil && bytes.Equal(filled[was.Seq-1].Payload, e.Payload)
		}
	}
	renewed := []store.Event{recorded[0]}
	for i := 1; i < len(driven); i++ {
		e, at := driven[i], renewed[i-1].At
		if was := places[i].event; was != nil {
			at = max(at, was.At)
			if bytes.Equal(was.Payload, e.Payload) || keepsMatches && places[i].matches {
				e = recorded[was.Seq-1]
			}
		}
		e.Seq, e.At = driven[i].Seq, at
		renewed = append(renewed, e)
	}
	return renewed, nil
}

// withoutWaits returns the events without those that tell how long a write had blocked, which is how busy the machine was.
func withoutWaits(events []store.Event) (list []store.Event) {
	for _, e := range events {
		if e.Kind != store.Delivered && e.Kind != store.Stalled {
			e.Seq = uint64(len(list) + 1)
			list = append(list, e)
		}
	}
	return list
}

// counterpart is the recorded event that a driven one stands for, nil if there is none.
type counterpart struct {
	event   *store.Event
	matches bool // a message that is the same under the rules
}

// counterparts returns the counterpart of each driven event: of messages as diff pairs them, of other events the
// next one that is equal.
func counterparts(recorded, driven []store.Event, rules match.Rules) ([]counterpart, error) {
	options := diff.Options{Rules: rules}
	digester := diff.NewDigester(options)
	c := diff.New(digester, options)
	a, b := c.Sides()
	for i, side := range []*diff.Session{a, b} {
		if err := report.ReadSide(jsonl.Each([][]store.Event{recorded, driven}[i]), digester, side); err != nil {
			return nil, fmt.Errorf("compare the drive with its recording: %w", err)
		}
	}
	differs := map[uint64]bool{}
	found := c.Report()
	for _, finding := range found.Findings {
		for _, seq := range finding.B {
			differs[seq] = true
		}
	}
	isWhole := found.Unread == 0 // every difference is listed
	for section := range found.Counts {
		isWhole = isWhole && found.Counts[section]+found.Notes[section] < diff.KeptFindings
	}
	places := make([]counterpart, len(driven))
	for _, pair := range c.Aligned() {
		if pair.A != 0 && pair.B != 0 && recorded[pair.A-1].Stream == driven[pair.B-1].Stream {
			places[pair.B-1] = counterpart{&recorded[pair.A-1], isWhole && !differs[pair.B]}
		}
	}
	type content struct {
		kind    store.Kind
		dir     transport.Direction
		stream  uint64
		payload string
	}
	others := map[content][]*store.Event{}
	of := func(e *store.Event) content { return content{e.Kind, e.Dir, e.Stream, string(e.Payload)} }
	for i := range recorded {
		if e := &recorded[i]; e.Kind != store.Frame {
			others[of(e)] = append(others[of(e)], e)
		}
	}
	for i := range driven {
		e := &driven[i]
		if equal := others[of(e)]; e.Kind != store.Frame && len(equal) > 0 {
			places[i].event = equal[0]
			others[of(e)] = equal[1:]
		}
	}
	return places, nil
}
