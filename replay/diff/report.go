package diff

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mcprec/mcprec/replay/internal/interrupt"
	"github.com/mcprec/mcprec/replay/match"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
	"github.com/mcprec/mcprec/transport/phrase"
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
	Noise         = "stray output" // lines that are not messages
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
	Call        match.Call         `json:"-"` // of a change of a message
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
	Compared map[string]int // by section, what there was to compare; notes and timing have none
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
	Frames    uint64 `json:"messages"`
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

// Nothing reports whether there was nothing to compare in some sections, or in all if none is named. Who
// names a section that never differs asks for what it tells.
func (r *Report) Nothing(sections ...string) bool {
	for section, n := range r.Compared {
		if n > 0 && (len(sections) == 0 || slices.Contains(sections, section)) {
			return false
		}
	}
	return !slices.Contains(sections, Stderr) && !slices.Contains(sections, Timing)
}

// compared counts what there is to compare in each section but that on tools. Where a session has something
// that the other lacks, that is compared.
func (f *findings) compared() {
	n := f.report.Compared
	for _, s := range f.both() {
		for i := range s.list {
			switch m := &s.list[i]; {
			case f.flag.Raised():
				return
			case !s.isSelected(m.seq):
				continue
			case m.kind == transport.Notification:
				n[Notifications]++
			default:
				n[Calls]++
			}
			n[Noise]++
		}
	}
	f.eachPair(func(a, b *message) {
		if !f.a.isSelected(a.seq) && !f.b.isSelected(b.seq) {
			return
		}
		for _, section := range []string{Payload, Order, Bytes} {
			n[section]++
		}
		if method := f.names.list[a.name].method; method == mcp.MethodInitialize || method == mcp.MethodDiscover {
			n[Capabilities]++
		}
		if a.dir == transport.ClientToServer && f.a.legacy == f.b.legacy && f.a.status[a.stream] != 0 && f.b.status[b.stream] != 0 {
			n[HTTP]++
		}
	})
	if f.a.Exit != "" && f.b.Exit != "" && f.a.selected == nil {
		n[Exit]++
	}
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
			if f.flag.Raised() {
				return nil
			}
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
	key := name{method, target}
	at, known := n.known[key]
	if !known && len(n.list) >= keptNames {
		key = name{}
		at, known = n.known[key]
	}
	if !known {
		at = int32(len(n.list))
		n.list = append(n.list, key)
		n.known[key] = at
	}
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

// findings collects the differences between two sessions with paired messages.
type findings struct {
	sides
	names    *names
	anyOrder bool // the rules let notifications come in any order
	flag     *interrupt.Flag
	report   *Report
}

// add adds a finding, if one of its events is selected.
func (f *findings) add(finding Finding) {
	isOfSession := len(finding.A)+len(finding.B) == 0 && f.a.selected == nil
	if !isOfSession && !f.a.isSelected(finding.A...) && !f.b.isSelected(finding.B...) {
		return
	}
	finding.Note = finding.Note || finding.AnyOrder && f.anyOrder
	counts := f.report.Counts
	if finding.Note {
		counts = f.report.Notes
	}
	counts[finding.Section]++
	if counts[finding.Section] <= KeptFindings {
		f.report.Findings = append(f.report.Findings, finding)
	}
}

// eachPair calls do with each pair of messages, in the order of A.
func (f *findings) eachPair(do func(a, b *message)) {
	for i := range f.a.list {
		if f.flag.Raised() {
			return
		}
		if a := &f.a.list[i]; a.pair != none {
			do(a, &f.b.list[a.pair])
		}
	}
}

// changed returns a finding about a pair of messages.
func (f *findings) changed(section string, a, b *message) Finding {
	return Finding{Section: section, Kind: Changed, A: []uint64{a.seq}, B: []uint64{b.seq}, What: f.describe(0, a)}
}

// describe names a message of a side in words.
func (f *findings) describe(side int, message *message) string {
	name := f.names.list[message.name].String()
	switch {
	case message.kind == transport.Invalid:
		return fmt.Sprintf("a stray line of the %s, not JSON-RPC", message.dir.Sender())
	case message.isAnswer():
		return "the answer to " + name
	case message.kind == transport.Response:
		return fmt.Sprintf("an answer of the %s to no request", message.dir.Sender())
	case message.kind == transport.Request && message.dir == transport.ServerToClient:
		return name + " of the server"
	}
	return name
}

// alone finds messages in one session alone. Messages of such a call are counted with the call.
func (f *findings) alone() {
	for side, s := range f.both() {
		with := map[int32]int{} // how many messages belong to a call
		isWithCall := func(message *message) bool {
			owner := message.owner()
			return owner != none && s.list[owner].pair == none
		}
		for i := range s.list {
			if m := &s.list[i]; m.pair == none && m.kind != transport.Response && isWithCall(m) {
				with[m.owner()]++
			}
		}
		for i := range s.list {
			m := &s.list[i]
			if f.flag.Raised() {
				return
			}
			isCounted := isWithCall(m) && (m.kind == transport.Response || m.kind == transport.Notification)
			if m.pair != none || isCounted {
				continue
			}
			finding := Finding{Section: Calls, Kind: [...]string{OnlyInA, OnlyInB}[side], What: f.describe(side, m)}
			own := []uint64{m.seq}
			var others []uint64
			switch owner := m.owner(); {
			case m.kind == transport.Request:
				var texts []string
				if m.reply != none {
					own = append(own, s.list[m.reply].seq)
					texts = append(texts, fmt.Sprintf("answered by #%d", s.list[m.reply].seq))
				}
				if n := with[int32(i)]; n > 0 {
					texts = append(texts, fmt.Sprintf("with %d more that belong to it", n))
				}
				finding.Text = strings.Join(texts, ", ")
			case m.isAnswer():
				call := f.both()[1-side].list[s.list[m.call].pair]
				finding.Text = fmt.Sprintf("#%d has none in %s", call.seq, [...]string{"B", "A"}[side])
				others = []uint64{call.seq}
			case m.kind == transport.Response:
			case m.kind == transport.Invalid:
				finding.Section = Noise
				if text, ok := m.text(); ok {
					finding.Text = shorten(string(text.Params))
				}
			case owner != none:
				finding.Section = Notifications
				finding.Text = fmt.Sprintf("of #%d %s", s.list[owner].seq, f.describe(side, &s.list[owner]))
			default:
				finding.Section = Notifications
			}
			finding.A = own
			finding.B = others
			if side == 1 {
				finding.A = others
				finding.B = own
			}
			f.add(finding)
		}
	}
}

// tools compares the servers' lists of tools, by name, and says in which members a tool differs.
func (f changeFinder) tools() {
	if f.a.toolsSeq == 0 || f.b.toolsSeq == 0 {
		return // a client did not ask
	}
	f.report.Compared[Tools] += len(f.a.tools) + len(f.b.tools)
	add := func(kind, name string, places []match.Difference, more int) {
		f.add(Finding{
			Section: Tools, Kind: kind, A: []uint64{f.a.toolsSeq}, B: []uint64{f.b.toolsSeq}, What: "tool " + quote(name),
			Differences: places, More: more,
		})
	}
	for _, name := range slices.Sorted(maps.Keys(f.a.tools)) {
		a := f.a.tools[name]
		switch b, has := f.b.tools[name]; {
		case !has:
			add(OnlyInA, name, nil, 0)
		case a.content != b.content:
			found := f.comparer.Compare(transport.NoDirection, match.Call{Method: mcp.MethodListTools}, transport.Message{Result: a.raw}, transport.Message{Result: b.raw})
			for i := range found.Differences {
				found.Differences[i].Path = strings.TrimPrefix(found.Differences[i].Path, "/result")
			}
			add(Changed, name, found.Differences, found.More)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(f.b.tools)) {
		if _, has := f.a.tools[name]; !has {
			add(OnlyInB, name, nil, 0)
		}
	}
}

// statuses compares the HTTP statuses of the client's messages. A session over HTTP+SSE and
// one over Streamable HTTP have other statuses by their transports: 202 for every message, and
// 200 for a request.
func (f *findings) statuses() {
	if f.a.legacy != f.b.legacy {
		return
	}
	f.eachPair(func(a, b *message) {
		inA := f.a.status[a.stream]
		inB := f.b.status[b.stream]
		if a.dir == transport.ClientToServer && inA != 0 && inB != 0 && inA != inB {
			finding := f.changed(HTTP, a, b)
			finding.Text = fmt.Sprintf("status %d in A, %d in B", inA, inB)
			f.add(finding)
		}
	})
}

// endings compares the servers' exits, and notes other lines on standard error.
func (f *findings) endings() {
	if f.a.Exit != "" && f.b.Exit != "" && f.a.Exit != f.b.Exit {
		f.add(Finding{Section: Exit, Kind: Changed, What: "the server's exit", Text: fmt.Sprintf("%s in A, %s in B", f.a.Exit, f.b.Exit)})
	}
	onlyIn := func(lines, other map[uint64]int) (n int) {
		for line, times := range lines {
			n += max(0, times-other[line])
		}
		return n
	}
	onlyA := onlyIn(f.a.lines, f.b.lines)
	onlyB := onlyIn(f.b.lines, f.a.lines)
	if onlyA+onlyB > 0 {
		f.add(Finding{
			Section: Stderr, Kind: Changed, Note: true, What: "standard error",
			Text: fmt.Sprintf("%s in A, %d in B; %d only in A, %d only in B", phrase.Plural(f.a.stderr, "line"), f.b.stderr, onlyA, onlyB),
		})
	}
}

// changeFinder finds pairs of messages with differences.
type changeFinder struct {
	*findings
	comparer *match.Comparer
}

// payloads finds the places where paired messages differ. The comparer first learns from all
// pairs which values are made up in each recording.
func (f changeFinder) payloads() {
	eachChanged := func(do func(a, b *message, textA, textB transport.Message)) {
		f.eachPair(func(a, b *message) {
			if a.content == b.content {
				return
			}
			textA, inA := a.text()
			textB, inB := b.text()
			if inA && inB {
				do(a, b, textA, textB)
			}
		})
	}
	eachChanged(func(message, _ *message, textA, textB transport.Message) {
		if message.kind != transport.Notification && message.kind != transport.Invalid {
			f.comparer.Learn(message.dir, message.seq, textA, textB)
		}
	})
	eachChanged(f.payload)
	f.eachPair(func(a, b *message) {
		switch {
		case a.content != b.content && (a.raw == nil || b.raw == nil):
			f.report.Unread++
			finding := f.changed(Payload, a, b)
			finding.Text = fmt.Sprintf("where, was not looked for: behind the first %d MiB of a session", KeptBytes>>20)
			f.add(finding)
		case a.content == b.content && a.bytes != b.bytes: // bytes are 0 without Options.Bytes
			finding := f.changed(Bytes, a, b)
			finding.Text = "spelled otherwise"
			f.add(finding)
		}
	})
}

// payload compares the texts of one pair.
func (f changeFinder) payload(a, b *message, textA, textB transport.Message) {
	compare := f.comparer.Compare
	if f.report.Counts[Payload] >= KeptFindings {
		compare = f.comparer.Count
	}
	of := f.names.list[a.name]
	about := match.Call{Method: of.method, Target: of.target}
	found := compare(a.dir, about, textA, textB)
	for _, m := range found.Mapped {
		f.report.Mapped[m.By]++
	}
	if found.Same() {
		return
	}
	finding := f.changed(Payload, a, b)
	finding.More, finding.Call = found.More, about
	method := of.method
	if method == mcp.MethodInitialize || method == mcp.MethodDiscover {
		finding.Section = Capabilities
	}
	for _, d := range found.Differences {
		if method == mcp.MethodListTools && a.kind == transport.Response && strings.HasPrefix(d.Path, "/result/tools/") {
			finding.More = 0 // the section on tools has these, and most likely the uncounted ones
			continue
		}
		finding.Differences = append(finding.Differences, d)
	}
	list := finding.Differences
	if len(list) == 0 && finding.More == 0 {
		return
	}
	if len(list) == 2 && list[0].Path == "/result" && list[1].Path == "/error" {
		finding.Text = "an error in A, a result in B"
		if list[0].Got == "nothing" {
			finding.Text = "a result in A, an error in B"
		}
	}
	f.add(finding)
}
