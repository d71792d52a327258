package check

import (
	"fmt"
	"strings"

	"github.com/mcprec/mcprec/replay/order"
	"github.com/mcprec/mcprec/transport"
)

// Finding is something that a recording shows.
type Finding struct {
	Rule     string              `json:"rule"` // such as "P3", "E1"
	Title    string              `json:"title"`
	Severity order.Severity      `json:"severity"`
	Revision string              `json:"revision"` // in force then; "" before one is settled
	Section  string              `json:"section"`  // of the specification: page, heading; "" where it says nothing
	Dir      transport.Direction `json:"-"`        // of whoever is at fault
	Events   []uint64            `json:"events"`   // Seqs, first the one that shows it
	Text     string              `json:"text"`     // a sentence
}

// String returns the finding as one line.
func (f Finding) String() string {
	events := make([]string, len(f.Events))
	for i, seq := range f.Events {
		events[i] = fmt.Sprintf("#%d", seq)
	}
	at := f.Section
	if at != "" && f.Revision != "" {
		at = f.Revision + ", " + at
	}
	line := fmt.Sprintf("%s %s %s: %s", strings.Join(events, " "), f.Severity, f.Rule, f.Text)
	if at != "" {
		line += " (" + at + ")"
	}
	return line
}
