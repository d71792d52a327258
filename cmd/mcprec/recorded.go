package main

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/mcprec/mcprec/replay/phrase"
	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/boltstore"
	"github.com/mcprec/mcprec/store/jsonl"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

// recordedSession is a session as a whole.
type recordedSession struct {
	name   string
	file   string // "" for one of the store
	header store.Header
	events []store.Event
	door   door // of what is said of it; what is played does not pass it
}

func readRecorded(cmd *cobra.Command, h home, arg string) (_ *recordedSession, err error) {
	s, err := openSession(cmd, h, arg)
	if err != nil {
		return nil, err
	}
	defer closeInto(&err, s)
	r := &recordedSession{name: s.name}
	if s.db == nil {
		r.file = arg
	}
	r.events, err = collect(s.exact(cmd.Context(), 1, store.ReadOptions{}))
	if err == nil && len(r.events) > 0 {
		r.header, err = store.ParseHeader(r.events[0].Payload)
	}
	return r, err
}

// suggestion says how to go on where no command was given. What a file holds is
// shown to be read, never run.
func (r *recordedSession) suggestion(arg string) string {
	header := r.door.header(r.header)
	if len(header.Command) == 0 {
		if header.URL != "" {
			return "it was recorded over HTTP from " + plain(header.URL) + ":\n  mcprec drive SESSION --target URL"
		}
		return "use mcprec drive SESSION -- COMMAND [ARG]... or mcprec drive SESSION --target URL"
	}
	line := "mcprec drive "
	if arg != "" {
		line += shellWord(arg) + " "
	}
	return "it was recorded from\n  " + line + "-- " + shellLine(header.Command)
}

// lost counts what could not be recorded.
func (r *recordedSession) lost() (lost uint64) {
	for _, e := range r.events {
		if e.Kind != store.Lost {
			continue
		}
		if info, err := store.DecodePayload[store.LostInfo](e); err == nil {
			lost += max(info.Frames, 1)
		}
	}
	return lost
}

// warn says what about the recording makes the drive less than a copy of it.
func (r *recordedSession) warn(w io.Writer, stdio bool) {
	if stdio && slices.ContainsFunc(r.events, func(e store.Event) bool { return e.Kind == store.Frame && e.Stream > 0 }) {
		fmt.Fprintf(w, "mcprec: %s was recorded over HTTP; its streams are driven as one\n", r.name)
	}
	if lost := r.lost(); lost > 0 {
		fmt.Fprintf(w, "mcprec: %s lacks %s that could not be recorded; what follows from %s may not match\n",
			r.name, phrase.Plural(lost, "event"), phrase.Agree(lost, "it", "them"))
	}
	if what := unanswered(r.events); what != "" {
		fmt.Fprintf(w, "mcprec: %s has no answer to %s, and none is waited for\n", r.name, r.door.text(what))
	}
}

// asks reports whether the recorded client sent a request.
func asks(events []store.Event) bool {
	for _, e := range events {
		if e.Kind != store.Frame || e.Dir != transport.ClientToServer {
			continue
		}
		messages, _ := e.AsFrame().Messages()
		for _, m := range messages {
			if m.Kind() == transport.Request {
				return true
			}
		}
	}
	return false
}

// unanswered names the first of the client's requests that a recording has no
// answer to, and how many there are more; "" when there is none. A cancelled one
// needs none, and a subscription has none while it lasts. Over HTTP a status may be
// the answer: nothing is said there.
func unanswered(events []store.Event) string {
	calls := timeline.NewCalls()
	for _, e := range events {
		if e.Stream > 0 {
			return ""
		}
		_ = calls.Apply(e) // never fails
	}
	first, more := "", 0
	for _, c := range calls.Unanswered() {
		switch {
		case c.Dir != transport.ClientToServer || c.Cancelled != 0 || c.Method == mcp.MethodListen:
		case first == "":
			first = fmt.Sprintf("#%d %s", c.Request, named(c.Method))
			if c.Target != "" {
				first += " " + named(c.Target)
			}
		default:
			more++
		}
	}
	if more > 0 {
		first += fmt.Sprintf(" and %d more", more)
	}
	return first
}

// update puts the run in the place of the recording.
func (r *recordedSession) update(cmd *cobra.Command, h home, run *keptRun) (err error) {
	events, err := run.events(cmd.Context())
	if err != nil {
		return err
	}
	if r.file != "" {
		d, err := h.door(nil)
		if err != nil {
			return err
		}
		if err := jsonl.WriteFile(r.file, d.events(jsonl.Each(events))); err != nil {
			return err
		}
		fmt.Fprintf(cmd.ErrOrStderr(), "mcprec: %s is now what was said\n", r.file)
		return nil
	}
	db, err := h.open(boltstore.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeStore(cmd, db)) }()
	id, err := storeEvents(cmd.Context(), db, events)
	if err == nil {
		fmt.Fprintf(cmd.ErrOrStderr(), "mcprec: what was said is session %s\n", id)
	}
	return err
}
