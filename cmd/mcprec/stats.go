package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/cli"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/output"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/session"
	"github.com/mcprec/mcprec/replay/summary"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport/phrase"
)

// span is the flags --since and --label of a command about many sessions.
type span struct {
	since  *time.Time
	labels labels
}

func (s *span) addFlags(cmd *cobra.Command) {
	addParsed(cmd, &s.since, "since", "only sessions since `THEN`: 12h, 7d, yesterday, 2026-11-28", func(text string) (time.Time, error) {
		return phrase.ParseSince(text, time.Now())
	})
	completeWords(cmd, "since", "today", "yesterday", "1h", "1d", "7d")
	s.labels.addFlag(cmd, oneLabel)
}

// allSessions is the help of --all, which means the same in check and in why.
const allSessions = "every session of the store, live ones too"

// none returns the error of a command that finds no session in the span.
func (s *span) none(db *session.Store) error {
	if s.since != nil {
		return cli.Usagef("no session in %s fits --since %s", db.Info().Location, s.since.Format(time.DateTime))
	}
	return cli.Usagef("%w", db.NotFound(s.labels.String()))
}

// has reports whether a session is in the span.
func (s *span) has(x store.Session) bool {
	return s.labels.of(x.Header) && (s.since == nil || !x.Start.Before(*s.since))
}

type statsOptions struct {
	home
	span
	format string
	by     string
	sort   string // what the rows are ordered by
}

func newStats() *cobra.Command {
	var o statsOptions
	cmd := &cobra.Command{
		Use:               "stats",
		Short:             "Count the calls of every tool, or the sessions of every server",
		Example:           "  mcprec stats --since 7d --sort p95\n  mcprec stats --label nightly\n  mcprec stats --by server --sort hung",
		Args:              atMost(0),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, _ []string) error { return runStats(cmd, o) },
	}
	o.home.addFlags(cmd) // there are only names, and a secret in one is masked
	o.span.addFlags(cmd)
	addFormat(cmd, &o.format, "text", "json")
	addChoice(cmd, &o.by, "by", "a row for each `WHAT`: tool or server", "tool", "server")
	addChoice(cmd, &o.sort, "sort", "the `ORDER` of the rows: name, calls, errors, hung, p95 or sessions", "name", "calls", "errors", "hung", "p95", "sessions")
	return cmd
}

// summarized is a session with its summary.
type summarized struct {
	store.Session
	summary.Summary
}

// table is rows of text with their stable form.
type table struct {
	head []string
	wide []string // the columns that a narrow terminal has no room for
	rows []tableRow
	left bool // all columns are words
}

type tableRow struct {
	cells []string
	bad   bool // a row with hangs
	value any
}

// runStats prints a table of the sessions in the span.
func runStats(cmd *cobra.Command, options statsOptions) (err error) {
	tabulate := toolTable
	if options.by == "server" {
		tabulate = serverTable
		if options.sort == "calls" || options.sort == "p95" {
			return cli.Usagef("--sort %s is for --by tool; want one of name, errors, hung, sessions", options.sort)
		}
	}
	defer cli.LimitMemory()()
	db, err := openExisting(cmd, options.home)
	if err != nil {
		return err
	}
	defer closeInto(&err, db)
	sessions, err := options.sessions(cmd, db)
	found, fault := db.Summaries(cmd.Context(), sessions)
	err = errors.Join(err, fault) // the other sessions are counted
	var list []summarized
	for _, s := range sessions {
		if x, ok := found[s.ID]; ok {
			list = append(list, summarized{s, x})
		}
	}
	t := tabulate(db.Masker, list, options.sort)
	w, fault := screenOf(cmd)
	if fault != nil {
		return errors.Join(err, fault)
	}
	if options.format == output.JSON {
		enc := output.NewEncoder(w)
		for _, row := range t.rows {
			err = errors.Join(err, enc.Encode(row.value))
		}
	} else {
		t.print(w)
	}
	if len(t.rows) == 0 && err == nil && options.format != output.JSON {
		fmt.Fprintf(cmd.ErrOrStderr(), "mcprec: nothing to count in %d sessions of %s\n", len(sessions), db.Info().Location)
	}
	return errors.Join(err, w.Flush())
}

// sessions lists the sessions in the span, newest first.
func (s *span) sessions(cmd *cobra.Command, db *session.Store) (list []store.Session, err error) {
	for x, fault := range db.Sessions(cmd.Context(), store.Query{Newest: true}) {
		if fault != nil {
			err = errors.Join(err, fault)
		} else if s.has(x) {
			list = append(list, x)
		}
	}
	return list, err
}

