package main

import (
	"fmt"
	"iter"

	"github.com/spf13/cobra"

	"github.com/mcprec/mcprec/replay"
	"github.com/mcprec/mcprec/store"
)

type tailOptions struct {
	home
	follow bool
	last   int
}

func newTail() *cobra.Command {
	var o tailOptions
	cmd := &cobra.Command{
		Use:   "tail [SESSION]",
		Short: "Show the end of a session, and with -f what is added to it",
		Long: `tail prints the last events of a session in the form of show. With -f it goes on
to print events as they are recorded, until the session has ended or you stop
it; the recording is not disturbed.

` + sessionHelp + "\n\n" + exitTable,
		Args: atMost(1),
		RunE: func(cmd *cobra.Command, args []string) error { return runTail(cmd, o, firstOf(args)) },
	}
	o.addFlags(cmd)
	cmd.Flags().BoolVarP(&o.follow, "follow", "f", false, "go on as events are recorded")
	cmd.Flags().IntVarP(&o.last, "lines", "n", 10, "the last `N` events")
	return cmd
}

func runTail(cmd *cobra.Command, o tailOptions, arg string) (err error) {
	s, err := openSession(cmd, o.home, arg)
	if err != nil {
		return err
	}
	defer closeInto(&err, s)
	ctx, w := cmd.Context(), cmd.OutOrStdout()
	live := false
	var window []replay.Entry // the newest o.last entries, until live
	t := replay.NewTranscript(func(e replay.Entry) error {
		if live {
			_, err := fmt.Fprintln(w, e)
			return err
		}
		if window = append(window, e); len(window) > max(o.last, 0) {
			window = window[1:]
		}
		return nil
	})
	next := uint64(1)
	err = each(s.events(ctx, next, store.ReadOptions{}), func(e store.Event) error {
		next = e.Seq + 1
		return t.Apply(e)
	})
	for _, e := range window {
		if _, perr := fmt.Fprintln(w, e); perr != nil {
			return perr
		}
	}
	if err != nil || !o.follow || s.db == nil {
		return err
	}
	live = true
	return replay.Project(s.events(ctx, next, store.ReadOptions{Follow: true}), t)
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
