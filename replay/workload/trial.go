package workload

import (
	"cmp"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"math/big"
	"slices"
	"strings"
	"time"

	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

// Trial is a client that finds out which arguments a server takes, in a session of its own that is thrown away. It makes the calls
// of tools again that have failed, with what the server has named in its answers and in its errors. An error that becomes another says
// that one argument is right, and that the next is not. Like a [Caller] it is a pure machine. It has to be closed.
type Trial struct {
	*Caller
	tools []tried
	done  map[string]bool // of them those that have not failed any more
	seen  Seen
	left  int // how many calls may still be made
	next  func() (NamedCall, bool)
	stop  func()
	last  outcome
}

// tried is a tool of which a call has failed, with the arguments of its first call.
type tried struct {
	name              string
	schema, arguments json.RawMessage
	reads             bool
}

// outcome is what a server has answered to a call of a trial.
type outcome struct {
	isFailed bool
	says     string
}

// A trial makes so many calls in all, of one tool so many, and so many for a second value of an argument.
const mostTrials, mostOfTool, mostSeconds = 400, 100, 8

// mostTime is how long the calls of one tool may take in all, if each takes as long as the slowest that has failed.
const mostTime = 10 * time.Second

// NewTrial returns a client that tries other arguments for the tools of an offer of which a call has failed in the session that the
// wishes have seen.
func NewTrial(offer Offer, wishes Wishes) *Trial {
	t := &Trial{done: map[string]bool{}, seen: wishes.Seen, left: mostTrials}
	for _, item := range Choose(offer, wishes).Items {
		isKnown := func(other tried) bool { return other.name == item.Target }
		isNamed := func(call NamedCall) bool { return call.Tool == item.Target && call.Arguments != nil }
		if item.Method == mcp.MethodCallTool && t.seen.failures[item.Target] > 0 && !slices.ContainsFunc(t.tools, isKnown) && !slices.ContainsFunc(wishes.Calls, isNamed) {
			t.tools = append(t.tools, tried{item.Target, item.schema, argumentsOf(item), item.reads})
		}
	}
	isRead := func(tool tried) bool { return tool.reads }
	isOther := func(tool tried) bool { return !tool.reads }
	reads, others := slices.DeleteFunc(slices.Clone(t.tools), isOther), slices.DeleteFunc(slices.Clone(t.tools), isRead)
	t.tools = append(reads, others...) // an answer of one that reads may name what another takes
	t.next, t.stop = iter.Pull(t.calls)
	t.Caller = NewCaller(func(Offer) Agenda { return t.proceed() })
	t.goesOn = func(m transport.Message) Agenda {
		if t.last = outcomeOf(m); !t.last.isFailed {
			t.seen.answer(m.Result)
		}
		return t.proceed()
	}
	return t
}

// Tools returns the names of the tools that are called.
func (t *Trial) Tools() (names []string) {
	for _, tool := range t.tools {
		names = append(names, tool.name)
	}
	return names
}

// Close ends the trial, and returns what was seen before with what was learned.
func (t *Trial) Close() Seen {
	t.stop()
	return t.seen
}

// proceed returns the next call; nothing if there is none.
func (t *Trial) proceed() (a Agenda) {
	if call, ok := t.next(); ok {
		a.add(call.item())
	}
	return a
}

// calls makes the calls, each when the one before has its answer.
func (t *Trial) calls(yield func(NamedCall) bool) {
	for range 2 { // what one tool makes another may take
		before := len(t.done)
		for _, tool := range t.tools {
			if !t.done[tool.name] && !t.try(tool, yield) {
				return
			}
		}
		if len(t.done) == before {
			return
		}
	}
}

// try looks for arguments that a tool takes, and reports whether the trial goes on.
func (t *Trial) try(tool tried, yield func(NamedCall) bool) bool {
	p, ok := parse(tool.schema, tool.arguments)
	if !ok {
		return true
	}
	made, most := map[string]outcome{}, mostOfTool
	if takes := t.seen.takes[tool.name]; takes > 0 {
		most = min(most, int(mostTime/takes))
	}
	call := func(arguments json.RawMessage) (goesOn bool) {
		if was, isMade := made[string(arguments)]; isMade {
			t.last = was
			return true
		}
		if len(made) >= most || t.left == 0 {
			return false
		}
		t.left--
		if !yield(NamedCall{tool.name, arguments}) {
			t.left = 0 // the session has ended
			return false
		}
		made[string(arguments)] = t.last
		return true
	}
	if !call(tool.arguments) {
		return t.left > 0
	}
	isRight := !t.last.isFailed // others may go by these: who makes "a" makes it for them
	if !isRight && !call(t.apart(p)) {
		return t.left > 0
	}
	for _, takesStep := range []bool{true, false} {
		if t.last.isFailed && !t.improve(p, takesStep, call) {
			return t.left > 0
		}
	}
	if t.last.isFailed {
		return true
	}
	if !isRight {
		t.seen.works[tool.name], _ = json.Marshal(p.members) // it was read from JSON
	}
	t.done[tool.name] = true
	return t.trySecond(p, call)
}

// apart gives the members that may be guessed values of their own, so that an error shows which of them it is about.
func (t *Trial) apart(p parsed) json.RawMessage {
	var values []any
	for _, name := range slices.Sorted(maps.Keys(p.members)) {
		value := oneOf(p.members[name])
		if !p.isGuess(name) || !slices.ContainsFunc(values, func(other any) bool { return equal(other, value) }) {
			values = append(values, value)
			continue
		}
		schema := p.property(name)
		if _, isList := p.members[name].([]any); isList {
			schema, _ = p.dereferenced(schema["items"], 0).(map[string]any)
		}
		if other, isMade := p.maker.another(schema, value, values); isMade && p.with(map[string]any{name: likeOne(p.members[name], other)}) != nil {
			p.members[name] = likeOne(p.members[name], other)
			values = append(values, other)
		}
	}
	return p.with(nil)
}

// improve puts other values in the place of the members, one after the other, that which the error is about first, until a call does
// not fail. Where it takes steps, an error about something else is enough to keep a value. It reports whether there may be more calls.
func (t *Trial) improve(p parsed, takesStep bool, call func(json.RawMessage) bool) bool {
	said := t.last
	isFixed := func(name string) bool { return !p.isGuess(name) }
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(p.members)), isFixed)
	for len(names) > 0 {
		before := p.plain(said.says, p.with(nil))
		isBlamed := func(name string) bool { return strings.Contains(before, "<"+name+">") }
		at := max(0, slices.IndexFunc(names, isBlamed))
		name := names[at]
		names = slices.Delete(names, at, at+1)
		isKept := false
		for _, value := range p.candidates(name, t.seen, said.says) {
			arguments := p.with(map[string]any{name: likeOne(p.members[name], value)})
			if arguments == nil || equal(value, oneOf(p.members[name])) {
				continue
			}
			if !call(arguments) {
				return false
			}
			isStep := takesStep && p.plain(t.last.says, arguments) != before
			if t.last.isFailed && !isStep {
				continue
			}
			said = t.last
			t.seen.names[plainName(name)] = true
			p.members[name] = likeOne(p.members[name], value)
			if !said.isFailed {
				return true
			}
			isKept = true
			break
		}
		if takesStep && !isKept && isBlamed(name) { // whatever the others are, this one is wrong
			break
		}
	}
	t.last = said
	return true
}

