package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/driving"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/exit"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/outfile"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/process"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/report"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/session"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/terminal"
	"github.com/mcprec/mcprec/replay/check"
	"github.com/mcprec/mcprec/replay/match"
	"github.com/mcprec/mcprec/replay/order"
	"github.com/mcprec/mcprec/replay/phrase"
	"github.com/mcprec/mcprec/replay/standin"
	"github.com/mcprec/mcprec/replay/surface"
	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/store/jsonl"
)

type ciOptions struct {
	home
	ruleFlags
	target   driving.Target
	format   string
	failOn   string
	junit    string
	sarif    string
	baseline string
	accept   bool
	anyOrder bool
	timeout  time.Duration
}

const ciHelp = `ci is a gate for continuous integration. For each fixture (a FILE, or every *.jsonl below
a DIR) it

  check    finds what the recording alone shows, as mcprec check
  drive    with a server: plays the recorded client to it and compares its answers, as
           mcprec drive
  surface  compares what the server offers (revision, capabilities, tools, prompts,
           resources) with what it offered in the fixture, or in --baseline

and prints one report: to standard output as text or JSON, and with --junit and --sarif to
files, in the same run. A finding of SARIF points at the line of the fixture, relative to
the root of the repository: code scanning drops findings without a place.

A change of the surface has one of three tiers:

  breaking  an error: something is gone, or now required, or narrower
  risky     a warning: a description, a default or an annotation is different
  minor     a note: something is new, or wider

--fail-on sets which findings fail, and takes either words. What the surface judges, the
answers to initialize and to lists, the drive does not judge again.

The exit code is 0 if all is well, 1 for a finding that fails, and if nothing was compared:
no fixture, a fixture without a request, a server that was asked nothing. A recording of a
hang has findings of its own: keep it in another folder, for mcprec replay --expect.

--accept makes what the server says now the recording, in the file of each fixture whose
drive came to its end with findings; git shows the rest.

--format json prints one object a line: for each finding file, line, part (check, drive or
surface), rule, level, text; then for each fixture a summary: file, steps, matched, lists,
items, accepted.

`

func newCI() *cobra.Command {
	var o ciOptions
	cmd := &cobra.Command{
		Use:   "ci [flags] DIR|FILE... [-- COMMAND [ARG]...]",
		Short: "A gate for CI: check fixtures, drive a server with them, compare what it offers",
		Long:  ciHelp,
		Example: `  mcprec ci testdata -- ./server --stdio
  mcprec ci --junit report.xml --sarif report.sarif testdata -- ./server
  mcprec ci --fail-on risky --target http://localhost:3000/mcp testdata
  mcprec ci --baseline approved.jsonl run.jsonl
  mcprec ci --accept testdata -- ./server`,
		RunE: func(cmd *cobra.Command, args []string) error {
			paths, command := beforeDash(cmd, args)
			return runCI(cmd, o, paths, command)
		},
	}
	o.home.addMaskFlags(cmd)
	o.ruleFlags.addFlags(cmd)
	f := cmd.Flags()
	f.StringVar(&o.target.URL, "target", "", "drive the HTTP server whose MCP endpoint is `URL`, in place of COMMAND")
	f.StringArrayVar(&o.target.Headers, "header", nil, "with --target: send `'NAME: VALUE'` with every request; may be repeated")
	addChoice(cmd, &o.format, "format", "of standard output: text or json", "text", "json")
	addChoice(cmd, &o.failOn, "fail-on", "the least `LEVEL` that fails: error, warning, note or never; or breaking,\nrisky or minor", "error", "warning", "note", "never", "breaking", "risky", "minor")
	f.StringVar(&o.junit, "junit", "", "write a JUnit report to `FILE`, too")
	f.StringVar(&o.sarif, "sarif", "", "write a SARIF 2.1.0 log to `FILE`, too")
	f.StringVar(&o.baseline, "baseline", "", "compare the surface with that of a `SESSION`, not with each fixture's own")
	f.BoolVar(&o.accept, "accept", false, "make what the server says now the recording")
	f.BoolVar(&o.anyOrder, "any-order", false, "let a notification come on either side of its call's answer, as mcprec drive")
	f.DurationVar(&o.timeout, "timeout", 30*time.Second, "give a drive up when nothing that was recorded came for so long")
	return cmd
}

// Rules of ci beside those of check.
const (
	ruleDrive   = "drive"
	ruleNothing = "nothing-compared"
	ruleSurface = "surface-" // and the tier
)

// The parts of a run.
const (
	partCheck   = "check"
	partDrive   = "drive"
	partSurface = "surface"
)

