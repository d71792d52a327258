package workload

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"

	"github.com/mcprec/mcprec/transport/mcp"
	"github.com/mcprec/mcprec/transport/phrase"
)

// FolderMark stands in what a client says for the folder that a server process has for itself.
const FolderMark = "%DIR"

// Arguments returns a value for a schema as JSON: the default, an example, the first value of an enum or what its description
// gives as an example where the schema has one, and else the smallest that fits. What may be left out is left out. A schema
// that is nil takes an empty object.
func Arguments(schema json.RawMessage) (json.RawMessage, error) {
	if len(schema) == 0 {
		return json.RawMessage("{}"), nil
	}
	root, err := mcp.Value(schema)
	if err != nil {
		return nil, fmt.Errorf("its schema cannot be read: %w", err)
	}
	var failed string
	m := maker{newChecker(root), &failed}
	value, isMade := m.make(root, "", 0)
	if !isMade {
		value = map[string]any{}
	}
	if why := m.misfit(root, value, ""); why != "" {
		return nil, errors.New("no arguments were found that fit its schema: " + cmp.Or(failed, strings.TrimLeft(why, "/: ")))
	}
	return json.Marshal(value)
}

// parsed are arguments with their schema, both as JSON has them.
type parsed struct {
	maker
	root       any
	properties map[string]any // of the schema
	members    map[string]any // of the arguments
}

// parse reads arguments and their schema. ok is false if the arguments are no object, or the schema cannot be read.
func parse(schema, arguments json.RawMessage) (p parsed, ok bool) {
	root, err := mcp.Value(schema)
	if err != nil {
		return p, false
	}
	value, _ := mcp.Value(arguments)
	members, isObject := value.(map[string]any)
	top, _ := root.(map[string]any)
	properties, _ := top["properties"].(map[string]any)
	return parsed{maker{newChecker(root), new(string)}, root, properties, members}, isObject
}

// property returns the schema of a member.
func (p parsed) property(name string) map[string]any {
	s, _ := p.dereferenced(p.properties[name], 0).(map[string]any)
	return s
}

// with returns the arguments with other values of some members; nil if they do not fit the schema then.
func (p parsed) with(values map[string]any) json.RawMessage {
	changed := maps.Clone(p.members)
	maps.Copy(changed, values)
	if p.misfit(p.root, changed, "") != "" {
		return nil
	}
	encoded, _ := json.Marshal(changed) // it was read from JSON
	return encoded
}

// Misfit says where a value, as JSON, does not fit a schema; "" if it fits.
func Misfit(schema, value json.RawMessage) string {
	if len(schema) == 0 {
		return ""
	}
	root, err := mcp.Value(schema)
	if err != nil {
		return ""
	}
	v, err := mcp.Value(value)
	if err != nil {
		return "it is no JSON"
	}
	return strings.TrimPrefix(newChecker(root).misfit(root, v, ""), "/")
}

// maker makes values for the schemas of a document.
type maker struct {
	checker
	failed *string // the first member for which there was no value, and its schema
}

// make returns a value for a schema, and false if it knows none. name is that of the member that gets the value.
func (m maker) make(schema any, name string, depth int) (value any, isMade bool) {
	*m.left--
	if depth > deepest || *m.left < 0 {
		return nil, false
	}
	s, _ := schema.(map[string]any)
	if schema == false {
		return nil, false
	}
	if ref, isRef := s["$ref"].(string); isRef {
		target, err := m.target(ref)
		if err != nil {
			return nil, false
		}
		own := maps.Clone(s)
		delete(own, "$ref")
		return m.make(joined(own, target), name, depth+1)
	}
	if all, _ := s["allOf"].([]any); len(all) > 0 {
		if len(all) > deepest {
			return nil, false
		}
		own := maps.Clone(s)
		delete(own, "allOf")
		var whole any = own
		for _, part := range all {
			whole = joined(whole, m.dereferenced(part, depth))
		}
		return m.make(whole, name, depth+1)
	}
	fits := func(value any) bool { return m.misfit(schema, value, "") == "" }
	for _, value := range suggested(s) {
		if fits(value) {
			return value, true
		}
	}
	for _, word := range []string{"oneOf", "anyOf"} {
		forms, _ := s[word].([]any)
		for _, form := range forms {
			own := maps.Clone(s)
			delete(own, word)
			if value, isMade := m.make(joined(own, m.dereferenced(form, depth)), name, depth+1); isMade && fits(value) {
				return value, true
			}
		}
	}
	for _, of := range m.typesToTry(s) {
		if value, isMade := m.ofType(of, s, name, depth); isMade && fits(value) {
			return value, true
		}
	}
	return nil, false
}

