package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/report"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/session"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/terminal"
	"github.com/mcprec/mcprec/replay/match"
	"github.com/mcprec/mcprec/replay/phrase"
	"github.com/mcprec/mcprec/replay/standin"
	"github.com/mcprec/mcprec/store"
)

// driveReport is the result of a drive, in the stable form of drive --format json.
type driveReport struct {
	Session string           `json:"session"`
	Command []string         `json:"command"`
	End     standin.DriveEnd `json:"end"`
	Exit    string           `json:"exit"`
	Passed  bool             `json:"passed"`
	// Explanation says why the drive did not pass, if its steps do not.
	Explanation string                   `json:"explanation"`
	Counts      map[match.StepResult]int `json:"counts"`
	Steps       []driveStep              `json:"steps"`
	Mapped      map[string]int           `json:"mapped"`
	Pending     []string                 `json:"pending"`
	Without     []string                 `json:"without"`
	Stderr      []string                 `json:"stderr"`
	label       string
	took        time.Duration
}

type driveStep struct {
	Seq         uint64             `json:"seq"`
	Dir         string             `json:"dir"`
	What        string             `json:"what"`
	Result      match.StepResult   `json:"result"`
	Differences []match.Difference `json:"differences,omitempty"`
	More        int                `json:"more,omitempty"`
	Order       string             `json:"order,omitempty"`
	Mapped      []match.Mapping    `json:"mapped,omitempty"`
	Flags       []string           `json:"flags,omitempty"` // under which it would match
	Text        string             `json:"text,omitempty"`
}

func newDriveReport(recorded *recordedSession, command []string, d *standin.Driver, run *driven, timeout time.Duration) *driveReport {
	r := &driveReport{
		Session: cmp.Or(recorded.file, string(recorded.header.ID)), Command: command,
		End: run.end, Exit: run.exit, took: run.took,
		label:  cmp.Or(recorded.header.Label, recorded.file, string(recorded.header.ID)),
		Counts: map[match.StepResult]int{}, Mapped: map[string]int{},
		Steps: []driveStep{}, Pending: []string{}, Without: append([]string{}, d.Without()...), Stderr: []string{},
	}
	for _, v := range slices.Concat(d.Verdicts(), run.asides) {
		step := driveStep{Seq: v.Seq, Dir: v.Dir.String(), What: v.What, Result: v.Result, Differences: v.Differences, More: v.More,
			Order: v.Order, Mapped: v.Mapped, Text: v.Text}
		for _, m := range v.Mapped {
			r.Mapped[m.By]++
		}
		if v.Result == match.Mismatch {
			step.Flags = flagsToMatch(v.Differences, v.More)
			if v.Order != "" {
				step.Flags = append(step.Flags, "--any-order")
			}
		}
		r.Steps = append(r.Steps, step)
		r.Counts[v.Result]++
	}
	switch {
	case run.end != standin.Complete:
		r.Explanation = breakingOff(run, timeout)
		r.Pending = append(r.Pending, d.Pending()...)
	case len(r.Steps) == 0:
		r.Explanation = standin.NothingCompared
	default:
		r.Explanation = run.fault
	}
	r.Passed = r.Explanation == "" && r.Counts[match.Match] == len(r.Steps)
	if !r.Passed {
		r.Stderr = append(r.Stderr, run.stderr...)
	}
	r.mask(recorded.masker)
	return r
}

// mask masks the texts. The differences are masked already.
func (r *driveReport) mask(d session.Masker) {
	r.Command, r.Explanation = d.Header(store.Header{Command: r.Command}).Command, d.Text(r.Explanation)
	r.Pending, r.Without, r.Stderr = d.Texts(r.Pending), d.Texts(r.Without), d.Texts(r.Stderr)
	r.label = d.Text(r.label)
	for i := range r.Steps {
		s := &r.Steps[i]
		s.What, s.Text, s.Order = d.Text(s.What), d.Text(s.Text), d.Text(s.Order)
	}
}

// report returns the drive in every format. With all, the text has the steps that match, too.
func (r *driveReport) report(all bool) report.Report {
	return report.Report{
		Passed: r.Passed,
		Head: report.Head{Name: "mcprec drive " + r.label, Took: r.took, Properties: []report.Property{
			{Name: "session", Value: r.Session}, {Name: "command", Value: terminal.ShellLine(r.Command)},
			{Name: "end", Value: string(r.End)}, {Name: "exit", Value: r.Exit},
		}},
		Sections: []report.Section{{Value: r, Cases: r.testCases, Text: func(w io.Writer) error {
			_, err := io.WriteString(w, r.text(all))
			return err
		}}},
	}
}

