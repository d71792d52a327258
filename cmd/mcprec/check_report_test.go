package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/session"
	"github.com/mcprec/mcprec/replay/check"
	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/store/jsonl"
)

// reportOf is the report of all sessions that are here.
func reportOf(t *testing.T, format string) []byte {
	t.Helper()
	var b bytes.Buffer
	r := newCheckReport(&b, checkOptions{format: format, failOn: "warning"})
	paths, err := filepath.Glob("../../fixtures/*.jsonl")
	if err != nil || len(paths) < 20 {
		t.Fatalf("%d sessions, %v", len(paths), err)
	}
	for _, path := range paths {
		s := &session.Session{Name: path, File: io.NopCloser(&b), Lines: true}
		r.start()
		fold := check.New(check.Gate{Forbid: []string{"<\"tool\" & \x01>"}}, func(f check.Finding) { r.finding(s, f) })
		events, err := jsonl.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := timeline.Project(timeline.Steps(jsonl.Each(events)), fold); err != nil {
			t.Fatal(err)
		}
		r.session(path, fold.Close(0))
	}
	if err := r.close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// formats are the formats of the schemas as patterns, since the validator does not look at formats.
var formats = strings.NewReplacer(
	`"format": "uri"`, `"pattern": "^[A-Za-z][A-Za-z0-9+.-]*:[^\\s<>\"{}|^]+$"`,
	`"format": "uri-reference"`, `"pattern": "^[^\\s<>\"{}|^]*$"`,
	`"format": "date-time"`, `"pattern": "^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d(\\.\\d+)?(Z|[+-]\\d\\d:\\d\\d)$"`,
)

// validator returns a validator for a JSON schema.
func validator(t *testing.T, text []byte) *jsonschema.Resolved {
	t.Helper()
	var schema jsonschema.Schema
	if err := json.Unmarshal([]byte(formats.Replace(string(text))), &schema); err != nil {
		t.Fatal(err)
	}
	resolved, err := schema.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	return resolved
}

// sarifSchema returns a validator of SARIF 2.1.0.
func sarifSchema(t *testing.T) *jsonschema.Resolved {
	t.Helper()
	packed, err := os.ReadFile("testdata/schema/sarif-2.1.0.json.gz")
	if err != nil {
		t.Fatal(err)
	}
	unpacked, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(unpacked)
	if err != nil {
		t.Fatal(err)
	}
	// It is of draft 4, and says nothing that draft 7 says in another way, but for its own name.
	return validator(t, bytes.Replace(bytes.Replace(text, []byte("draft-04"), []byte("draft-07"), 1), []byte(`"id": "http`), []byte(`"$id": "http`), 1))
}

// TestSARIF: a report fits the schema of SARIF 2.1.0, by a validator.
func TestSARIF(t *testing.T) {
	schema := sarifSchema(t)
	var report any
	if err := json.Unmarshal(reportOf(t, "sarif"), &report); err != nil {
		t.Fatal(err)
	}
	if err := schema.Validate(report); err != nil {
		t.Error(err)
	}
	run := report.(map[string]any)["runs"].([]any)[0].(map[string]any)
	results := run["results"].([]any)
	if len(results) < 15 {
		t.Errorf("%d results", len(results))
	}
	uri := report.(map[string]any)["$schema"]
	report.(map[string]any)["$schema"] = "no URI"
	if uri == nil || schema.Validate(report) == nil {
		t.Errorf("a text that is no URI fits in place of %v", uri)
	}
	report.(map[string]any)["$schema"] = uri
	delete(results[0].(map[string]any), "message")
	if schema.Validate(report) == nil {
		t.Error("a result without its message fits")
	}
}

// junitElement is what the schema of JUnit reports that Jenkins reads (junit-10.xsd of
// its xUnit plugin) has of an element: the attributes, those that must be there, and
// the elements in it, which may stand in any order.
type junitElement struct{ attributes, required, elements []string }

var junitSchema = map[string]junitElement{
	"testsuite": {
		[]string{"name", "tests", "failures", "errors", "group", "time", "skipped", "timestamp", "hostname", "id", "package", "file", "log", "url"},
		[]string{"name", "tests", "failures", "errors"}, []string{"testsuite", "properties", "testcase", "system-out", "system-err"},
	},
	"properties": {nil, nil, []string{"property"}},
	"property":   {[]string{"name", "value"}, []string{"name", "value"}, nil},
	"testcase": {
		[]string{"name", "time", "classname", "group"}, []string{"name"}, []string{"skipped", "error", "failure", "system-out", "system-err"},
	},
	"failure":    {[]string{"type", "message"}, nil, nil},
	"error":      {[]string{"type", "message"}, nil, nil},
	"system-out": {},
	"system-err": {},
}

var junitTime = regexp.MustCompile(`^(([0-9]{0,3},)*[0-9]{3}|[0-9]{0,3})*(\.[0-9]*)?$`)

// TestJUnit: a report has what the schema asks for and nothing else.
func TestJUnit(t *testing.T) {
	d := xml.NewDecoder(bytes.NewReader(reportOf(t, "junit")))
	path := []string{""}
	counts := map[string]int{}
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		switch x := token.(type) {
		case xml.StartElement:
			in := path[len(path)-1]
			if name := x.Name.Local; in == "" && name != "testsuite" || in != "" && !slices.Contains(junitSchema[in].elements, name) {
				t.Errorf("%s in %q", name, in)
			}
			judgeElement(t, x)
			counts[x.Name.Local]++
			path = append(path, x.Name.Local)
		case xml.EndElement:
			path = path[:len(path)-1]
		}
	}
	if counts["testsuite"] != 1 || counts["testcase"] < 500 || counts["failure"] < 5 || counts["property"] < 20 {
		t.Errorf("%v", counts)
	}
}

func judgeElement(t *testing.T, x xml.StartElement) {
	t.Helper()
	want, known := junitSchema[x.Name.Local]
	if !known {
		t.Errorf("no element %s", x.Name.Local)
	}
	var has []string
	for _, a := range x.Attr {
		has = append(has, a.Name.Local)
		if !slices.Contains(want.attributes, a.Name.Local) {
			t.Errorf("%s has an attribute %s", x.Name.Local, a.Name.Local)
		}
		if x.Name.Local == "testsuite" && a.Name.Local == "time" && !junitTime.MatchString(a.Value) {
			t.Errorf("%s takes %q", x.Name.Local, a.Value)
		}
	}
	for _, name := range want.required {
		if !slices.Contains(has, name) {
			t.Errorf("%s has no %s", x.Name.Local, name)
		}
	}
}
