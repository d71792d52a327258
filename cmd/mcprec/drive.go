package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/cli"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/output"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/recording"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/report"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/session"
	"github.com/mcprec/mcprec/replay/match"
	"github.com/mcprec/mcprec/replay/standin"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/jsonl"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/phrase"
)

type driveOptions struct {
	home
	ruleFlags
	fillFlag
	target   recording.DriveTarget
	format   string
	out      string
	timeout  time.Duration
	timing   string
	maxGap   time.Duration
	parallel bool
	anyOrder bool
	update   bool
	verbose  bool
}

func newDrive() *cobra.Command {
	var o driveOptions
	cmd := &cobra.Command{
		Use:   "drive [flags] [SESSION] [-- COMMAND [ARG]...]",
		Short: "Play a session's client to a real server and compare the answers",
		Example: `  mcprec drive SESSION -- npx -y @modelcontextprotocol/server-everything
  mcprec drive testdata/session.jsonl --target http://localhost:3000/mcp
  mcprec drive --format junit -o report.xml testdata/session.jsonl -- ./server`,
		Args: func(cmd *cobra.Command, args []string) error {
			if dash := cmd.ArgsLenAtDash(); dash > 1 || dash < 0 && len(args) > 1 {
				return cli.Usagef("drive: want one session, then -- and the server's command: mcprec drive SESSION -- COMMAND [ARG]...")
			}
			return nil
		},
		ValidArgsFunction: completeSessions,
		RunE: func(cmd *cobra.Command, args []string) error {
			own, command := beforeDash(cmd, args)
			return runDrive(cmd, o, firstOf(own), command)
		},
	}
	o.home.addFlags(cmd)
	o.home.heedMaskFlags(cmd)
	o.ruleFlags.addFlags(cmd)
	o.fillFlag.addFlags(cmd)
	f := cmd.Flags()
	f.StringVar(&o.target.URL, "target", "", "drive the HTTP server at `URL`")
	f.StringArrayVar(&o.target.Headers, "header", nil, "with --target: send this `HEADER`, too")
	addFormat(cmd, &o.format, "text", "json", "junit")
	f.StringVarP(&o.out, "out", "o", "", "write the report to `FILE`, the text to stdout")
	f.DurationVar(&o.timeout, "timeout", 30*time.Second, "give up after so long without a recorded message")
	f.StringVar(&o.timing, "timing", "none", "when the client speaks: none (at once), recorded, or 2x")
	f.DurationVar(&o.maxGap, "max-gap", 0, "the longest wait of --timing; 0 is any")
	f.BoolVar(&o.parallel, "parallel", false, "let calls overlap as they were recorded")
	f.BoolVar(&o.anyOrder, "any-order", false, "notifications may come on either side of an answer")
	f.BoolVar(&o.update, "update", false, "replace the recording with what happened")
	f.BoolVarP(&o.verbose, "verbose", "v", false, "show matching steps, too, and more of each difference")
	completeWords(cmd, "timing", "none", "recorded", "2x", "0.5x")
	return cmd
}

