package explore

import (
	"slices"
	"strings"
)

// slackText says how a failure depends on the capacity. A program whose results
// do not change when buffering changes is called slack-elastic.
func slackText(verdict string, at Capacity, others []Tried) string {
	differs := slices.ContainsFunc(others, func(t Tried) bool { return t.Verdict != verdict })
	switch {
	case len(others) == 0:
		return ""
	case !differs && verdict == Hang:
		return "hangs at all tried, " + capacities(at, others) + ": no capacity of the transport hides it"
	case !differs:
		return verb(verdict) + " at all tried, " + capacities(at, others)
	}
	parts := []string{verb(verdict) + " at " + at.short()}
	for _, t := range others {
		part := verb(t.Verdict) + " at " + t.Capacity.short()
		if t.Verdict == Pass {
			part += " (" + t.count() + ")"
		}
		parts = append(parts, part)
	}
	return "not slack-elastic: " + strings.Join(parts, ", ")
}

// short is the capacity as one number, where both directions have the same.
func (c Capacity) short() string {
	if c.C2S == c.S2C {
		return frames(c.C2S)
	}
	return c.String()
}

func capacities(at Capacity, others []Tried) string {
	words := []string{at.short()}
	for _, t := range others {
		words = append(words, t.Capacity.short())
	}
	return strings.Join(words, ", ")
}

// verb says what a run with the verdict does.
func verb(verdict string) string {
	switch verdict {
	case Pass:
		return "passes"
	case Hang:
		return "hangs"
	case Stall:
		return "stalls"
	case Panic:
		return "panics"
	case Leak:
		return "leaks"
	case CheckFailed:
		return "fails its check"
	}
	return "is " + verdict
}
