package output

import (
	"fmt"
	"io"
	"strings"
	"testing"
)

// TestDocument prints one document in every format.
func TestDocument(t *testing.T) {
	says := func(text string) func(io.Writer) error {
		return func(w io.Writer) error {
			_, err := fmt.Fprintln(w, text)
			return err
		}
	}
	r := Document{
		Head: Head{Name: "suite", Properties: []Property{{"session", "a&b"}}, Version: "7", Rules: []Rule{{ID: "P1", Title: "one", Help: "long", Level: "error"}}},
		Sections: []Section{
			{
				Text: says("first"), Value: map[string]string{"text": "<1>"},
				Cases: func() []TestCase {
					return []TestCase{{Name: "good", Class: "c", Out: "noted"}, {Name: "as good", Class: "c"}}
				},
				Results: func() []Result { return []Result{{Rule: "P1", Level: "note", Text: "seen"}} },
			},
			{},
			{
				Text:  says("last"),
				Cases: func() []TestCase { return []TestCase{{Name: "bad", Class: "c", Failure: &TestFault{"m", "t", "why"}}} },
				Results: func() []Result {
					return []Result{{Rule: "P1", Level: "error", Text: "broken", Events: []Location{{"s#2", "dir/s.jsonl", 2}, {Name: "s#3"}}}}
				},
			},
		},
	}
	for format, want := range map[string]string{
		Text: "first\nlast\n",
		JSON: "{\"text\":\"<1>\"}\n",
		JUnit: `<?xml version="1.0" encoding="UTF-8"?>
<testsuite name="suite" tests="3" failures="1" errors="0" skipped="0" time="0">
  <properties>
    <property name="session" value="a&amp;b"></property>
  </properties>
  <testcase name="good" classname="c" time="0">
    <system-out>noted</system-out>
  </testcase>
  <testcase name="as good" classname="c" time="0"></testcase>
  <testcase name="bad" classname="c" time="0">
    <failure message="m" type="t">why</failure>
  </testcase>
</testsuite>
`,
		SARIF: `{ "$schema": "https://json.schemastore.org/sarif-2.1.0.json", "runs": [ {
 "results": [ { "level": "note", "locations": [], "message": { "text": "seen" }, "ruleId": "P1", "ruleIndex": 0 },
 { "level": "error", "locations": [ {
 "logicalLocations": [ { "fullyQualifiedName": "s#2", "kind": "event" } ],
 "physicalLocation": { "artifactLocation": { "uri": "dir/s.jsonl" }, "region": { "startLine": 2 } } },
 { "logicalLocations": [ { "fullyQualifiedName": "s#3", "kind": "event" } ] } ],
 "message": { "text": "broken" }, "ruleId": "P1", "ruleIndex": 0 } ],
 "tool": { "driver": { "name": "mcprec", "rules": [ {
 "defaultConfiguration": { "level": "error" }, "help": { "text": "long" }, "id": "P1", "shortDescription": { "text": "one" } } ],
 "version": "7" } } } ], "version": "2.1.0" }`,
	} {
		var b strings.Builder
		if err := r.Write(&b, format); err != nil {
			t.Fatal(err)
		}
		got := b.String()
		if format == SARIF {
			got, want = strings.Join(strings.Fields(got), " "), strings.Join(strings.Fields(want), " ")
		}
		if got != want {
			t.Errorf("%s:\n%s\nwant\n%s", format, got, want)
		}
	}
}
