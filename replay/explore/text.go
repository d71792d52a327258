package explore

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/mcprec/mcprec/replay/phrase"
)

// shownStacks is how many stacks the text shows.
const shownStacks = 12

// shownBroken is how many broken rules the text shows.
const shownBroken = 5

// Text returns the report for a reader: of a pass a line, its coverage and its notes,
// of a failure who waits for whom in the manner of Java's deadlock report, then what
// changes the verdict, the run, and the stacks.
func (r Report) Text() string {
	var b strings.Builder
	if r.Verdict == Pass || r.Verdict == Undecided && r.Schedules == 0 {
		r.searchText(&b)
	} else {
		r.failureText(&b)
	}
	if r.Coverage.Classes > 0 && (r.Verdict == Pass || r.Verdict == Undecided) {
		fmt.Fprintf(&b, "coverage: %s\n", r.Coverage.text())
	}
	for _, n := range r.Notes {
		fmt.Fprintf(&b, "note: %s\n", n)
	}
	return b.String()
}

// searchText is the line of a search in which nothing failed.
func (r Report) searchText(b *strings.Builder) {
	fmt.Fprintf(b, "%s level %s", strings.ToUpper(r.Verdict), r.Level)
	if r.Engine != "" {
		fmt.Fprintf(b, ", engine %s", r.Engine)
	}
	fmt.Fprintf(b, ", %s%s", r.countText(), endText(r.Ended))
	if len(r.Tried) > 0 {
		fmt.Fprintf(b, ", %s", triedText(r.Tried))
	}
	if r.Explanation != "" {
		fmt.Fprintf(b, ": %s", r.Explanation)
	}
	b.WriteByte('\n')
}

// countText says how many schedules were run, of how many where the search was cut short.
func (r Report) countText() string {
	if r.Ended == EndTime || r.Ended == EndStopped {
		return fmt.Sprintf("%d of %s", r.Schedules, phrase.Plural(r.Planned, "schedule"))
	}
	return phrase.Plural(r.Schedules, "schedule")
}

func (r Report) failureText(b *strings.Builder) {
	word := strings.ToUpper(r.Verdict)
	if r.Verdict == Hang {
		word += " (proved)"
	}
	if r.Verdict == Stall {
		word += " (quiescent)"
	}
	if r.Category != "" {
		word += " " + r.Category
	}
	if r.Engine != "" {
		word += ", engine " + string(r.Engine)
	}
	fmt.Fprintf(b, "%s, level %s, capacity %v, %s, schedule %d\ntoken %s\n", word, r.Level, r.Capacity,
		phrase.Plural(r.Steps, "step"), r.Schedules, r.Token)
	switch lines := strings.Split(r.Explanation, "\n"); {
	case len(lines) > 1 || r.Verdict == CheckFailed: // the words of the test
		fmt.Fprintf(b, "  %s\n", strings.Join(lines, "\n  "))
	case r.Explanation != "":
		fmt.Fprintf(b, "  %s.\n", r.Explanation)
	}
	r.choiceText(b)
	r.waitText(b)
	r.chainText(b)
	r.brokenText(b)
	if r.Slack != "" {
		fmt.Fprintf(b, "\n  capacities: %s\n", r.Slack)
	}
	if r.Boundary != "" {
		fmt.Fprintf(b, "  this very order: %s\n", r.Boundary)
	}
	if len(r.Sequence) > 0 {
		fmt.Fprintf(b, "\n  the run:\n    %s\n", strings.Join(r.Sequence, "\n    "))
	}
	if r.Smaller != nil {
		r.Smaller.text(b)
	}
	r.stackText(b)
	switch {
	case r.Leaked && (r.Verdict == Undecided || r.Category == Lock):
		b.WriteString("\n  leak: the run was given up where it stands, with its goroutines\n")
	case r.Leaked:
		b.WriteString("\n  leak: goroutines of this run are left that a closed gate and a cancelled context do not end\n")
	}
}

// shownChoices is how many choices of a schedule the text shows.
const shownChoices = 5

