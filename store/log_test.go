package store

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mcprec/mcprec/transport"
)

// script reads parts from words: "2" a whole event, "2+" its beginning, "2~" a
// middle, "2." its end, "2!" an end without newline; "|" cuts.
func script(t *testing.T, a *Assembler, words string) (out string, err error) {
	t.Helper()
	var got []string
	take := func() {
		for e, ok := a.Next(); ok; e, ok = a.Next() {
			s := fmt.Sprintf("%d:%s", e.Seq, e.Payload)
			if e.Unterminated {
				s += "!"
			}
			got = append(got, s)
		}
	}
	for i, w := range strings.Fields(words) {
		if w == "|" {
			a.Cut()
			take()
			continue
		}
		var p Part
		if _, err := fmt.Sscan(strings.TrimRight(w, "+~.!"), &p.Seq); err != nil {
			t.Fatal(err)
		}
		p.Kind, p.Payload = Frame, []byte{byte('a' + i)}
		p.Cont = strings.ContainsAny(w, "~.!")
		p.More = strings.ContainsAny(w, "+~")
		p.Unterminated = strings.Contains(w, "!")
		if err := a.Add(p, 0); err != nil {
			return strings.Join(got, " "), err
		}
		take()
		got = append(got, ";")
	}
	return strings.TrimRight(strings.Join(got, " "), "; "), nil
}

func TestAssembler(t *testing.T) {
	for _, c := range []struct{ words, want string }{
		{"1 2 3", "1:a ; 2:b ; 3:c"},
		{"7 8", "7:a ; 8:b"},
		{"1+ 1~ 1.", "; ; 1:abc"},
		{"1+ 1!", "; 1:ab!"},
		{"1+ 2+ 1. 2.", "; ; 1:ac ; 2:bd"},
		{"1+ 2+ 2. 1.", "; ; ; 1:ad 2:bc"},
		{"1+ 2 3+ 1. 4 3.", "; ; ; 1:ad 2:b ; ; 3:cf 4:e"},
		{"1+ 2 3 4 1.", "; ; ; ; 1:ae 2:b 3:c 4:d"},
		{"1+ 2 3+ |", "; ; ; 1:a! 2:b 3:c!"},
		{"1 2+ 2~ |", "1:a ; ; ; 2:bc!"},
		{"1 |", "1:a"},
	} {
		var a Assembler
		got, err := script(t, &a, c.words)
		if err != nil || got != c.want {
			t.Errorf("%s\n got %q, %v\nwant %q", c.words, got, err, c.want)
		}
		if !a.Settled() {
			t.Errorf("%s: something is open", c.words)
		}
	}
}

func TestAssemblerRefuses(t *testing.T) {
	for _, words := range []string{"1.", "1~", "1 3", "1 1", "2 1", "1 1.", "1+ 1+", "1+ 1. 1.", "1+ 2.", "5+ 4.", "1+ 2 2."} {
		var a Assembler
		if got, err := script(t, &a, words); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: %q, %v", words, got, err)
		}
	}
}

// TestAssemblerLeavesItsInput holds that a part's bytes are not written to.
func TestAssemblerLeavesItsInput(t *testing.T) {
	var a Assembler
	first := append(make([]byte, 0, 100), "one"...)
	for i, p := range []Part{{Event: Event{Seq: 1, Payload: first}, More: true}, {Event: Event{Seq: 1, Payload: []byte("two")}, Cont: true}} {
		if err := a.Add(p, 0); err != nil {
			t.Fatal(i, err)
		}
	}
	if string(first[:6]) != "one\x00\x00\x00" {
		t.Errorf("the first part became %q", first[:6])
	}
}

var headerPayload = Header{ID: "01a19c22-5c60-7000-8000-00000000003c", Transport: "stdio"}.Encode()

// logs are judged alike by Validator, Head.Next and Sequence.
var logs = map[string]struct {
	events []Event
	bad    bool
	want   string // of the error
}{
	"whole":        {events: []Event{{Seq: 1, Kind: Opened}, {Seq: 2, At: 1, Kind: Frame}, {Seq: 3, At: 1, Kind: Closed}}},
	"unknown":      {events: []Event{{Seq: 1, Kind: Opened}, {Seq: 2, Kind: "x"}}},
	"empty":        {},
	"no opened":    {events: []Event{{Seq: 1, Kind: Frame}}, bad: true},
	"starts at 0":  {events: []Event{{Seq: 0, Kind: Opened}}, bad: true},
	"starts at 2":  {events: []Event{{Seq: 2, Kind: Frame}}, bad: true},
	"gap":          {events: []Event{{Seq: 1, Kind: Opened}, {Seq: 3, Kind: Frame}}, bad: true, want: "event 3: expected event 2"},
	"again":        {events: []Event{{Seq: 1, Kind: Opened}, {Seq: 1, Kind: Frame}}, bad: true},
	"opened twice": {events: []Event{{Seq: 1, Kind: Opened}, {Seq: 2, Kind: Opened}}, bad: true},
	"time falls":   {events: []Event{{Seq: 1, At: 5, Kind: Opened}, {Seq: 2, At: 4, Kind: Frame}}, bad: true},
	"before start": {events: []Event{{Seq: 1, At: -1, Kind: Opened}}, bad: true},
	"after closed": {events: []Event{{Seq: 1, Kind: Opened}, {Seq: 2, Kind: Closed}, {Seq: 3, Kind: Note}}, bad: true},
}