// candidates returns what a member may be: what its schema names, or else what was seen. Those come last that another member has: what
// goes from somewhere goes somewhere else.
func (p parsed) candidates(name string, seen Seen, says string) []any {
	values := named(p.property(name))
	files := []any{FolderMark + "/a.txt", FolderMark, FolderMark + "/b.txt"}
	isFile := func(word string) bool { return strings.Contains(strings.ToLower(says), word) }
	switch {
	case len(values) > 0:
	case ofName(name) != plainText:
		values = files
	default:
		values = seen.guesses(name, says)
		if slices.ContainsFunc([]string{"path", "file", "director", "folder"}, isFile) {
			values = append(values, files...)
		}
	}
	if _, isNumber := oneOf(p.members[name]).(json.Number); isNumber {
		for i, value := range values {
			if text, isText := value.(string); isText && strings.Trim(text, "0123456789") == "" {
				values[i] = json.Number(text)
			}
		}
	}
	isOfOther := func(value any) bool {
		for other, was := range p.members {
			if other != name && equal(oneOf(was), value) {
				return true
			}
		}
		return false
	}
	last := slices.DeleteFunc(slices.Clone(values), func(value any) bool { return !isOfOther(value) })
	return append(slices.DeleteFunc(slices.Clone(values), isOfOther), last...)
}

