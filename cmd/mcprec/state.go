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
	first  string
}

func newState() *cobra.Command {
	var o stateOptions
	cmd := &cobra.Command{
		Use:   "state [SESSION] [EVENT]",
		Short: "Show the state at an event: open calls, tasks, queues",
		Example: `  mcprec state SESSION 12
  mcprec state --at 10% --diff 90%
  mcprec state --first 'waited(tool:search) > 2s and not ended(s2c)'
  mcprec state --first 'progress("count-1") >= 5 or failures > 0' SESSION`,
		Args:              atMost(2),
		ValidArgsFunction: completeSessions,
		RunE:              func(cmd *cobra.Command, args []string) error { return runState(cmd, o, args) },
	}
	o.home.addFlags(cmd)
	o.home.heedMaskFlags(cmd)
	o.filterFlag.addFlags(cmd)
	f := cmd.Flags()
	addFormat(cmd, &o.format, "text", "json")
	f.StringVar(&o.at, "at", "100%", "the `POINT`")
	f.StringVar(&o.diff, "diff", "", "print what changed from --at to this `POINT`")
	f.StringVar(&o.first, "first", "", "print the event after which `CONDITION` holds")
	return cmd
}

func runState(cmd *cobra.Command, options stateOptions, args []string) (err error) {
	if cmd.Flags().Changed("first") {
		return runFirst(cmd, options, args)
	}
	fits, err := options.parse()
	if err != nil {
		return err
	}
	points, err := options.points(cmd)
	if err != nil {
		return err
	}
	s, event, err := openAtEvent(cmd, options.home, args)
	if err != nil {
		return err
	}
	defer closeInto(&err, s)
	s.Watch(cmd.ErrOrStderr())
	isNow := options.at == "100%" && event == 0 && options.diff == ""
	if event != 0 {
		if cmd.Flags().Changed("at") {
			return cli.Usagef("state: --at %s and event %d are two points; --diff shows what changed between them", options.at, event)
		}
		points[0] = session.Point{Seq: event, Share: -1}
	}
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
	if isNow {
		now = s.Now()
	}
	before := filterCalls(states[0].View(now), fits)
	if options.diff != "" {
		return printDocument(cmd, options.format, stateChanges(before, filterCalls(states[1].View(0), fits)))
	}
	if isNow {
		err = s.LinesNow(cmd.Context(), &before)
	}
	return errors.Join(err, printDocument(cmd, options.format, single(true, before, func(w io.Writer) error {
		session.WriteState(w, before, now)
		return nil
	})))
}

// points returns the points of --at and --diff.
func (o stateOptions) points(cmd *cobra.Command) (points []session.Point, err error) {
	at, err := parsePoint("at", o.at)
	points = append(points, at)
	if err == nil && o.diff != "" {
		at, err = parsePoint("diff", o.diff)
		points = append(points, at)
	}
	return points, err
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

// runFirst prints the first event after which the condition of --first holds.
func runFirst(cmd *cobra.Command, options stateOptions, args []string) (err error) {
	if cmd.Flags().Changed("at") || options.diff != "" || options.expr != "" {
		return cli.Usagef("state --first has no use for --at, --diff and --filter; the condition takes a filter, as in pending(tool:search)")
	}
	holds, err := state.ParseCondition(options.first)
	if err != nil {
		return wrongValue("first", options.first, fmt.Errorf("%w; see mcprec state --help for the words", err))
	}
	s, event, err := openAtEvent(cmd, options.home, args)
	if err != nil {
		return err
	}
	defer closeInto(&err, s)
	if event != 0 {
		return cli.Usagef("state --first reads the whole session; leave out event %d", event)
	}
	s.Watch(cmd.ErrOrStderr())
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
			return s.Fault("state of", err)
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
