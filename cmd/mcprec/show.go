package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/cli"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/output"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/report"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/session"
	"github.com/mcprec/mcprec/replay/filter"
	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport/phrase"
)

type showOptions struct {
	home
	filterFlag
	format string
	from   uint64
	limit  int
	pairs  bool
	http   bool
	body   string
}

func newShow() *cobra.Command {
	var o showOptions
	cmd := &cobra.Command{
		Use:   "show [SESSION] [#EVENT]",
		Short: "Show a session's events in their order, one a line or as a sequence diagram; or one event whole",
		Long: `show prints one line an event: its number, its time since the start in seconds, its
direction, over HTTP the number of its exchange in brackets, and what it says.
Responses name the method they answer and how long it took; with --pairs requests also
name their answer, and whatever is about a call its request. --body prints what each
message says below its line, --body=full all of it. A number with # ('#37', in quotes for
the shell) shows that event alone and whole.

Over HTTP the events of the transport are left out, unless they tell of a failure; --http
shows them, and so does a --filter that they fit. On a terminal lines are cut to its width.

--format sequence draws a diagram as wide as the terminal ($COLUMNS, else 100 columns): an arrow
a message, dashed for notifications, and beside the lifelines a rail for each call, from
its request to its answer: at the left those of the client, at the right the server's.
mcprec export --format mermaid writes one for documents.

--format json prints one object a line: seq, at (a Go duration), kind, dir,
stream, bytes, unterminated, text, messages (a list of kind, method, target, id,
token, error, text, request, latency; with --pairs response), with --body also message. It
leaves no events out. For the exact bytes see mcprec export --secrets.

` + sessionHelp,
		Example: `  mcprec show
  mcprec show --body --filter tool:search
  mcprec show SESSION '#37'
  mcprec show --filter 'tool:search status:error|pending' --pairs
  mcprec show --filter 'took:>1s' SESSION
  mcprec show --format sequence --from 100 -n 40 SESSION`,
		Args:              atMost(2),
		ValidArgsFunction: completeSessions,
		RunE:              func(cmd *cobra.Command, args []string) error { return runShow(cmd, o, args) },
	}
	o.home.addFlags(cmd)
	o.home.heedMaskFlags(cmd)
	o.filterFlag.addFlags(cmd)
	f := cmd.Flags()
	addChoice(cmd, &o.format, "format", "text, json or sequence", "text", "json", "sequence")
	f.Uint64Var(&o.from, "from", 1, "begin with event `SEQ`")
	f.IntVarP(&o.limit, "limit", "n", 0, "show `N` events only; 0 is all")
	f.BoolVar(&o.pairs, "pairs", false, "name the answer at each request, and the request of each answer")
	f.BoolVar(&o.http, "http", false, "show the events of HTTP too")
	addBodyFlag(cmd, &o.body)
	return cmd
}

// addBodyFlag adds --body, which needs no value.
func addBodyFlag(cmd *cobra.Command, body *string) {
	addChoice(cmd, body, "body", "print what a message says below its line: its first lines, or all with --body=full", "none", "short", "full")
	cmd.Flags().Lookup("body").NoOptDefVal = "short"
}

// newPrinter returns the printer of a --format and a --body.
func newPrinter(out *output.Screen, format string, pairs bool, body string) report.EntryPrinter {
	bodies := map[string]report.Bodies{"short": report.ShortBodies, "full": report.FullBodies}[body]
	switch format {
	case "json":
		return report.EntryJSON(out, pairs, bodies)
	case "sequence":
		return report.EntrySequence(out)
	}
	return report.EntryLines(out, pairs, bodies)
}

var errEnough = errors.New("enough")

