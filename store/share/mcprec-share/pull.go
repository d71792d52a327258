package main

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/boltstore"
	"github.com/mcprec/mcprec/store/share/pull"
	"github.com/mcprec/mcprec/store/share/stream"
)

// filters choose sessions.
type filters struct {
	labels []string
	since  string
	age    time.Duration
	stuck  bool
	live   bool
}

// wants reports whether a session is chosen.
func (f *filters) wants(e *stream.Entry) bool {
	if f.age > 0 && !e.IsLive() && time.Since(e.Header.Start.Add(-e.Ahead)) > f.age {
		return false
	}
	if (f.live || f.stuck) && !e.IsLive() || f.stuck && e.Stuck == 0 {
		return false
	}
	for _, label := range f.labels {
		name, value, isNamed := strings.Cut(label, "=")
		has, named := e.Header.Labels[name]
		if e.Header.Label != label && !(isNamed && named && has == value) {
			return false
		}
	}
	return true
}

func newPull() *cobra.Command {
	var f filters
	var into, size string
	var most int64
	var once bool
	cmd := &cobra.Command{
		Use:   "pull [URL] --into DIR",
		Short: "Bring sessions of the stream into a folder, live ones as they grow",
		Long: `pull brings sessions of the stream into a folder, which is a store of mcprec: mcprec list --store DIR,
why, view, tail -f and every other command works on it. A live session is live there and grows as its
events come, until it ends, or its machine has told nothing for 35 seconds. pull goes on with the
sessions that come, until it is interrupted.

Without a filter it brings all. Give --into a folder of its own: it has the sessions of the team, and
mcprec store prune there removes them there only. What was removed there does not come back.

The folder takes about --max-size, so that nobody who may push can fill your disk. When it has as much,
pull ends and says of which session: remove sessions (mcprec rm, mcprec store prune), bring fewer, or give
it more.

It prints a line for each session: what of it came, and its labels.`,
		Example: `  mcprec-share pull nats://n1,n2,n3/MCPREC --into team
  mcprec-share pull --into team --label env=prod --since 2d
  mcprec-share pull --into stuck --stuck`,
		Args: oneURL,
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if into == "" {
				return usagef("pull: into which folder? Use --into DIR")
			}
			if f.age, err = parseAge(f.since); err != nil {
				return usagef("--since %w", err)
			}
			if most, err = parseSize(size); err != nil {
				return usagef("--max-size %w", err)
			}
			return runPull(cmd, args, into, &f, once, most)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&into, "into", "", "the folder `DIR`; it is made if it is not there")
	flags.StringVar(&size, "max-size", defaultMaxSize, "about how much the folder takes: a `SIZE` such as 500MB; 0 is no bound")
	flags.StringArrayVarP(&f.labels, "label", "l", nil, "only sessions with this `LABEL`, or NAME=VALUE; of several they must have all")
	flags.StringVar(&f.since, "since", "", "only sessions that are live, or began in the last `DURATION`: 12h, 7d, 2w")
	flags.BoolVar(&f.live, "live", false, "only sessions that are live, from now on")
	flags.BoolVar(&f.stuck, "stuck", false, "only live sessions in which something is stuck, as mcprec why finds it")
	flags.BoolVar(&once, "once", false, "bring what is there now, and exit")
	return cmd
}

// defaultMaxSize is room for months of a team: text is stored in a tenth of its bytes. Of most disks it is a part.
const defaultMaxSize = "20GB"

func runPull(cmd *cobra.Command, args []string, into string, f *filters, once bool, most int64) error {
	say := saying(cmd)
	options, err := target(args)
	if err != nil {
		return err
	}
	db, err := boltstore.Open(into, boltstore.Options{})
	if err != nil {
		return err
	}
	defer db.Close()
	failed := false
	report := func(a pull.Arrival) {
		state := map[store.State]string{store.Live: "live", store.Ended: "whole", store.Crashed: "broken off"}[a.State]
		switch {
		case a.Err == nil:
			fmt.Fprintf(cmd.OutOrStdout(), "%s  %-10s  %d events  %s\n", a.ID, state, a.Events, plain(labels(a.Header)))
		case errors.Is(a.Err, store.ErrExists): // its user has removed it
		case a.ID == "":
			failed = true
			say("%v", a.Err)
		default:
			failed = true
			say("session %s: %d events came: %v", a.ID, a.Events, a.Err)
		}
	}
	ctx := cmd.Context()
	for first := true; ; first = false {
		s, err := open(ctx, options)
		if err == nil {
			err = pull.Run(ctx, db, s, pull.Options{Wants: f.wants, Follow: !once, MaxBytes: most, Said: report})
			_ = s.Close()
		}
		switch {
		case ctx.Err() != nil:
			return nil
		case err == nil && failed:
			return &statusError{status: exitLeft}
		case errors.Is(err, pull.ErrFull):
			return fmt.Errorf("%w: remove sessions from it (mcprec store prune --store %s), bring fewer (--since, --label), or give --max-size", err, into)
		case err == nil || once || errors.Is(err, store.ErrBusy):
			return err
		case first && !stream.IsTransient(err):
			return err
		}
		say("%v; trying again", err)
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(5 * time.Second):
		}
	}
}
