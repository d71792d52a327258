package workload

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

// Seen is what a server has answered to calls: what it names in an answer it may take as an argument. The zero Seen has
// nothing.
type Seen struct {
	failed   map[string]bool            // tools all of whose calls have failed
	failures map[string]int             // how many calls of a tool have failed
	takes    map[string]time.Duration   // how long the slowest of them took
	members  map[string][]any           // texts and numbers in answers that are JSON, by the name of the member, see plainName
	words    []string                   // of answers, with a digit in each
	things   []any                      // what answers name, whatever that is
	longer   []any                      // the longer words of answers and of what tools say of themselves: one of them may be a name
	works    map[string]json.RawMessage // arguments that a [Trial] has found, by tool
	names    map[string]bool            // arguments that name something that there is, as a Trial has found: a made-up text does not
}

// See returns what the answers of a session name.
func See(events []store.Event) Seen {
	seen := Seen{failed: map[string]bool{}, failures: map[string]int{}, takes: map[string]time.Duration{}, members: map[string][]any{}, works: map[string]json.RawMessage{}, names: map[string]bool{}}
	model := timeline.NewModel(timeline.All)
	for _, e := range events {
		for _, m := range model.Take(e).Messages {
			switch {
			case m.Kind != transport.Response || m.Call == nil:
			case m.Call.Method == mcp.MethodCallTool:
				_, isKnown := seen.failed[m.Call.Target]
				isFailed := outcomeOf(m.Message).isFailed
				seen.failed[m.Call.Target] = isFailed && (!isKnown || seen.failed[m.Call.Target])
				if isFailed {
					seen.failures[m.Call.Target]++
					seen.takes[m.Call.Target] = max(seen.takes[m.Call.Target], m.Call.Latency)
				} else {
					seen.answer(m.Result)
				}
			case m.Call.Method == mcp.MethodListResources && m.Call.Failure == "":
				seen.resources(m.Result)
			case m.Call.Method == mcp.MethodListTools:
				seen.tools(m.Result)
			}
		}
	}
	return seen
}

// answer takes the result of a call.
func (s *Seen) answer(result json.RawMessage) {
	var said struct {
		Content           []struct{ Text string }
		StructuredContent json.RawMessage
	}
	_ = json.Unmarshal(result, &said) // what cannot be read is not there
	if value, err := mcp.Value(said.StructuredContent); err == nil {
		s.value("", value)
	}
	const most = 16 << 10 // of a longer text the beginning is enough
	for _, content := range said.Content {
		if value, err := mcp.Value([]byte(content.Text)); err == nil {
			s.value("", value)
		} else {
			s.name(thingsIn(content.Text[:min(len(content.Text), most)])...)
			s.longerWords(content.Text[:min(len(content.Text), most)])
		}
		isOutside := func(r rune) bool {
			return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '-' && r != '_' && r != '.' && r != ':'
		}
		for word := range strings.FieldsFuncSeq(content.Text[:min(len(content.Text), most)], isOutside) {
			word = strings.Trim(word, ".:-_")
			if strings.ContainsAny(word, "0123456789") && !slices.Contains(s.words, word) {
				s.words = append(s.words, word)
			}
		}
	}
}

// name notes things that an answer names.
func (s *Seen) name(things ...any) {
	const most = 100
	for _, thing := range things {
		isThere := slices.ContainsFunc(s.things, func(other any) bool { return equal(other, thing) })
		if !isThere && len(s.things) < most {
			s.things = append(s.things, thing)
		}
	}
}

// otherArguments returns arguments that are others in one member, see [otherArguments].
func (s Seen) otherArguments(schema, arguments json.RawMessage) []json.RawMessage {
	p, _ := parse(schema, arguments)
	return otherArguments(schema, arguments, s.exact(p))
}

// exact returns the members of arguments that name something that there is.
func (s Seen) exact(p parsed) map[string]any {
	members := maps.Clone(p.members)
	maps.DeleteFunc(members, func(name string, _ any) bool { return !s.names[plainName(name)] })
	return members
}

// prefer puts values in front of those that were seen for an argument.
func (s Seen) prefer(name string, values []any) {
	isPreferred := func(value any) bool {
		return slices.ContainsFunc(values, func(other any) bool { return equal(value, other) })
	}
	name = plainName(name)
	s.members[name] = slices.Concat(values, slices.DeleteFunc(slices.Clone(s.members[name]), isPreferred))
}

// guesses returns what an argument may be, the likeliest first: what an error offers, what answers have under its name, what else
// they name, that in small letters, as ids have it, and at last any longer word.
func (s Seen) guesses(name, says string) []any {
	const most = 80
	var values, ids []any
	for _, thing := range s.things {
		text, _ := thing.(string)
		if words := strings.Fields(strings.ToLower(text)); len(words) > 0 && isUpper(text) {
			ids = append(ids, strings.Join(words, "-"), words[0])
		}
	}
	for _, value := range slices.Concat(offeredIn(says), s.of(name), s.things, ids, s.longer) {
		if !slices.ContainsFunc(values, func(other any) bool { return equal(other, value) }) {
			values = append(values, value)
		}
	}
	return values[:min(most, len(values))]
}

