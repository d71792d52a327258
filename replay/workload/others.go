package workload

import (
	"bytes"
	"encoding/json"
	"maps"
	"math/big"
	"reflect"
	"slices"
	"strings"

	"github.com/mcprec/mcprec/transport/mcp"
)

// otherArguments returns arguments for a schema that are others in one member, if it knows any: with another text or number,
// but none that a file or an address may depend on, and with a value of which the schema names several.
// What is kept stays as it is, unless the schema names several.
func otherArguments(schema, arguments json.RawMessage, kept map[string]any) (list []json.RawMessage) {
	o, ok := parse(schema, arguments)
	if !ok {
		return nil
	}
	for _, isNamed := range []bool{false, true} {
		if isNamed {
			kept = nil
		}
		changed := o.another(isNamed, kept)
		if changed != nil && (len(list) == 0 || !bytes.Equal(list[0], changed)) {
			list = append(list, changed)
		}
	}
	return list
}

// another returns the arguments with another value of one member that is not kept, if it knows any: where isNamed is set one of
// several that the schema names, and else another text or number, but none that a file or an address may depend on.
func (p parsed) another(isNamed bool, kept map[string]any) json.RawMessage {
	for _, name := range slices.Sorted(maps.Keys(p.properties)) {
		was, isThere := p.members[name]
		text, _ := was.(string)
		isName := isCode(text) && isExample(p.property(name), was) // of something that there is
		if _, isKept := kept[name]; isKept || !isNamed && (!isThere || isName || ofName(name) != plainText) {
			continue
		}
		for _, value := range p.others(p.properties[name], was, isNamed) {
			if changed := p.with(map[string]any{name: value}); changed != nil {
				return changed
			}
		}
	}
	return nil
}

// otherAbout returns the arguments of a call for the same thing that another call is about: they have another value of a member
// that the other call has not; nil if it knows none.
func otherAbout(schema, arguments, other json.RawMessage, seen Seen) json.RawMessage {
	p, ok := parse(schema, arguments)
	value, err := mcp.Value(other)
	kept, isObject := value.(map[string]any)
	if !ok || err != nil || !isObject {
		return nil
	}
	if changed := seen.alike(schema, arguments, kept); changed != nil {
		return changed
	}
	kept = maps.Clone(kept)
	maps.Copy(kept, seen.exact(p))
	if changed := p.another(false, kept); changed != nil {
		return changed
	}
	return p.another(true, kept)
}

// larger returns the arguments with as many of something as a schema allows, up to a limit: a long answer may not fit where a short
// one does. It returns nil if there is no such member. How long something is to take stays as it is.
func larger(schema, arguments json.RawMessage) json.RawMessage {
	const most = 500
	p, ok := parse(schema, arguments)
	if !ok {
		return nil
	}
	values := map[string]any{}
	for name := range p.properties {
		isTime := slices.ContainsFunc([]string{"ms", "sec", "min", "hour", "time", "delay", "wait", "duration", "interval", "sleep"}, func(word string) bool {
			return strings.Contains(strings.ToLower(name), word)
		})
		limit, isLimited := p.property(name)["maximum"].(json.Number)
		if isTime || !isLimited || number(limit).Cmp(big.NewRat(1, 1)) <= 0 {
			continue
		}
		value := number(limit)
		if value.Cmp(big.NewRat(most, 1)) > 0 {
			value = big.NewRat(most, 1)
		}
		values[name] = decimal(value)
	}
	if len(values) == 0 {
		return nil
	}
	return p.with(values)
}

// shared returns how many members two calls have with the same value.
func shared(arguments, other json.RawMessage) (count int) {
	a, _ := mcp.Value(arguments)
	b, _ := mcp.Value(other)
	members, _ := a.(map[string]any)
	others, _ := b.(map[string]any)
	for name, value := range members {
		if was, isThere := others[name]; isThere && reflect.DeepEqual(value, was) {
			count++
		}
	}
	return count
}

// exchanged returns arguments in which two members of one kind have each other's value, such as from and to: the two whose
// descriptions are the most alike; nil if there are none. What one call takes first the other takes last.
func exchanged(schema, arguments json.RawMessage) json.RawMessage {
	o, ok := parse(schema, arguments)
	if !ok {
		return nil
	}
	valueOf := func(name string) any {
		if value, isThere := o.members[name]; isThere {
			return value
		}
		return o.property(name)["default"]
	}
	var best json.RawMessage
	most := -1
	names := slices.Sorted(maps.Keys(o.properties))
	for i, first := range names {
		for _, second := range names[i+1:] {
			a, b := valueOf(first), valueOf(second)
			isOfOne := isExample(o.property(first), a) != isExample(o.property(second), a) || isExample(o.property(first), b) != isExample(o.property(second), b)
			if a == nil || b == nil || isOfOne || equal(a, b) || !equal(kindOf(o.property(first)), kindOf(o.property(second))) {
				continue
			}
			if common := commonWords(o.property(first), o.property(second)); common > most {
				if changed := o.with(map[string]any{first: b, second: a}); changed != nil {
					best, most = changed, common
				}
			}
		}
	}
	return best
}

// isExample reports whether the description of a member gives a value as an example.
func isExample(schema map[string]any, value any) bool {
	description, _ := schema["description"].(string)
	return slices.ContainsFunc(examplesIn(description), func(example any) bool { return equal(example, value) })
}

// commonWords counts the longer words that the descriptions of two members have in common.
func commonWords(a, b map[string]any) (count int) {
	const least = 4
	first, _ := a["description"].(string)
	second, _ := b["description"].(string)
	others := strings.Fields(strings.ToLower(second))
	for word := range strings.FieldsSeq(strings.ToLower(first)) {
		if len(word) >= least && slices.Contains(others, word) {
			count++
		}
	}
	return count
}

// kindOf returns a schema without what is said of one member alone.
func kindOf(schema map[string]any) map[string]any {
	kind := maps.Clone(schema)
	for _, word := range []string{"default", "description", "title", "example", "examples"} {
		delete(kind, word)
	}
	return kind
}

// others returns values for a schema in place of another: those that it names itself, or one that is made. Was is nil where
// there was none, and the default is meant.
func (m maker) others(schema, was any, isNamed bool) []any {
	if isNamed {
		s, _ := m.dereferenced(schema, 0).(map[string]any)
		values := suggested(s)
		if was == nil && len(values) > 0 {
			was = values[0]
		}
		return slices.DeleteFunc(values, func(value any) bool { return equal(value, was) })
	}
	value, isMade := m.another(schema, was, []any{was})
	if !isMade {
		return nil
	}
	s, _ := m.dereferenced(schema, 0).(map[string]any)
	isSuggested := slices.ContainsFunc(suggested(s), func(other any) bool { return equal(other, value) })
	if text, isText := value.(string); isText && !isSuggested { // of two calls at once the one with more to do ends last
		return []any{text + moreWords, value}
	}
	return []any{value}
}

// moreWords make a text longer.
const moreWords = " and some more words"
