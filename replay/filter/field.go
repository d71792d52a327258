package filter

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/mcprec/mcprec/replay"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

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

func fieldNames() string {
	var names []string
	for _, f := range fields {
		names = append(names, f.Name+":")
	}
	return strings.Join(names, " ")
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
		if s.message == nil {
			return false
		}
		return s.message.Method != "" && fits(s.message.Method) || s.call != nil && fits(s.call.Method)
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

// kindShort are what hands know from other programs.
var kindShort = map[string]string{"req": "request", "resp": "response", "notify": "notification"}

func kinds(v value) (func(*subject) bool, error) {
	want := v.text
	if long, ok := kindShort[want]; ok {
		want = long
	}
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
