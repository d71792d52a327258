package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/session"
	"github.com/mcprec/mcprec/replay/filter"
	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/boltstore"
)

type tailOptions struct {
	home
	filterFlag
	follow bool
	last   int
	format string
}

func newTail() *cobra.Command {
	var o tailOptions
	cmd := &cobra.Command{
		Use:   "tail [SESSION]",
		Short: "Show the end of a session, and with -f what is added to it",
		Long: `tail prints the last events of a session in the form of show. With -f it goes on
to print events as they are recorded, until the session has ended or you stop
it; the recording is not disturbed. With -f and no SESSION it waits, if need be,
for a session that is live.

--filter is that of show; while a session is live, a call is pending until its answer is
there.

` + sessionHelp,
		Example:           "  mcprec tail -f\n  mcprec tail -n 50 --filter dir:s2c SESSION",
		Args:              atMost(1),
		ValidArgsFunction: completeSessions,
		RunE:              func(cmd *cobra.Command, args []string) error { return runTail(cmd, o, firstOf(args)) },
	}
	o.home.addMaskFlags(cmd)
	o.filterFlag.addFlags(cmd)
	cmd.Flags().BoolVarP(&o.follow, "follow", "f", false, "go on as events are recorded")
	addChoice(cmd, &o.format, "format", "text or json, as in show", "text", "json")
	cmd.Flags().IntVarP(&o.last, "lines", "n", 10, "the last `N` events")
	return cmd
}

func runTail(cmd *cobra.Command, o tailOptions, arg string) (err error) {
	if err := notNegative("lines", o.last); err != nil {
		return err
	}
	fits, err := o.parse()
	if err != nil {
		return err
	}
	out, err := screenOf(cmd)
	if err != nil {
		return err
	}
	if o.follow && arg == "" {
		if arg, err = awaitLive(cmd, o.home); err != nil {
			return err
		}
	}
	s, err := openSession(cmd, o.home, arg)
	if err != nil {
		return err
	}
	defer closeInto(&err, s)
	p := newEntryPrinter(out, o.format, false)
	return o.print(cmd.Context(), s, fits, func(e timeline.Entry) error { return errors.Join(p.print(e), out.Flush()) })
}

// print prints the last events that fit, and with -f those to come.
func (o tailOptions) print(ctx context.Context, s *session.Session, fits *filter.Filter, show func(timeline.Entry) error) error {
	live := false
	var window []timeline.Entry // the newest o.last entries, until live
	t, err := s.Transcript(ctx, fits.Ahead(), func(entry timeline.Entry) error {
		switch {
		case !fits.Selects(&entry):
			return nil
		case live:
			return show(entry)
		}
		window = append(window, entry)
		if len(window) > max(o.last, 0) {
			window = window[1:]
		}
		return nil
	})
	if err != nil {
		return err
	}
	next := uint64(1)
	err = session.Each(s.Events(ctx, 1, store.ReadOptions{Unfinished: !o.follow}), func(event store.Event) error {
		next = event.Seq + 1
		return t.Apply(event)
	})
	for _, e := range window {
		if err := show(e); err != nil {
			return err
		}
	}
	if err != nil || !o.follow || s.Store == nil {
		return err
	}
	live = true
	return timeline.Project(s.Events(ctx, next, store.ReadOptions{Follow: true}), t)
}

// awaitLive returns the newest live session, or waits for one. File systems have no portable
// way to announce a new file, so it looks five times a second.
func awaitLive(cmd *cobra.Command, home home) (id string, err error) {
	db, err := home.Open(boltstore.Options{})
	if err != nil {
		return "", err
	}
	defer closeInto(&err, db)
	ctx := cmd.Context()
	for told := false; ; told = true {
		for s, err := range db.Sessions(ctx, store.Query{Newest: true, Limit: 5}) {
			if err == nil && s.State == store.Live {
				return string(s.ID), nil
			}
		}
		if !told {
			fmt.Fprintln(cmd.ErrOrStderr(), "mcprec: no session is live; waiting for the next")
		}
		select {
		case <-ctx.Done():
			return "", ctx.Err()
		case <-time.After(200 * time.Millisecond):
		}
	}
}
