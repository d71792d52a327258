package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/report"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/session"
	"github.com/mcprec/mcprec/replay/filter"
	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/store"
)

type tailOptions struct {
	home
	filterFlag
	follow bool
	last   int
	format string
	http   bool
	body   string
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
	o.home.addFlags(cmd)
	o.home.heedMaskFlags(cmd)
	o.filterFlag.addFlags(cmd)
	cmd.Flags().BoolVarP(&o.follow, "follow", "f", false, "go on as events are recorded")
	addChoice(cmd, &o.format, "format", "text or json, as in show", "text", "json")
	cmd.Flags().BoolVar(&o.http, "http", false, "show the events of HTTP too, as in show")
	addBodyFlag(cmd, &o.body)
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
	s, err := openPrinted(cmd, o.home, arg)
	if err != nil {
		return err
	}
	defer closeInto(&err, s)
	p := newPrinter(out, o.format, false, o.body)
	return o.print(cmd.Context(), s, fits, func(e timeline.Entry) error { return errors.Join(p.Print(e), out.Flush()) })
}

// print prints the last events that fit, and with -f those to come.
func (o tailOptions) print(ctx context.Context, s *session.Session, fits *filter.Filter, show func(timeline.Entry) error) error {
	follow := o.follow && s.Store != nil
	live := follow && s.Head == 0
	var window []timeline.Entry // the newest o.last entries, until live
	showWindow := func() error {
		for _, entry := range window {
			if err := show(entry); err != nil {
				return err
			}
		}
		window = nil
		return nil
	}
	reading := session.Reading{Ahead: fits.Ahead(), Whole: o.expr != "", ReadOptions: store.ReadOptions{Unfinished: !o.follow, Follow: follow}}
	if s.Head > uint64(o.last) {
		reading.First = s.Head - uint64(o.last) + 1
	}
	err := s.Entries(ctx, reading, func(entry timeline.Entry) error {
		selected := fits.Selects(&entry) && (o.http || o.expr != "" || o.format == "json" || !report.IsRoutineHTTP(entry))
		switch {
		case selected && live:
			return show(entry)
		case selected && o.last > 0:
			window = append(window, entry)
			window = window[max(len(window)-o.last, 0):]
		}
		if follow && !live && entry.Seq >= s.Head {
			live = true
			return showWindow()
		}
		return nil
	})
	return errors.Join(showWindow(), err)
}

// awaitLive returns the newest live session, or waits for one. File systems have no portable
// way to announce a new file, so it looks five times a second.
func awaitLive(cmd *cobra.Command, home home) (id string, err error) {
	db, err := session.OpenUnmasked(cmd.Context(), home.Home)
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
