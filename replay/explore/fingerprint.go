package explore

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/mcprec/mcprec/replay/phrase"
	"github.com/mcprec/mcprec/transport"
)

// fingerprint says which bug a failing run has, so that a smaller run can be
// asked for the same one. What changes with the schedule is not in it: numbers,
// names of frames, and who else got stuck.
func (r *Run) fingerprint() string {
	text := r.verdict + " " + r.category
	switch {
	case stands(r.verdict): // a run that was traced shows more, and must not differ by that
		return r.verdict + " " + cmp.Or(r.seen, r.category) + ": " + r.shape
	case r.err != nil:
		return text + ": " + anonymous(r.err.Error())
	case r.verdict == Panic:
		return text + ": " + anonymous(r.why)
	}
	return text
}

var particular = phrase.Regexp(`"(?:[^"\\]|\\.)*"|[0-9]+`)

// anonymous takes numbers and quoted names out of a message.
func anonymous(s string) string { return particular().ReplaceAllString(s, "_") }

// look is what a hang looks like: which readers have not come back for what is
// behind the frame they hold, and of what kind that is, and for a lost answer how far
// the open calls came. about are the frames that it is about. It looks at frames alone:
// what stacks tell, only a traced run knows.
func (r *Run) look() (shape string, about []*flight) {
	var list []string
	g := r.gate
	for i := range g.lanes {
		l := &g.lanes[i]
		if behind := len(l.queue) + len(l.waiting); behind > 0 && l.last != nil && len(l.readers) == 0 && !l.deafened {
			list = append(list, fmt.Sprintf("%s reader holds a %s", l.dir.Receiver(), l.last.kind()))
			about = append(about, l.last)
			about = append(about, l.waiting[:min(1, len(l.waiting))]...)
		}
	}
	for _, op := range r.unfinished() {
		c := g.openCall(op)
		if c == nil {
			continue
		}
		about = append(about, c.request)
		switch {
		case r.seen != LostAnswer && r.seen != Mutual || c.request.given == 0:
		case c.answer == nil:
			list = append(list, fmt.Sprintf("%v request read, not answered", c.request.dir))
		case c.answer.given > 0:
			list = append(list, fmt.Sprintf("%v answer read", c.answer.dir))
		}
	}
	slices.Sort(list)
	return strings.Join(slices.Compact(list), ", "), about
}

// kind is what kind of message a frame is.
func (f *flight) kind() string {
	messages, err := f.frame.Messages()
	switch {
	case err != nil:
		return transport.Invalid.String()
	case len(messages) == 1:
		return messages[0].Kind().String()
	}
	return "batch"
}
