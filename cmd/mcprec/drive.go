package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/exit"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/outfile"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/process"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/report"
	"github.com/mcprec/mcprec/replay/match"
	"github.com/mcprec/mcprec/replay/standin"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
)

type driveOptions struct {
	home
	ruleFlags
	target   driveTarget
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

const driveHelp = `drive plays the client's half of a recording to the server COMMAND: it sends what
the recorded client said when that has heard what it had heard then, answers the
server's requests from the recording, and compares all that the server says with
what was recorded.

Each request waits for the answers to the earlier ones, unless the recording shows
a reason why it must not; --parallel keeps the recorded overlap. The server's ids,
cursors, task ids and other values that it makes up and the client gives back are
mapped, not compared. A notification or a request of the server that belongs to a
call must come on the recorded side of the call's answer, and the call's
notifications of one kind in the recorded order; calls that overlap may be answered
in any order.

A step is a match, a mismatch, missing, extra (the server said what was not
recorded), or not sent (a frame of the client, because what it follows did not come).
The text has a line for each step that is no match, with -v for every one; what ended
the drive early stands above them. A server that ends of its own accord with another
status than 0, and than the recorded one's, is a fault as well. A drive that compared
nothing is no success.

--match method lets the server's requests differ in what they ask; --match strict
compares numbers as they are written.

The command is never taken from a session. It runs in this folder and with this
environment.

--format json prints one object: session, command, end (complete, gone: the server
ended early, silent: nothing recorded came for --timeout), exit (the server's
status), passed, explanation (why not, if the steps alone do not say it),
counts (of steps, by result), steps (a list of seq, dir, what,
result, differences (path, within, want, got, hint), more (how many differences
beyond those), order, flags (that would let it match), mapped (path, by, want, got), text), mapped (how many values, by
reason), pending (who waits for what), without (what was given up waiting for), stderr
(its last lines, unless all matched). want and got are JSON as text, clipped.
--format junit prints a test suite with a test case a step.

--update writes what happened in place of the recording: to the fixture's file, or
as a new session of the store. It does so only when the drive came to its end; the
exit code is then 0.

`

func newDrive() *cobra.Command {
	var o driveOptions
	cmd := &cobra.Command{
		Use:   "drive [flags] [SESSION] [-- COMMAND [ARG]...]",
		Short: "Stand in for a session's client: drive a server and compare its answers",
		Long: driveHelp + driveTargetHelp + normalizerHelp() + "\n" + sessionHelp + `

Exit codes: 0 every step a match, 1 another verdict, 2 usage or nothing to compare, 3
data that cannot be read or written, 126 and 127 the command cannot be run.`,
		Args: func(cmd *cobra.Command, args []string) error {
			if dash := cmd.ArgsLenAtDash(); dash > 1 || dash < 0 && len(args) > 1 {
				return exit.Usagef("drive: want one session, then -- and the server's command: mcprec drive SESSION -- COMMAND [ARG]...")
			}
			return nil
		},
		ValidArgsFunction: completeSessions,
		RunE: func(cmd *cobra.Command, args []string) error {
			own, command := beforeDash(cmd, args)
			return runDrive(cmd, o, firstOf(own), command)
		},
	}
	o.home.addMaskFlags(cmd)
	o.ruleFlags.addFlags(cmd)
	f := cmd.Flags()
	f.StringVar(&o.target.url, "target", "", "drive the HTTP server whose MCP endpoint is `URL`, in place of COMMAND")
	f.StringArrayVar(&o.target.headers, "header", nil, "with --target: send `'NAME: VALUE'` with every request; may be repeated")
	addChoice(cmd, &o.format, "format", "text, json or junit", "text", "json", "junit")
	f.StringVarP(&o.out, "out", "o", "", "write the report to `FILE`; standard output then has the text")
	f.DurationVar(&o.timeout, "timeout", 30*time.Second, "give up when nothing that was recorded came for so long")
	f.StringVar(&o.timing, "timing", "none", "when the client speaks: none (at once), recorded, or a speed, as 2x or\n0.5x; a client that asks until something is done needs its time")
	f.DurationVar(&o.maxGap, "max-gap", 0, "the longest wait that --timing makes; 0 is no limit")
	f.BoolVar(&o.parallel, "parallel", false, "let calls overlap as they were recorded")
	f.BoolVar(&o.anyOrder, "any-order", false, "let a notification come on either side of its call's answer, and before an\nearlier one, as where the server itself leaves that to chance")
	f.BoolVar(&o.update, "update", false, "write what happened in place of the recording")
	f.Bool("allow-redacted", true, "")
	_ = f.MarkHidden("allow-redacted") // of the last release; placeholders are always sent
	f.BoolVarP(&o.verbose, "verbose", "v", false, "show the steps that match, too, and more of what differs")
	completeWords(cmd, "timing", "none", "recorded", "2x", "0.5x")
	return cmd
}

func runDrive(cmd *cobra.Command, o driveOptions, arg string, command []string) error {
	rules, pacer, err := o.check(arg)
	if err != nil {
		return err
	}
	recorded, err := readRecorded(cmd, o.home, arg, slices.Concat(command, o.target.headers), o.target.url)
	if err != nil {
		return err
	}
	rules.Mask = recorded.masker.Value
	if err := o.target.check(command); err != nil {
		return err
	}
	if len(command) == 0 && o.target.url == "" {
		return exit.Usagef("drive: no command, and none is ever taken from a session; %s", recorded.suggestion(arg))
	}
	if !hasRequests(recorded.events) {
		return exit.Usagef("drive %s: its client asked for nothing; name another session", recorded.name)
	}
	driver := standin.NewDriver(recorded.events, rules)
	if !o.parallel {
		driver.OneByOne()
	}
	if masked := driver.Placeholders(); len(masked) > 0 {
		fmt.Fprintf(cmd.ErrOrStderr(), "mcprec: %s is masked: placeholders are sent as they stand, and the server may answer otherwise than to the secrets:\n  %s\n",
			recorded.name, strings.Join(masked, "\n  "))
	}
	recorded.warn(cmd.ErrOrStderr(), o.target.url == "")
	stop, cancel := context.WithCancel(cmd.Context())
	defer cancel()
	wanted := process.UntilSignal(cancel)
	how := standin.DriveOptions{Timeout: o.timeout, Pacer: pacer, Stop: stop.Done()}
	var run *driven
	if o.target.url != "" {
		run, err = o.target.drive(cmd.Context(), recorded, driver, how, o.update)
	} else {
		run, err = driveCommand(cmd.Context(), recorded, driver, command, how, o.update)
	}
	sig := wanted()
	if err != nil {
		return recorded.masker.Fault(err)
	}
	for _, w := range driver.Without() {
		fmt.Fprintf(cmd.ErrOrStderr(), "mcprec: waited, and went on without %s\n", recorded.masker.Text(w))
	}
	found := newDriveReport(recorded, command, driver, run, o.timeout)
	if err := o.warnUnused(cmd.ErrOrStderr(), rules, recorded.project); err != nil {
		return err
	}
	if err := o.print(cmd, found.report(o.verbose)); err != nil {
		return err
	}
	if err := o.conclude(cmd, recorded, run, found); sig == nil {
		return err
	}
	return &exit.Status{Code: exit.Fine, Signal: sig}
}

func (o driveOptions) check(arg string) (rules match.Rules, pacer standin.Pacer, err error) {
	switch {
	case o.timeout <= 0:
		return rules, nil, exit.Usagef("--timeout %v: want a duration above 0", o.timeout)
	case o.maxGap < 0:
		return rules, nil, exit.Usagef("--max-gap %v: want a duration of 0 or more", o.maxGap)
	case o.update && arg == "-":
		return rules, nil, exit.Usagef("--update: standard input cannot be written; name a session or a file")
	}
	if rules, err = o.rules(); err != nil {
		return rules, nil, err
	}
	rules.AnyOrder = o.anyOrder
	if pacer, err = standin.ParsePacer(o.timing, o.maxGap); err != nil {
		return rules, nil, exit.Usagef("--%v", err)
	}
	return rules, pacer, nil
}

// print writes the report to standard output, or with --out to a file; standard output then
// has the text.
func (o driveOptions) print(cmd *cobra.Command, r report.Report) error {
	out := outfile.File{Name: cmp.Or(o.out, "-"), Force: true} // each run makes the report anew
	err := out.Write(cmd.OutOrStdout(), func(w io.Writer) error { return r.Write(w, o.format) })
	if err != nil || out.Name == "-" {
		return err
	}
	return r.Write(cmd.OutOrStdout(), report.Text)
}

// conclude makes the report the exit code, and with --update the run the recording.
func (o driveOptions) conclude(cmd *cobra.Command, r *recordedSession, run *driven, found *driveReport) error {
	fromServer := func(e store.Event) bool { return e.Kind == store.Frame && e.Dir == transport.ServerToClient }
	switch {
	case o.update && run.end != standin.Complete:
		fmt.Fprintf(cmd.ErrOrStderr(), "mcprec: nothing is updated: the drive broke off\n")
		return exit.ErrVerdict
	case o.update && len(found.Steps) == 0 && !slices.ContainsFunc(run.events, fromServer):
		return exit.Usagef("drive %s: %s, nor did this one say anything: nothing is updated", r.name, standin.NothingCompared)
	case o.update:
		return r.update(cmd, o.home, run.events)
	case len(found.Steps) == 0:
		return exit.Usagef("drive %s: %s; name a session in which it did, or record this one anew with --update", r.name, standin.NothingCompared)
	case !found.Passed:
		return exit.ErrVerdict
	}
	return nil
}
