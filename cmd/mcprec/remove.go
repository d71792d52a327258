package main

import (
	"errors"
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
	db, err := h.open(boltstore.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeStore(cmd, db)) }()
	for _, arg := range args {
		if arg == "" {
			return usagef("rm: an empty session name")
		}
		found, err := findSession(cmd.Context(), db, h, arg)
		if err != nil {
			return err
		}
		if err := db.Delete(cmd.Context(), found.ID); err != nil {
			return err
		}
		cache{db: db, id: found.ID}.remove()
		if _, err := fmt.Fprintln(cmd.OutOrStdout(), found.ID); err != nil {
			return err
		}
	}
	return nil
}
