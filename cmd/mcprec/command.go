package main

import (
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/cli"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/output"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/session"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport/phrase"
)

// atMost is cobra.MaximumNArgs with the usage exit code.
func atMost(n int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > n {
			return cli.Usagef("%s takes at most %d argument(s), not %d; see its --help", cmd.CommandPath(), n, len(args))
		}
		return nil
	}
}

func beforeDash(cmd *cobra.Command, args []string) (own, command []string) {
	if n := cmd.ArgsLenAtDash(); n >= 0 {
		return args[:n], args[n:]
	}
	return args, nil
}

func firstOf(args []string) string {
	if len(args) == 0 {
		return ""
	}
	return args[0]
}

// completeSessions completes to the ids and labels of the newest sessions, and to files.
func completeSessions(cmd *cobra.Command, _ []string, prefix string) ([]cobra.Completion, cobra.ShellCompDirective) {
	ids, labels, err := newestSessions(cmd, prefix)
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	if prefix != "" {
		for _, label := range labels {
			ids = append(ids, cobra.CompletionWithDesc(label, "the newest session with this label"))
		}
	}
	return ids, cobra.ShellCompDirectiveDefault
}

// newestSessions returns the ids and labels of the newest sessions that begin with prefix, for completion.
func newestSessions(cmd *cobra.Command, prefix string) (ids, found []cobra.Completion, err error) {
	var h home
	h.Place, _ = cmd.Flags().GetString("store")
	ctx := cmd.Context()
	db, err := session.OpenUnmasked(ctx, h.Home)
	if err != nil {
		return nil, nil, err
	}
	defer db.Close()
	d, err := h.Masker(db)
	if err != nil {
		return nil, nil, err
	}
	seen := map[string]bool{}
	for s, err := range db.Sessions(ctx, store.Query{Newest: true, Limit: 200}) {
		if err != nil {
			continue
		}
		h := d.Header(s.Header)
		if strings.HasPrefix(string(s.ID), prefix) && len(ids) < 50 {
			ids = append(ids, cobra.CompletionWithDesc(string(s.ID), output.Plain(strings.TrimSpace(h.Label+" "+strings.Join(h.Command, " ")))))
		}
		for _, label := range (&labels{h.Label, h.Labels}).list() {
			if strings.HasPrefix(label, prefix) && !seen[label] {
				seen[label] = true
				found = append(found, output.Plain(label))
			}
		}
	}
	return ids, found, nil
}

// openSession opens the session that an argument names, for a command that prints nothing before it has
// read: on a terminal a line says how far the reading is. The session must be closed.
func openSession(cmd *cobra.Command, home home, arg string) (*session.Session, error) {
	s, err := openPrinted(cmd, home, arg)
	if err == nil {
		s.Watch(cmd.ErrOrStderr())
	}
	return s, err
}

// openPrinted is openSession for a command that prints while it reads.
func openPrinted(cmd *cobra.Command, home home, arg string) (*session.Session, error) {
	return session.Open(cmd.Context(), home.Home, arg, cmd.InOrStdin(), cmd.ErrOrStderr())
}

// splitEvent takes the event out of the arguments of a command that takes one session and one event, as in '#5',
// FILE 5 or 5 FILE. 0 is none: a number alone may also be a session.
func splitEvent(args []string) (rest []string, seq uint64, err error) {
	if len(args) == 0 || len(args) == 1 && args[0] != "" && args[0][0] != '#' {
		return args, 0, nil
	}
	for i := len(args) - 1; i >= 0; i-- {
		if seq, ok := session.ParseEvent(args[i]); ok {
			return slices.Delete(slices.Clone(args), i, i+1), seq, nil
		}
	}
	return nil, 0, cli.Usagef("%s is no number of an event; want one such as 37", phrase.ShellWord(args[len(args)-1]))
}

