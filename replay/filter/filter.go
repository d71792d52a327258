package filter

import (
	"github.com/mcprec/mcprec/replay"
	"github.com/mcprec/mcprec/transport"
)

// Filter is an expression that was read.
type Filter struct {
	text  string
	terms []term
}

// term holds when one of its values fits, or if it is negated when none does.
type term struct {
	not   bool
	ahead bool
	fits  []func(*subject) bool
}

// subject is what a filter is asked about: an event, one message of an event, or a
// call alone.
type subject struct {
	entry   *replay.Entry
	message *replay.EntryMessage // nil: the event is no frame, or no message is in it
	call    *replay.Call         // that the message is about; nil: none
}

// String returns the expression.
func (f *Filter) String() string { return f.text }

// Ahead reports whether the filter asks what becomes of a call, which an entry tells
// only if its transcript foresees it: see [replay.Transcript.Foresee].
func (f *Filter) Ahead() bool {
	for _, t := range f.terms {
		if t.ahead {
			return true
		}
	}
	return false
}

// Selects reports whether the event fits. A nil filter selects everything.
func (f *Filter) Selects(e *replay.Entry) bool {
	if f == nil || len(f.terms) == 0 {
		return true
	}
	if len(e.Messages) == 0 {
		return f.fits(&subject{entry: e})
	}
	for i := range e.Messages {
		m := &e.Messages[i]
		if f.fits(&subject{e, m, m.Call}) {
			return true
		}
	}
	return false
}

// SelectsCall reports whether the call fits, as its request would.
func (f *Filter) SelectsCall(c *replay.Call) bool {
	if f == nil {
		return true
	}
	m := replay.EntryMessage{Kind: transport.Request, Method: c.Method, Target: c.Target, ID: c.ID, Token: c.Token, Call: c}
	e := replay.Entry{Seq: c.Request, At: c.At, Kind: "frame", Dir: c.Dir, Stream: c.Stream}
	return f.fits(&subject{&e, &m, c})
}

func (f *Filter) fits(s *subject) bool {
	for _, t := range f.terms {
		if t.holds(s) == t.not {
			return false
		}
	}
	return true
}

func (t term) holds(s *subject) bool {
	for _, fits := range t.fits {
		if fits(s) {
			return true
		}
	}
	return false
}
