package comparing

import (
	"context"
	"fmt"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/session"
	"github.com/mcprec/mcprec/replay/diff"
	"github.com/mcprec/mcprec/replay/filter"
	"github.com/mcprec/mcprec/store"
)

// Compare reads two sessions, and once more the events that differ. With a filter a finding is told
// where one of its events fits.
func Compare(ctx context.Context, sessions [2]*session.Session, fits *filter.Filter, options diff.Options) (*diff.Report, error) {
	digester := diff.NewDigester(options)
	c := diff.New(digester, options)
	a, b := c.Sides()
	for i, side := range [...]*diff.Session{a, b} {
		s := sessions[i]
		err := s.Keep()
		if err == nil {
			err = foldSession(ctx, s, digester, side)
		}
		if err == nil && fits.String() != "" {
			side.SelectNone()
			err = s.Select(ctx, fits, side.Select)
		}
		if err != nil {
			return nil, err
		}
	}
	c.Match()
	for i, s := range sessions {
		wanted := c.Wants(i) // the texts that differ
		if len(wanted) == 0 {
			continue
		}
		for e, err := range s.Events(ctx, wanted[0], store.ReadOptions{}) {
			if err != nil {
				return nil, fmt.Errorf("diff %s: %w", s.Name, err)
			}
			if c.Take(i, e); e.Seq >= wanted[len(wanted)-1] {
				break
			}
		}
		if err := s.Rewind(); err != nil {
			return nil, err
		}
	}
	return c.Report(), nil
}

// foldSession reads a session into its side of a comparison.
func foldSession(ctx context.Context, s *session.Session, digester *diff.Digester, side *diff.Session) error {
	var valid store.Validator
	events := s.Events(ctx, 1, store.ReadOptions{})
	digest := func(event *store.Event, digests *[]diff.Digest) { *digests = digester.Digest(*event) }
	for e, err := range session.MapEvents(events, digest) {
		if err == nil {
			err = valid.Check(e.Event)
		}
		if err == nil {
			err = side.Apply(e.Event, e.Made)
		}
		if err != nil {
			return fmt.Errorf("diff %s: %w", s.Name, err)
		}
	}
	return s.Rewind()
}
