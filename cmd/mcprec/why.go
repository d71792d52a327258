package main

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/cli"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/output"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/report"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/session"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport/phrase"
	"github.com/mcprec/mcprec/transport/procfs"
)

type whyOptions struct {
	home
	span
	format string
	all    bool
	watch  bool
	after  time.Duration
}

func newWhy() *cobra.Command {
	var o whyOptions
	cmd := &cobra.Command{
		Use:   "why [SESSION | PID]",
		Short: "Say who is stuck, since when, and on what, also while it hangs",
		Example: `  mcprec why
  mcprec why server=fs
  mcprec why 4711
  mcprec why --watch --label nightly
  mcprec why --all --since yesterday`,
		Args:              atMost(1),
		ValidArgsFunction: completeSessions,
		RunE:              func(cmd *cobra.Command, args []string) error { return runWhy(cmd, o, firstOf(args)) },
	}
	o.home.addFlags(cmd)
	o.home.heedMaskFlags(cmd)
	f := cmd.Flags()
	addFormat(cmd, &o.format, "text", "json")
	o.span.addFlags(cmd)
	f.BoolVar(&o.all, "all", false, allSessions)
	f.BoolVar(&o.watch, "watch", false, "go on, and print again when the answer changes")
	f.DurationVar(&o.after, "after", 0, "stuck after so `LONG` (5s; up to 10s if answers are slow)")
	return cmd
}

// watchPause is how long why --watch waits before it looks again.
const watchPause = 500 * time.Millisecond

func runWhy(cmd *cobra.Command, o whyOptions, arg string) error {
	if o.after == 0 && cmd.Flags().Changed("after") {
		o.after = 1 // 0 is the patience that fits the session
	}
	if o.after < 0 {
		return cli.Usagef("--after %v: want 0 or more", o.after)
	}
	switch {
	case o.all && arg != "":
		return cli.Usagef("--all is about the sessions of the store; leave out %s", phrase.ShellWord(arg))
	case o.all && o.watch:
		return cli.Usagef("why --watch follows the live sessions; leave out --all")
	}
	if pid, isProcess := o.process(cmd, arg); isProcess {
		return o.printProcess(cmd, pid)
	}
	told := ""
	for isWaiting := false; ; {
		answers, err := o.ask(cmd, arg)
		if arg == "" && !o.watch && !o.all && !slices.ContainsFunc(answers, report.Hangs.Stuck) {
			o.tellUnrecorded(cmd)
		}
		var none *session.NotFoundError
		if o.watch && errors.As(err, &none) {
			if !isWaiting {
				isWaiting = true
				fmt.Fprintf(cmd.ErrOrStderr(), "mcprec: %s; waiting for one\n", output.Plain(err.Error()))
			}
			err = nil
		}
		if err != nil {
			return err
		}
		key := ""
		stuck := false
		live := false
		for _, a := range answers {
			key += a.Key()
			stuck = stuck || a.Stuck()
			live = live || a.State == store.Live
		}
		if key != told {
			told = key
			if err := o.print(cmd, answers); err != nil {
				return err
			}
		}
		switch {
		case o.watch && (live || arg == "" || none != nil):
		case stuck:
			return cli.ErrVerdict
		default:
			return nil
		}
		select {
		case <-cmd.Context().Done():
			return cmd.Context().Err()
		case <-time.After(watchPause):
		}
	}
}

// ask returns the answers about the sessions that the arguments name.
func (o whyOptions) ask(cmd *cobra.Command, arg string) (answers []report.Hangs, err error) {
	if arg != "" {
		return o.askNamed(cmd, arg)
	}
	db, err := openExisting(cmd, o.home)
	if err != nil {
		return nil, err
	}
	defer closeInto(&err, db)
	defer debug.SetGCPercent(debug.SetGCPercent(400)) // what is read is garbage at once
	if o.all {
		return o.askAll(cmd, db)
	}
	var newest []store.Session // in which something was said, or else the newest
	var over []store.Session   // the sessions that ended within the last hour
	for found, ferr := range db.Sessions(cmd.Context(), store.Query{Newest: true}) {
		if ferr != nil {
			err = errors.Join(err, ferr)
			continue
		}
		if !o.span.has(found) {
			continue
		}
		if len(newest) == 1 && newest[0].Frames == 0 && found.Frames > 0 { // one in which nothing was said is nobody's question
			newest = nil
		}
		if len(newest) == 0 || found.Frames > 0 && len(newest) < mostOver {
			newest = append(newest, found)
		}
		if found.State != store.Live {
			over = addOver(over, found)
			continue
		}
		a, aerr := report.HangsIn(cmd.Context(), db.Session(found), o.after)
		if !session.IsGone(aerr) {
			err = errors.Join(err, aerr)
		}
		if aerr == nil && a.Stuck() {
			answers = append(answers, a)
		}
	}
	if len(answers) > 0 || err != nil {
		return answers, err
	}
	if len(newest) == 0 {
		return nil, o.span.none(db)
	}
	a, err := o.lastAsked(cmd, db, newest)
	if err == nil && !a.Stuck() && !o.watch {
		o.tellOver(cmd, db, over)
	}
	return []report.Hangs{a}, err
}

