package main

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/exit"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/parallel"
	"github.com/mcprec/mcprec/replay/check"
	"github.com/mcprec/mcprec/replay/order"
	"github.com/mcprec/mcprec/replay/schema"
	"github.com/mcprec/mcprec/store"
)

type checkOptions struct {
	home
	filterFlag
	format  string
	failOn  string
	explain string
	rules   bool
	max     time.Duration
	timeout bool // a call that timed out is an error
	expect  []string
	forbid  []string
	schema  bool
	base    string
	trusted *check.Baseline   // the session of --baseline
	schemas *schema.Validator // with --schema
}

func newCheck() *cobra.Command {
	var o checkOptions
	cmd := &cobra.Command{
		Use:   "check [SESSION]...",
		Short: "Find what a recording alone shows: broken rules, calls that hang, noise",
		Long:  checkHelp,
		Example: `  mcprec check
  mcprec check --fail-on warning testdata/*.jsonl
  mcprec check --expect-tool count --max-duration 2s SESSION
  mcprec check --baseline approved.jsonl SESSION
  mcprec check --explain P3`,
		ValidArgsFunction: completeSessions,
		RunE:              func(cmd *cobra.Command, args []string) error { return runCheck(cmd, o, args) },
	}
	o.home.addMaskFlags(cmd)
	o.filterFlag.addFlags(cmd)
	f := cmd.Flags()
	addChoice(cmd, &o.format, "format", "text, json, junit or sarif", "text", "json", "junit", "sarif")
	addChoice(cmd, &o.failOn, "fail-on", "the least `SEVERITY` that fails: error, warning, or never", "error", "warning", "never")
	f.BoolVar(&o.rules, "rules", false, "print the rules: severity, revisions, section of the specification")
	f.StringVar(&o.explain, "explain", "", "say what a `RULE` asks for, why, and what breaks it")
	f.DurationVar(&o.max, "max-duration", 0, "a call of the client that takes, or waits, longer is an error; 0 is any")
	f.BoolVar(&o.timeout, "fail-on-timeout", false, "a call whose sender gave up waiting is an error, not a warning")
	f.StringSliceVar(&o.expect, "expect-tool", nil, "`TOOLS` that the client must call")
	f.StringSliceVar(&o.forbid, "forbid-tool", nil, "`TOOLS` that the client must not call")
	f.BoolVar(&o.schema, "schema", false, "hold each message to the official JSON schema of its revision too")
	f.StringVar(&o.base, "baseline", "", "a `SESSION` that is trusted: tools that are new, gone or otherwise\nthan in its lists are errors")
	return cmd
}

const checkHelp = `check reads sessions, once and in order, and says what each recording alone shows,
without a live peer:

  P1 to P14  the rules of the specification's revision that the session settled on
  U1 to U4   the steps of a frame: written before it is taken, in order, in the room
             that there is
  E1 to E16  evidence: calls without an answer and who had them, calls that timed out,
             late answers, bytes that are no message, frames behind the end, events that
             were lost, tools that were redefined, headers that contradict their body, a
             client gone silent, a server that did not start, crashed or would not end,
             a session in which nothing was answered, a recording that begins in
             the middle
  S1         with --schema: messages that do not fit the schema of their revision
  G1 to G4   what --max-duration, --expect-tool, --forbid-tool and --baseline ask for

A finding names its events (as mcprec show numbers them), the one that shows it
first, and the section of the specification. An error breaks a MUST, or is a call
that nobody answered. A warning breaks a SHOULD, or is a call that timed out, or a
session in which no request was answered with a result. A note breaks nothing: a
client left a call open when it went away, or two frames may have crossed. --filter,
that of mcprec show, prints only findings about events that fit; the table of calls
stays that of all. --rules lists the rules, --explain RULE explains one.

--format json prints one object a line: for each finding session, rule, title,
severity, revision, section, dir (of whoever is at fault), events, text; then for the
session a summary: events, frames, took_ns, revision, errors, warnings, notes,
requests, answered, results, exit, calls (name, tool, calls, failed, open, cancelled,
request_bytes, response_bytes, p50_ns, p95_ns, p99_ns, max_ns). In the table OPEN
counts calls without an answer, and CANCELLED those that were cancelled; the durations
are of all calls: how long each took, or waited. --format junit prints a test case for
each rule of each session, --format sarif a log of SARIF 2.1.0, which points at the
lines of fixtures.

` + sessionHelp + `

Exit codes: 0 fine, 1 a finding at or above --fail-on, 2 usage, 3 data that cannot
be read; the other sessions are checked all the same.`

