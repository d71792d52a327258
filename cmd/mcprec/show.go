package main

import (
	"errors"
	"fmt"
	"time"

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
	from   eventNumber
	limit  int
	last   int
	follow bool
	pairs  bool
	http   bool
	body   string
}

func newShow() *cobra.Command {
	o := showOptions{from: 1}
	cmd := &cobra.Command{
		Use:   "show [SESSION] [EVENT]",
		Short: "Show a session's messages in order, or one whole, or what comes now",
		Example: `  mcprec show
  mcprec show 37
  mcprec show --filter 'tool:search status:error|pending' --pairs SESSION
  mcprec show -f --body`,
		Args:              atMost(2),
		ValidArgsFunction: completeSessions,
		RunE:              func(cmd *cobra.Command, args []string) error { return runShow(cmd, o, args) },
	}
	o.home.addFlags(cmd)
	o.home.heedMaskFlags(cmd)
	o.filterFlag.addFlags(cmd)
	f := cmd.Flags()
	addFormat(cmd, &o.format, "text", "json", "sequence")
	f.Var(&o.from, "from", "begin with this `EVENT`")
	f.IntVarP(&o.limit, "limit", "n", 0, "`N` events only; 0 is all")
	f.IntVar(&o.last, "last", 0, "the last `N` events; with -f 10, unless --from is given")
	f.BoolVarP(&o.follow, "follow", "f", false, "print what is recorded now, until the session ends")
	f.BoolVar(&o.pairs, "pairs", false, "name the answer of each request, and the reverse")
	f.BoolVar(&o.http, "http", false, "show the events of HTTP too")
	addBodyFlag(cmd, &o.body)
	return cmd
}

// addBodyFlag adds --body, which needs no value.
func addBodyFlag(cmd *cobra.Command, body *string) {
	addChoice(cmd, body, "body", "print the messages, too: their first lines, or full", "none", "short", "full")
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
	if err := options.settle(cmd); err != nil {
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
	if options.follow && len(args) == 0 {
		live, err := awaitLive(cmd, options.home)
		if err != nil {
			return err
		}
		args = []string{live}
	}
	s, event, err := openAtEvent(cmd, options.home, args)
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

// settle refuses flags that do not go together, and sets --last as -f has it.
func (o *showOptions) settle(cmd *cobra.Command) error {
	if o.follow && o.last == 0 && !cmd.Flags().Changed("last") && !cmd.Flags().Changed("from") {
		o.last = 10
	}
	switch {
	case o.limit > 0 && o.follow:
		return cli.Usagef("show -f has no --limit; --last %d begins with the last %d events", o.limit, o.limit)
	case o.limit > 0 && o.last > 0:
		return cli.Usagef("--limit is the first events, --last the last; leave one out")
	case o.follow && o.pairs:
		return cli.Usagef("show -f has no --pairs: an answer that has not come has no name")
	}
	return errors.Join(notNegative("limit", o.limit), notNegative("last", o.last))
}

// print prints the events that the flags select, and with --follow those to come.
func (o showOptions) print(cmd *cobra.Command, s *session.Session, fits *filter.Filter, out *output.Screen) error {
	heading := ""
	if o.format == "text" && o.from <= 1 && o.last == 0 && o.expr == "" {
		introduction, err := s.Introduction(cmd.Context())
		if err != nil {
			return err
		}
		heading = introduction.String()
	}
	p := newPrinter(out, o.format, o.pairs, o.body)
	follow := o.follow && s.Store != nil
	reading := session.Reading{
		First: uint64(o.from), Ahead: o.pairs || fits.Ahead(), Whole: o.expr != "",
		ReadOptions: store.ReadOptions{Unfinished: !o.follow, Follow: follow},
	}
	if last := uint64(o.last); last > 0 && s.Head > last {
		reading.First = max(reading.First, s.Head-last+1)
	}
	shown, leftOut := 0, 0
	show := func(entry timeline.Entry) error {
		shown++
		err := p.Print(entry)
		if follow {
			err = errors.Join(err, out.Flush())
		}
		return err
	}
	w := lastEntries{n: o.last, live: o.last == 0 || follow && s.Head == 0}
	last := uint64(0)
	err := s.Entries(cmd.Context(), reading, func(entry timeline.Entry) error {
		last = entry.Seq
		switch {
		case entry.Seq < uint64(o.from) || !fits.Selects(&entry):
		case !o.http && o.expr == "" && o.format != "json" && entry.IsRoutineHTTP():
			leftOut++
		case o.limit > 0 && shown == o.limit:
			return errEnough
		case !w.live:
			w.add(entry)
		default:
			if entry.Seq == 1 && heading != "" {
				out.Fit(output.Wrap)
				out.Paint(output.Dim, heading+"\n")
			}
			return show(entry)
		}
		if follow && entry.Seq >= s.Head {
			return w.release(show)
		}
		return nil
	})
	err = errors.Join(w.release(show), err)
	switch {
	case err != nil && !errors.Is(err, errEnough):
		return err
	case err != nil:
	case last < uint64(o.from):
		fmt.Fprintf(cmd.ErrOrStderr(), "mcprec: %s ends at event %d\n", s.Name, max(last, s.Head))
	case shown == 0 && leftOut == 0:
		fmt.Fprintf(cmd.ErrOrStderr(), "mcprec: no event of %s fits --filter %s%s\n", s.Name, phrase.ShellWord(fits.String()), didYouMean(fits))
	}
	if err == nil {
		err = p.Close()
	}
	if leftOut > 0 && o.last == 0 {
		out.Paint(output.Dim, fmt.Sprintf("(%s of HTTP left out; --http shows %s)\n", phrase.Plural(leftOut, "event"), phrase.Agree(leftOut, "it", "them")))
	}
	if errors.Is(err, errEnough) {
		return nil
	}
	return err
}

// lastEntries holds the last n entries, until they are released.
type lastEntries struct {
	n       int
	entries []timeline.Entry
	live    bool // they have been released: what comes now is shown at once
}

func (l *lastEntries) add(entry timeline.Entry) {
	l.entries = append(l.entries, entry)
	l.entries = l.entries[max(len(l.entries)-l.n, 0):]
}

func (l *lastEntries) release(show func(timeline.Entry) error) error {
	l.live = true
	for _, entry := range l.entries {
		if err := show(entry); err != nil {
			return err
		}
	}
	l.entries = nil
	return nil
}

// awaitLive returns the newest live session, or waits for one. File systems have no portable
// way to announce a new file, so it looks five times a second.
func awaitLive(cmd *cobra.Command, home home) (id string, err error) {
	db, err := session.OpenUnmasked(cmd.Context(), home.Home)
	if err != nil {
		return "", err
	}
	defer closeInto(&err, db)
	ctx := cmd.Context()
	for told := false; ; told = true {
		for s, err := range db.Sessions(ctx, store.Query{Newest: true, Limit: 5}) {
			if err == nil && s.State == store.Live {
				return string(s.ID), nil
			}
		}
		if !told {
			fmt.Fprintln(cmd.ErrOrStderr(), "mcprec: no session is live; waiting for the next")
		}
		select {
		case <-ctx.Done():
			return "", ctx.Err()
		case <-time.After(200 * time.Millisecond):
		}
	}
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
