package filter

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/mcprec/mcprec/replay"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

// Filter is an expression that was read.
type Filter struct {
	text  string
	terms []term
}

// term holds when one of its values fits, or if it is negated when none does.
type term struct {
	not   bool
	ahead bool
	fits  []func(*subject) bool
}

// subject is what a filter is asked about: an event, one message of an event, or a
// call alone.
type subject struct {
	entry   *replay.Entry
	message *replay.EntryMessage // nil: the event is no frame, or no message is in it
	call    *replay.Call         // that the message is about; nil: none
}

// String returns the expression.
func (f *Filter) String() string { return f.text }

// Ahead reports whether the filter asks what becomes of a call, which an entry tells
// only if its transcript foresees it: see [replay.Transcript.Foresee].
func (f *Filter) Ahead() bool {
	return slices.ContainsFunc(f.terms, func(t term) bool { return t.ahead })
}

// Selects reports whether the event fits. A nil filter selects everything.
func (f *Filter) Selects(e *replay.Entry) bool {
	if f == nil || len(f.terms) == 0 {
		return true
	}
	if len(e.Messages) == 0 {
		return f.fits(&subject{entry: e})
	}
	for i := range e.Messages {
		m := &e.Messages[i]
		if f.fits(&subject{e, m, m.Call}) {
			return true
		}
	}
	return false
}

// SelectsCall reports whether the call fits, as its request would.
func (f *Filter) SelectsCall(c *replay.Call) bool {
	if f == nil {
		return true
	}
	m := replay.EntryMessage{Kind: transport.Request, Method: c.Method, Target: c.Target, ID: c.ID, Token: c.Token, Call: c}
	e := replay.Entry{Seq: c.Request, At: c.At, Kind: "frame", Dir: c.Dir, Stream: c.Stream}
	return f.fits(&subject{&e, &m, c})
}

func (f *Filter) fits(s *subject) bool {
	for _, t := range f.terms {
		holds := slices.ContainsFunc(t.fits, func(fits func(*subject) bool) bool { return fits(s) })
		if holds == t.not {
			return false
		}
	}
	return true
}

// Field is a word of the language.
type Field struct {
	Name  string
	Wants string // what its values are
	Says  string // what it selects
	List  bool   // Wants lists all that there are

	splits string // what may stand between its values
	ahead  bool   // it asks what becomes of a call
	make   func(value) (func(*subject) bool, error)
}

// Fields lists the fields.
func Fields() []Field { return slices.Clone(fields) }

// fields is filled by init: the parser refers to it.
var fields []Field

func init() {
	fields = []Field{
		{Name: "tool", Wants: "a tool's name", Says: "calls of the tool", make: named(toolOf)},
		{Name: "method", Wants: "a method", Says: "calls and notifications of the method", make: methods},
		{Name: "target", Wants: "a name or a URI", Says: "what is about the tool, prompt or resource", make: named(targetOf)},
		{Name: "id", Wants: `an id as JSON has it: 7 or "7"`, Says: `calls with the id as JSON has it: 7, or "7"`, make: ids},
		{Name: "dir", Wants: "c2s or s2c", Says: "what went that way, c2s or s2c", make: dirs},
		{Name: "kind", Wants: "one of " + strings.Join(kindNames, ", "), Says: "events or messages of the kind", List: true, make: kinds},
		{Name: "status", Wants: statusWants, Says: "calls that ended so, HTTP answers and errors by number", List: true, ahead: true, make: statuses},
		{Name: "took", Wants: "a range of durations, such as >1.5s", Says: "calls whose answer took as long: >100ms", ahead: true, make: took},
		{Name: "at", Wants: "a range of times, such as >1.5s or 1s..2s", Says: "events in that time: >1.5s, 1s..2s, 2s (up to 3s)", make: times},
		{Name: "seq", Wants: "a range of events, such as 5..9", Says: "events by their number: 12, 5..9, >100", make: numbers(seqOf)},
		{Name: "stream", Wants: "a range of numbers", Says: "events of the HTTP exchange", make: numbers(streamOf)},
	}
	for i := range fields {
		fields[i].splits = "|,"
	}
}

// named makes the fields that compare a text.
func named(of func(*subject) (string, bool)) func(value) (func(*subject) bool, error) {
	return func(v value) (func(*subject) bool, error) {
		fits := v.pattern()
		return func(s *subject) bool {
			text, ok := of(s)
			return ok && fits(text)
		}, nil
	}
}

