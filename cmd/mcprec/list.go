package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/cli"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/output"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/report"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/retention"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/session"
	"github.com/mcprec/mcprec/replay/filter"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport/phrase"
)

type listOptions struct {
	home
	span
	filterFlag
	format string
	limit  int
	wide   bool
	stuck  bool // only live sessions that are stuck
	hung   bool // only sessions that hang, or that have ended and hung
}

func newList() *cobra.Command {
	var o listOptions
	cmd := &cobra.Command{
		Use:     "list [PREFIX | LABEL]",
		Aliases: []string{"ls"},
		Short:   "List the sessions in the store, newest first",
		Example: "  mcprec list\n  mcprec list --hung --since yesterday\n  mcprec list --filter 'tool:search status:error' --since 7d\n  mcprec list --json nightly",
		Args:    atMost(1),
		RunE:    func(cmd *cobra.Command, args []string) error { return runList(cmd, o, firstOf(args)) },
	}
	o.home.addFlags(cmd)
	o.heedMaskFlags(cmd)
	o.span.addFlags(cmd)
	o.filterFlag.addFlags(cmd)
	addFormat(cmd, &o.format, "text", "json")
	cmd.Flags().BoolVar(&o.wide, "wide", false, "also server, client and revision")
	cmd.Flags().BoolVar(&o.stuck, "stuck", false, "only live sessions that are stuck")
	cmd.Flags().BoolVar(&o.hung, "hung", false, "only sessions that hung, and live ones that hang")
	cmd.Flags().IntVarP(&o.limit, "limit", "n", 0, "the newest `N`; 0 is all (default 30 on a terminal)")
	return cmd
}

func runList(cmd *cobra.Command, options listOptions, name string) (err error) {
	defer cli.LimitMemory()()
	if err := notNegative("limit", options.limit); err != nil {
		return err
	}
	db, err := openExisting(cmd, options.home)
	if err != nil {
		return err
	}
	defer closeInto(&err, db)
	fits, err := options.parse()
	if err != nil {
		return err
	}
	sessions, err := (&span{}).sessions(cmd, db) // after an error the other parts of the store are still listed
	short := shortIDs(sessions)                  // unique in the whole store, not only in the list
	labelled := session.WithLabel(sessions, name)
	sessions = slices.DeleteFunc(sessions, func(s store.Session) bool {
		isNamed := strings.HasPrefix(string(s.ID), strings.ToLower(name)) || slices.ContainsFunc(labelled, func(l store.Session) bool { return l.ID == s.ID })
		return !options.has(s) || !isNamed
	})
	if fits.String() != "" {
		fitting, fault := db.Fitting(cmd.Context(), sessions, fits)
		sessions = fitting
		err = errors.Join(err, fault)
	}
	isLimited := options.format == "text" && !cmd.Flags().Changed("limit") && output.IsTerminal(cmd.OutOrStdout())
	if isLimited {
		options.limit = screenful
	}
	older := 0
	if !options.stuck && !options.hung {
		sessions, older = newest(sessions, options.limit) // the older sessions are not read
	}
	stuck, fault := options.hangs(cmd, db, sessions)
	err = errors.Join(err, fault)
	if options.stuck || options.hung {
		sessions = slices.DeleteFunc(sessions, func(s store.Session) bool {
			return !stuck[s.ID].Stuck() || s.State != store.Live && !options.hung
		})
		sessions, older = newest(sessions, options.limit)
	}
	db.Masker.Headers(sessions)
	shown := listing{sessions: sessions, short: short, stuck: stuck}
	if options.wide {
		found, fault := report.Introductions(cmd.Context(), db, sessions)
		shown.ends = found
		err = errors.Join(err, fault)
	}
	w, fault := screenOf(cmd)
	if fault != nil {
		return errors.Join(err, fault)
	}
	if options.format == output.JSON {
		enc := output.NewEncoder(w)
		for _, s := range sessions {
			err = errors.Join(err, enc.Encode(report.ListSession(s, stuck[s.ID], shown.ends[s.ID])))
		}
	} else {
		shown.print(w)
	}
	if len(sessions) == 0 && err == nil {
		err = options.sayNone(cmd.ErrOrStderr(), name, fits, db)
	}
	err = errors.Join(err, w.Flush())
	if options.format != output.JSON && len(sessions) > 0 {
		err = errors.Join(err, sayBudget(cmd, db))
	}
	if isLimited && older > 0 {
		fmt.Fprintf(cmd.ErrOrStderr(), "mcprec: %s %s not listed; -n 0 lists all\n", phrase.Plural(older, "older session"), phrase.Agree(older, "is", "are"))
	}
	return err
}

