package sequence

import (
	"slices"

	"github.com/mcprec/mcprec/replay/timeline"
)

// Rails give each call in flight a column of its own, the first that is free. C names a call;
// the zero C is no call.
type Rails[C comparable] struct{ columns []C }

// NewRails returns rails with a number of columns.
func NewRails[C comparable](columns int) Rails[C] { return Rails[C]{make([]C, columns)} }

// Change is what a message does to the rail of its call.
type Change uint8

const (
	NoChange Change = iota // the call has no rail
	Begins                 // the request
	Touches                // progress, for one
	Ends                   // the answer
	Breaks                 // the cancellation
)

// Follow applies a message to the rails, and returns the column of its call. The column is
// below 0 if the call is over, or began when no column was free.
func (r *Rails[C]) Follow(call C, role timeline.Role) (column int, change Change) {
	if role == timeline.Asks {
		var none C
		if column = slices.Index(r.columns, none); column < 0 {
			return column, NoChange
		}
		r.columns[column] = call
		return column, Begins
	}
	column = slices.Index(r.columns, call)
	switch {
	case column < 0:
		return column, NoChange
	case role == timeline.Answers:
		change = Ends
	case role == timeline.Cancels || role == timeline.CancelsPast:
		change = Breaks
	default:
		return column, Touches
	}
	var none C
	r.columns[column] = none
	return column, change
}

// Reopen gives a call its column back. It reports whether the column is free.
func (r *Rails[C]) Reopen(call C, column int) bool {
	var none C
	if column >= len(r.columns) || r.columns[column] != none {
		return false
	}
	r.columns[column] = call
	return true
}

// Columns returns the call of each column; the zero C of a free one. The caller does not
// change the slice.
func (r *Rails[C]) Columns() []C { return r.columns }