func runShow(cmd *cobra.Command, options showOptions, args []string) (err error) {
	if err := notNegative("limit", options.limit); err != nil {
		return err
	}
	arg, event, err := eventOf(args)
	if err != nil {
		return err
	}
	fits, err := options.parse()
	if err != nil {
		return err
	}
	out, err := screenOf(cmd)
	if err != nil {
		return err
	}
	s, err := openPrinted(cmd, options.home, arg)
	if err != nil {
		return err
	}
	defer closeInto(&err, s)
	if event != 0 {
		return errors.Join(options.printEvent(cmd, s, event, out), out.Flush())
	}
	err = errors.Join(options.print(cmd, s, fits, out), out.Flush())
	if err != nil || options.limit > 0 || s.Store == nil {
		return err
	}
	for found, err := range s.Store.Sessions(cmd.Context(), store.Query{Prefix: string(s.ID)}) {
		if err == nil && found.ID == s.ID && found.State == store.Crashed {
			fmt.Fprintf(cmd.ErrOrStderr(), "mcprec: %s ends without being closed: %s\n", s.Name, unclosed)
		}
	}
	if options.format != "text" || options.from > 1 || fits.String() != "" {
		return nil
	}
	for _, text := range stuckIn(cmd.Context(), s) {
		fmt.Fprintf(cmd.ErrOrStderr(), "mcprec: %s\n", text)
	}
	return nil
}

// eventOf returns the session and the event that the arguments name; 0 for no event. The
// second argument may be a number without #.
func eventOf(args []string) (arg string, event uint64, err error) {
	if len(args) == 0 {
		return "", 0, nil
	}
	last := args[len(args)-1]
	number, marked := strings.CutPrefix(last, "#")
	if !marked && len(args) < 2 {
		return last, 0, nil
	}
	event, err = strconv.ParseUint(number, 10, 63)
	if err != nil || event == 0 {
		return "", 0, cli.Usagef("%s is no number of an event; want one such as '#37'", phrase.ShellWord(last))
	}
	return firstOf(args[:len(args)-1]), event, nil
}

// print prints the events that the flags select.
func (o showOptions) print(cmd *cobra.Command, s *session.Session, fits *filter.Filter, out *output.Screen) error {
	heading := ""
	if o.format == "text" && o.from <= 1 && o.expr == "" {
		introduction, err := s.Introduction(cmd.Context())
		if err != nil {
			return err
		}
		heading = introduction.String()
	}
	p := newPrinter(out, o.format, o.pairs, o.body)
	shown, leftOut := 0, 0
	last := uint64(0)
	reading := session.Reading{First: o.from, Ahead: o.pairs || fits.Ahead(), Whole: o.expr != "", ReadOptions: store.ReadOptions{Unfinished: true}}
	err := s.Entries(cmd.Context(), reading, func(entry timeline.Entry) error {
		last = entry.Seq
		switch {
		case entry.Seq < o.from || !fits.Selects(&entry):
			return nil
		case !o.http && o.expr == "" && o.format != "json" && report.IsRoutineHTTP(entry):
			leftOut++
			return nil
		case o.limit > 0 && shown == o.limit:
			return errEnough
		case entry.Seq == 1 && heading != "":
			out.Fit(output.Wrap)
			out.Paint(output.Dim, heading+"\n")
		}
		shown++
		return p.Print(entry)
	})
	switch {
	case err != nil && !errors.Is(err, errEnough):
		return err
	case err != nil:
	case last < o.from:
		fmt.Fprintf(cmd.ErrOrStderr(), "mcprec: %s ends at event %d\n", s.Name, max(last, s.Head))
	case shown == 0 && leftOut == 0:
		fmt.Fprintf(cmd.ErrOrStderr(), "mcprec: no event of %s fits --filter\n", s.Name)
	}
	if err == nil {
		err = p.Close()
	}
	if leftOut > 0 {
		out.Paint(output.Dim, fmt.Sprintf("(%s of HTTP left out; --http shows %s)\n", phrase.Plural(leftOut, "event"), phrase.Agree(leftOut, "it", "them")))
	}
	if errors.Is(err, errEnough) {
		return nil
	}
	return err
}

// printEvent prints one event whole. It reads on to the answers of the event's requests.
func (o showOptions) printEvent(cmd *cobra.Command, s *session.Session, seq uint64, out *output.Screen) error {
	found, err := s.Entry(cmd.Context(), seq)
	switch {
	case err != nil:
		return err
	case o.format == "json":
		return newPrinter(out, o.format, true, "full").Print(found)
	}
	report.WholeEntry(out, s.Name, s.Start, found)
	return nil
}