func (r *driveReport) text(all bool) string {
	var b strings.Builder
	if r.Explanation != "" {
		fmt.Fprintln(&b, r.Explanation)
		for _, p := range r.Pending {
			fmt.Fprintf(&b, "  %s\n", terminal.Plain(p))
		}
		if len(r.Stderr) > 0 {
			fmt.Fprintln(&b, "the last the server said on standard error:")
			for _, line := range r.Stderr {
				fmt.Fprintf(&b, "  %s\n", line)
			}
		}
	}
	times := 1
	for i, s := range r.Steps {
		if i+1 < len(r.Steps) { // a server that never stops sends as many extra messages as it has time for
			next := r.Steps[i+1]
			if s.Result == match.Extra && next.Result == match.Extra && s.Text == next.Text && len(s.Differences)+len(next.Differences) == 0 {
				times++
				continue
			}
		}
		if all || s.Result != match.Match {
			again := ""
			if times > 1 {
				again = fmt.Sprintf(" (%d times)", times)
			}
			fmt.Fprintf(&b, "%-8s  %s%s\n", s.Result, terminal.Plain(s.headline()), again)
			for _, line := range s.details(all) {
				fmt.Fprintf(&b, "          %s\n", terminal.Plain(line))
			}
		}
		times = 1
	}
	var counts []string
	for _, result := range []match.StepResult{match.Match, match.Mismatch, match.Missing, match.Extra, match.NotSent} {
		if n := r.Counts[result]; n > 0 {
			counts = append(counts, fmt.Sprintf("%d %s", n, result))
		}
	}
	fmt.Fprintf(&b, "%s: %s%s\n", phrase.Plural(len(r.Steps), "step"), strings.Join(counts, ", "), mappedText(r.Mapped))
	return b.String()
}

// headline names a step.
func (s driveStep) headline() string {
	if s.Result == match.Extra {
		return cmp.Or(s.Text, s.What)
	}
	return fmt.Sprintf("#%d %s", s.Seq, s.What)
}

// details returns the lines below the headline.
func (s driveStep) details(all bool) (lines []string) {
	listed := s.Differences
	if !all {
		listed = listed[:min(len(listed), 10)]
	}
	for _, d := range listed {
		line := fmt.Sprintf("%s: wanted %s, got %s", d.Place(), d.Want, d.Got)
		if d.Hint != "" {
			line += fmt.Sprintf(" (--normalize %s would match)", d.Hint)
		}
		lines = append(lines, line)
	}
	if more := len(s.Differences) - len(listed) + s.More; more > 0 {
		lines = append(lines, fmt.Sprintf("and in %s more", phrase.Plural(more, "place")))
	}
	if s.Order != "" {
		lines = append(lines, s.Order)
	}
	if len(s.Flags) > 0 {
		lines = append(lines, letMatch(s.Flags))
	}
	for _, m := range s.Mapped {
		switch {
		case all && m.Path == "": // the whole message
			lines = append(lines, fmt.Sprintf("%s (%s)", m.Got, m.By))
		case all:
			lines = append(lines, fmt.Sprintf("%s: %s stands for %s (%s)", m.Path, m.Got, m.Want, m.By))
		}
	}
	return lines
}

func breakingOff(run *driven, timeout time.Duration) string {
	switch {
	case run.end == standin.Silent:
		return fmt.Sprintf("gave up: nothing that was recorded came for %v", timeout)
	case run.end == standin.Stopped:
		return "stopped before the end:"
	case run.exit == "":
		return "the server ended the session early"
	case strings.HasPrefix(run.exit, "signal"):
		return "the server ended the session early: " + run.exit
	}
	return "the server ended the session early: exit status " + run.exit
}

// testCases returns a test case for each step. One before them is for a fault of the drive as a
// whole, such as a server that ended early.
func (r *driveReport) testCases() (cases []report.Case) {
	if r.Explanation != "" {
		c := report.Case{Name: "the end of the session", Class: r.label, Err: strings.Join(r.Stderr, "\n")}
		fault := &report.Fault{Message: r.Explanation, Type: string(r.End), Text: strings.Join(r.Pending, "\n")}
		switch {
		case r.End != standin.Complete:
			c.Error = fault
		case len(r.Steps) == 0:
			fault.Type, c.Error = "nothing", fault
		default:
			fault.Type, c.Failure = "exit", fault
		}
		cases = append(cases, c)
	}
	for _, step := range r.Steps {
		c := report.Case{Name: step.headline(), Class: r.label}
		details := strings.Join(step.details(true), "\n")
		if step.Result == match.Match {
			c.Out = details
		} else {
			first, _, _ := strings.Cut(cmp.Or(details, step.headline()), "\n")
			c.Failure = &report.Fault{Message: string(step.Result) + ": " + first, Type: string(step.Result), Text: details}
		}
		cases = append(cases, c)
	}
	return cases
}

// mappedText counts the values that were not compared by their text, by the reason.
func mappedText(mapped map[string]int) string {
	var counts []string
	for _, by := range slices.Sorted(maps.Keys(mapped)) {
		counts = append(counts, fmt.Sprintf("%d %s", mapped[by], by))
	}
	if len(counts) == 0 {
		return ""
	}
	return "; not compared as they stand: " + strings.Join(counts, ", ")
}
