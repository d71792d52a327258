package main

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/replay/why"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/boltstore"
	"github.com/mcprec/mcprec/store/share/push"
	"github.com/mcprec/mcprec/store/share/stream"
)

// addStoreFlag adds the flag for the folder of this machine's store.
func addStoreFlag(cmd *cobra.Command, folder *string) {
	cmd.Flags().StringVar(folder, "store", "", "the store's `DIR` (default $MCPREC_HOME, else the state folder, as of mcprec)")
}

// openFolder opens the store in a folder, or this user's.
func openFolder(folder string) (*boltstore.Store, error) {
	if folder == "" {
		var err error
		if folder, err = boltstore.DefaultFolder(os.Getenv); err != nil {
			return nil, err
		}
	}
	return boltstore.Open(folder, boltstore.Options{})
}

func newPush() *cobra.Command {
	var folder, machine string
	var once, wait bool
	var m masking
	cmd := &cobra.Command{
		Use:   "push [URL]",
		Short: "Ship the sessions of this machine's store, live ones as they grow",
		Long: `push follows the store of this machine and ships its sessions to the stream: those that are there,
and those that are being recorded, event by event. Recorders know nothing of it, and wait for
nothing. It goes on until it is interrupted; start it with the machine. What it could not ship is in
the store, and the next push ships it. Five minutes after a session was shipped push asks for it once
more, and ships again what the servers have lost in a power cut.

Secrets are masked before they leave the machine, for good, by the rules of every export. The label
host names the machine, unless a session has one.`,
		Example: `  mcprec-share push nats://n1,n2,n3/MCPREC
  mcprec-share push 'tls://n1,n2,n3/MCPREC?creds=push.creds' --mask-key-file team.key
  mcprec-share push --once`,
		Args: oneURL,
		RunE: func(cmd *cobra.Command, args []string) error {
			until := push.Forever
			switch {
			case wait:
				until = push.Safe
			case once:
				until = push.Shipped
			}
			return runPush(cmd, args, folder, machine, until, &m)
		},
	}
	addStoreFlag(cmd, &folder)
	m.addFlags(cmd)
	name, _ := os.Hostname() // else it is ""
	f := cmd.Flags()
	f.StringVar(&machine, "machine", name, "the `NAME` of this machine")
	f.BoolVar(&once, "once", false, "ship the sessions that have ended, and exit when the stream has them")
	f.BoolVar(&wait, "wait", false, "the same, and exit when the stream still has them after five minutes: before a\nmachine is thrown away")
	return cmd
}

func runPush(cmd *cobra.Command, args []string, folder, machine string, until push.Until, m *masking) error {
	say := saying(cmd)
	options, err := target(args)
	if err != nil {
		return err
	}
	if _, err := compile(m.MaskRules); err != nil {
		return usagef("%w", err)
	}
	db, err := openFolder(folder)
	if err != nil {
		return err
	}
	defer db.Close()
	key, err := m.key(db)
	if err != nil {
		return err
	}
	failed := false
	p := push.New(db, func(ctx context.Context) (push.Stream, error) { return open(ctx, options) }, push.Options{
		Name: options.FolderName(), Machine: machine,
		Mask: func(header store.Header) (func(store.Event) store.Event, error) {
			return m.masker(key, machine, header)
		},
		Judge: func() push.Judge { return &judge{model: timeline.NewModel(timeline.Remembered)} },
		Trouble: func(err error) {
			failed = failed || errors.As(err, new(*push.StoppedError))
			say("%v", err)
		},
	})
	// A mistyped URL is an error at once; servers that do not answer yet may come.
	if s, err := open(cmd.Context(), options); err == nil {
		_ = s.Close()
	} else if !stream.IsTransient(err) {
		return err
	} else {
		say("%v; what is recorded waits in %s", err, db.Info().Location)
	}
	if until == push.Forever {
		say("pushing %s to %s", db.Info().Location, options.URL())
	}
	err = p.Run(cmd.Context(), until)
	if err == nil && failed && until != push.Forever {
		err = &statusError{status: exitLeft}
	}
	return err
}

// judge finds what is stuck in a session as mcprec why does.
type judge struct {
	why.Fold
	model *timeline.Model
}

func (j *judge) Apply(e store.Event) error { return j.Take(j.model.Take(e)) }

// Stuck returns for how long something has been stuck.
func (j *judge) Stuck(now time.Duration) (longest time.Duration) {
	for _, finding := range j.Report(why.Live{Now: now}, 0).Findings {
		longest = max(longest, finding.Waited)
	}
	return longest
}
