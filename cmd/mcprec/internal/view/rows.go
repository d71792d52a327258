package view

import (
	"context"
	"slices"

	"github.com/mcprec/mcprec/replay/picture"
	"github.com/mcprec/mcprec/replay/timeline"
)

const (
	// nearStart: until the index has come there, rows up to this event come from a fold of their own
	// that begins at the first event, and have their calls.
	nearStart = 5000
	// reach: rows further on, which the index has not come to, come from a fold that begins so many
	// events earlier. They have no calls.
	reach = 500
)

// rows returns the rows of at most n events from a Seq on, and the calls that run beside them.
func (x *index) rows(ctx context.Context, from, n uint64) (rowsAnswer, error) {
	x.mu.Lock()
	drawn := x.drawn
	if (from+n > drawn.Len()) && !x.done { // what is beyond the index may be there already
		x.mu.Unlock()
		if from+n <= nearStart {
			return x.rowsBefore(ctx, from, n, 1)
		}
		if from > x.length() {
			return x.rowsBefore(ctx, from, n, max(from, reach+1)-reach)
		}
		x.mu.Lock()
	}
	part := drawn.Range(from, int(n))
	first, last := part.Events()
	answer := rowsAnswer{First: from, Calls: drawn.Calls(first, last), Indexed: drawn.Len()}
	x.mu.Unlock()
	wanted := part.Wants()
	for i := 0; i < len(wanted); { // runs of near requests are read at once
		for e, err := range x.source.read(ctx, wanted[i]) {
			if err != nil {
				return answer, err
			}
			if e.Seq == wanted[i] {
				if err := part.Apply(e); err != nil {
					return answer, err
				}
				i++
			}
			if i == len(wanted) || wanted[i] > e.Seq+reach {
				break
			}
		}
	}
	if first <= last {
		for e, err := range x.source.read(ctx, first) {
			if err == nil {
				err = part.Apply(e)
			}
			if err != nil {
				return answer, err
			}
			if e.Seq == last {
				break
			}
		}
	}
	answer.Rows = append([]picture.Row{}, part.Rows()...)
	return answer, nil
}

// rowsBefore makes rows that the index has not come to, from a fold that begins at an event.
func (x *index) rowsBefore(ctx context.Context, from, n, begin uint64) (rowsAnswer, error) {
	answer := rowsAnswer{First: from, Rows: []picture.Row{}, Calls: []picture.Call{}, Indexed: x.length()}
	near := picture.NewIndex()
	t := newRows(func(row picture.Row) {
		if row.Seq >= from {
			answer.Rows = append(answer.Rows, row)
		}
	})
	for step, err := range timeline.Steps(x.source.read(ctx, begin)) {
		if err == nil && step.Seq >= from+n {
			break
		}
		if err == nil {
			err = t.Take(step)
		}
		if err == nil && begin == 1 {
			err = near.Take(step)
		}
		if err != nil {
			return answer, err
		}
	}
	if begin == 1 {
		answer.Calls = near.Calls(from, min(from+n-1, near.Len()))
	}
	return answer, nil
}

// name fills in the frames of some events, as the rows of the session name them.
func (x *index) name(ctx context.Context, seqs []uint64, frames map[string]picture.Frame) error {
	slices.Sort(seqs)
	rows, err := x.rowsAt(ctx, slices.Compact(seqs))
	for key, frame := range frames {
		if row, ok := rows[frame.Seq]; ok {
			frames[key] = frameOf(row)
		}
	}
	return err
}

// frameOf returns the frame of a row, as a replay names it.
func frameOf(row picture.Row) picture.Frame {
	return picture.Frame{Seq: row.Seq, Label: row.Label, Kind: row.Kind, Dir: row.Dir, Tone: row.Tone}
}

// rowsAt returns the rows of some events, by their Seqs, which rise.
func (x *index) rowsAt(ctx context.Context, seqs []uint64) (map[uint64]picture.Row, error) {
	found := map[uint64]picture.Row{}
	for len(seqs) > 0 {
		answer, err := x.rows(ctx, seqs[0], maxRows)
		if err != nil || len(answer.Rows) == 0 {
			return found, err
		}
		for _, row := range answer.Rows {
			if row.Seq == seqs[0] {
				found[row.Seq] = row
				seqs = seqs[1:]
				if len(seqs) == 0 {
					break
				}
			}
		}
		if last := answer.Rows[len(answer.Rows)-1].Seq; len(seqs) > 0 && seqs[0] <= last {
			return found, nil
		}
	}
	return found, nil
}

// newRows returns a transcript that passes rows to emit.
func newRows(emit func(picture.Row)) *timeline.Transcript {
	return timeline.NewTranscript(func(e timeline.Entry) error {
		emit(picture.RowOf(e))
		return nil
	})
}

// transcript returns a transcript of the session. If it looks ahead, it knows at each request how
// the call ends.
func (x *index) transcript(ctx context.Context, ahead bool, emit func(timeline.Entry) error) (*timeline.Transcript, error) {
	t := timeline.NewTranscript(emit)
	if !ahead {
		return t, nil
	}
	endings, err := x.endings(ctx)
	t.Foresee(endings)
	return t, err
}

// endings returns how the calls of the session end: the index knows it, unless it has not come to the
// end of the log. Then the session is read here.
func (x *index) endings(ctx context.Context) (endings *timeline.Endings, err error) {
	head, _, err := x.source.head(ctx)
	if err != nil {
		return nil, err
	}
	x.mu.Lock()
	if x.done || x.drawn.Len() >= head.Seq {
		endings = x.drawn.Endings()
	}
	x.mu.Unlock()
	if endings == nil {
		endings = timeline.NewEndings()
		err = timeline.Project(timeline.Steps(x.source.readAll(ctx)), endings)
	}
	endings.Close(x.now())
	return endings, err
}
