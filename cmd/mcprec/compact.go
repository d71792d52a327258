package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/mcprec/mcprec/store/boltstore"
)

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
	defer frugal()()
	db, err := h.open(boltstore.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeStore(cmd, db)) }()
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
