package report

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/output"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/session"
	"github.com/mcprec/mcprec/replay/diff"
	"github.com/mcprec/mcprec/replay/filter"
	"github.com/mcprec/mcprec/replay/match"
	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport/phrase"
)

// Compare reads two sessions. With a filter a finding is told where one of its events fits.
func Compare(ctx context.Context, sessions [2]*session.Session, fits *filter.Filter, options diff.Options) (*diff.Report, error) {
	digester := diff.NewDigester(options)
	c := diff.New(digester, options)
	a, b := c.Sides()
	for i, side := range [...]*diff.Session{a, b} {
		s := sessions[i]
		err := s.Keep()
		if err == nil {
			err = foldSession(ctx, s, digester, side)
		}
		if err == nil && fits.String() != "" {
			side.SelectNone()
			err = s.Select(ctx, fits, side.Select)
		}
		if err != nil {
			return nil, err
		}
	}
	return c.ReportContext(ctx)
}

// foldSession reads a session into its side of a comparison.
func foldSession(ctx context.Context, s *session.Session, digester *diff.Digester, side *diff.Session) error {
	if err := ReadSide(s.Events(ctx, 1, store.ReadOptions{}), digester, side); err != nil {
		return s.Fault("diff", err)
	}
	return s.Rewind()
}

// ReadSide reads events into a side of a comparison. It makes the digests on the other cores.
func ReadSide(events iter.Seq2[store.Event, error], digester *diff.Digester, side *diff.Session) error {
	type made struct {
		session.Parsed
		digests []diff.Digest
	}
	var valid store.Validator
	model := timeline.NewModel(diff.Remembered)
	worked := session.MapEvents(events, func(event *store.Event, m *made) {
		m.Parse(event)
		m.digests = digester.Digest(m.Messages)
	})
	for e, err := range worked {
		if err == nil {
			err = valid.Check(e.Event)
		}
		if err == nil {
			err = side.Take(model.TakeParsed(e.Event, e.Made.Messages, e.Made.IsJSON), e.Made.digests)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Comparison is the result for two sessions, and which of its sections are printed.
type Comparison struct {
	*diff.Report
	Names [2]string // of the sessions
	Only  []string  // the sections that are told and decide; none: all
	All   bool      // all findings, notes and places are told
}

// shows reports whether a section is printed.
func (r *Comparison) shows(section string) bool {
	return len(r.Only) == 0 || slices.Contains(r.Only, section)
}

// Printed returns the comparison in every format.
func (r *Comparison) Printed() output.Document {
	out := output.Document{Passed: r.passed()}
	out.Name, out.Properties = "mcprec diff", []output.Property{{Name: "a", Value: r.Names[0]}, {Name: "b", Value: r.Names[1]}}
	out.Sections = append(out.Sections, output.Section{Value: r.JSON(), Text: func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "A  %s: %s\nB  %s: %s\n", output.Plain(r.Names[0]), sideText(r.A), output.Plain(r.Names[1]), sideText(r.B))
		return err
	}})
	for _, group := range r.groups() {
		out.Sections = append(out.Sections, output.Section{Text: func(w io.Writer) error { return r.writeGroup(w, group) }})
	}
	out.Sections = append(out.Sections, output.Section{Text: r.writeTiming, Cases: r.testCases}, output.Section{Text: func(w io.Writer) error {
		line, how := "same", output.Red
		if r.Same(r.Only...) && !out.Passed {
			return errors.Join(output.PaintTo(w, how, "NOTHING COMPARED: "+r.whyNothing()), output.PaintTo(w, output.Unpainted, "\n"))
		}
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
			how = output.Green
		}
		return errors.Join(output.PaintTo(w, how, line+MappedText(r.Mapped)), output.PaintTo(w, output.Unpainted, "\n"))
	}})
	return out
}

// passed reports whether something was compared, and all of it is the same.
func (r *Comparison) passed() bool { return r.Same(r.Only...) && !r.Nothing(r.Only...) }

// whyNothing says why there was nothing to compare.
func (r *Comparison) whyNothing() string {
	switch {
	case r.A.Frames+r.B.Frames == 0:
		return "nothing was said in either session"
	case len(r.Only) > 0:
		return fmt.Sprintf("the sessions do not both have what --only %s compares", strings.Join(r.Only, ","))
	}
	return "no event of either session fits the filter"
}

func sideText(s diff.Side) string {
	text := fmt.Sprintf("%s, %s in %v", phrase.Plural(s.Frames, "message"), phrase.Plural(s.Calls, "call"), output.Rounded(time.Duration(s.Took)))
	if s.Transport != "" {
		text += ", " + output.Plain(s.Transport)
	}
	if s.Lost > 0 {
		text += fmt.Sprintf("; %d LOST: what is missing may be there", s.Lost)
	}
	return text
}

type group struct {
	title    string
	findings []diff.Finding
	count    int // of the findings, with those that were not kept
}

