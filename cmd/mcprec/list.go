package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/exit"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/process"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/report"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/session"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/terminal"
	"github.com/mcprec/mcprec/replay/filter"
	"github.com/mcprec/mcprec/replay/summary"
	"github.com/mcprec/mcprec/store"
)

type listOptions struct {
	home
	span
	filterFlag
	format string
	limit  int
}

func newList() *cobra.Command {
	var o listOptions
	cmd := &cobra.Command{
		Use:   "list [PREFIX | LABEL]",
		Short: "List the sessions in the store, newest first",
		Long: `list shows the sessions in the store, newest first; with a word those whose id
begins so, or whose label it is. --filter keeps the sessions with an event that it selects,
as it does in mcprec show: --filter 'tool:search status:error' --since 7d.

START is local time. The first column is the shortest prefix, of 8 characters or more, that names the
session. STATE is live while a recorder holds it, closed when the recording came
to its end, crashed when its recorder died: what is there is an unbroken
beginning.

--format json prints one object a line: id, label, start (RFC 3339), command (a
list), transport, frames, bytes, lost, state, exit (a number; "signal: NAME";
null when unknown), labels, an object, if record was given --label NAME=VALUE,
doubtful, the first event that a failing disk may not have kept, if there is one, and
masked, true, if record was given --mask.`,
		Example: "  mcprec list\n  mcprec list -n 20\n  mcprec list --filter 'tool:search status:error' --since 7d\n  mcprec list --format json nightly",
		Args:    atMost(1),
		RunE:    func(cmd *cobra.Command, args []string) error { return runList(cmd, o, firstOf(args)) },
	}
	o.addMaskFlags(cmd)
	o.span.addFlags(cmd)
	o.filterFlag.addFlags(cmd)
	addChoice(cmd, &o.format, "format", "text or json", "text", "json")
	cmd.Flags().IntVarP(&o.limit, "limit", "n", 0, "show the newest `N` only; 0 is all")
	return cmd
}

func runList(cmd *cobra.Command, options listOptions, name string) (err error) {
	defer process.LimitMemory()()
	if err := notNegative("limit", options.limit); err != nil {
		return err
	}
	db, err := openStore(cmd, options.home)
	if err != nil {
		return err
	}
	defer closeInto(&err, db)
	fits, err := options.parse()
	if err != nil {
		return err
	}
	sessions, err := options.sessions(cmd, db) // after an error the other parts of the store are still listed
	sessions = slices.DeleteFunc(sessions, func(s store.Session) bool {
		return !strings.HasPrefix(string(s.ID), strings.ToLower(name)) && !session.HasLabel(s.Header, name)
	})
	if fits.String() != "" {
		fitting, fault := filterSessions(cmd, db, sessions, fits)
		sessions, err = fitting, errors.Join(err, fault)
	}
	for i := range sessions {
		sessions[i].Header = db.Masker.Header(sessions[i].Header)
	}
	w, serr := screenOf(cmd)
	if serr != nil {
		return errors.Join(err, serr)
	}
	if options.format == "json" {
		enc := report.NewEncoder(w)
		for _, s := range newest(sessions, options.limit) {
			err = errors.Join(err, enc.Encode(lineOf(s)))
		}
	} else {
		listText(w, sessions, options.limit)
	}
	if len(sessions) == 0 && err == nil && options.format == "text" {
		switch {
		case fits.String() != "" || options.since != nil || options.labels.String() != "":
			fmt.Fprintf(cmd.ErrOrStderr(), "mcprec: no such session in %s\n", db.Info().Location)
			return w.Flush()
		case name != "":
			return exit.Usagef("no session has the id or the label %s in %s", name, db.Info().Location)
		}
		fmt.Fprintf(cmd.ErrOrStderr(), "mcprec: no sessions in %s; make one with mcprec record -- COMMAND\n", db.Info().Location)
	}
	return errors.Join(err, w.Flush())
}

// filterSessions returns the sessions with an event that the filter selects. The summary answers
// for most of them if the filter names a tool; the others are read.
func filterSessions(cmd *cobra.Command, db *session.Store, sessions []store.Session, fits *filter.Filter) (list []store.Session, err error) {
	calls, whole := fits.OfToolCalls()
	var found map[store.SessionID]summary.Summary
	if calls != nil {
		found, err = db.Summaries(cmd.Context(), sessions)
	}
	for _, s := range sessions {
		if calls != nil {
			x, isRead := found[s.ID]
			if !isRead {
				continue // the error says why
			}
			has, known := x.HasCall(calls)
			if known && has && whole {
				list = append(list, s)
			}
			if known && (whole || !has) {
				continue
			}
		}
		selected, fault := db.Session(s).Has(cmd.Context(), fits)
		if err = errors.Join(err, fault); selected {
			list = append(list, s)
		}
	}
	return list, err
}

