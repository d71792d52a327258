package session

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mcprec/mcprec/replay/state"
	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/jsonl"
	"github.com/mcprec/mcprec/transport/phrase"
)

// Point is a place in a session: after an event, or after all events up to a time.
type Point struct {
	Seq   uint64
	At    time.Duration
	Share float64 // of the session's time; below 0 if it was not given

	Beyond bool          // the session ends before it
	Last   time.Duration // where it ends then
}

// end is the point after every event.
const end = math.MaxUint64

// ParseEvent reads the number of an event, as 5 or #5.
func ParseEvent(text string) (seq uint64, ok bool) {
	seq, err := strconv.ParseUint(strings.TrimPrefix(text, "#"), 10, 63)
	return seq, err == nil && seq > 0
}

// ParsePoint reads the number of an event, a time, or a share of the time.
func ParsePoint(text string) (Point, error) {
	p := Point{Share: -1}
	if seq, ok := ParseEvent(text); ok {
		p.Seq = seq
		return p, nil
	}
	if number, ok := strings.CutSuffix(text, "%"); ok {
		share, err := strconv.ParseFloat(number, 64)
		if err == nil && share == 100 {
			p.Seq = end
			return p, nil
		}
		if err == nil && share >= 0 && share < 100 {
			p.Share = share / 100
			return p, nil
		}
	}
	if at, err := time.ParseDuration(text); err == nil && at >= 0 && text != "0" {
		p.At = at
		return p, nil
	}
	return p, fmt.Errorf("%s: want the number of an event, a time such as 12.3s, or a share such as 50%%", text)
}

// isPast reports whether an event comes after the point.
func (p Point) isPast(seq uint64, at time.Duration) bool {
	if p.Seq != 0 {
		return seq > p.Seq
	}
	return at > p.At
}

// States returns the state of the session at each point, in one pass over the events.
func (s *Session) States(ctx context.Context, points []Point) ([]*state.State, error) {
	events, mask := s.Reading(ctx, store.ReadOptions{Unfinished: true})
	if slices.ContainsFunc(points, func(p Point) bool { return p.Share >= 0 }) {
		var took time.Duration
		if s.Store != nil {
			head, err := s.Store.Head(ctx, s.ID)
			if err != nil {
				return nil, err
			}
			took = head.At
		} else { // a fixture can be read once
			list, err := Collect(events)
			if err != nil {
				return nil, err
			}
			for _, e := range list {
				took = e.At
			}
			events = jsonl.Each(list)
		}
		for i := range points {
			if p := &points[i]; p.Share >= 0 {
				p.At = min(time.Duration(math.Round(float64(took)*p.Share)), took)
			}
		}
	}
	states := make([]*state.State, len(points))
	now := state.New()
	model := timeline.NewModel(timeline.Remembered)
	model.Masked(mask)
	var last time.Duration // of the latest event
	for e, err := range events {
		if err != nil {
			return nil, err
		}
		for i, p := range points {
			if states[i] == nil && p.isPast(e.Seq, e.At) {
				_, copies := model.Clone()
				states[i] = now.Clone(copies)
			}
		}
		if !slices.Contains(states, nil) {
			break
		}
		if err := now.Take(model.Take(e)); err != nil {
			return nil, err
		}
		last = e.At
	}
	for i, p := range points {
		if states[i] == nil {
			states[i] = now
			points[i].Last = last
			points[i].Beyond = p.Seq != end && p.Seq > now.Seq() || p.Seq == 0 && p.At > last
		}
	}
	return states, nil
}

// LinesNow adds to a view of the end of a live session the lines whose ends have not come.
func (s *Session) LinesNow(ctx context.Context, view *state.View) error {
	if s.Store == nil {
		return nil
	}
	open, err := s.Store.OpenLines(ctx, s.ID)
	for _, l := range open {
		if l.Frame != 0 { // it is an event, which the view has
			continue
		}
		age := s.Store.now().Sub(s.Start.Add(l.Since)).Round(time.Millisecond)
		view.Lines = append(view.Lines, state.Line{Pipe: l.Pipe, Bytes: l.Size, Since: l.Since.String(), Open: age.String()})
	}
	return err
}

// WriteState writes a view for people. now is when it was asked of a live session.
func WriteState(w io.Writer, view state.View, now time.Duration) {
	fmt.Fprintf(w, "after #%d at %s", view.Seq, view.At)
	if view.Now != "" {
		fmt.Fprintf(w, ", asked at %v", phrase.Brief(now))
	}
	fmt.Fprintln(w)
	for _, f := range view.Facts() {
		fmt.Fprintf(w, "  %v\n", f)
	}
}
