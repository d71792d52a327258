package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/cli"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/output"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/session"
	"github.com/mcprec/mcprec/replay/check"
	"github.com/mcprec/mcprec/replay/order"
	"github.com/mcprec/mcprec/transport/phrase"
)

// report writes the report to standard output and to the files.
func (ci *ciRun) report() error {
	r := output.Document{Head: output.Head{Name: "mcprec ci", Version: version(), Rules: ciRules()}}
	root := session.RepositoryRoot()
	for _, f := range ci.fixtures {
		if f.drive != nil {
			r.Took += f.drive.took
		}
		r.Properties = append(r.Properties, output.Property{Name: "fixture", Value: f.File})
		r.Sections = append(r.Sections, ci.sections(f, root)...)
	}
	r.Sections = append(r.Sections, output.Section{Text: func(w io.Writer) error {
		_, err := fmt.Fprintln(w, ci.total())
		return err
	}})
	for _, file := range []struct{ name, format string }{{ci.junit, output.JUnit}, {ci.sarif, output.SARIF}} {
		if file.name == "" {
			continue
		}
		out := cli.File{Name: file.name, Force: true} // each run makes the report anew
		if err := out.Write(ci.cmd.OutOrStdout(), func(w io.Writer) error { return r.Write(w, file.format) }); err != nil {
			return err
		}
	}
	w, err := screenOf(ci.cmd)
	if err != nil {
		return err
	}
	return errors.Join(r.Write(w, ci.format), w.Flush())
}

// sections returns what ci found in a fixture: each finding, and the whole.
func (ci *ciRun) sections(f *ciFixture, root string) (list []output.Section) {
	for _, finding := range f.findings {
		list = append(list, output.Section{Value: finding, Results: func() []output.Result {
			name := session.InRepository(root, f.File)
			at := output.Location{Name: name, File: name, Line: max(finding.Line, 1)}
			if finding.event > 0 {
				at.Name = fmt.Sprintf("%s#%d", name, finding.event)
			}
			return []output.Result{{Rule: finding.Rule, Level: finding.Level, Text: finding.Text, Events: []output.Location{at}}}
		}})
	}
	return append(list, output.Section{
		Value: f,
		Text:  func(w io.Writer) error { return ci.text(w, f) },
		Cases: func() []output.TestCase { return ci.testCases(f) },
	})
}

// text prints a fixture: a line for each part, and its findings below it.
func (ci *ciRun) text(w io.Writer, f *ciFixture) error {
	fmt.Fprintln(w, output.Plain(f.File))
	part := func(name, says string) {
		fmt.Fprintf(w, "  %-8s %s\n", name, says)
		for _, finding := range f.findings {
			if finding.Part != name {
				continue
			}
			how := map[string]output.Style{"error": output.Red, "warning": output.Yellow}[finding.Level]
			where := ""
			if finding.event > 0 {
				where = fmt.Sprintf("#%d ", finding.event)
			}
			_ = output.PaintTo(w, how, fmt.Sprintf("    %-8s", finding.Level))
			text := strings.ReplaceAll(finding.Text, "\n", "\n             ")
			fmt.Fprintf(w, " %s%s: %s\n", where, finding.Rule, plainLines(text))
		}
	}
	if !f.isChecked() {
		part(partCheck, "not read")
		return nil
	}
	part(partCheck, phrase.Plural(f.Frames, "message"))
	switch {
	case ci.noServer:
		part(partDrive, "not asked for (--no-server)")
	case !ci.live:
		part(partDrive, "not done: no server is named (-- COMMAND or --target URL)")
	case f.drive != nil:
		part(partDrive, fmt.Sprintf("%s, %d as recorded%s", phrase.Plural(f.Steps, "step"), f.Matched, f.drive.withoutText()))
	case f.fault != nil:
		part(partDrive, "broken off")
		return nil
	}
	switch {
	case f.Lists > 0:
		part(partSurface, fmt.Sprintf("%s in %s", phrase.Plural(f.Items, "item"), phrase.Plural(f.Lists, "list")))
	case f.compared:
		part(partSurface, "revision and capabilities; nothing is listed")
	case f.drive != nil || ci.trusted != nil:
		part(partSurface, "not compared: nothing is listed")
	}
	if f.Accepted {
		fmt.Fprintln(w, "  accepted")
	}
	return nil
}

// plainLines is output.Plain of each line.
func plainLines(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = output.Plain(lines[i])
	}
	return strings.Join(lines, "\n")
}