func newest(sessions []store.Session, limit int) []store.Session {
	if limit > 0 && limit < len(sessions) {
		return sessions[:limit]
	}
	return sessions
}

// sessionLine is the stable form of list --format json.
type sessionLine struct {
	ID        store.SessionID   `json:"id"`
	Label     string            `json:"label"`
	Start     time.Time         `json:"start"`
	Command   []string          `json:"command"`
	Transport string            `json:"transport"`
	Frames    uint64            `json:"frames"`
	Bytes     uint64            `json:"bytes"`
	Lost      uint64            `json:"lost"`
	Doubtful  uint64            `json:"doubtful,omitempty"`
	State     store.State       `json:"state"`
	Exit      any               `json:"exit"`
	Labels    map[string]string `json:"labels,omitempty"`
	Masked    bool              `json:"masked,omitempty"`
}

func lineOf(s store.Session) sessionLine {
	line := sessionLine{s.ID, s.Label, s.Start, s.Command, s.Transport, s.Frames, s.Bytes, s.Lost, s.Doubtful, s.State, nil, s.Labels, s.Masked != nil}
	if line.Command == nil {
		line.Command = []string{}
	}
	if s.Exit != "" {
		line.Exit = s.Exit
		if code, err := strconv.Atoi(s.Exit); err == nil {
			line.Exit = code
		}
	}
	return line
}

func listText(w *terminal.Screen, sessions []store.Session, limit int) {
	if len(sessions) == 0 {
		return
	}
	short := shortIDs(sessions)
	sessions = newest(sessions, limit)
	id := len("SESSION")
	label := len("LABEL")
	for i, s := range sessions {
		id = max(id, len(short[i]))
		label = max(label, utf8.RuneCountInString(terminal.Plain(labelOf(s))))
	}
	const before, after = "%-*s  %-19s  %7v  %10v  ", "  %-10s  %-*s  %s"
	row := fmt.Sprintf(before+"%-7s"+after, id, "SESSION", "START", "FRAMES", "BYTES", "STATE", "EXIT", label, "LABEL", "COMMAND")
	w.Paint(terminal.Dim, row)
	w.Paint(terminal.Unpainted, "\n")
	for i, s := range sessions {
		start := ""
		if !s.Start.IsZero() { // as in recordings of other programs
			start = s.Start.Local().Format(time.DateTime)
		}
		w.Paint(terminal.Unpainted, fmt.Sprintf(before, id, short[i], start, s.Frames, s.Bytes))
		w.Paint(map[store.State]terminal.Style{store.Live: terminal.Green, store.Crashed: terminal.Red}[s.State], fmt.Sprintf("%-7s", s.State))
		w.Paint(terminal.Unpainted, fmt.Sprintf(after, terminal.Plain(strings.TrimPrefix(s.Exit, "signal: ")), label, terminal.Plain(labelOf(s)), terminal.Plain(commandOf(s))))
		if s.Masked != nil {
			w.Paint(terminal.Dim, "  (masked)")
		}
		if s.Lost > 0 {
			w.Paint(terminal.Red, fmt.Sprintf("  (%d lost)", s.Lost))
		}
		if s.Doubtful > 0 {
			w.Paint(terminal.Red, fmt.Sprintf("  (doubtful from event %d)", s.Doubtful))
		}
		w.Paint(terminal.Unpainted, "\n")
	}
}

func commandOf(session store.Session) string {
	if session.URL != "" {
		return session.URL
	}
	return strings.Join(session.Command, " ")
}

// shortIDs returns the shortest unique prefixes of the ids, of at least 8 characters.
func shortIDs(sessions []store.Session) []string {
	need := make(map[store.SessionID]int, len(sessions))
	sorted := make([]store.SessionID, len(sessions))
	for i, s := range sessions {
		sorted[i] = s.ID
		need[s.ID] = 8
	}
	slices.Sort(sorted)
	for i := 1; i < len(sorted); i++ {
		a, b := sorted[i-1], sorted[i]
		n := 0
		for n < len(a) && n < len(b) && a[n] == b[n] {
			n++
		}
		need[a], need[b] = max(need[a], n+1), max(need[b], n+1)
	}
	short := make([]string, len(sessions))
	for i, s := range sessions {
		short[i] = string(s.ID[:min(need[s.ID], len(s.ID))])
	}
	return short
}
