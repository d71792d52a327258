package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/mcprec/mcprec/replay"
	"github.com/mcprec/mcprec/replay/phrase"
	"github.com/mcprec/mcprec/replay/state"
	"github.com/mcprec/mcprec/store"
)

type bisectOptions struct {
	home
	format string
	expr   string
}

func newBisect() *cobra.Command {
	var o bisectOptions
	cmd := &cobra.Command{
		Use:   "bisect [SESSION] --expr EXPRESSION",
		Short: "Find the first event at which a condition holds",
		Long: `bisect folds a session, asks after each event whether the condition holds, and prints
the first event at which it does, as show does: also where it ceases to hold later.

An expression compares (== != < <= > >=) what the words below say with numbers,
durations (1.5s, 200ms) or texts in quotes; a word alone holds unless it is 0 or empty.
and, or, not and parentheses combine them.

` + helpTable(20, state.Names(), func(n state.Name) (string, string) {
			if n.Of == "" {
				return n.Word, n.Says
			}
			return n.Word + "(" + n.Of + ")", n.Says
		}) + `
A FILTER selects calls, as --filter of mcprec show does: tool:search dir:c2s, say, or
-method:ping. What stands in parentheses may be left out, but for progress and capability.

--format json prints one object: expr, found, events (read), event (as show prints it).

` + sessionHelp + `

Exit codes: 0 found, 1 it never holds, 2 usage, 3 data that cannot be read.`,
		Example: `  mcprec bisect --expr 'pending > 3'
  mcprec bisect --expr 'waited(tool:search) > 2s and not ended(s2c)'
  mcprec bisect --expr 'progress("count-1") >= 5 or failures > 0' SESSION
  mcprec bisect --expr 'revision == "2025-11-25" and capability(sampling)'`,
		Args:              atMost(1),
		ValidArgsFunction: completeSessions,
		RunE:              func(cmd *cobra.Command, args []string) error { return runBisect(cmd, o, firstOf(args)) },
	}
	o.addDoor(cmd)
	f := cmd.Flags()
	addChoice(cmd, &o.format, "format", "text or json", "text", "json")
	f.StringVar(&o.expr, "expr", "", "the `EXPRESSION`")
	return cmd
}

func runBisect(cmd *cobra.Command, o bisectOptions, arg string) (err error) {
	if o.expr == "" {
		return usagef("bisect wants --expr; see its --help for the words")
	}
	holds, err := state.ParseCondition(o.expr)
	if err != nil {
		return usagef("--expr: %v", err)
	}
	s, err := openSession(cmd, o.home, arg)
	if err != nil {
		return err
	}
	defer closeInto(&err, s)
	b := &bisection{holds: holds, state: state.New()}
	b.transcript = replay.NewTranscript(func(e replay.Entry) error {
		b.entry = e
		return nil
	})
	var valid store.Validator
	for e, err := range s.events(cmd.Context(), 1, store.ReadOptions{}) {
		if err == nil {
			err = valid.Check(e)
		}
		if err == nil {
			err = b.Apply(e)
		}
		if errors.Is(err, errEnough) {
			break
		}
		if err != nil {
			return fmt.Errorf("bisect %s: %w", s.name, err)
		}
	}
	w := bufio.NewWriter(cmd.OutOrStdout())
	if err := errors.Join(b.print(w, o.format), w.Flush()); err != nil {
		return err
	}
	if !b.found {
		return verdictError
	}
	return nil
}

// bisection is the projection that ends at the first event where a condition holds.
type bisection struct {
	holds      *state.Condition
	state      *state.State
	transcript *replay.Transcript
	entry      replay.Entry // of the latest event
	found      bool
}

// Apply takes the next event; errEnough says that it is the one.
func (b *bisection) Apply(e store.Event) error {
	if err := errors.Join(b.state.Apply(e), b.transcript.Apply(e)); err != nil {
		return err
	}
	if b.found = b.holds.Holds(b.state); b.found {
		return errEnough
	}
	return nil
}

func (b *bisection) print(w io.Writer, format string) error {
	if format == "text" && !b.found {
		_, err := fmt.Fprintf(w, "never: %s holds after none of %s\n", b.holds, phrase.Plural(b.state.Seq(), "event"))
		return err
	}
	if format == "text" {
		_, err := fmt.Fprintln(w, b.entry)
		return err
	}
	var line *shownEntry
	if b.found {
		shown := entryLine(b.entry, false)
		line = &shown
	}
	return encoderTo(w).Encode(struct {
		Expr   string      `json:"expr"`
		Found  bool        `json:"found"`
		Events uint64      `json:"events"`
		Event  *shownEntry `json:"event,omitempty"`
	}{b.holds.String(), b.found, b.state.Seq(), line})
}