// askAll returns the answers about every session in the span, newest first.
func (o whyOptions) askAll(cmd *cobra.Command, db *session.Store) (answers []report.Hangs, err error) {
	sessions, err := o.span.sessions(cmd, db)
	for _, s := range sessions {
		a, fault := report.HangsIn(cmd.Context(), db.Session(s), o.after)
		if fault == nil {
			answers = append(answers, a)
		} else if !session.IsGone(fault) {
			err = errors.Join(err, fault)
		}
	}
	if len(answers) == 0 && err == nil {
		err = o.span.none(db)
	}
	return answers, err
}

// lastAsked returns the answer about the first session that is live, or in which something hung or was asked;
// if there is none, about the first.
func (o whyOptions) lastAsked(cmd *cobra.Command, db *session.Store, newest []store.Session) (first report.Hangs, err error) {
	for i, s := range newest {
		a, err := report.HangsIn(cmd.Context(), db.Session(s), o.after)
		if session.IsGone(err) && i+1 < len(newest) {
			continue
		}
		if err != nil || s.State == store.Live || a.Stuck() || a.Asked {
			return a, err
		}
		if i == 0 {
			first = a
		}
	}
	return first, nil
}

// mostOver is how many sessions of the last hour are looked at, which takes a moment each.
const mostOver = 20

// addOver adds a session to those that ended within the last hour.
func addOver(over []store.Session, s store.Session) []store.Session {
	if len(over) < mostOver && report.EndedWithin(s, time.Hour) {
		over = append(over, s)
	}
	return over
}

// tellOver names the latest of some sessions that are over and hung: a user may ask only after the end.
func (o whyOptions) tellOver(cmd *cobra.Command, db *session.Store, over []store.Session) {
	var hung []string
	for _, s := range over {
		if a, err := report.HangsIn(cmd.Context(), db.Session(s), o.after); err == nil && a.Stuck() {
			hung = append(hung, string(s.ID))
		}
	}
	if len(hung) > 0 {
		fmt.Fprintf(cmd.ErrOrStderr(), "mcprec: %s of the last hour hung, the latest: mcprec why %s%s\n", phrase.Plural(len(hung), "session"), hung[0], db.Flag())
	}
}

// askNamed returns the answer about the session that an argument names. Of a file with several, and of a
// label that several live sessions have, it is those about the ones that are stuck, or else about the
// last. Of the sessions with a label that are over it names those that hung.
func (o whyOptions) askNamed(cmd *cobra.Command, arg string) (answers []report.Hangs, err error) {
	all, err := session.OpenAll(cmd.Context(), o.Home, arg, cmd.InOrStdin(), cmd.ErrOrStderr())
	if err != nil {
		return nil, err
	}
	defer func() {
		for _, s := range all {
			err = errors.Join(err, s.Close())
		}
	}()
	for _, s := range all {
		s.Watch(cmd.ErrOrStderr())
	}
	var over []store.Session
	last := all[len(all)-1]
	if last.Store != nil && !strings.HasPrefix(string(last.ID), strings.ToLower(arg)) {
		labelled, err := last.Store.Labelled(cmd.Context(), arg)
		if err != nil {
			return nil, err
		}
		for _, s := range labelled {
			if s.ID != last.ID && s.State != store.Live {
				over = addOver(over, s)
			}
		}
		for _, s := range slices.Backward(labelled) { // the newest, which is the last, is there already
			if s.ID == last.ID || s.State != store.Live {
				continue
			}
			a, err := report.HangsIn(cmd.Context(), last.Store.Session(s), o.after)
			if err != nil && !session.IsGone(err) {
				return nil, err
			}
			if a.Stuck() {
				answers = append(answers, a)
			}
		}
	}
	for i, s := range all {
		a, err := report.HangsIn(cmd.Context(), s, o.after)
		if err != nil {
			return nil, err
		}
		if a.Stuck() || i == len(all)-1 && len(answers) == 0 {
			answers = append(answers, a)
		}
	}
	if len(over) > 0 && !answers[len(answers)-1].Stuck() && !o.watch {
		o.tellOver(cmd, last.Store, over)
	}
	return answers, nil
}

