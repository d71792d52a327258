package schema

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"embed"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

// Fault is a place where a message does not fit.
type Fault struct {
	Path   string // a JSON pointer from the message's root; "" is the root
	Text   string // what is there and what is wanted
	Reason string // why the schema is wrong there; "" where the schema is right
}

// Validator checks messages, and remembers against which schemas. The zero value is ready.
type Validator struct {
	schemas map[string]*schema
}

//go:embed mcp
var published embed.FS

//go:embed extensions
var extensions embed.FS

// schema is the schema of one revision.
type schema struct {
	definitions map[string]*node
	methods     map[string]string // by method: the definition of the request or notification
}

// read has the schemas that were read, for all validators: reading one takes some fifty milliseconds, and each session of
// a list may need one. A schema does not change.
var read struct {
	sync.Mutex
	schemas map[string]*schema // by revision
}

// schemaOf returns the schema of a revision, nil if there is none.
func schemaOf(revision string) (*schema, error) {
	read.Lock()
	defer read.Unlock()
	if s := read.schemas[revision]; s != nil {
		return s, nil
	}
	s, err := parse(revision)
	if s != nil && err == nil { // the revision is one of those here, of which there are few
		if read.schemas == nil {
			read.schemas = map[string]*schema{}
		}
		read.schemas[revision] = s
	}
	return s, err
}

// parse reads the schema of a revision; nil if there is none.
func parse(revision string) (*schema, error) {
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
	if err := json.NewDecoder(text).Decode(&doc); err != nil {
		return nil, fmt.Errorf("read schema of %s: %w", revision, err)
	}
	s := &schema{definitions: doc.Defs, methods: map[string]string{}}
	if s.definitions == nil {
		s.definitions = doc.Definitions
	}
	if err := s.extend(revision); err != nil {
		return nil, fmt.Errorf("read schema of the extensions of %s: %w", revision, err)
	}
	for name, d := range s.definitions {
		if err := d.link(s.definitions, strings.Contains(doc.Draft, "draft-07")); err != nil {
			return nil, fmt.Errorf("read schema of %s: %s: %w", revision, name, err)
		}
		if m := d.Properties["method"]; m != nil {
			if method, ok := m.Const.(string); ok {
				s.methods[method] = name
			}
		}
	}
	return s, nil
}

// extend adds the definitions of a revision's extensions, if it has any.
func (s *schema) extend(revision string) error {
	text, err := extensions.ReadFile("extensions/" + revision + ".json")
	if err != nil {
		return nil
	}
	var doc struct {
		Defs map[string]*node `json:"$defs"`
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		return err
	}
	maps.Copy(s.definitions, doc.Defs)
	return nil
}

