package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcprec/mcprec/replay/match"
	"github.com/mcprec/mcprec/replay/standin"
	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/jsonl"
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
				return usagef("drive: want one session, then -- and the server's command: mcprec drive SESSION -- COMMAND [ARG]...")
			}
			return nil
		},
		ValidArgsFunction: completeSessions,
		RunE: func(cmd *cobra.Command, args []string) error {
			own, command := beforeDash(cmd, args)
			return runDrive(cmd, o, firstOf(own), command)
		},
	}
	o.home.addDoor(cmd)
	o.ruleFlags.addFlags(cmd)
	o.target.addFlags(cmd)
	f := cmd.Flags()
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
	rules, err := o.check(arg)
	if err != nil {
		return err
	}
	pacer, err := standin.ParsePacer(o.timing, o.maxGap)
	if err != nil {
		return usagef("--%v", err)
	}
	recorded, err := readRecorded(cmd, o.home, arg)
	if err != nil {
		return err
	}
	if recorded.door, err = o.door(nil); err != nil {
		return err
	}
	recorded.door = recorded.door.of(store.Header{
		Command: slices.Concat(recorded.header.Command, command, o.target.headers), URL: cmp.Or(o.target.url, recorded.header.URL),
	})
	rules.Mask = recorded.door.value
	if err := o.target.check(command); err != nil {
		return err
	}
	if len(command) == 0 && o.target.url == "" {
		return usagef("drive: no command, and none is ever taken from a session; %s", recorded.suggestion(arg))
	}
	driver, err := o.driver(cmd.ErrOrStderr(), recorded, rules)
	if err != nil {
		return err
	}
	recorded.warn(cmd.ErrOrStderr(), o.target.url == "")
	var kept *keptRun
	if o.update && o.target.url == "" {
		if kept, err = keepRun(cmd.Context(), recorded.header, command); err != nil {
			return err
		}
	}
	how := standin.DriveOptions{Timeout: o.timeout, Pacer: pacer}
	run, sig, err := o.play(cmd.Context(), recorded, driver, command, how, kept)
	if err != nil {
		return recorded.door.fault(err)
	}
	for _, w := range driver.Without() {
		fmt.Fprintf(cmd.ErrOrStderr(), "mcprec: waited, and went on without %s\n", recorded.door.text(w))
	}
	report := newDriveReport(recorded, command, driver, run, o.timeout)
	if err := o.warnUnused(cmd.ErrOrStderr(), rules, func(p timeline.Projection) error { return timeline.Project(jsonl.Each(recorded.events), p) }); err != nil {
		return err
	}
	printed := report.report(o.verbose)
	if o.out != "" {
		file := outFile{name: o.out, force: true} // each run makes the report anew
		if err := file.write(cmd.OutOrStdout(), func(w io.Writer) error { return printed.Write(w, o.format) }); err != nil {
			return err
		}
		o.format = "text"
	}
	if o.out != "-" {
		if err := printed.Write(cmd.OutOrStdout(), o.format); err != nil {
			return err
		}
	}
	if err := o.conclude(cmd, recorded, run, report); sig == nil {
		return err
	}
	return &status{code: exitFine, signal: sig}
}

// play drives the server, wherever it is, until a signal wants an end of it.
func (o driveOptions) play(ctx context.Context, r *recordedSession, d *standin.Driver, command []string, how standin.DriveOptions, kept *keptRun) (run *driven, sig os.Signal, err error) {
	stop, cancel := context.WithCancel(ctx)
	defer cancel()
	wanted := untilSignal(cancel)
	how.Stop = stop.Done()
	if o.target.url != "" {
		run, err = o.target.drive(ctx, r, d, how, o.update)
	} else {
		run, err = driveServer(ctx, r.events, d, command, how, kept)
	}
	return run, wanted(), err
}

// check reads the flags.
func (o driveOptions) check(arg string) (match.Rules, error) {
	switch {
	case o.timeout <= 0:
		return match.Rules{}, usagef("--timeout %v: want a duration above 0", o.timeout)
	case o.maxGap < 0:
		return match.Rules{}, usagef("--max-gap %v: want a duration of 0 or more", o.maxGap)
	case o.update && arg == "-":
		return match.Rules{}, usagef("--update: standard input cannot be written; name a session or a file")
	}
	rules, err := o.rules()
	rules.AnyOrder = o.anyOrder
	return rules, err
}

// driver returns the recorded client, unless it has nothing to say, and tells of masked
// secrets that it will send.
func (o driveOptions) driver(stderr io.Writer, r *recordedSession, rules match.Rules) (*standin.Driver, error) {
	if !asks(r.events) {
		return nil, usagef("drive %s: its client asked for nothing; name another session", r.name)
	}
	driver := standin.NewDriver(r.events, rules)
	if !o.parallel {
		driver.OneByOne()
	}
	if masked := driver.Placeholders(); len(masked) > 0 {
		fmt.Fprintf(stderr, "mcprec: %s is masked: placeholders are sent as they stand, and the server may answer otherwise than to the secrets:\n  %s\n",
			r.name, strings.Join(masked, "\n  "))
	}
	return driver, nil
}

// conclude makes the report the exit code, and the run the recording if that is
// wanted.
func (o driveOptions) conclude(cmd *cobra.Command, r *recordedSession, run *driven, report *driveReport) error {
	switch {
	case o.update && run.end != standin.Complete:
		fmt.Fprintf(cmd.ErrOrStderr(), "mcprec: nothing is updated: the drive broke off\n")
		return verdictError
	case o.update && len(report.Steps) == 0 && !run.kept.heardServer(cmd.Context()):
		return usagef("drive %s: %s, nor did this one say anything: nothing is updated", r.name, standin.NothingCompared)
	case o.update:
		return r.update(cmd, o.home, run.kept)
	case len(report.Steps) == 0:
		return usagef("drive %s: %s; name a session in which it did, or record this one anew with --update", r.name, standin.NothingCompared)
	case !report.Passed:
		return verdictError
	}
	return nil
}
