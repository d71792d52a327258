package surface

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	"github.com/mcprec/mcprec/transport/mcp"
	"github.com/mcprec/mcprec/transport/phrase"
)

// direction is who must satisfy a schema: the client that sends the input, or the server that sends
// the output.
type direction int

const (
	input direction = iota
	output
)

// effect is what a change does to the set of values that a schema takes.
type effect int

const (
	narrows effect = iota
	widens
)

// tier returns how much an effect matters: narrowing an input breaks the clients that send it;
// widening an output breaks the clients that read it.
func (d direction) tier(e effect) Tier {
	if (d == input) == (e == narrows) {
		return Breaking
	}
	return Minor
}

// mostLevels is how deep schemas are compared by their keywords; below, they are equal or not.
const mostLevels = 32

// schema compares two JSON schemas at a place in the arguments or in the result.
func (c *comparison) schema(dir direction, place string, before, after any) {
	c.schemaAt(dir, place, before, after, 0)
}

func (c *comparison) schemaAt(dir direction, place string, before, after any, level int) {
	was, isObject := object(before)
	is, isObjectNow := object(after)
	switch {
	case reflect.DeepEqual(before, after):
		return
	case !isObject || !isObjectNow || level > mostLevels:
		c.add(Risky, "%s has another schema: %s, not %s", where(dir, place), excerpt(after), excerpt(before))
		return
	}
	c.types(dir, place, was, is)
	c.choices(dir, place, was, is)
	c.properties(dir, place, was, is, level)
	for _, word := range keysOf(was, is) {
		old, now := was[word], is[word]
		if reflect.DeepEqual(old, now) {
			continue
		}
		bound, isBound := bounds[word]
		switch {
		case slices.Contains(judged, word):
		case isBound:
			c.bound(dir, place, word, bound, old, now)
		case word == "items" && old != nil && now != nil:
			c.schemaAt(dir, place+"[]", old, now, level+1)
		case word == "items" || word == "pattern":
			c.appears(dir, place, word, old, now)
		case word == "additionalProperties":
			c.furtherProperties(dir, place, old, now, level)
		case word == "$defs" || word == "definitions":
			c.definitions(dir, place, old, now, level)
		case word == "anyOf" || word == "oneOf":
			c.alternatives(dir, place, word, old, now, level)
		case word == "title" || word == "examples" || word == "$comment" || word == "$id" || word == "$schema":
			c.add(Minor, "%s has another %s", where(dir, place), word)
		default: // description, default, format, $ref, allOf, not, …
			c.add(Risky, "%s has another %s: %s, not %s", where(dir, place), phrase.Name(word), excerpt(now), excerpt(old))
		}
	}
}

// judged are the keywords that types, choices and properties compare.
var judged = []string{"type", "enum", "const", "properties", "required"}

// object returns a schema as an object; true is one that takes everything.
func object(schema any) (members map[string]any, ok bool) {
	if schema == true {
		return map[string]any{}, true
	}
	members, ok = schema.(map[string]any)
	return members, ok
}

// where names a place for a sentence.
func where(dir direction, place string) string {
	whose := "its arguments"
	if dir == output {
		whose = "its output"
	}
	if place == "" {
		return "the schema of " + whose
	}
	if dir == output {
		return "the member " + phrase.QuotedName(place) + " of " + whose
	}
	return "the argument " + phrase.QuotedName(place)
}

// below returns the place of a property.
func below(place, name string) string {
	if place == "" {
		return name
	}
	return place + "." + name
}

// types compares the keyword type.
func (c *comparison) types(dir direction, place string, was, is map[string]any) {
	before, after := typesOf(was["type"]), typesOf(is["type"])
	lost, won := without(before, after), without(after, before)
	switch {
	case len(lost) > 0 && dir == input || len(won) > 0 && dir == output:
		c.add(Breaking, "%s is %s, not %s", where(dir, place), typeNames(is), typeNames(was))
	case len(lost)+len(won) > 0:
		c.add(Minor, "%s is %s, not only %s", where(dir, place), typeNames(is), typeNames(was))
	}
}

var allTypes = []string{"array", "boolean", "integer", "null", "number", "object", "string"}

// typesOf returns the types of the keyword type; a number may be an integer, and no keyword means
// any.
func typesOf(keyword any) (types []string) {
	switch value := keyword.(type) {
	case string:
		types = []string{value}
	case []any:
		for _, entry := range value {
			name, _ := entry.(string)
			types = append(types, name)
		}
	default:
		return allTypes
	}
	if slices.Contains(types, "number") {
		types = append(types, "integer")
	}
	return types
}

func typeNames(schema map[string]any) string {
	switch value := schema["type"].(type) {
	case string:
		return phrase.Name(value)
	case []any:
		return phrase.Name(strings.Join(typesOf(value), " or "))
	}
	return "of any type"
}

// without returns the elements of a list that another lacks.
func without(list, other []string) (rest []string) {
	for _, element := range list {
		if !slices.Contains(other, element) {
			rest = append(rest, element)
		}
	}
	return rest
}

