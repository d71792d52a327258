package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/mcprec/mcprec/fixtures"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/boltstore"
)

func newImport() *cobra.Command {
	var h home
	cmd := &cobra.Command{
		Use:   "import FILE...",
		Short: "Put fixtures into the store",
		Long: `import reads fixtures, as export and record -o write them, into the store, and
prints the id of each. A fixture that is there already is left as it is; one
that differs from what is there under its id is an error.

` + exitLine,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("import: no file; use mcprec import FILE...")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return runImport(cmd, h, args) },
	}
	h.addFlags(cmd)
	return cmd
}

func runImport(cmd *cobra.Command, h home, files []string) (err error) {
	db, err := h.open(boltstore.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeStore(cmd, db)) }()
	for _, name := range files {
		id, err := importFile(cmd.Context(), db, cmd, name)
		var conflict *store.ConflictError
		if errors.As(err, &conflict) {
			return fmt.Errorf("import %s: session %s is in the store with other content; take \"id\" out of the file's first line to import it as another", name, conflict.ID)
		}
		if err != nil {
			return fmt.Errorf("import %s: %w", name, err)
		}
		if _, err := fmt.Fprintln(cmd.OutOrStdout(), id); err != nil {
			return err
		}
	}
	return nil
}

// importBatch is how many bytes of payload one Append takes.
const importBatch = 4 << 20

// importFile reads a whole fixture before it stores anything: a file that is
// cut or wrong leaves nothing behind.
func importFile(ctx context.Context, db store.Store, cmd *cobra.Command, name string) (store.SessionID, error) {
	in := cmd.InOrStdin()
	if name != "-" {
		f, err := openFile(name)
		if err != nil {
			return "", err
		}
		defer f.Close()
		in = f
	}
	var events []store.Event
	for e, err := range fixtures.Decode(in) {
		if err != nil {
			return "", err
		}
		events = append(events, e)
	}
	if len(events) == 0 {
		return "", fmt.Errorf("no events in it")
	}
	header, err := store.ParseHeader(events[0].Payload)
	if err != nil {
		return "", err
	}
	id, err := store.ParseSessionID(string(header.ID))
	if err != nil {
		return "", err
	}
	for len(events) > 0 {
		n, size := 0, 0
		for n < len(events) && size < importBatch {
			size += len(events[n].Payload) + 32
			n++
		}
		if _, err := db.Append(ctx, id, events[0].Seq-1, events[:n]); err != nil {
			return "", err
		}
		events = events[n:]
	}
	return id, nil
}
