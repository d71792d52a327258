package report

import (
	"context"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/session"
	"github.com/mcprec/mcprec/replay/check"
	"github.com/mcprec/mcprec/store"
)

// CheckFinding is a finding of check --format json.
type CheckFinding struct {
	Session string `json:"session"`
	check.Finding
	Dir string `json:"dir"`
}

// CheckSummary is what check --format json says of a session behind its findings.
type CheckSummary struct {
	Session string        `json:"session"`
	Summary check.Summary `json:"summary"`
}

// FindingIn returns the form of a finding in a session.
func FindingIn(s *session.Session, found check.Finding) CheckFinding {
	return CheckFinding{s.Name, found, found.Dir.String()}
}

// Check reads a session, calls found with each finding as it comes, and returns the summary.
func Check(ctx context.Context, s *session.Session, gate check.Gate, found func(check.Finding)) (sum check.Summary, err error) {
	fold := check.New(gate, found)
	var valid store.Validator
	for step, err := range s.Steps(ctx, store.ReadOptions{Unfinished: true}) {
		if err == nil {
			err = valid.Check(step.Event)
		}
		if err == nil {
			err = fold.Take(step)
		}
		if err != nil {
			return sum, s.Fault("check", err)
		}
	}
	live, err := LiveNow(ctx, s)
	if err != nil {
		return sum, s.Fault("check", err)
	}
	sum, err = fold.CloseContext(ctx, live)
	if err != nil {
		return sum, s.Fault("check", err)
	}
	return sum, nil
}