// choices compares the keywords enum and const.
func (c *comparison) choices(dir direction, place string, was, is map[string]any) {
	before, hadChoices := choicesOf(was)
	after, hasChoices := choicesOf(is)
	switch {
	case !hadChoices && hasChoices:
		c.add(dir.tier(narrows), "%s takes only %s", where(dir, place), excerpt(after))
		return
	case hadChoices && !hasChoices:
		c.add(dir.tier(widens), "%s takes other values than %s, too", where(dir, place), excerpt(before))
		return
	}
	for _, value := range before {
		if !slices.ContainsFunc(after, func(other any) bool { return reflect.DeepEqual(value, other) }) {
			c.add(dir.tier(narrows), "%s has no value %s any more", where(dir, place), excerpt(value))
		}
	}
	for _, value := range after {
		if !slices.ContainsFunc(before, func(other any) bool { return reflect.DeepEqual(value, other) }) {
			c.add(dir.tier(widens), "%s has the new value %s", where(dir, place), excerpt(value))
		}
	}
}

func choicesOf(schema map[string]any) (values []any, limited bool) {
	if values, limited = schema["enum"].([]any); limited {
		return values, true
	}
	value, limited := schema["const"]
	if limited {
		return []any{value}, true
	}
	return nil, false
}

// properties compares the keywords properties and required.
func (c *comparison) properties(dir direction, place string, was, is map[string]any, level int) {
	before, _ := was["properties"].(map[string]any)
	after, _ := is["properties"].(map[string]any)
	needed, needs := namesOf(was["required"]), namesOf(is["required"])
	names := slices.Concat(keysOf(before, after), needed, needs)
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		old, had := before[name]
		now, has := after[name]
		path := below(place, name)
		wasNeeded, isNeeded := slices.Contains(needed, name), slices.Contains(needs, name)
		switch {
		case had && !has:
			c.add(Breaking, "%s is gone", where(dir, path))
			continue
		case !had && has && isNeeded && dir == input:
			c.add(Breaking, "%s is new and required", where(dir, path))
			continue
		case !had && has:
			c.add(Minor, "%s is new", where(dir, path))
			continue
		case isNeeded && !wasNeeded:
			c.add(dir.tier(narrows), "%s is now required", where(dir, path))
		case wasNeeded && !isNeeded:
			c.add(dir.tier(widens), "%s is no longer required", where(dir, path))
		}
		c.schemaAt(dir, path, old, now, level+1)
	}
}

func namesOf(value any) (names []string) {
	entries, _ := value.([]any)
	for _, entry := range entries {
		if name, isText := entry.(string); isText {
			names = append(names, name)
		}
	}
	return names
}

// bounds are the keywords that limit a value: 1 for those from below, which narrow as they rise, -1
// for those from above.
var bounds = map[string]int{
	"minimum": 1, "exclusiveMinimum": 1, "minLength": 1, "minItems": 1, "minProperties": 1,
	"maximum": -1, "exclusiveMaximum": -1, "maxLength": -1, "maxItems": -1, "maxProperties": -1,
}

// bound compares a keyword that limits a value.
func (c *comparison) bound(dir direction, place, word string, sign int, old, now any) {
	before, had := old.(json.Number)
	after, has := now.(json.Number)
	if !had || !has {
		c.appears(dir, place, word, old, now)
		return
	}
	change := widens
	if mcp.CompareNumbers(string(after), string(before))*sign > 0 {
		change = narrows
	}
	c.add(dir.tier(change), "%s has %s %s, not %s", where(dir, place), word, excerpt(now), excerpt(old))
}

// appears judges a keyword that limits a value by being there: it is new, gone, or otherwise.
func (c *comparison) appears(dir direction, place, word string, old, now any) {
	switch {
	case old == nil:
		c.add(dir.tier(narrows), "%s has %s: %s", where(dir, place), word, excerpt(now))
	case now == nil:
		c.add(dir.tier(widens), "%s has no %s any more", where(dir, place), word)
	default:
		c.add(Risky, "%s has another %s: %s, not %s", where(dir, place), word, excerpt(now), excerpt(old))
	}
}

// furtherProperties compares the keyword additionalProperties.
func (c *comparison) furtherProperties(dir direction, place string, old, now any, level int) {
	wasClosed, isClosed := old == false, now == false
	switch {
	case isClosed:
		c.add(dir.tier(narrows), "%s takes no further members", where(dir, place))
	case wasClosed:
		c.add(dir.tier(widens), "%s takes further members", where(dir, place))
	case old == nil:
		c.schemaAt(dir, below(place, "*"), true, now, level+1)
	case now == nil:
		c.schemaAt(dir, below(place, "*"), old, true, level+1)
	default:
		c.schemaAt(dir, below(place, "*"), old, now, level+1)
	}
}

// definitions compares schemas by name to which others refer.
func (c *comparison) definitions(dir direction, place string, old, now any, level int) {
	before, _ := old.(map[string]any)
	after, _ := now.(map[string]any)
	for _, name := range keysOf(before, after) {
		was, had := before[name]
		is, has := after[name]
		if had && has { // one that is new or gone shows where it is referred to
			c.schemaAt(dir, below(place, "$"+name), was, is, level+1)
		}
	}
}

// alternatives compares lists of schemas of which one must fit.
func (c *comparison) alternatives(dir direction, place, word string, old, now any, level int) {
	before, _ := old.([]any)
	after, _ := now.([]any)
	switch {
	case old == nil || now == nil:
		c.appears(dir, place, word, old, now)
	case len(after) < len(before):
		c.add(dir.tier(narrows), "%s has %s in %s, not %d", where(dir, place), phrase.Plural(len(after), "alternative"), word, len(before))
	case len(after) > len(before):
		c.add(dir.tier(widens), "%s has %s in %s, not %d", where(dir, place), phrase.Plural(len(after), "alternative"), word, len(before))
	default:
		for i := range before {
			c.schemaAt(dir, place, before[i], after[i], level+1)
		}
	}
}
