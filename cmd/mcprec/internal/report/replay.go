package report

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/output"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/session"
	"github.com/mcprec/mcprec/replay/closed"
	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/replay/why"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport/phrase"
)

// RecordedHang is what was stuck in a recorded session itself. It comes before a verdict of models.
type RecordedHang struct {
	Hung []RecordedFinding `json:"hung"`

	session string // as an argument of mcprec why
}

// RecordedFinding is what a verdict of models tells of a [why.Finding].
type RecordedFinding struct {
	Shape   string `json:"shape"`
	Culprit string `json:"culprit"`
	Text    string `json:"text"`
}

// RecordedHangIn returns what was stuck in a session, whose events the fold has.
func RecordedHangIn(ctx context.Context, s *session.Session, fold *why.Fold) (RecordedHang, error) {
	h := RecordedHang{Hung: []RecordedFinding{}, session: s.Argument()}
	live, err := LiveNow(ctx, s)
	if err != nil {
		return h, err
	}
	told, err := fold.ReportContext(ctx, live, 0)
	if err != nil {
		return h, err
	}
	h.take(told.Findings)
	return h, nil
}

// RecordedHangOf returns what was stuck in a recording.
func RecordedHangOf(r *session.Recording) RecordedHang {
	h := RecordedHang{Hung: []RecordedFinding{}, session: r.Argument}
	var fold why.Fold
	_ = r.Project(&fold) // what cannot be read shows no hang
	h.take(fold.Report(why.Live{Now: r.Now, Mask: r.Masker.Text}, 0).Findings)
	return h
}

func (h *RecordedHang) take(findings []why.Finding) {
	for _, f := range findings {
		h.Hung = append(h.Hung, RecordedFinding{f.Shape, f.Culprit, f.Text})
	}
}

// Line returns a line about the oldest finding, and one that counts the others. Without findings
// it is "".
func (h RecordedHang) Line() string {
	if len(h.Hung) == 0 {
		return ""
	}
	text := output.Plain(fmt.Sprintf("HUNG: the recorded session hung: %s; mcprec why %s says more", strings.TrimSuffix(h.Hung[0].Text, "."), cmp.Or(h.session, "-"))) + "\n"
	if others := len(h.Hung) - 1; others > 0 {
		text += fmt.Sprintf("  It has %s.\n", phrase.Plural(others, "other hang"))
	}
	return text
}

// LoadReplay reads a session for a closed replay, and folds it for what hung in it.
func LoadReplay(ctx context.Context, s *session.Session) (*closed.Recording, *why.Fold, error) {
	fold := &why.Fold{}
	recording, err := closed.LoadSteps(func(yield func(timeline.Step, error) bool) {
		for step, err := range s.Steps(ctx, store.ReadOptions{}) {
			if err == nil {
				_ = fold.Take(step) // its only fault is the header's, which LoadReplay returns
			}
			if !yield(step, err) {
				return
			}
		}
	})
	if err != nil {
		return nil, nil, err
	}
	recording.GoesOn(s.Now())
	return recording, fold, nil
}

// Judge plays a recording in a closed replay.
func Judge(ctx context.Context, s *session.Session, recording *closed.Recording, fold *why.Fold, setup closed.Setup) (Judged, error) {
	hung, err := RecordedHangIn(ctx, s, fold)
	if err != nil {
		return Judged{}, err
	}
	verdict, err := closed.ReplayContext(ctx, recording, setup)
	if err != nil {
		return Judged{}, err
	}
	told := Judged{verdict.Judged(), hung}
	if len(told.Hung) > 0 && told.Verdict.Verdict == closed.Pass {
		told.Verdict.Verdict = "hung"
	}
	return told, nil
}

// Judged is the verdict of the models, and what was stuck in the recorded session itself.
type Judged struct {
	closed.Verdict
	RecordedHang
}

// Text returns what hung in the recording, then the verdict of the models, and of a hang the
// command that shows it.
func (j Judged) Text() string {
	text := j.RecordedHang.Line() + j.Verdict.Text()
	if j.Verdict.Verdict == closed.Hang {
		text += j.SeeIt(j.Models, "--buffer", j.Capacity.String())
	}
	return text
}

// SeeIt returns the line with the command that shows a run of the session under models; "" for a
// session without a name to open it by.
func (h RecordedHang) SeeIt(models closed.Models, flags ...string) string {
	if h.session == "" {
		return ""
	}
	words := slices.Concat([]string{"mcprec", "view", h.session}, models.Flags(), flags)
	return fmt.Sprintf("See it: %s\n", strings.Join(words, " "))
}
