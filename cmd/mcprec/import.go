package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"

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
		Use:     "import FILE...",
		Short:   "Put fixtures, and sessions that others recorded, into the store",
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
			return wrongValue("from", options.from, err)
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

// importFile reads a whole file before it stores anything: one that is cut or wrong leaves nothing
// behind. A fixture is read twice, and is never in memory as a whole.
func importFile(cmd *cobra.Command, db *session.Store, name string, format foreign.Format) (err error) {
	in, err := openImport(cmd, db, name)
	if err != nil {
		return err
	}
	defer closeInto(&err, in)
	if format.Name == "" {
		if format, err = in.format(); err != nil {
			return err
		}
	}
	if format.Name != "" {
		sessions, err := format.ReadAll(bufio.NewReaderSize(in.from("reads"), 1<<16))
		if err != nil {
			return err
		}
		for _, events := range sessions {
			if err := importSession(cmd, db, jsonl.Each(events), jsonl.Each(events)); err != nil {
				return err
			}
		}
		return nil
	}
	return importSession(cmd, db, jsonl.Decode(in.from("reads")), jsonl.Decode(in.from("stores")))
}

// importSession stores the events of a session and prints its id. It takes the events twice: the first time
// it looks through all of them.
func importSession(cmd *cobra.Command, db *session.Store, first, second iter.Seq2[store.Event, error]) error {
	events := 0
	count, err := db.Masker.Find(first, func(store.Event, []mask.Finding) error { events++; return nil })
	if err != nil {
		return err
	}
	if events == 0 {
		return fmt.Errorf("no events in it")
	}
	id, err := session.Save(cmd.Context(), db, second)
	if err == nil {
		err = retention.Keep(db.Folder, id, false) // it may be of any age
	}
	if err != nil {
		return err
	}
	if count.Secrets > 0 {
		says := "stored as in the file and masked when shown; mcprec redact --in-place " + string(id) + " takes them out"
		fmt.Fprintf(output.NewWriter(cmd.ErrOrStderr()), "mcprec: session %s: %s in %s, %s\n", id, phrase.Plural(count.Secrets, "secret"), phrase.Plural(count.Events, "event"), says)
	}
	_, err = fmt.Fprintln(cmd.OutOrStdout(), id)
	return err
}

// imported is a file that is read more than once. Its progress is told on a terminal.
type imported struct {
	*os.File
	name     string
	spool    bool // a copy of what came through a pipe
	size     int64
	progress *output.Progress
}

// openImport opens a file, or copies what comes through a pipe into one beside the store.
func openImport(cmd *cobra.Command, db *session.Store, name string) (*imported, error) {
	in := cmd.InOrStdin()
	if name != "-" {
		f, err := session.OpenFile(name)
		if err != nil {
			return nil, err
		}
		in = f
	}
	x := &imported{name: name, progress: output.NewProgress(cmd.ErrOrStderr())}
	if f, ok := in.(*os.File); ok {
		if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
			x.File = f
			x.size = info.Size()
			return x, nil
		}
	}
	f, err := os.CreateTemp(db.Folder, ".import-*")
	if err != nil {
		return nil, err
	}
	x.File = f
	x.spool = true
	if x.size, err = io.Copy(f, in); err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		return nil, errors.Join(err, x.Close())
	}
	return x, nil
}

// format returns the format that the content shows; none of a fixture.
func (x *imported) format() (foreign.Format, error) {
	head := make([]byte, 1<<16)
	n, err := io.ReadFull(x.File, head)
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		return foreign.Format{}, err
	}
	format, _ := foreign.Detect(head[:n])
	_, err = x.Seek(0, io.SeekStart)
	return format, err
}

// from returns a reader of the whole file, which goes back to its beginning at the first Read. does
// says what the reading is for.
func (x *imported) from(does string) io.Reader {
	return x.progress.Reader(&fromStart{file: x.File}, func(passed int64) string {
		return fmt.Sprintf("mcprec: import %s %s: %d of %d MB", does, output.Plain(x.name), passed>>20, x.size>>20)
	})
}

// fromStart reads a file from its beginning.
type fromStart struct {
	file  *os.File
	begun bool
}

// Read implements [io.Reader].
func (f *fromStart) Read(b []byte) (int, error) {
	if !f.begun {
		if _, err := f.file.Seek(0, io.SeekStart); err != nil {
			return 0, err
		}
		f.begun = true
	}
	return f.file.Read(b)
}

// Close also takes the copy away.
func (x *imported) Close() error {
	x.progress.Erase()
	if x.File == os.Stdin {
		return nil
	}
	err := x.File.Close()
	if x.spool {
		err = errors.Join(err, os.Remove(x.Name()))
	}
	return err
}