// print writes the table, on a terminal that is too narrow for it without some columns and with the first one
// cut. Numbers stand on the right of their column, the last column is open.
func (t table) print(w *output.Screen) {
	if len(t.rows) == 0 {
		return
	}
	widths, total := t.widths()
	if w.Narrow(total) && len(t.wide) > 0 {
		w.Fit(output.Clip)
		t = t.without(t.wide)
		if widths, total = t.widths(); w.Narrow(total) {
			widths[0] = max(widths[0]-(total-w.Width), 12)
		}
	}
	line := func(cells []string) string {
		var b strings.Builder
		for i, cell := range cells {
			if i == 0 {
				cell = phrase.CutColumns(cell, widths[0])
			} else {
				b.WriteString("  ")
			}
			pad := strings.Repeat(" ", max(widths[i]-output.Columns(cell), 0))
			if t.left || i == 0 || i == len(cells)-1 {
				cell += pad
			} else {
				cell = pad + cell
			}
			b.WriteString(cell)
		}
		return strings.TrimRight(b.String(), " ") + "\n"
	}
	w.Paint(output.Dim, line(t.head))
	for _, row := range t.rows {
		style := output.Unpainted
		if row.bad {
			style = output.Red
		}
		w.Paint(style, line(row.cells))
	}
}

// widths returns how wide each column is, and the whole table with up to 12 columns of the terminal for the last.
func (t table) widths() (widths []int, total int) {
	widths = make([]int, len(t.head))
	for i, title := range t.head {
		widths[i] = output.Columns(title)
		for _, row := range t.rows {
			widths[i] = max(widths[i], output.Columns(row.cells[i]))
		}
		total += widths[i] + 2
	}
	last := widths[len(widths)-1]
	return widths, total - 2 - last + min(last, 12)
}

// without returns the table without some columns.
func (t table) without(titles []string) table {
	pick := func(cells []string) (kept []string) {
		for i, cell := range cells {
			if !slices.Contains(titles, t.head[i]) {
				kept = append(kept, cell)
			}
		}
		return kept
	}
	narrow := table{head: pick(t.head), left: t.left}
	for _, row := range t.rows {
		row.cells = pick(row.cells)
		narrow.rows = append(narrow.rows, row)
	}
	return narrow
}

// names masks the names that the ends gave themselves and their tools, each once.
type names struct {
	masker session.Masker
	masked map[string]string
}

func (n *names) of(name string) string {
	masked, ok := n.masked[name]
	if !ok {
		masked = n.masker.Text(name)
		n.masked[name] = masked
	}
	return masked
}

// toolLine is the stable form of a row of stats.
type toolLine struct {
	Server   string        `json:"server"`
	Tool     string        `json:"tool"`
	Calls    uint64        `json:"calls"`
	Errors   uint64        `json:"errors"`
	Hung     uint64        `json:"hung"`
	P50      time.Duration `json:"p50_ns"`
	P95      time.Duration `json:"p95_ns"`
	Max      time.Duration `json:"max_ns"`
	Bytes    uint64        `json:"bytes"`
	Sessions int           `json:"sessions"`
	Last     time.Time     `json:"last"`
}

// rank returns the number by which an order of --sort puts a row first; 0 in the order of names.
func (l *toolLine) rank(order string) uint64 {
	switch order {
	case "calls":
		return l.Calls
	case "errors":
		return l.Errors
	case "hung":
		return l.Hung
	case "p95":
		return uint64(l.P95)
	case "sessions":
		return uint64(l.Sessions)
	}
	return 0
}

