package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/session"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/terminal"
	"github.com/mcprec/mcprec/replay/phrase"
	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/jsonl"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

// recordedSession is a whole session in memory, as serve and drive play it.
type recordedSession struct {
	name   string
	file   string // "" for one of the store
	header store.Header
	events []store.Event  // as recorded; they are played exactly
	masker session.Masker // masks what is printed, with the secrets of the live peer's command and URL
}

// readRecorded reads a session that is played to a live peer, which the command or the URL
// reaches.
func readRecorded(cmd *cobra.Command, h home, arg string, command []string, target string) (_ *recordedSession, err error) {
	s, err := openSession(cmd, h, arg)
	if err != nil {
		return nil, err
	}
	defer closeInto(&err, s)
	r := &recordedSession{name: s.Name}
	if s.Store == nil {
		r.file = arg
	}
	r.events, err = session.Collect(s.Recorded(cmd.Context(), 1, store.ReadOptions{}))
	if err == nil && len(r.events) > 0 {
		r.header, err = store.ParseHeader(r.events[0].Payload)
	}
	if err != nil {
		return nil, err
	}
	d, err := h.Masker(nil)
	r.masker = d.Of(store.Header{Command: slices.Concat(r.header.Command, command), URL: cmp.Or(target, r.header.URL)})
	return r, err
}

// project passes the recorded events through a projection.
func (r *recordedSession) project(p timeline.Projection) error {
	return timeline.Project(jsonl.Each(r.events), p)
}

// suggestion says how to go on where no command was given. The command in a recording is shown,
// never run.
func (r *recordedSession) suggestion(arg string) string {
	header := r.masker.Header(r.header)
	if len(header.Command) == 0 {
		if header.URL != "" {
			return "it was recorded over HTTP from " + terminal.Plain(header.URL) + ":\n  mcprec drive SESSION --target URL"
		}
		return "use mcprec drive SESSION -- COMMAND [ARG]... or mcprec drive SESSION --target URL"
	}
	line := "mcprec drive "
	if arg != "" {
		line += terminal.ShellWord(arg) + " "
	}
	return "it was recorded from\n  " + line + "-- " + terminal.ShellLine(header.Command)
}

// lost counts the events that could not be recorded.
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

// warn prints why a drive cannot do all that the recorded client did.
func (r *recordedSession) warn(w io.Writer, stdio bool) {
	if stdio && slices.ContainsFunc(r.events, func(e store.Event) bool { return e.Kind == store.Frame && e.Stream > 0 }) {
		fmt.Fprintf(w, "mcprec: %s was recorded over HTTP; its streams are driven as one\n", r.name)
	}
	if lost := r.lost(); lost > 0 {
		fmt.Fprintf(w, "mcprec: %s lacks %s that could not be recorded; what follows from %s may not match\n",
			r.name, phrase.Plural(lost, "event"), phrase.Agree(lost, "it", "them"))
	}
	if what := unanswered(r.events); what != "" {
		fmt.Fprintf(w, "mcprec: %s has no answer to %s, and none is waited for\n", r.name, r.masker.Text(what))
	}
}

// hasRequests reports whether the recorded client sent a request.
func hasRequests(events []store.Event) bool {
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

// unanswered names the first request of the client that has no answer in a recording, and how
// many others have none; "" if all have one. A cancelled request needs no answer, and a
// subscription has none while it lasts. Of a session over HTTP it is "": there the answer may
// be a status.
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
			first = fmt.Sprintf("#%d %s", c.Request, terminal.PlainName(c.Method))
			if c.Target != "" {
				first += " " + terminal.PlainName(c.Target)
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

// update replaces the recording: in its file, or as a new session of the store.
func (r *recordedSession) update(cmd *cobra.Command, h home, events []store.Event) (err error) {
	if r.file != "" {
		d, err := h.Masker(nil)
		if err != nil {
			return err
		}
		if err := jsonl.WriteFile(r.file, d.Events(jsonl.Each(events))); err != nil {
			return err
		}
		fmt.Fprintf(cmd.ErrOrStderr(), "mcprec: %s is now what was said\n", r.file)
		return nil
	}
	db, err := openStore(cmd, h)
	if err != nil {
		return err
	}
	defer closeInto(&err, db)
	id, err := session.Save(cmd.Context(), db, events)
	if err == nil {
		fmt.Fprintf(cmd.ErrOrStderr(), "mcprec: what was said is session %s\n", id)
	}
	return err
}
