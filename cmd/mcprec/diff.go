package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/exit"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/parallel"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/session"
	"github.com/mcprec/mcprec/replay/diff"
	"github.com/mcprec/mcprec/replay/filter"
	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/store"
)

type diffOptions struct {
	home
	ruleFlags
	filterFlag
	format string
	only   []string
	bytes  bool
	all    bool
	loose  bool // --any-order
}

func newDiff() *cobra.Command {
	var o diffOptions
	cmd := &cobra.Command{
		Use:   "diff A B",
		Short: "Compare two sessions: calls, payloads, order, timing",
		Long:  diffHelp + normalizerHelp(),
		Example: `  mcprec diff before.jsonl after.jsonl
  mcprec diff 0190aaaa 0190bbbb --only order,payload
  mcprec diff golden.jsonl - --format junit < new.jsonl`,
		ValidArgsFunction: completeSessions,
		RunE:              func(cmd *cobra.Command, args []string) error { return runDiff(cmd, o, args) },
	}
	o.home.addMaskFlags(cmd)
	o.ruleFlags.addFlags(cmd)
	o.filterFlag.addFlags(cmd)
	f := cmd.Flags()
	addChoice(cmd, &o.format, "format", "text, json or junit", "text", "json", "junit")
	f.StringSliceVar(&o.only, "only", nil, "the `SECTIONS` that are told and decide: "+strings.Join(diff.Sections(), ",\n"))
	f.BoolVar(&o.bytes, "bytes", false, "also tell of messages that say the same and are spelled otherwise")
	f.BoolVar(&o.loose, "any-order", false, "a notification that came on the other side of its call's answer, or changed\nplaces with another, is a note")
	f.BoolVar(&o.all, "all", false, "tell everything: all findings, all notes, all places")
	completeWords(cmd, "only", diff.Sections()...)
	return cmd
}

var diffHelp = `diff compares two recorded sessions by what caused what, not line by line: a message
of B stands for one of A, whenever it came. Calls are paired by method and params (see
--match), in their order where there are several; what is left of a tool is paired with
what differs least, and shown as changed. The sections:

  calls          asked, or answered, in one session alone
  payload        results, errors, params and notifications that say something else,
                 with the JSON path of each place
  notifications  in one session alone
  order          a notification that came on the other side of its call's answer,
                 notifications of one call that changed places, calls of which one
                 waited for the other that changed places. That calls ran at the same
                 time, or were answered in another order then, is a note
  capabilities   what initialize or server/discover settled: revision, capabilities
  tools          definitions of tools
  http           status codes, where both sessions have them and neither or both are of
                 HTTP+SSE, which accepts each message with 202
  noise, exit    lines that are no message; the server's exit status
  bytes          with --bytes
  stderr         lines of standard error: always a note
  timing         how long the calls of a tool took: never a difference

Ids, progress tokens, HTTP streams and the transport are not compared. A value that an
end made up, and made up otherwise in B, is a variable: an id or a cursor that comes
back, a UUID that stands for one other, a point in time that lies within its own
session. --match strict takes times as they are.

Events are named as mcprec show numbers them, those of A first. --format json prints one
object: a, b, same, counts, notes, mapped, findings (section, kind, note, a, b, what,
text, differences with path, within, a, b, flags that would let it match), timing,
slower. --format junit prints a test case for each section, and for each finding that is
a difference.

Each session is read again for what differs. Held are about 250 bytes a message, and at
most 64 MiB of the texts that differ of each: of more it is said that they do, not where.

` + filterHelp + `
A finding is told where one of its events fits.

` + sessionHelp + `

Exit codes: 0 the same, 1 they differ, 2 usage, 3 data that cannot be read.

`

func runDiff(cmd *cobra.Command, o diffOptions, args []string) (err error) {
	for _, section := range o.only {
		if err := oneOf("only", section, diff.Sections()...); err != nil {
			return err
		}
	}
	if len(args) != 2 {
		return exit.Usagef("diff compares two sessions, not %d; see mcprec diff --help", len(args))
	}
	rules, err := o.rules()
	if err != nil {
		return err
	}
	rules.AnyOrder = o.loose
	fits, err := o.filterFlag.parse()
	if err != nil {
		return err
	}
	options := diff.Options{Rules: rules, Bytes: o.bytes || slices.Contains(o.only, diff.Bytes)}
	found, names, err := compareSessions(cmd, o, fits, options, args)
	if err != nil {
		return err
	}
	return printReport(cmd, o.format, (&diffReport{found, names, o.only, o.all}).report())
}

// compareSessions reads two sessions, and once more the events that differ.
func compareSessions(cmd *cobra.Command, o diffOptions, fits *filter.Filter, options diff.Options, args []string) (_ *diff.Report, names [2]string, err error) {
	if args[0] == "-" && args[1] == "-" {
		return nil, names, exit.Usagef("only one of the sessions can be on standard input")
	}
	ctx := cmd.Context()
	digester := diff.NewDigester(options)
	c := diff.New(digester, options)
	a, b := c.Sides()
	var sessions [2]*session.Session
	for i, side := range [...]*diff.Session{a, b} {
		var s *session.Session
		if s, err = openSession(cmd, o.home, args[i]); err != nil {
			return nil, names, err
		}
		defer closeInto(&err, s)
		sessions[i], names[i] = s, s.Name
		if err = s.Keep(); err == nil {
			err = foldSession(ctx, s, digester, side)
		}
		if err == nil && fits.String() != "" {
			side.SelectNone()
			err = s.Select(ctx, fits, side.Select)
		}
		if err != nil {
			return nil, names, err
		}
	}
	c.Match()
	for i, s := range sessions {
		wanted := c.Wants(i) // the texts that differ
		if len(wanted) == 0 {
			continue
		}
		for e, err := range s.Events(ctx, wanted[0], store.ReadOptions{}) {
			if err != nil {
				return nil, names, fmt.Errorf("diff %s: %w", s.Name, err)
			}
			if c.Take(i, e); e.Seq >= wanted[len(wanted)-1] {
				break
			}
		}
		if err := s.Rewind(); err != nil {
			return nil, names, err
		}
	}
	report := c.Report()
	err = o.warnUnused(cmd.ErrOrStderr(), options.Rules, func(p timeline.Projection) error {
		for _, s := range sessions {
			if err := errors.Join(timeline.Project(s.Events(ctx, 1, store.ReadOptions{}), p), s.Rewind()); err != nil {
				return err
			}
		}
		return nil
	})
	return report, names, err
}

// foldSession reads a session into its side of a comparison.
func foldSession(ctx context.Context, s *session.Session, d *diff.Digester, side *diff.Session) error {
	type digested struct {
		store.Event
		digests []diff.Digest
	}
	var valid store.Validator
	events := s.Events(ctx, 1, store.ReadOptions{})
	for e, err := range parallel.Map(events, func(e store.Event) digested { return digested{e, d.Digest(e)} }) {
		if err == nil {
			err = valid.Check(e.Event)
		}
		if err == nil {
			err = side.Apply(e.Event, e.digests)
		}
		if err != nil {
			return fmt.Errorf("diff %s: %w", s.Name, err)
		}
	}
	return s.Rewind()
}