// levels are the levels of findings, from the least.
var levels = []string{"note", "warning", "error"}

// ciFinding is a finding in the stable form of ci --format json.
type ciFinding struct {
	File  string `json:"file"`
	Line  uint64 `json:"line"` // 0: of no line
	Part  string `json:"part"`
	Rule  string `json:"rule"`
	Level string `json:"level"`
	Text  string `json:"text"`
	event uint64 // 0: of no event
}

// ciFixture is what ci found in one fixture.
type ciFixture struct {
	File     string `json:"file"`
	Frames   uint64 `json:"frames"`
	Steps    int    `json:"steps"`
	Matched  int    `json:"matched"`
	Lists    int    `json:"lists"`
	Items    int    `json:"items"`
	Accepted bool   `json:"accepted,omitempty"`
	findings []ciFinding
	recorded *session.Recording
	drive    *driveReport // nil: not driven
	compared bool         // the surface was
}

// ciRun is a run of ci.
type ciRun struct {
	ciOptions
	cmd      *cobra.Command
	command  []string
	live     bool // there is a server
	rules    match.Rules
	trusted  *surface.Surface // of --baseline; nil without
	stop     context.Context  // done after a signal
	fixtures []*ciFixture
}

func runCI(cmd *cobra.Command, options ciOptions, paths, command []string) error {
	ci := &ciRun{ciOptions: options, cmd: cmd, command: command, live: len(command) > 0 || options.target.URL != ""}
	if err := ci.prepare(paths); err != nil {
		return err
	}
	stop, cancel := context.WithCancel(cmd.Context())
	defer cancel()
	ci.stop = stop
	wanted := process.UntilSignal(cancel)
	names, err := session.FixturesBelow(paths)
	for _, name := range names {
		if err != nil || stop.Err() != nil {
			break
		}
		err = ci.fixture(name)
	}
	sig := wanted()
	if err != nil {
		return err
	}
	if err := ci.report(); err != nil {
		return err
	}
	switch {
	case sig != nil:
		return &exit.Status{Signal: sig}
	case ci.fails():
		return exit.ErrVerdict
	case len(names) == 0:
		fmt.Fprintf(cmd.ErrOrStderr(), "mcprec: nothing compared: there is no *.jsonl in %s\n", strings.Join(paths, ", "))
		return exit.ErrVerdict
	}
	return nil
}

// prepare checks the flags and reads the baseline.
func (ci *ciRun) prepare(paths []string) (err error) {
	switch {
	case len(paths) == 0:
		return exit.Usagef("ci: no fixture; use mcprec ci DIR|FILE... [-- COMMAND [ARG]...]")
	case ci.accept && !ci.live:
		return exit.Usagef("--accept records what a server says; add -- COMMAND or --target URL")
	case ci.accept && ci.baseline != "":
		return exit.Usagef("--accept rewrites the fixtures; to accept a surface for --baseline, copy a fixture to it")
	case ci.timeout <= 0:
		return exit.Usagef("--timeout %v: want a duration above 0", ci.timeout)
	}
	if err := ci.target.Check(ci.command); err != nil {
		return err
	}
	if ci.rules, err = ci.ruleFlags.rules(); err != nil {
		return err
	}
	ci.rules.AnyOrder = ci.anyOrder
	if ci.baseline == "" {
		return nil
	}
	r, err := ci.open(ci.baseline)
	if err != nil {
		return err
	}
	ci.trusted = &surface.Surface{}
	if err := r.Project(ci.trusted); err != nil {
		return err
	}
	if len(ci.trusted.Answers()) == 0 {
		return exit.Usagef("--baseline %s: nothing to compare with: no initialize and no list is answered in it", ci.baseline)
	}
	return nil
}

func (ci *ciRun) open(name string) (*session.Recording, error) {
	return session.OpenRecording(ci.cmd.Context(), ci.Home, name, ci.cmd.InOrStdin(), ci.cmd.ErrOrStderr(), slices.Concat(ci.command, ci.target.Headers), ci.target.URL)
}

// fixture does all parts for one fixture.
func (ci *ciRun) fixture(name string) error {
	r, err := ci.open(name)
	if err != nil {
		return err
	}
	f := &ciFixture{File: name, recorded: r}
	ci.fixtures = append(ci.fixtures, f)
	if err := ci.check(f); err != nil {
		return err
	}
	if !r.HasRequests() {
		f.add(ciFinding{Part: partCheck, Rule: ruleNothing, Level: "error", Text: "nothing to compare: its client asked for nothing"})
		return nil
	}
	was, is := ci.trusted, &surface.Surface{}
	if was == nil {
		was = &surface.Surface{}
		if err := r.Project(was); err != nil {
			return err
		}
	}
	switch {
	case ci.live:
		return ci.drive(f, was, is)
	case ci.trusted != nil:
		if err := r.Project(is); err != nil {
			return err
		}
		ci.compare(f, was, is)
	}
	return nil
}

