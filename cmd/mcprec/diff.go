package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/advice"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/exit"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/parallel"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/report"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/session"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/terminal"
	"github.com/mcprec/mcprec/replay/diff"
	"github.com/mcprec/mcprec/replay/filter"
	"github.com/mcprec/mcprec/replay/match"
	"github.com/mcprec/mcprec/replay/phrase"
	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/store"
)

type diffOptions struct {
	home
	ruleFlags
	filterFlag
	format string
	only   []string
	bytes  bool
	all    bool
	loose  bool // --any-order
}

func newDiff() *cobra.Command {
	var o diffOptions
	cmd := &cobra.Command{
		Use:   "diff A B",
		Short: "Compare two sessions: calls, payloads, order, timing",
		Long:  diffHelp,
		Example: `  mcprec diff before.jsonl after.jsonl
  mcprec diff 0190aaaa 0190bbbb --only order,payload
  mcprec diff golden.jsonl - --format junit < new.jsonl`,
		ValidArgsFunction: completeSessions,
		RunE:              func(cmd *cobra.Command, args []string) error { return runDiff(cmd, o, args) },
	}
	o.home.addMaskFlags(cmd)
	o.ruleFlags.addFlags(cmd)
	o.filterFlag.addFlags(cmd)
	f := cmd.Flags()
	addChoice(cmd, &o.format, "format", "text, json or junit", "text", "json", "junit")
	f.StringSliceVar(&o.only, "only", nil, "the `SECTIONS` that are told and decide: "+strings.Join(diff.Sections(), ",\n"))
	f.BoolVar(&o.bytes, "bytes", false, "also tell of messages that say the same and are spelled otherwise")
	f.BoolVar(&o.loose, "any-order", false, "a notification that came on the other side of its call's answer, or changed\nplaces with another, is a note")
	f.BoolVar(&o.all, "all", false, "tell everything: all findings, all notes, all places")
	completeWords(cmd, "only", diff.Sections()...)
	return cmd
}

const diffHelp = `diff compares two recorded sessions by what caused what, not line by line: a message
of B stands for one of A, whenever it came. Calls are paired by method and params (see
--match), in their order where there are several; what is left of a tool is paired with
what differs least, and shown as changed. The sections:

  calls          asked, or answered, in one session alone
  payload        results, errors, params and notifications that say something else,
                 with the JSON path of each place
  notifications  in one session alone
  order          a notification that came on the other side of its call's answer,
                 notifications of one call that changed places, calls of which one
                 waited for the other that changed places. That calls ran at the same
                 time, or were answered in another order then, is a note
  capabilities   what initialize or server/discover settled: revision, capabilities
  tools          definitions of tools
  http           status codes, where both sessions have them and neither or both are of
                 HTTP+SSE, which accepts each message with 202
  noise, exit    stray lines that are not JSON-RPC; the server's exit status
  bytes          with --bytes
  stderr         lines of standard error: always a note
  timing         how long the calls of a tool took: never a difference

Ids, progress tokens, HTTP streams and the transport are not compared. A value that an
end made up, and made up otherwise in B, is a variable: an id or a cursor that comes
back, a UUID that stands for one other, a point in time that lies within its own
session. --match strict takes times as they are.

Events are named as mcprec show numbers them, those of A first. --format json prints one
object: a, b, same, counts, notes, mapped, findings (section, kind, note, a, b, what,
text, differences with path, within, a, b, flags that would let it match), timing,
slower. --format junit prints a test case for each section, and for each finding that is
a difference.

Each session is read again for what differs. Held are about 250 bytes a message, and at
most 64 MiB of the texts that differ of each: of more it is said that they do, not where.

With --filter a finding is told where one of its events fits. mcprec help matching has the
normalizers.

` + sessionHelp

func runDiff(cmd *cobra.Command, o diffOptions, args []string) (err error) {
	for _, section := range o.only {
		if err := oneOf("only", section, diff.Sections()...); err != nil {
			return err
		}
	}
	if len(args) != 2 {
		return exit.Usagef("diff compares two sessions, not %d; see mcprec diff --help", len(args))
	}
	rules, err := o.rules()
	if err != nil {
		return err
	}
	rules.AnyOrder = o.loose
	fits, err := o.filterFlag.parse()
	if err != nil {
		return err
	}
	options := diff.Options{Rules: rules, Bytes: o.bytes || slices.Contains(o.only, diff.Bytes)}
	found, names, err := compareSessions(cmd, o, fits, options, args)
	if err != nil {
		return err
	}
	return printReport(cmd, o.format, (&diffReport{found, names, o.only, o.all}).report())
}

