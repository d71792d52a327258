package replay

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/mcprec/mcprec/replay/phrase"
)

// shownUnanswered is how many requests without a response the text lists.
const shownUnanswered = 10

// Text returns the verdict for a reader: first the requests that nobody answered, then
// what the models say. That is one line for a pass, with warnings; for a hang a report in
// the manner of Java's deadlock report.
func (v Verdict) Text() string {
	var b strings.Builder
	v.openText(&b)
	switch v.Verdict {
	case Hang:
		v.hangText(&b)
	case Nothing:
		fmt.Fprintf(&b, "NOTHING TO REPLAY: %s; %s c2s, %s s2c\n", v.Explanation,
			phrase.Plural(v.Frames.C2S.Read, "frame"), phrase.Plural(v.Frames.S2C.Read, "frame"))
	default:
		fmt.Fprintf(&b, "PASS capacity %v, client %v, server %v: %s c2s, %s s2c\n", v.Capacity, v.Models.Client, v.Models.Server,
			phrase.Plural(v.Frames.C2S.Read, "frame"), phrase.Plural(v.Frames.S2C.Read, "frame"))
	}
	v.warningText(&b)
	return b.String()
}

func (v Verdict) hangText(b *strings.Builder) {
	fmt.Fprintf(b, "HANG (proved) %s, capacity %v, client %v, server %v; read %d of %d c2s, %d of %d s2c\n",
		v.Category, v.Capacity, v.Models.Client, v.Models.Server,
		v.Frames.C2S.Read, v.Frames.C2S.Recorded, v.Frames.S2C.Read, v.Frames.S2C.Recorded)
	fmt.Fprintf(b, "  %s.\n\n", v.Explanation)
	v.waitText(b)
	for _, list := range []struct {
		title string
		lines []string
	}{{"assumed", v.Assumptions}, {"changes", v.Changes}, {"last steps", v.Sequence}} {
		if len(list.lines) == 0 {
			continue
		}
		fmt.Fprintf(b, "\n  %s:\n", list.title)
		for _, line := range list.lines {
			fmt.Fprintf(b, "    %s\n", strings.TrimRight(line, " "))
		}
	}
}

// waitText writes the blocked parts as a table; the cycle is marked where it
// closes.
func (v Verdict) waitText(b *strings.Builder) {
	width := 0
	for _, w := range v.Waits {
		width = max(width, utf8.RuneCountInString(w.Who))
	}
	indent := strings.Repeat(" ", width+4)
	for i, w := range v.Waits {
		pad := strings.Repeat(" ", width-utf8.RuneCountInString(w.Who))
		fmt.Fprintf(b, "  %s%s  ", w.Who, pad)
		if w.Holds != "" {
			fmt.Fprintf(b, "holds      %s\n%s", w.Holds, indent)
		}
		fmt.Fprintf(b, "waits for  %s", w.WaitsFor)
		if len(v.Cycle) > 0 && i == len(v.Cycle)-1 {
			b.WriteString("   <- cycle")
		}
		fmt.Fprintf(b, "\n%s           %s\n", indent, w.Why)
	}
}

func (v Verdict) warningText(b *strings.Builder) {
	for _, w := range v.Warnings {
		fmt.Fprintf(b, "warning: %s\n", w)
	}
	open := len(v.open()) > 0
	for n, u := range v.Unanswered {
		switch {
		case n >= shownUnanswered:
		case u.Cancelled != 0:
			reason := ""
			if u.Reason != "" {
				reason = ": " + u.Reason
			}
			fmt.Fprintf(b, "note: #%d %s was not answered: it was cancelled (#%d) after %s%s\n", u.Seq, u.Call, u.Cancelled, u.Waited, reason)
		case !open:
			fmt.Fprintf(b, "note: #%d %s was not answered in %s; nothing of the client's waits for it\n", u.Seq, u.Call, u.Waited)
		}
	}
}

// openText lists the requests that nobody answered and nobody has cancelled.
func (v Verdict) openText(b *strings.Builder) {
	open := v.open()
	if len(open) == 0 {
		return
	}
	fmt.Fprintf(b, "UNANSWERED %s at the end of the recording\n", phrase.Plural(len(open), "request"))
	for i, u := range open {
		if i == shownUnanswered {
			fmt.Fprintf(b, "  … and %d more\n", len(open)-i)
			break
		}
		fmt.Fprintf(b, "  #%d %s: the %s owes the answer, waited %s\n", u.Seq, u.Call, u.Owes, u.Waited)
	}
	if v.Verdict != Hang {
		b.WriteString("  A transport of this capacity is not the reason, with ends of these models:\n")
	}
}