// dereferenced returns a schema, or the one that it refers to.
func (m maker) dereferenced(schema any, depth int) any {
	for ; depth < deepest; depth++ {
		s, _ := schema.(map[string]any)
		ref, isRef := s["$ref"].(string)
		target, err := m.target(ref)
		if !isRef || err != nil {
			break
		}
		schema = target
	}
	return schema
}

// suggested returns the values that a schema itself names, and those of its description.
func suggested(s map[string]any) []any {
	description, _ := s["description"].(string)
	return append(named(s), examplesIn(description)...)
}

// named returns the values that a schema itself names.
func named(s map[string]any) (values []any) {
	for _, word := range []string{"const", "default", "example"} {
		if value, isThere := s[word]; isThere && (word == "const" || value != nil) {
			values = append(values, value)
		}
	}
	for _, word := range []string{"examples", "enum"} {
		list, _ := s[word].([]any)
		values = append(values, list...)
	}
	return values
}

// typesToTry returns the types of which a value may be, the likeliest first.
func (m maker) typesToTry(s map[string]any) []string {
	if types := typesOf(s); types != nil {
		isNull := func(name string) bool { return name == "null" }
		rest := slices.DeleteFunc(slices.Clone(types), isNull)
		if slices.ContainsFunc(types, isNull) {
			rest = append(rest, "null")
		}
		return rest
	}
	switch {
	case s["properties"] != nil || s["required"] != nil:
		return []string{"object"}
	case s["items"] != nil || s["prefixItems"] != nil:
		return []string{"array"}
	case s["minimum"] != nil || s["maximum"] != nil:
		return []string{"integer", "number"}
	}
	return []string{"string", "object", "array", "integer", "boolean", "null"}
}

// ofType returns a value of a type.
func (m maker) ofType(of string, s map[string]any, name string, depth int) (value any, isMade bool) {
	switch of {
	case "object":
		return m.object(s, depth)
	case "array":
		return m.array(s, name, depth)
	case "string":
		return m.text(s, name)
	case "integer", "number":
		return m.number(s, of == "integer"), true
	case "boolean":
		return false, true
	}
	return nil, of == "null"
}

// object returns an object with the required members, and as many others as minProperties wants.
func (m maker) object(s map[string]any, depth int) (any, bool) {
	members := map[string]any{}
	properties, _ := s["properties"].(map[string]any)
	required := textsOf(s["required"])
	least, _ := limitOf(s, "minProperties")
	for _, name := range slices.Concat(required, slices.Sorted(maps.Keys(properties))) {
		_, isMade := members[name]
		if isMade || !slices.Contains(required, name) && len(members) >= least {
			continue
		}
		schema, isThere := properties[name]
		if further := s["additionalProperties"]; !isThere && further != nil {
			schema = further
		}
		value, isMade := m.make(schema, name, depth+1)
		if !isMade {
			encoded, _ := json.Marshal(schema) // it was read from JSON
			*m.failed = cmp.Or(*m.failed, name+", which is "+phrase.Clip(string(encoded), 100))
			return nil, false
		}
		members[name] = value
	}
	for i := 0; len(members) < least && i < least; i++ {
		value, isMade := m.make(s["additionalProperties"], "", depth+1)
		if !isMade {
			return nil, false
		}
		members[fmt.Sprintf("a%d", i+1)] = value
	}
	return members, true
}

// A list that may be empty has an item, down to this depth: a schema may hold itself.
const deepestItem = 3

// array returns a list that is as short as it may be, but with an item if one can be made: a call with an empty list
// does nothing.
func (m maker) array(s map[string]any, name string, depth int) (any, bool) {
	list := []any{}
	least, _ := limitOf(s, "minItems")
	if least == 0 && depth <= deepestItem && mayHaveItem(s) {
		if item, isMade := m.make(s["items"], strings.TrimSuffix(name, "s"), depth+1); isMade {
			return append(list, item), true
		}
	}
	if s["contains"] != nil {
		least = max(least, 1)
	}
	first, _ := s["prefixItems"].([]any)
	for i := range min(least, 100) {
		schema := s["items"]
		switch {
		case i < len(first):
			schema = first[i]
		case s["contains"] != nil && i == 0:
			schema = s["contains"]
		}
		value, isMade := m.make(schema, strings.TrimSuffix(name, "s"), depth+1)
		if s["uniqueItems"] == true && isMade {
			value, isMade = m.another(schema, value, list)
		}
		if !isMade {
			return nil, false
		}
		list = append(list, value)
	}
	return list, true
}

