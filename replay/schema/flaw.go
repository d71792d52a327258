package schema

import (
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// flaw says why the published schema is wrong where a value fails that is held to a
// definition; "" where it is not.
func flaw(e *jsonschema.ValidationError, definition, path string) string {
	answer := strings.HasPrefix(definition, "JSONRPCError")
	switch k := e.ErrorKind.(type) {
	case *kind.Type:
		want := slices.Clone(k.Want)
		slices.Sort(want)
		scalars := slices.DeleteFunc(want, func(t string) bool { return t == "array" || t == "null" || t == "object" })
		switch {
		case k.Got == "number" && slices.Equal(scalars, []string{"boolean", "integer", "string"}):
			return "the schema was made from a source that takes any number here, and lost the fractions"
		case answer && path == "/id" && k.Got == "null":
			return "JSON-RPC has null where the id of a request could not be read, and this schema forgot it"
		}
	case *kind.Required:
		if answer && path == "" && slices.Equal(k.Missing, []string{"id"}) {
			return "an HTTP error may have a body without an id, by the same revision's text, and this schema forgot it"
		}
	}
	return ""
}
