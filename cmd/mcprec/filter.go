package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcprec/mcprec/replay/filter"
)

// selection is the --filter of a command.
type selection struct{ expr string }

func (o *selection) addFlags(cmd *cobra.Command) {
	cmd.Flags().Func("filter", "only what fits the `EXPRESSION`, such as 'tool:search status:pending'; given twice, both must fit", func(expr string) error {
		o.expr = strings.TrimSpace(o.expr + " " + expr)
		return nil
	})
}

// parse reads the expression; of none it returns a filter that selects everything.
func (o selection) parse() (*filter.Filter, error) {
	f, err := filter.Parse(o.expr)
	if err != nil {
		return nil, usagef("--filter: %v", err)
	}
	return f, nil
}

// filterHelp is what the help of each command with a --filter says of it.
var filterHelp = `--filter 'tool:search status:pending' selects by terms that must all hold; -TERM or
!TERM must not. A value may be one of several (a|b), have * for anything, or stand in
quotes; a value without a field is looked for in the whole event. A term about a call
selects its request, answer, progress and cancellation.

` + filterWords()

// filterWords lists the fields.
func filterWords() string {
	var b strings.Builder
	for _, f := range filter.Fields() {
		fmt.Fprintf(&b, "  %-8s %s\n", f.Name+":", f.Says)
		if f.List {
			fmt.Fprintf(&b, "           %s\n", wordWrap(f.Wants, 70, "\n           "))
		}
	}
	return b.String()
}

// wordWrap breaks a text between words, at most width bytes a line.
func wordWrap(text string, width int, br string) string {
	var b strings.Builder
	n := 0
	for i, word := range strings.Fields(text) {
		switch {
		case i == 0:
		case n+1+len(word) > width:
			b.WriteString(br)
			n = 0
		default:
			b.WriteString(" ")
			n++
		}
		b.WriteString(word)
		n += len(word)
	}
	return b.String()
}
