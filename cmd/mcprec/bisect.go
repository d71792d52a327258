package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/exit"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/printing"
	"github.com/mcprec/mcprec/replay/phrase"
	"github.com/mcprec/mcprec/replay/state"
	"github.com/mcprec/mcprec/replay/timeline"
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

` + helpTable(20, state.Names(), func(name state.Name) (string, string) {
			if name.Of == "" {
				return name.Word, name.Says
			}
			return name.Word + "(" + name.Of + ")", name.Says
		}) + `
A FILTER selects calls, as --filter of mcprec show does: tool:search dir:c2s, say, or
-method:ping. What stands in parentheses may be left out, but for progress and capability.

--format json prints one object: expr, found, events (read), event (as show prints it).

` + sessionHelp,
		Example: `  mcprec bisect --expr 'pending > 3'
  mcprec bisect --expr 'waited(tool:search) > 2s and not ended(s2c)'
  mcprec bisect --expr 'progress("count-1") >= 5 or failures > 0' SESSION
  mcprec bisect --expr 'revision == "2025-11-25" and capability(sampling)'`,
		Args:              atMost(1),
		ValidArgsFunction: completeSessions,
		RunE:              func(cmd *cobra.Command, args []string) error { return runBisect(cmd, o, firstOf(args)) },
	}
	o.addMaskFlags(cmd)
	f := cmd.Flags()
	addChoice(cmd, &o.format, "format", "text or json", "text", "json")
	f.StringVar(&o.expr, "expr", "", "the `EXPRESSION`")
	return cmd
}

func runBisect(cmd *cobra.Command, options bisectOptions, arg string) (err error) {
	if options.expr == "" {
		return exit.Usagef("bisect wants --expr; see its --help for the words")
	}
	holds, err := state.ParseCondition(options.expr)
	if err != nil {
		return exit.Usagef("--expr: %v", err)
	}
	s, err := openSession(cmd, options.home, arg)
	if err != nil {
		return err
	}
	defer closeInto(&err, s)
	var entry timeline.Entry // of the latest event
	transcript := timeline.NewTranscript(func(e timeline.Entry) error {
		entry = e
		return nil
	})
	at := state.New()
	found := false
	var valid store.Validator
	for e, err := range s.Events(cmd.Context(), 1, store.ReadOptions{}) {
		if err == nil {
			err = valid.Check(e)
		}
		if err == nil {
			err = errors.Join(at.Apply(e), transcript.Apply(e))
		}
		if err != nil {
			return fmt.Errorf("bisect %s: %w", s.Name, err)
		}
		if found = holds.Holds(at); found {
			break
		}
	}
	out := struct {
		Expr   string          `json:"expr"`
		Found  bool            `json:"found"`
		Events uint64          `json:"events"`
		Event  *printing.Entry `json:"event,omitempty"`
	}{Expr: holds.String(), Found: found, Events: at.Seq()}
	if found {
		shown := printing.NewEntry(entry, false)
		out.Event = &shown
	}
	return printReport(cmd, options.format, single(found, out, func(w io.Writer) (err error) {
		if found {
			_, err = fmt.Fprintln(w, entry)
		} else {
			_, err = fmt.Fprintf(w, "never: %s holds after none of %s\n", holds, phrase.Plural(at.Seq(), "event"))
		}
		return err
	}))
}