// total says in a line what was done and found.
func (ci *ciRun) total() string {
	counts := map[string]int{}
	var done ciFixture
	for _, f := range ci.fixtures {
		done.Steps += f.Steps
		done.Items += f.Items
		for _, finding := range f.findings {
			counts[finding.Level]++
		}
	}
	parts := []string{phrase.Plural(len(ci.fixtures), "fixture")}
	if ci.live {
		parts = append(parts, phrase.Plural(done.Steps, "step"))
	}
	if ci.live || ci.trusted != nil {
		parts = append(parts, phrase.Plural(done.Items, "item"))
	}
	return fmt.Sprintf("%s: %s, %s, %s", strings.Join(parts, ", "),
		phrase.Plural(counts["error"], "error"), phrase.Plural(counts["warning"], "warning"), phrase.Plural(counts["note"], "note"))
}

// testCases returns a case for each rule of check and tier of the surface that a finding names, one
// for a part without findings, one for each step of the drive, and one for a part that broke off.
func (ci *ciRun) testCases(f *ciFixture) (cases []output.TestCase) {
	if f.fault != nil {
		last := f.findings[len(f.findings)-1] // of judgeFault
		why := &output.TestFault{Message: phrase.OneLine(last.Text), Type: last.Rule, Text: last.Text}
		cases = append(cases, output.TestCase{Name: last.Part, Class: f.File, Error: why})
	}
	if !f.isChecked() {
		return cases
	}
	parts := []string{partCheck}
	if f.compared {
		parts = append(parts, partSurface)
	}
	for _, part := range parts {
		byRule := map[string][]ciFinding{}
		var rules []string
		for _, finding := range f.findings {
			if finding.Part == part {
				if byRule[finding.Rule] == nil {
					rules = append(rules, finding.Rule)
				}
				byRule[finding.Rule] = append(byRule[finding.Rule], finding)
			}
		}
		if len(rules) == 0 {
			cases = append(cases, output.TestCase{Name: part, Class: f.File})
		}
		for _, rule := range rules {
			cases = append(cases, ci.testCase(f, part+" "+rule, byRule[rule]))
		}
	}
	if f.drive != nil {
		cases = append(cases, f.drive.testCases()...)
	}
	return cases
}

// testCase returns the case of one rule. What does not fail stands in the output of the case.
func (ci *ciRun) testCase(f *ciFixture, name string, findings []ciFinding) output.TestCase {
	c := output.TestCase{Name: name, Class: f.File}
	var failed, said []string
	for _, finding := range findings {
		line := fmt.Sprintf("#%d %s: %s", finding.event, finding.Level, finding.Text)
		if ci.isFailure(finding.Level) {
			failed = append(failed, line)
		} else {
			said = append(said, line)
		}
	}
	c.Out = strings.Join(said, "\n")
	if len(failed) > 0 {
		c.Failure = &output.TestFault{Message: phrase.OneLine(failed[0]), Type: findings[0].Rule, Text: strings.Join(failed, "\n")}
	}
	return c
}

// ciRules lists the rules that a finding may name: those of check, and those of ci.
func ciRules() (rules []output.Rule) {
	names, worst := checkRules()
	for _, name := range names {
		help, _ := check.Explain(name) // every rule has one
		rules = append(rules, output.Rule{ID: name, Title: check.Name(name), Help: help, Level: worst[name].String()})
	}
	of := func(id string, level order.Severity, title, help string) {
		rules = append(rules, output.Rule{ID: id, Title: title, Help: help, Level: level.String()})
	}
	of(ruleDrive, order.Error, "the server answers as recorded", "The recorded client was played to the server. mcprec drive shows the difference in full.")
	of(ruleNothing, order.Error, "something is compared", "A gate that compared nothing is no success. Record a session in which the client asks for something.")
	of(ruleIncomplete, order.Error, "all is judged", "A fixture cannot be read or written, or the server cannot be run or reached. The other fixtures are judged.")
	of(ruleSurface+"breaking", order.Error, "a client that worked still works", "Something that the server offered is gone, is now required, or is narrower. mcprec ci --accept makes it the recording.")
	of(ruleSurface+"risky", order.Warning, "what a model reads stays as it is", "A description, a default or an annotation is different: clients work as before, and a model may act otherwise.")
	of(ruleSurface+"minor", order.Note, "what is offered stays as it is", "Something is new or wider than before.")
	return rules
}