func toolOf(s *subject) (string, bool) {
	if s.call == nil || s.call.Method != "tools/call" {
		return "", false
	}
	return s.call.Target, true
}

func targetOf(s *subject) (string, bool) {
	switch {
	case s.call != nil:
		return s.call.Target, s.call.Target != ""
	case s.message != nil:
		return s.message.Target, s.message.Target != ""
	}
	return "", false
}

func methods(v value) (func(*subject) bool, error) {
	fits := v.pattern()
	return func(s *subject) bool {
		m := s.message
		return m != nil && (m.Method != "" && fits(m.Method) || s.call != nil && fits(s.call.Method))
	}, nil
}

// ids compares ids as JSON has them: the number 7 is not the text "7". A word that is
// no JSON is a text.
func ids(v value) (func(*subject) bool, error) {
	if !v.quoted && strings.Contains(v.text, "*") {
		fits := v.pattern()
		return func(s *subject) bool {
			for _, id := range s.ids() {
				var text string
				if json.Unmarshal([]byte(id), &text) != nil {
					text = id
				}
				if fits(text) {
					return true
				}
			}
			return false
		}, nil
	}
	want := v.text
	if v.quoted || !json.Valid([]byte(want)) {
		b, _ := json.Marshal(want) // a text always has a form
		want = string(b)
	}
	key := idOf(want)
	return func(s *subject) bool {
		return slices.ContainsFunc(s.ids(), func(id string) bool { return idOf(id) == key })
	}, nil
}

func idOf(id string) mcp.Key { return mcp.KeyOf(json.RawMessage(strings.TrimSpace(id))) }

// ids are those of the message and of its call, as raw JSON.
func (s *subject) ids() (list []string) {
	if s.message != nil && s.message.ID != "" {
		list = append(list, s.message.ID)
	}
	if s.call != nil && (s.message == nil || s.call.ID != s.message.ID) {
		list = append(list, s.call.ID)
	}
	return list
}

func dirs(v value) (func(*subject) bool, error) {
	dir, err := transport.ParseDirection(v.text)
	if err != nil || dir == transport.NoDirection {
		return nil, fault(v.at, "dir: wants c2s or s2c, not %s", strconv.Quote(shorten(v.text)))
	}
	return func(s *subject) bool { return s.entry.Dir == dir }, nil
}

func seqOf(e *replay.Entry) uint64    { return e.Seq }
func streamOf(e *replay.Entry) uint64 { return e.Stream }

// kindNames are what kind: takes: messages, frames that are none, events.
var kindNames = []string{
	"request", "response", "notification", "invalid", "noise", "batch",
	string(store.Opened), string(store.Frame), string(store.Delivered), string(store.Stderr), string(store.HTTP),
	string(store.EOF), string(store.Exited), string(store.Lost), string(store.Note), string(store.Closed),
}

func kinds(v value) (func(*subject) bool, error) {
	short := map[string]string{"req": "request", "resp": "response", "notify": "notification"} // as in other programs
	want := cmp.Or(short[v.text], v.text)
	if !slices.Contains(kindNames, want) {
		return nil, fault(v.at, "kind: wants one of %s, not %s", strings.Join(kindNames, ", "), strconv.Quote(shorten(v.text)))
	}
	return func(s *subject) bool {
		switch want {
		case "noise":
			return s.entry.Noise
		case "batch":
			return s.entry.Batch
		}
		return want == string(s.entry.Kind) || s.message != nil && want == s.message.Kind.String()
	}, nil
}

// The words of status:. A call may be several of them: answered and cancelled, say.
var statusWords = map[string]func(*subject) bool{
	"pending":   ofCall(func(c *replay.Call) bool { return c.Response == 0 && c.Cancelled == 0 }),
	"ok":        ofCall(func(c *replay.Call) bool { return c.Response != 0 && c.Failure == "" }),
	"error":     isError,
	"err":       isError,
	"cancelled": ofCall(func(c *replay.Call) bool { return c.Cancelled != 0 }),
	"late":      ofCall(func(c *replay.Call) bool { return c.Late }),
	"orphan": func(s *subject) bool { // an answer, progress or a cancellation that belongs to no call
		m := s.message
		return m != nil && s.call == nil &&
			(m.Kind == transport.Response || m.Method == "notifications/progress" || m.Method == "notifications/cancelled")
	},
}

const statusWants = "one of pending, ok, error, cancelled, late, orphan, or a number such as 404, 4xx or -32601"