// choiceText says what the order is that it takes.
func (r Report) choiceText(b *strings.Builder) {
	if len(r.Choices) > 0 {
		b.WriteString("\n  the order that it takes, all else being eager:\n")
	}
	for i, c := range r.Choices {
		if i == shownChoices {
			fmt.Fprintf(b, "    … and %d more\n", len(r.Choices)-i)
			break
		}
		fmt.Fprintf(b, "    %s\n", c)
	}
	if s := r.Shrunk; s.To < s.From {
		fmt.Fprintf(b, "    (shrunk from %s to %d, in %s; the token held %d of %d times)\n",
			phrase.Plural(s.From, "choice"), s.To, phrase.Plural(s.Runs, "run"), s.Held, s.Verified)
	}
}

// waitText writes the waits as a table.
func (r Report) waitText(b *strings.Builder) {
	if len(r.Waits) > 0 {
		b.WriteByte('\n')
	}
	width := 0
	for _, w := range r.Waits {
		width = max(width, utf8.RuneCountInString(w.Who))
	}
	indent := strings.Repeat(" ", width+4)
	for _, w := range r.Waits {
		fmt.Fprintf(b, "  %s%s  ", w.Who, strings.Repeat(" ", width-utf8.RuneCountInString(w.Who)))
		if w.Holds != "" {
			fmt.Fprintf(b, "holds      %s\n%s", w.Holds, indent)
		}
		if w.WaitsFor != "" {
			fmt.Fprintf(b, "waits for  %s\n%s", w.WaitsFor, indent)
		}
		fmt.Fprintf(b, "%s\n", w.Why)
		if w.BlockedAt != "" {
			fmt.Fprintf(b, "%sblocked at %s\n", indent, w.BlockedAt)
		}
	}
}

// chainText writes who waits for whom.
func (r Report) chainText(b *strings.Builder) {
	for i, line := range r.Chain {
		if i == 0 {
			fmt.Fprintf(b, "\n  who waits for whom:\n    %s\n", line)
			continue
		}
		fmt.Fprintf(b, "    -> %s\n", line)
	}
}

// brokenText lists the rules that were broken.
func (r Report) brokenText(b *strings.Builder) {
	for i, v := range r.Broken {
		if i == 0 {
			b.WriteString("\n  rules broken:\n")
		}
		if i == shownBroken {
			fmt.Fprintf(b, "    … and %d more\n", len(r.Broken)-i)
			return
		}
		fmt.Fprintf(b, "    step %d, %s\n      %v\n", v.Step, v.Frame, v)
	}
}

func (r Report) stackText(b *strings.Builder) {
	if len(r.Stacks) == 0 {
		return
	}
	b.WriteString("\n  stacks:\n")
	for i, s := range r.Stacks {
		if i == shownStacks {
			fmt.Fprintf(b, "    … and %d more\n", len(r.Stacks)-i)
			return
		}
		fmt.Fprintf(b, "    %s\n", strings.ReplaceAll(s, "\n", "\n    "))
	}
}

// endText says what ended a search before all its schedules were run.
func endText(ended string) string {
	switch ended {
	case EndCPU:
		return " (then the CPU time was up)"
	case EndTime:
		return " (then its time was up)"
	case EndStopped:
		return " (then it was interrupted)"
	case EndVisited:
		return " (all classes visited: no order fails)"
	case EndLost:
		return " (nothing is proved: the peers did not do the same on the same steps)"
	}
	return ""
}

// triedText lists capacities: c2s=1 s2c=1 pass (20 schedules).
func triedText(list []Tried) string {
	parts := make([]string, len(list))
	for i, t := range list {
		parts[i] = fmt.Sprintf("%v %s (%s)", t.Capacity, t.Verdict, t.count())
	}
	return strings.Join(parts, ", ")
}

// count says how many schedules were run, and of how many classes.
func (t Tried) count() string {
	count := phrase.Plural(t.Schedules, "schedule")
	switch {
	case t.All:
		return fmt.Sprintf("%s, all of %s", count, phrase.Plural(t.Classes, "class"))
	case t.Classes > 0:
		return fmt.Sprintf("%s, %s, not all", count, phrase.Plural(t.Classes, "class"))
	}
	return count
}
