package store

import (
	"errors"
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/mcprec/mcprec/transport"
)

// TestEqual: events that differ in one stored field are two.
func TestEqual(t *testing.T) {
	whole := Event{Seq: 2, At: time.Second, Kind: Frame, Dir: 1, Stream: 3, Unterminated: true, Redacted: 4, Cut: 5, Payload: []byte("a")}
	for i, change := range []func(*Event){
		func(e *Event) { e.Seq++ }, func(e *Event) { e.At++ }, func(e *Event) { e.Kind = Stderr }, func(e *Event) { e.Dir = 2 },
		func(e *Event) { e.Stream++ }, func(e *Event) { e.Unterminated = false }, func(e *Event) { e.Redacted++ },
		func(e *Event) { e.Cut++ }, func(e *Event) { e.Payload = []byte("b") },
	} {
		other := whole
		change(&other)
		if whole.Equal(other) || !other.Equal(other) {
			t.Errorf("change %d: %+v", i, other)
		}
	}
	same := whole
	same.Open, same.RecordedSize = true, 9
	if !whole.Equal(same) {
		t.Error("what is not stored counts")
	}
}

// TestOrder sorts by start and id, from either end, and cuts to the limit.
func TestOrder(t *testing.T) {
	start := time.Date(2026, 11, 2, 12, 0, 0, 0, time.UTC)
	session := func(id SessionID, after time.Duration) Session {
		return Session{Header: Header{ID: id, Start: start.Add(after)}}
	}
	for _, c := range []struct {
		q    Query
		want string
	}{
		{Query{}, "[b a c]"}, {Query{Newest: true}, "[c a b]"}, {Query{Limit: 2}, "[b a]"},
		{Query{Newest: true, Limit: 1}, "[c]"}, {Query{Limit: 3}, "[b a c]"}, {Query{Limit: 9}, "[b a c]"},
	} {
		ids := []SessionID{}
		for _, s := range c.q.Order([]Session{session("c", 1), session("a", 1), session("b", 0)}) {
			ids = append(ids, s.ID)
		}
		if got := fmt.Sprint(ids); got != c.want {
			t.Errorf("%+v: %s, want %s", c.q, got, c.want)
		}
	}
}

// TestSmall: what small functions say.
func TestSmall(t *testing.T) {
	newline := func(kind Kind, info NoteInfo) Event { return Event{Kind: kind, Payload: EncodePayload(info)} }
	inner := errors.New("inner")
	for _, c := range []struct{ what, got, want any }{
		{"a derived id", DeriveSessionID([]byte("x")), SessionID("2d711642-b726-8044-8162-7ca9fbac32f5")},
		{"sealed", Head{Sealed: true}.State(true), Ended},
		{"live", Head{}.State(true), Live},
		{"dead", Head{}.State(false), Crashed},
		{"an innermost error", RootCause(fmt.Errorf("a: %w", fmt.Errorf("b: %w", inner))), inner},
		{"an error alone", RootCause(inner), inner},
		{"killed", ExitInfoOf(transport.ExitStatus{Code: -1, Signal: syscall.SIGKILL}).String(), "signal: killed"},
		{"exited", ExitInfoOf(transport.ExitStatus{Code: 7}).String(), "7"},
		{"frames of it", LostInfo{Frames: 1, Streams: []string{"stderr", "c2s"}}.LacksFrames(c2s), true},
		{"frames of the other", LostInfo{Frames: 1, Streams: []string{"s2c"}}.LacksFrames(c2s), false},
		{"no frames of it", LostInfo{Streams: []string{"c2s"}}.LacksFrames(c2s), false},
		{"all saved", Repaired{Sessions: []Salvaged{{Saved: 3}}}.Lost(), false},
		{"events lost", Repaired{Sessions: []Salvaged{{Saved: 3}, {Lost: 1}}}.Lost(), true},
		{"sessions lost", Repaired{Gone: 1}.Lost(), true},
		{"nobody knows", Repaired{Unknown: true}.Lost(), true},
		{"no newline", fmt.Sprint(EndsWithoutNewline(newline(Note, WithoutNewline(7)))), "7 true"},
		{"another note", fmt.Sprint(EndsWithoutNewline(newline(Note, NoteInfo{Text: "no newline"}))), "0 false"},
		{"a note with more", fmt.Sprint(EndsWithoutNewline(newline(Note, NoteInfo{Text: "no newline ended event 7, or so"}))), "7 false"},
		{"a note in doubt", fmt.Sprint(EndsWithoutNewline(newline(Note, NoteInfo{Text: "no newline ended event 7", Doubtful: 1}))), "7 false"},
		{"no note", fmt.Sprint(EndsWithoutNewline(newline(Stderr, WithoutNewline(7)))), "0 false"},
		{"a note of others", fmt.Sprint(EndsWithoutNewline(Event{Kind: Note, Payload: []byte("?")})), "0 false"},
	} {
		if c.got != c.want {
			t.Errorf("%s: %v, want %v", c.what, c.got, c.want)
		}
	}
	u := Usage{Databases: []DatabaseUsage{{Bytes: 5}, {Bytes: 7}}}
	u.Spools.Add(2)
	u.Spools.Add(3)
	if u.Spools != (FileUsage{2, 5}) || u.Size() != 17 {
		t.Errorf("%+v: %d bytes", u, u.Size())
	}
}

func TestSetBody(t *testing.T) {
	h := HTTPInfo{}
	for _, body := range []string{"text", "\xff", "", "é"} {
		h.SetBody([]byte(body))
		if got := h.Body + string(h.Body64); got != body || (h.Body64 != nil) != (body == "\xff") {
			t.Errorf("%q: %+v", body, h)
		}
	}
}
