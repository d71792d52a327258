package check

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mcprec/mcprec/replay/closed"
	"github.com/mcprec/mcprec/replay/order"
	"github.com/mcprec/mcprec/replay/schema"
	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
	"github.com/mcprec/mcprec/transport/phrase"
)

// Rules P13, P14, E4, E5 and S1: each concerns a single message.
var (
	isJSONRPC     = newDemand("P13", "a message says that it is JSON-RPC 2.0", order.Error, "basic, Messages")
	namesRevision = newDemand("P14", "a request names its revision and what its client can do", order.Error, "basic, General fields", mcp.Stateless)
	namesClient   = newDemand("P14", "a request names its client", order.Warning, "basic, General fields", mcp.Stateless)
	onlyMessages  = newDemand("E4", "only messages are on the wire", order.Error, pageStdio)
	noBlankLines  = newDemand("E4", "there are no blank lines on the wire", order.Warning, pageStdio)
	isUTF8        = newDemand("E5", "messages are UTF-8", order.Error, "basic/transports")
	fitsSchema    = newDemand("S1", "a message fits the schema of its revision", order.Error, "schema")
	schemaAsked   = newDemand("S1", "with --schema a session has messages of a revision with a schema", order.Error, "")
	schemaWrong   = newDemand("S1", "a message need not fit where the published schema is wrong", order.Note, "schema")
)

// judgeEncoding is rules E4 and E5 of a frame. It reports whether the frame is JSON.
func judgeEncoding(reporter *reporter, event store.Event, isJSON bool) bool {
	switch sender := event.Dir.Sender(); {
	case !isJSON && len(transport.TrimBlanks(event.Payload)) == 0:
		reporter.report(noBlankLines, event.Dir, "", []uint64{event.Seq}, "the %s sent a blank line", sender)
	case !isJSON:
		advice := ""
		text := transport.TrimBlanks(event.Payload)
		isRest := text[len(text)-1] == '}' && bytes.Count(text, []byte("{")) < bytes.Count(text, []byte("}"))
		isJSON := (text[0] == '{' || text[0] == '[') && (len(text) == 1 || strings.IndexByte("\"{[]} \t", text[1]) >= 0)
		switch isStray := !isJSON; {
		case isRest:
			advice = "; it looks like the rest of a message"
		case isStray && event.Dir == transport.ServerToClient && event.Stream == 0:
			advice = "; a stray line on stdout (console.log?): log to stderr"
		}
		reporter.report(onlyMessages, event.Dir, "", []uint64{event.Seq}, "the %s sent %s that %s not JSON-RPC: %s%s", sender,
			phrase.Plural(event.Size(), "byte"), phrase.Agree(event.Size(), "is", "are"), excerpt(event.Payload), advice)
	case bytes.HasPrefix(event.Payload, []byte(transport.ByteOrderMark)):
		reporter.report(onlyMessages, event.Dir, "", []uint64{event.Seq}, "the %s sent a byte order mark before a message, which is no part of JSON: some %ss refuse it", sender, event.Dir.Receiver())
	case !utf8.Valid(event.Payload):
		reporter.report(isUTF8, event.Dir, "", []uint64{event.Seq}, "the %s sent a message that is not UTF-8", sender)
	}
	return isJSON
}

// onPartEnd judges the last line of a direction if it has no end and is no message, at the end
// of the direction. A receiver that took no more is at fault for a line that may begin a message.
func (f *Fold) onPartEnd(dir transport.Direction, seq uint64, end store.EOFInfo) {
	part := f.parts[index(dir)]
	if part.Seq == 0 {
		return
	}
	f.parts[index(dir)] = store.Event{}
	text := transport.TrimBlanks(part.Payload)
	unpassed := end.Read - end.Passed
	if unpassed <= 0 || unpassed > int64(part.Size()) || !bytes.HasPrefix(text, []byte("{")) && !bytes.HasPrefix(text, []byte("[")) {
		judgeEncoding(f.reporter, part, false)
		return
	}
	f.report(unanswered, dir.Reverse(), "", []uint64{part.Seq, seq}, "the %s stopped reading in the middle of a message of the %s, of which %d bytes had come and %d were passed on: %s",
		dir.Receiver(), dir.Sender(), part.Size(), int64(part.Size())-unpassed, excerpt(part.Payload))
}

