package main

import (
	"errors"
	"slices"

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
	addFormat(cmd, &o.format, "text", "json", "junit")
	f.StringSliceVar(&o.only, "only", nil, "report only these `SECTIONS`")
	f.BoolVar(&o.bytes, "bytes", false, "also report the same said in other bytes")
	f.BoolVar(&o.loose, "any-order", false, "notifications may come on either side of an answer")
	f.BoolVar(&o.all, "all", false, "report all findings, notes and places")
	completeWords(cmd, "only", diff.Sections()...)
	return cmd
}

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