func runDrive(cmd *cobra.Command, o driveOptions, arg string, command []string) error {
	rules, pacer, err := o.check(arg)
	if err != nil {
		return err
	}
	fill, err := o.settings(cmd, &rules, arg)
	if err != nil {
		return err
	}
	recorded, err := session.OpenRecording(cmd.Context(), o.Home, arg, cmd.InOrStdin(), cmd.ErrOrStderr(), slices.Concat(command, o.target.Headers), o.target.URL)
	if err != nil {
		return err
	}
	rules.Mask = recorded.Masker.Value
	events := recorded.Events
	used := fill.Into(recorded)
	for _, name := range slices.Sorted(maps.Keys(fill)) {
		if isFlag := slices.ContainsFunc(o.fill, func(text string) bool { return strings.HasPrefix(text, name+"=") }); isFlag && !slices.Contains(used, name) {
			return cli.Usagef("--fill %s: no placeholder of a secret stands in a member %[1]s of what the client sends", name)
		}
	}
	if err := o.target.Check(command); err != nil {
		return err
	}
	if len(command) == 0 && o.target.URL == "" {
		return cli.Usagef("drive: no command, and none is ever taken from a session; %s", suggestion(recorded, arg))
	}
	if !recorded.HasRequests() {
		return cli.Usagef("drive %s: its client asked for nothing; name another session", recorded.Name)
	}
	driver := newDriver(cmd.ErrOrStderr(), recorded, rules, o.target)
	if !o.parallel {
		driver.OneByOne()
	}
	stop, cancel := context.WithCancel(cmd.Context())
	defer cancel()
	wanted := cli.UntilSignal(cancel)
	how := recording.DriveOptions{
		DriveOptions: standin.DriveOptions{Timeout: o.timeout, Pacer: pacer, Stop: stop.Done()}, Record: o.update, Recorder: "mcprec " + version(),
	}
	run, err := driveServer(cmd, o.target, recorded, driver, command, how)
	sig := wanted()
	if err != nil {
		return recorded.Masker.Fault(err)
	}
	for _, w := range driver.Without() {
		fmt.Fprintf(cmd.ErrOrStderr(), "mcprec: waited, and went on without %s\n", recorded.Masker.Text(w))
	}
	found := newDriveReport(recorded, command, driver, run, o.timeout)
	if err := o.warnUnused(cmd.ErrOrStderr(), rules, recorded.Project); err != nil {
		return err
	}
	if err := o.print(cmd, found.document(o.verbose)); err != nil {
		return err
	}
	if o.update && run.End == standin.Complete && recorded.File != "" {
		if run.Events, err = fill.Renew(events, run.Events, rules); err != nil {
			return err
		}
	}
	if err := o.conclude(cmd, recorded, run, found); sig == nil {
		return err
	}
	return &cli.Status{Code: cli.ExitFine, Signal: sig}
}

// settings takes the settings beside a file into the options and the rules, and returns the secrets.
func (o *driveOptions) settings(cmd *cobra.Command, rules *match.Rules, arg string) (recording.Fill, error) {
	if info, err := os.Stat(arg); arg == "" || err != nil || info.IsDir() { // a session of the store
		fill, err := recording.ParseFill(o.fill)
		o.Secrets.Values = fill.Values()
		return fill, err
	}
	own, err := o.beside(o.home, o.ruleFlags, arg, []string{arg})
	if path := own.settings.Path; path != "" {
		fmt.Fprintf(cmd.ErrOrStderr(), "mcprec: with the settings of %s\n", path)
	}
	o.home = own.home
	rules.Ignore, rules.Normalize = own.rules.Ignore, own.rules.Normalize
	return own.fill, err
}

func (o driveOptions) check(arg string) (rules match.Rules, pacer standin.Pacer, err error) {
	switch {
	case o.timeout <= 0:
		return rules, nil, cli.Usagef("--timeout %v: want a duration above 0", o.timeout)
	case o.maxGap < 0:
		return rules, nil, cli.Usagef("--max-gap %v: want a duration of 0 or more", o.maxGap)
	case o.update && arg == "-":
		return rules, nil, cli.Usagef("--update: standard input cannot be written; name a session or a file")
	}
	if rules, err = o.rules(); err != nil {
		return rules, nil, err
	}
	rules.AnyOrder = o.anyOrder
	pacer, err = standin.ParsePacer(o.timing, o.maxGap)
	if err != nil {
		return rules, nil, cli.Usagef("--%v", err)
	}
	return rules, pacer, nil
}

// print writes the document to standard output, or with --out to a file; standard output then
// has the text.
func (o driveOptions) print(cmd *cobra.Command, d output.Document) error {
	screen, err := screenOf(cmd)
	if err != nil {
		return err
	}
	if o.out == "" {
		return flush(screen, d.Write(screen, o.format))
	}
	file := cli.File{Name: o.out, Force: true} // each run makes it anew
	if err := file.Write(cmd.OutOrStdout(), func(w io.Writer) error { return d.Write(w, o.format) }); err != nil || file.Name == "-" {
		return err
	}
	return flush(screen, d.Write(screen, output.Text))
}

