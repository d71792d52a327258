package recorder

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
)

// What is told of a long event when it ends names that event's frame, whatever of it
// is in the log; what is told of one that is not there is lost with it.
func TestEventOfLostFrame(t *testing.T) {
	s := &spool{}
	r := opening(t, s, holding(newBudget(0)))(store.Header{})
	b := &body{dir: transport.ServerToClient}
	frame := func(text string, cont, more bool) item {
		return item{kind: store.Frame, dir: b.dir, payload: []byte(text), cont: cont, more: more}
	}
	about := func(id string) item {
		return item{kind: store.HTTP, dir: b.dir, last: true, info: &store.HTTPInfo{What: store.HTTPEvent, SSE: &store.SSEInfo{ID: id}}}
	}
	for _, step := range []struct {
		items []item
		fails bool
	}{
		{[]item{frame("a", false, true)}, false},
		{[]item{frame("A", true, false), about("a")}, false},
		{[]item{frame("b", false, true)}, true}, // its beginning
		{[]item{frame("B", true, false), about("b")}, false},
		{[]item{frame("c", false, true)}, false},
		{[]item{frame("-", true, true)}, true}, // its middle
		{[]item{frame("C", true, false), about("c")}, false},
		{[]item{frame("d", false, true)}, false},
		{[]item{frame("D", true, false), about("d")}, true}, // its end
		{[]item{frame("e", false, true)}, true},
		{[]item{frame("E", true, false), about("e"), frame("f", false, true)}, true}, // and the beginning of the next
		{[]item{frame("F", true, false), about("f"), frame("g", false, true)}, false},
		{[]item{frame("G", true, false), about("g")}, false},
	} {
		s.fail = nil
		if step.fails {
			s.fail = errors.New("disk full")
		}
		r.write(1, b, step.items)
	}
	r.Close()
	frames, got := map[uint64]string{}, ""
	for _, e := range s.events {
		switch e.Kind {
		case store.Frame:
			frames[e.Seq] = string(e.Payload)
			got += string(e.Payload) + " "
		case store.HTTP:
			info, _ := store.DecodePayload[store.HTTPInfo](e)
			got += fmt.Sprintf("%s=%s ", info.SSE.ID, frames[info.SSE.Frame])
		}
	}
	if want := "aA a=aA c c=c d gG g=gG"; strings.TrimSpace(got) != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
