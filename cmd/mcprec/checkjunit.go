package main

import (
	"fmt"
	"strings"

	"github.com/mcprec/mcprec/replay/check"
	"github.com/mcprec/mcprec/replay/order"
)

// suite returns the findings as a test case for each rule of each session. What is
// below the gate's severity is said in a case that passes.
func (r *checkReport) suite() suite {
	s := suite{Name: "mcprec check", Time: "0"}
	type place struct{ session, rule string }
	found := map[place][]sessionFinding{}
	for _, f := range r.kept {
		found[place{f.session, f.Rule}] = append(found[place{f.session, f.Rule}], f)
	}
	rules, _ := sarifRules()
	for _, name := range r.names {
		s.Properties = append(s.Properties, suiteProperty{"session", name})
		for _, rule := range rules {
			c := r.testCase(name, rule.ID, found[place{name, rule.ID}])
			s.Tests++
			if c.Failure != nil {
				s.Failures++
			}
			s.Cases = append(s.Cases, c)
		}
	}
	return s
}

// testCase is one rule of one session.
func (r *checkReport) testCase(session, rule string, found []sessionFinding) suiteCase {
	c := suiteCase{Name: rule + " " + check.Name(rule), Class: session, Time: "0"}
	var failed, said []string
	for _, f := range found {
		if r.failsOn(f.Severity) {
			failed = append(failed, f.String())
		} else {
			said = append(said, f.String())
		}
	}
	c.SystemOut = strings.Join(said, "\n")
	if len(failed) > 0 {
		c.Failure = &suiteFault{Message: failed[0], Type: rule, Text: strings.Join(failed, "\n")}
		if len(failed) > 1 {
			c.Failure.Message += fmt.Sprintf(", and %d more", len(failed)-1)
		}
	}
	return c
}

// failsOn reports whether a finding fails the gate.
func (r *checkReport) failsOn(s order.Severity) bool {
	switch r.failOn {
	case "never":
		return false
	case "warning":
		return s >= order.Warning
	}
	return s == order.Error
}