// resources takes a list of resources: what stands behind meters in a URI is a meter.
func (s *Seen) resources(result json.RawMessage) {
	var page struct {
		Resources []struct{ URI string }
	}
	_ = json.Unmarshal(result, &page) // what cannot be read is not there
	for _, r := range page.Resources {
		parts := strings.Split(r.URI, "/")
		for i, part := range parts[:len(parts)-1] {
			s.value(part, parts[i+1])
		}
	}
}

// tools takes a list of tools: what they are about is named in their descriptions.
func (s *Seen) tools(result json.RawMessage) {
	var page struct {
		Tools []struct{ Description string }
	}
	_ = json.Unmarshal(result, &page) // what cannot be read is not there
	for _, tool := range page.Tools {
		s.longerWords(tool.Description)
	}
}

// longerWords notes the longer words of a text, in small letters.
func (s *Seen) longerWords(text string) {
	const least, most = 4, 60
	isBetween := func(r rune) bool { return !unicode.IsLetter(r) && r != '-' && r != '_' }
	for word := range strings.FieldsFuncSeq(strings.ToLower(text), isBetween) {
		if len(word) >= least && isShort(word) && len(s.longer) < most && !slices.Contains(s.longer, any(word)) {
			s.longer = append(s.longer, word)
		}
	}
}

// value takes a value in an answer, and the name of the member that has it.
func (s *Seen) value(name string, value any) {
	switch value := value.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(value)) {
			s.value(name, value[name])
		}
	case []any:
		for _, item := range value {
			s.value(name, item)
			if members, isObject := item.(map[string]any); isObject { // one of bikes is a bike, by its name
				s.value(name, cmp.Or(members["name"], members["id"]))
			}
		}
	case string, json.Number:
		name = plainName(name)
		isThere := slices.ContainsFunc(s.members[name], func(other any) bool { return equal(other, value) })
		if !isThere && value != "" {
			s.members[name] = append(s.members[name], value)
		}
		if text, isText := value.(string); isText && isShort(text) {
			s.name(text)
		}
	}
}

// plainName returns the name of a member as it is compared: noteId, note_id and note-id are one.
func plainName(name string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(name))
}

// of returns the values that a member of arguments may have: those of a member of this name, for one thing also those of a member
// that has several, such as bikes for a bike, and for the id of something also those of a member id.
func (s Seen) of(name string) []any {
	name = plainName(name)
	values := slices.Concat(s.members[name], s.members[name+"s"])
	if strings.HasSuffix(name, "id") && name != "id" {
		values = slices.Concat(values, s.members["id"])
	}
	return values
}

// improve returns the arguments of a tool whose calls have failed, with what the server has named in place of what was made
// up.
func (s Seen) improve(tool string, schema, arguments json.RawMessage) json.RawMessage {
	if works := s.works[tool]; works != nil && Misfit(schema, works) == "" {
		return works
	}
	if !s.failed[tool] {
		return arguments
	}
	better := arguments
	s.each(schema, arguments, func(name string, properties map[string]any, change func(any) json.RawMessage) bool {
		if len(named(properties)) > 0 {
			return true
		}
		for _, value := range s.of(name) {
			if changed := change(value); changed != nil {
				better = changed
				return false
			}
		}
		return true
	})
	return better
}

// alike returns arguments that are others in one member, if it knows any: with another word of the same form, such as EX-2 in
// place of EX-1, or another value that was seen under its name. What is kept stays as it is.
func (s Seen) alike(schema, arguments json.RawMessage, kept map[string]any) (other json.RawMessage) {
	value, _ := mcp.Value(arguments)
	members, _ := value.(map[string]any)
	s.each(schema, arguments, func(name string, properties map[string]any, change func(any) json.RawMessage) bool {
		if _, isKept := kept[name]; isKept {
			return true
		}
		if _, isThere := members[name]; !isThere {
			for _, value := range s.members["next"+plainName(name)] { // such as nextCursor of cursor
				if other = change(value); other != nil {
					return false
				}
			}
		}
		was, _ := members[name].(string)
		if was == "" {
			was, _ = properties["default"].(string)
		}
		if strings.ContainsAny(was, "0123456789") {
			for _, word := range s.words {
				if changed := change(word); word != was && form(word) == form(was) && changed != nil {
					other = changed
					return false
				}
			}
		}
		for _, value := range s.of(name) {
			isSeen := slices.ContainsFunc(s.of(name), func(v any) bool { return equal(v, members[name]) })
			if changed := change(value); isSeen && !equal(value, members[name]) && changed != nil {
				other = changed
				return false
			}
		}
		return true
	})
	return other
}

// each calls a function with each member of some arguments, the schema of that, and a function that returns the arguments with
// another value of it, or nil if they do not fit then. It ends when that returns false.
func (s Seen) each(schema, arguments json.RawMessage, do func(name string, properties map[string]any, change func(any) json.RawMessage) bool) {
	p, ok := parse(schema, arguments)
	if !ok {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(p.properties)) {
		change := func(value any) json.RawMessage { return p.with(map[string]any{name: value}) }
		if !do(name, p.property(name), change) {
			return
		}
	}
}

// form returns a word with a 0 in place of each number in it.
func form(word string) string {
	var b strings.Builder
	isNumber := false
	for _, r := range word {
		wasNumber := isNumber
		isNumber = '0' <= r && r <= '9'
		if isNumber && !wasNumber {
			b.WriteByte('0')
		} else if !isNumber {
			b.WriteRune(r)
		}
	}
	return b.String()
}