// mayHaveItem reports whether a list of a schema may have an item of which all is said by "items".
func mayHaveItem(s map[string]any) bool {
	_, isSchema := s["items"].(map[string]any)
	most, isLimited := limitOf(s, "maxItems")
	return isSchema && s["prefixItems"] == nil && s["contains"] == nil && (!isLimited || most > 0)
}

// another returns a value for a schema that is not in a list yet, such as the one that was made.
func (m maker) another(schema, made any, list []any) (value any, isFound bool) {
	s, _ := schema.(map[string]any)
	candidates := append([]any{made}, suggested(s)...)
	for i := range len(list) + 1 {
		switch first := made.(type) {
		case string:
			candidates = append(candidates, fmt.Sprintf("%s%d", first, i+2), shifted(first, i+1))
		case json.Number:
			next := new(big.Rat).Add(number(first), big.NewRat(int64(i+1), 1))
			candidates = append(candidates, json.Number(next.RatString()))
		}
	}
	for _, value := range candidates {
		isThere := slices.ContainsFunc(list, func(other any) bool { return equal(other, value) })
		if !isThere && m.misfit(schema, value, "") == "" {
			return value, true
		}
	}
	return nil, false
}

// shifted returns a text with another last letter or digit, so many places behind in the alphabet or the digits; the same if there is
// none.
func shifted(text string, places int) string {
	bytes := []byte(text)
	for i := len(bytes) - 1; i >= 0; i-- {
		for _, kind := range []string{"0123456789", "abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ"} {
			if at := strings.IndexByte(kind, bytes[i]); at >= 0 {
				bytes[i] = kind[(at+places)%len(kind)]
				return string(bytes)
			}
		}
	}
	return text
}

// number returns 1, or the number next to it that fits.
func (m maker) number(s map[string]any, isInteger bool) json.Number {
	n := big.NewRat(1, 1)
	step := big.NewRat(1, 1)
	multiple, hasStep := s["multipleOf"].(json.Number)
	if hasStep && number(multiple).Sign() > 0 {
		step.Set(number(multiple))
		n.Set(step)
	}
	for _, bound := range boundsOf(s) {
		if order := n.Cmp(bound.value) * bound.sign; order > 0 || order == 0 && !bound.isOpen {
			continue
		}
		// The next multiple of the step that the bound takes in.
		steps := new(big.Rat).Quo(bound.value, step)
		whole := new(big.Int).Div(steps.Num(), steps.Denom()) // rounded down
		if bound.sign > 0 && (bound.isOpen || !steps.IsInt()) {
			whole.Add(whole, big.NewInt(1))
		} else if bound.sign < 0 && bound.isOpen && steps.IsInt() {
			whole.Sub(whole, big.NewInt(1))
		}
		n.Mul(step, new(big.Rat).SetInt(whole))
		if !isInteger && !hasStep && m.misfitNumber(s, decimal(n), "") != "" { // between two integers
			half := big.NewRat(int64(bound.sign), 2)
			n.Add(bound.value, half)
			for range 64 {
				if m.misfitNumber(s, decimal(n), "") == "" {
					break
				}
				half.Mul(half, big.NewRat(1, 2))
				n.Add(bound.value, half)
			}
		}
	}
	return decimal(n)
}

// decimal writes a number as JSON has it.
func decimal(n *big.Rat) json.Number {
	if n.IsInt() {
		return json.Number(n.Num().String())
	}
	return json.Number(strings.TrimRight(n.FloatString(20), "0"))
}

// joined returns a schema that has the keywords of two, and of members and required those of both.
func joined(a, b any) any {
	x, isObject := a.(map[string]any)
	y, isObjectToo := b.(map[string]any)
	if !isObject || len(x) == 0 {
		return b
	}
	if !isObjectToo {
		return a
	}
	whole := maps.Clone(x)
	for word, value := range y {
		was, isThere := whole[word]
		switch {
		case !isThere:
			whole[word] = value
		case word == "required":
			first, _ := was.([]any)
			second, _ := value.([]any)
			whole[word] = slices.Concat(first, second)
		case word == "properties":
			first, _ := was.(map[string]any)
			second, _ := value.(map[string]any)
			members := maps.Clone(first)
			for name, schema := range second {
				if other, isThere := members[name]; isThere {
					schema = joined(other, schema)
				}
				members[name] = schema
			}
			whole[word] = members
		case word == "allOf":
			first, _ := was.([]any)
			second, _ := value.([]any)
			whole[word] = slices.Concat(first, second)
		}
	}
	return whole
}
