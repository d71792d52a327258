package check

import (
	"cmp"
	_ "embed" // of the explanations
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mcprec/mcprec/replay/order"
	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/jsonl"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
	"github.com/mcprec/mcprec/transport/phrase"
)

// Finding is a fault, or something worth a note, in a recording.
type Finding struct {
	Rule     string              `json:"rule"` // such as "P3", "E1"
	Title    string              `json:"title"`
	Severity order.Severity      `json:"severity"`
	Revision string              `json:"revision"`        // in force then; "" before one is settled
	Section  string              `json:"section"`         // of the specification: page, heading; "": not the specification's
	Dir      transport.Direction `json:"-"`               // of the end at fault
	Events   []uint64            `json:"events"`          // Seqs, first the event that shows the fault
	Text     string              `json:"text"`            // a sentence; of a hang a paragraph
	Shape    string              `json:"shape,omitempty"` // of a hang, as package why names it
}

// IsWait reports whether the finding is about a wait, which package why has judged.
func (f Finding) IsWait() bool {
	return slices.Contains([]string{"E1", "E2", "E10", "E11", "E17", "E18"}, f.Rule)
}

// NeedsExchange reports whether only an HTTP exchange shows that the finding is right: with a status such as 400 a server may
// send an error without an id (basic/transports, Sending Messages to the Server).
func (f Finding) NeedsExchange() bool { return f.Title == namesRequest.Title }

// String returns the finding as one line.
func (f Finding) String() string {
	events := make([]string, len(f.Events))
	for i, seq := range f.Events {
		events[i] = fmt.Sprintf("#%d", seq)
	}
	line := fmt.Sprintf("%s %s %s: %s", strings.Join(events, " "), f.Severity, f.Rule, f.Text)
	switch {
	case f.Section == "":
		return line
	case f.Revision == "":
		return fmt.Sprintf("%s (%s)", line, f.Section)
	}
	return fmt.Sprintf("%s (%s, %s)", line, f.Revision, f.Section)
}

// reporter gives out and counts findings. The parts of a fold share a reporter.
type reporter struct {
	emit          func(Finding)
	counts        map[order.Severity]int
	gap           uint64 // the event of the first gap in the recording; 0: none
	hasUnanswered bool   // a call without an answer was found
	saidMiddle    bool   // rule E16 was reported
	mask          timeline.Mask
}

// report gives out a finding of a rule of this package.
func (r *reporter) report(d order.Demand, dir transport.Direction, revision string, events []uint64, format string, args ...any) {
	r.give(Finding{
		Rule: d.Rule, Title: d.Title, Severity: d.Severity, Revision: revision, Section: d.Section,
		Dir: dir, Events: events, Text: fmt.Sprintf(format, args...),
	})
}

// give hands a finding out. Behind a gap the missing frames may explain a fault: an error
// becomes a warning, unless the user set the rule.
func (r *reporter) give(found Finding) {
	if r.gap != 0 && found.Severity == order.Error && found.Rule[0] != 'G' {
		found.Severity = order.Warning
		found.Text = fmt.Sprintf("%s; or what is missing at #%d explains it", strings.TrimSuffix(found.Text, "."), r.gap)
	}
	found.Revision = clip(found.Revision) // a peer may name any
	found.Text = r.mask.Text(found.Text)  // what an end wrote may be a secret only together with the words before it
	r.counts[found.Severity]++
	r.hasUnanswered = r.hasUnanswered || found.Rule == unanswered.Rule
	r.emit(found)
}

// The pages of the specification that several rules name.
const (
	pageHTTP  = "basic/transports/streamable-http"
	pageStdio = "basic/transports, stdio"
)

// demands lists the demands of this package.
//
// To add one: give its rule a number and a line in the list of doc.go; declare the demand in the file of
// its topic, before the code that judges it; explain its rule in rules.txt, which explains the rules of package order too; break it in
// testdata/rules.txt.
var demands []order.Demand