// compareSessions reads two sessions, and once more the events that differ.
func compareSessions(cmd *cobra.Command, o diffOptions, fits *filter.Filter, options diff.Options, args []string) (_ *diff.Report, names [2]string, err error) {
	if args[0] == "-" && args[1] == "-" {
		return nil, names, exit.Usagef("only one of the sessions can be on standard input")
	}
	ctx := cmd.Context()
	digester := diff.NewDigester(options)
	c := diff.New(digester, options)
	a, b := c.Sides()
	var sessions [2]*session.Session
	for i, side := range [...]*diff.Session{a, b} {
		var s *session.Session
		if s, err = openSession(cmd, o.home, args[i]); err != nil {
			return nil, names, err
		}
		defer closeInto(&err, s)
		sessions[i] = s
		names[i] = s.Name
		if err = s.Keep(); err == nil {
			err = foldSession(ctx, s, digester, side)
		}
		if err == nil && fits.String() != "" {
			side.SelectNone()
			err = s.Select(ctx, fits, side.Select)
		}
		if err != nil {
			return nil, names, err
		}
	}
	c.Match()
	for i, s := range sessions {
		wanted := c.Wants(i) // the texts that differ
		if len(wanted) == 0 {
			continue
		}
		for e, err := range s.Events(ctx, wanted[0], store.ReadOptions{}) {
			if err != nil {
				return nil, names, fmt.Errorf("diff %s: %w", s.Name, err)
			}
			if c.Take(i, e); e.Seq >= wanted[len(wanted)-1] {
				break
			}
		}
		if err := s.Rewind(); err != nil {
			return nil, names, err
		}
	}
	report := c.Report()
	err = o.warnUnused(cmd.ErrOrStderr(), options.Rules, func(p timeline.Projection) error {
		for _, s := range sessions {
			if err := errors.Join(timeline.Project(s.Events(ctx, 1, store.ReadOptions{}), p), s.Rewind()); err != nil {
				return err
			}
		}
		return nil
	})
	return report, names, err
}

// foldSession reads a session into its side of a comparison.
func foldSession(ctx context.Context, s *session.Session, digester *diff.Digester, side *diff.Session) error {
	var valid store.Validator
	events := s.Events(ctx, 1, store.ReadOptions{})
	digest := func(event *store.Event, digests *[]diff.Digest) { *digests = digester.Digest(*event) }
	for e, err := range parallel.Map(events, digest) {
		if err == nil {
			err = valid.Check(e.Event)
		}
		if err == nil {
			err = side.Apply(e.Event, e.Made)
		}
		if err != nil {
			return fmt.Errorf("diff %s: %w", s.Name, err)
		}
	}
	return s.Rewind()
}

// diffReport prints a comparison.
type diffReport struct {
	*diff.Report
	names [2]string
	only  []string // of --only
	all   bool     // of --all
}

// shows reports whether a section is printed.
func (r *diffReport) shows(section string) bool {
	return len(r.only) == 0 || slices.Contains(r.only, section)
}

// report returns the comparison in every format.
func (r *diffReport) report() report.Report {
	out := report.Report{Passed: r.Same(r.only...)}
	out.Name, out.Properties = "mcprec diff", []report.Property{{Name: "a", Value: r.names[0]}, {Name: "b", Value: r.names[1]}}
	out.Sections = append(out.Sections, report.Section{Value: r.json(), Text: func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "A  %s: %s\nB  %s: %s\n", terminal.Plain(r.names[0]), sideText(r.A), terminal.Plain(r.names[1]), sideText(r.B))
		return err
	}})
	for _, group := range r.groups() {
		out.Sections = append(out.Sections, report.Section{Text: func(w io.Writer) error { return r.writeGroup(w, group) }})
	}
	out.Sections = append(out.Sections, report.Section{Text: r.writeTiming, Cases: r.testCases}, report.Section{Text: func(w io.Writer) error {
		line, how := "same", terminal.Red
		var counts []string
		for _, section := range diff.Sections() {
			if n := r.Counts[section]; n > 0 && r.shows(section) {
				counts = append(counts, fmt.Sprintf("%d in %s", n, section))
			}
		}
		if len(counts) > 0 {
			line = "differs: " + strings.Join(counts, ", ")
		}
		if r.Unread > 0 {
			line += fmt.Sprintf("; of %d the places were not looked for", r.Unread)
		}
		if out.Passed {
			how = terminal.Green
		}
		return errors.Join(terminal.PaintTo(w, how, line+mappedText(r.Mapped)), terminal.PaintTo(w, terminal.Unpainted, "\n"))
	}})
	return out
}

