package diff

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mcprec/mcprec/replay/match"
	"github.com/mcprec/mcprec/replay/phrase"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

// findings collects the differences between two sessions with paired messages.
type findings struct {
	sides
	texts    *[2]texts
	names    *names
	anyOrder bool // the rules let notifications come in any order
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
		if a := &f.a.list[i]; a.pair != none {
			do(a, &f.b.list[a.pair])
		}
	}
}

// describe names a message of a side in words.
func (f *findings) describe(side int, m *message) string {
	name := f.names.list[m.name].String()
	switch {
	case m.kind == transport.Invalid:
		return fmt.Sprintf("a line of the %s that is no message", m.dir.Sender())
	case m.isAnswer():
		return "the answer to " + name
	case m.kind == transport.Response:
		return fmt.Sprintf("an answer of the %s to no request", m.dir.Sender())
	case m.kind == transport.Request && m.dir == transport.ServerToClient:
		return name + " of the server"
	}
	return name
}

// alone finds messages in one session alone. Messages of such a call are counted with the call.
func (f *findings) alone() {
	for side, s := range f.both() {
		with := map[int32]int{} // how many messages belong to a call
		isWithCall := func(m *message) bool {
			owner := m.owner()
			return owner != none && s.list[owner].pair == none
		}
		for i := range s.list {
			if m := &s.list[i]; m.pair == none && m.kind != transport.Response && isWithCall(m) {
				with[m.owner()]++
			}
		}
		for i := range s.list {
			m := &s.list[i]
			isCounted := isWithCall(m) && (m.kind == transport.Response || m.kind == transport.Notification)
			if m.pair == none && !isCounted {
				f.aloneMessage(side, m, with[int32(i)])
			}
		}
	}
}

// aloneMessage adds the finding for a message on one side alone, with a number of others.
func (f *findings) aloneMessage(side int, m *message, with int) {
	s := f.both()[side]
	finding := Finding{Section: Notifications, Kind: [...]string{OnlyInA, OnlyInB}[side], What: f.describe(side, m)}
	own, others := &finding.A, &finding.B
	if side == 1 {
		own, others = others, own
	}
	*own = []uint64{m.seq}
	switch owner := m.owner(); {
	case m.kind == transport.Request:
		finding.Section = Calls
		var texts []string
		if m.reply != none {
			*own = append(*own, s.list[m.reply].seq)
			texts = append(texts, fmt.Sprintf("answered by #%d", s.list[m.reply].seq))
		}
		if with > 0 {
			texts = append(texts, fmt.Sprintf("with %d more that belong to it", with))
		}
		finding.Text = strings.Join(texts, ", ")
	case m.isAnswer():
		finding.Section = Calls
		call := f.both()[1-side].list[s.list[m.call].pair]
		finding.Text = fmt.Sprintf("#%d has none in %s", call.seq, [...]string{"B", "A"}[side])
		*others = []uint64{call.seq}
	case m.kind == transport.Response:
		finding.Section = Calls
	case m.kind == transport.Invalid:
		finding.Section = Noise
		if text, ok := f.texts[side].message(m); ok {
			finding.Text = shorten(string(text.Params))
		}
	case owner != none:
		finding.Text = fmt.Sprintf("of #%d %s", s.list[owner].seq, f.describe(side, &s.list[owner]))
	}
	f.add(finding)
}

// tools compares the servers' lists of tools, by name.
func (f *findings) tools() {
	if f.a.toolsSeq == 0 || f.b.toolsSeq == 0 {
		return // a client did not ask
	}
	add := func(kind, name string) {
		f.add(Finding{Section: Tools, Kind: kind, A: []uint64{f.a.toolsSeq}, B: []uint64{f.b.toolsSeq}, What: "tool " + quote(name)})
	}
	for _, name := range slices.Sorted(maps.Keys(f.a.tools)) {
		if content, has := f.b.tools[name]; !has {
			add(OnlyInA, name)
		} else if content != f.a.tools[name] {
			add(Changed, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(f.b.tools)) {
		if _, has := f.a.tools[name]; !has {
			add(OnlyInB, name)
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
			f.add(Finding{
				Section: HTTP, Kind: Changed, A: []uint64{a.seq}, B: []uint64{b.seq}, What: f.describe(0, a),
				Text: fmt.Sprintf("status %d in A, %d in B", inA, inB),
			})
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
			textA, inA := f.texts[0].message(a)
			textB, inB := f.texts[1].message(b)
			if inA && inB {
				do(a, b, textA, textB)
			}
		})
	}
	eachChanged(func(a, _ *message, textA, textB transport.Message) {
		if a.kind != transport.Notification && a.kind != transport.Invalid {
			f.comparer.Learn(a.dir, a.seq, textA, textB)
		}
	})
	eachChanged(f.payload)
	f.eachPair(func(a, b *message) {
		_, inA := f.texts[0].frames[a.seq]
		_, inB := f.texts[1].frames[b.seq]
		if a.content == b.content || inA && inB {
			return
		}
		f.report.Unread++
		f.add(Finding{
			Section: Payload, Kind: Changed, A: []uint64{a.seq}, B: []uint64{b.seq}, What: f.describe(0, a),
			Text: fmt.Sprintf("where, was not looked for: more than %d MiB differ", KeptBytes>>20),
		})
	})
}

// payload compares the texts of one pair.
func (f changeFinder) payload(a, b *message, textA, textB transport.Message) {
	compare := f.comparer.Compare
	if f.report.Counts[Payload] >= KeptFindings {
		compare = f.comparer.Count
	}
	found := compare(a.dir, textA, textB)
	for _, m := range found.Mapped {
		f.report.Mapped[m.By]++
	}
	if found.Same() {
		return
	}
	finding := Finding{
		Section: Payload, Kind: Changed, A: []uint64{a.seq}, B: []uint64{b.seq}, What: f.describe(0, a), More: found.More,
	}
	method := f.names.list[a.name].method
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

// spellings finds pairs with the same content in other bytes.
func (f changeFinder) spellings() {
	f.eachPair(func(a, b *message) {
		if a.content == b.content && a.bytes != b.bytes {
			f.add(Finding{
				Section: Bytes, Kind: Changed, A: []uint64{a.seq}, B: []uint64{b.seq},
				What: f.describe(0, a), Text: "spelled otherwise",
			})
		}
	})
}
