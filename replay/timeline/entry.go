package timeline

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
	"github.com/mcprec/mcprec/transport/phrase"
)

// Entry is an event as a timeline shows it.
type Entry struct {
	Seq          uint64
	At           time.Duration
	Kind         store.Kind
	Dir          transport.Direction
	Stream       uint64
	Size         int // bytes of the payload, as it was recorded
	Unterminated bool
	Open         bool           // the rest of the frame has not come yet
	Cut          uint64         // bytes that passed and are not recorded
	Redacted     uint64         // number of secrets behind placeholders
	Messages     []EntryMessage // of a frame
	Batch        bool           // a frame of any number of messages in brackets
	Noise        bool           // a frame without a message, such as a stray log line or a blank line
	Form         string         // of a frame whose messages are not a line of JSON each
	Text         string         // of noise and of other events
	Unended      bool           // a body of HTTP, or an event in it, that has no end
	Refused      []*Call        // the calls that the event's HTTP status answers
	Cancelled    []*Call        // the calls that the client cancels by hanging up
	Undone       []*Call        // the calls whose answer, or cancellation, the event's HTTP status refuses
	Payload      []byte         // the event's own
}

// EntryMessage is a message of a frame.
type EntryMessage struct {
	Kind    transport.MessageKind
	Method  string // of a response: of its request
	Target  string // tool or prompt name, resource uri; of a response: of its request
	ID      string // raw JSON
	Token   string // raw progress token
	Failure string // code and message of an error; "tool error" of a result with isError
	Request uint64 // of a response or cancellation: Seq of the request; 0: none
	Latency time.Duration
	Late    bool // the call was over before
	// NotLookedUp is set for a response whose request may stand before the first event that the
	// Transcript was given.
	NotLookedUp bool
	// Call is the call that the message begins, answers, reports on or cancels; nil: none. Later
	// events may change the Call.
	Call *Call
	Role Role // how the message belongs to the Call

	// Notice, Retyped, Strays and Equals are those of the [Message].
	Notice  Sent
	Retyped bool
	Strays  bool
	Equals  int

	message *transport.Message
}

// Summary returns a line without Seq, At and direction.
func (e Entry) Summary() string {
	var parts []string
	switch {
	case e.Kind != store.Frame:
		parts = append(parts, kindWords(e))
	case e.Open && len(e.Messages) == 0:
		parts = append(parts, "a message whose rest has not come:")
	case e.Unended:
		parts = append(parts, "body that broke off:")
	case e.Noise:
		parts = append(parts, "not JSON")
	case e.Cut > 0 && len(e.Messages) == 0:
		parts = append(parts, "a message")
	case len(e.Messages) == 0:
		parts = append(parts, "empty batch")
	case len(e.Messages) > 1:
		parts = append(parts, fmt.Sprintf("batch of %d:", len(e.Messages)))
	}
	for i, m := range e.Messages {
		if i > 0 {
			parts[len(parts)-1] += ";"
		}
		parts = append(parts, m.Summary())
	}
	if e.Text != "" {
		parts = append(parts, e.Text)
	}
	if e.Form != "" {
		parts = append(parts, "("+e.Form+")")
	}
	if e.Unterminated && !e.Open && e.Stream == 0 {
		parts = append(parts, "(no newline at its end)")
	}
	if e.Cut > 0 {
		parts = append(parts, fmt.Sprintf("(cut: %d B more passed)", e.Cut))
	}
	if e.Redacted > 0 {
		parts = append(parts, fmt.Sprintf("(redacted: %d)", e.Redacted))
	}
	if e.Kind == store.Frame {
		parts = append(parts, fmt.Sprintf("(%d B)", e.Size))
	}
	return oneLine(strings.Join(parts, " "))
}

// String returns the whole line: the time in seconds, the number of an HTTP exchange in
// brackets.
func (e Entry) String() string {
	head, arrow, text := e.Parts()
	return head + arrow + text
}

// Parts returns the line in parts that a program may colour: number and time, direction,
// the rest.
func (e Entry) Parts() (head, direction, text string) {
	arrow := map[transport.Direction]string{transport.ClientToServer: "c2s ->", transport.ServerToClient: "s2c <-"}[e.Dir]
	stream := ""
	if e.Stream != 0 {
		stream = fmt.Sprintf("[%d] ", e.Stream)
	}
	return fmt.Sprintf("%6d %11.6f ", e.Seq, e.At.Seconds()), fmt.Sprintf("%-6s ", arrow), stream + e.Summary()
}

