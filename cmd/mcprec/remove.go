package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/mcprec/mcprec/store/boltstore"
)

func newRemove() *cobra.Command {
	var h home
	cmd := &cobra.Command{
		Use:     "rm SESSION...",
		Aliases: []string{"remove", "delete"},
		Short:   "Remove sessions from the store for good",
		Long: `rm removes sessions from the store. Each SESSION is an id or a unique prefix of
one. A session that is being recorded cannot be removed.

The space is used again by later sessions; mcprec compact gives it back to the disk.

` + exitLine,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("rm: no session; use mcprec rm SESSION...")
			}
			return nil
		},
		ValidArgsFunction: completeSessions,
		RunE:              func(cmd *cobra.Command, args []string) error { return runRemove(cmd, h, args) },
	}
	h.addFlags(cmd)
	return cmd
}

func runRemove(cmd *cobra.Command, h home, args []string) (err error) {
	db, err := openStore(cmd, h)
	if err != nil {
		return err
	}
	defer closeInto(&err, db)
	for _, arg := range args {
		if arg == "" {
			return usagef("rm: an empty session name")
		}
		found, err := findSession(cmd.Context(), db, arg)
		if err != nil {
			return err
		}
		if err := db.Delete(cmd.Context(), found.ID); err != nil {
			return err
		}
		checkpoints{db: db.Store, id: found.ID}.remove()
		if _, err := fmt.Fprintln(cmd.OutOrStdout(), found.ID); err != nil {
			return err
		}
	}
	return nil
}

func newCompact() *cobra.Command {
	var h home
	cmd := &cobra.Command{
		Use:   "compact",
		Short: "Give the space of removed sessions back to the disk",
		Long: `compact writes each database of the store that has free space anew, without it, and
checks every event on the way. The new file takes the old one's place at once, when it
is whole and on the disk: who interrupts compact, or loses power, has the old one.
What was removed is then in none of the store's files. A damaged database stays as it
is; see mcprec repair.

Recorders and readers go on meanwhile; commands that remove or import sessions wait. There
must be room for the largest database once more.

` + exitLine,
		Args:              atMost(0),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, _ []string) error { return runCompact(cmd, h) },
	}
	h.addFlags(cmd)
	return cmd
}

func runCompact(cmd *cobra.Command, h home) (err error) {
	defer limitMemory()()
	h.secrets.show = true // it prints nothing of a session, and needs no key
	db, err := openStore(cmd, h)
	if err != nil {
		return err
	}
	defer closeInto(&err, db)
	var before, after int64
	err = db.Compact(cmd.Context(), 0, func(c boltstore.Compacted) {
		before, after = before+c.Before, after+c.After
		if c.After < c.Before {
			fmt.Fprintf(cmd.OutOrStdout(), "%s: %s, now %s\n", c.Path, sizeText(c.Before), sizeText(c.After))
		}
	})
	fmt.Fprintf(cmd.ErrOrStderr(), "mcprec: %s given back; the databases take %s\n", sizeText(before-after), sizeText(after))
	return err
}
