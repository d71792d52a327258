package main

import (
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/cli"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/report"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/session"
	"github.com/mcprec/mcprec/replay/diff"
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
		Long:  diffHelp,
		Example: `  mcprec diff before.jsonl after.jsonl
  mcprec diff 0190aaaa 0190bbbb --only order,payload
  mcprec diff golden.jsonl - --format junit < new.jsonl`,
		ValidArgsFunction: completeSessions,
		RunE:              func(cmd *cobra.Command, args []string) error { return runDiff(cmd, o, args) },
	}
	o.home.addFlags(cmd)
	o.home.heedMaskFlags(cmd)
	o.ruleFlags.addFlags(cmd)
	o.filterFlag.addFlags(cmd)
	f := cmd.Flags()
	addFormat(cmd, &o.format, "", "text", "json", "junit")
	f.StringSliceVar(&o.only, "only", nil, "only these `SECTIONS`: "+strings.Join(diff.Sections(), ", "))
	f.BoolVar(&o.bytes, "bytes", false, "also report the same said in other bytes")
	f.BoolVar(&o.loose, "any-order", false, "notifications may come on either side of an answer")
	f.BoolVar(&o.all, "all", false, "report all findings, notes and places")
	completeWords(cmd, "only", diff.Sections()...)
	return cmd
}

const diffHelp = `diff compares two recorded sessions by what caused what, not line by line: a message
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
  tools          definitions of tools, with the members that changed
  http           status codes, where both sessions have them and neither or both are of
                 HTTP+SSE, which accepts each message with 202
  noise, exit    stray lines that are not JSON-RPC; the server's exit status
  bytes          with --bytes
  stderr         lines of standard error: always a note
  timing         how long the calls of a tool took: never a difference

Ids, progress tokens, HTTP streams and the transport are not compared. A value that an
end made up, and made up otherwise in B, is a variable: an id or a cursor that comes
back, a UUID that stands for one other, a point in time that lies within its own
session. --match strict takes times as they are.

Where there was nothing to compare, in the sections of --only or under the --filter, the answer
is NOTHING COMPARED, same is false, and the exit code is 1.

Events are named as mcprec show numbers them, those of A first. --format json prints one
object: a, b, same, counts, notes, mapped, findings (section, kind, note, a, b, what,
text, differences with path, within, a, b, flags that would let it match), timing,
slower. --format junit prints a test case for each section, and for each finding that is
a difference.

Both sessions are held in memory, at most 1 GiB of the texts of each: of what comes behind it
is said that it differs, not where.

With --filter a finding is told where one of its events fits. mcprec help matching has the
normalizers.

` + sessionHelp

func runDiff(cmd *cobra.Command, o diffOptions, args []string) (err error) {
	for _, section := range o.only {
		if err := oneOf("only", section, diff.Sections()...); err != nil {
			return err
		}
	}
	if len(args) != 2 {
		return cli.Usagef("diff compares two sessions, not %d; see mcprec diff --help", len(args))
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
	if args[0] == "-" && args[1] == "-" {
		return cli.Usagef("only one of the sessions can be on standard input")
	}
	var sessions [2]*session.Session
	compared := report.Comparison{Only: o.only, All: o.all}
	for i, arg := range args {
		sessions[i], err = openSession(cmd, o.home, arg)
		if err != nil {
			return err
		}
		defer closeInto(&err, sessions[i])
		compared.Names[i] = sessions[i].Name
	}
	compared.Report, err = report.Compare(cmd.Context(), sessions, fits, options)
	if err != nil {
		return err
	}
	err = o.warnUnused(cmd.ErrOrStderr(), rules, func(p timeline.Projection) error {
		for _, s := range sessions {
			if err := errors.Join(timeline.Project(timeline.Steps(s.Events(cmd.Context(), 1, store.ReadOptions{})), p), s.Rewind()); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return printDocument(cmd, o.format, compared.Printed())
}
