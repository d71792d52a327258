package recording

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/cli"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/session"
	"github.com/mcprec/mcprec/replay/match"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
)

// Fill are secrets by the names of their placeholders: a placeholder has the name of the member that it stands
// in, or else its own sixteen digits.
type Fill map[string]string

// ParseFill reads NAME=VALUE texts.
func ParseFill(texts []string) (Fill, error) {
	fill := Fill{}
	for _, text := range texts {
		name, value, found := strings.Cut(text, "=")
		switch {
		case !found || name == "":
			return nil, cli.Usagef("--fill %s: want NAME=VALUE, such as api_key=$KEY", name)
		case value == "":
			return nil, cli.Usagef("--fill %s: the value is empty; is the variable set?", name)
		}
		fill[name] = value
	}
	return fill, nil
}

// Values returns the secrets.
func (f Fill) Values() []string { return slices.Sorted(maps.Values(f)) }

// Into puts the secrets in the place of their placeholders in what the recorded client sends, and returns the
// names that have one. The same secret has the same placeholder everywhere.
func (f Fill) Into(r *session.Recording) (used []string) {
	r.Events, used = f.fill(r.Events)
	return used
}

// fill returns a copy of the events with the secrets in it.
func (f Fill) fill(events []store.Event) (filled []store.Event, used []string) {
	values := map[string]string{} // by placeholder
	for mark, name := range namesOf(events) {
		for _, known := range []string{name, strings.TrimSuffix(strings.TrimPrefix(mark, markHead), "]")} {
			if value, isGiven := f[known]; isGiven {
				values[mark] = value
				used = append(used, known)
			}
		}
	}
	filled = slices.Clone(events)
	for i := range filled {
		e := &filled[i]
		if e.Kind != store.Frame || e.Dir != transport.ClientToServer {
			continue
		}
		for mark, value := range values {
			quoted, _ := json.Marshal(value) // a string can always be encoded
			e.Payload = bytes.ReplaceAll(e.Payload, []byte(mark), quoted[1:len(quoted)-1])
		}
	}
	return filled, used
}

// markHead begins a placeholder.
const markHead = "[redacted:"

// namesOf returns the placeholders in what the recorded client sends, each with its name, or "".
func namesOf(events []store.Event) map[string]string {
	names := map[string]string{}
	for _, e := range events {
		if e.Kind != store.Frame || e.Dir != transport.ClientToServer || !bytes.Contains(e.Payload, []byte(markHead)) {
			continue
		}
		var message any
		if json.Unmarshal(e.Payload, &message) == nil {
			nameMarks(message, "", names)
		}
	}
	return names
}

// nameMarks notes the placeholders below a value of a member.
func nameMarks(value any, member string, names map[string]string) {
	switch value := value.(type) {
	case string:
		for _, mark := range match.Masks([]byte(value)) {
			if names[string(mark)] == "" {
				names[string(mark)] = member
			}
		}
	case []any:
		for _, element := range value {
			nameMarks(element, member, names)
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(value)) {
			nameMarks(value[name], name, names)
		}
	}
}

// FillFlags returns the flags that give the values of the placeholders in a list of messages.
func FillFlags(r *session.Recording, messages []string) (flags []string) {
	names := namesOf(r.Events)
	for _, message := range messages {
		for _, mark := range match.Masks([]byte(message)) {
			name := names[string(mark)]
			if name == "" {
				name = strings.TrimSuffix(strings.TrimPrefix(string(mark), markHead), "]")
			}
			if flag := fmt.Sprintf("--fill %s=$%s", name, variableOf(name)); !slices.Contains(flags, flag) {
				flags = append(flags, flag)
			}
		}
	}
	return flags
}

// variableOf returns a name for an environment variable.
func variableOf(name string) string {
	if name[0] >= '0' && name[0] <= '9' {
		return "SECRET"
	}
	return strings.ToUpper(strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' {
			return c
		}
		return '_'
	}, name))
}

// environment returns secrets from environment variables, by the names of their placeholders.
func environment(variables map[string]string) (Fill, error) {
	fill := Fill{}
	for _, name := range slices.Sorted(maps.Keys(variables)) {
		value := os.Getenv(variables[name])
		if value == "" {
			return nil, fmt.Errorf("the value of fill.%s must be the name of an environment variable, and that one is not set", name)
		}
		fill[name] = value
	}
	return fill, nil
}