func runCheck(cmd *cobra.Command, o checkOptions, args []string) (err error) {
	if o.max < 0 {
		return exit.Usagef("--max-duration %v: want 0 or more", o.max)
	}
	w, err := screenOf(cmd)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(w.Flush(), err) }()
	if o.rules {
		return printRules(w, o.format)
	}
	if o.explain != "" {
		text, ok := check.Explain(strings.ToUpper(o.explain))
		if !ok {
			names, _ := checkRules()
			return exit.Usagef("--explain %s: want one of %s", o.explain, strings.Join(names, ", "))
		}
		_, err := io.WriteString(w, text)
		return err
	}
	if len(args) == 0 {
		args = []string{""}
	}
	if o.trusted, err = readBaseline(cmd, o); err != nil {
		return err
	}
	if o.schema {
		o.schemas = &schema.Validator{} // shared by all sessions: it compiles a schema once
	}
	report := newCheckReport(w, o)
	var unread error // of sessions that cannot be read; the others are still checked
	for _, arg := range args {
		unread = errors.Join(unread, checkSession(cmd, o, arg, report))
		if report.err != nil {
			return report.err // the output is closed
		}
	}
	if unread != nil && report.sessions == 0 {
		return unread
	}
	if err := errors.Join(unread, report.close()); err != nil {
		return err
	}
	if report.failed {
		return exit.ErrVerdict
	}
	return nil
}

// readBaseline reads the tools of the session of --baseline. It returns nil without one.
func readBaseline(cmd *cobra.Command, o checkOptions) (_ *check.Baseline, err error) {
	if o.base == "" {
		return nil, nil
	}
	s, err := openSession(cmd, o.home, o.base)
	if err != nil {
		return nil, err
	}
	defer closeInto(&err, s)
	b := check.NewBaseline(s.Name)
	for e, err := range s.Events(cmd.Context(), 1, store.ReadOptions{}) {
		if err == nil {
			err = b.Apply(e)
		}
		if err != nil {
			return nil, fmt.Errorf("read baseline %s: %w", s.Name, err)
		}
	}
	if _, lists := b.Tools(); lists == 0 {
		return nil, exit.Usagef("--baseline %s: nothing to compare with: no tools/list is answered in it", o.base)
	}
	return b, nil
}

// checkSession checks one session and adds it to the report.
func checkSession(cmd *cobra.Command, o checkOptions, arg string, report *checkReport) (err error) {
	s, err := openSession(cmd, o.home, arg)
	if err != nil {
		return err
	}
	defer closeInto(&err, s)
	report.start()
	fits, err := o.parse()
	if err != nil {
		return err
	}
	selected, err := s.Pick(cmd.Context(), fits)
	if err != nil {
		return err
	}
	others := map[order.Severity]int{} // findings that --filter leaves out
	gate := check.Gate{MaxDuration: o.max, FailOnTimeout: o.timeout, Expect: o.expect, Forbid: o.forbid, Baseline: o.trusted, Schema: o.schemas}
	fold := check.New(gate, func(f check.Finding) {
		if len(f.Events) > 0 && !selected.HasAny(f.Events) { // one without events is about the session
			others[f.Severity]++
			return
		}
		report.finding(s, f)
	})
	var valid store.Validator
	for e, err := range parallel.Parse(s.Events(cmd.Context(), 1, store.ReadOptions{})) {
		if err == nil {
			err = valid.Check(e.Event)
		}
		switch {
		case err != nil:
		case e.Kind == store.Frame:
			err = fold.ApplyParsed(e.Event, e.Parsed)
		default:
			err = fold.Apply(e.Event)
		}
		if err != nil {
			return fmt.Errorf("check %s: %w", s.Name, err)
		}
	}
	sum := fold.Close(s.Now())
	sum.Errors -= others[order.Error]
	sum.Warnings -= others[order.Warning]
	sum.Notes -= others[order.Note]
	report.session(s.Name, sum)
	return report.err
}