// add adds a finding about an event, which in a fixture of our own form is a line.
func (f *ciFixture) add(finding ciFinding) {
	finding.File = f.File
	if f.recorded.Lines {
		finding.Line = max(finding.event, 1)
	}
	f.findings = append(f.findings, finding)
}

// check finds what the recording alone shows.
func (ci *ciRun) check(f *ciFixture) error {
	fold := check.New(check.Gate{}, func(found check.Finding) {
		finding := ciFinding{Part: partCheck, Rule: found.Rule, Level: found.Severity.String(), Text: found.Text}
		if len(found.Events) > 0 {
			finding.event = found.Events[0]
		}
		f.add(finding)
	})
	for e, err := range f.recorded.Masker.Events(jsonl.Each(f.recorded.Events)) {
		if err == nil {
			err = fold.Apply(e)
		}
		if err != nil {
			return fmt.Errorf("check %s: %w", f.File, err)
		}
	}
	f.Frames = fold.Close(0).Frames
	return nil
}

// drive plays the recorded client to the server, and compares what it says and what it offers.
func (ci *ciRun) drive(f *ciFixture, was, is *surface.Surface) error {
	rules := ci.rules
	rules.Mask = f.recorded.Masker.Value
	driver := standin.NewDriver(f.recorded.Events, rules)
	driver.OneByOne()
	warnDrive(ci.cmd.ErrOrStderr(), f.recorded, driver, ci.target.URL == "")
	how := driving.Options{DriveOptions: standin.DriveOptions{Timeout: ci.timeout, Stop: ci.stop.Done()}, Record: true, Recorder: "mcprec " + version()}
	var run *driving.Run
	var err error
	if ci.target.URL != "" {
		run, err = ci.target.Drive(ci.cmd.Context(), f.recorded, driver, how)
	} else {
		run, err = driving.Command(ci.cmd.Context(), f.recorded, driver, ci.command, how)
	}
	if err != nil {
		return f.recorded.Masker.Fault(err)
	}
	for _, what := range driver.Without() {
		fmt.Fprintf(ci.cmd.ErrOrStderr(), "mcprec: waited, and went on without %s\n", f.recorded.Masker.Text(what))
	}
	if err := timeline.Project(jsonl.Each(run.Events), is); err != nil {
		return err
	}
	f.drive = newDriveReport(f.recorded, ci.command, driver, run, ci.timeout)
	f.drive.label = f.File
	if ci.compare(f, was, is) {
		own := was
		if ci.trusted != nil {
			own = &surface.Surface{}
			if err := f.recorded.Project(own); err != nil {
				return err
			}
		}
		f.drive.excuse(own.Answers())
	}
	f.judgeDrive()
	if ci.accept && len(f.findings) > 0 && run.End == standin.Complete {
		f.Accepted = slices.ContainsFunc(f.findings, func(finding ciFinding) bool { return finding.Part != partCheck })
		if f.Accepted {
			return updateRecording(ci.cmd, ci.home, f.recorded, run.Events)
		}
	}
	return nil
}

// excuse makes matches of the answers whose content the surface judges.
func (r *driveReport) excuse(answers []uint64) {
	for i, s := range r.Steps {
		if s.Result == match.Mismatch && s.Order == "" && slices.Contains(answers, s.Seq) {
			r.Steps[i].Result = match.Match
			r.Steps[i].Differences, r.Steps[i].Flags = nil, nil
			r.Counts[match.Mismatch]--
			r.Counts[match.Match]++
		}
	}
	r.Passed = r.Explanation == "" && r.Counts[match.Match] == len(r.Steps)
}

// judgeDrive makes findings of the steps that do not match.
func (f *ciFixture) judgeDrive() {
	d := f.drive
	f.Steps, f.Matched = len(d.Steps), d.Counts[match.Match]
	if d.Explanation != "" {
		rule := ruleDrive
		if len(d.Steps) == 0 && d.End == standin.Complete {
			rule = ruleNothing
		}
		f.add(ciFinding{Part: partDrive, Rule: rule, Level: "error", Text: strings.Join(slices.Concat([]string{d.Explanation}, d.Pending, d.Stderr), "\n")})
	}
	for _, s := range d.Steps {
		if s.Result != match.Match {
			what := s.What
			if s.Result == match.Extra {
				what = s.headline()
			}
			text := strings.Join(append([]string{string(s.Result) + ": " + what}, s.details(false)...), "\n")
			f.add(ciFinding{Part: partDrive, Rule: ruleDrive, Level: "error", Text: text, event: s.Seq})
		}
	}
}