// screenful is how many sessions a list on a terminal has, unless --limit says otherwise.
const screenful = 30

// recently is how long list says that sessions were deleted.
const recently = 7 * 24 * time.Hour

// sayBudget says what the limit of the store is and what was last deleted for it, so that nobody looks in vain for a
// session. It says nothing while less than half is used and nothing was deleted recently.
func sayBudget(cmd *cobra.Command, db *session.Store) error {
	memory, err := retention.Recall(db.Folder)
	if err != nil || memory == (retention.Memory{}) {
		return err // no recorder has set a budget
	}
	space, err := db.Space(cmd.Context())
	if err != nil {
		return nil // the list has reported it
	}
	isFull := memory.Size > 0 && space.Files > memory.Size/2
	if !isFull && memory.Last.Day < time.Now().Add(-recently).Format(time.DateOnly) {
		return nil
	}
	_, err = fmt.Fprintf(cmd.ErrOrStderr(), "mcprec: the store's limit: %s\n", memory.Text(space.Files))
	return err
}

// sayNone says why nothing is listed. A name that no session has is a usage error.
func (o *listOptions) sayNone(w io.Writer, name string, fits *filter.Filter, db *session.Store) (err error) {
	location := db.Info().Location
	switch {
	case fits.String() != "":
		_, err = fmt.Fprintf(w, "mcprec: no such session in %s: none has an event that fits --filter %s%s\n", location, phrase.ShellWord(fits.String()), didYouMean(fits))
	case o.hung:
		_, err = fmt.Fprintf(w, "mcprec: no session in %s hangs, and none has hung\n", location)
	case o.stuck:
		_, err = fmt.Fprintf(w, "mcprec: no live session in %s is stuck\n", location)
	case o.since != nil || o.labels.String() != "":
		_, err = fmt.Fprintf(w, "mcprec: no such session in %s\n", location)
	case o.format == output.JSON:
	case name != "":
		return cli.Usagef("no session has the id or the label %s in %s", name, location)
	case db.Missing():
		_, err = fmt.Fprintf(w, "mcprec: %v\n", output.Plain(db.NotFound("").Error()))
	default:
		_, err = fmt.Fprintf(w, "mcprec: no sessions in %s; make one with mcprec record -- COMMAND\n", location)
	}
	return err
}

// Limits of what a list reads to say that a session hung: it must have ended within the last hour.
const (
	mostHung      = 20      // sessions
	mostHungBytes = 4 << 20 // of one
)

// hangs returns what mcprec why says of the live sessions of a list, and of those that ended not long ago,
// with --hung of all. The others are not read.
func (o *listOptions) hangs(cmd *cobra.Command, db *session.Store, sessions []store.Session) (_ map[store.SessionID]report.Hangs, err error) {
	found := map[store.SessionID]report.Hangs{}
	over := 0
	for _, s := range sessions {
		switch isRecent := report.EndedWithin(s, time.Hour) && s.Bytes <= mostHungBytes && over < mostHung; {
		case s.State == store.Live, o.hung:
		case isRecent && !o.stuck:
			over++
		default:
			continue
		}
		a, fault := report.HangsIn(cmd.Context(), db.Session(s), 0)
		switch {
		case fault == nil:
			found[s.ID] = a
		case !session.IsGone(fault):
			err = errors.Join(err, fault)
		}
	}
	return found, err
}

// newest returns the first sessions of a list, at most limit of them if that is not 0, and how many others there are.
func newest(sessions []store.Session, limit int) (first []store.Session, others int) {
	if limit > 0 && limit < len(sessions) {
		return sessions[:limit], len(sessions) - limit
	}
	return sessions, 0
}

// listing has the listed sessions, and what the list says of them besides their headers.
type listing struct {
	sessions []store.Session
	short    map[store.SessionID]string               // the short ids
	stuck    map[store.SessionID]report.Hangs         // what mcprec why says of the live sessions, and of some that have ended
	ends     map[store.SessionID]session.Introduction // what client and server said of themselves; nil without --wide
}

