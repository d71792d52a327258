package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/exit"
	"github.com/mcprec/mcprec/replay/check"
	"github.com/mcprec/mcprec/replay/filter"
	"github.com/mcprec/mcprec/replay/state"
	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
)

// filterFlag is the --filter of a command.
type filterFlag struct{ expr string }

func (o *filterFlag) addFlags(cmd *cobra.Command) {
	cmd.Flags().Func("filter", "only what fits the `EXPRESSION`, such as 'tool:search status:pending'; given twice, both must fit", func(expr string) error {
		o.expr = strings.TrimSpace(o.expr + " " + expr)
		return nil
	})
}

// parse reads the expression. Without one the filter selects everything.
func (o filterFlag) parse() (*filter.Filter, error) {
	f, err := filter.Parse(o.expr)
	if err != nil {
		return nil, exit.Usagef("--filter: %v", err)
	}
	return f, nil
}

// filterHelp explains --filter in the help of each command that has it.
var filterHelp = `--filter 'tool:search status:pending' selects by terms that must all hold; -TERM or
!TERM must not. A value may be one of several (a|b), have * for anything, or stand in
quotes; a value without a field is looked for in the whole event. A term about a call
selects its request, answer, progress and cancellation.

` + filterWords()

func filterWords() string {
	var b strings.Builder
	for _, f := range filter.Fields() {
		fmt.Fprintf(&b, "  %-8s %s\n", f.Name+":", f.Says)
		if f.List {
			for words := range slices.Chunk(strings.Fields(f.Wants), 10) {
				fmt.Fprintf(&b, "           %s\n", strings.Join(words, " "))
			}
		}
	}
	return b.String()
}

// eventSet holds the events of a session that a filter selects, a bit for each. nil selects all.
type eventSet []uint64

// pick returns the events that fit the filter.
func (s *session) pick(ctx context.Context, o filterFlag) (eventSet, error) {
	fits, err := o.parse()
	if err != nil || o.expr == "" {
		return nil, err
	}
	if err := s.keep(); err != nil {
		return nil, err
	}
	set := eventSet{}
	return set, s.selectEvents(ctx, fits, func(seq uint64) {
		for uint64(len(set)) <= seq/64 {
			set = append(set, 0)
		}
		set[seq/64] |= 1 << (seq % 64)
	})
}

// selectEvents calls f for every event that fits, and rewinds the session. The reading that
// follows reports the errors of the recording.
func (s *session) selectEvents(ctx context.Context, fits *filter.Filter, f func(seq uint64)) error {
	t, err := s.transcript(ctx, fits.Ahead(), func(e timeline.Entry) error {
		if fits.Selects(&e) {
			f(e.Seq)
		}
		return nil
	})
	if err != nil {
		return err
	}
	_ = timeline.Project(s.events(ctx, 1, store.ReadOptions{}), t)
	return s.rewind()
}

// about reports whether a finding names one of the events, or none and so is about the session.
func (p eventSet) about(f check.Finding) bool {
	return p == nil || len(f.Events) == 0 || slices.ContainsFunc(f.Events, func(seq uint64) bool {
		return seq/64 < uint64(len(p)) && p[seq/64]&(1<<(seq%64)) != 0
	})
}

// filterCalls removes the calls from a view that do not fit.
func filterCalls(v state.View, fits *filter.Filter) state.View {
	v.Calls = slices.DeleteFunc(v.Calls, func(c state.Call) bool {
		dir, _ := transport.ParseDirection(c.Dir)
		return !fits.SelectsCall(&timeline.Call{
			Dir: dir, ID: string(c.ID), Method: c.Method, Target: c.Target, Token: string(c.Token),
			Request: c.Request, Stream: c.Stream, Cancelled: c.Cancelled,
		})
	})
	return v
}
