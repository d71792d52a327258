package diff

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"github.com/mcprec/mcprec/replay/match"
	"github.com/mcprec/mcprec/replay/phrase"
	"github.com/mcprec/mcprec/transport"
)

// The sections of a report.
const (
	Calls         = "calls"         // requests and answers in one session alone
	Payload       = "payload"       // messages that say something else
	Notifications = "notifications" // in one session alone
	Order         = "order"
	Capabilities  = "capabilities" // initialize and discover: revision, capabilities, who is who
	Tools         = "tools"        // definitions
	HTTP          = "http"         // status codes
	Noise         = "noise"        // lines that are not messages
	Exit          = "exit"
	Bytes         = "bytes"  // the same content in other bytes
	Stderr        = "stderr" // always a note
	Timing        = "timing" // never a finding
)

// Sections returns the sections in the order of a report.
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

// Finding is one difference between two sessions.
type Finding struct {
	Section string   `json:"section"`
	Kind    string   `json:"kind"`
	Note    bool     `json:"note,omitempty"` // the sessions are the same in spite of this
	A       []uint64 `json:"a"`              // events of A, the one that shows the difference first
	B       []uint64 `json:"b"`
	What    string   `json:"what"` // tools/call "echo"; the answer to tools/call "echo"
	Text    string   `json:"text,omitempty"`

	Differences []match.Difference `json:"-"` // of a change: A has the wanted value
	More        int                `json:"-"` // differences beyond the listed ones
	AnyOrder    bool               `json:"-"` // a note where the rules let notifications come in any order
}

// KeptFindings is how many findings of a section a report has.
const KeptFindings = 1000

// Report has the differences between two sessions.
type Report struct {
	A, B     Side
	Findings []Finding
	Counts   map[string]int // by section, of all findings that are not notes
	Notes    map[string]int // by section, of the notes
	Mapped   map[string]int // places that differ and count as the same, by reason: variable, clock, ignored …
	Unread   int            // messages that differ and whose texts were too much to hold
	Timing   []Latency
	Slower   []Slower
}

// Side describes one of the sessions.
type Side struct {
	ID        string `json:"id"`
	Transport string `json:"transport"`
	Events    uint64 `json:"events"`
	Frames    uint64 `json:"frames"`
	Calls     int    `json:"calls"`
	Lost      uint64 `json:"lost"`
	Took      int64  `json:"took_ns"`
}

// side describes the session.
func (s *Session) side() Side {
	side := Side{
		ID: string(s.Header.ID), Transport: s.Header.Transport, Events: s.Events, Frames: s.Frames,
		Lost: s.Lost, Took: int64(s.took),
	}
	for i := range s.list {
		if s.list[i].kind == transport.Request {
			side.Calls++
		}
	}
	return side
}

// Same reports whether the sessions are the same in some sections, or in all if none is named.
func (r *Report) Same(sections ...string) bool {
	for section, n := range r.Counts {
		if n > 0 && (len(sections) == 0 || slices.Contains(sections, section)) {
			return false
		}
	}
	return true
}

// Latency is how long the calls to one tool, or of one method, took in both sessions.
type Latency struct {
	What   string        `json:"what"`
	CallsA int           `json:"calls_a"`
	CallsB int           `json:"calls_b"`
	P50A   time.Duration `json:"p50_a_ns"`
	P50B   time.Duration `json:"p50_b_ns"`
	P95A   time.Duration `json:"p95_a_ns"`
	P95B   time.Duration `json:"p95_b_ns"`
	Ratio  float64       `json:"ratio"` // of the medians, B's to A's; 0 where there is none
}

// latencies compares the latencies of the client's calls.
func (f *findings) latencies() (list []Latency) {
	var took [2]map[int32][]time.Duration // by name
	for side, s := range f.both() {
		took[side] = map[int32][]time.Duration{}
		for i := range s.list {
			m := &s.list[i]
			if m.isAnsweredCall() && s.isSelected(m.seq) {
				took[side][m.name] = append(took[side][m.name], s.latency(m))
			}
		}
	}
	quantile := func(sorted []time.Duration, percent int) time.Duration {
		if len(sorted) == 0 {
			return 0
		}
		return sorted[max((len(sorted)*percent+99)/100, 1)-1]
	}
	for i, n := range f.names.list {
		a := took[0][int32(i)]
		b := took[1][int32(i)]
		if len(a) == 0 && len(b) == 0 {
			continue
		}
		slices.Sort(a)
		slices.Sort(b)
		latency := Latency{
			What: n.String(), CallsA: len(a), CallsB: len(b),
			P50A: quantile(a, 50), P50B: quantile(b, 50), P95A: quantile(a, 95), P95B: quantile(b, 95),
		}
		if latency.P50A > 0 && len(b) > 0 {
			latency.Ratio = float64(latency.P50B) / float64(latency.P50A)
		}
		list = append(list, latency)
	}
	slices.SortStableFunc(list, func(x, y Latency) int { return cmp.Compare(x.What, y.What) })
	return list
}

// Slower is a call that took much longer in one session than in the other.
type Slower struct {
	What string        `json:"what"`
	A    uint64        `json:"a"`
	B    uint64        `json:"b"`
	InA  time.Duration `json:"in_a_ns"`
	InB  time.Duration `json:"in_b_ns"`
}

// A call is much slower if it takes slowerTimes as long and slowerBy longer. A report has
// keptSlower of them.
const (
	slowerTimes = 5
	slowerBy    = 100 * time.Millisecond
	keptSlower  = 10
)

// slower returns the client's calls that took much longer in one session, those that differ
// most first.
func (f *findings) slower() (list []Slower) {
	keep := func() {
		slices.SortStableFunc(list, func(x, y Slower) int { return cmp.Compare((y.InB - y.InA).Abs(), (x.InB - x.InA).Abs()) })
		list = list[:min(len(list), keptSlower)]
	}
	f.eachPair(func(a, b *message) {
		if !a.isAnsweredCall() || b.reply == none || !f.a.isSelected(a.seq) && !f.b.isSelected(b.seq) {
			return
		}
		call := Slower{A: a.seq, B: b.seq, InA: f.a.latency(a), InB: f.b.latency(b)}
		low := min(call.InA, call.InB)
		high := max(call.InA, call.InB)
		if high-low < slowerBy || high < slowerTimes*low {
			return
		}
		call.What = f.names.list[a.name].String()
		list = append(list, call)
		if len(list) > 100*keptSlower {
			keep()
		}
	})
	keep()
	return list
}

func (m *message) isAnsweredCall() bool {
	return m.kind == transport.Request && m.dir == transport.ClientToServer && m.reply != none
}

// name distinguishes messages in a report: the method, and the name of a tool or a prompt.
type name struct{ method, target string }

// names numbers the names of two sessions.
type names struct {
	list  []name
	known map[name]int32
}

// keptNames is how many names are distinguished. Further names, of a hostile peer, share one.
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

// String returns the name for a report.
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