// judgeMembers is rules P13 and P14: a message names the JSON-RPC version, and from
// 2026-07-28 on a request names the revision and the client. Every peer reads these members;
// no schema is needed. httpRevision is the revision in force for the message's exchange.
func judgeMembers(r *reporter, e store.Event, m *transport.Message, revision, httpRevision string) {
	if m.Kind() == transport.Invalid {
		r.report(onlyMessages, e.Dir, revision, []uint64{e.Seq}, "the %s sent JSON that is not a JSON-RPC message: %s", e.Dir.Sender(), excerpt(r.mask.Of(m.Raw)))
		return
	}
	if !hasJSONRPC(m.Raw) {
		said := `without "jsonrpc":"2.0"`
		if version := transport.Member(m.Raw, "jsonrpc"); version != nil {
			said = fmt.Sprintf(`with "jsonrpc":%s, not "2.0"`, clip(string(version)))
		}
		r.report(isJSONRPC, e.Dir, revision, []uint64{e.Seq}, "the %s sent %s %s", e.Dir.Sender(), nameOf(m, ""), said)
	}
	if e.Dir != transport.ClientToServer || m.Kind() != transport.Request || m.Method == mcp.MethodInitialize {
		return
	}
	revision = max(revision, httpRevision, metaRevision(m))
	if !mcp.Stateless.Has(revision) {
		return
	}
	var missing []string
	for _, name := range []string{mcp.MetaProtocolVersion, mcp.MetaClientCapabilities} {
		if transport.Member(m.Params, mcp.MemberMeta, name) == nil {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		r.report(namesRevision, e.Dir, revision, []uint64{e.Seq}, "the client sent %s (id %s) without %s in its _meta", clip(m.Method), clip(string(m.ID)), strings.Join(missing, " and "))
	}
	if !slices.Contains(missing, mcp.MetaProtocolVersion) && transport.Member(m.Params, mcp.MemberMeta, mcp.MetaClientInfo) == nil {
		r.report(namesClient, e.Dir, revision, []uint64{e.Seq}, "the client sent %s (id %s) without %s in its _meta", clip(m.Method), clip(string(m.ID)), mcp.MetaClientInfo)
	}
}

// hasJSONRPC reports whether a message has "jsonrpc":"2.0". Most messages have that first or
// last, where it is found without reading the others.
func hasJSONRPC(message []byte) bool {
	const member = `"jsonrpc":"2.0"`
	return bytes.HasPrefix(message, []byte("{"+member+",")) || bytes.HasSuffix(message, []byte(","+member+"}")) ||
		string(transport.Member(message, "jsonrpc")) == `"2.0"`
}

// judgeSchema is rule S1 of a message; method is the method of a response's request. It
// returns an error for a schema that cannot be read.
func judgeSchema(r *reporter, schemas *schema.Validator, e store.Event, m *transport.Message, revision, method string) error {
	const maxFaults = 5 // of a message; the rest is counted
	faults, err := schemas.Check(revision, m, method)
	if len(faults) > 0 {
		shown := r.mask.Message(m)
		faults, err = schemas.Check(revision, &shown, method)
	}
	for i, fault := range faults {
		if i == maxFaults {
			r.report(fitsSchema, e.Dir, revision, []uint64{e.Seq}, "%s of the %s does not fit in %s", nameOf(m, method), e.Dir.Sender(), phrase.Plural(len(faults)-i, "more place"))
			break
		}
		d := fitsSchema
		text := phrase.Shorten(fault.Text, 300)
		path := fault.Path
		if path == "" {
			path = "the message"
		}
		if fault.Reason != "" {
			d = schemaWrong
			text += "; " + fault.Reason
		}
		r.report(d, e.Dir, revision, []uint64{e.Seq}, "%s of the %s: %s: %s", nameOf(m, method), e.Dir.Sender(), phrase.Shorten(path, 200), text)
	}
	return err
}

// nameOf names a message; method is the method of a response's request.
func nameOf(message *transport.Message, method string) string {
	switch {
	case message.Kind() != transport.Response:
		return clip(message.Method)
	case method == "":
		return "a response"
	}
	return "the response to " + clip(method)
}

// Rules U1, U2 and U4: the steps of a frame. No real session breaks U1 or U2.
var (
	takenWritten = newDemand("U1", "a message is taken after it was written", order.Error, "")
	takenForward = newDemand("U2", "messages are taken in the order in which they were written", order.Error, "")
	capacityKept = newDemand("U4", "no more messages of one thread are on their way than there is room", order.Warning, "")
)

// index returns a direction as an index, whatever a damaged event says.
func index(dir transport.Direction) int {
	if dir != transport.ClientToServer && dir != transport.ServerToClient {
		return 0
	}
	return int(dir)
}

// lane is one direction of an exchange, with the frames written on it and taken from it.
type lane struct {
	sent    uint64 // the last frame
	taken   uint64 // the last frame certainly taken
	takenBy uint64 // the event that said so
}

// inFlight is rule U4: the progress notifications on the way in a session in memory, which
// records each delivery; other sessions have a nil inFlight. Several threads may write at
// once, each with a frame in hand. Progress of a token comes from a single thread, because the
// numbers rise.
type inFlight struct {
	frames [3][]progressFrame
	most   [3]int    // of a token at once
	at     [3]uint64 // the frame with which there were as many
}

type progressFrame struct {
	seq   uint64
	token mcp.Key
}

// onFrame notes a frame, up to 4096 of a direction: a lane may have no bound.
func (w *inFlight) onFrame(step timeline.Step) {
	if w == nil || step.Stream != 0 || len(step.Messages) != 1 || step.Messages[0].Method != mcp.NotificationProgress || len(w.frames[step.Dir]) >= 4096 {
		return
	}
	token := mcp.KeyOf(step.Messages[0].ProgressToken())
	w.frames[step.Dir] = append(w.frames[step.Dir], progressFrame{step.Seq, token})
	n := 0
	for _, frame := range w.frames[step.Dir] {
		if frame.token == token {
			n++
		}
	}
	if n > w.most[step.Dir] {
		w.most[step.Dir] = n
		w.at[step.Dir] = step.Seq
	}
}

// onDelivered is rules U1 and U2: the receiver has read up to a frame. Rule U4 counts the
// frames behind.
func (f *Fold) onDelivered(step timeline.Step, upto uint64) {
	dir := index(step.Dir)
	if w := f.inFlight; w != nil && step.Stream == 0 {
		for len(w.frames[dir]) > 0 && w.frames[dir][0].seq <= upto {
			w.frames[dir] = w.frames[dir][1:]
		}
	}
	if upto >= step.Seq {
		f.report(takenWritten, step.Dir, "", []uint64{step.Seq}, "the %s took #%d, which stands behind it", step.Dir.Receiver(), upto)
		return
	}
	x := f.exchanges.all[step.Stream]
	if x == nil {
		return
	}
	switch l := &x.lanes[dir]; {
	case upto > l.sent:
		f.report(takenWritten, step.Dir, "", []uint64{step.Seq}, "the %s took #%d, and the %s had written no message behind #%d", step.Dir.Receiver(), upto, step.Dir.Sender(), l.sent)
	case upto < l.taken:
		f.report(takenForward, step.Dir, "", []uint64{step.Seq, l.takenBy}, "the %s took #%d after it had taken #%d (#%d)", step.Dir.Receiver(), upto, l.taken, l.takenBy)
	default:
		l.taken = upto
		l.takenBy = step.Seq
	}
}

// onNote is rule U4, if an exploration notes a token with the capacity. A frame's event marks
// the beginning of a Write: a frame beyond the capacity may wait in the writer's hand.
func (w *inFlight) onNote(r *reporter, step timeline.Step) {
	_, rest, found := bytes.Cut(step.Payload, []byte("token mcprec1."))
	text, _, _ := strings.Cut(string(rest[:min(len(rest), 64)]), ".")
	c2s, s2c, both := strings.Cut(text, "-")
	if w == nil || !found || !both {
		return
	}
	var capacity [3]closed.Room
	for dir, text := range map[transport.Direction]string{transport.ClientToServer: c2s, transport.ServerToClient: s2c} {
		if text == "u" {
			text = closed.Unbounded.String()
		}
		room, err := closed.ParseRoom(text)
		if err != nil {
			return
		}
		capacity[dir] = room
	}
	for _, dir := range []transport.Direction{transport.ClientToServer, transport.ServerToClient} {
		if room := capacity[dir]; room >= 0 && w.most[dir] > int(room)+1 {
			r.report(capacityKept, dir, "", []uint64{w.at[dir], step.Seq}, "%d progress notifications of one call of the %s were on their way at once, with a buffer of %v (#%d)", w.most[dir], dir.Receiver(), room, step.Seq)
		}
	}
}
