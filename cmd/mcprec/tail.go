package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/spf13/cobra"

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

` + sessionHelp + "\n\n" + exitLine,
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
func (o tailOptions) print(ctx context.Context, s *session, fits *filter.Filter, show func(timeline.Entry) error) error {
	live := false
	var window []timeline.Entry // the newest o.last entries, until live
	begin := uint64(1)          // in a fixture, and with a filter, the last events may begin anywhere
	if s.db != nil && fits.String() == "" {
		head, err := s.db.Head(ctx, s.id)
		if err != nil {
			return err
		}
		begin = head.Seq - min(head.Seq, uint64(o.last)) + 1
	}
	t, next, err := s.transcriptFrom(ctx, fits.Ahead(), begin, func(e timeline.Entry) error {
		switch {
		case !fits.Selects(&e):
			return nil
		case live:
			return show(e)
		}
		if window = append(window, e); len(window) > max(o.last, 0) {
			window = window[1:]
		}
		return nil
	})
	if err != nil {
		return err
	}
	err = each(s.events(ctx, next, store.ReadOptions{}), func(e store.Event) error {
		next = e.Seq + 1
		return t.Apply(e)
	})
	for _, e := range window {
		if err := show(e); err != nil {
			return err
		}
	}
	if err != nil || !o.follow || s.db == nil {
		return err
	}
	live = true
	return timeline.Project(s.events(ctx, next, store.ReadOptions{Follow: true}), t)
}

// each calls f with every event until either fails.
func each(events iter.Seq2[store.Event, error], f func(store.Event) error) error {
	for e, err := range events {
		if err == nil {
			err = f(e)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// collect returns the events up to an error.
func collect(events iter.Seq2[store.Event, error]) (list []store.Event, err error) {
	err = each(events, func(e store.Event) error {
		list = append(list, e)
		return nil
	})
	return list, err
}

// awaitLive returns the newest live session, or waits for one. File systems have no portable
// way to announce a new file, so it looks five times a second.
func awaitLive(cmd *cobra.Command, h home) (id string, err error) {
	db, err := h.open(boltstore.Options{})
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