// compare compares two surfaces, and reports whether the newer one is as whole as the older one.
func (ci *ciRun) compare(f *ciFixture, was, is *surface.Surface) (whole bool) {
	found := surface.Compare(was, is)
	f.Lists, f.Items = found.Lists, found.Items
	f.compared = found.Lists > 0 || found.Greeted
	for _, c := range found.Changes {
		finding := ciFinding{Part: partSurface, Rule: ruleSurface + c.Tier.String(), Level: levels[c.Tier], Text: f.recorded.Masker.Text(c.String())}
		if ci.trusted == nil {
			finding.event = c.Seq
		}
		f.add(finding)
	}
	return len(is.Answers()) == len(was.Answers())
}

// isFailure reports whether a level fails.
func (ci *ciRun) isFailure(level string) bool {
	least, isTier := map[string]string{"breaking": "error", "risky": "warning", "minor": "note"}[ci.failOn]
	if !isTier {
		least = ci.failOn
	}
	return least != "never" && slices.Index(levels, level) >= slices.Index(levels, least)
}

// fails reports whether a finding fails that was not accepted.
func (ci *ciRun) fails() bool {
	for _, f := range ci.fixtures {
		for _, finding := range f.findings {
			isAccepted := f.Accepted && finding.Part != partCheck
			if ci.isFailure(finding.Level) && !isAccepted {
				return true
			}
		}
	}
	return false
}

// report writes the report to standard output and to the files.
func (ci *ciRun) report() error {
	r := report.Report{Head: report.Head{Name: "mcprec ci", Version: version(), Rules: ciRules()}}
	root := session.RepositoryRoot()
	for _, f := range ci.fixtures {
		r.Properties = append(r.Properties, report.Property{Name: "fixture", Value: f.File})
		r.Sections = append(r.Sections, ci.sections(f, root)...)
	}
	r.Sections = append(r.Sections, report.Section{Text: func(w io.Writer) error {
		_, err := fmt.Fprintln(w, ci.total())
		return err
	}})
	for _, file := range []struct{ name, format string }{{ci.junit, report.JUnit}, {ci.sarif, report.SARIF}} {
		if file.name == "" {
			continue
		}
		out := outfile.File{Name: file.name, Force: true} // each run makes the report anew
		if err := out.Write(ci.cmd.OutOrStdout(), func(w io.Writer) error { return r.Write(w, file.format) }); err != nil {
			return err
		}
	}
	w, err := screenOf(ci.cmd)
	if err != nil {
		return err
	}
	w.Fit(terminal.Wrap)
	return errors.Join(r.Write(w, ci.format), w.Flush())
}

// sections returns what ci found in a fixture: each finding, and the whole.
func (ci *ciRun) sections(f *ciFixture, root string) (list []report.Section) {
	for _, finding := range f.findings {
		list = append(list, report.Section{Value: finding, Results: func() []report.Result {
			at := report.Location{Name: fmt.Sprintf("%s#%d", f.File, finding.event), File: session.InRepository(root, f.File), Line: max(finding.Line, 1)}
			return []report.Result{{Rule: finding.Rule, Level: finding.Level, Text: finding.Text, Events: []report.Location{at}}}
		}})
	}
	return append(list, report.Section{
		Value: f,
		Text:  func(w io.Writer) error { return ci.text(w, f) },
		Cases: func() []report.Case { return ci.testCases(f) },
	})
}

// text prints a fixture: a line for each part, and its findings below it.
func (ci *ciRun) text(w io.Writer, f *ciFixture) error {
	fmt.Fprintln(w, terminal.Plain(f.File))
	part := func(name, says string) {
		fmt.Fprintf(w, "  %-8s %s\n", name, says)
		for _, finding := range f.findings {
			if finding.Part != name {
				continue
			}
			how := map[string]terminal.Style{"error": terminal.Red, "warning": terminal.Yellow}[finding.Level]
			where := ""
			if finding.event > 0 {
				where = fmt.Sprintf("#%d ", finding.event)
			}
			_ = terminal.PaintTo(w, how, fmt.Sprintf("    %-8s", finding.Level))
			text := strings.ReplaceAll(finding.Text, "\n", "\n             ")
			fmt.Fprintf(w, " %s%s: %s\n", where, finding.Rule, plainLines(text))
		}
	}
	part(partCheck, phrase.Plural(f.Frames, "frame"))
	if f.drive != nil {
		part(partDrive, fmt.Sprintf("%s, %d as recorded", phrase.Plural(f.Steps, "step"), f.Matched))
	}
	switch {
	case f.Lists > 0:
		part(partSurface, fmt.Sprintf("%s in %s", phrase.Plural(f.Items, "item"), phrase.Plural(f.Lists, "list")))
	case f.compared:
		part(partSurface, "revision and capabilities; nothing is listed")
	case f.drive != nil || ci.trusted != nil:
		part(partSurface, "not compared: nothing is listed")
	}
	if f.Accepted {
		fmt.Fprintln(w, "  accepted")
	}
	return nil
}

