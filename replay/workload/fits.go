package workload

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/big"
	"net/mail"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/mcprec/mcprec/transport/phrase"
)

// checker finds out where a value does not fit a schema. Unknown keywords say nothing.
type checker struct {
	root  any // where references begin
	depth int
	left  *int // how many schemas may still be looked at: they may refer to each other in any number of ways
}

// A schema may nest so deep, and so many schemas are looked at for one value.
const deepest, mostLooks = 64, 20_000

func newChecker(root any) checker {
	left := mostLooks
	return checker{root: root, left: &left}
}

// misfit returns the first place where a value does not fit a schema, and why; "" if it fits.
func (c checker) misfit(schema, value any, at string) string {
	c.depth++
	*c.left--
	if c.depth > deepest || *c.left < 0 {
		return at + ": its schema refers to itself too often"
	}
	s, isObject := schema.(map[string]any)
	switch {
	case schema == false:
		return at + ": its schema takes nothing"
	case !isObject:
		return ""
	}
	if ref, isRef := s["$ref"].(string); isRef {
		target, err := c.target(ref)
		if err != nil {
			return at + ": " + err.Error()
		}
		if why := c.misfit(target, value, at); why != "" {
			return why
		}
	}
	checks := []func(map[string]any, any, string) string{c.misfitType, c.misfitForms}
	switch value.(type) {
	case map[string]any:
		checks = append(checks, c.misfitObject)
	case []any:
		checks = append(checks, c.misfitArray)
	case string:
		checks = append(checks, c.misfitText)
	case json.Number:
		checks = append(checks, c.misfitNumber)
	}
	for _, check := range checks {
		if why := check(s, value, at); why != "" {
			return why
		}
	}
	return ""
}

// target returns the schema that a reference names.
func (c checker) target(ref string) (any, error) {
	rest, isHere := strings.CutPrefix(ref, "#")
	at := c.root
	if !isHere {
		return nil, fmt.Errorf("its schema refers to another document: %s", ref)
	}
	for part := range strings.SplitSeq(strings.TrimPrefix(rest, "/"), "/") {
		if part == "" {
			continue
		}
		part = strings.NewReplacer("~1", "/", "~0", "~").Replace(part)
		members, _ := at.(map[string]any)
		next, isThere := members[part]
		if !isThere {
			return nil, fmt.Errorf("its schema refers to %s, which is not there", ref)
		}
		at = next
	}
	return at, nil
}

// misfitType checks type, enum, const and nullable.
func (c checker) misfitType(s map[string]any, value any, at string) string {
	if s["nullable"] == true && value == nil {
		return ""
	}
	if types := typesOf(s); types != nil && !slices.ContainsFunc(types, func(name string) bool { return isOfType(value, name) }) {
		return at + ": want " + strings.Join(types, " or ")
	}
	if choices, isThere := s["enum"].([]any); isThere && !slices.ContainsFunc(choices, func(choice any) bool { return equal(choice, value) }) {
		return at + ": want one of the values of enum"
	}
	if constant, isThere := s["const"]; isThere && !equal(constant, value) {
		return at + ": want the value of const"
	}
	return ""
}

// typesOf returns the types that a schema names; nil: any.
func typesOf(s map[string]any) (types []string) {
	switch named := s["type"].(type) {
	case string:
		return []string{named}
	case []any:
		for _, name := range named {
			text, _ := name.(string)
			types = append(types, text)
		}
	}
	return types
}

func isOfType(value any, name string) bool {
	switch v := value.(type) {
	case nil:
		return name == "null"
	case bool:
		return name == "boolean"
	case string:
		return name == "string"
	case []any:
		return name == "array"
	case map[string]any:
		return name == "object"
	case json.Number:
		f, err := v.Float64()
		return name == "number" || name == "integer" && err == nil && f == math.Trunc(f)
	}
	return false
}

// equal reports whether two values are the same; numbers by their value.
func equal(a, b any) bool {
	x, isNumber := a.(json.Number)
	y, isNumberToo := b.(json.Number)
	if isNumber && isNumberToo {
		return number(x).Cmp(number(y)) == 0
	}
	return reflect.DeepEqual(a, b)
}