// Check returns the faults of a message, nil for a revision without a schema here. method is
// the method of a response's request, "" if unknown.
func (v *Validator) Check(revision string, message *transport.Message, method string) ([]Fault, error) {
	s, known := v.schemas[revision]
	if !known {
		var err error
		s, err = schemaOf(revision)
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
	d := json.NewDecoder(bytes.NewReader(message.Raw))
	d.UseNumber()
	if d.Decode(&doc) != nil {
		doc = nil
	}
	var faults []Fault
	switch message.Kind() {
	case transport.Request:
		faults = append(s.faults("JSONRPCRequest", doc, ""), s.faults(s.methods[message.Method], doc, "")...)
	case transport.Notification:
		faults = append(s.faults("JSONRPCNotification", doc, ""), s.faults(s.methods[message.Method], doc, "")...)
	case transport.Response:
		if message.Error != nil {
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

// Knows reports whether a message of a revision was compared with its schema.
func (v *Validator) Knows(revision string) bool { return v.schemas[revision] != nil }

// first returns the first of these definitions in the schema.
func (s *schema) first(names ...string) string {
	if i := slices.IndexFunc(names, func(name string) bool { return s.definitions[name] != nil }); i >= 0 {
		return names[i]
	}
	return ""
}

// resultOf returns the definition for the result of a request.
func (s *schema) resultOf(method string, result any) string {
	fields, _ := result.(map[string]any)
	resultType, _ := fields[mcp.MemberResultType].(string)
	_, hasTask := fields["task"].(map[string]any)
	if isTask := hasTask && s.methods[mcp.MethodTaskResult] != "" || mcp.IsTask(resultType); isTask && s.definitions["CreateTaskResult"] != nil {
		return "CreateTaskResult"
	}
	if resultType == mcp.InputRequired && s.definitions["InputRequiredResult"] != nil {
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
		text := f.other
		switch {
		case f.types != nil:
			text = fmt.Sprintf("got %s, want %s", f.got, strings.Join(f.types, " or "))
		case len(f.missing) == 1:
			text = "missing property " + quote(f.missing[0])
		case f.missing != nil:
			text = "missing properties " + join(f.missing)
		case len(f.values) == 1:
			text = "value must be " + quote(f.values[0])
		case f.values != nil:
			text = "value must be one of " + join(f.values)
		}
		list = append(list, Fault{path, text, flaw(f, definition, path)})
	}
	return list
}

// flaw returns why the published schema is wrong where a value fails a definition; "" where
// the schema is right.
func flaw(failure failure, definition, path string) string {
	answer := strings.HasPrefix(definition, "JSONRPCError")
	scalars := slices.DeleteFunc(slices.Clone(failure.types), func(name string) bool {
		return name == "array" || name == "object"
	})
	switch { // the types are sorted
	case failure.got == "number" && slices.Equal(scalars, []string{"boolean", "integer", "string"}):
		return "the schema was made from a source that takes any number here, and lost the fractions"
	case answer && path == "/id" && failure.got == "null":
		return "JSON-RPC has null where the id of a request could not be read, and this schema forgot it"
	case answer && slices.Equal(failure.missing, []string{"id"}):
		return "an HTTP error may have a body without an id, by the same revision's text, and this schema forgot it"
	}
	return ""
}

// node is a schema within a schema, with the keywords of JSON Schema that the published
// schemas use. Another keyword, or another form, is an error when a schema is read.
type node struct {
	Ref                  string `json:"$ref"`
	Type                 names
	Const                any
	Enum                 []any
	Format               string
	Properties           map[string]*node
	Required             []string
	AdditionalProperties *node
	Items                *node
	MaxItems             *int
	Minimum, Maximum     *float64
	AllOf, AnyOf         []*node
	Description          string

	target *node // the definition named by Ref
}

// names is a name or several.
type names []string

// UnmarshalJSON reads a string or an array of strings.
func (n *names) UnmarshalJSON(text []byte) error {
	if text[0] == '[' {
		return json.Unmarshal(text, (*[]string)(n))
	}
	*n = make(names, 1)
	return json.Unmarshal(text, &(*n)[0])
}

// UnmarshalJSON reads an object, or true, which every value fits.
func (n *node) UnmarshalJSON(text []byte) error {
	if string(text) == "true" {
		return nil
	}
	type object node
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	d.DisallowUnknownFields()
	return d.Decode((*object)(n))
}

// link finds the targets of a node's references. Only the drafts up to 07 check formats; in
// later drafts a format is a remark.
func (n *node) link(definitions map[string]*node, formats bool) error {
	if n == nil {
		return nil
	}
	if !formats {
		n.Format = ""
	}
	if n.Ref != "" {
		n.target = definitions[n.Ref[strings.LastIndexByte(n.Ref, '/')+1:]]
		if n.target == nil {
			return fmt.Errorf("there is no %s", n.Ref)
		}
	}
	children := slices.Collect(maps.Values(n.Properties))
	inner := slices.Concat(children, []*node{n.AdditionalProperties, n.Items}, n.AllOf, n.AnyOf)
	for _, child := range inner {
		if err := child.link(definitions, formats); err != nil {
			return err
		}
	}
	return nil
}

// failure is a place where a value does not fit. Only types, missing, values or other is set.
type failure struct {
	at       string   // a JSON pointer from the value
	got      string   // the type of the value there
	types    []string // the types that fit
	missing  []string // properties
	values   []any    // the values that fit
	constant bool     // values is a constant, which distinguishes forms
	other    string   // another failure in words
}

// failures checks a value against a schema. It returns the innermost failures; if there are
// several forms, the failures of the form most similar to the value.
func (n *node) failures(value any, at string) (list []failure) {
	got := typeOf(value)
	isInteger := floatOf(value) == math.Trunc(floatOf(value)) // such as 1.0; of no number false
	equal := func(want any) bool { return want == value || floatOf(want) == floatOf(value) }
	one := func(f failure) []failure {
		f.at = at
		f.got = got
		return []failure{f}
	}
	switch {
	case n.Type != nil && !slices.Contains(n.Type, got) && !(slices.Contains(n.Type, "integer") && isInteger):
		return one(failure{types: slices.Sorted(slices.Values(n.Type))})
	case n.Const != nil && !equal(n.Const):
		return one(failure{values: []any{n.Const}, constant: true})
	case n.Enum != nil && !slices.ContainsFunc(n.Enum, equal):
		return one(failure{values: n.Enum})
	}
	if text, ok := value.(string); ok && (n.Format == "uri" || n.Format == "uri-template") {
		u, err := url.Parse(text)
		why := ""
		switch {
		case err != nil:
			why = err.Error()
		case n.Format == "uri" && !u.IsAbs():
			why = "relative url"
		case n.Format != "uri" && strings.Count(text, "{") != strings.Count(text, "}"):
			why = "no matching closing brace"
		}
		if why != "" {
			return one(failure{other: fmt.Sprintf("%s is not valid %s: %s", quote(text), n.Format, why)})
		}
	}
	if n.target != nil {
		list = n.target.failures(value, at)
	}
	switch v := value.(type) {
	case map[string]any:
		var missing []string
		for _, name := range n.Required {
			if _, ok := v[name]; !ok {
				missing = append(missing, name)
			}
		}
		if missing != nil {
			list = append(list, one(failure{missing: missing})...)
		}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			inner := cmp.Or(n.Properties[name], n.AdditionalProperties)
			if inner != nil {
				list = append(list, inner.failures(v[name], at+"/"+pointerEscapes.Replace(name))...)
			}
		}
	case []any:
		if n.MaxItems != nil && len(v) > *n.MaxItems {
			list = append(list, one(failure{other: fmt.Sprintf("maxItems: got %d, want %d", len(v), *n.MaxItems)})...)
		}
		if n.Items != nil {
			for i, item := range v {
				list = append(list, n.Items.failures(item, at+"/"+strconv.Itoa(i))...)
			}
		}
	case json.Number:
		if number := floatOf(v); n.Minimum != nil && number < *n.Minimum {
			list = append(list, one(failure{other: fmt.Sprintf("minimum: got %s, want %v", v, *n.Minimum)})...)
		} else if n.Maximum != nil && number > *n.Maximum {
			list = append(list, one(failure{other: fmt.Sprintf("maximum: got %s, want %v", v, *n.Maximum)})...)
		}
	}
	for _, part := range n.AllOf {
		list = append(list, part.failures(value, at)...)
	}
	return append(list, n.formFailures(value, at)...)
}

var pointerEscapes = strings.NewReplacer("~", "~0", "/", "~1")

// formFailures checks a value against the forms of anyOf. The result is nil if a form fits,
// and otherwise the failures of the best form: the fewest wrong constants, then the deepest
// failure, then the fewest failures.
func (n *node) formFailures(value any, at string) []failure {
	var forms [][]failure
	for _, form := range n.AnyOf {
		list := form.failures(value, at)
		if list == nil {
			return nil
		}
		forms = append(forms, list)
	}
	if forms == nil {
		return nil
	}
	isType := func(form []failure) bool { return form[0].types != nil && form[0].at == at }
	if !slices.ContainsFunc(forms, func(form []failure) bool { return !isType(form) }) {
		plainTypes := failure{at: at, got: typeOf(value)}
		for _, form := range forms {
			plainTypes.types = append(plainTypes.types, form[0].types...)
		}
		slices.Sort(plainTypes.types)
		plainTypes.types = slices.Compact(plainTypes.types)
		return []failure{plainTypes}
	}
	best := slices.MinFunc(forms, func(a, b []failure) int {
		return cmp.Or(
			cmp.Compare(constants(a), constants(b)), cmp.Compare(deepest(b), deepest(a)), cmp.Compare(len(a), len(b)))
	})
	if constants(best) == 0 {
		return best
	}
	// Every form has a wrong constant. If the constants of all forms stand at one place, only
	// the value there is certainly wrong.
	isConstant := func(failure failure) bool { return failure.constant }
	joined := best[slices.IndexFunc(best, isConstant)]
	joined.values = nil
	for _, form := range forms {
		i := slices.IndexFunc(form, isConstant)
		if form[i].at != joined.at {
			return best
		}
		if !slices.Contains(joined.values, form[i].values[0]) {
			joined.values = append(joined.values, form[i].values[0])
		}
	}
	joined.constant = false
	return []failure{joined}
}

// constants counts the failures of constants.
func constants(list []failure) (n int) {
	for _, f := range list {
		if f.constant {
			n++
		}
	}
	return n
}

// deepest returns the depth of the deepest failure.
func deepest(list []failure) (n int) {
	for _, f := range list {
		n = max(n, strings.Count(f.at, "/"))
	}
	return n
}

// quote returns a string in single quotes, and any other value without quotes.
func quote(value any) string {
	text, ok := value.(string)
	if !ok {
		return fmt.Sprint(value)
	}
	text = strconv.Quote(text)
	text = strings.ReplaceAll(strings.ReplaceAll(text, `\"`, `"`), `'`, `\'`)
	return "'" + text[1:len(text)-1] + "'"
}

func join[T any](list []T) string {
	var quoted []string
	for _, value := range list {
		quoted = append(quoted, quote(value))
	}
	return strings.Join(quoted, ", ")
}

func typeOf(value any) string {
	switch value.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case json.Number:
		return "number"
	case string:
		return "string"
	case []any:
		return "array"
	}
	return "object"
}

// floatOf returns the value of a JSON number, NaN for any other value.
func floatOf(value any) float64 {
	number, ok := value.(json.Number)
	if !ok {
		return math.NaN()
	}
	f, _ := number.Float64() // infinite if out of range
	return f
}