// Pairs names the events that the messages belong with: the answer of a request, the
// request of any other message about a call. The transcript must foresee.
func (e Entry) Pairs() string {
	var pairs []string
	for _, m := range e.Messages {
		c := m.Call
		switch {
		case c == nil:
		case m.Kind != transport.Request:
			pairs = append(pairs, fmt.Sprintf("to #%d", c.Request))
		case c.Response == 0 && c.Cancelled == 0 && c.Latency > 0:
			pairs = append(pairs, fmt.Sprintf("not answered for %v", phrase.Brief(c.Latency)))
		case c.Response == 0 && c.Cancelled == 0:
			pairs = append(pairs, "not answered")
		case c.Response == 0:
			pairs = append(pairs, fmt.Sprintf("cancelled by #%d, not answered", c.Cancelled))
		default:
			with := ""
			if strings.HasPrefix(c.Failure, "HTTP ") {
				with = " with " + c.Failure
			}
			pairs = append(pairs, fmt.Sprintf("answered by #%d%s after %v", c.Response, with, c.Latency.Round(time.Microsecond)))
		}
	}
	for _, c := range e.Refused {
		pairs = append(pairs, fmt.Sprintf("to #%d", c.Request))
	}
	for _, c := range e.Cancelled {
		pairs = append(pairs, fmt.Sprintf("to #%d", c.Request))
	}
	for _, c := range e.Undone {
		pairs = append(pairs, fmt.Sprintf("takes nothing for #%d", c.Request))
	}
	return strings.Join(pairs, "; ")
}

// Name returns the method and the target.
func (m EntryMessage) Name() string {
	if m.Target == "" {
		return phrase.Name(m.Method)
	}
	return phrase.Name(m.Method) + " " + phrase.QuotedName(m.Target)
}

// Aside returns the text of an event that is no message, on one line.
func (e Entry) Aside() string { return oneLine(e.Text) }

// IsRoutineHTTP reports whether an event of HTTP says nothing but that the transport works.
// The messages are events of their own.
func (e Entry) IsRoutineHTTP() bool {
	if e.Kind != store.HTTP || len(e.Refused)+len(e.Undone) > 0 {
		return false
	}
	info, err := store.DecodePayload[store.HTTPInfo](store.Event{Kind: e.Kind, Payload: e.Payload})
	if err != nil || info.Status >= 400 || info.Error != "" {
		return false
	}
	return !slices.Contains([]string{store.HTTPAbort, store.HTTPBroken, store.HTTPNone}, info.What)
}

// IsLifeCycle reports whether an event says nothing but that the recording begins, or ends in order.
func (e Entry) IsLifeCycle() bool {
	switch e.Kind {
	case store.Opened, store.EOF, store.Closed:
		return true
	case store.Exited:
		info, err := store.DecodePayload[store.ExitInfo](store.Event{Kind: e.Kind, Payload: e.Payload})
		return err == nil && info.Code == 0 && info.Signal == "" && info.NotStarted == ""
	}
	return false
}

// Tone says how an event concerns a reader.
type Tone uint8

const (
	Usual  Tone = iota // messages
	Beside             // other events
	Fault              // a failure, or an event that should not happen
)

// Tone returns the gravest tone of the messages.
func (e Entry) Tone() Tone {
	switch {
	case e.Kind == store.Lost, e.Noise:
		return Fault
	case e.Kind != store.Frame:
		return Beside
	}
	tone := Usual
	for _, m := range e.Messages {
		tone = max(tone, m.Tone())
	}
	return tone
}

// Tone returns the tone of a message.
func (m EntryMessage) Tone() Tone {
	if m.Failure != "" || m.Kind == transport.Invalid || m.Kind == transport.Response && m.Request == 0 && !m.NotLookedUp {
		return Fault
	}
	return Usual
}

// Summary returns the message in a few words, and its text.
func (m EntryMessage) Summary() string {
	text := m.Text()
	if text != "" {
		text = ": " + text
	}
	name := m.Name()
	switch m.Kind {
	case transport.Request:
		s := fmt.Sprintf("request %s id %s", name, phrase.Name(m.ID))
		if m.Token != "" {
			s += " token " + phrase.Name(m.Token)
		}
		return s + text
	case transport.Notification:
		s := "notification " + name
		if m.Token != "" {
			s += " token " + phrase.Name(m.Token)
		}
		if m.Request != 0 {
			s += fmt.Sprintf(" of #%d", m.Request)
		}
		return s + text
	case transport.Response:
		s := cmp.Or(m.Failure, "result")
		if m.message != nil && m.message.Error != nil { // the text has the error's message
			s = strings.TrimSuffix(s, " "+phrase.Name(transport.MemberText(m.message.Error, "message")))
		}
		id := cmp.Or(phrase.Name(m.ID), "missing")
		switch {
		case m.NotLookedUp:
			return fmt.Sprintf("response %s id %s (request not looked up)%s", s, id, text)
		case m.Role == AnswersNotice:
			return fmt.Sprintf("response %s id %s, to the notification %s (#%d)%s", s, id, phrase.Name(m.Notice.Method), m.Notice.Seq, text)
		case m.Request == 0:
			return fmt.Sprintf("response %s id %s, to no request%s", s, id, text)
		case m.Retyped:
			id += " (asked with " + phrase.Name(m.Call.ID) + ")"
		case m.Strays:
			id += fmt.Sprintf(" (asked in exchange %d)", m.Call.Stream)
		case m.Equals > 0:
			id += fmt.Sprintf(" (one of %d open requests with that id)", m.Equals+1)
		}
		return fmt.Sprintf("response %s of %s id %s after %v%s", s, name, id, m.Latency.Round(time.Microsecond), text)
	}
	return "not a JSON-RPC message"
}

