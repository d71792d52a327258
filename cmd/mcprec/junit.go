package main

import (
	"cmp"
	"encoding/xml"
	"fmt"
	"io"
	"strings"

	"github.com/mcprec/mcprec/replay/match"
	"github.com/mcprec/mcprec/replay/standin"
)

// suite is a report as JUnit XML: what the schemas of Jenkins and of Maven's
// surefire have in common.
type suite struct {
	XMLName    xml.Name        `xml:"testsuite"`
	Name       string          `xml:"name,attr"`
	Tests      int             `xml:"tests,attr"`
	Failures   int             `xml:"failures,attr"`
	Errors     int             `xml:"errors,attr"`
	Skipped    int             `xml:"skipped,attr"`
	Time       string          `xml:"time,attr"`
	Properties []suiteProperty `xml:"properties>property"`
	Cases      []suiteCase     `xml:"testcase"`
}

type suiteProperty struct {
	Name  string `xml:"name,attr"`
	Value string `xml:"value,attr"`
}

type suiteCase struct {
	Name      string      `xml:"name,attr"`
	Class     string      `xml:"classname,attr"`
	Time      string      `xml:"time,attr"`
	Failure   *suiteFault `xml:"failure"`
	Error     *suiteFault `xml:"error"`
	SystemOut string      `xml:"system-out,omitempty"`
	SystemErr string      `xml:"system-err,omitempty"`
}

type suiteFault struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr"`
	Text    string `xml:",chardata"`
}

// suite returns the report as a test case a step, and before them one for what the steps
// do not say: that the drive broke off, say.
func (r *driveReport) suite() suite {
	s := suite{
		Name: "mcprec drive " + r.label, Time: fmt.Sprintf("%.3f", r.took.Seconds()),
		Properties: []suiteProperty{{"session", r.Session}, {"command", shellLine(r.Command)}, {"end", string(r.End)}, {"exit", r.Exit}},
	}
	if r.Explanation != "" {
		c := suiteCase{Name: "the end of the session", Class: r.label, Time: "0", SystemErr: strings.Join(r.Stderr, "\n")}
		fault := &suiteFault{Message: r.Explanation, Type: string(r.End), Text: strings.Join(r.Pending, "\n")}
		switch {
		case r.End != standin.Complete:
			c.Error = fault
		case len(r.Steps) == 0:
			fault.Type, c.Error = "nothing", fault
		default:
			fault.Type, c.Failure = "exit", fault
		}
		s.Cases = append(s.Cases, c)
	}
	for _, step := range r.Steps {
		c := suiteCase{Name: step.headline(), Class: r.label, Time: "0"}
		details := strings.Join(step.details(true), "\n")
		if step.Result == match.Match {
			c.SystemOut = details
		} else {
			first, _, _ := strings.Cut(cmp.Or(details, step.headline()), "\n")
			c.Failure = &suiteFault{Message: string(step.Result) + ": " + first, Type: string(step.Result), Text: details}
		}
		s.Cases = append(s.Cases, c)
	}
	return s
}

// writeSuite writes a suite, and counts its cases.
func writeSuite(w io.Writer, s suite) error {
	s.Tests = len(s.Cases)
	for _, c := range s.Cases {
		if c.Failure != nil {
			s.Failures++
		}
		if c.Error != nil {
			s.Errors++
		}
	}
	text, err := xml.MarshalIndent(s, "", "  ")
	if err == nil {
		_, err = fmt.Fprintf(w, "%s%s\n", xml.Header, text)
	}
	return err
}
