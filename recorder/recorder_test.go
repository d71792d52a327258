package recorder

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcprec/mcprec/recorder/outage"
	"github.com/mcprec/mcprec/store/storetest"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
)

func open(t *testing.T) (*Recorder, *storetest.Log) {
	t.Helper()
	s := &storetest.Log{}
	r, err := New(t.Context(), s, store.Header{Transport: "stdio"}, Holding(outage.NewBudget(0)))
	if err != nil {
		t.Fatal(err)
	}
	return r, s
}

func expect(t *testing.T, s *storetest.Log, want string) {
	t.Helper()
	if got := s.Text(); got != strings.TrimLeft(want, "\n") {
		t.Errorf("log:\n%swant:\n%s", got, want)
	}
}

func observe(t *testing.T, tap *Tap, s string) {
	t.Helper()
	if !tap.Observe([]byte(s)) {
		t.Fatalf("observe %q: the recording is over", s)
	}
}

// A frame stands where its end was seen; one that is answered as soon as its closing brace
// is there, before its newline, stands before the answer.
func TestFrameStandsWhereItsEndWasSeen(t *testing.T) {
	r, s := open(t)
	c2s, s2c := r.Tap(transport.ClientToServer), r.Tap(transport.ServerToClient)
	observe(t, c2s, `{"id":1,`)
	observe(t, c2s, `"method":"ping"}`)
	observe(t, s2c, "{\"id\":1,\"result\":{}}\n")
	observe(t, c2s, "\n{\"id\":2}\r\n\n  \n")
	r.Close()
	expect(t, s, `
2 frame c2s {"id":1,"method":"ping"}
3 frame s2c {"id":1,"result":{}}
4 frame c2s {"id":2}`+"\r"+`
5 frame c2s 
6 frame c2s   
7 closed  {"frames":5,"lost":0}
`)
}

func TestLastLineWithoutNewline(t *testing.T) {
	r, s := open(t)
	var out bytes.Buffer
	info := r.Tap(transport.ServerToClient).Pass(&out, strings.NewReader("a\nb"))
	if info.By != "sender" || info.Error != "" || out.String() != "a\nb" {
		t.Errorf("pass: %+v, passed on %q", info, &out)
	}
	r.Close()
	expect(t, s, `
2 frame s2c a
3 frame s2c unterminated b
4 eof s2c {"by":"sender"}
5 closed  {"frames":2,"lost":0}
`)
}

// FuzzTap: whatever bytes come in whatever reads, in both directions at once,
// the frames of a direction are its bytes and the log keeps its rules.
func FuzzTap(f *testing.F) {
	f.Add([]byte("a\nbc\n\r\n"), []byte("\xff\n{}"), uint64(1))
	f.Add([]byte("no newline"), []byte(""), uint64(2))
	f.Add([]byte("\n\n\n"), []byte("x"), uint64(3))
	f.Fuzz(func(t *testing.T, c2s, s2c []byte, seed uint64) {
		rng := rand.New(rand.NewPCG(seed, 0))
		r, s := open(t)
		taps := [2]*Tap{r.Tap(transport.ClientToServer), r.Tap(transport.ServerToClient)}
		for left := [2][]byte{c2s, s2c}; len(left[0])+len(left[1]) > 0; {
			i := rng.IntN(2)
			n := min(len(left[i]), rng.IntN(8))
			observe(t, taps[i], string(left[i][:n]))
			left[i] = left[i][n:]
		}
		for _, tap := range taps {
			tap.End(store.EOFInfo{By: "sender"})
		}
		r.Close()
		var got [2][]byte
		for _, e := range s.Events {
			switch e.Kind {
			case store.Frame:
				got[e.Dir-1] = transport.AppendFrame(got[e.Dir-1], e.AsFrame())
			case store.Note: // no newline ended the event before
				got[e.Dir-1] = got[e.Dir-1][:len(got[e.Dir-1])-1]
			}
		}
		if !bytes.Equal(got[0], c2s) || !bytes.Equal(got[1], s2c) {
			t.Fatalf("recorded %q and %q of %q and %q", got[0], got[1], c2s, s2c)
		}
	})
}

