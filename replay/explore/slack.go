package explore

import "strings"

// slackText says how a failure depends on the capacity. A program whose results
// do not change when buffering changes is called slack-elastic. At each capacity many
// orders were tried; beside the boundary of one order the text says so.
func slackText(verdict string, at Capacity, others []Tried, boundary string) string {
	if len(others) == 0 {
		return ""
	}
	verdicts, where := []string{verdict}, map[string][]string{verdict: {at.short()}}
	for _, t := range others {
		if len(where[t.Verdict]) == 0 {
			verdicts = append(verdicts, t.Verdict)
		}
		place := t.Capacity.short()
		if t.Verdict == Pass {
			place += " (" + t.count() + ")"
		}
		where[t.Verdict] = append(where[t.Verdict], place)
	}
	if len(verdicts) == 1 {
		text := verb(verdict) + " at all tried: "
		if boundary != "" {
			text = "some order " + text
		}
		text += strings.Join(where[verdict], ", ")
		if stands(verdict) {
			text += "; no capacity of the transport hides it"
		}
		return text
	}
	parts := make([]string, len(verdicts))
	for i, v := range verdicts {
		parts[i] = verb(v) + " at " + enumerate(where[v])
	}
	return "it depends on the capacity: " + strings.Join(parts, ", ")
}

// enumerate joins words: 0, 1 and unbounded.
func enumerate(words []string) string {
	last := len(words) - 1
	if last == 0 {
		return words[0]
	}
	return strings.Join(words[:last], ", ") + " and " + words[last]
}

// short is the capacity as one number, where both directions have the same.
func (c Capacity) short() string {
	if c.C2S == c.S2C {
		return frames(c.C2S)
	}
	return c.String()
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
	case Illegal:
		return "breaks a rule"
	case Lost:
		return "loses a message"
	case Panic:
		return "panics"
	case Leak:
		return "leaks"
	case CheckFailed:
		return "fails its check"
	}
	return "is " + verdict
}
