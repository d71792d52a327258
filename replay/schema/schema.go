package schema

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

// Fault is a place of a message that does not fit.
type Fault struct {
	Path   string // a JSON pointer from the message's root; "" is the root
	Text   string // what is there and what is wanted
	Reason string // why the schema is wrong there; "" where the schema is right
}

// Validator checks messages. It keeps the schemas that it has read. The zero value is ready.
type Validator struct {
	schemas map[string]*schema
}

//go:embed mcp
var published embed.FS

// schema is the schema of one revision.
type schema struct {
	definitions map[string]*node
	methods     map[string]string // by method: the definition of the request or notification
}

// read returns the schema of a revision, nil if there is none.
func read(revision string) (*schema, error) {
	packed, err := published.ReadFile("mcp/" + revision + ".json.gz")
	if err != nil {
		return nil, nil
	}
	text, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, fmt.Errorf("read schema of %s: %w", revision, err)
	}
	var doc struct {
		Draft       string           `json:"$schema"`
		Definitions map[string]*node // until 2025-06-18
		Defs        map[string]*node `json:"$defs"`
	}
	d := json.NewDecoder(text)
	d.UseNumber()
	d.DisallowUnknownFields()
	if err := d.Decode(&doc); err != nil {
		return nil, fmt.Errorf("read schema of %s: %w", revision, err)
	}
	s := &schema{definitions: doc.Defs, methods: map[string]string{}}
	if s.definitions == nil {
		s.definitions = doc.Definitions
	}
	for name, d := range s.definitions {
		if err := d.link(s.definitions, strings.Contains(doc.Draft, "draft-07")); err != nil {
			return nil, fmt.Errorf("read schema of %s: %s: %w", revision, name, err)
		}
		m := d.Properties["method"]
		if m == nil || strings.HasPrefix(name, "Client") || strings.HasPrefix(name, "Server") {
			continue
		}
		if method, ok := m.Const.(string); ok {
			s.methods[method] = name
		}
	}
	return s, nil
}

// Check returns the faults of a message, nil for a revision without a schema here. method is
// the method of the request that a response answers, "" if unknown.
func (v *Validator) Check(revision string, m *transport.Message, method string) ([]Fault, error) {
	s, known := v.schemas[revision]
	if !known {
		var err error
		s, err = read(revision)
		if err != nil {
			return nil, err
		}
		if v.schemas == nil {
			v.schemas = map[string]*schema{}
		}
		v.schemas[revision] = s
	}
	if s == nil {
		return nil, nil
	}
	var doc any // numbers are json.Number; nil if the message is not JSON
	d := json.NewDecoder(bytes.NewReader(m.Raw))
	d.UseNumber()
	if d.Decode(&doc) != nil {
		doc = nil
	}
	var faults []Fault
	switch m.Kind() {
	case transport.Request:
		faults = append(s.faults("JSONRPCRequest", doc, ""), s.faults(s.methods[m.Method], doc, "")...)
	case transport.Notification:
		faults = append(s.faults("JSONRPCNotification", doc, ""), s.faults(s.methods[m.Method], doc, "")...)
	case transport.Response:
		if m.Error != nil {
			return s.faults(s.first("JSONRPCErrorResponse", "JSONRPCError"), doc, ""), nil
		}
		faults = s.faults(s.first("JSONRPCResultResponse", "JSONRPCResponse"), doc, "")
		if method != "" {
			fields, _ := doc.(map[string]any)
			faults = append(faults, s.faults(s.resultOf(method, fields["result"]), fields["result"], "/result")...)
		}
	}
	slices.SortFunc(faults, func(a, b Fault) int {
		return cmp.Or(strings.Compare(a.Path, b.Path), strings.Compare(a.Text, b.Text))
	})
	return slices.Compact(faults), nil
}

// first returns the first of these definitions that the schema has.
func (s *schema) first(names ...string) string {
	for _, name := range names {
		if s.definitions[name] != nil {
			return name
		}
	}
	return ""
}

// resultOf returns the definition for the result of a request.
func (s *schema) resultOf(method string, result any) string {
	fields, _ := result.(map[string]any)
	if _, task := fields["task"].(map[string]any); task && s.definitions["CreateTaskResult"] != nil {
		return "CreateTaskResult"
	}
	if fields[mcp.MemberResultType] == "input_required" && s.definitions["InputRequiredResult"] != nil {
		return "InputRequiredResult"
	}
	request := s.methods[method]
	if request == "" {
		return s.first("Result")
	}
	return s.first(strings.TrimSuffix(request, "Request")+"Result", "EmptyResult")
}

// faults checks a value, which stands at a place of the message, against a definition.
func (s *schema) faults(definition string, value any, at string) []Fault {
	d := s.definitions[definition]
	if d == nil {
		return nil
	}
	var list []Fault
	for _, f := range d.failures(value, "") {
		path := at + f.at
		list = append(list, Fault{path, f.text(), flaw(f, definition, path)})
	}
	return list
}

// flaw returns why the published schema is wrong where a value fails a definition; "" where
// the schema is right.
func flaw(f failure, definition, path string) string {
	answer := strings.HasPrefix(definition, "JSONRPCError")
	scalars := slices.DeleteFunc(slices.Clone(f.types), func(name string) bool {
		return name == "array" || name == "null" || name == "object"
	})
	slices.Sort(scalars)
	switch {
	case f.got == "number" && slices.Equal(scalars, []string{"boolean", "integer", "string"}):
		return "the schema was made from a source that takes any number here, and lost the fractions"
	case answer && path == "/id" && f.got == "null" && f.types != nil:
		return "JSON-RPC has null where the id of a request could not be read, and this schema forgot it"
	case answer && path == "" && slices.Equal(f.missing, []string{"id"}):
		return "an HTTP error may have a body without an id, by the same revision's text, and this schema forgot it"
	}
	return ""
}
