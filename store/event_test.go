package store

import (
	"fmt"
	"testing"
	"time"
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

func TestSetBody(t *testing.T) {
	h := HTTPInfo{}
	for _, body := range []string{"text", "\xff", "", "é"} {
		h.SetBody([]byte(body))
		if got := h.Body + string(h.Body64); got != body || (h.Body64 != nil) != (body == "\xff") {
			t.Errorf("%q: %+v", body, h)
		}
	}
}
