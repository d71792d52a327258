package comparing

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/advice"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/output"
	"github.com/mcprec/mcprec/replay/diff"
)

// Form is the stable form of diff --format json.
type Form struct {
	A        Side           `json:"a"`
	B        Side           `json:"b"`
	Same     bool           `json:"same"`
	Counts   map[string]int `json:"counts"`
	Notes    map[string]int `json:"notes"`
	Mapped   map[string]int `json:"mapped"`
	Unread   int            `json:"unread"`
	Findings []Finding      `json:"findings"`
	Timing   []diff.Latency `json:"timing"`
	Slower   []diff.Slower  `json:"slower"`
}

// Side is one of the sessions.
type Side struct {
	Session string `json:"session"`
	diff.Side
}

// Finding is a finding with its places.
type Finding struct {
	diff.Finding
	Places []Place  `json:"differences,omitempty"`
	More   int      `json:"more,omitempty"`
	Flags  []string `json:"flags,omitempty"` // see flagsFor
}

// Place is a [match.Difference].
type Place struct {
	Path   string `json:"path"`
	Within string `json:"within,omitempty"`
	Want   string `json:"a"`
	Got    string `json:"b"`
	Hint   string `json:"hint,omitempty"`
}

// JSON returns the comparison in its stable form.
func (r *Comparison) JSON() Form {
	out := Form{
		A: Side{r.Names[0], r.A}, B: Side{r.Names[1], r.B}, Same: r.Same(r.Only...), Counts: r.Counts, Notes: r.Notes,
		Mapped: r.Mapped, Unread: r.Unread, Findings: []Finding{}, Timing: r.Timing, Slower: r.Slower,
	}
	for _, f := range r.Findings {
		if !r.shows(f.Section) {
			continue
		}
		shown := Finding{Finding: f, More: f.More, Flags: flagsFor(f)}
		for _, d := range f.Differences {
			shown.Places = append(shown.Places, Place(d))
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
					lines = append(lines, advice.Line(flags))
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
