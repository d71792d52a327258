package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/cli"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/output"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/report"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/session"
	"github.com/mcprec/mcprec/replay/check"
	"github.com/mcprec/mcprec/replay/order"
	"github.com/mcprec/mcprec/replay/schema"
	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport/mcp"
	"github.com/mcprec/mcprec/transport/phrase"
)

type checkOptions struct {
	home
	filterFlag
	span
	all     bool
	format  string
	failOn  string
	explain string
	rules   bool
	max     time.Duration
	timeout bool // a call that timed out is an error
	failed  bool // a call to a tool that failed is an error
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
		Use:   "check [SESSION | FOLDER]...",
		Short: "Find broken rules, calls that hang and stray output in a recording",
		Example: `  mcprec check
  mcprec check --fail-on warning testdata
  mcprec check --all --since 1d --fail-on-tool-error
  mcprec check --explain P3`,
		ValidArgsFunction: completeSessions,
		RunE:              func(cmd *cobra.Command, args []string) error { return runCheck(cmd, o, args) },
	}
	o.home.addFlags(cmd)
	o.home.heedMaskFlags(cmd)
	o.filterFlag.addFlags(cmd)
	o.span.addFlags(cmd)
	f := cmd.Flags()
	f.BoolVar(&o.all, "all", false, allSessions)
	addFormat(cmd, &o.format, "text", "json", "junit", "sarif")
	addChoice(cmd, &o.failOn, "fail-on", "what fails: error, warning, or never", "error", "warning", "never")
	f.BoolVar(&o.rules, "rules", false, "list the rules")
	f.StringVar(&o.explain, "explain", "", "explain a `RULE`")
	f.DurationVar(&o.max, "max-duration", 0, "a call that takes `LONGER` is an error")
	f.BoolVar(&o.timeout, "fail-on-timeout", false, "a call that timed out is an error")
	f.BoolVar(&o.failed, "fail-on-tool-error", false, "an error that a tool answers is an error")
	f.StringSliceVar(&o.expect, "expect-tool", nil, "`TOOLS` that the client must call")
	f.StringSliceVar(&o.forbid, "forbid-tool", nil, "`TOOLS` that the client must not call")
	f.BoolVar(&o.schema, "schema", false, "check each message by its JSON schema, too")
	f.StringVar(&o.base, "baseline", "", "tools must be as in this `SESSION`")
	return cmd
}

func runCheck(cmd *cobra.Command, options checkOptions, args []string) (err error) {
	if options.max < 0 {
		return cli.Usagef("--max-duration %v: want 0 or more", options.max)
	}
	w, err := screenOf(cmd)
	if err != nil {
		return err
	}
	defer func() { err = flush(w, err) }()
	if options.rules {
		return printRules(w, options.format)
	}
	if options.explain != "" {
		text, ok := check.Explain(strings.ToUpper(options.explain))
		if !ok {
			names, _ := checkRules()
			return cli.Usagef("--explain %s: want one of %s", options.explain, strings.Join(names, ", "))
		}
		_, err := io.WriteString(w, text)
		return err
	}
	switch {
	case options.all && len(args) > 0:
		return cli.Usagef("--all checks the sessions of the store; leave out %s", args[0])
	case !options.all && (options.since != nil || options.span.labels.String() != ""):
		return cli.Usagef("--since and --label select sessions for --all")
	case len(args) == 0:
		args = []string{""}
	}
	options.trusted, err = readBaseline(cmd, options)
	if err != nil {
		return err
	}
	if options.schema {
		options.schemas = &schema.Validator{} // shared by all sessions: it compiles a schema once
	}
	if args, err = foldersOpened(cmd, options.home, args); err != nil {
		return err
	}
	told := newCheckReport(w, options)
	var unread error // of sessions that cannot be read; the others are still checked
	if options.all {
		unread = checkAll(cmd, options, told)
		args = nil
	}
	for _, arg := range args {
		unread = errors.Join(unread, checkNamed(cmd, options, arg, told))
		if told.err != nil {
			break
		}
	}
	if told.err != nil {
		return told.err // the output is closed
	}
	if unread != nil && told.sessions == 0 {
		return unread
	}
	if err := errors.Join(unread, told.close()); err != nil {
		return err
	}
	if told.failed {
		return cli.ErrVerdict
	}
	return nil
}