// columns returns the columns of a list.
//
// To add one: add it here, and to report.ListedSession what it has for --format json.
func (l *listing) columns(layout int) []output.Column[store.Session] {
	type column = output.Column[store.Session]
	date, label := time.DateTime, labelOf
	if layout > output.Roomy {
		date, label = "01-02 15:04", serverOf
	}
	columns := []column{
		{Title: "SESSION", UpTo: output.Narrowest, Cell: func(s store.Session) string { return l.short[s.ID] }},
		{Title: "START", Width: len(date), UpTo: output.Narrowest, Cell: func(s store.Session) string {
			if s.Start.IsZero() { // as in recordings of other programs
				return ""
			}
			return s.Start.Local().Format(date)
		}},
		{Title: "MESSAGES", Right: true, UpTo: output.Narrow, Cell: func(s store.Session) string { return strconv.FormatUint(s.Frames, 10) }},
		{Title: "BYTES", Width: 10, Right: true, Cell: func(s store.Session) string { return strconv.FormatUint(s.Bytes, 10) }},
		{Title: "STATE", Width: 7, UpTo: output.Narrowest, IsWhole: true, Cell: l.stateText, Style: l.stateStyle},
		{Title: "EXIT", Width: 10, Cell: func(s store.Session) string { return strings.TrimPrefix(s.Exit, "signal: ") }},
	}
	if l.ends != nil {
		columns = append(columns,
			column{Title: "SERVER", UpTo: output.Narrowest, Cell: func(s store.Session) string { return l.ends[s.ID].Server }},
			column{Title: "CLIENT", UpTo: output.Narrowest, Cell: func(s store.Session) string { return l.ends[s.ID].Client }},
			column{Title: "REVISION", UpTo: output.Narrowest, Cell: func(s store.Session) string { return l.ends[s.ID].Revision }})
	}
	return append(columns,
		column{Title: "LABEL", UpTo: output.Narrowest, Widens: true, Cell: label}, // the tail of the command says less
		column{Title: "COMMAND", UpTo: output.Narrowest, Cell: commandOf})
}

func (l *listing) stateText(s store.Session) string { return l.stuck[s.ID].StateText(s.State, s.Exit) }

func (l *listing) stateStyle(s store.Session) output.Style {
	switch {
	case l.stuck[s.ID].Longest() > 0:
		return output.Red
	case s.State == store.Ended && l.stateText(s) != string(s.State): // exit 1
		return output.Yellow
	}
	return map[store.State]output.Style{store.Live: output.Green, store.Crashed: output.Red}[s.State]
}

// print prints a table.
func (l *listing) print(screen *output.Screen) {
	output.Table[store.Session]{Rows: l.sessions, Columns: l.columns, Behind: func(screen *output.Screen, s store.Session) {
		if s.Masked != nil {
			screen.Paint(output.Dim, "  (masked)")
		}
		if s.Lost > 0 {
			screen.Paint(output.Red, fmt.Sprintf("  (%d lost)", s.Lost))
		}
		if s.Doubtful > 0 {
			screen.Paint(output.Red, fmt.Sprintf("  (doubtful from event %d)", s.Doubtful))
		}
	}}.Print(screen)
}

// serverOf returns what a narrow list has room for of the labels: the name of the server, if wrap gave one.
func serverOf(s store.Session) string { return cmp.Or(s.Labels["server"], labelOf(s)) }

func commandOf(session store.Session) string {
	if session.URL != "" {
		return session.URL
	}
	return strings.Join(session.Command, " ")
}

// leastPrefix is how many characters of an id a list shows at least.
const leastPrefix = 8

// shortIDs returns the shortest unique prefix of each id, of leastPrefix characters or more.
func shortIDs(sessions []store.Session) map[store.SessionID]string {
	need := make(map[store.SessionID]int, len(sessions))
	sorted := make([]store.SessionID, len(sessions))
	for i, s := range sessions {
		sorted[i] = s.ID
		need[s.ID] = leastPrefix
	}
	slices.Sort(sorted)
	for i := 1; i < len(sorted); i++ {
		a, b := sorted[i-1], sorted[i]
		common := 0
		for common < len(a) && common < len(b) && a[common] == b[common] {
			common++
		}
		need[a] = max(need[a], common+1)
		need[b] = max(need[b], common+1)
	}
	short := make(map[store.SessionID]string, len(sessions))
	for id, length := range need {
		short[id] = string(id[:min(length, len(id))])
	}
	return short
}