// shownHeader are the headers by which a reader tells exchanges apart.
var shownHeader = []struct{ name, word string }{
	{"Content-Type", ""}, {"Content-Encoding", "coded"}, {mcp.HeaderSessionID, "session"}, {mcp.HeaderMethod, "method"},
	{mcp.HeaderLastEventID, "after event"}, {"Location", "to"}, {"Www-Authenticate", "wants"}, {"Retry-After", "retry after"},
}

// httpText describes an HTTP event.
func httpText(info store.HTTPInfo) string {
	parts := []string{info.What}
	add := func(word, value string) {
		if value != "" {
			parts = append(parts, strings.TrimSpace(word+" "+value))
		}
	}
	add("", info.Method)
	add("", phrase.Name(info.Path))
	if info.Status != 0 {
		add("", strconv.Itoa(info.Status))
	}
	for _, h := range shownHeader {
		show := phrase.Name
		if h.name == mcp.HeaderSessionID || h.name == mcp.HeaderLastEventID {
			show = shortID
		}
		add(h.word, show(strings.Join(info.Header[h.name], ", ")))
	}
	if s := info.SSE; s != nil {
		add("", phrase.Name(s.Event))
		add("id", shortID(s.ID))
		add("retry", phrase.Name(s.Retry))
		if s.Event+s.ID+s.Retry == "" {
			add("", strconv.Quote(phrase.Name(strings.Join(s.Lines, "\n"))))
		}
		if s.Frame != 0 {
			add("of", fmt.Sprintf("#%d", s.Frame))
		}
	}
	add("", excerpt([]byte(info.Body)))
	if len(info.Body64) > 0 {
		add(info.Coding, fmt.Sprintf("(%d B)", len(info.Body64)))
	}
	if info.Dropped > 0 {
		add("", fmt.Sprintf("(%d B beyond the limit)", info.Dropped))
	}
	if info.Error != "" {
		parts[len(parts)-1] += ":"
		add("", phrase.Name(info.Error))
	}
	return strings.Join(parts, " ")
}

// shortID returns the beginning of an id that many lines repeat.
func shortID(id string) string {
	limit := 12
	if strings.HasPrefix(id, "[redacted:") {
		limit += len("[redacted:")
	}
	id = phrase.Name(id)
	if len(id) <= limit {
		return id
	}
	return strings.ToValidUTF8(id[:limit], "") + "…"
}

