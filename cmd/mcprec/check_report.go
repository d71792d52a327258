package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/report"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/session"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/terminal"
	"github.com/mcprec/mcprec/replay/check"
	"github.com/mcprec/mcprec/replay/order"
	"github.com/mcprec/mcprec/replay/phrase"
)

// checkReport prints findings as they come, and a summary of each session.
type checkReport struct {
	*report.Printer
	failOn   string
	junit    bool
	sessions int
	total    check.Summary
	failed   bool            // a finding fails the gate
	kept     []check.Finding // of this session, for its test cases
	titled   string          // the session whose name is already printed
	err      error           // of the output
}

func newCheckReport(w io.Writer, o checkOptions) *checkReport {
	r := &checkReport{Printer: report.NewPrinter(w, o.format), failOn: o.failOn, junit: o.format == report.JUnit}
	r.Head = report.Head{Name: "mcprec check", Version: version()}
	names, worst := checkRules()
	for _, name := range names {
		help, _ := check.Explain(name) // every rule has one
		r.Rules = append(r.Rules, report.Rule{ID: name, Title: check.Name(name), Help: help, Level: worst[name].String()})
	}
	return r
}

// start begins a session: of one before it that could not be read nothing is kept.
func (r *checkReport) start() { r.kept, r.titled = nil, "" }

func (r *checkReport) finding(s *session.Session, f check.Finding) {
	r.failed = r.failed || r.failsOn(f.Severity)
	if r.junit {
		r.kept = append(r.kept, f)
	}
	r.print(report.Section{
		Text: func(w io.Writer) error {
			severity := fmt.Sprintf(" %v ", f.Severity)
			before, after, _ := strings.Cut(f.String(), severity)
			how := map[order.Severity]terminal.Style{order.Error: terminal.Red, order.Warning: terminal.Yellow}[f.Severity]
			return errors.Join(r.title(w, s.Name), terminal.PaintTo(w, terminal.Unpainted, "  "+terminal.Plain(before)), terminal.PaintTo(w, how, severity),
				terminal.PaintTo(w, terminal.Unpainted, terminal.Plain(after)+"\n"))
		},
		Value: struct { // a finding of check --format json
			Session string `json:"session"`
			check.Finding
			Dir string `json:"dir"`
		}{s.Name, f, f.Dir.String()},
		Results: func() []report.Result {
			result := report.Result{Rule: f.Rule, Level: f.Severity.String(), Text: f.Text}
			for _, seq := range f.Events {
				at := report.Location{Name: fmt.Sprintf("%s#%d", s.Name, seq)}
				if s.File != nil {
					at.File = s.Name
				}
				if s.Lines {
					at.Line = seq
				}
				result.Events = append(result.Events, at)
			}
			return []report.Result{result}
		},
	})
}

// print prints a section, unless the output has failed.
func (r *checkReport) print(s report.Section) {
	if r.err == nil {
		r.err = r.Print(s)
	}
}

func (r *checkReport) title(w io.Writer, session string) error {
	if r.titled == session {
		return nil
	}
	r.titled = session
	_, err := fmt.Fprintf(w, "%s\n", terminal.Plain(session))
	return err
}

func (r *checkReport) session(name string, s check.Summary) {
	r.sessions++
	r.total.Errors += s.Errors
	r.total.Warnings += s.Warnings
	r.total.Notes += s.Notes
	r.Properties = append(r.Properties, report.Property{Name: "session", Value: name})
	r.print(report.Section{
		Text: func(w io.Writer) error {
			if err := r.title(w, name); err != nil {
				return err
			}
			revision := cmp.Or(s.Revision, "no revision")
			fmt.Fprintf(w, "  %s, %s in %v%s\n", terminal.PlainName(revision), phrase.Plural(s.Frames, "frame"), terminal.Rounded(s.Took), whyUseless(s))
			if len(s.Tallies) == 0 {
				return nil
			}
			t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
			fmt.Fprintln(t, "  CALLS\tFAILED\tOPEN\tCANCELLED\tP50\tP95\tP99\tBYTES OUT\tBYTES IN\tNAME")
			for _, c := range s.Tallies {
				fmt.Fprintf(t, "  %d\t%d\t%d\t%d\t%v\t%v\t%v\t%d\t%d\t%s\n", c.Calls, c.Failed, c.Open, c.Cancelled, terminal.Rounded(c.P50), terminal.Rounded(c.P95), terminal.Rounded(c.P99), c.Requests, c.Responses, terminal.Plain(c.Name))
			}
			return t.Flush()
		},
		Value: struct { // a session of check --format json
			Session string        `json:"session"`
			Summary check.Summary `json:"summary"`
		}{name, s},
		Cases: func() (cases []report.Case) {
			for _, rule := range r.Rules {
				cases = append(cases, r.testCase(name, rule))
			}
			return cases
		},
	})
}

// useless says in the summary of a session why it was of no use, if it was of none.
func whyUseless(s check.Summary) (said string) {
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
	return terminal.Plain(said)
}

// testCase returns what the session's findings say of a rule. Those below the gate's severity
// stand in the output of a case that passes.
func (r *checkReport) testCase(session string, rule report.Rule) report.Case {
	c := report.Case{Name: rule.ID + " " + rule.Title, Class: session}
	var failed, said []string
	for _, f := range r.kept {
		switch {
		case f.Rule != rule.ID:
		case r.failsOn(f.Severity):
			failed = append(failed, f.String())
		default:
			said = append(said, f.String())
		}
	}
	c.Out = strings.Join(said, "\n")
	if len(failed) > 0 {
		c.Failure = &report.Fault{Message: failed[0], Type: rule.ID, Text: strings.Join(failed, "\n")}
	}
	if len(failed) > 1 {
		c.Failure.Message += fmt.Sprintf(", and %d more", len(failed)-1)
	}
	return c
}

func (r *checkReport) failsOn(s order.Severity) bool {
	switch r.failOn {
	case "never":
		return false
	case "warning":
		return s >= order.Warning
	}
	return s == order.Error
}

func (r *checkReport) close() error {
	r.print(report.Section{Text: func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "%s: %s, %s, %s\n", phrase.Plural(r.sessions, "session"),
			phrase.Plural(r.total.Errors, "error"), phrase.Plural(r.total.Warnings, "warning"), phrase.Plural(r.total.Notes, "note"))
		return err
	}})
	return errors.Join(r.err, r.Close())
}

// checkRules lists each rule once, with the worst severity that it may have.
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

func printRules(w io.Writer, format string) error {
	if format == report.JSON {
		return json.NewEncoder(w).Encode(check.Demands())
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "RULE\tSEVERITY\tREVISIONS\tWHAT IT ASKS FOR\tSECTION")
	for _, d := range check.Demands() {
		section := d.Section
		switch {
		case section != "":
		case d.Rule[0] == 'U':
			section = "(what delivery is)"
		case d.Rule[0] == 'G':
			section = "(what the user asks)"
		default:
			section = "(what a recording is)"
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\n", d.Rule, d.Severity, revisionsOf(d), d.Title, section)
	}
	return t.Flush()
}

// revisionsOf names the revisions of the specification that have a demand.
func revisionsOf(d order.Demand) string {
	first, last := d.First == order.Revisions[0], d.Last == order.Revisions[len(order.Revisions)-1]
	switch {
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
