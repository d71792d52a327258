package output

import (
	"encoding/xml"
	"fmt"
	"io"
)

// Property is a name and a value that stand above the test cases.
type Property struct {
	Name  string `xml:"name,attr"`
	Value string `xml:"value,attr"`
}

// TestCase is a test case. One with neither a failure nor an error has passed.
type TestCase struct {
	Name    string     `xml:"name,attr"`
	Class   string     `xml:"classname,attr"`
	Failure *TestFault `xml:"failure"`
	Error   *TestFault `xml:"error"`
	Out     string     `xml:"system-out,omitempty"`
	Err     string     `xml:"system-err,omitempty"`
}

// TestFault is why a case failed: in a line, by its kind, and in full.
type TestFault struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr"`
	Text    string `xml:",chardata"`
}

// writeJUnit writes a test suite in what the schemas of Jenkins and of Maven's surefire have
// in common.
func writeJUnit(w io.Writer, head Head, cases []TestCase) error {
	type testCase struct {
		TestCase
		Time string `xml:"time,attr"`
	}
	suite := struct {
		XMLName    xml.Name   `xml:"testsuite"`
		Name       string     `xml:"name,attr"`
		Tests      int        `xml:"tests,attr"`
		Failures   int        `xml:"failures,attr"`
		Errors     int        `xml:"errors,attr"`
		Skipped    int        `xml:"skipped,attr"`
		Time       string     `xml:"time,attr"`
		Properties []Property `xml:"properties>property"`
		Cases      []testCase `xml:"testcase"`
	}{Name: head.Name, Tests: len(cases), Time: "0", Properties: head.Properties}
	if head.Took > 0 {
		suite.Time = fmt.Sprintf("%.3f", head.Took.Seconds())
	}
	for _, c := range cases {
		suite.Cases = append(suite.Cases, testCase{c, "0"}) // how long a case took is not known
		if c.Failure != nil {
			suite.Failures++
		}
		if c.Error != nil {
			suite.Errors++
		}
	}
	text, err := xml.MarshalIndent(suite, "", "  ")
	if err == nil {
		_, err = fmt.Fprintf(w, "%s%s\n", xml.Header, text)
	}
	return err
}