// stuckIn says for people what was stuck in a session.
func stuckIn(ctx context.Context, s *session.Session) (said []string) {
	a, err := report.HangsIn(ctx, s, 0)
	if err != nil { // it was said before, or the next reader says it
		return nil
	}
	for _, f := range a.Findings {
		said = append(said, fmt.Sprintf("%s See mcprec why %s", output.Plain(f.Text), s.ID))
	}
	return said
}

// print prints the answers; with --all as text those of sessions that are live or in which something hung, and how
// many the others are.
func (o whyOptions) print(cmd *cobra.Command, answers []report.Hangs) error {
	w, err := screenOf(cmd)
	if err != nil {
		return err
	}
	shown := 0
	for _, a := range answers {
		if o.format == output.JSON {
			err = errors.Join(err, output.NewEncoder(w).Encode(a))
			continue
		}
		if o.all && !a.Stuck() && a.State != store.Live {
			continue
		}
		if shown > 0 {
			fmt.Fprintln(w)
		}
		shown++
		err = errors.Join(err, a.Text(w))
	}
	if rest := len(answers) - shown; o.all && o.format != output.JSON && rest > 0 {
		if shown > 0 {
			fmt.Fprintf(w, "\n%s ended without a hang.\n", phrase.Plural(rest, "other session"))
		} else {
			fmt.Fprintf(w, "%s ended, and nothing hung in %s.\n", phrase.Plural(rest, "session"), phrase.Agree(rest, "it", "them"))
		}
	}
	return errors.Join(err, w.Flush())
}

// process reports whether an argument is the number of a process, which no label is and no id begins with.
func (o whyOptions) process(cmd *cobra.Command, arg string) (pid int, ok bool) {
	const digits = 7 // of the largest number that a process has
	pid, err := strconv.Atoi(arg)
	if err != nil || pid <= 0 || strings.HasPrefix(arg, "0") || len(arg) > digits {
		return 0, false
	}
	labelled, err := isLabel(cmd, o.home, arg)
	return pid, err == nil && !labelled
}

// printProcess says how the sessions of a process stand, from the processes alone.
func (o whyOptions) printProcess(cmd *cobra.Command, pid int) (err error) {
	if o.watch || o.after != 0 {
		return cli.Usagef("why %d looks at processes, twice; leave out --watch and --after", pid)
	}
	if err := procfs.Supported(); err != nil {
		return fmt.Errorf("why %d: %w", pid, err)
	}
	db, err := openExisting(cmd, o.home)
	if err != nil {
		return err
	}
	defer closeInto(&err, db)
	answers, err := report.HangsInProcess(cmd.Context(), db, pid)
	if err != nil {
		return err
	}
	w, err := screenOf(cmd)
	if err != nil {
		return err
	}
	isStuck := false
	for n, a := range answers {
		isStuck = isStuck || a.Stuck()
		if o.format == output.JSON {
			err = errors.Join(err, output.NewEncoder(w).Encode(a))
			continue
		}
		if n > 0 {
			fmt.Fprintln(w)
		}
		err = errors.Join(err, a.Text(w))
	}
	if err = errors.Join(err, w.Flush()); err == nil && isStuck {
		return cli.ErrVerdict
	}
	return err
}

// tellUnrecorded says how many sessions run that nobody records: the one that is asked about may be among them.
func (o whyOptions) tellUnrecorded(cmd *cobra.Command) {
	db, err := openExisting(cmd, o.home)
	if err != nil {
		return
	}
	count, err := report.Unrecorded(cmd.Context(), db)
	if errors.Join(err, db.Close()) == nil && count > 0 {
		fmt.Fprintf(cmd.ErrOrStderr(), "mcprec: %s %s unrecorded: mcprec ps\n", phrase.Plural(count, "session"), phrase.Agree(count, "runs", "run"))
	}
}