// number returns the exact value of a number; 0 of what is none.
func number(n json.Number) *big.Rat {
	value, isNumber := new(big.Rat).SetString(n.String())
	if !isNumber {
		return new(big.Rat)
	}
	return value
}

// misfitForms checks allOf, anyOf, oneOf, not, and if with then and else.
func (c checker) misfitForms(s map[string]any, value any, at string) string {
	all, _ := s["allOf"].([]any)
	for _, form := range all {
		if why := c.misfit(form, value, at); why != "" {
			return why
		}
	}
	for word, most := range map[string]int{"anyOf": math.MaxInt, "oneOf": 1} {
		forms, isThere := s[word].([]any)
		fit := 0
		for _, form := range forms {
			if c.misfit(form, value, at) == "" {
				fit++
			}
		}
		if isThere && (fit == 0 || fit > most) {
			return fmt.Sprintf("%s: fits %d alternatives of %s", at, fit, word)
		}
	}
	if not, isThere := s["not"]; isThere && c.misfit(not, value, at) == "" {
		return at + ": fits what its schema excludes"
	}
	if condition, isThere := s["if"]; isThere {
		word := "then"
		if c.misfit(condition, value, at) != "" {
			word = "else"
		}
		if then, isThere := s[word]; isThere {
			return c.misfit(then, value, at)
		}
	}
	return ""
}

// misfitObject checks the keywords about members.
func (c checker) misfitObject(s map[string]any, value any, at string) string {
	members := value.(map[string]any)
	for _, name := range textsOf(s["required"]) {
		if _, isThere := members[name]; !isThere {
			return at + "/" + name + ": is required"
		}
	}
	if why := misfitCount(s, "Properties", len(members), at); why != "" {
		return why
	}
	properties, _ := s["properties"].(map[string]any)
	patterns, _ := s["patternProperties"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(members)) {
		isKnown := false
		if schema, isThere := properties[name]; isThere {
			isKnown = true
			if why := c.misfit(schema, members[name], at+"/"+name); why != "" {
				return why
			}
		}
		for pattern, schema := range patterns {
			if matches, err := regexp.MatchString(pattern, name); err == nil && matches {
				isKnown = true
				if why := c.misfit(schema, members[name], at+"/"+name); why != "" {
					return why
				}
			}
		}
		if further, isThere := s["additionalProperties"]; isThere && !isKnown {
			if why := c.misfit(further, members[name], at+"/"+name); why != "" {
				return why
			}
		}
		if names, isThere := s["propertyNames"]; isThere {
			if why := c.misfit(names, name, at+"/"+name); why != "" {
				return why
			}
		}
	}
	dependent, _ := s["dependentRequired"].(map[string]any)
	for name, needs := range dependent {
		if _, isThere := members[name]; !isThere {
			continue
		}
		for _, needed := range textsOf(needs) {
			if _, isThere := members[needed]; !isThere {
				return at + "/" + needed + ": is required beside " + name
			}
		}
	}
	return ""
}

// textsOf returns the texts of a list.
func textsOf(list any) (texts []string) {
	values, _ := list.([]any)
	for _, value := range values {
		if text, isText := value.(string); isText {
			texts = append(texts, text)
		}
	}
	return texts
}

// misfitCount checks min… and max… of what a value has count of.
func misfitCount(s map[string]any, of string, count int, at string) string {
	if least, isThere := limitOf(s, "min"+of); isThere && count < least {
		return fmt.Sprintf("%s: has %d, want min%s %d", at, count, of, least)
	}
	if most, isThere := limitOf(s, "max"+of); isThere && count > most {
		return fmt.Sprintf("%s: has %d, want max%s %d", at, count, of, most)
	}
	return ""
}

// limitOf returns the value of a keyword that is a count.
func limitOf(s map[string]any, word string) (limit int, isThere bool) {
	n, isNumber := s[word].(json.Number)
	f, err := n.Float64()
	return int(min(f, math.MaxInt32)), isNumber && err == nil
}

