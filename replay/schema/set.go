package schema

import (
	"bytes"
	"compress/gzip"
	"embed"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

//go:embed mcp
var published embed.FS

// set is the schema of one revision.
type set struct {
	compiler *jsonschema.Compiler
	url      string            // of the definitions, with a slash behind
	methods  map[string]string // the definition by method
	has      map[string]bool   // the definitions
	compiled map[string]*jsonschema.Schema
}

// readSet reads the schema of a revision; nil where there is none.
func readSet(revision string) (*set, error) {
	packed, err := published.ReadFile("mcp/" + revision + ".json.gz")
	if err != nil {
		return nil, nil
	}
	text, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, fmt.Errorf("read schema of %s: %w", revision, err)
	}
	doc, err := jsonschema.UnmarshalJSON(text)
	if err != nil {
		return nil, fmt.Errorf("read schema of %s: %w", revision, err)
	}
	return newSet("mcp:"+revision, doc)
}

func newSet(url string, doc any) (*set, error) {
	c := jsonschema.NewCompiler()
	c.UseLoader(none{})
	if err := c.AddResource(url, doc); err != nil {
		return nil, err
	}
	s := &set{compiler: c, methods: map[string]string{}, has: map[string]bool{}, compiled: map[string]*jsonschema.Schema{}}
	root, _ := doc.(map[string]any)
	for _, name := range []string{"definitions", "$defs"} {
		definitions, _ := root[name].(map[string]any)
		for of, d := range definitions {
			s.url, s.has[of] = url+"#/"+name+"/", true
			if m := methodOf(d); m != "" && !strings.HasPrefix(of, "Client") && !strings.HasPrefix(of, "Server") {
				s.methods[m] = of
			}
		}
	}
	return s, nil
}

// none loads nothing: what a schema needs is in it.
type none struct{}

func (none) Load(url string) (any, error) {
	return nil, fmt.Errorf("%s is not part of the program", url)
}

// methodOf returns the method that a definition is of.
func methodOf(definition any) string {
	d, _ := definition.(map[string]any)
	p, _ := d["properties"].(map[string]any)
	m, _ := p["method"].(map[string]any)
	method, _ := m["const"].(string)
	return method
}

// definition compiles one; nil of one that there is not.
func (s *set) definition(name string) *jsonschema.Schema {
	if d, ok := s.compiled[name]; ok || !s.has[name] {
		return d
	}
	d, err := s.compiler.Compile(s.url + name)
	if err != nil { // the schemas are part of the program, and a test compiles all of them
		d = nil
	}
	s.compiled[name] = d
	return d
}

// first returns the first of these definitions that there is.
func (s *set) first(names ...string) string {
	for _, name := range names {
		if s.has[name] {
			return name
		}
	}
	return ""
}

// resultOf names the definition of the result of a request.
func (s *set) resultOf(method string, result any) string {
	fields, _ := result.(map[string]any)
	if _, task := fields["task"].(map[string]any); task && s.has["CreateTaskResult"] {
		return "CreateTaskResult"
	}
	if fields["resultType"] == "input_required" && s.has["InputRequiredResult"] {
		return "InputRequiredResult"
	}
	request := s.methods[method]
	if request == "" {
		return s.first("Result")
	}
	return s.first(strings.TrimSuffix(request, "Request")+"Result", "EmptyResult")
}

// plain reads a message; nil of what is no JSON.
func plain(raw json.RawMessage) any {
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return nil
	}
	return v
}