func statuses(v value) (func(*subject) bool, error) {
	if fits, ok := statusWords[v.text]; ok {
		return fits, nil
	}
	if _, err := strconv.Atoi(v.text); err == nil {
		return func(s *subject) bool { return slices.Contains(s.codes(), v.text) }, nil
	}
	if class, ok := strings.CutSuffix(v.text, "xx"); ok && len(class) == 1 && '1' <= class[0] && class[0] <= '5' {
		return func(s *subject) bool { return s.httpStatus()/100 == int(class[0]-'0') }, nil
	}
	return nil, fault(v.at, "status: wants %s, not %s", statusWants, strconv.Quote(shorten(v.text)))
}

func ofCall(is func(*replay.Call) bool) func(*subject) bool {
	return func(s *subject) bool { return s.call != nil && is(s.call) }
}

// isError: a call that failed, an error that answers no call, an HTTP status from 400 on.
func isError(s *subject) bool {
	switch {
	case s.call != nil:
		return s.call.Failure != ""
	case s.message != nil:
		return s.message.Failure != ""
	}
	return s.httpStatus() >= 400
}

// codes returns the numbers that say how something ended.
func (s *subject) codes() (list []string) {
	if n := s.httpStatus(); n != 0 {
		list = append(list, strconv.Itoa(n))
	}
	var failures []string
	if s.message != nil {
		failures = append(failures, s.message.Failure)
	}
	if s.call != nil {
		failures = append(failures, s.call.Failure)
	}
	for _, f := range failures {
		if words := strings.Fields(f); len(words) > 1 && words[0] == "error" {
			list = append(list, words[1])
		}
	}
	return list
}

// httpStatus is that of an HTTP answer, 0 for anything else.
func (s *subject) httpStatus() int {
	if s.entry.Kind != store.HTTP {
		return 0
	}
	info, err := store.DecodePayload[store.HTTPInfo](store.Event{Kind: store.HTTP, Payload: s.entry.Payload})
	if err != nil {
		return 0
	}
	return info.Status
}

// anywhere is the field without a name: a text that is somewhere in the event.
var anywhere = Field{Wants: "a text", splits: "|", make: texts}

// texts looks for a text without minding case: in the bytes of the event, in what
// show says of it, and in its call's method and target, which an answer does not repeat.
func texts(v value) (func(*subject) bool, error) {
	parts := []string{v.text}
	if !v.quoted {
		parts = strings.Split(v.text, "*")
	}
	for i, p := range parts {
		parts[i] = strings.ToLower(p)
	}
	return func(s *subject) bool {
		if isIn(s.entry.Payload, parts) || isIn(unescaped(s.entry.Payload), parts) {
			return true
		}
		words := s.entry.Text
		if s.message != nil {
			words += " " + s.message.Summary()
		}
		if s.call != nil {
			words += " " + s.call.Method + " " + s.call.Target
		}
		return isIn([]byte(words), parts)
	}, nil
}

// isIn reports whether the parts, in lower case, stand in text one behind the other.
func isIn(text []byte, parts []string) bool {
	if len(text) == 0 {
		return false
	}
	text = bytes.ToLower(text)
	for _, p := range parts {
		i := bytes.Index(text, []byte(p))
		if i < 0 {
			return false
		}
		text = text[i+len(p):]
	}
	return true
}

// unescaped returns JSON with the characters that its texts have as \u, nil if none are.
func unescaped(b []byte) []byte {
	if !bytes.Contains(b, []byte(`\u`)) {
		return nil
	}
	var out []byte
	for len(b) > 0 {
		if r, rest, ok := escape(b); ok {
			out, b = utf8.AppendRune(out, r), rest
			continue
		}
		n := 1
		if b[0] == '\\' && len(b) > 1 {
			n = 2
		}
		out, b = append(out, b[:n]...), b[n:]
	}
	return out
}

// pattern compares whole texts: * in a value that is not quoted is anything.
func (v value) pattern() func(string) bool {
	if v.quoted || !strings.Contains(v.text, "*") {
		return func(s string) bool { return s == v.text }
	}
	parts := strings.Split(v.text, "*")
	first, last, between := parts[0], parts[len(parts)-1], parts[1:len(parts)-1]
	return func(s string) bool {
		if len(s) < len(first)+len(last) || !strings.HasPrefix(s, first) || !strings.HasSuffix(s, last) {
			return false
		}
		s = s[len(first) : len(s)-len(last)]
		for _, p := range between {
			i := strings.Index(s, p)
			if i < 0 {
				return false
			}
			s = s[i+len(p):]
		}
		return true
	}
}