// misfitArray checks the keywords about elements.
func (c checker) misfitArray(s map[string]any, value any, at string) string {
	elements := value.([]any)
	if why := misfitCount(s, "Items", len(elements), at); why != "" {
		return why
	}
	first, _ := s["prefixItems"].([]any)
	if list, isList := s["items"].([]any); isList { // until draft 2019-09
		first = list
	}
	for i, element := range elements {
		place := fmt.Sprintf("%s/%d", at, i)
		schema := s["items"]
		if i < len(first) {
			schema = first[i]
		}
		if why := c.misfit(schema, element, place); why != "" {
			return why
		}
		if s["uniqueItems"] == true && slices.ContainsFunc(elements[:i], func(other any) bool { return equal(other, element) }) {
			return place + ": is there already"
		}
	}
	if schema, isThere := s["contains"]; isThere && !slices.ContainsFunc(elements, func(e any) bool { return c.misfit(schema, e, at) == "" }) {
		return at + ": has no element as contains wants it"
	}
	return ""
}

// misfitText checks the keywords about texts.
func (c checker) misfitText(s map[string]any, value any, at string) string {
	text := value.(string)
	if why := misfitCount(s, "Length", utf8.RuneCountInString(text), at); why != "" {
		return why
	}
	if pattern, isThere := s["pattern"].(string); isThere {
		if expression, err := regexp.Compile(pattern); err != nil {
			return fmt.Sprintf("%s: its pattern %s cannot be read", at, pattern)
		} else if !expression.MatchString(text) {
			return fmt.Sprintf("%s: want pattern %s", at, pattern)
		}
	}
	if format, _ := s["format"].(string); !isOfFormat(format, text) {
		return at + ": want format " + format
	}
	return ""
}

// isOfFormat checks the formats that servers check most. Of others every text is one.
func isOfFormat(format, text string) bool {
	var err error
	switch format {
	case "uri", "url":
		var u *url.URL
		if u, err = url.Parse(text); err == nil && !u.IsAbs() {
			return false
		}
	case "date-time":
		_, err = time.Parse(time.RFC3339, text)
	case "date":
		_, err = time.Parse(time.DateOnly, text)
	case "time":
		_, err = time.Parse("15:04:05Z07:00", text)
	case "email":
		_, err = mail.ParseAddress(text)
	case "uuid":
		return isUUID().MatchString(text)
	}
	return err == nil
}

var isUUID = phrase.Regexp(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)

// misfitNumber checks the keywords about numbers.
func (c checker) misfitNumber(s map[string]any, value any, at string) string {
	n := number(value.(json.Number))
	for _, bound := range boundsOf(s) {
		if order := n.Cmp(bound.value) * bound.sign; order < 0 || order == 0 && bound.isOpen {
			return fmt.Sprintf("%s: want %s %s", at, bound.word, bound.value.RatString())
		}
	}
	if step, isNumber := s["multipleOf"].(json.Number); isNumber && number(step).Sign() > 0 {
		if !new(big.Rat).Quo(n, number(step)).IsInt() {
			return at + ": want a multiple of " + step.String()
		}
	}
	return ""
}

// numberBound is a keyword that limits a number: from below with sign 1, from above with -1. Open: the value itself is out.
type numberBound struct {
	word   string
	value  *big.Rat
	sign   int
	isOpen bool
}

// boundsOf returns the keywords of a schema that limit a number.
func boundsOf(s map[string]any) (list []numberBound) {
	for _, side := range []struct {
		word string
		sign int
	}{{"inimum", 1}, {"aximum", -1}} {
		closed, open := "m"+side.word, "exclusiveM"+side.word
		if n, isNumber := s[closed].(json.Number); isNumber {
			list = append(list, numberBound{closed, number(n), side.sign, s[open] == true}) // draft 4 has true
		}
		if n, isNumber := s[open].(json.Number); isNumber {
			list = append(list, numberBound{open, number(n), side.sign, true})
		}
	}
	return list
}
