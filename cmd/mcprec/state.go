package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/cli"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/output"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/report"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/session"
	"github.com/mcprec/mcprec/replay/filter"
	"github.com/mcprec/mcprec/replay/state"
	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/phrase"
)

type stateOptions struct {
	home
	filterFlag
	format string
	at     string
	diff   string
}

func newState() *cobra.Command {
	var o stateOptions
	cmd := &cobra.Command{
		Use:   "state [SESSION]",
		Short: "Say how a session stood at one of its events, or what changed between two",
		Long: `state folds a session up to a point and says how it stood then: the revision, both sides
and what they can do, calls without an answer with their progress and how long they
have waited, subscriptions, tasks and their status, messages that nothing shows to be
taken, open HTTP exchanges, what had ended. At the end of a live session it tells of
lines whose ends have not come as well. A point is the number of an event as
mcprec show numbers them, a time since the start (12.3s: the last event until then),
or a share of the session's time (50%).

A message is in a queue until a delivered event, an answer or other evidence shows that
its receiver took it. A tap notes a delivery only when a write had blocked, so on stdio
that is what may be queued.

--diff POINT says instead what changed from --at to there, - what was and + what is.
--filter, that of mcprec show, selects the calls that are listed.

--format json prints one object. seq and at (a Go duration) are those of the event, now
of a live session that of the question: until then its calls have waited; then revision, client and server (name, version, capabilities), log_level, calls
(request, dir, id, method, target, stream, waited, token, reports, progress, total,
message, cancelled, cut, lost), subscriptions (uri, listen, filter, since, pending,
notified), tasks (id, by, status, message, since, told), queues (dir, stream, messages,
first, last, delivered, blocked), streams (stream, method, path, status, since, c2s,
s2c), of a live session lines (pipe, bytes, since, open), ended, messages, failures, lost.
With --diff: from, to (seq, at), and changes (topic, before, after).

` + sessionHelp,
		Example: `  mcprec state --at 12
  mcprec state --at 1.5s SESSION
  mcprec state --at 10% --diff 90% --format json SESSION`,
		Args:              atMost(1),
		ValidArgsFunction: completeSessions,
		RunE:              func(cmd *cobra.Command, args []string) error { return runState(cmd, o, firstOf(args)) },
	}
	o.home.addFlags(cmd)
	o.home.heedMaskFlags(cmd)
	o.filterFlag.addFlags(cmd)
	f := cmd.Flags()
	addChoice(cmd, &o.format, "format", "text or json", "text", "json")
	f.StringVar(&o.at, "at", "100%", "the `POINT`: an event, a time, or a share of the time")
	f.StringVar(&o.diff, "diff", "", "say what changed from --at to this `POINT`")
	return cmd
}

func runState(cmd *cobra.Command, options stateOptions, arg string) (err error) {
	at, err := parsePoint("at", options.at)
	if err != nil {
		return err
	}
	points := []session.Point{at}
	if options.diff != "" {
		if at, err = parsePoint("diff", options.diff); err != nil {
			return err
		}
		points = append(points, at)
	}
	fits, err := options.parse()
	if err != nil {
		return err
	}
	s, err := openSession(cmd, options.home, arg)
	if err != nil {
		return err
	}
	defer closeInto(&err, s)
	states, err := s.States(cmd.Context(), points)
	if err != nil {
		return s.Fault("state of", err)
	}
	for i, p := range points {
		if p.Beyond {
			fmt.Fprintf(cmd.ErrOrStderr(), "mcprec: %s ends at event %d, at %v\n", s.Name, states[i].Seq(), p.Last)
		}
	}
	now := time.Duration(0)
	if options.at == "100%" && options.diff == "" {
		now = s.Now()
	}
	before := filterCalls(states[0].View(now), fits)
	if options.diff != "" {
		return printDocument(cmd, options.format, stateChanges(before, filterCalls(states[1].View(0), fits)))
	}
	if options.at == "100%" {
		err = s.LinesNow(cmd.Context(), &before)
	}
	return errors.Join(err, printDocument(cmd, options.format, single(true, before, func(w io.Writer) error {
		session.WriteState(w, before, now)
		return nil
	})))
}

// parsePoint reads the value of a flag.
func parsePoint(flag, text string) (session.Point, error) {
	p, err := session.ParsePoint(text)
	if err != nil {
		return p, cli.Usagef("--%s %v", flag, err)
	}
	return p, nil
}