// openAtEvent opens the session that arguments name, for a command that prints while it reads, and returns the
// event that they name; 0 for none. A number alone is an event of the newest session, if no session has it as a label
// and it is shorter than the ids that mcprec list shows.
func openAtEvent(cmd *cobra.Command, home home, args []string) (*session.Session, uint64, error) {
	rest, seq, err := splitEvent(args)
	if err != nil {
		return nil, 0, err
	}
	if alone, ok := session.ParseEvent(firstOf(rest)); ok && seq == 0 && len(rest[0]) < leastPrefix {
		isLabel, err := isLabel(cmd, home, rest[0])
		if err != nil {
			return nil, 0, err
		}
		if !isLabel {
			rest, seq = nil, alone
		}
	}
	s, err := openPrinted(cmd, home, firstOf(rest))
	return s, seq, err
}

// isLabel reports whether a session of the store has a label.
func isLabel(cmd *cobra.Command, home home, text string) (_ bool, err error) {
	db, err := session.OpenUnmasked(cmd.Context(), home.Home)
	if err != nil {
		return false, err
	}
	defer closeInto(&err, db)
	found, err := db.Labelled(cmd.Context(), text)
	return len(found) > 0, err
}

// openStore opens the store of a command that may add to it. It must be closed.
func openStore(cmd *cobra.Command, home home) (*session.Store, error) {
	return session.OpenStore(cmd.Context(), home.Home, cmd.ErrOrStderr())
}

// openExisting is openStore for a command that adds no session: a --store that is not there is an error.
func openExisting(cmd *cobra.Command, home home) (*session.Store, error) {
	db, err := session.OpenExisting(cmd.Context(), home.Home, cmd.ErrOrStderr())
	if err == nil && home.Place != "" && db.Missing() {
		err = errors.Join(cli.Usagef("%w", db.NotFound("")), db.Close())
	}
	return db, err
}

// closeInto closes c and joins its error to *err.
func closeInto(err *error, c io.Closer) { *err = errors.Join(*err, c.Close()) }

// flush writes the rest of a buffered output, and adds the error to err, unless it is that error: a
// writer that has failed fails with the same error from then on.
func flush(w interface{ Flush() error }, err error) error {
	if again := w.Flush(); !errors.Is(err, again) {
		return errors.Join(again, err)
	}
	return err
}

// exactOut returns the output for exact bytes: a fixture or a stream.
func exactOut(cmd *cobra.Command) io.Writer { return output.Underneath(cmd.OutOrStdout()) }

// screenOf returns the screen of a command, whose text is wrapped at the width of a terminal, but for tables, which
// say so themselves. It must be flushed.
func screenOf(cmd *cobra.Command) (*output.Screen, error) {
	when, err := cmd.Flags().GetString("color")
	if err == nil {
		err = oneOf("color", when, "auto", "always", "never")
	}
	if err != nil {
		return nil, err
	}
	screen := output.NewScreen(cmd.OutOrStdout(), when)
	if format := cmd.Flags().Lookup("format"); format == nil || format.Value.String() == output.Text {
		screen.Fit(output.Wrap)
	}
	return screen, nil
}

// printDocument writes a document on the screen. If it did not pass, the error is the exit code.
func printDocument(cmd *cobra.Command, format string, d output.Document) error {
	out, err := screenOf(cmd)
	if err != nil {
		return err
	}
	if err := flush(out, d.Write(out, format)); err != nil {
		return err
	}
	if !d.Passed {
		return cli.ErrVerdict
	}
	return nil
}

// single returns a document of one section.
func single(passed bool, value any, text func(io.Writer) error) output.Document {
	return output.Document{Passed: passed, Sections: []output.Section{{Value: value, Text: text}}}
}

// printVerdict writes a verdict on the screen.
func printVerdict(cmd *cobra.Command, format string, v interface{ Text() string }, passed bool) error {
	return printDocument(cmd, format, single(passed, v, func(w io.Writer) error {
		w.(*output.Screen).PaintVerdict(v.Text())
		return nil
	}))
}

// addOutFlags adds --out and --force.
func addOutFlags(cmd *cobra.Command, file *cli.File, name, usage string) {
	f := cmd.Flags()
	f.StringVarP(&file.Name, "out", "o", name, usage)
	f.BoolVar(&file.Force, "force", false, "write over FILE")
}
