package main

import (
	"fmt"
	"io"
	"slices"

	"github.com/mcprec/mcprec/examples/zoo"
)

// line is a bug at the release that has it, and at the one that does not.
type line struct {
	buggy, fixed zoo.Row
	two          bool // there is a release to compare with
}

// join puts the rows of two releases side by side.
func join(buggy, fixed []zoo.Row, two bool) []line {
	var lines []line
	for _, b := range buggy {
		l := line{buggy: b, two: two}
		if i := slices.IndexFunc(fixed, func(f zoo.Row) bool { return f.Bug == b.Bug }); i >= 0 {
			l.fixed = fixed[i]
		}
		lines = append(lines, l)
	}
	for _, f := range fixed {
		if !slices.ContainsFunc(buggy, func(b zoo.Row) bool { return f.Bug == b.Bug }) {
			lines = append(lines, line{fixed: f, two: true})
		}
	}
	return lines
}

// expected reports whether both releases gave what was wanted of them.
func (l line) expected() bool {
	return asWanted(l.buggy) && (!l.two || asWanted(l.fixed))
}

// asWanted is false of the zero row, which a test left that did not come to its end.
func asWanted(r zoo.Row) bool { return r.Bug != "" && !r.Failed && r.Verdict == r.Wanted }

func (l line) print(out io.Writer) {
	name := l.buggy.Bug
	if name == "" {
		name = l.fixed.Bug
	}
	expected := "yes"
	if !l.expected() {
		expected = fmt.Sprintf("NO: want %s, %s", orDash(l.buggy.Wanted), orDash(l.fixed.Wanted))
	}
	printCells(out, name, orDash(l.buggy.Module), orDash(l.buggy.Verdict), orDash(l.buggy.Schedules),
		orDash(l.fixed.Module), orDash(l.fixed.Verdict), expected)
	if l.buggy.Measured != "" {
		fmt.Fprintf(out, "%36s orders: %s\n", "", l.buggy.Measured)
	}
}

func printCells(out io.Writer, cells ...any) {
	fmt.Fprintf(out, "%-36s %-19s %-23s %9s  %-17s %-13s %s\n", cells...)
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