func sideText(s diff.Side) string {
	text := fmt.Sprintf("%s, %s in %v", phrase.Plural(s.Frames, "frame"), phrase.Plural(s.Calls, "call"), terminal.Rounded(time.Duration(s.Took)))
	if s.Transport != "" {
		text += ", " + terminal.Plain(s.Transport)
	}
	if s.Lost > 0 {
		text += fmt.Sprintf("; %d LOST: what is missing may be there", s.Lost)
	}
	return text
}

type diffGroup struct {
	title    string
	findings []diff.Finding
	count    int // of the findings, with those that were not kept
}

// groups returns the findings under their headings. Those of calls stand below the session
// that has them.
func (r *diffReport) groups() (list []diffGroup) {
	for _, section := range diff.Sections() {
		if !r.shows(section) {
			continue
		}
		titles := []string{section}
		switch section {
		case diff.Calls:
			titles = []string{diff.OnlyInA, diff.OnlyInB}
		case diff.Payload:
			titles[0] = diff.Changed
		}
		kept := 0
		first := len(list)
		for _, title := range titles {
			g := diffGroup{title: title}
			for _, f := range r.Findings {
				if f.Section == section && !f.Note && (len(titles) == 1 || f.Kind == title) {
					g.findings = append(g.findings, f)
				}
			}
			g.count = len(g.findings)
			if kept += g.count; g.count > 0 {
				list = append(list, g)
			}
		}
		if len(list) > first {
			list[len(list)-1].count += r.Counts[section] - kept
		}
	}
	notes := diffGroup{title: "notes"}
	for _, f := range r.Findings {
		if f.Note && r.shows(f.Section) {
			notes.findings = append(notes.findings, f)
		}
	}
	for section, n := range r.Notes {
		if r.shows(section) {
			notes.count += n
		}
	}
	if notes.count > 0 {
		list = append(list, notes)
	}
	return list
}

// writeGroup writes a heading and its findings: the events of both sides, the difference, and
// its places.
func (r *diffReport) writeGroup(w io.Writer, group diffGroup) error {
	fmt.Fprintln(w, group.title)
	findings := group.findings
	if !r.all {
		findings = findings[:min(len(findings), 20)]
	}
	for _, f := range findings {
		line := fmt.Sprintf("  %s %s", eventsOf(f), f.What)
		if f.Section != diff.Calls && (f.Kind == diff.OnlyInA || f.Kind == diff.OnlyInB) {
			line += ": " + f.Kind
		}
		if f.Text != "" {
			line += ": " + f.Text
		}
		fmt.Fprintln(w, terminal.Plain(strings.TrimRight(line, " ")))
		places := f.Differences
		if !r.all {
			places = places[:min(len(places), 5)]
		}
		for _, d := range places {
			fmt.Fprintf(w, "      %s\n", terminal.Plain(differenceText(d)))
		}
		if more := len(f.Differences) - len(places) + f.More; more > 0 {
			fmt.Fprintf(w, "      and in %s more\n", phrase.Plural(more, "place"))
		}
		if flags := flagsFor(f); len(flags) > 0 {
			fmt.Fprintf(w, "      %s\n", advice.Line(flags))
		}
	}
	if more := group.count - len(findings); more > 0 {
		fmt.Fprintf(w, "  and %d more\n", more)
	}
	return nil
}

// flagsFor returns the flags under which a finding would be none, or a note.
func flagsFor(finding diff.Finding) []string {
	switch {
	case finding.Note:
		return nil
	case finding.AnyOrder:
		return []string{"--any-order"}
	}
	return advice.Flags(finding.Differences, finding.More)
}

func differenceText(difference match.Difference) string {
	text := fmt.Sprintf("%s: %s in A, %s in B", difference.Place(), difference.Want, difference.Got)
	if difference.Hint != "" {
		text += fmt.Sprintf(" (the same with --normalize %s)", difference.Hint)
	}
	return text
}

// eventsOf names the events of a finding: #3, or #3 / #4 of A and of B.
func eventsOf(finding diff.Finding) string {
	var sides []string
	for _, seqs := range [...][]uint64{finding.A, finding.B} {
		if len(seqs) > 0 {
			sides = append(sides, fmt.Sprintf("#%d", seqs[0]))
		}
	}
	switch {
	case len(sides) < 2 || finding.Section != diff.Calls:
	case finding.Kind == diff.OnlyInA:
		return sides[0]
	case finding.Kind == diff.OnlyInB:
		return sides[1]
	}
	return strings.Join(sides, " / ")
}

