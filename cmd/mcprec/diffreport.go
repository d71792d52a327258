package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/mcprec/mcprec/replay/diff"
	"github.com/mcprec/mcprec/replay/match"
	"github.com/mcprec/mcprec/replay/phrase"
)

// diffReport prints what a comparison came to.
type diffReport struct {
	*diff.Report
	names [2]string
	only  []string
	all   bool
}

// tells reports whether a section is told.
func (r *diffReport) tells(section string) bool {
	return len(r.only) == 0 || slices.Contains(r.only, section)
}

func (r *diffReport) writeText(w io.Writer) error {
	fmt.Fprintf(w, "A  %s: %s\nB  %s: %s\n", plain(r.names[0]), sideText(r.A), plain(r.names[1]), sideText(r.B))
	for _, group := range r.groups() {
		fmt.Fprintln(w, group.title)
		shown := group.findings
		if !r.all {
			shown = shown[:min(len(shown), 20)]
		}
		for _, f := range shown {
			r.finding(w, f)
		}
		if more := group.count - len(shown); more > 0 {
			fmt.Fprintf(w, "  and %d more\n", more)
		}
	}
	if err := r.timing(w); err != nil {
		return err
	}
	how := red
	if r.Same(r.only...) {
		how = green
	}
	return errors.Join(paintTo(w, how, r.summary()), paintTo(w, unpainted, "\n"))
}

func sideText(s diff.Side) string {
	text := fmt.Sprintf("%s, %s in %v", phrase.Plural(s.Frames, "frame"), phrase.Plural(s.Calls, "call"), brief(time.Duration(s.Took)))
	if s.Transport != "" {
		text += ", " + plain(s.Transport)
	}
	if s.Lost > 0 {
		text += fmt.Sprintf("; %d LOST: what is missing may be there", s.Lost)
	}
	return text
}

// diffGroup is what stands under one heading.
type diffGroup struct {
	title    string
	findings []diff.Finding
	count    int // with those that were not kept
}

// groups are the findings under their headings. Those of calls stand by the session that
// has them.
func (r *diffReport) groups() (list []diffGroup) {
	for _, section := range diff.Sections() {
		if !r.tells(section) {
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
		if f.Note && r.tells(f.Section) {
			notes.findings = append(notes.findings, f)
		}
	}
	for section, n := range r.Notes {
		if r.tells(section) {
			notes.count += n
		}
	}
	if notes.count > 0 {
		list = append(list, notes)
	}
	return list
}

// finding prints one: the events of both sides, what it is, and where it differs.
func (r *diffReport) finding(w io.Writer, f diff.Finding) {
	line := fmt.Sprintf("  %s %s", places(f), f.What)
	if f.Section != diff.Calls && (f.Kind == diff.OnlyInA || f.Kind == diff.OnlyInB) {
		line += ": " + f.Kind
	}
	if f.Text != "" {
		line += ": " + f.Text
	}
	fmt.Fprintln(w, plain(strings.TrimRight(line, " ")))
	shown := f.Differences
	if !r.all {
		shown = shown[:min(len(shown), 5)]
	}
	for _, d := range shown {
		fmt.Fprintf(w, "      %s\n", plain(differenceText(d)))
	}
	if more := len(f.Differences) - len(shown) + f.More; more > 0 {
		fmt.Fprintf(w, "      and in %s more\n", phrase.Plural(more, "place"))
	}
	if flags := flagsFor(f); len(flags) > 0 {
		fmt.Fprintf(w, "      %s\n", letMatch(flags))
	}
}

// flagsFor are the flags under which a finding would be none, or a note.
func flagsFor(f diff.Finding) []string {
	switch {
	case f.Note:
		return nil
	case f.AnyOrder:
		return []string{"--any-order"}
	}
	return remedies(f.Differences, f.More)
}

func differenceText(d match.Difference) string {
	text := fmt.Sprintf("%s: %s in A, %s in B", d.Place(), d.Want, d.Got)
	if d.Hint != "" {
		text += fmt.Sprintf(" (the same with --normalize %s)", d.Hint)
	}
	return text
}

// places names the events that show a finding: #3, or #3 / #4 of A and of B.
func places(f diff.Finding) string {
	var sides []string
	for _, seqs := range [...][]uint64{f.A, f.B} {
		if len(seqs) > 0 {
			sides = append(sides, fmt.Sprintf("#%d", seqs[0]))
		}
	}
	if alone := f.Kind == diff.OnlyInA || f.Kind == diff.OnlyInB; alone && len(sides) == 2 && f.Section == diff.Calls {
		if f.Kind == diff.OnlyInB {
			return sides[1]
		}
		return sides[0]
	}
	return strings.Join(sides, " / ")
}

// timing prints how long calls took.
func (r *diffReport) timing(w io.Writer) error {
	if !r.tells(diff.Timing) || len(r.Timing) == 0 {
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
			brief(l.P50A), brief(l.P50B), ratio, brief(l.P95A), brief(l.P95B), plain(l.What))
	}
	for _, s := range r.Slower {
		fmt.Fprintf(t, "  #%d / #%d %s: %v in A, %v in B\n", s.A, s.B, plain(s.What), brief(s.InA), brief(s.InB))
	}
	return t.Flush()
}

