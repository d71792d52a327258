package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcprec/mcprec/replay"
	"github.com/mcprec/mcprec/replay/explore"
	"github.com/mcprec/mcprec/replay/explore/shrink"
	"github.com/mcprec/mcprec/store"
)

// writeSmallest writes the smallest session that fails as the report says, and
// says on standard error what can be done with it.
func writeSmallest(cmd *cobra.Command, out outFile, events []store.Event, ends models, r explore.Report) error {
	if r.Verdict != explore.Hang {
		_, err := fmt.Fprintf(cmd.ErrOrStderr(), "mcprec: nothing written to %s: no run hangs\n", out.name)
		return err
	}
	use := "mcprec replay --expect " + out.name
	if small, ok := replayable(events, ends, r); ok {
		events = small
	} else {
		token := r.Token
		if r.Smaller != nil {
			events, token = r.Smaller.Events, r.Smaller.Token
		}
		use = fmt.Sprintf("mcprec explore --client %v --server %v --token %s %s", ends.client, ends.server, token, out.name)
	}
	err := out.write(exactOut(cmd), func(w io.Writer) error {
		return encode(w, func(yield func(store.Event, error) bool) {
			for _, e := range events {
				if !yield(e, nil) {
					return
				}
			}
		})
	})
	if err == nil {
		_, err = fmt.Fprintf(cmd.ErrOrStderr(), "mcprec: written to %s; it hangs with %s\n", out.name, use)
	}
	return err
}

// replayable returns the smallest session that hangs so in its own order, which at
// level L1 is the failing run's, with the verdict in its header; false where the
// closed replay, which has no schedule, does not find the hang.
func replayable(events []store.Event, ends models, r explore.Report) ([]store.Event, bool) {
	if r.Level != explore.L0 {
		events = inOrderOf(r.Events, events)
	}
	capacity := replay.Capacity{C2S: replay.Room(r.Capacity.C2S), S2C: replay.Room(r.Capacity.S2C)}
	found := shrink.Session(events, shrink.Closed(ends.client, ends.server), shrink.Options{Capacity: capacity})
	if !strings.HasPrefix(found.Fingerprint, replay.Hang+" "+r.Category+":") {
		return nil, false
	}
	return expecting(found.Events, replay.Expectation{
		Verdict: replay.Hang, Category: r.Category,
		Setup: replay.Setup{Capacity: found.Capacity, Client: ends.client, Server: ends.server},
	}), true
}

// inOrderOf returns the session with its frames in the order of a run that did not
// come to its end: those that the run does not have follow in their own order.
func inOrderOf(run, session []store.Event) []store.Event {
	var events []store.Event
	if session[0].Kind == store.Opened {
		events = append(events, session[0])
	}
	said := map[string]int{}
	key := func(e store.Event) string { return e.Dir.String() + string(e.Payload) }
	for _, e := range run {
		if e.Kind == store.Frame {
			said[key(e)]++
			events = append(events, e)
		}
	}
	for _, e := range session {
		if e.Kind == store.Frame && said[key(e)] > 0 {
			said[key(e)]--
		} else if e.Kind == store.Frame {
			events = append(events, e)
		}
	}
	for i := range events {
		events[i].Seq, events[i].At = uint64(i+1), 0
	}
	return events
}

// expecting returns the events with the verdict in their header that a replay of
// them must give, so that the file is a test.
func expecting(events []store.Event, x replay.Expectation) []store.Event {
	i := slices.IndexFunc(events, func(e store.Event) bool { return e.Kind == store.Opened })
	if i < 0 {
		return events
	}
	header, err := store.ParseHeader(events[i].Payload)
	if err != nil {
		return events
	}
	header.Expect = x.String()
	events = slices.Clone(events)
	events[i].Payload = header.Encode()
	return events
}
