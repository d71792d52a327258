package replay

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"github.com/mcprec/mcprec/replay/phrase"
	"github.com/mcprec/mcprec/transport"
)

// label names a frame in a report: #9 response to tools/call "x".
func (r *Recording) label(index int32) string {
	f := r.frames[index]
	messages := r.messagesOf(f)
	switch len(messages) {
	case 0:
		return fmt.Sprintf("#%d not a message", f.seq)
	case 1:
		return fmt.Sprintf("#%d %s", f.seq, r.messageLabel(messages[0]))
	}
	return fmt.Sprintf("#%d batch of %d: %s, …", f.seq, len(messages), r.messageLabel(messages[0]))
}

func (r *Recording) messageLabel(m playMessage) string {
	switch m.kind {
	case transport.Request:
		return fmt.Sprintf("%s (id %s)", m.name(), clip(m.id))
	case transport.Notification:
		return m.name()
	case transport.Response:
		if m.pair >= 0 {
			return "response to " + r.messages[m.pair].name()
		}
		return fmt.Sprintf("response to nothing (id %s)", clip(m.id))
	}
	return "not a message"
}

// name is the method and what it is about.
func (m playMessage) name() string {
	if m.target == "" {
		return clip(m.method)
	}
	return clip(m.method) + " " + quote(m.target)
}

// callName names a call in a report: call tools/call "x" (client, id 3).
func (r *Recording) callName(request int32) string {
	m := r.messages[request]
	return fmt.Sprintf("call %s (%s, id %s)", m.name(), r.frames[m.frame].dir.Sender(), clip(m.id))
}

// seqOf returns the Seq of the frame that a message is in.
func (r *Recording) seqOf(message int32) uint64 { return r.frames[r.messages[message].frame].seq }

// oneLine returns a text in which nothing breaks the line or drives a terminal.
func oneLine(s string) string {
	hidden := func(r rune) bool { return !unicode.IsGraphic(r) }
	if strings.IndexFunc(s, hidden) < 0 {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if hidden(r) {
			b.WriteString(strings.Trim(strconv.QuoteRune(r), "'"))
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// quote is clip for what stands in quotes anyway.
// nameLimit is how much of a name that a peer chose is in a report.
const nameLimit = 48

func clip(s string) string    { return phrase.Clip(s, nameLimit) }
func shorten(s string) string { return phrase.Shorten(s, nameLimit) }
func quote(s string) string   { return strconv.Quote(shorten(s)) }