// stateChanges returns the report on two states.
func stateChanges(from, to state.View) output.Document {
	type point struct {
		Seq uint64 `json:"seq"`
		At  string `json:"at"`
	}
	changes := state.Diff(from, to)
	value := struct { // the stable form of state --diff --format json
		From    point          `json:"from"`
		To      point          `json:"to"`
		Changes []state.Change `json:"changes"`
	}{point{from.Seq, from.At}, point{to.Seq, to.At}, changes}
	return single(true, value, func(w io.Writer) error {
		fmt.Fprintf(w, "from #%d at %v to #%d at %v\n", from.Seq, from.At, to.Seq, to.At)
		for _, c := range changes {
			if c.Before != "" {
				fmt.Fprintf(w, "- %-13s %s\n", c.Topic, c.Before)
			}
			if c.After != "" {
				fmt.Fprintf(w, "+ %-13s %s\n", c.Topic, c.After)
			}
		}
		return nil
	})
}

// filterCalls removes the calls from a view that do not fit.
func filterCalls(view state.View, fits *filter.Filter) state.View {
	view.Calls = slices.DeleteFunc(view.Calls, func(call state.Call) bool {
		dir, _ := transport.ParseDirection(call.Dir)
		return !fits.SelectsCall(&timeline.Call{
			Dir: dir, ID: string(call.ID), Method: call.Method, Target: call.Target, Token: string(call.Token),
			Request: call.Request, Stream: call.Stream, Cancelled: call.Cancelled,
		})
	})
	return view
}

type bisectOptions struct {
	home
	format string
	expr   string
}

func newBisect() *cobra.Command {
	var o bisectOptions
	cmd := &cobra.Command{
		Use:   "bisect [SESSION] --expr EXPRESSION",
		Short: "Find the first event at which a condition holds",
		Long: `bisect folds a session, asks after each event whether the condition holds, and prints
the first event at which it does, as show does: also where it ceases to hold later.

An expression compares (== != < <= > >=) what the words below say with numbers,
durations (1.5s, 200ms) or texts in quotes; a word alone holds unless it is 0 or empty.
and, or, not and parentheses combine them.

` + helpTable(20, state.Names(), func(name state.Name) (string, string) {
			if name.Of == "" {
				return name.Word, name.Says
			}
			return name.Word + "(" + name.Of + ")", name.Says
		}) + `
A FILTER selects calls, as --filter of mcprec show does: tool:search dir:c2s, say, or
-method:ping. What stands in parentheses may be left out, but for progress and capability.

--format json prints one object: expr, found, events (read), event (as show prints it).

` + sessionHelp,
		Example: `  mcprec bisect --expr 'pending > 3'
  mcprec bisect --expr 'waited(tool:search) > 2s and not ended(s2c)'
  mcprec bisect --expr 'progress("count-1") >= 5 or failures > 0' SESSION
  mcprec bisect --expr 'revision == "2025-11-25" and capability(sampling)'`,
		Args:              atMost(1),
		ValidArgsFunction: completeSessions,
		RunE:              func(cmd *cobra.Command, args []string) error { return runBisect(cmd, o, firstOf(args)) },
	}
	o.home.addFlags(cmd)
	o.heedMaskFlags(cmd)
	f := cmd.Flags()
	addChoice(cmd, &o.format, "format", "text or json", "text", "json")
	f.StringVar(&o.expr, "expr", "", "the `EXPRESSION`")
	return cmd
}

func runBisect(cmd *cobra.Command, options bisectOptions, arg string) (err error) {
	if options.expr == "" {
		return cli.Usagef("bisect wants --expr; see its --help for the words")
	}
	holds, err := state.ParseCondition(options.expr)
	if err != nil {
		return cli.Usagef("--expr: %v", err)
	}
	s, err := openSession(cmd, options.home, arg)
	if err != nil {
		return err
	}
	defer closeInto(&err, s)
	var entry timeline.Entry // of the latest event
	transcript := timeline.NewTranscript(func(e timeline.Entry) error {
		entry = e
		return nil
	})
	at := state.New()
	found := false
	var valid store.Validator
	for step, err := range timeline.Steps(s.Events(cmd.Context(), 1, store.ReadOptions{})) {
		if err == nil {
			err = valid.Check(step.Event)
		}
		if err == nil {
			err = errors.Join(at.Take(step), transcript.Take(step))
		}
		if err != nil {
			return s.Fault("bisect", err)
		}
		if found = holds.Holds(at); found {
			break
		}
	}
	out := struct {
		Expr   string        `json:"expr"`
		Found  bool          `json:"found"`
		Events uint64        `json:"events"`
		Event  *report.Entry `json:"event,omitempty"`
	}{Expr: holds.String(), Found: found, Events: at.Seq()}
	if found {
		shown := report.EntryOf(entry, false, false)
		out.Event = &shown
	}
	return printDocument(cmd, options.format, single(found, out, func(w io.Writer) (err error) {
		if found {
			_, err = fmt.Fprintln(w, entry)
		} else {
			_, err = fmt.Fprintf(w, "never: %s holds after none of %s\n", holds, phrase.Plural(at.Seq(), "event"))
		}
		return err
	}))
}