// conclude makes the report the exit code, and with --update the run the recording.
func (o driveOptions) conclude(cmd *cobra.Command, r *session.Recording, run *recording.Drive, found *driveReport) error {
	fromServer := func(event store.Event) bool {
		return event.Kind == store.Frame && event.Dir == transport.ServerToClient
	}
	switch {
	case o.update && run.End != standin.Complete:
		fmt.Fprintf(cmd.ErrOrStderr(), "mcprec: nothing is updated: the drive broke off\n")
		return cli.ErrVerdict
	case o.update && len(found.Steps) == 0 && !slices.ContainsFunc(run.Events, fromServer):
		return cli.Usagef("drive %s: %s, nor did this one say anything: nothing is updated", r.Name, standin.NothingCompared)
	case o.update:
		return updateRecording(cmd, o.home, r, run.Events)
	case len(found.Steps) == 0:
		return cli.Usagef("drive %s: %s; name a session in which it did, or record this one anew with --update", r.Name, standin.NothingCompared)
	case !found.Passed:
		return cli.ErrVerdict
	}
	return nil
}

// suggestion says how to go on where no command was given. The command in a recording is shown,
// never run.
func suggestion(recording *session.Recording, arg string) string {
	header := recording.Masker.Header(recording.Header)
	if len(header.Command) == 0 {
		if header.URL != "" {
			return "it was recorded over HTTP from " + output.Plain(header.URL) + ":\n  mcprec drive SESSION --target URL"
		}
		return "use mcprec drive SESSION -- COMMAND [ARG]... or mcprec drive SESSION --target URL"
	}
	line := "mcprec drive "
	if arg != "" {
		line += phrase.ShellWord(arg) + " "
	}
	return "it was recorded from\n  " + line + "-- " + phrase.ShellLine(header.Command...)
}

// driveServer plays the driver to the command or, with an URL, to the target. On a terminal a line says how
// far it is.
func driveServer(cmd *cobra.Command, target recording.DriveTarget, recorded *session.Recording, driver *standin.Driver, command []string, how recording.DriveOptions) (*recording.Drive, error) {
	var sent, received atomic.Int64
	how.Moved = func(s, r int) {
		sent.Store(int64(s))
		received.Store(int64(r))
	}
	began := time.Now()
	end := output.NewProgress(cmd.ErrOrStderr()).During(func() string {
		return fmt.Sprintf("mcprec: drives %s: %v, %d messages sent, %d received", output.Plain(recorded.Name), time.Since(began).Round(time.Second), sent.Load(), received.Load())
	})
	defer end()
	if target.URL != "" {
		return target.Drive(cmd.Context(), recorded, driver, how)
	}
	return recording.DriveCommand(cmd.Context(), recorded, driver, command, how)
}

// newDriver returns the driver of a recording, and prints why it cannot do all that the recorded client
// did. Without the URL of a target it is for a pipe.
func newDriver(w io.Writer, r *session.Recording, rules match.Rules, target recording.DriveTarget) *standin.Driver {
	events := r.Events
	if target.URL == "" {
		events = standin.WithoutRefused(events)
	}
	driver := standin.NewDriver(events, rules)
	if masked := driver.Placeholders(); len(masked) > 0 {
		fmt.Fprintf(w, "mcprec: %s is masked: placeholders are sent as they stand, and the server may answer otherwise than to the secrets:\n  %s\n  to send the secrets: %s\n",
			r.Name, strings.Join(masked, "\n  "), strings.Join(recording.FillFlags(r, masked), " "))
	}
	if target.URL == "" && slices.ContainsFunc(r.Events, func(e store.Event) bool { return e.Kind == store.Frame && e.Stream > 0 }) {
		text := "its streams are driven as one"
		if len(events) < len(r.Events) {
			text += ", and what HTTP refused is left out, because a pipe has no status"
		}
		fmt.Fprintf(w, "mcprec: %s was recorded over HTTP; %s\n", r.Name, text)
	}
	if lost := r.Lost(); lost > 0 {
		fmt.Fprintf(w, "mcprec: %s lacks %s that could not be recorded; what follows from %s may not match\n",
			r.Name, phrase.Plural(lost, "event"), phrase.Agree(lost, "it", "them"))
	}
	if what := session.Unanswered(r.Events); what != "" {
		fmt.Fprintf(w, "mcprec: %s has no answer to %s, and none is waited for\n", r.Name, r.Masker.Text(what))
	}
	return driver
}