// Each read is in the spool before any of it reaches the peer.
func TestWrittenBeforeForwarded(t *testing.T) {
	r, s := open(t)
	var order []string
	s.OnWrite = func() { order = append(order, "spool") }
	dst := writerFunc(func(b []byte) (int, error) {
		order = append(order, "peer "+string(b))
		return len(b), nil
	})
	r.Tap(transport.ClientToServer).Pass(dst, io.MultiReader(strings.NewReader("half"), strings.NewReader(" a line\n")))
	if got := strings.Join(order, ", "); got != "spool, peer half, spool, peer  a line\n, spool" {
		t.Errorf("order: %s", got)
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }

// Standard error is not framed: nothing waits for the end of a prompt.
func TestStderrPrompt(t *testing.T) {
	r, s := open(t)
	stderr, s2c := r.StderrTap(), r.Tap(transport.ServerToClient)
	observe(t, stderr, "Loading... ")
	observe(t, s2c, "{}\n")
	observe(t, stderr, "done\nbye")
	r.Close()
	expect(t, s, `
2 stderr  unterminated Loading... 
3 frame s2c {}
4 stderr  done
5 stderr  unterminated bye
6 closed  {"frames":1,"lost":0}
`)
}

// The exit is told even if there is room only for the end of the log.
func TestFullUntilClose(t *testing.T) {
	r, s := open(t)
	s.Fail = errors.New("disk full")
	observe(t, r.Tap(transport.ClientToServer), "x\n")
	r.Record(store.Exited, transport.NoDirection, store.ExitInfo{Code: 3})
	s.Fail = nil
	r.Close()
	expect(t, s, `
2 lost  {"frames":1,"bytes":2,"reason":"disk full","streams":["c2s"]}
3 exit  {"code":3}
4 closed  {"frames":0,"lost":1}
`)
}

// A slow spool is not the receiver's fault.
func TestSlowSpoolIsNotBackPressure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, s := open(t)
		s.OnWrite = func() { time.Sleep(2 * BlockedThreshold) }
		r.Tap(transport.ClientToServer).Pass(io.Discard, strings.NewReader("x\n"))
		r.Close()
		if strings.Contains(s.Text(), "delivered") {
			t.Errorf("log:\n%s", s.Text())
		}
	})
}

// When the spool fails the wire goes on; a lost event stands where the gap is,
// and a frame of which a part is lost is never taken for a whole one.
func TestStoreFailure(t *testing.T) {
	r, s := open(t)
	c2s, s2c := r.Tap(transport.ClientToServer), r.Tap(transport.ServerToClient)
	observe(t, c2s, "one\nbeg")
	s.Fail = errors.New("disk full")
	observe(t, c2s, "un\ntwo\nthr") // ends "begun", loses "two", begins "three"
	observe(t, s2c, "x\n")
	s.Fail = nil
	observe(t, c2s, "ee\nfour\n")
	sum := r.Close()
	expect(t, s, `
2 frame c2s one
3 frame c2s unterminated beg
4 lost  {"frames":4,"bytes":12,"reason":"disk full","streams":["c2s","s2c"]}
5 lost  {"frames":0,"bytes":2,"reason":"the beginning of their line was lost","streams":["c2s"]}
6 frame c2s four
7 closed  {"frames":3,"lost":4}
`)
	if sum.Lost != 4 || sum.Err == nil {
		t.Errorf("summary %+v", sum)
	}
}

func TestUnrecorded(t *testing.T) {
	cause := errors.New("no such folder")
	r := Unrecorded(cause)
	var out bytes.Buffer
	r.Tap(transport.ClientToServer).Pass(&out, strings.NewReader("a\nb\n"))
	if sum := r.Close(); out.String() != "a\nb\n" || sum.Lost < 2 || sum.Err != cause {
		t.Errorf("passed on %q, summary %+v", &out, sum)
	}
}

func TestNothingAfterClose(t *testing.T) {
	r, s := open(t)
	tap := r.Tap(transport.ClientToServer)
	r.Seal()
	expect(t, s, "2 closed  {\"frames\":0,\"lost\":0}\n")
	r.Close()
	if tap.Observe([]byte("late\n")) {
		t.Error("a tap passed on bytes that a sealed log does not have")
	}
	r.Record(store.Note, transport.NoDirection, store.LostInfo{})
	r.Close()
	expect(t, s, "2 closed  {\"frames\":0,\"lost\":0}\n")
}