// eventText describes an event that is no frame.
func eventText(e store.Event) string {
	switch e.Kind {
	case store.Opened:
		if h, err := store.ParseHeader(e.Payload); err == nil {
			parts := []string{h.Transport}
			if h.Label != "" {
				parts = append(parts, strconv.Quote(h.Label))
			}
			for _, name := range slices.Sorted(maps.Keys(h.Labels)) {
				parts = append(parts, strconv.Quote(name+"="+h.Labels[name]))
			}
			parts = append(parts, h.URL, phrase.Name(strings.Join(h.Command, " ")))
			if h.Masked != nil {
				parts = append(parts, "(masked)")
			}
			return strings.Join(slices.DeleteFunc(parts, func(p string) bool { return p == "" }), " ")
		}
	case store.Delivered:
		if info, err := store.DecodePayload[store.DeliveredInfo](e); err == nil {
			return fmt.Sprintf("up to #%d, the write blocked for %v", info.Upto, info.Blocked)
		}
	case store.Stalled:
		if info, err := store.DecodePayload[store.StalledInfo](e); err == nil {
			return stalledText(e.Dir.Receiver(), info)
		}
	case store.Signal:
		if info, err := store.DecodePayload[store.SignalInfo](e); err == nil {
			text := phrase.Name(info.Signal) + ", at the recorder"
			if info.Passed {
				text += ", which passes it on"
			}
			return text
		}
	case store.HTTP:
		if info, err := store.DecodePayload[store.HTTPInfo](e); err == nil {
			return httpText(info)
		}
	case store.EOF:
		if info, err := store.DecodePayload[store.EOFInfo](e); err == nil {
			text := strings.TrimSuffix(fmt.Sprintf("%s: %s", EndOf(e.Dir, info.By), phrase.Name(info.Error)), ": ")
			if info.Read > info.Passed {
				text += fmt.Sprintf("; of the %s's last bytes %d were not passed on", e.Dir.Sender(), info.Read-info.Passed)
			}
			return text
		}
	case store.Exited:
		if info, err := store.DecodePayload[store.ExitInfo](e); err == nil {
			text := phrase.Name(info.String())
			if info.NotStarted != "" {
				text += ": the server did not start: " + phrase.Name(info.NotStarted)
			}
			if info.Unread > 0 {
				text += fmt.Sprintf("; it left %d B of its input unread", info.Unread)
			}
			return text
		}
	case store.Lost:
		if info, err := store.DecodePayload[store.LostInfo](e); err == nil {
			return fmt.Sprintf("%s, %d B: %s", phrase.Plural(info.Frames, "event"), info.Bytes, phrase.Name(info.Reason))
		}
	case store.Closed:
		if info, err := store.DecodePayload[store.ClosedInfo](e); err == nil {
			return fmt.Sprintf("%s, %d lost", phrase.Plural(info.Frames, "message"), info.Lost)
		}
	case store.Note:
		if info, err := store.DecodePayload[store.NoteInfo](e); err == nil && info.Text != "" {
			return excerptOf([]byte(strings.Join(strings.Fields(info.Text), " ")), noteLimit)
		}
	}
	return excerpt(e.Payload)
}

// stalledText describes a receiver that does not read; "": of standard error.
func stalledText(receiver string, info store.StalledInfo) string {
	switch {
	case receiver == "" && info.Over:
		return fmt.Sprintf("standard error is read again, after %v", info.For)
	case receiver == "":
		return fmt.Sprintf("standard error is full: nobody has read it for %v; %d B wait at the recorder, %d B in the server's pipe", info.For, info.Read-info.Passed, info.Unread)
	case info.Over:
		return fmt.Sprintf("the %s reads again, after %v", receiver, info.For)
	}
	parts := []string{fmt.Sprintf("the %s has read nothing for %v", receiver, info.For)}
	switch {
	case info.Frame != 0:
		parts = append(parts, fmt.Sprintf("the write of #%d blocks", info.Frame))
	case info.Blocked:
		parts = append(parts, fmt.Sprintf("a write blocks: %d of %d B are passed on", info.Passed, info.Read))
	}
	if info.Unread > 0 {
		parts = append(parts, fmt.Sprintf("%d B wait for it", info.Unread))
	}
	return strings.Join(parts, "; ")
}

// kindWords names the kind of an event that is no frame.
func kindWords(e Entry) string {
	switch {
	case e.Kind == store.Opened:
		return "recording opened:"
	case e.Kind == store.Closed:
		return "recording closed:"
	case e.Kind == store.EOF && e.Text != "":
		return "eof:"
	}
	return string(e.Kind)
}

// EndOf says how a direction ended; by is that of [store.EOFInfo].
func EndOf(dir transport.Direction, by string) string {
	switch {
	case by == "sender" && dir == transport.ServerToClient:
		return "the server closed its output"
	case by == "sender":
		return fmt.Sprintf("the %s closed its end", dir.Sender())
	case by == "receiver":
		return fmt.Sprintf("the %s no longer reads", dir.Receiver())
	case by == "recorder":
		return fmt.Sprintf("the recorder gave up what the %s sends", dir.Sender())
	}
	return "by the " + phrase.Name(by)
}

// Lifelines returns the names above the arrows of a report.
func Lifelines(width int) string {
	return "client" + strings.Repeat(" ", width-len("client")) + "server"
}

// Arrow draws a message between the lifelines of a report, in width columns: a whole arrow if
// the message arrived, the sender's end of the arrow otherwise, and the label alone without a
// direction.
func Arrow(dir transport.Direction, arrived bool, label string, width int) string {
	shaft := "   "
	switch {
	case dir == transport.ClientToServer && arrived:
		shaft = "-->"
	case dir == transport.ClientToServer:
		shaft = "-  "
	case dir == transport.ServerToClient && arrived:
		shaft = "<--"
	case dir == transport.ServerToClient:
		shaft = "  -"
	}
	line := strings.Repeat(shaft[1:2], max(width-5-utf8.RuneCountInString(label), 0))
	return "|" + shaft[:1] + " " + label + " " + line + shaft[2:] + "|"
}