// groups returns the findings under their headings. Those of calls stand below the session
// that has them.
func (r *Comparison) groups() (list []group) {
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
			g := group{title: title}
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
	notes := group{title: "notes"}
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
func (r *Comparison) writeGroup(w io.Writer, group group) error {
	fmt.Fprintln(w, group.title)
	findings := group.findings
	if !r.All {
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
		fmt.Fprintln(w, output.Plain(strings.TrimRight(line, " ")))
		places := f.Differences
		if !r.All {
			places = places[:min(len(places), 5)]
		}
		for _, d := range places {
			fmt.Fprintf(w, "      %s\n", output.Plain(differenceText(d)))
		}
		if more := len(f.Differences) - len(places) + f.More; more > 0 {
			fmt.Fprintf(w, "      and in %s more\n", phrase.Plural(more, "place"))
		}
		if flags := flagsFor(f); len(flags) > 0 {
			fmt.Fprintf(w, "      %s\n", MatchLine(flags))
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
	case finding.Note, finding.Section == diff.Tools: // the places are those of the tool
		return nil
	case finding.AnyOrder:
		return []string{"--any-order"}
	}
	return MatchFlags(finding.Call, finding.Differences, finding.More)
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

func (r *Comparison) writeTiming(w io.Writer) error {
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
			output.Rounded(l.P50A), output.Rounded(l.P50B), ratio, output.Rounded(l.P95A), output.Rounded(l.P95B), output.Plain(l.What))
	}
	for _, s := range r.Slower {
		fmt.Fprintf(t, "  #%d / #%d %s: %v in A, %v in B\n", s.A, s.B, output.Plain(s.What), output.Rounded(s.InA), output.Rounded(s.InB))
	}
	return t.Flush()
}

// MappedText counts the values that were not compared by their text, by the reason.
func MappedText(mapped map[string]int) string {
	var counts []string
	for _, by := range slices.Sorted(maps.Keys(mapped)) {
		counts = append(counts, fmt.Sprintf("%d %s", mapped[by], by))
	}
	if len(counts) == 0 {
		return ""
	}
	return "; values not compared exactly: " + strings.Join(counts, ", ")
}

// DiffForm is the stable form of diff --format json.
type DiffForm struct {
	A        DiffSide       `json:"a"`
	B        DiffSide       `json:"b"`
	Same     bool           `json:"same"`
	Counts   map[string]int `json:"counts"`
	Notes    map[string]int `json:"notes"`
	Mapped   map[string]int `json:"mapped"`
	Unread   int            `json:"unread"`
	Findings []DiffFinding  `json:"findings"`
	Timing   []diff.Latency `json:"timing"`
	Slower   []diff.Slower  `json:"slower"`
}

// ReadSide is one of the sessions.
type DiffSide struct {
	Session string `json:"session"`
	diff.Side
}

// DiffFinding is a finding with its places.
type DiffFinding struct {
	diff.Finding
	Places []DiffPlace `json:"differences,omitempty"`
	More   int         `json:"more,omitempty"`
	Flags  []string    `json:"flags,omitempty"` // see flagsFor
}

// DiffPlace is a [match.Difference].
type DiffPlace struct {
	Path   string `json:"path"`
	Within string `json:"within,omitempty"`
	Want   string `json:"a"`
	Got    string `json:"b"`
	Hint   string `json:"hint,omitempty"`
}

// JSON returns the comparison in its stable form.
func (r *Comparison) JSON() DiffForm {
	out := DiffForm{
		A: DiffSide{r.Names[0], r.A}, B: DiffSide{r.Names[1], r.B}, Same: r.passed(), Counts: r.Counts, Notes: r.Notes,
		Mapped: r.Mapped, Unread: r.Unread, Findings: []DiffFinding{}, Timing: r.Timing, Slower: r.Slower,
	}
	for _, f := range r.Findings {
		if !r.shows(f.Section) {
			continue
		}
		shown := DiffFinding{Finding: f, More: f.More, Flags: flagsFor(f)}
		for _, d := range f.Differences {
			shown.Places = append(shown.Places, DiffPlace(d))
		}
		out.Findings = append(out.Findings, shown)
	}
	return out
}

// testCases returns a test case for each difference, and one that passes for each section
// without any.
func (r *Comparison) testCases() (cases []output.TestCase) {
	class := r.Names[0] + " " + r.Names[1]
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
					lines = append(lines, MatchLine(flags))
				}
				text := strings.Join(lines, "\n")
				first, _, _ := strings.Cut(text, "\n")
				cases = append(cases, output.TestCase{Name: section + " " + eventsOf(f) + " " + f.What, Class: class,
					Failure: &output.TestFault{Message: f.Kind + ": " + cmp.Or(f.Text, first, f.What), Type: f.Section, Text: text}})
			}
		}
		if !failed {
			cases = append(cases, output.TestCase{Name: section, Class: class, Out: strings.Join(notes, "\n")})
		}
	}
	return cases
}
