package agent

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/output"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/report"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/session"
	"github.com/mcprec/mcprec/replay/check"
	"github.com/mcprec/mcprec/replay/diff"
	"github.com/mcprec/mcprec/replay/filter"
	"github.com/mcprec/mcprec/replay/order"
	"github.com/mcprec/mcprec/replay/state"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport/phrase"
)

// keptFindings is how many findings of each severity check_session keeps. The rest is counted.
const keptFindings = 1000

// The table of calls in the answer of check_session.
const (
	mostTallies = 20       // rows
	talliesRoom = 10 << 10 // bytes
)

// checkSession checks a session.
func checkSession(ctx context.Context, r *recordings, args arguments) (a answer, err error) {
	s, err := r.find(ctx, args.text("session"))
	if err != nil {
		return a, err
	}
	kept := map[order.Severity][]report.CheckFinding{}
	counts := map[order.Severity]int{}
	sum, err := report.Check(ctx, s, check.Gate{}, func(f check.Finding) {
		counts[f.Severity]++
		if len(kept[f.Severity]) < keptFindings {
			kept[f.Severity] = append(kept[f.Severity], report.FindingIn(s, f))
		}
	})
	if err != nil {
		return a, err
	}
	least := map[string]order.Severity{"error": order.Error, "warning": order.Warning}[args.text("severity")]
	var told []report.CheckFinding // the gravest first
	total := 0
	for _, severity := range []order.Severity{order.Error, order.Warning, order.Note} {
		if args.text("severity") == "" || severity >= least {
			told = append(told, kept[severity]...)
			total += counts[severity]
		}
	}
	var text bytes.Buffer
	fmt.Fprintf(&text, "%s\n", s.Name)
	first := min(int(args.number("from"))-1, len(told))
	shown := []report.CheckFinding{}
	page := newPage(usualAnswer - talliesRoom)
	for _, f := range told[first:] {
		line := "  " + output.Plain(f.String()) + "\n"
		if len(shown) == args.count("limit") || !page.takes(f, line) {
			break
		}
		shown = append(shown, f)
		text.WriteString(line)
	}
	switch end := first + len(shown); {
	case end < len(told):
		a.add("%s more; go on with from %d", phrase.Plural(total-end, "finding"), end+1)
	case end < total:
		a.add("%s more are not kept here; mcprec check %s tells them", phrase.Plural(total-end, "finding"), s.ID)
	}
	fmt.Fprintf(&text, "  %s, %s in %v\n", output.PlainName(cmp.Or(sum.Revision, "no revision")), phrase.Plural(sum.Frames, "message"), output.Rounded(sum.Took))
	if more := len(sum.Tallies) - mostTallies; more > 0 { // the worst ones stay
		sum.Tallies = slices.Clone(sum.Tallies)
		slices.SortStableFunc(sum.Tallies, func(a, b check.Tally) int {
			return cmp.Or(cmp.Compare(b.Open, a.Open), cmp.Compare(b.Failed, a.Failed), cmp.Compare(b.Calls, a.Calls))
		})
		sum.Tallies = sum.Tallies[:mostTallies]
		a.add("%s more in the table of calls", phrase.Plural(more, "row"))
	}
	for _, c := range sum.Tallies {
		fmt.Fprintf(&text, "  %s: %d calls, %d failed, %d open, p50 %v, p95 %v\n", output.PlainName(c.Name), c.Calls, c.Failed, c.Open, output.Rounded(c.P50), output.Rounded(c.P95))
	}
	fmt.Fprintf(&text, "%s, %s, %s\n", phrase.Plural(sum.Errors, "error"), phrase.Plural(sum.Warnings, "warning"), phrase.Plural(sum.Notes, "note"))
	a.data = struct {
		Findings []report.CheckFinding `json:"findings"`
		report.CheckSummary
	}{shown, report.CheckSummary{Session: s.Name, Summary: sum}}
	a.text = text.String()
	return a, nil
}

// diffSessions compares two sessions.
func diffSessions(ctx context.Context, r *recordings, args arguments) (a answer, err error) {
	var sessions [2]*session.Session
	compared := report.Comparison{}
	for i, name := range []string{"a", "b"} {
		sessions[i], err = r.find(ctx, args.text(name))
		if err != nil {
			return a, fmt.Errorf("%s: %w", name, err)
		}
		compared.Names[i] = sessions[i].Name
	}
	everything, err := filter.Parse("")
	if err != nil {
		return a, err
	}
	compared.Report, err = report.Compare(ctx, sessions, everything, diff.Options{})
	if err != nil {
		return a, err
	}
	var text bytes.Buffer
	if err := compared.Printed().Write(&text, output.Text); err != nil {
		return a, err
	}
	const most = 20
	form := compared.JSON()
	if more := len(form.Findings) - most; more > 0 {
		form.Findings = form.Findings[:most]
		a.add("%s more; mcprec diff %s %s tells all", phrase.Plural(more, "finding"), sessions[0].ID, sessions[1].ID)
	}
	a.data, a.text = form, text.String()
	return a, nil
}

// stateAt says how a session stood.
func stateAt(ctx context.Context, r *recordings, args arguments) (a answer, err error) {
	const atEnd = "100%"
	at := cmp.Or(args.text("at"), atEnd)
	point, err := session.ParsePoint(at)
	if err != nil {
		return a, fmt.Errorf("the argument at: %w", err)
	}
	s, err := r.find(ctx, args.text("session"))
	if err != nil {
		return a, err
	}
	points := []session.Point{point}
	states, err := s.States(ctx, points)
	if err != nil {
		return a, s.Fault("state of", err)
	}
	if points[0].Beyond {
		a.add("the session ends at event #%d, at %v", states[0].Seq(), points[0].Last)
	}
	now := time.Duration(0)
	if at == atEnd {
		now = s.Now()
	}
	view := states[0].View(now)
	if at == atEnd {
		if fault := s.LinesNow(ctx, &view); fault != nil && !errors.Is(fault, store.ErrNotFound) {
			a.add("the open lines cannot be read: %s", r.db.Masker.Text(fault.Error()))
		}
	}
	var text bytes.Buffer
	fmt.Fprintf(&text, "%s\n", s.Name)
	session.WriteState(&text, view, now)
	a.data = struct {
		Session store.SessionID `json:"session"`
		state.View
	}{s.ID, view}
	a.text = text.String()
	return a, nil
}