//go:embed rules.txt
var rulesText string

// newDemand declares a demand of a rule in a range of revisions, which is all of them if none is given.
func newDemand(rule, title string, severity order.Severity, section string, in ...mcp.Range) order.Demand {
	d := order.Demand{Rule: rule, Title: title, Severity: severity, Section: section, First: mcp.Oldest, Last: mcp.Newest}
	if len(in) > 0 {
		d.First = in[0].First
		d.Last = in[0].Last
	}
	demands = append(demands, d)
	return d
}

// Demands lists the demands that a recording can break, rule by rule: the protocol's (P; A of agents), of a
// frame's steps (U), of other evidence (E), the schema's (S) and the user's (G).
func Demands() []order.Demand {
	list := append(order.Demands(), demands...)
	list = slices.DeleteFunc(list, func(demand order.Demand) bool { return !demand.Observable() })
	slices.SortStableFunc(list, func(a, b order.Demand) int {
		const kinds = "PAUESG"
		return cmp.Or(cmp.Compare(strings.IndexByte(kinds, a.Rule[0]), strings.IndexByte(kinds, b.Rule[0])),
			cmp.Compare(number(a.Rule[1:]), number(b.Rule[1:])))
	})
	return list
}

// ruleOf returns the name and the explanation of a rule.
func ruleOf(id string) (name, text string, found bool) {
	_, rest, found := strings.Cut(rulesText, "\n= "+id+" ")
	name, rest, _ = strings.Cut(rest, "\n")
	text, _, _ = strings.Cut(rest, "\n\n= ")
	return name, text, found
}

// Name returns the topic of a rule, in a word or two; "" for an unknown rule.
func Name(rule string) string {
	name, _, _ := ruleOf(rule)
	return name
}

// Explain returns the demands of a rule, the reason, and an example: a sequence of frames
// that breaks the rule, with the findings. It reports false for an unknown rule.
func Explain(rule string) (string, bool) {
	_, text, found := ruleOf(rule)
	if !found {
		return "", false
	}
	var b strings.Builder
	for _, d := range Demands() {
		if d.Rule == rule {
			fmt.Fprintf(&b, "%s %s: %s (%s", d.Rule, d.Severity, d.Title, d.First)
			if d.Last != d.First {
				fmt.Fprintf(&b, " to %s", d.Last)
			}
			if d.Section != "" {
				fmt.Fprintf(&b, "; %s", d.Section)
			}
			b.WriteString(")\n")
		}
	}
	why, example, hasExample := strings.Cut(strings.TrimSpace(text), "\n- example\n")
	fmt.Fprintf(&b, "\n%s\n", why)
	if !hasExample {
		return b.String(), true
	}
	b.WriteString("\nThis breaks it (each message has \"jsonrpc\":\"2.0\" too):\n\n")
	shown := strings.NewReplacer("@\n", exampleHandshake, "$META", `"_meta":{…`+mcp.Newest+`…}`, "$TASKS", `"_meta":{…`+mcp.ExtensionTasks+`…}`, "$FF", "\uFFFD", "$CR", "\\r").Replace(example)
	for line := range strings.Lines(shown) {
		b.WriteString("  " + line)
	}
	b.WriteString("\n\nand is found as\n\n")
	f := New(Gate{}, func(found Finding) { fmt.Fprintf(&b, "  %s\n", found) })
	_ = timeline.Project(timeline.Steps(jsonl.Each(parseExample(example))), f) // the tests hold that it has no fault
	f.Close(0)
	return b.String(), true
}