// updateRecording replaces the recording: in its file, or as a new session of the store.
func updateRecording(cmd *cobra.Command, home home, recording *session.Recording, events []store.Event) (err error) {
	if recording.File != "" {
		d, err := home.Masker(nil)
		if err != nil {
			return err
		}
		err = cli.ReplaceFile(recording.File, func(w io.Writer) error { return session.Encode(w, d.Events(jsonl.Each(events))) })
		if err != nil {
			return err
		}
		fmt.Fprintf(cmd.ErrOrStderr(), "mcprec: %s was rewritten\n", recording.File)
		return nil
	}
	db, err := openStore(cmd, home)
	if err != nil {
		return err
	}
	defer closeInto(&err, db)
	id, err := session.Save(cmd.Context(), db, jsonl.Each(events))
	if err == nil {
		fmt.Fprintf(cmd.ErrOrStderr(), "mcprec: what was said is session %s\n", id)
	}
	return err
}

// driveReport is the result of a drive, in the stable form of drive --format json.
type driveReport struct {
	Session string           `json:"session"`
	Command []string         `json:"command"`
	End     standin.DriveEnd `json:"end"`
	Exit    string           `json:"exit"`
	Passed  bool             `json:"passed"`
	// Explanation says why the drive did not pass, if its steps do not.
	Explanation string                   `json:"explanation"`
	Counts      map[match.StepResult]int `json:"counts"`
	Steps       []driveStep              `json:"steps"`
	Mapped      map[string]int           `json:"mapped"`
	Pending     []string                 `json:"pending"`
	Without     []string                 `json:"without"`
	Stderr      []string                 `json:"stderr"`
	label       string
	took        time.Duration
}

type driveStep struct {
	Seq         uint64             `json:"seq"`
	Dir         string             `json:"dir"`
	What        string             `json:"what"`
	Result      match.StepResult   `json:"result"`
	Differences []match.Difference `json:"differences,omitempty"`
	More        int                `json:"more,omitempty"`
	Order       string             `json:"order,omitempty"`
	Mapped      []match.Mapping    `json:"mapped,omitempty"`
	Flags       []string           `json:"flags,omitempty"` // under which it would match
	Text        string             `json:"text,omitempty"`
}

func newDriveReport(recorded *session.Recording, command []string, d *standin.Driver, run *recording.Drive, timeout time.Duration) *driveReport {
	r := &driveReport{
		Session: cmp.Or(recorded.File, string(recorded.Header.ID)), Command: command,
		End: run.End, Exit: run.Exit, took: run.Took,
		label:  cmp.Or(recorded.Header.Label, recorded.File, string(recorded.Header.ID)),
		Counts: map[match.StepResult]int{}, Mapped: map[string]int{},
		Steps: []driveStep{}, Pending: []string{}, Without: append([]string{}, d.Without()...), Stderr: []string{},
	}
	for _, v := range slices.Concat(d.Verdicts(), run.Asides) {
		step := driveStep{Seq: v.Seq, Dir: v.Dir.String(), What: v.What, Result: v.Result, Differences: v.Differences, More: v.More,
			Order: v.Order, Mapped: v.Mapped, Text: v.Text}
		for _, m := range v.Mapped {
			r.Mapped[m.By]++
		}
		if v.Result == match.Mismatch {
			step.Flags = report.MatchFlags(v.Call, v.Differences, v.More)
			needsSecret := slices.ContainsFunc(v.Differences, func(d match.Difference) bool { return d.Hint == "" })
			if len(v.Masked) > 0 && needsSecret {
				step.Flags = recording.FillFlags(recorded, v.Masked)
			}
			if v.Order != "" {
				step.Flags = append(step.Flags, "--any-order")
			}
		}
		r.Steps = append(r.Steps, step)
		r.Counts[v.Result]++
	}
	switch {
	case run.End != standin.Complete:
		r.Explanation = breakingOff(run, timeout)
		r.Pending = append(r.Pending, d.Pending()...)
	case len(r.Steps) == 0:
		r.Explanation = standin.NothingCompared
	default:
		r.Explanation = run.Fault
	}
	r.Passed = r.Explanation == "" && r.Counts[match.Match] == len(r.Steps)
	if !r.Passed {
		r.Stderr = append(r.Stderr, run.Stderr...)
	}
	r.mask(recorded.Masker)
	return r
}

