package timeline

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode"

	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/acp"
	"github.com/mcprec/mcprec/transport/mcp"
	"github.com/mcprec/mcprec/transport/phrase"
)

// textLimit is the most bytes of a peer's text in a line.
const textLimit = 160

// Text returns the words of a message for people: the text of an error or of a tool that
// failed, a log message, the reason of a cancellation, the progress of a call, what an agent does. The text is
// short and on one line, and may be empty.
func (m EntryMessage) Text() string {
	if m.message == nil {
		return ""
	}
	words := func(list ...string) string {
		return strings.Join(slices.DeleteFunc(list, func(word string) bool { return strings.TrimSpace(word) == "" }), " ")
	}
	text := ""
	switch message := m.message; {
	case message.Error != nil:
		text = transport.MemberText(message.Error, "message")
	case m.Failure == ToolError:
		var content []struct {
			Text string `json:"text"`
		}
		_ = json.Unmarshal(transport.Member(message.Result, "content"), &content) // content of another type has no text
		for _, c := range content {
			text = words(text, c.Text)
		}
		if text == "" {
			text = string(transport.Member(message.Result, "structuredContent"))
		}
	case message.Method == mcp.NotificationMessage:
		data := transport.Member(message.Params, "data")
		said, isText := transport.Text(data)
		if !isText {
			said = string(data)
		}
		text = words(transport.MemberText(message.Params, "level"), transport.MemberText(message.Params, "logger"))
		text = strings.TrimPrefix(text+": "+said, ": ")
	case message.Method == mcp.NotificationCancelled:
		text = transport.MemberText(message.Params, "reason")
	case message.Method == mcp.NotificationProgress:
		text = string(transport.Member(message.Params, "progress"))
		if total := transport.Member(message.Params, "total"); total != nil {
			text += " of " + string(total)
		}
		if said := transport.MemberText(message.Params, "message"); said != "" {
			text += ", " + said
		}
	case message.Method == acp.Update:
		update := transport.Member(message.Params, acp.MemberUpdate)
		text = words(transport.MemberText(update, acp.MemberKind), transport.MemberText(update, "title"),
			transport.MemberText(update, "status"), transport.MemberText(update, "content", "text"))
	case message.Method == acp.MethodPermission:
		text = transport.MemberText(message.Params, "toolCall", "title")
	case m.Method == acp.MethodPrompt && message.Result != nil:
		text = transport.MemberText(message.Result, acp.MemberStopReason)
	}
	return excerpt([]byte(text))
}

// excerpt returns the beginning of a payload as text on one line. Characters that cannot be
// seen are blanks.
func excerpt(b []byte) string { return excerptOf(b, textLimit) }

// noteLimit is how much of a note is shown, in bytes: a finding of explore is whole.
const noteLimit = 1000

func excerptOf(b []byte, limit int) string {
	text := phrase.Shorten(string(b[:min(len(b), limit+1)]), limit)
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if !unicode.IsGraphic(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD")))
}