func (r *diffReport) writeTiming(w io.Writer) error {
	if !r.shows(diff.Timing) || len(r.Timing) == 0 {
		return nil
	}
	fmt.Fprintln(w, "timing")
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "  CALLS A\tCALLS B\tP50 A\tP50 B\tRATIO\tP95 A\tP95 B\tNAME")
	for _, l := range r.Timing {
		ratio := "-"
		if l.Ratio != 0 {
			ratio = fmt.Sprintf("%.2f", l.Ratio)
		}
		fmt.Fprintf(t, "  %d\t%d\t%v\t%v\t%s\t%v\t%v\t%s\n", l.CallsA, l.CallsB,
			terminal.Rounded(l.P50A), terminal.Rounded(l.P50B), ratio, terminal.Rounded(l.P95A), terminal.Rounded(l.P95B), terminal.Plain(l.What))
	}
	for _, s := range r.Slower {
		fmt.Fprintf(t, "  #%d / #%d %s: %v in A, %v in B\n", s.A, s.B, terminal.Plain(s.What), terminal.Rounded(s.InA), terminal.Rounded(s.InB))
	}
	return t.Flush()
}

// diffJSON is the stable form of diff --format json.
type diffJSON struct {
	A        diffSide       `json:"a"`
	B        diffSide       `json:"b"`
	Same     bool           `json:"same"`
	Counts   map[string]int `json:"counts"`
	Notes    map[string]int `json:"notes"`
	Mapped   map[string]int `json:"mapped"`
	Unread   int            `json:"unread"`
	Findings []diffFinding  `json:"findings"`
	Timing   []diff.Latency `json:"timing"`
	Slower   []diff.Slower  `json:"slower"`
}

type diffSide struct {
	Session string `json:"session"`
	diff.Side
}

type diffFinding struct {
	diff.Finding
	Places []diffPlace `json:"differences,omitempty"`
	More   int         `json:"more,omitempty"`
	Flags  []string    `json:"flags,omitempty"` // see flagsFor
}

type diffPlace struct { // a match.Difference
	Path   string `json:"path"`
	Within string `json:"within,omitempty"`
	Want   string `json:"a"`
	Got    string `json:"b"`
	Hint   string `json:"hint,omitempty"`
}

func (r *diffReport) json() diffJSON {
	out := diffJSON{
		A: diffSide{r.names[0], r.A}, B: diffSide{r.names[1], r.B}, Same: r.Same(r.only...), Counts: r.Counts, Notes: r.Notes,
		Mapped: r.Mapped, Unread: r.Unread, Findings: []diffFinding{}, Timing: r.Timing, Slower: r.Slower,
	}
	for _, f := range r.Findings {
		if !r.shows(f.Section) {
			continue
		}
		shown := diffFinding{Finding: f, More: f.More, Flags: flagsFor(f)}
		for _, d := range f.Differences {
			shown.Places = append(shown.Places, diffPlace(d))
		}
		out.Findings = append(out.Findings, shown)
	}
	return out
}

// testCases returns a test case for each difference, and one that passes for each section
// without any.
func (r *diffReport) testCases() (cases []report.Case) {
	class := r.names[0] + " " + r.names[1]
	for _, section := range diff.Sections() {
		if !r.shows(section) || section == diff.Timing {
			continue
		}
		failed := false
		var notes []string
		for _, f := range r.Findings {
			switch {
			case f.Section != section:
			case f.Note:
				notes = append(notes, fmt.Sprintf("%s %s: %s", eventsOf(f), f.What, f.Text))
			default:
				failed = true
				var lines []string
				for _, d := range f.Differences {
					lines = append(lines, differenceText(d))
				}
				if flags := flagsFor(f); len(flags) > 0 {
					lines = append(lines, advice.Line(flags))
				}
				text := strings.Join(lines, "\n")
				first, _, _ := strings.Cut(text, "\n")
				cases = append(cases, report.Case{Name: section + " " + eventsOf(f) + " " + f.What, Class: class,
					Failure: &report.Fault{Message: f.Kind + ": " + cmp.Or(f.Text, first, f.What), Type: f.Section, Text: text}})
			}
		}
		if !failed {
			cases = append(cases, report.Case{Name: section, Class: class, Out: strings.Join(notes, "\n")})
		}
	}
	return cases
}
