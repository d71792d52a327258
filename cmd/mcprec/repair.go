package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcprec/mcprec/replay/phrase"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/boltstore"
)

func newRepair() *cobra.Command {
	var h home
	var dry bool
	cmd := &cobra.Command{
		Use:   "repair [--dry-run]",
		Short: "Save what a damaged store still holds, and say what is lost",
		Long: `repair looks at every database and every spool of the store. In the place of a
damaged database it puts a new one with every event whose checksum holds; where
events are missing it puts lost events. To a session whose spool is damaged it
adds the events behind the damage. The damaged files are kept beside, with
.damaged at the end of their names, and hold what was recorded until you remove
them: rm does not look into them. A pipe, a folder or a symbolic
link where a file should be is renamed, with .aside at the end. Sessions that were removed stay so. Recorders
may go on meanwhile. mcprec export --salvage ID takes out one session and changes
nothing.

Exit codes: 0 fine, or all was saved, 1 something is lost, 2 usage, 3 data that
cannot be read or written.`,
		Args:              atMost(0),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, _ []string) error { return runRepair(cmd, h, dry) },
	}
	h.addFlags(cmd)
	cmd.Flags().BoolVarP(&dry, "dry-run", "n", false, "say what would be saved and lost, and change nothing")
	return cmd
}

func runRepair(cmd *cobra.Command, h home, dry bool) (err error) {
	defer limitMemory()()
	db, err := h.open(boltstore.Options{})
	if err != nil {
		return err
	}
	defer closeInto(&err, db)
	damaged, lost := uint64(0), false
	err = db.Repair(cmd.Context(), dry, func(r boltstore.Repaired) {
		damaged++
		lost = lost || r.Lost()
		sayRepaired(cmd, r)
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(cmd.OutOrStdout(), "%s\n", phrase.Plural(damaged, "damaged file"))
	if lost {
		return verdictError
	}
	return nil
}

func sayRepaired(cmd *cobra.Command, r boltstore.Repaired) {
	say := func(format string, args ...any) { fmt.Fprintf(cmd.OutOrStdout(), format+"\n", args...) }
	fault, _, _ := strings.Cut(fmt.Sprint(r.Fault), " (") // without the advice to repair it
	fault, _, _ = strings.Cut(fault, "; mcprec repair ")
	if !strings.Contains(fault, r.Path) {
		fault = r.Path + ": " + fault
	}
	say("%s", fault)
	if r.Odd {
		if r.Kept != "" {
			say("  it is now %s", r.Kept)
		}
		return
	}
	whole, part := uint64(0), []boltstore.Salvaged(nil)
	for _, x := range r.Sessions {
		if x.Lost == 0 {
			whole++
		} else {
			part = append(part, x)
		}
	}
	switch {
	case whole > 0:
		say("  saved whole: %s", phrase.Plural(whole, "session"))
	case len(part) == 0:
		say("  nothing of a session was found in it")
	}
	for _, x := range part {
		say("  session %s: %s saved, %d lost", x.ID, phrase.Plural(x.Saved, "event"), x.Lost)
	}
	switch {
	case r.Unknown:
		say("  how many sessions it held can be told no more")
	case r.Gone == 1:
		say("  lost with all its events: session %s", r.GoneID)
	case r.Gone > 1:
		say("  lost with all their events: %s", phrase.Plural(r.Gone, "session"))
	}
	if r.Kept != "" {
		say("  the damaged file is kept as %s", r.Kept)
	}
}

// openDamaged opens a session that a damaged store may not list, by its whole id.
func openDamaged(cmd *cobra.Command, h home, arg string) (*session, error) {
	id, err := store.ParseSessionID(arg)
	if err != nil {
		s, err := openSession(cmd, h, arg)
		switch {
		case err != nil:
			return nil, fmt.Errorf("%w; mcprec repair --dry-run lists what can be saved, by whole ids", err)
		case s.db == nil:
			return nil, errors.Join(usagef("--salvage is for a session in the store"), s.Close())
		}
		s.salvage = true
		return s, nil
	}
	db, err := openStore(cmd, h)
	if err != nil {
		return nil, err
	}
	return &session{name: "session " + string(id), id: id, db: db, cmd: cmd, salvage: true, masker: db.masker}, nil
}