// foldersOpened puts the fixtures of a folder in its place, unless it is a label as well.
func foldersOpened(cmd *cobra.Command, home home, args []string) (opened []string, err error) {
	for _, arg := range args {
		info, err := os.Stat(arg)
		if err != nil || !info.IsDir() {
			opened = append(opened, arg)
			continue
		}
		isNamed, err := isLabel(cmd, home, arg)
		if err != nil {
			return nil, err
		}
		if isNamed {
			opened = append(opened, arg)
			continue
		}
		files, err := session.FixturesBelow([]string{arg})
		if err == nil && len(files) == 0 {
			err = cli.Usagef("check %s: no fixture is in this folder: no file *.jsonl", phrase.ShellWord(arg))
		}
		if err != nil {
			return nil, err
		}
		opened = append(opened, files...)
	}
	return opened, nil
}

// readBaseline reads the tools of the session of --baseline. It returns nil without one.
func readBaseline(cmd *cobra.Command, options checkOptions) (_ *check.Baseline, err error) {
	if options.base == "" {
		return nil, nil
	}
	s, err := openSession(cmd, options.home, options.base)
	if err != nil {
		return nil, err
	}
	defer closeInto(&err, s)
	b := check.NewBaseline(s.Name)
	if err := timeline.Project(timeline.Steps(s.Events(cmd.Context(), 1, store.ReadOptions{})), b); err != nil {
		return nil, fmt.Errorf("read baseline %s: %w", s.Name, err)
	}
	if _, lists := b.Tools(); lists == 0 {
		return nil, cli.Usagef("--baseline %s: nothing to compare with: no tools/list is answered in it", options.base)
	}
	return b, nil
}

// checkAll checks the sessions of the store that --since and --label select, newest first.
func checkAll(cmd *cobra.Command, options checkOptions, told *checkReport) (err error) {
	db, err := openExisting(cmd, options.home)
	if err != nil {
		return err
	}
	defer closeInto(&err, db)
	sessions, unread := (&span{}).sessions(cmd, db)
	short := shortIDs(sessions) // which name a session among all
	sessions = slices.DeleteFunc(sessions, func(s store.Session) bool { return !options.has(s) })
	if len(sessions) == 0 && unread == nil {
		return options.span.none(db)
	}
	told.listed = listedNames(db, sessions, short)
	told.opens = map[string]string{}
	for _, s := range sessions {
		told.opens[db.Session(s).Name] = short[s.ID] + db.Flag()
	}
	return errors.Join(unread, checkListed(cmd, options, db, sessions, told))
}

// checkListed checks sessions of a listing, until the output fails. Those that have been removed since are left
// out.
func checkListed(cmd *cobra.Command, options checkOptions, db *session.Store, sessions []store.Session, told *checkReport) (unread error) {
	for _, s := range sessions {
		if err := checkSession(cmd, options, db.Session(s), told); !session.IsGone(err) {
			unread = errors.Join(unread, err)
		}
		if told.err != nil {
			return nil
		}
	}
	return unread
}

// listedNames returns the short id and the label of each session, as mcprec list shows them, by
// the name of the session. All are of one width.
func listedNames(db *session.Store, sessions []store.Session, short map[store.SessionID]string) map[string]string {
	shown := slices.Clone(sessions)
	db.Masker.Headers(shown)
	label := func(s store.Session) string { return output.Plain(labelOf(s)) }
	var idWidth, labelWidth int
	for _, s := range shown {
		idWidth = max(idWidth, len(short[s.ID]))
		labelWidth = max(labelWidth, output.Columns(label(s)))
	}
	names := make(map[string]string, len(shown))
	for _, s := range shown {
		name := fmt.Sprintf("%-*s", idWidth, short[s.ID])
		if labelWidth > 0 {
			name += "  " + label(s) + strings.Repeat(" ", labelWidth-output.Columns(label(s)))
		}
		names[db.Session(s).Name] = name
	}
	return names
}