// plainLines is terminal.Plain of each line.
func plainLines(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = terminal.Plain(lines[i])
	}
	return strings.Join(lines, "\n")
}

// total says in a line what was done and found.
func (ci *ciRun) total() string {
	counts := map[string]int{}
	var done ciFixture
	for _, f := range ci.fixtures {
		done.Steps += f.Steps
		done.Items += f.Items
		for _, finding := range f.findings {
			counts[finding.Level]++
		}
	}
	parts := []string{phrase.Plural(len(ci.fixtures), "fixture")}
	if ci.live {
		parts = append(parts, phrase.Plural(done.Steps, "step"))
	}
	if ci.live || ci.trusted != nil {
		parts = append(parts, phrase.Plural(done.Items, "item"))
	}
	return fmt.Sprintf("%s: %s, %s, %s", strings.Join(parts, ", "),
		phrase.Plural(counts["error"], "error"), phrase.Plural(counts["warning"], "warning"), phrase.Plural(counts["note"], "note"))
}

// testCases returns a case for each rule of check and tier of the surface that a finding names, one
// for a part without findings, and one for each step of the drive.
func (ci *ciRun) testCases(f *ciFixture) (cases []report.Case) {
	parts := []string{partCheck}
	if f.compared {
		parts = append(parts, partSurface)
	}
	for _, part := range parts {
		byRule := map[string][]ciFinding{}
		var rules []string
		for _, finding := range f.findings {
			if finding.Part == part {
				if byRule[finding.Rule] == nil {
					rules = append(rules, finding.Rule)
				}
				byRule[finding.Rule] = append(byRule[finding.Rule], finding)
			}
		}
		if len(rules) == 0 {
			cases = append(cases, report.Case{Name: part, Class: f.File})
		}
		for _, rule := range rules {
			cases = append(cases, ci.testCase(f, part+" "+rule, byRule[rule]))
		}
	}
	if f.drive != nil {
		cases = append(cases, f.drive.testCases()...)
	}
	return cases
}

// testCase returns the case of one rule. What does not fail stands in the output of the case.
func (ci *ciRun) testCase(f *ciFixture, name string, findings []ciFinding) report.Case {
	c := report.Case{Name: name, Class: f.File}
	var failed, said []string
	for _, finding := range findings {
		line := fmt.Sprintf("#%d %s: %s", finding.event, finding.Level, finding.Text)
		if ci.isFailure(finding.Level) {
			failed = append(failed, line)
		} else {
			said = append(said, line)
		}
	}
	c.Out = strings.Join(said, "\n")
	if len(failed) > 0 {
		c.Failure = &report.Fault{Message: phrase.OneLine(failed[0]), Type: findings[0].Rule, Text: strings.Join(failed, "\n")}
	}
	return c
}

// ciRules lists the rules that a finding may name: those of check, and those of ci.
func ciRules() (rules []report.Rule) {
	names, worst := checkRules()
	for _, name := range names {
		help, _ := check.Explain(name) // every rule has one
		rules = append(rules, report.Rule{ID: name, Title: check.Name(name), Help: help, Level: worst[name].String()})
	}
	of := func(id string, level order.Severity, title, help string) {
		rules = append(rules, report.Rule{ID: id, Title: title, Help: help, Level: level.String()})
	}
	of(ruleDrive, order.Error, "the server answers as recorded", "The recorded client was played to the server. mcprec drive shows the difference in full.")
	of(ruleNothing, order.Error, "something is compared", "A gate that compared nothing is no success. Record a session in which the client asks for something.")
	of(ruleSurface+"breaking", order.Error, "a client that worked still works", "Something that the server offered is gone, is now required, or is narrower. mcprec ci --accept makes it the recording.")
	of(ruleSurface+"risky", order.Warning, "what a model reads stays as it is", "A description, a default or an annotation is different: clients work as before, and a model may act otherwise.")
	of(ruleSurface+"minor", order.Note, "what is offered stays as it is", "Something is new or wider than before.")
	return rules
}