// trySecond looks for a second value of each argument that names something, so that two calls can be about two things. An argument
// names something if a made-up value fails.
func (t *Trial) trySecond(p parsed, call func(json.RawMessage) bool) bool {
	for _, name := range slices.Sorted(maps.Keys(p.members)) {
		was := oneOf(p.members[name])
		if !p.isGuess(name) || len(named(p.property(name))) > 0 || ofName(name) != plainText {
			continue
		}
		with := func(value any) json.RawMessage {
			return p.with(map[string]any{name: likeOne(p.members[name], value)})
		}
		if other := with(madeUp(was)); other == nil {
			continue
		} else if !call(other) {
			return t.left > 0
		}
		if !t.last.isFailed {
			continue
		}
		t.seen.names[plainName(name)] = true
		known := []any{was}
		for i, value := range p.candidates(name, t.seen, "") {
			if i == mostSeconds || len(known) == 2 {
				break
			}
			if with(value) == nil || equal(value, was) {
				continue
			}
			if !call(with(value)) {
				return t.left > 0
			}
			if !t.last.isFailed {
				known = append(known, value)
			}
		}
		t.seen.prefer(name, known)
	}
	return true
}

// madeUp returns a value in the form of another that has hardly been seen: a text that nothing has, or the next number.
func madeUp(was any) any {
	if n, isNumber := was.(json.Number); isNumber {
		return decimal(new(big.Rat).Add(number(n), big.NewRat(1, 1)))
	}
	return shifted(fmt.Sprint(was)+"2", 7)
}

// isGuess reports whether a member may have another value: a text or a number, or a list of one, of which the schema names several or
// none, but no address.
func (p parsed) isGuess(name string) bool {
	switch oneOf(p.members[name]).(type) {
	case string, json.Number:
		return len(named(p.property(name))) != 1 && (ofName(name) == plainText || strings.HasPrefix(ofName(name), FolderMark))
	}
	return false
}

// oneOf returns the only item of a list, and any other value itself.
func oneOf(value any) any {
	if list, isList := value.([]any); isList && len(list) == 1 {
		return list[0]
	}
	return value
}

// likeOne returns a value in a list if it takes the place of one in a list.
func likeOne(was, value any) any {
	if _, isList := was.([]any); isList {
		return []any{value}
	}
	return value
}

// plain returns what a server says of arguments, with the names of the members in the place of their values: a server that has taken
// one value says the same of the next.
func (p parsed) plain(says string, arguments json.RawMessage) string {
	value, _ := mcp.Value(arguments) // it was written before
	members, _ := value.(map[string]any)
	names := map[string]string{} // by the value
	for name, value := range members {
		switch value := oneOf(value).(type) {
		case string:
			names[value] = name
		case json.Number:
			names[value.String()] = name
		}
	}
	for _, text := range slices.SortedFunc(maps.Keys(names), func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) }) {
		name, isQuoted := "<"+names[text]+">", false
		for _, quote := range []string{"'", `"`, "`"} {
			isQuoted = isQuoted || strings.Contains(says, quote+text+quote)
			says = strings.ReplaceAll(says, quote+text+quote, quote+name+quote)
		}
		switch {
		case isQuoted:
		case strings.Contains(text, " "):
			says = strings.ReplaceAll(says, text, name)
		default:
			words := strings.Fields(says)
			for i, word := range words {
				if strings.Trim(word, marks) == text {
					words[i] = name
				}
			}
			says = strings.Join(words, " ")
		}
	}
	isMark := func(r rune) bool { return strings.ContainsRune(marks, r) }
	return strings.Join(strings.FieldsFunc(says, isMark), "")
}

// marks stand around a value in a message.
const marks = `'"` + "`.,:;()\\"

// mostSaid is how many bytes of what a server says of a call are looked at.
const mostSaid = 2 << 10

// outcomeOf returns what an answer to a call of a tool says. Some servers say in a result that something is not there.
func outcomeOf(m transport.Message) outcome {
	says := textOf(m.Result)
	if m.Error != nil {
		says = transport.MemberText(m.Error, "message")
	}
	isFailed := timeline.FailureOf(&m, true) != ""
	return outcome{isFailed || isDenial(says), says[:min(len(says), mostSaid)]}
}

// isDenial reports whether a short text says that there is no such thing.
func isDenial(says string) bool {
	const most = 200
	says = strings.ToLower(says)
	return len(says) <= most && slices.ContainsFunc([]string{"not found", "no such", "unknown", "does not exist", "invalid"}, func(word string) bool { return strings.Contains(says, word) })
}

// textOf returns the text of the result of a tool.
func textOf(result json.RawMessage) string {
	var said struct{ Content []struct{ Text string } }
	_ = json.Unmarshal(result, &said) // what cannot be read is not there
	var texts []string
	for _, content := range said.Content {
		texts = append(texts, content.Text)
	}
	return strings.Join(texts, "\n")
}