// checkNamed checks the session that an argument names, or all of a file.
func checkNamed(cmd *cobra.Command, options checkOptions, arg string, told *checkReport) (err error) {
	all, err := session.OpenAll(cmd.Context(), options.Home, arg, cmd.InOrStdin(), cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	for _, s := range all {
		told.open = s.Argument()
		err = errors.Join(err, checkSession(cmd, options, s, told))
	}
	for _, s := range all {
		err = errors.Join(err, s.Close())
	}
	return err
}

// checkSession checks one session and adds it to the report.
func checkSession(cmd *cobra.Command, o checkOptions, s *session.Session, told *checkReport) error {
	told.start()
	s.Watch(cmd.ErrOrStderr())
	fits, err := o.parse()
	if err != nil {
		return err
	}
	selected, err := s.Pick(cmd.Context(), fits)
	if err != nil {
		return err
	}
	others := map[order.Severity]int{} // findings that --filter leaves out
	gate := check.Gate{
		MaxDuration: o.max, FailOnTimeout: o.timeout, FailOnToolError: o.failed,
		Expect: o.expect, Forbid: o.forbid, Baseline: o.trusted, Schema: o.schemas,
	}
	sum, err := report.Check(cmd.Context(), s, gate, func(finding check.Finding) {
		if len(finding.Events) > 0 && !selected.HasAny(finding.Events) { // one without events is about the session
			others[finding.Severity]++
			return
		}
		s.Beside(func() { told.finding(s, finding) })
	})
	if err != nil {
		return err
	}
	sum.Errors -= others[order.Error]
	sum.Warnings -= others[order.Warning]
	sum.Notes -= others[order.Note]
	told.session(s.Name, sum)
	return told.err
}

// checkReport prints findings as they come, and a summary of each session.
type checkReport struct {
	*output.Printer
	failOn   string
	junit    bool
	brief    bool              // a line for each session
	listed   map[string]string // with brief: a session's short id and label by its name
	opens    map[string]string // with brief: the arguments of mcprec check for a session, by its name
	worst    check.Finding     // of this session, the first of the gravest
	sessions int
	total    check.Summary
	failed   bool            // a finding fails the gate
	kept     []check.Finding // of this session, for its test cases
	titled   string          // the session whose name is already printed
	err      error           // of the output
	open     string          // the last session, as an argument of mcprec view; "" if it has no name
}

func newCheckReport(w io.Writer, o checkOptions) *checkReport {
	r := &checkReport{Printer: output.NewPrinter(w, o.format), failOn: o.failOn, junit: o.format == output.JUnit, brief: o.all && o.format == "text"}
	r.Head = output.Head{Name: "mcprec check", Version: version()}
	names, worst := checkRules()
	for _, name := range names {
		help, _ := check.Explain(name) // every rule has one
		r.Rules = append(r.Rules, output.Rule{ID: name, Title: check.Name(name), Help: help, Level: worst[name].String()})
	}
	return r
}

// start begins a session: of one before it that could not be read nothing is kept.
func (r *checkReport) start() {
	r.kept = nil
	r.titled = ""
	r.worst = check.Finding{}
}

func (r *checkReport) finding(s *session.Session, f check.Finding) {
	r.failed = r.failed || r.failsOn(f.Severity)
	if r.worst.Rule == "" || graver(f, r.worst) {
		r.worst = f
	}
	if r.brief {
		return
	}
	if r.junit {
		r.kept = append(r.kept, f)
	}
	r.print(output.Section{
		Text: func(w io.Writer) error {
			severity := fmt.Sprintf(" %v ", f.Severity)
			before, after, _ := strings.Cut(f.String(), severity)
			how := map[order.Severity]output.Style{order.Error: output.Red, order.Warning: output.Yellow}[f.Severity]
			return errors.Join(r.title(w, s.Name), output.PaintTo(w, output.Unpainted, "  "+output.Plain(before)), output.PaintTo(w, how, severity),
				output.PaintTo(w, output.Unpainted, output.Plain(after)+"\n"))
		},
		Value: report.FindingIn(s, f),
		Results: func() []output.Result {
			result := output.Result{Rule: f.Rule, Level: f.Severity.String(), Text: f.Text}
			if len(f.Events) == 0 && s.Lines { // code scanning drops a result without a place
				result.Events = []output.Location{{Name: s.Name, File: s.Name, Line: 1}}
			}
			for _, seq := range f.Events {
				at := output.Location{Name: fmt.Sprintf("%s#%d", s.Name, seq)}
				at.File = s.Path
				if s.Store == nil && s.Path == "" {
					at.File = s.Name
				}
				if s.Lines {
					at.Line = seq
				}
				result.Events = append(result.Events, at)
			}
			return []output.Result{result}
		},
	})
}

// print prints a section, unless the output has failed.
func (r *checkReport) print(section output.Section) {
	if r.err == nil {
		r.err = r.Print(section)
	}
}

func (r *checkReport) title(w io.Writer, session string) error {
	if r.titled == session {
		return nil
	}
	r.titled = session
	_, err := fmt.Fprintf(w, "%s\n", output.Plain(session))
	return err
}

func (r *checkReport) session(name string, s check.Summary) {
	r.sessions++
	r.total.Errors += s.Errors
	r.total.Warnings += s.Warnings
	r.total.Notes += s.Notes
	r.Properties = append(r.Properties, output.Property{Name: "session", Value: name})
	r.print(output.Section{
		Text: func(w io.Writer) error {
			if r.brief {
				return r.line(w, name, s)
			}
			if err := r.title(w, name); err != nil {
				return err
			}
			revision := cmp.Or(s.Revision, "no revision")
			fmt.Fprintf(w, "  %s, %s in %v%s\n", output.PlainName(revision), phrase.Plural(s.Frames, "message"), output.Rounded(s.Took), whyUseless(s))
			if len(s.Tallies) == 0 {
				return nil
			}
			t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
			if screen, isScreen := w.(*output.Screen); isScreen {
				screen.Fit(output.Clip)
				defer screen.Fit(output.Wrap)
				if screen.Narrow(100) {
					fmt.Fprintln(t, "  CALLS\tFAILED\tOPEN\tP50\tP95\tNAME")
					for _, c := range s.Tallies {
						fmt.Fprintf(t, "  %d\t%d\t%d\t%v\t%v\t%s\n", c.Calls, c.Failed, c.Open, output.Rounded(c.P50), output.Rounded(c.P95), output.Plain(c.Name))
					}
					return t.Flush()
				}
			}
			fmt.Fprintln(t, "  CALLS\tFAILED\tOPEN\tCANCELLED\tP50\tP95\tP99\tBYTES OUT\tBYTES IN\tNAME")
			for _, c := range s.Tallies {
				fmt.Fprintf(t, "  %d\t%d\t%d\t%d\t%v\t%v\t%v\t%d\t%d\t%s\n", c.Calls, c.Failed, c.Open, c.Cancelled, output.Rounded(c.P50), output.Rounded(c.P95), output.Rounded(c.P99), c.Requests, c.Responses, output.Plain(c.Name))
			}
			return t.Flush()
		},
		Value: report.CheckSummary{Session: name, Summary: s},
		Cases: func() (cases []output.TestCase) {
			for _, rule := range r.Rules {
				cases = append(cases, r.testCase(name, rule))
			}
			return cases
		},
	})
}

// whyUseless says in the summary of a session why nothing came of the session; "" if something did.
func whyUseless(summary check.Summary) (said string) {
	switch {
	case summary.Asked == 0 && summary.Frames == 0:
		said = "; nothing was said"
	case summary.Answered == 0 && summary.Asked > 0:
		said = "; nothing was answered"
	case summary.Results == 0 && summary.Asked > 0:
		said = "; nothing was answered but with an error"
	}
	if summary.Exit != "" && summary.Exit != "0" {
		said += "; the server ended: exit " + summary.Exit
	}
	return output.Plain(said)
}

// graver reports whether a finding is graver than another: an error before a warning, and of one severity a wait
// without an answer before a broken rule.
func graver(f, other check.Finding) bool {
	if f.Severity != other.Severity {
		return f.Severity > other.Severity
	}
	return f.IsWait() && !other.IsWait()
}

// line prints a session in a line, by its short id and label: what was found, and the first of the gravest findings.
func (r *checkReport) line(w io.Writer, name string, s check.Summary) error {
	text := "fine"
	if r.worst.Rule != "" {
		text = fmt.Sprintf("%s, %s, %s: %s", phrase.Plural(s.Errors, "error"), phrase.Plural(s.Warnings, "warning"), phrase.Plural(s.Notes, "note"), r.worst)
		if more := s.Errors + s.Warnings + s.Notes - 1; more > 0 {
			text += fmt.Sprintf("; and %d more: mcprec check %s", more, r.opens[name])
		}
	}
	style := map[order.Severity]output.Style{order.Error: output.Red, order.Warning: output.Yellow}[r.worst.Severity]
	return errors.Join(output.PaintTo(w, output.Unpainted, output.Plain(r.listed[name])+"  "), output.PaintTo(w, style, output.Plain(text)), output.PaintTo(w, output.Unpainted, "\n"))
}

// testCase returns what the session's findings say of a rule. Those below the gate's severity
// stand in the output of a case that passes.
func (r *checkReport) testCase(session string, rule output.Rule) output.TestCase {
	c := output.TestCase{Name: rule.ID + " " + rule.Title, Class: session}
	var failed, said []string
	for _, f := range r.kept {
		switch {
		case f.Rule != rule.ID:
		case r.failsOn(f.Severity):
			failed = append(failed, f.String())
		default:
			said = append(said, f.String())
		}
	}
	c.Out = strings.Join(said, "\n")
	if len(failed) > 0 {
		c.Failure = &output.TestFault{Message: failed[0], Type: rule.ID, Text: strings.Join(failed, "\n")}
	}
	if len(failed) > 1 {
		c.Failure.Message += fmt.Sprintf(", and %d more", len(failed)-1)
	}
	return c
}

func (r *checkReport) failsOn(severity order.Severity) bool {
	switch r.failOn {
	case "never":
		return false
	case "warning":
		return severity >= order.Warning
	}
	return severity == order.Error
}

func (r *checkReport) close() error {
	r.print(output.Section{Text: func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "%s: %s, %s, %s\n", phrase.Plural(r.sessions, "session"),
			phrase.Plural(r.total.Errors, "error"), phrase.Plural(r.total.Warnings, "warning"), phrase.Plural(r.total.Notes, "note"))
		if r.sessions == 1 && r.open != "" && len(r.worst.Events) > 0 && err == nil {
			_, err = fmt.Fprintf(w, "See it: mcprec view %s --at %d\n", r.open, r.worst.Events[0])
		}
		return err
	}})
	return errors.Join(r.err, r.Close())
}

