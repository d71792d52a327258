package picture

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/mcprec/mcprec/replay/diff"
	"github.com/mcprec/mcprec/transport/phrase"
)

// Comparison is two sessions side by side.
type Comparison struct {
	Same     bool             `json:"same"`
	Summary  string           `json:"summary"` // how many rows of each kind there are
	Sections []CompareSection `json:"sections"`
}

// CompareSection is a part of a comparison: the messages, or findings that are about no pair
// of messages.
type CompareSection struct {
	Section string       `json:"section"` // "messages", or a section of package diff
	Rows    []CompareRow `json:"rows"`
}

// CompareRow is a message of A beside its pair in B.
type CompareRow struct {
	A           uint64       `json:"a"` // Seq; 0: a gap
	B           uint64       `json:"b"`
	LabelA      string       `json:"labelA"`
	LabelB      string       `json:"labelB"`
	Kind        string       `json:"kind"` // same, changed, only a, only b, moved or note
	What        string       `json:"what"`
	Text        string       `json:"text"`
	Differences []Difference `json:"differences"`
}

// Difference is a place where two messages differ.
type Difference struct {
	Path string `json:"path"`
	A    string `json:"a"`
	B    string `json:"b"`
}

// The kinds of rows.
const (
	same    = "same"
	note    = "note"
	moved   = "moved"
	changed = "changed"
	onlyA   = "only a"
	onlyB   = "only b"
)

// rank orders the kinds of rows: a row with several findings gets the kind of highest rank.
var rank = map[string]int{same: 0, note: 1, moved: 2, changed: 3, onlyA: 4, onlyB: 4}

const (
	wholeRows   = 2_000 // a comparison with more messages leaves out most equal ones
	shownRows   = 5_000 // the most rows of a section
	contextRows = 3     // equal messages kept on either side of a difference
)

// Compare returns a report as aligned rows. label returns the label of an event of a side (0
// is A); Compare asks for each shown row.
func Compare(report *diff.Report, pairs []diff.Pair, label func(side int, seq uint64) string) Comparison {
	c := Comparison{Same: report.Same()}
	rows := make([]CompareRow, 0, len(pairs))
	at := make(map[diff.Pair]int, len(pairs))
	for _, p := range pairs {
		kind := same
		switch {
		case p.B == 0:
			kind = onlyA
		case p.A == 0:
			kind = onlyB
		}
		if _, known := at[p]; !known { // of a batch the first
			at[p] = len(rows)
		}
		rows = append(rows, CompareRow{A: p.A, B: p.B, Kind: kind})
	}
	others := map[string][]CompareRow{}
	for _, f := range report.Findings {
		row := rowOfFinding(f)
		if i, known := at[diff.Pair{A: row.A, B: row.B}]; known && aboutMessages[f.Section] {
			rows[i].add(row)
		} else {
			others[f.Section] = append(others[f.Section], row)
		}
	}
	c.Summary = summaryOf(rows)
	c.add("messages", withoutSame(rows), label)
	for _, section := range diff.Sections() {
		c.add(section, others[section], label)
	}
	return c
}

// summaryOf counts messages that differ, and those that do not.
func summaryOf(rows []CompareRow) string {
	counts := map[string]int{}
	for _, row := range rows {
		counts[row.Kind]++
	}
	var parts []string
	for _, kind := range []struct{ name, words string }{
		{changed, "changed"}, {onlyA, "only in A"}, {onlyB, "only in B"}, {moved, "moved"}, {note, "with a note"}, {same, "the same"},
	} {
		if n := counts[kind.name]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, kind.words))
		}
	}
	return "messages: " + cmp.Or(strings.Join(parts, ", "), "none")
}

// aboutMessages has the sections whose findings are about a message or a pair of messages.
var aboutMessages = map[string]bool{
	diff.Calls: true, diff.Payload: true, diff.Notifications: true, diff.Order: true, diff.Capabilities: true, diff.Noise: true,
	diff.Bytes: true, diff.HTTP: true,
}

// rowOfFinding returns a row for a finding. A finding about a message that only one session
// has may also name events of the other session; the row leaves these out, for they are not
// the message's pair.
func rowOfFinding(f diff.Finding) CompareRow {
	row := CompareRow{What: f.What, Text: f.Text, Kind: changed}
	if len(f.A) > 0 && f.Kind != diff.OnlyInB {
		row.A = f.A[0]
	}
	if len(f.B) > 0 && f.Kind != diff.OnlyInA {
		row.B = f.B[0]
	}
	switch {
	case f.Note:
		row.Kind = note
	case f.Kind == diff.OnlyInA:
		row.Kind = onlyA
	case f.Kind == diff.OnlyInB:
		row.Kind = onlyB
	case f.Kind == diff.Swapped:
		row.Kind = moved
	}
	for _, d := range f.Differences {
		row.Differences = append(row.Differences, Difference{Path: d.Path + d.Within, A: d.Want, B: d.Got})
	}
	if f.More > 0 {
		row.say(fmt.Sprintf("%s more", phrase.Plural(f.More, "place")))
	}
	return row
}

// add adds the row of a finding to the row of its messages.
func (r *CompareRow) add(finding CompareRow) {
	if rank[finding.Kind] > rank[r.Kind] {
		r.Kind = finding.Kind
	}
	r.What = cmp.Or(r.What, finding.What)
	r.say(finding.Text)
	r.Differences = append(r.Differences, finding.Differences...)
}

func (r *CompareRow) say(text string) {
	if r.Text != "" && text != "" {
		r.Text += "; "
	}
	r.Text += text
}

// add adds a section, unless it has no rows.
func (c *Comparison) add(section string, rows []CompareRow, label func(side int, seq uint64) string) {
	if len(rows) == 0 {
		return
	}
	if more := len(rows) - shownRows; more > 0 {
		text := fmt.Sprintf("%s not shown", phrase.Plural(more, "more row"))
		rows = append(slices.Clip(rows[:shownRows]), CompareRow{Kind: note, Text: text})
	}
	for i := range rows {
		r := &rows[i]
		if r.A != 0 {
			r.LabelA = label(0, r.A)
		}
		if r.B != 0 {
			r.LabelB = label(1, r.B)
		}
		if r.Differences == nil {
			r.Differences = []Difference{}
		}
	}
	c.Sections = append(c.Sections, CompareSection{section, rows})
}

// withoutSame leaves out equal messages between differences, if there are many messages. A
// note says how many.
func withoutSame(rows []CompareRow) []CompareRow {
	if len(rows) <= wholeRows {
		return rows
	}
	var shown []CompareRow
	for from := 0; from < len(rows); {
		to := from
		for to < len(rows) && rows[to].Kind == same {
			to++
		}
		before := contextRows // rows to keep behind the difference before them
		if from == 0 {
			before = 0
		}
		after := contextRows // rows to keep in front of the next difference
		if to == len(rows) {
			after = 0
		}
		if left := to - from - before - after; left > 1 {
			shown = append(shown, rows[from:from+before]...)
			shown = append(shown, CompareRow{Kind: note, Text: fmt.Sprintf("%s are the same", phrase.Plural(left, "message"))})
			shown = append(shown, rows[to-after:to]...)
		} else {
			shown = append(shown, rows[from:to]...)
		}
		for from = to; from < len(rows) && rows[from].Kind != same; from++ {
			shown = append(shown, rows[from])
		}
	}
	return shown
}
