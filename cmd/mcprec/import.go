package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/cli"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/output"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/retention"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/session"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/foreign"
	"github.com/mcprec/mcprec/store/jsonl"
	"github.com/mcprec/mcprec/store/mask"
	"github.com/mcprec/mcprec/transport/phrase"
)

func newImport() *cobra.Command {
	var o importOptions
	cmd := &cobra.Command{
		Use:   "import FILE...",
		Short: "Put fixtures, and sessions that others recorded, into the store",
		Long: `import reads fixtures, as export and record -o write them, into the store, and
prints the id of each. A fixture that is there already is left as it is; one
that differs from what is there under its id is an error.

What other recorders wrote is known by its content, and --from FORMAT insists on a
format. The formats are

` + helpTable(18, foreign.Formats, func(format foreign.Format) (string, string) { return format.Name, format.Says }) + `
What a format has no event for becomes a note, and so does what is to be known of its
bytes: most recorders keep messages, not the bytes that passed.

A session is stored as it is in its file. If something in it looks like a secret, a line on
stderr says so: it is masked when it is shown, and mcprec redact takes it out for good.

A file with several sessions, such as a HAR of two servers or a host's log in which a
server was started again, becomes as many. Any of these files may also be named wherever a
SESSION is wanted, without an import: mcprec help sessions says how to choose among several.`,
		Example: "  mcprec import session.jsonl\n  mcprec import --from har network.har\n  mcprec import ~/Library/Logs/Claude/mcp-server-files.log",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cli.Usagef("import: no file; use mcprec import FILE...")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return runImport(cmd, o, args) },
	}
	o.addFlags(cmd)
	cmd.Flags().StringVar(&o.from, "from", "", "take the files for `FORMAT`")
	completeWords(cmd, "from", namesOf(foreign.Formats, func(format foreign.Format) string { return format.Name })...)
	return cmd
}

type importOptions struct {
	home
	from string
}

func runImport(cmd *cobra.Command, options importOptions, files []string) (err error) {
	var format foreign.Format // known by the content
	if options.from != "" {
		if format, err = foreign.Named(options.from); err != nil {
			return cli.Usagef("import: --from: %v", err)
		}
	}
	db, err := openStore(cmd, options.home)
	if err != nil {
		return err
	}
	defer closeInto(&err, db)
	for _, name := range files {
		err := importFile(cmd, db, name, format)
		var conflict *store.ConflictError
		if errors.As(err, &conflict) {
			return fmt.Errorf("import %s: session %s is in the store with other content; take \"id\" out of the file's first line to import it as another", name, conflict.ID)
		}
		if err != nil {
			return fmt.Errorf("import %s: %w", name, err)
		}
	}
	return nil
}

// importFile reads a whole file before it stores anything: one that is cut or wrong
// leaves nothing behind.
func importFile(cmd *cobra.Command, db *session.Store, name string, format foreign.Format) error {
	in := cmd.InOrStdin()
	if name != "-" {
		f, err := session.OpenFile(name)
		if err != nil {
			return err
		}
		defer f.Close()
		in = f
	}
	sessions, err := readSessions(in, format)
	if err != nil {
		return err
	}
	for _, events := range sessions {
		if len(events) == 0 {
			return fmt.Errorf("no events in it")
		}
		id, err := session.Save(cmd.Context(), db, events)
		if err == nil {
			err = retention.Keep(db.Folder, id, false) // it may be of any age
		}
		if err != nil {
			return err
		}
		count, err := db.Masker.Find(jsonl.Each(events), func(store.Event, []mask.Finding) error { return nil })
		if err != nil {
			return err
		}
		if count.Secrets > 0 {
			says := "stored as in the file and masked when shown; mcprec redact --in-place " + string(id) + " takes them out"
			fmt.Fprintf(output.NewWriter(cmd.ErrOrStderr()), "mcprec: session %s: %s in %s, %s\n", id, phrase.Plural(count.Secrets, "secret"), phrase.Plural(count.Events, "event"), says)
		}
		if _, err := fmt.Fprintln(cmd.OutOrStdout(), id); err != nil {
			return err
		}
	}
	return nil
}

// readSessions reads a file in a format, or in the one that its content shows.
func readSessions(r io.Reader, format foreign.Format) ([][]store.Event, error) {
	b := bufio.NewReaderSize(r, 1<<16)
	if format.Name == "" {
		_, _ = b.Peek(1) // the reading that follows returns its error again
		head, _ := b.Peek(b.Buffered())
		found := false
		if format, found = foreign.Detect(head); !found {
			events, err := session.Collect(jsonl.Decode(b))
			return [][]store.Event{events}, err
		}
	}
	return format.ReadAll(b)
}
