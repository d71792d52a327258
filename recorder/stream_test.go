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
	r, s := open(t)
	b := r.Stream(1, transport.ServerToClient)
	frame := func(text string, cont, more bool) Item {
		return Item{Kind: store.Frame, Dir: b.dir, Payload: []byte(text), Cont: cont, More: more}
	}
	about := func(id string) Item {
		return Item{Kind: store.HTTP, Dir: b.dir, About: true, Info: &store.HTTPInfo{What: store.HTTPEvent, SSE: &store.SSEInfo{ID: id}}}
	}
	for _, step := range []struct {
		items []Item
		fails bool
	}{
		{[]Item{frame("a", false, true)}, false},
		{[]Item{frame("A", true, false), about("a")}, false},
		{[]Item{frame("b", false, true)}, true}, // its beginning
		{[]Item{frame("B", true, false), about("b")}, false},
		{[]Item{frame("c", false, true)}, false},
		{[]Item{frame("-", true, true)}, true}, // its middle
		{[]Item{frame("C", true, false), about("c")}, false},
		{[]Item{frame("d", false, true)}, false},
		{[]Item{frame("D", true, false), about("d")}, true}, // its end
		{[]Item{frame("e", false, true)}, true},
		{[]Item{frame("E", true, false), about("e"), frame("f", false, true)}, true}, // and the beginning of the next
		{[]Item{frame("F", true, false), about("f"), frame("g", false, true)}, false},
		{[]Item{frame("G", true, false), about("g")}, false},
		{[]Item{frame("h", false, false)}, true}, // all of it
		{[]Item{frame("i", false, false)}, false},
	} {
		s.Fail = nil
		if step.fails {
			s.Fail = errors.New("disk full")
		}
		b.Write(step.items)
	}
	r.Close()
	frames, got := map[uint64]string{}, ""
	for _, e := range s.Events {
		switch e.Kind {
		case store.Frame:
			frames[e.Seq] = string(e.Payload)
			got += string(e.Payload) + " "
		case store.HTTP:
			info, _ := store.DecodePayload[store.HTTPInfo](e)
			got += fmt.Sprintf("%s=%s ", info.SSE.ID, frames[info.SSE.Frame])
		case store.Lost:
			info, _ := store.DecodePayload[store.LostInfo](e)
			got += fmt.Sprintf("lost %d/%d %v ", info.Frames, info.Bytes, info.Streams)
		}
	}
	if want := "aA a=aA lost 2/2 [s2c] c lost 1/2 [s2c] c=c d lost 6/5 [s2c] gG g=gG lost 1/1 [s2c] i"; strings.TrimSpace(got) != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestStreamLimit cuts a frame in pieces at the limit, and the next one not.
func TestStreamLimit(t *testing.T) {
	r, s := open(t)
	r.log.maxFrame = 3
	b := r.Stream(1, transport.ServerToClient)
	for _, it := range []Item{
		{Payload: []byte("ab"), More: true}, {Payload: []byte("cd"), Cont: true, More: true}, {Payload: []byte("ef"), Cont: true},
		{Payload: []byte("xy"), More: true}, {Cont: true}, {Payload: []byte("longer")},
	} {
		it.Kind, it.Dir = store.Frame, b.dir
		b.Write([]Item{it})
	}
	sum := r.Close()
	got := ""
	for _, e := range s.Events {
		if e.Kind == store.Frame {
			got += fmt.Sprintf("%s cut %d, ", e.Payload, e.Cut)
		}
	}
	if want := "abc cut 3, xy cut 0, lon cut 3, "; got != want || sum.Frames != 3 || sum.Bytes != 8 || sum.Cut != 2 {
		t.Errorf("got %s, want %s; summary %+v", got, want, sum)
	}
}
