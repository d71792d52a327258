package diff

import (
	"slices"
	"strconv"

	"github.com/mcprec/mcprec/replay/match"
	"github.com/mcprec/mcprec/replay/phrase"
)

// The sections of a report.
const (
	Calls         = "calls"         // asked, or answered, in one session alone
	Payload       = "payload"       // what is said otherwise
	Notifications = "notifications" // that are in one session alone
	Order         = "order"
	Capabilities  = "capabilities" // what initialize or discover settled: revision, capabilities, who is who
	Tools         = "tools"        // definitions
	HTTP          = "http"         // status codes
	Noise         = "noise"        // lines that are no message
	Exit          = "exit"
	Bytes         = "bytes"  // what is spelled otherwise
	Stderr        = "stderr" // always a note
	Timing        = "timing" // never a finding
)

// Sections returns them, in the order of a report.
func Sections() []string {
	return []string{Calls, Payload, Notifications, Order, Capabilities, Tools, HTTP, Noise, Exit, Bytes, Stderr, Timing}
}

// Kinds of findings.
const (
	OnlyInA = "only in A"
	OnlyInB = "only in B"
	Changed = "changed"
	Swapped = "swapped"
)

// Finding is one way in which two sessions differ.
type Finding struct {
	Section string   `json:"section"`
	Kind    string   `json:"kind"`
	Note    bool     `json:"note,omitempty"` // it is told, and makes no difference
	A       []uint64 `json:"a"`              // events of A, the first is the one that shows it
	B       []uint64 `json:"b"`
	What    string   `json:"what"` // tools/call "echo"; the answer to tools/call "echo"
	Text    string   `json:"text,omitempty"`

	Differences []match.Difference `json:"-"` // of a change: what A has is wanted
	More        int                `json:"-"` // beyond those listed
	AnyOrder    bool               `json:"-"` // it is a note where the rules let notifications come in any order
}

// KeptFindings is how many of a section are kept.
const KeptFindings = 1000

// Report is what a comparison comes to.
type Report struct {
	A, B     Side
	Findings []Finding
	Counts   map[string]int // by section, of all findings that are no notes
	Notes    map[string]int // by section, of the notes
	Mapped   map[string]int // places that differ and are the same, by why: variable, clock, ignored …
	Unread   int            // messages that differ and whose texts were too much to be held
	Timing   []Latency
	Slower   []Slower
}

// Side is one of the sessions.
type Side struct {
	ID        string `json:"id"`
	Transport string `json:"transport"`
	Events    uint64 `json:"events"`
	Frames    uint64 `json:"frames"`
	Calls     int    `json:"calls"`
	Lost      uint64 `json:"lost"`
	Took      int64  `json:"took_ns"`
}

// Same reports whether nothing differs in some sections, in any where none is named.
func (r *Report) Same(sections ...string) bool {
	for section, n := range r.Counts {
		if n > 0 && (len(sections) == 0 || slices.Contains(sections, section)) {
			return false
		}
	}
	return true
}

// find adds a finding, if one of its events is selected.
func (c *Comparison) find(f Finding) {
	around := len(f.A)+len(f.B) == 0 && c.sides[0].chosen == nil
	if !around && !c.sides[0].isChosen(f.A...) && !c.sides[1].isChosen(f.B...) {
		return
	}
	f.Note = f.Note || f.AnyOrder && c.options.Rules.AnyOrder
	counts := c.report.Counts
	if f.Note {
		counts = c.report.Notes
	}
	if counts[f.Section]++; counts[f.Section] <= KeptFindings {
		c.report.Findings = append(c.report.Findings, f)
	}
}

// Report pairs what is left, when all texts were taken, and says what differs.
func (c *Comparison) Report() *Report {
	c.report = &Report{Counts: map[string]int{}, Notes: map[string]int{}, Mapped: map[string]int{}}
	c.report.A, c.report.B = c.sides[0].side(), c.sides[1].side()
	c.matchTexts()
	c.findAlone()
	c.findChanged()
	c.findMisplaced()
	c.findShuffled()
	for _, dir := range directions {
		c.findMoved(dir)
		c.findOvertaken(dir)
	}
	c.findTools()
	c.findAround()
	c.measure()
	return c.report
}

// name is what messages are told apart by in a report: the method, and of a tool or a
// prompt its name.
type name struct{ method, target string }

// names numbers them.
type names struct {
	list  []name
	known map[name]int32
}

// keptNames is how many names are told apart. Behind that a hostile peer's are by method.
const keptNames = 100_000

func (n *names) of(method, target string) int32 {
	one := name{method, target}
	if at, ok := n.known[one]; ok {
		return at
	}
	if len(n.list) >= keptNames {
		one = name{}
		if at, ok := n.known[one]; ok {
			return at
		}
	}
	at := int32(len(n.list))
	n.list = append(n.list, one)
	n.known[one] = at
	return at
}

// String returns the name as a report has it.
func (n name) String() string {
	method := n.method
	if method == "" {
		method = "(no method)"
	}
	if n.target != "" {
		method += " " + quote(n.target)
	}
	return shorten(method)
}

func shorten(s string) string { return phrase.Shorten(s, 80) }

func quote(s string) string { return strconv.Quote(shorten(s)) }
