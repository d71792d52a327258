package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/mcprec/mcprec/replay/check"
	"github.com/mcprec/mcprec/replay/order"
	"github.com/mcprec/mcprec/replay/phrase"
)

// checkReport prints findings as they come, and what the sessions were. JUnit and
// SARIF say how many there are before the first: for them they are kept.
type checkReport struct {
	w      io.Writer
	format string
	failOn string
	enc    *json.Encoder
	names  []string // the sessions
	total  check.Summary
	failed bool             // something fails the gate
	kept   []sessionFinding // for the formats that need them all
	shown  string           // the session whose name stands above the findings
	err    error
}

// sessionFinding is a finding and where it is from.
type sessionFinding struct {
	check.Finding
	session string
	file    bool // session is a file
	lines   bool // in which event N is line N
}

func newCheckReport(w io.Writer, o checkOptions) *checkReport {
	return &checkReport{w: w, format: o.format, failOn: o.failOn, enc: encoderTo(w)}
}

// shownFinding is the stable form of check --format json.
type shownFinding struct {
	Session string `json:"session"`
	check.Finding
	Dir string `json:"dir"`
}

type shownSummary struct {
	Session string        `json:"session"`
	Summary check.Summary `json:"summary"`
}

func (r *checkReport) finding(s *session, f check.Finding) {
	r.failed = r.failed || r.failsOn(f.Severity)
	if r.err != nil {
		return
	}
	switch r.format {
	case "json":
		r.err = r.enc.Encode(shownFinding{s.name, f, f.Dir.String()})
	case "text":
		r.heading(s.name)
		severity := fmt.Sprintf(" %v ", f.Severity)
		before, after, _ := strings.Cut(f.String(), severity)
		how := map[order.Severity]style{order.Error: red, order.Warning: yellow}[f.Severity]
		r.err = errors.Join(paintTo(r.w, unpainted, "  "+plain(before)), paintTo(r.w, how, severity),
			paintTo(r.w, unpainted, plain(after)+"\n"))
	default:
		r.kept = append(r.kept, sessionFinding{f, s.name, s.file != nil, s.lines})
	}
}

func (r *checkReport) heading(session string) {
	if r.shown != session {
		r.shown = session
		fmt.Fprintf(r.w, "%s\n", plain(session))
	}
}

func (r *checkReport) session(name string, s check.Summary) {
	r.names = append(r.names, name)
	r.total.Errors += s.Errors
	r.total.Warnings += s.Warnings
	r.total.Notes += s.Notes
	if r.err != nil {
		return
	}
	switch r.format {
	case "json":
		r.err = r.enc.Encode(shownSummary{name, s})
	case "text":
		r.heading(name)
		revision := cmp.Or(s.Revision, "no revision")
		fmt.Fprintf(r.w, "  %s, %s in %v%s\n", named(revision), phrase.Plural(s.Frames, "frame"), brief(s.Took), useless(s))
		r.tallies(s.Tallies)
		r.shown = ""
	}
}

// useless says in the summary of a session what kept it from being of use.
func useless(s check.Summary) (said string) {
	switch {
	case s.Asked == 0 && s.Frames == 0:
		said = "; nothing was said"
	case s.Answered == 0 && s.Asked > 0:
		said = "; nothing was answered"
	case s.Results == 0 && s.Asked > 0:
		said = "; nothing was answered but with an error"
	}
	if s.Exit != "" && s.Exit != "0" {
		said += "; the server ended: exit " + s.Exit
	}
	return plain(said)
}

// tallies prints the calls as a table.
func (r *checkReport) tallies(list []check.Tally) {
	if len(list) == 0 {
		return
	}
	t := tabwriter.NewWriter(r.w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "  CALLS\tFAILED\tOPEN\tCANCELLED\tP50\tP95\tP99\tBYTES OUT\tBYTES IN\tNAME")
	for _, c := range list {
		fmt.Fprintf(t, "  %d\t%d\t%d\t%d\t%v\t%v\t%v\t%d\t%d\t%s\n", c.Calls, c.Failed, c.Open, c.Cancelled, brief(c.P50), brief(c.P95), brief(c.P99), c.Requests, c.Responses, plain(c.Name))
	}
	r.err = t.Flush()
}

func (r *checkReport) close() error {
	if r.err != nil {
		return r.err
	}
	switch r.format {
	case "junit":
		return writeSuite(r.w, r.suite())
	case "sarif":
		return writeSARIF(r.w, r.kept)
	case "json":
		return nil
	}
	t := r.total
	_, err := fmt.Fprintf(r.w, "%s: %s, %s, %s\n", phrase.Plural(len(r.names), "session"),
		phrase.Plural(t.Errors, "error"), phrase.Plural(t.Warnings, "warning"), phrase.Plural(t.Notes, "note"))
	return err
}

