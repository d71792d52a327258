package recording

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/cli"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/session"
	"github.com/mcprec/mcprec/replay/closed"
	"github.com/mcprec/mcprec/replay/explore"
	"github.com/mcprec/mcprec/replay/explore/shrink"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/jsonl"
	"github.com/mcprec/mcprec/transport/phrase"
)

// WriteSmallest writes the smallest session that fails as in the report of an exploration with models, and prints on
// stderr how to use it.
func WriteSmallest(out cli.File, stdout, stderr io.Writer, events []store.Event, ends closed.Models, r explore.Report) error {
	if r.Verdict != explore.Hang {
		_, err := fmt.Fprintf(stderr, "mcprec: nothing written to %s: no run hangs\n", out.Name)
		return err
	}
	use := "mcprec replay --expect " + phrase.ShellWord(out.Name)
	if small, ok := replayable(events, ends, r); ok {
		events = small
	} else {
		token := r.Token
		if r.Smaller != nil {
			events, token = r.Smaller.Events, r.Smaller.Token
		}
		use = fmt.Sprintf("mcprec explore --client %v --server %v --token %s %s", ends.Client, ends.Server, token, phrase.ShellWord(out.Name))
	}
	err := out.Write(stdout, func(w io.Writer) error { return session.Encode(w, jsonl.Each(events)) })
	if err == nil {
		_, err = fmt.Fprintf(stderr, "mcprec: written to %s; it hangs with %s\n", out.Name, use)
	}
	return err
}

// replayable returns the smallest session that hangs in this way when it is replayed in its
// own order, with the verdict in its header. At level SendingOrder its order is the failing run's. It
// returns false if the closed replay, which has no schedule, does not find the hang.
func replayable(events []store.Event, ends closed.Models, report explore.Report) ([]store.Event, bool) {
	if report.Level != explore.DeliveryOrder {
		events = inOrderOf(report.Events, events)
	}
	capacity := closed.Capacity{C2S: closed.Room(report.Capacity.C2S), S2C: closed.Room(report.Capacity.S2C)}
	found := shrink.Session(events, shrink.Closed(ends.Client, ends.Server), shrink.Options{Capacity: capacity})
	if !strings.HasPrefix(found.Fingerprint, closed.Hang+" "+report.Category+":") {
		return nil, false
	}
	events = found.Events
	i := slices.IndexFunc(events, func(event store.Event) bool { return event.Kind == store.Opened })
	if i < 0 {
		return events, true
	}
	header, err := store.ParseHeader(events[i].Payload)
	if err != nil {
		return events, true
	}
	header.Expect = closed.Expectation{
		Verdict: closed.Hang, Category: report.Category,
		Setup: closed.Setup{Capacity: found.Capacity, Client: ends.Client, Server: ends.Server},
	}.String()
	events = slices.Clone(events)
	events[i].Payload = header.Encode()
	return events, true
}

// inOrderOf returns the session with its frames in the order of a run that did not end. Frames
// that the run does not have follow in their own order.
func inOrderOf(run, session []store.Event) []store.Event {
	var events []store.Event
	if session[0].Kind == store.Opened {
		events = append(events, session[0])
	}
	said := map[string]int{}
	key := func(event store.Event) string { return event.Dir.String() + string(event.Payload) }
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
		events[i].Seq = uint64(i + 1)
		events[i].At = 0
	}
	return events
}