func TestRules(t *testing.T) {
	for name, c := range logs {
		var v Validator
		var head Head
		var order Sequence
		var errs [3]error
		for _, e := range c.events {
			if e.Kind == Opened {
				e.Payload = headerPayload
			}
			check := func(i int, f func() error) {
				if errs[i] == nil {
					errs[i] = f()
				}
			}
			check(0, func() error { return v.Check(e) })
			check(1, func() (err error) { head, err = head.Next(e); return err })
			check(2, func() (err error) { order, err = order.After([]Part{{Event: e}}); return err })
		}
		for i, err := range errs {
			if (err != nil) != c.bad {
				t.Errorf("%s: judge %d says %v", name, i, err)
			}
		}
		if c.bad && (!errors.Is(errs[0], ErrCorrupt) || !strings.Contains(errs[0].Error(), c.want)) {
			t.Errorf("%s: %v", name, errs[0])
		}
		if seq, sealed := v.Head(); !c.bad && (seq != head.Seq || sealed != head.Sealed || order.Seq() != seq) {
			t.Errorf("%s: heads %d, %+v", name, seq, head)
		}
	}
}

// TestSequenceOfParts: an event in parts goes on until its last, and only then.
func TestSequenceOfParts(t *testing.T) {
	part := func(seq uint64, cont, more bool) Part {
		return Part{Event: Event{Seq: seq, Kind: Frame}, Cont: cont, More: more}
	}
	opened := Part{Event: Event{Seq: 1, Kind: Opened, Payload: headerPayload}}
	for _, c := range []struct {
		parts []Part
		want  string
	}{
		{[]Part{opened, part(2, false, true), part(3, false, true), part(2, true, true), part(2, true, false), part(3, true, false)}, ""},
		{[]Part{opened, part(2, false, true), part(3, false, true), part(3, true, false), part(2, true, false)}, ""},
		{[]Part{opened, part(2, false, false), part(2, true, false)}, "event 2: continued, but it is not open"},
		{[]Part{opened, part(2, false, true), part(2, true, false), part(2, true, false)}, "event 2: continued, but it is not open"},
		{[]Part{opened, part(3, false, true)}, "event 3: expected event 2"},
	} {
		before, err := Sequence{}.After(c.parts[:len(c.parts)-1])
		if err != nil {
			t.Fatal(err)
		}
		for range 2 { // the old value stays as it is
			_, err = before.After(c.parts[len(c.parts)-1:])
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v: got %v, want %q", c.parts, err, c.want)
			}
		}
	}
}

// TestSequenceOfChunks: a chunk belongs to a pipe, and comes after the beginning and before the end.
func TestSequenceOfChunks(t *testing.T) {
	opened := Part{Event: Event{Seq: 1, At: 1, Kind: Opened, Payload: headerPayload}}
	closed := Part{Event: Event{Seq: 2, At: 2, Kind: Closed}}
	chunk := func(at time.Duration, kind Kind, dir transport.Direction) Part {
		return Part{Event: Event{At: at, Kind: kind, Dir: dir}, Chunk: true}
	}
	for _, c := range []struct {
		parts []Part
		want  string
	}{
		{[]Part{opened, chunk(1, Frame, transport.ClientToServer), chunk(2, Stderr, 0), closed}, ""},
		{[]Part{chunk(1, Stderr, 0)}, "before the log's beginning or after its end"},
		{[]Part{opened, closed, chunk(2, Stderr, 0)}, "before the log's beginning or after its end"},
		{[]Part{opened, chunk(1, Note, 0)}, `kind "note"`},
		{[]Part{opened, chunk(1, Frame, 0)}, "no pipe"},
		{[]Part{opened, chunk(2, Stderr, 0), chunk(1, Stderr, 0)}, "before the part in front of it"},
	} {
		_, err := Sequence{}.After(c.parts)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: got %v, want %q", c.parts, err, c.want)
		}
	}
}

func TestValidatorReadsTheHeader(t *testing.T) {
	var v Validator
	if err := v.Check(Event{Seq: 1, Kind: Opened, Payload: []byte(`{"mcprec":99}`)}); !errors.Is(err, ErrNewer) {
		t.Errorf("a newer header: %v", err)
	}
	if err := new(Validator).Check(Event{Seq: 1, Kind: Opened, Payload: []byte("x")}); err == nil {
		t.Error("no header: accepted")
	}
}