// toolTable returns a row for each tool of each server, in an order of --sort.
func toolTable(masker session.Masker, list []summarized, order string) table {
	type key struct{ server, tool string }
	type row struct {
		line  toolLine
		total summary.Tool
	}
	rows := map[key]*row{}
	shown := names{masker, map[string]string{}}
	for i := range list {
		for j := range list[i].Tools {
			tool := &list[i].Tools[j]
			k := key{shown.of(list[i].Server.Name), shown.of(tool.Name)}
			r := rows[k]
			if r == nil {
				r = &row{line: toolLine{Server: k.server, Tool: k.tool}}
				rows[k] = r
			}
			r.total.Merge(tool)
			r.line.Sessions++
			r.line.Last = later(r.line.Last, list[i].Start)
		}
	}
	t := table{head: []string{"TOOL", "CALLS", "ERRORS", "HUNG", "P50", "P95", "BYTES", "SESSIONS", "LAST SEEN", "SERVER"}, wide: []string{"BYTES", "SESSIONS", "LAST SEEN"}}
	for _, r := range rows {
		x, d := &r.line, &r.total.Durations
		x.Calls = r.total.Calls
		x.Errors = r.total.Errors
		x.Hung = r.total.Hung
		x.Bytes = r.total.Bytes
		x.P50, x.P95, x.Max = d.Quantile(50), d.Quantile(95), d.Max()
		p50, p95 := "-", "-" // nothing was answered
		if x.Max > 0 {
			p50 = output.Rounded(x.P50).String()
			p95 = output.Rounded(x.P95).String()
		}
		t.rows = append(t.rows, tableRow{bad: x.Hung > 0, value: *x, cells: []string{
			output.PlainName(x.Tool), fmt.Sprint(x.Calls), fmt.Sprint(x.Errors), fmt.Sprint(x.Hung), p50,
			p95, output.Size(int64(x.Bytes)), fmt.Sprint(x.Sessions), localTime(x.Last), output.PlainName(x.Server),
		}})
	}
	slices.SortFunc(t.rows, func(a, b tableRow) int {
		x, y := a.value.(toolLine), b.value.(toolLine)
		return cmp.Or(cmp.Compare(y.rank(order), x.rank(order)), cmp.Compare(x.Server, y.Server), cmp.Compare(x.Tool, y.Tool))
	})
	return t
}

// serverLine is the stable form of a row of stats --by server.
type serverLine struct {
	Server   string    `json:"server"`
	Label    string    `json:"label,omitempty"` // of sessions whose server never said its name
	Version  string    `json:"version"`
	Sessions int       `json:"sessions"`
	Live     int       `json:"live"`
	Errors   uint64    `json:"errors"`
	Hung     uint64    `json:"hung"`
	Clients  []string  `json:"clients"`
	Last     time.Time `json:"last"`
}

// rank returns the number by which an order of --sort puts a row first; 0 in the order of names.
func (l *serverLine) rank(order string) uint64 {
	switch order {
	case "sessions":
		return uint64(l.Sessions)
	case "errors":
		return l.Errors
	case "hung":
		return l.Hung
	}
	return 0
}

// serverTable returns a row for each version of a server, in an order of --sort.
func serverTable(masker session.Masker, list []summarized, order string) table {
	type key struct {
		summary.Peer
		label string
	}
	rows := map[key]*serverLine{}
	shown := names{masker, map[string]string{}}
	for i := range list {
		x := &list[i]
		k := key{Peer: summary.Peer{Name: shown.of(x.Server.Name), Version: shown.of(x.Server.Version)}}
		if k.Name == "" {
			k.label = shown.of(serverLabel(x.Header))
		}
		r := rows[k]
		if r == nil {
			r = &serverLine{Server: k.Name, Label: k.label, Version: k.Version, Clients: []string{}}
			rows[k] = r
		}
		r.Sessions++
		if x.State == store.Live {
			r.Live++
		}
		r.Errors += x.Errors
		r.Hung += x.Hung
		r.Last = later(r.Last, x.Start)
		client := shown.of(x.Client.String())
		if at, found := slices.BinarySearch(r.Clients, client); !found && client != "" {
			r.Clients = slices.Insert(r.Clients, at, client)
		}
	}
	t := table{head: []string{"SERVER", "SESSIONS", "LIVE", "ERRORS", "HUNG", "LAST SEEN", "CLIENTS"}, wide: []string{"LIVE", "LAST SEEN"}}
	for k, r := range rows {
		name := output.PlainName(cmp.Or(k.String(), k.label, "(no name)"))
		clients := make([]string, len(r.Clients))
		for i, client := range r.Clients {
			clients[i] = output.PlainName(client)
		}
		t.rows = append(t.rows, tableRow{bad: r.Hung > 0, value: *r, cells: []string{
			name, fmt.Sprint(r.Sessions), fmt.Sprint(r.Live), fmt.Sprint(r.Errors), fmt.Sprint(r.Hung), localTime(r.Last), strings.Join(clients, ", "),
		}})
	}
	slices.SortFunc(t.rows, func(a, b tableRow) int {
		x, y := a.value.(serverLine), b.value.(serverLine)
		return cmp.Or(cmp.Compare(y.rank(order), x.rank(order)), cmp.Compare(x.Server, y.Server), cmp.Compare(x.Version, y.Version), cmp.Compare(x.Label, y.Label))
	})
	return t
}

// serverLabel returns the label by which a person knows the server of a session; "" if there is none.
func serverLabel(h store.Header) string {
	if name := h.Labels["server"]; name != "" {
		return "server=" + name
	}
	return h.Label
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// localTime returns a time as list has it; "" for a session without a start.
func localTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Local().Format(time.DateTime)
}