// In a bubble time stands still but for sleeps: a tap over a Pipe stamps
// exactly, and a write that blocked leaves a delivered event.
func TestConnInBubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &storetest.Log{}
		r, err := New(t.Context(), s, store.Header{Transport: "memory"})
		if err != nil {
			t.Fatal(err)
		}
		pipe := transport.NewPipe(0, 0, nil)
		client := r.Conn(pipe.Client(), transport.ClientToServer)
		go func() {
			time.Sleep(3 * time.Second)
			f, _ := pipe.Server().Read(t.Context())
			pipe.Server().Write(t.Context(), transport.Frame{Bytes: append([]byte("re: "), f.Bytes...)})
		}()
		if err := client.Write(t.Context(), transport.Frame{Bytes: []byte("not\nsent")}); !errors.Is(err, transport.ErrNewline) {
			t.Errorf("write of two lines: %v", err)
		}
		if err := client.Write(t.Context(), transport.Frame{Bytes: []byte("ask")}); err != nil {
			t.Fatal(err)
		}
		if f, err := client.Read(t.Context()); err != nil || string(f.Bytes) != "re: ask" {
			t.Fatalf("read %q, %v", f.Bytes, err)
		}
		r.Close()
		expect(t, s, `
2 frame c2s ask
3 delivered c2s {"upto":2,"blocked_ns":3000000000}
4 frame s2c re: ask
5 closed  {"frames":2,"lost":0}
`)
		if at := s.Events[3].At; at != 3*time.Second {
			t.Errorf("answer at %v, want 3s", at)
		}
	})
}

// A session that rests holds nothing of what passed: there may be hundreds.
func TestRestHoldsNothing(t *testing.T) {
	r, _ := open(t)
	observe(t, r.Tap(transport.ClientToServer), "{}\n")
	r.Record(store.Note, transport.NoDirection, store.NoteInfo{Text: "note"})
	for _, p := range r.log.parts[:cap(r.log.parts)] {
		if p.Payload != nil {
			t.Errorf("%q is held", p.Payload)
		}
	}
	r.Close()
}

// TestSummaryCounts: the summary tells what the log holds, whatever befell the frames on the way.
func TestSummaryCounts(t *testing.T) {
	full := errors.New("disk full")
	type write struct {
		chunk string
		fails bool
	}
	for _, tt := range []struct {
		name   string
		limit  int64
		writes []write
		want   Summary
	}{
		{"whole frames", 0, []write{{"ab\ncde\n", false}}, Summary{Frames: 2, Bytes: 5}},
		{"a frame in pieces", 0, []write{{"ab", false}, {"c", false}, {"de\n\n", false}}, Summary{Frames: 2, Bytes: 5}},
		{"without a newline", 0, []write{{"ab\ncde", false}}, Summary{Frames: 2, Bytes: 5}},
		{"longer than the limit", 3, []write{{"abcde\nfg\nhij\n", false}}, Summary{Frames: 3, Bytes: 8, Cut: 1}},
		{"longer than the limit, in pieces", 3, []write{{"ab", false}, {"cd", false}, {"ef\n", false}}, Summary{Frames: 1, Bytes: 3, Cut: 1}},
		{"its beginning is lost", 0, []write{{"ab", true}, {"cd\nefg\n", false}}, Summary{Frames: 1, Bytes: 3, Lost: 1}},
		{"its end is lost", 0, []write{{"ab", false}, {"cd\n", true}, {"efg\n", false}}, Summary{Frames: 2, Bytes: 5, Lost: 1}},
		{"its middle is lost", 0, []write{{"ab", false}, {"cd", true}, {"ef\nghi\n", false}}, Summary{Frames: 2, Bytes: 5, Lost: 1}},
		{"two pieces are lost", 0, []write{{"ab", true}, {"cd", true}, {"ef\nghi\n", false}}, Summary{Frames: 1, Bytes: 3, Lost: 1}},
		{"all are lost", 0, []write{{"ab\ncd\n", true}}, Summary{Lost: 2}},
	} {
		s := &storetest.Log{}
		r, err := New(t.Context(), s, store.Header{Transport: "stdio"}, Holding(outage.NewBudget(0)), MaxFrame(tt.limit))
		if err != nil {
			t.Fatal(err)
		}
		tap := r.Tap(transport.ClientToServer)
		for _, w := range tt.writes {
			if s.Fail = nil; w.fails {
				s.Fail = full
			}
			observe(t, tap, w.chunk)
		}
		s.Fail = nil
		got := r.Close()
		if got.Frames != tt.want.Frames || got.Bytes != tt.want.Bytes || got.Lost != tt.want.Lost || got.Cut != tt.want.Cut {
			t.Errorf("%s: %d frames of %d bytes, %d lost, %d cut; want %+v", tt.name, got.Frames, got.Bytes, got.Lost, got.Cut, tt.want)
		}
		if lost := got.Lost > 0; lost != errors.Is(got.Err, full) {
			t.Errorf("%s: its error is %v", tt.name, got.Err)
		}
	}
	if sum := Unrecorded(full).Close(); !errors.Is(sum.Err, full) {
		t.Errorf("unrecorded: %v", sum.Err)
	}
}
