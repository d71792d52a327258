package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/cli"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/recording"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/session"
	"github.com/mcprec/mcprec/replay/check"
	"github.com/mcprec/mcprec/replay/match"
	"github.com/mcprec/mcprec/replay/standin"
	"github.com/mcprec/mcprec/replay/surface"
	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/jsonl"
	"github.com/mcprec/mcprec/transport/phrase"
)

type ciOptions struct {
	home
	ruleFlags
	fillFlag
	target   recording.DriveTarget
	format   string
	failOn   string
	junit    string
	sarif    string
	baseline string
	accept   bool
	noServer bool
	anyOrder bool
	timeout  time.Duration
}

func newCI() *cobra.Command {
	var o ciOptions
	cmd := &cobra.Command{
		Use:   "ci [flags] DIR|FILE... [-- COMMAND [ARG]...]",
		Short: "A gate for CI: check fixtures, drive a server with them, compare what it offers",
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
	o.home.addFlags(cmd)
	o.home.heedMaskFlags(cmd)
	o.ruleFlags.addFlags(cmd)
	o.fillFlag.addFlags(cmd)
	f := cmd.Flags()
	f.StringVar(&o.target.URL, "target", "", "drive the HTTP server at `URL`")
	f.StringArrayVar(&o.target.Headers, "header", nil, "with --target: send this `HEADER`, too")
	addFormat(cmd, &o.format, "text", "json")
	addChoice(cmd, &o.failOn, "fail-on", "what fails: error, warning, note, never, breaking, risky, minor", "error", "warning", "note", "never", "breaking", "risky", "minor")
	f.StringVar(&o.junit, "junit", "", "also write a JUnit report to `FILE`")
	f.StringVar(&o.sarif, "sarif", "", "also write a SARIF 2.1.0 log to `FILE`")
	f.StringVar(&o.baseline, "baseline", "", "what the server must offer is in this `SESSION`")
	f.BoolVar(&o.accept, "accept", false, "record what the server says now in place of the fixture")
	f.BoolVar(&o.noServer, "no-server", false, "check the recordings alone")
	f.BoolVar(&o.anyOrder, "any-order", false, "notifications may come on either side of an answer")
	f.DurationVar(&o.timeout, "timeout", 30*time.Second, "give up after so long without a recorded message")
	return cmd
}

// Rules of ci beside those of check.
const (
	ruleDrive      = "drive"
	ruleNothing    = "nothing-compared"
	ruleIncomplete = "incomplete"
	ruleSurface    = "api-" // and the tier
)

// The parts of a run.
const (
	partCheck   = "check"
	partDrive   = "drive"
	partSurface = "api"
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
	Frames   uint64 `json:"messages"`
	Steps    int    `json:"steps"`
	Matched  int    `json:"matched"`
	Lists    int    `json:"lists"`
	Items    int    `json:"items"`
	Accepted bool   `json:"accepted,omitempty"`
	findings []ciFinding
	recorded *session.Recording // nil: it cannot be read
	events   []store.Event      // of the file, before secrets are filled in
	fixtureTerms
	drive    *driveReport // nil: not driven
	fault    error        // why not all could be done
	compared bool         // the surface was
}

// ciRun is a run of ci.
type ciRun struct {
	ciOptions
	cmd      *cobra.Command
	command  []string
	live     bool             // there is a server
	paths    []string         // of the arguments
	vain     vain             // what was given and fits no fixture
	trusted  *surface.Surface // of --baseline; nil without
	stop     context.Context  // done after a signal
	fixtures []*ciFixture
}

func runCI(cmd *cobra.Command, options ciOptions, paths, command []string) error {
	ci := &ciRun{ciOptions: options, cmd: cmd, command: command, paths: paths, live: len(command) > 0 || options.target.URL != ""}
	if err := ci.prepare(paths); err != nil {
		return err
	}
	stop, cancel := context.WithCancel(cmd.Context())
	defer cancel()
	ci.stop = stop
	wanted := cli.UntilSignal(cancel)
	names, err := session.FixturesBelow(paths)
	all, fault := ci.withTerms(names)
	if fault != nil {
		return fault
	}
	for _, f := range all {
		if stop.Err() != nil {
			break
		}
		ci.fixtures = append(ci.fixtures, f)
		f.fault = ci.fixture(f)
		f.judgeFault()
	}
	sig := wanted()
	if err != nil {
		return err
	}
	ci.vain.warn(cmd.ErrOrStderr())
	if err := ci.report(); err != nil {
		return err
	}
	fault = ci.fault()
	switch {
	case sig != nil:
		return &cli.Status{Signal: sig}
	case fault != nil:
		return fault
	case ci.fails():
		return cli.ErrVerdict
	case !ci.live && ci.baseline == "" && !ci.noServer && len(names) > 0:
		fmt.Fprintln(cmd.ErrOrStderr(), "mcprec: no server was asked: add -- COMMAND or --target URL, or --no-server to check the recordings alone")
		return cli.ErrVerdict
	case len(names) == 0:
		fmt.Fprintf(cmd.ErrOrStderr(), "mcprec: nothing compared: there is no *.jsonl in %s\n", strings.Join(paths, ", "))
		return cli.ErrVerdict
	}
	return nil
}

// prepare checks the flags and reads the baseline.
func (ci *ciRun) prepare(paths []string) (err error) {
	switch {
	case len(paths) == 0:
		return cli.Usagef("ci: no fixture; use mcprec ci DIR|FILE... [-- COMMAND [ARG]...]")
	case ci.accept && !ci.live:
		return cli.Usagef("--accept records what a server says; add -- COMMAND or --target URL")
	case ci.accept && ci.baseline != "":
		return cli.Usagef("--accept rewrites the fixtures; to accept what a server offers for --baseline, copy a fixture to it")
	case ci.live && ci.noServer:
		return cli.Usagef("--no-server and a server; give one of them")
	case ci.timeout <= 0:
		return cli.Usagef("--timeout %v: want a duration above 0", ci.timeout)
	}
	for i, path := range paths {
		if _, err := os.Stat(path); err != nil && i > 0 && !ci.live { // the words of a command, perhaps
			return cli.Usagef("ci: %s is no file and no folder; the command of a server stands behind --: mcprec ci %s -- %s",
				path, phrase.ShellLine(paths[:i]...), phrase.ShellLine(paths[i:]...))
		}
	}
	if err := ci.target.Check(ci.command); err != nil {
		return err
	}
	if _, err := ci.target.Header(); err != nil {
		return err
	}
	if _, err := ci.Masker(nil); err != nil {
		return err
	}
	if _, err = ci.ruleFlags.rules(); err != nil {
		return err
	}
	if _, err := recording.ParseFill(ci.fill); err != nil {
		return err
	}
	if ci.baseline == "" {
		return nil
	}
	r, err := ci.open(ci.home, ci.baseline)
	if err != nil {
		return err
	}
	ci.trusted = &surface.Surface{}
	if err := r.Project(ci.trusted); err != nil {
		return err
	}
	if len(ci.trusted.Answers()) == 0 {
		return cli.Usagef("--baseline %s: nothing to compare with: no initialize and no list is answered in it", ci.baseline)
	}
	return nil
}

func (ci *ciRun) open(h home, name string) (*session.Recording, error) {
	return session.OpenRecording(ci.cmd.Context(), h.Home, name, ci.cmd.InOrStdin(), ci.cmd.ErrOrStderr(), slices.Concat(ci.command, ci.target.Headers), ci.target.URL)
}

// fixture does all parts for one fixture.
func (ci *ciRun) fixture(f *ciFixture) error {
	r, err := ci.open(f.home, f.File)
	if err != nil {
		return err
	}
	f.rules.AnyOrder, f.rules.Mask = ci.anyOrder, r.Masker.Value
	f.recorded = r
	if err := ci.check(f); err != nil {
		return err
	}
	f.events = r.Events
	ci.noteFilled(f, f.fill.Into(r)) // behind the check, which reads what was recorded
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
		if err := ci.drive(f, was, is); err != nil {
			return err
		}
		return ci.noteIgnored(f)
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
	if f.recorded != nil && f.recorded.Lines {
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
	if err := timeline.Project(timeline.Steps(f.recorded.Masker.Events(jsonl.Each(f.recorded.Events))), fold); err != nil {
		return fmt.Errorf("check %s: %w", f.File, err)
	}
	f.Frames = fold.Close(0).Frames
	return nil
}

// drive plays the recorded client to the server, and compares what it says and what it offers.
func (ci *ciRun) drive(f *ciFixture, was, is *surface.Surface) error {
	driver := newDriver(ci.cmd.ErrOrStderr(), f.recorded, f.rules, ci.target)
	driver.OneByOne()
	how := recording.DriveOptions{DriveOptions: standin.DriveOptions{Timeout: ci.timeout, Stop: ci.stop.Done()}, Record: true, Recorder: "mcprec " + version()}
	run, err := driveServer(ci.cmd, ci.target, f.recorded, driver, ci.command, how)
	if err != nil {
		return f.recorded.Masker.Fault(err)
	}
	for _, what := range driver.Without() {
		fmt.Fprintf(ci.cmd.ErrOrStderr(), "mcprec: waited, and went on without %s\n", f.recorded.Masker.Text(what))
	}
	if err := timeline.Project(timeline.Steps(jsonl.Each(run.Events)), is); err != nil {
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
		differs := slices.ContainsFunc(f.findings, func(finding ciFinding) bool { return finding.Part != partCheck })
		if differs {
			renewed, err := f.fill.Renew(f.events, run.Events, f.rules)
			if err == nil {
				err = updateRecording(ci.cmd, f.home, f.recorded, renewed)
			}
			f.Accepted = err == nil
			return err
		}
	}
	return nil
}

// judgeDrive makes findings of the steps that do not match.
func (f *ciFixture) judgeDrive() {
	d := f.drive
	f.Steps, f.Matched = len(d.Steps), d.Counts[match.Match]
	first := d.dropConsequences()
	if d.Explanation != "" {
		rule := ruleDrive
		if f.Steps == 0 && d.End == standin.Complete {
			rule = ruleNothing
		}
		f.add(ciFinding{Part: partDrive, Rule: rule, Level: "error", Text: strings.Join(slices.Concat([]string{d.Explanation}, d.Pending, d.Stderr), "\n"), event: first})
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

// judgeFault makes a finding of why not all could be done.
func (f *ciFixture) judgeFault() {
	if f.fault == nil {
		return
	}
	part := partDrive
	if !f.isChecked() {
		part = partCheck
	}
	status := cli.StatusOf(f.fault)
	switch status.Code {
	case cli.ExitFine: // of a server that closed its pipe, say
	case cli.ExitUsage: // the flags are right: it is the file
		f.fault = &cli.Status{Code: cli.ExitData, Cause: status.Cause}
	default:
		f.fault = status
	}
	f.add(ciFinding{Part: part, Rule: ruleIncomplete, Level: "error", Text: f.fault.Error()})
}

// isChecked reports whether the whole recording was read. One without a frame has no part that could fail.
func (f *ciFixture) isChecked() bool { return f.fault == nil || f.Frames > 0 }

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

// fault returns the first error of a fixture that is an exit code of its own.
func (ci *ciRun) fault() error {
	for _, f := range ci.fixtures {
		if cli.StatusOf(f.fault).Code != cli.ExitFine {
			return f.fault
		}
	}
	return nil
}

// vain finds what was given and fits no fixture: most likely it is misspelled.
type vain struct {
	warnings []string
	fits     map[string]bool // by warning
}

// note notes whether a fixture has what the warning is about.
func (v *vain) note(warning string, fits bool) {
	if v.fits == nil {
		v.fits = map[string]bool{}
	}
	if _, isKnown := v.fits[warning]; !isKnown {
		v.warnings = append(v.warnings, warning)
	}
	v.fits[warning] = v.fits[warning] || fits
}

func (v *vain) warn(w io.Writer) {
	for _, warning := range v.warnings {
		if !v.fits[warning] {
			fmt.Fprintf(w, "mcprec: %s\n", warning)
		}
	}
}

// withTerms returns the fixtures with what holds for them, and prints which settings do. A fault in the settings is
// said once, before anything is judged.
func (ci *ciRun) withTerms(names []string) (list []*ciFixture, err error) {
	var told []string
	for _, name := range names {
		f := &ciFixture{File: name}
		f.fixtureTerms, err = ci.beside(ci.home, ci.ruleFlags, name, ci.paths)
		if err != nil {
			return nil, err
		}
		if path := f.settings.Path; path != "" && !slices.Contains(told, path) {
			told = append(told, path)
			fmt.Fprintf(ci.cmd.ErrOrStderr(), "mcprec: with the settings of %s\n", path)
		}
		list = append(list, f)
	}
	return list, nil
}

// noteFilled notes the names of secrets that a fixture has.
func (ci *ciRun) noteFilled(f *ciFixture, used []string) {
	const none = "no placeholder of a secret stands in a member of that name"
	for _, text := range ci.fill {
		name, _, _ := strings.Cut(text, "=")
		ci.vain.note(fmt.Sprintf("--fill %s: %s", name, none), slices.Contains(used, name))
	}
	if !ci.judgesAllOf(f) {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(f.settings.Fill)) {
		ci.vain.note(fmt.Sprintf("%s: fill.%s: %s", f.settings.Path, name, none), slices.Contains(used, name))
	}
}

// noteIgnored notes the places of --ignore that a fixture has.
func (ci *ciRun) noteIgnored(f *ciFixture) error {
	places := f.rules.UnusedPlaces()
	if err := f.recorded.Project(places); err != nil {
		return err
	}
	left := map[string]bool{}
	for _, p := range places.Left() {
		left[p.String()] = true
	}
	for i, p := range f.rules.Ignore { // those of the flags come first
		given := "--ignore"
		if i >= len(ci.ignore) {
			given = f.settings.Path + ": ignore"
		}
		if i < len(ci.ignore) || ci.judgesAllOf(f) {
			ci.vain.note(fmt.Sprintf("%s %s matches nothing: no message has that place", given, phrase.ShellWord(p.String())), !left[p.String()])
		}
	}
	return nil
}

// judgesAllOf reports whether all fixtures of the settings of a fixture are judged: their folder is below one that was
// named.
func (ci *ciRun) judgesAllOf(f *ciFixture) bool {
	return slices.ContainsFunc(ci.paths, func(path string) bool {
		info, err := os.Stat(path)
		if err != nil || !info.IsDir() {
			return false
		}
		inside, err := filepath.Rel(path, filepath.Dir(f.settings.Path))
		return err == nil && filepath.IsLocal(inside)
	})
}
