package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/mcprec/mcprec/replay"
	"github.com/mcprec/mcprec/replay/filter"
	"github.com/mcprec/mcprec/store"
)

type showOptions struct {
	home
	selection
	format string
	from   uint64
	limit  int
	pairs  bool
}

func newShow() *cobra.Command {
	var o showOptions
	cmd := &cobra.Command{
		Use:   "show [SESSION]",
		Short: "Show a session's events in their order, one a line or as a sequence diagram",
		Long: `show prints one line an event: its number, its time since the start in seconds, its
direction, over HTTP the number of its exchange in brackets, and what it says.
Responses name the method they answer and how long it took; with --pairs requests also
name their answer, and whatever is about a call its request.

--format sequence draws a diagram as wide as the terminal ($COLUMNS, else 100 columns): an arrow
a message, dashed for notifications, and beside the lifelines a rail for each call, from
its request to its answer: at the left those of the client, at the right the server's.
mcprec export --format mermaid writes one for documents.

` + filterHelp + `
--format json prints one object a line: seq, at (a Go duration), kind, dir,
stream, bytes, unterminated, text, messages (a list of kind, method, target, id,
token, error, request, latency; with --pairs response). For the exact bytes see mcprec
export.

` + sessionHelp + "\n\n" + exitLine,
		Example: `  mcprec show
  mcprec show --filter 'tool:search status:error|pending' --pairs
  mcprec show --filter 'took:>1s' SESSION
  mcprec show --format sequence --from 100 -n 40 SESSION`,
		Args:              atMost(1),
		ValidArgsFunction: completeSessions,
		RunE:              func(cmd *cobra.Command, args []string) error { return runShow(cmd, o, firstOf(args)) },
	}
	o.home.addDoor(cmd)
	o.selection.addFlags(cmd)
	f := cmd.Flags()
	f.StringVar(&o.format, "format", "text", "text, json or sequence")
	f.Uint64Var(&o.from, "from", 1, "begin with event `SEQ`")
	f.IntVarP(&o.limit, "limit", "n", 0, "show `N` events only; 0 is all")
	f.BoolVar(&o.pairs, "pairs", false, "name the answer at each request, and the request of each answer")
	f.BoolFunc("sequence", "", func(string) error { o.format = "sequence"; return nil }) // as it was called until 0.2
	_ = f.MarkHidden("sequence")
	completeWords(cmd, "format", "text", "json", "sequence")
	return cmd
}

func (o showOptions) check() error {
	return errors.Join(oneOf("format", o.format, "text", "json", "sequence"), notNegative("limit", o.limit))
}

// errEnough ends a fold whose limit is reached.
var errEnough = errors.New("enough")

func runShow(cmd *cobra.Command, o showOptions, arg string) (err error) {
	if err := o.check(); err != nil {
		return err
	}
	fits, err := o.parse()
	if err != nil {
		return err
	}
	out, err := newScreen(cmd)
	if err != nil {
		return err
	}
	s, err := openSession(cmd, o.home, arg)
	if err != nil {
		return err
	}
	defer closeInto(&err, s)
	err = errors.Join(o.print(cmd, s, fits, out), out.flush())
	if err == nil && o.limit == 0 && s.crashed(cmd.Context()) {
		fmt.Fprintf(cmd.ErrOrStderr(), "mcprec: %s ends without being closed: %s\n", s.name, unclosed)
	}
	return err
}

// print shows the events that were asked for.
func (o showOptions) print(cmd *cobra.Command, s *session, fits *filter.Filter, out *screen) error {
	p := newEntryPrinter(out, o.format, o.pairs)
	if o.format == "sequence" {
		p = newSequencePrinter(out)
	}
	shown := 0
	// Requests before --from are folded too: their responses name them.
	last := uint64(0)
	t, from, err := s.transcriptFrom(cmd.Context(), o.pairs || fits.Ahead(), o.from, func(e replay.Entry) error {
		if last = e.Seq; e.Seq < o.from || !fits.Selects(&e) {
			return nil
		}
		if o.limit > 0 && shown == o.limit {
			return errEnough
		}
		shown++
		return p.print(e)
	})
	if err != nil {
		return err
	}
	last = from - 1
	err = replay.Project(s.events(cmd.Context(), from, store.ReadOptions{}), t)
	switch {
	case errors.Is(err, errEnough):
		return nil
	case err != nil:
		return err
	case last < o.from:
		fmt.Fprintf(cmd.ErrOrStderr(), "mcprec: %s ends at event %d\n", s.name, last)
	case shown == 0:
		fmt.Fprintf(cmd.ErrOrStderr(), "mcprec: no event of %s fits --filter\n", s.name)
	}
	return p.close()
}
