package agent

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/session"
	"github.com/mcprec/mcprec/replay/filter"
	"github.com/mcprec/mcprec/store"
)

// countdown is a context that ends when it has been asked so often whether it has.
type countdown struct {
	context.Context
	cancel context.CancelFunc
	left   atomic.Int64
}

func newCountdown(ctx context.Context, left int) *countdown {
	ctx, cancel := context.WithCancel(ctx)
	c := &countdown{Context: ctx, cancel: cancel}
	c.left.Store(int64(left))
	return c
}

func (c *countdown) Err() error {
	if c.left.Add(-1) < 0 {
		c.cancel()
	}
	return c.Context.Err()
}

// TestSearchGoesOn: a search that ends early, wherever that is, finds the rest when it goes on after
// the sessions that it calls searched.
func TestSearchGoesOn(t *testing.T) {
	l := newLibrary(t)
	for i := range searchBatch + 2 {
		l.addLive(t, store.Header{Start: time.Now().Add(-time.Hour)}, greeting, greeted, ready, []string{ready, called}[i%2], called)
	}
	db, err := session.OpenReadOnly(t.Context(), session.Home{Place: l.dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	r := &recordings{db: db, limits: usual}
	list, _, err := r.visible(t.Context(), store.Query{})
	if err != nil {
		t.Fatal(err)
	}
	newHits := func(limit, room int) *hitList { return &hitList{limit: limit, page: newPage(room)} }
	keys := func(rows []hit) (keys []string) {
		for _, h := range rows {
			keys = append(keys, fmt.Sprintf("%s #%d", h.Session, h.Seq))
		}
		return keys
	}
	for _, expression := range []string{`forecast`, `tool:forecast`} {
		fits, err := filter.Parse(expression)
		if err != nil {
			t.Fatal(err)
		}
		whole := newHits(1000, usualAnswer*10)
		done, err := whole.search(t.Context(), r, list, fits)
		if err != nil || done != len(list) || len(whole.rows) < done {
			t.Fatalf("%s: %d events in %d of %d sessions, %v", expression, len(whole.rows), done, len(list), err)
		}
		ended := map[int]bool{}
		for calls := 0; !ended[len(list)]; calls++ {
			first, rest := newHits(1000, usualAnswer*10), newHits(1000, usualAnswer*10)
			ctx := newCountdown(t.Context(), calls)
			done, err := first.search(ctx, r, list, fits)
			ctx.cancel()
			if err != nil {
				t.Errorf("%s, ended after %d calls: %v", expression, calls, err)
			}
			ended[done] = true
			_, err = rest.search(t.Context(), r, list[done:], fits)
			if got := append(keys(first.rows), keys(rest.rows)...); err != nil || !slices.Equal(got, keys(whole.rows)) {
				t.Fatalf("%s, ended after %d calls, in %d sessions: events %v, want %v, %v", expression, calls, done, got, keys(whole.rows), err)
			}
		}
		if len(ended) < len(list)/2 {
			t.Errorf("%s: the search ended after %v sessions only", expression, ended)
		}
	}
	fits, err := filter.Parse("forecast")
	if err != nil {
		t.Fatal(err)
	}
	for name, part := range map[string]func() *hitList{
		"two events":  func() *hitList { return newHits(2, usualAnswer) },
		"a full page": func() *hitList { return newHits(1000, 6<<10) },
	} {
		told := map[store.SessionID]bool{}
		for at := 0; at < len(list); {
			hits := part()
			done, err := hits.search(t.Context(), r, list[at:], fits)
			if err != nil || done == 0 {
				t.Fatalf("%s: %d sessions, %v", name, done, err)
			}
			at += done
			for _, h := range hits.rows {
				told[h.Session] = true
			}
		}
		if len(told) != len(list) {
			t.Errorf("%s at once: events of %d of %d sessions", name, len(told), len(list))
		}
	}
}