// printRules prints the table of rules.
func printRules(w io.Writer, format string) error {
	if format == "json" {
		return json.NewEncoder(w).Encode(check.Demands())
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "RULE\tSEVERITY\tREVISIONS\tWHAT IT ASKS FOR\tSECTION")
	for _, d := range check.Demands() {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\n", d.Rule, d.Severity, revisionsOf(d), d.Title, sectionOf(d))
	}
	return t.Flush()
}

// sectionOf says where a demand stands: in the specification, unless it is of what a
// frame or a recording is, or of the user.
func sectionOf(d order.Demand) string {
	switch {
	case d.Section != "":
		return d.Section
	case d.Rule[0] == 'U':
		return "(what delivery is)"
	case d.Rule[0] == 'G':
		return "(what the user asks)"
	}
	return "(what a recording is)"
}

// revisionsOf says which revisions have a demand.
func revisionsOf(d order.Demand) string {
	switch first, last := d.First == order.Revisions[0], d.Last == order.Revisions[len(order.Revisions)-1]; {
	case first && last:
		return "all"
	case d.First == d.Last:
		return d.First
	case first:
		return "to " + d.Last
	case last:
		return "from " + d.First
	}
	return d.First + " to " + d.Last
}

// explainRule prints what there is to say of a rule.
func explainRule(w io.Writer, rule string) error {
	text, ok := check.Explain(strings.ToUpper(rule))
	if !ok {
		names, _ := checkRules()
		return usagef("--explain %s: want one of %s", rule, strings.Join(names, ", "))
	}
	_, err := io.WriteString(w, text)
	return err
}

// brief keeps three digits or so of a duration.
func brief(d time.Duration) time.Duration {
	for unit := time.Second; unit >= time.Microsecond; unit /= 10 {
		if d >= unit {
			return d.Round(max(unit/100, 1))
		}
	}
	return d
}

// suite returns the findings as a test case for each rule of each session. What is
// below the gate's severity is said in a case that passes.
func (r *checkReport) suite() suite {
	s := suite{Name: "mcprec check", Time: "0"}
	type place struct{ session, rule string }
	found := map[place][]sessionFinding{}
	for _, f := range r.kept {
		found[place{f.session, f.Rule}] = append(found[place{f.session, f.Rule}], f)
	}
	rules, _ := checkRules()
	for _, name := range r.names {
		s.Properties = append(s.Properties, suiteProperty{"session", name})
		for _, rule := range rules {
			s.Cases = append(s.Cases, r.testCase(name, rule, found[place{name, rule}]))
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

// writeSARIF writes findings as a log of one run of SARIF 2.1.0.
func writeSARIF(w io.Writer, findings []sessionFinding) error {
	type object = map[string]any
	text := func(s string) object { return object{"text": s} }
	names, worst := checkRules()
	rules, results := []object{}, []object{}
	for _, rule := range names {
		help, _ := check.Explain(rule) // there is one of every rule
		rules = append(rules, object{"id": rule, "shortDescription": text(check.Name(rule)), "help": text(help),
			"defaultConfiguration": object{"level": worst[rule].String()}})
	}
	for _, f := range findings {
		locations := []object{}
		for _, seq := range f.Events { // in a fixture each is a line
			l := object{"logicalLocations": []object{{"fullyQualifiedName": fmt.Sprintf("%s#%d", f.session, seq), "kind": "event"}}}
			if f.file {
				uri := url.URL{Path: filepath.ToSlash(f.session)} // of a relative path a relative reference
				if filepath.IsAbs(f.session) {
					uri.Scheme = "file"
				}
				physical := object{"artifactLocation": object{"uri": uri.String()}}
				if f.lines {
					physical["region"] = object{"startLine": seq}
				}
				l["physicalLocation"] = physical
			}
			locations = append(locations, l)
		}
		results = append(results, object{"ruleId": f.Rule, "ruleIndex": slices.Index(names, f.Rule), "level": f.Severity.String(),
			"message": text(f.Text), "locations": locations})
	}
	enc := encoderTo(w)
	enc.SetIndent("", "  ")
	return enc.Encode(object{"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0", "runs": []object{{
		"tool": object{"driver": object{"name": "mcprec", "version": version(), "rules": rules}}, "results": results,
	}}})
}

// checkRules lists each rule once, and the worst that it may be.
func checkRules() (names []string, worst map[string]order.Severity) {
	worst = map[string]order.Severity{}
	for _, d := range check.Demands() {
		if !slices.Contains(names, d.Rule) {
			names = append(names, d.Rule)
		}
		worst[d.Rule] = max(worst[d.Rule], d.Severity)
	}
	return names, worst
}