func TestHeader(t *testing.T) {
	h := Header{ID: "01a19c22-5c60-7000-8000-00000000003c", Start: time.Date(2026, 1, 2, 3, 4, 5, 6, time.FixedZone("", 3600)), Label: "<a & b>"}
	got, err := ParseHeader(h.Encode())
	if err != nil || !got.Start.Equal(h.Start) || got.Label != h.Label || got.Version != FormatVersion || got.Command == nil {
		t.Errorf("%+v, %v", got, err)
	}
	if text := string(h.Encode()); strings.Contains(text, `\u003c`) || !strings.Contains(text, `"start":"2026-01-02T02:04:05.000000006Z"`) {
		t.Errorf("escaped, or not in UTC: %s", text)
	}
	for _, c := range []struct {
		payload, want string
		newer         bool
	}{
		{`{"mcprec":2,"id":7}`, "format 2", true},
		{`{"start":7,"mcprec":2}`, "format 2", true},
		{`{"mcprec":1,"id":7}`, "is a ", false},
		{`{"mcprec":"1"}`, "is a ", false},
		{`{"id":"x"}`, `no "mcprec" version in it`, false},
	} {
		if _, err := ParseHeader([]byte(c.payload)); err == nil || !strings.Contains(err.Error(), c.want) || errors.Is(err, ErrNewer) != c.newer {
			t.Errorf("%s: %v, want %q", c.payload, err, c.want)
		}
	}
	for start, want := range map[string]string{"9700-12-31T00:00:00Z": "9700-12-31T00:00:00Z", "9701-01-01T00:00:00Z": "0001-01-01T00:00:00Z", "0000-12-31T23:00:00Z": "0001-01-01T00:00:00Z"} {
		if h, err := ParseHeader([]byte(`{"mcprec":1,"start":"` + start + `"}`)); err != nil || h.Start.Format(time.RFC3339) != want {
			t.Errorf("%s became %v, %v, want %s", start, h.Start, err, want)
		}
	}
}

func TestSessionID(t *testing.T) {
	id, err := ParseSessionID("01A19C22-5c60-7000-8000-00000000003C")
	if err != nil || id != "01a19c22-5c60-7000-8000-00000000003c" {
		t.Errorf("%s, %v", id, err)
	}
	for _, bad := range []string{"", "x", "01a19c225c60700080000000000003c", "01a19c22-5c60-7000-8000-00000000003", "01a19c22-5c60-7000-8000-00000000003g", "01a19c22+5c60-7000-8000-00000000003c", "01a19c22-5c60+7000-8000-00000000003c", "01a19c22-5c60-7000+8000-00000000003c", "01a19c22-5c60-7000-8000+00000000003c", "../../../../../../../../etc/passwd-"} {
		if _, err := ParseSessionID(bad); err == nil {
			t.Errorf("%q: accepted", bad)
		}
	}
}

func TestSessionCount(t *testing.T) {
	var s Session
	for _, e := range []Event{
		{Seq: 1, Kind: Opened, Payload: headerPayload},
		{Kind: Frame, Payload: []byte("123")},
		{Kind: Stderr, Payload: []byte("not counted")},
		{Kind: Lost, Payload: EncodePayload(LostInfo{Frames: 4})},
		{Kind: Exited, Payload: EncodePayload(ExitInfo{Code: -1, Signal: "killed"})},
		{Kind: Note, Payload: []byte("anything")},
		{Kind: Note, Payload: EncodePayload(NoteInfo{Doubtful: 3})},
		{Kind: Note, Payload: EncodePayload(NoteInfo{Doubtful: 5})},
	} {
		if err := s.Count(e); err != nil {
			t.Fatal(err)
		}
	}
	for _, kind := range []Kind{Opened, Lost, Exited} {
		if err := s.Count(Event{Seq: 9, Kind: kind, Payload: []byte("?")}); err == nil {
			t.Errorf("a %s event that says nothing is counted", kind)
		}
	}
	if s.Doubtful != 3 || s.Frames != 1 || s.Bytes != 3 || s.Lost != 4 || s.Exit != "signal: killed" || s.Transport != "stdio" {
		t.Errorf("%+v", s)
	}
}

// TestAssemblerHeld holds that it says how much an open event holds back, with its own.
func TestAssemblerHeld(t *testing.T) {
	var a Assembler
	part := func(seq uint64, size int, cont, more bool) Part {
		return Part{Event: Event{Seq: seq, Kind: Frame, Payload: make([]byte, size)}, Cont: cont, More: more}
	}
	for i, step := range []struct {
		Part
		want int
	}{
		{part(1, 5, false, false), 0},
		{part(2, 7, false, true), 7},
		{part(3, 11, false, true), 18},
		{part(2, 13, true, true), 31},
		{part(3, 17, true, false), 48},
		{part(2, 1, true, false), 0},
		{part(4, 19, false, true), 19},
	} {
		if err := a.Add(step.Part, 0); err != nil {
			t.Fatal(err)
		}
		for _, ok := a.Next(); i != 4 && ok; _, ok = a.Next() {
		}
		if got := a.Held(); got != step.want {
			t.Errorf("step %d: %d bytes, want %d", i, got, step.want)
		}
	}
	a.Cut()
	if e, ok := a.Next(); !ok || len(e.Payload) != 19 {
		t.Errorf("%t, %d bytes", ok, len(e.Payload))
	}
}