// summary is the verdict in one line.
func (r *diffReport) summary() string {
	var counts []string
	for _, section := range diff.Sections() {
		if n := r.Counts[section]; n > 0 && r.tells(section) {
			counts = append(counts, fmt.Sprintf("%d in %s", n, section))
		}
	}
	line := "same"
	if len(counts) > 0 {
		line = "differs: " + strings.Join(counts, ", ")
	}
	if r.Unread > 0 {
		line += fmt.Sprintf("; of %d the places were not looked for", r.Unread)
	}
	return line + mappedText(r.Mapped)
}

// shownFinding is the stable form of a finding in diff --format json.
type shownDiffFinding struct {
	diff.Finding
	Places []shownPlace `json:"differences,omitempty"`
	More   int          `json:"more,omitempty"`
	Flags  []string     `json:"flags,omitempty"` // under which it would be none
}

type shownPlace struct { // a match.Difference
	Path   string `json:"path"`
	Within string `json:"within,omitempty"`
	Want   string `json:"a"`
	Got    string `json:"b"`
	Hint   string `json:"hint,omitempty"`
}

func (r *diffReport) writeJSON(w io.Writer) error {
	type side struct {
		Session string `json:"session"`
		diff.Side
	}
	out := struct {
		A        side               `json:"a"`
		B        side               `json:"b"`
		Same     bool               `json:"same"`
		Counts   map[string]int     `json:"counts"`
		Notes    map[string]int     `json:"notes"`
		Mapped   map[string]int     `json:"mapped"`
		Unread   int                `json:"unread"`
		Findings []shownDiffFinding `json:"findings"`
		Timing   []diff.Latency     `json:"timing"`
		Slower   []diff.Slower      `json:"slower"`
	}{
		A: side{r.names[0], r.A}, B: side{r.names[1], r.B}, Same: r.Same(r.only...), Counts: r.Counts, Notes: r.Notes,
		Mapped: r.Mapped, Unread: r.Unread, Findings: []shownDiffFinding{}, Timing: r.Timing, Slower: r.Slower,
	}
	for _, f := range r.Findings {
		if !r.tells(f.Section) {
			continue
		}
		shown := shownDiffFinding{Finding: f, More: f.More, Flags: flagsFor(f)}
		for _, d := range f.Differences {
			shown.Places = append(shown.Places, shownPlace(d))
		}
		out.Findings = append(out.Findings, shown)
	}
	return encoderTo(w).Encode(out)
}

// suite returns the report as a test case for each section that is told, and one for each
// difference.
func (r *diffReport) suite() suite {
	s := suite{
		Name: "mcprec diff", Time: "0",
		Properties: []suiteProperty{{"a", r.names[0]}, {"b", r.names[1]}},
	}
	class := r.names[0] + " " + r.names[1]
	for _, section := range diff.Sections() {
		if !r.tells(section) || section == diff.Timing {
			continue
		}
		failed := false
		var notes []string
		for _, f := range r.Findings {
			switch {
			case f.Section != section:
			case f.Note:
				notes = append(notes, fmt.Sprintf("%s %s: %s", places(f), f.What, f.Text))
			default:
				failed = true
				s.Cases = append(s.Cases, suiteCase{Name: section + " " + places(f) + " " + f.What, Class: class, Time: "0", Failure: diffFault(f)})
			}
		}
		if !failed {
			s.Cases = append(s.Cases, suiteCase{Name: section, Class: class, Time: "0", SystemOut: strings.Join(notes, "\n")})
		}
	}
	return s
}

func diffFault(f diff.Finding) *suiteFault {
	var lines []string
	for _, d := range f.Differences {
		lines = append(lines, differenceText(d))
	}
	if flags := flagsFor(f); len(flags) > 0 {
		lines = append(lines, letMatch(flags))
	}
	text := strings.Join(lines, "\n")
	first, _, _ := strings.Cut(text, "\n")
	return &suiteFault{Message: f.Kind + ": " + cmp.Or(f.Text, first, f.What), Type: f.Section, Text: text}
}