// checkRules lists each rule once, with the worst severity that it may have.
func checkRules() (names []string, worst map[string]order.Severity) {
	worst = map[string]order.Severity{}
	for _, d := range check.Demands() {
		if !slices.Contains(names, d.Rule) {
			names = append(names, d.Rule)
		}
		worst[d.Rule] = max(worst[d.Rule], d.Severity)
	}
	return names, worst
}

func printRules(w io.Writer, format string) error {
	if format == output.JSON {
		return json.NewEncoder(w).Encode(check.Demands())
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "RULE\tSEVERITY\tREVISIONS\tWHAT IT ASKS FOR\tSECTION")
	for _, d := range check.Demands() {
		section := d.Section
		switch {
		case section != "":
		case d.Rule[0] == 'U':
			section = "(what delivery is)"
		case d.Rule[0] == 'G':
			section = "(what the user asks)"
		default:
			section = "(what a recording is)"
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\n", d.Rule, d.Severity, revisionsOf(d), d.Title, section)
	}
	return t.Flush()
}

// revisionsOf names the revisions of the specification that have a demand.
func revisionsOf(demand order.Demand) string {
	first, last := demand.First == mcp.Oldest, demand.Last == mcp.Newest
	switch {
	case first && last:
		return "all"
	case demand.First == demand.Last:
		return demand.First
	case first:
		return "to " + demand.Last
	case last:
		return "from " + demand.First
	}
	return demand.First + " to " + demand.Last
}
