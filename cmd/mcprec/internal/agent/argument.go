package agent

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/output"
)

// kind is the type of an argument.
type kind string

// The kinds of arguments.
const (
	aText   kind = "string"
	aNumber kind = "integer"
	aPoint  kind = "point" // a text or a whole number
)

// longestText is how many bytes an argument may have.
const longestText = 2000

// parameter is an argument that a tool takes.
type parameter struct {
	name    string
	says    string
	kind    kind
	needed  bool
	words   []string // a text is one of these
	least   uint64   // of a number
	most    uint64
	initial uint64 // a number that is not given
}

// schema returns the JSON schema of the parameters.
func schema(parameters []parameter) json.RawMessage {
	properties := map[string]any{}
	needed := []string{}
	for _, p := range parameters {
		property := map[string]any{"type": string(p.kind), "description": p.says}
		switch p.kind {
		case aNumber:
			property["minimum"], property["maximum"], property["default"] = p.least, p.most, p.initial
		case aPoint:
			property["type"] = []string{string(aText), string(aNumber)}
		}
		if p.words != nil {
			property["enum"] = p.words
		}
		if p.needed {
			needed = append(needed, p.name)
		}
		properties[p.name] = property
	}
	data, err := json.Marshal(map[string]any{"type": "object", "properties": properties, "required": needed, "additionalProperties": false})
	if err != nil {
		panic("unreachable: a map of texts and numbers can be encoded: " + err.Error())
	}
	return data
}

// arguments are the values of a call.
type arguments struct {
	texts   map[string]string
	numbers map[string]uint64
}

func (a arguments) text(name string) string   { return a.texts[name] }
func (a arguments) number(name string) uint64 { return a.numbers[name] }
func (a arguments) count(name string) int     { return int(min(a.numbers[name], 1<<30)) }

// parseArguments reads the arguments of a call. An argument that is null counts as not given. The
// error says which argument is wrong and what is wanted.
func parseArguments(tool string, parameters []parameter, raw json.RawMessage) (arguments, error) {
	args := arguments{map[string]string{}, map[string]uint64{}}
	given := map[string]any{}
	if text := bytes.TrimSpace(raw); len(text) > 0 && string(text) != "null" {
		decoder := json.NewDecoder(bytes.NewReader(text))
		decoder.UseNumber()
		err := decoder.Decode(&given)
		if _, rest := decoder.Token(); err != nil || !errors.Is(rest, io.EOF) {
			return args, fmt.Errorf("%s: the arguments are no JSON object; want one such as {\"session\": \"01a1fee3\"}", tool)
		}
	}
	var names []string
	for _, p := range parameters {
		names = append(names, p.name)
		args.numbers[p.name] = p.initial
		value := given[p.name]
		delete(given, p.name)
		if value == nil {
			if p.needed {
				return args, fmt.Errorf("%s: the argument %s is missing: %s", tool, p.name, p.says)
			}
			continue
		}
		if err := args.set(p, value); err != nil {
			return args, fmt.Errorf("%s: the argument %w", tool, err)
		}
	}
	for name := range given {
		return args, fmt.Errorf("%s: there is no argument %s; it takes %s", tool, output.PlainName(name), strings.Join(names, ", "))
	}
	return args, nil
}

// set sets an argument to the value that was given.
func (a arguments) set(p parameter, value any) error {
	number, isNumber := value.(json.Number)
	text, isText := value.(string)
	switch {
	case p.kind == aNumber && isNumber:
		n, isWhole := wholeNumber(number)
		if !isWhole || n < p.least || n > p.most {
			return fmt.Errorf("%s is %s; want a whole number from %d to %d", p.name, clip(number.String(), 40), p.least, p.most)
		}
		a.numbers[p.name] = n
		return nil
	case p.kind == aNumber:
		return fmt.Errorf("%s is %s; want a whole number from %d to %d", p.name, shown(value), p.least, p.most)
	case p.kind == aPoint && isNumber:
		text = number.String()
		n, isWhole := wholeNumber(number)
		if isWhole {
			text = strconv.FormatUint(n, 10)
		}
	case !isText:
		return fmt.Errorf("%s is %s; want a text: %s", p.name, shown(value), p.says)
	}
	switch {
	case len(text) > longestText:
		return fmt.Errorf("%s has %d bytes; want at most %d", p.name, len(text), longestText)
	case p.words != nil && !slices.Contains(p.words, text):
		return fmt.Errorf("%s is %s; want one of %s", p.name, shown(value), strings.Join(p.words, ", "))
	}
	a.texts[p.name] = text
	return nil
}

// wholeNumber returns the value of a number without a sign and a fraction, which 5.0 and 5e0 are, too,
// as in JSON Schema.
func wholeNumber(number json.Number) (n uint64, isWhole bool) {
	n, err := strconv.ParseUint(number.String(), 10, 64)
	if err == nil {
		return n, true
	}
	const exact = 1 << 53 // above, a float has not every whole number
	value, err := number.Float64()
	if err != nil || value < 0 || value > exact || value != math.Trunc(value) {
		return 0, false
	}
	return uint64(value), true
}

// shown returns a bad value for a message.
func shown(value any) string {
	data, err := json.Marshal(value)
	if err != nil {
		return "unreadable"
	}
	return clip(output.Plain(string(data)), 60)
}