// mask masks the texts. The differences are masked already.
func (r *driveReport) mask(masker session.Masker) {
	r.Command, r.Explanation = masker.Header(store.Header{Command: r.Command}).Command, masker.Text(r.Explanation)
	r.Pending, r.Without, r.Stderr = masker.Texts(r.Pending), masker.Texts(r.Without), masker.Texts(r.Stderr)
	r.label = masker.Text(r.label)
	for i := range r.Steps {
		s := &r.Steps[i]
		s.What, s.Text, s.Order = masker.Text(s.What), masker.Text(s.Text), masker.Text(s.Order)
	}
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

// dropConsequences counts the steps behind the end of a drive that broke off, which follow from that end, and drops
// them. It returns the first, or 0.
func (r *driveReport) dropConsequences() (first uint64) {
	if r.End == standin.Complete {
		return 0
	}
	var last uint64 // the latest that came
	for _, s := range r.Steps {
		if s.Result == match.Match || s.Result == match.Mismatch {
			last = max(last, s.Seq)
		}
	}
	count := len(r.Steps)
	r.Steps = slices.DeleteFunc(r.Steps, func(s driveStep) bool {
		follows := (s.Result == match.Missing || s.Result == match.NotSent) && s.Seq > last
		if follows && (first == 0 || s.Seq < first) {
			first = s.Seq
		}
		return follows
	})
	if count -= len(r.Steps); count > 0 {
		r.Pending = append(r.Pending, fmt.Sprintf("%s %s from this, and %s",
			phrase.Plural(count, "step"), phrase.Agree(uint64(count), "follows", "follow"), phrase.Agree(uint64(count), "is no error of its own", "are no errors of their own")))
	}
	return first
}

// document returns the drive in every format. With all, the text has the steps that match, too.
func (r *driveReport) document(all bool) output.Document {
	return output.Document{
		Passed: r.Passed,
		Head: output.Head{Name: "mcprec drive " + r.label, Took: r.took, Properties: []output.Property{
			{Name: "session", Value: r.Session}, {Name: "command", Value: phrase.ShellLine(r.Command...)},
			{Name: "end", Value: string(r.End)}, {Name: "exit", Value: r.Exit},
		}},
		Sections: []output.Section{{Value: r, Cases: r.testCases, Text: func(w io.Writer) error {
			_, err := io.WriteString(w, r.text(all))
			return err
		}}},
	}
}

func (r *driveReport) text(all bool) string {
	var b strings.Builder
	if r.Explanation != "" {
		fmt.Fprintln(&b, r.Explanation)
		for _, p := range r.Pending {
			fmt.Fprintf(&b, "  %s\n", output.Plain(p))
		}
		if len(r.Stderr) > 0 {
			fmt.Fprintln(&b, "the last the server said on standard error:")
			for _, line := range r.Stderr {
				fmt.Fprintf(&b, "  %s\n", line)
			}
		}
	}
	times := 1
	for i, s := range r.Steps {
		if i+1 < len(r.Steps) { // a server that never stops sends as many extra messages as it has time for
			next := r.Steps[i+1]
			if s.Result == match.Extra && next.Result == match.Extra && s.Text == next.Text && len(s.Differences)+len(next.Differences) == 0 {
				times++
				continue
			}
		}
		if all || s.Result != match.Match {
			again := ""
			if times > 1 {
				again = fmt.Sprintf(" (%d times)", times)
			}
			fmt.Fprintf(&b, "%-8s  %s%s\n", s.Result, output.Plain(s.headline()), again)
			for _, line := range s.details(all) {
				fmt.Fprintf(&b, "          %s\n", output.Plain(line))
			}
		}
		times = 1
	}
	var counts []string
	for _, result := range []match.StepResult{match.Match, match.Mismatch, match.Missing, match.Extra, match.NotSent} {
		if n := r.Counts[result]; n > 0 {
			counts = append(counts, fmt.Sprintf("%d %s", n, result))
		}
	}
	fmt.Fprintf(&b, "%s: %s%s\n", phrase.Plural(len(r.Steps), "step"), strings.Join(counts, ", "), report.MappedText(r.Mapped))
	return b.String()
}

// withoutText says which steps match only because a place is not compared: (1 without /result/content/0/text).
func (r *driveReport) withoutText() string {
	steps := map[string]int{} // by place
	for _, s := range r.Steps {
		places := map[string]bool{}
		for _, m := range s.Mapped {
			if s.Result == match.Match && m.By == "ignored" && !places[m.Path] {
				places[m.Path] = true
				steps[m.Path]++
			}
		}
	}
	var parts []string
	for _, place := range slices.Sorted(maps.Keys(steps)) {
		parts = append(parts, fmt.Sprintf("%d without %s", steps[place], output.Plain(place)))
	}
	switch {
	case len(parts) == 0:
		return ""
	case len(parts) > 3:
		parts = append(parts[:3], fmt.Sprintf("and %s more", phrase.Plural(len(parts)-3, "place")))
	}
	return " (" + strings.Join(parts, ", ") + ")"
}

// headline names a step.
func (s driveStep) headline() string {
	if s.Result == match.Extra {
		return cmp.Or(s.Text, s.What)
	}
	return fmt.Sprintf("#%d %s", s.Seq, s.What)
}

// details returns the lines below the headline.
func (s driveStep) details(all bool) (lines []string) {
	listed := s.Differences
	if !all {
		listed = listed[:min(len(listed), 10)]
	}
	for _, d := range listed {
		line := fmt.Sprintf("%s: wanted %s, got %s", d.Place(), d.Want, d.Got)
		if d.Hint != "" {
			line += fmt.Sprintf(" (--normalize %s would match)", d.Hint)
		}
		lines = append(lines, line)
	}
	if more := len(s.Differences) - len(listed) + s.More; more > 0 {
		lines = append(lines, fmt.Sprintf("and in %s more", phrase.Plural(more, "place")))
	}
	if s.Order != "" {
		lines = append(lines, s.Order)
	}
	if len(s.Flags) > 0 {
		lines = append(lines, report.MatchLine(s.Flags))
	}
	for _, m := range s.Mapped {
		switch {
		case all && m.Path == "": // the whole message
			lines = append(lines, fmt.Sprintf("%s (%s)", m.Got, m.By))
		case all:
			lines = append(lines, fmt.Sprintf("%s: %s stands for %s (%s)", m.Path, m.Got, m.Want, m.By))
		}
	}
	return lines
}

func breakingOff(run *recording.Drive, timeout time.Duration) string {
	switch {
	case run.End == standin.Silent:
		return fmt.Sprintf("gave up: nothing that was recorded came for %v", timeout)
	case run.End == standin.Stopped:
		return "stopped before the end:"
	case run.Exit == "":
		return "the server ended the session early"
	case strings.HasPrefix(run.Exit, "signal"):
		return "the server ended the session early: " + run.Exit
	}
	return "the server ended the session early: exit status " + run.Exit
}

// testCases returns a test case for each step. One before them is for a fault of the drive as a
// whole, such as a server that ended early.
func (r *driveReport) testCases() (cases []output.TestCase) {
	if r.Explanation != "" {
		c := output.TestCase{Name: "the end of the session", Class: r.label, Err: strings.Join(r.Stderr, "\n")}
		fault := &output.TestFault{Message: r.Explanation, Type: string(r.End), Text: strings.Join(r.Pending, "\n")}
		switch {
		case r.End != standin.Complete:
			c.Error = fault
		case len(r.Steps) == 0:
			fault.Type = "nothing"
			c.Error = fault
		default:
			fault.Type = "exit"
			c.Failure = fault
		}
		cases = append(cases, c)
	}
	for _, step := range r.Steps {
		c := output.TestCase{Name: step.headline(), Class: r.label}
		details := strings.Join(step.details(true), "\n")
		if step.Result == match.Match {
			c.Out = details
		} else {
			first, _, _ := strings.Cut(cmp.Or(details, step.headline()), "\n")
			c.Failure = &output.TestFault{Message: string(step.Result) + ": " + first, Type: string(step.Result), Text: details}
		}
		cases = append(cases, c)
	}
	return cases
}