// The language of examples: a line for each event. A line begins with > for a frame of the
// client, < for one of the server, or with a kind and a direction for another event; then may
// come the number of the HTTP exchange. A frame without jsonrpc gets that member.
// The first line @ is a handshake, $META the _meta of a request of 2026-07-28, $FF a byte
// outside UTF-8, and $CR a carriage return; $TASKS is $META of a client that can do tasks. The lines from "times 12" to "done" come
// so many times, and have the number of the round for $N.
const (
	exampleHandshake = `> {"id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}
< {"id":0,"result":{"protocolVersion":"2025-11-25"}}
> {"method":"notifications/initialized"}
`
	exampleMeta  = `"_meta":{"` + mcp.MetaProtocolVersion + `":"` + mcp.Newest + `","` + mcp.MetaClientInfo + `":{"name":"a","version":"1"},"` + mcp.MetaClientCapabilities + `":{}}`
	exampleTasks = `"_meta":{"` + mcp.MetaProtocolVersion + `":"` + mcp.Newest + `","` + mcp.MetaClientInfo + `":{"name":"a","version":"1"},"` + mcp.MetaClientCapabilities + `":{"extensions":{"` + mcp.ExtensionTasks + `":{}}}}`
)

// parseExample reads an example. Each event is a millisecond after the one before, and
// later by the duration of a line "wait".
func parseExample(example string) (events []store.Event) {
	example = strings.NewReplacer("@\n", exampleHandshake, "$META", exampleMeta, "$TASKS", exampleTasks, "$FF", "\xff", "$CR", "\r").Replace(example)
	example = expand(example)
	at := time.Duration(0)
	for line := range strings.SplitSeq(example, "\n") {
		sign, text, _ := strings.Cut(line, " ")
		at += time.Millisecond
		if sign == "wait" {
			d, _ := time.ParseDuration(text) // an example is ours
			at += d
			continue
		}
		e := store.Event{Seq: uint64(len(events)) + 1, At: at, Kind: store.Frame, Payload: []byte(text)}
		isFrame := sign[0] == '>' || sign[0] == '<'
		if before, members, ok := strings.Cut(text, "{"); ok && isFrame && (before == "" || before == "[") && !strings.Contains(text, "jsonrpc") {
			e.Payload = []byte(before + `{"jsonrpc":"2.0",` + members)
		}
		switch sign[0] {
		case '>':
			e.Dir = transport.ClientToServer
			e.Stream = number(sign[1:])
		case '<':
			e.Dir = transport.ServerToClient
			e.Stream = number(sign[1:])
		default:
			kind, rest, _ := strings.Cut(sign, "/")
			dir, stream, _ := strings.Cut(rest, "/")
			e.Kind = store.Kind(kind)
			e.Stream = number(stream)
			e.Dir, _ = transport.ParseDirection(dir) // an example is ours
		}
		events = append(events, e)
	}
	return events
}

// expand writes out the lines of an example that come several times.
func expand(example string) string {
	before, rest, ok := strings.Cut(example, "times ")
	if !ok {
		return example
	}
	count, rest, _ := strings.Cut(rest, "\n")
	lines, after, _ := strings.Cut(rest, "done")
	var b strings.Builder
	b.WriteString(before)
	for i := range number(count) {
		b.WriteString(strings.ReplaceAll(lines, "$N", strconv.FormatUint(100+i, 10)))
	}
	b.WriteString(expand(strings.TrimPrefix(after, "\n")))
	return strings.TrimSuffix(b.String(), "\n")
}

// number reads a number, 0 if there is none.
func number(s string) uint64 {
	n, _ := strconv.ParseUint(s, 10, 64)
	return n
}

// excerpt quotes the beginning of meaningless bytes.
func excerpt(data []byte) string {
	const limit = 60
	text := strings.ToValidUTF8(string(data[:min(len(data), limit)]), "\uFFFD")
	quoted := strconv.Quote(strings.TrimSpace(text))
	if len(data) > limit {
		quoted += "…"
	}
	return quoted
}

// clip keeps a peer's name from filling a line.
func clip(s string) string { return phrase.Clip(s, 48) }

// quote is clip for a name in quotation marks.
func quote(s string) string { return strconv.Quote(phrase.Shorten(s, 48)) }
