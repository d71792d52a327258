package store

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcprec/mcprec/transport"
)

// pipeParts reads the parts of a stdio session from lines: a mark and a text. c, s and e
// are chunks of the client, the server and standard error, with + behind a chunk that
// begins within a lost line; lost, eof, delivered and closed are events, of the streams
// that follow. Each part comes a second after the one before.
func pipeParts(t *testing.T, limit int64, script string) (parts []Part) {
	t.Helper()
	seq := uint64(1)
	event := func(kind Kind, dir transport.Direction, info any) {
		seq++
		parts = append(parts, Part{Event: Event{Seq: seq, Kind: kind, Dir: dir, Payload: EncodePayload(info)}})
	}
	parts = append(parts, Part{Event: Event{Seq: 1, Kind: Opened, Payload: Header{ID: "01a19c22-5c60-7000-8000-00000000003c", MaxFrame: limit}.Encode()}})
	for i, line := range strings.Split(strings.TrimSpace(script), "\n") {
		mark, text, _ := strings.Cut(strings.TrimSpace(line), " ")
		dir, _ := transport.ParseDirection(text)
		switch mark {
		case "lost":
			event(Lost, 0, LostInfo{Frames: 1, Reason: "full", Streams: strings.Fields(text)})
		case "eof":
			event(EOF, dir, EOFInfo{By: "sender"})
		case "delivered":
			event(Delivered, dir, DeliveredInfo{Blocked: 1})
		case "exit":
			event(Exited, 0, ExitInfo{})
		case "closed":
			event(Closed, 0, ClosedInfo{})
		default:
			n := strings.IndexByte("cse", mark[0])
			p := Part{Chunk: true, Cont: strings.HasSuffix(mark, "+")}
			p.Kind, p.Dir = ofPipe(n)
			p.Payload = []byte(strings.NewReplacer("$", "\n", "_", " ", "%", "\r").Replace(text))
			parts = append(parts, p)
		}
		parts[len(parts)-1].At = time.Duration(i+1) * time.Second
	}
	return parts
}

func told(e Event) string {
	text := string(e.Payload)
	if e.Kind == Frame || e.Kind == Stderr {
		text = strings.NewReplacer("\r", "%", " ", "_").Replace(text)
	}
	s := strings.TrimSpace(fmt.Sprintf("%d %v %s %s %s", e.Seq, e.At, e.Kind, e.Dir, text))
	if e.Unterminated {
		s += " (open)"
	}
	if e.Cut > 0 {
		s += fmt.Sprintf(" (cut %d)", e.Cut)
	}
	return strings.Join(strings.Fields(s), " ")
}

// assembled returns the events of parts as a reader finds them, who looks after each.
func assembled(t *testing.T, a *Assembler, parts []Part, dead bool) (events []Event) {
	t.Helper()
	take := func() {
		for e, ok := a.Next(); ok; e, ok = a.Next() {
			events = append(events, e)
		}
	}
	for i, p := range parts {
		if err := a.Add(p, int64(i)); err != nil {
			t.Fatalf("part %d: %v", i, err)
		}
		take()
	}
	if dead {
		a.Cut()
		take()
	}
	return events
}

func TestAssemblerOfPipes(t *testing.T) {
	for _, c := range []struct {
		name   string
		limit  int64
		script string
		want   string
	}{
		{"frames where their ends were seen", 0, `
			c {"id":1}$
			s {"id":1,
			c {"id":2}$
			s "x":0}$
			s a$b%$$`, `
			2 1s frame c2s {"id":1}
			3 3s frame c2s {"id":2}
			4 4s frame s2c {"id":1,"x":0}
			5 5s frame s2c a
			6 5s frame s2c b%
			7 5s frame s2c`},
		{"answered before its newline", 0, `
			c {"id":1,"s":"}\"]"}
			e noise$
			s {"id":1}$
			c $
			c {"id":2}$`, `
			2 2s stderr noise
			3 2s frame c2s {"id":1,"s":"}\"]"}
			4 3s frame s2c {"id":1}
			5 5s frame c2s {"id":2}`},
		{"a request of the server answered before its newline", 0, `
			s [{"id":1}]_%
			c {"id":1}$
			s $
			s {}$`, `
			2 1s frame s2c [{"id":1}]_%
			3 2s frame c2s {"id":1}
			4 4s frame s2c {}`},
		{"not answered: its brackets are open", 0, `
			c {"s":"}
			s {}$
			c "}$`, `
			2 2s frame s2c {}
			3 3s frame c2s {"s":"}"}`},
		{"taken for whole, and no newline came", 0, `
			c {}
			s {}$
			c {"id":2}$
			c []
			s {}$
			eof c2s`, `
			2 1s frame c2s {}
			3 2s frame s2c {}
			4 2s note c2s {"text":"no newline ended event 2"}
			5 3s frame c2s {"id":2}
			6 4s frame c2s []
			7 5s frame s2c {}
			8 5s note c2s {"text":"no newline ended event 6"}
			9 6s eof c2s {"by":"sender"}`},
		{"an end that no newline makes", 0, `
			c {"id":1
			s half
			e prompt:_
			eof c2s
			exit
			closed`, `
			2 3s stderr prompt:_ (open)
			3 3s frame c2s {"id":1 (open)
			4 4s eof c2s {"by":"sender"}
			5 5s exit {"code":0}
			6 5s frame s2c half (open)
			7 6s closed {"frames":2,"lost":0}`},
		{"a prompt, which a frame follows", 0, `
			e Loading..._
			s {}
			s $
			e done$bye
			closed`, `
			2 1s stderr Loading..._ (open)
			3 3s frame s2c {}
			4 4s stderr done
			5 4s stderr bye (open)
			6 5s closed {"frames":1,"lost":0}`},
		{"its recorder died", 0, `
			s half
			c a$b`, `
			2 2s frame c2s a
			3 2s frame c2s b (open)
			4 2s frame s2c half (open)`},
		{"lost in the middle of a line", 0, `
			c {"id":1}$
			s half
			lost s2c
			s+ rest$whole$
			closed`, `
			2 1s frame c2s {"id":1}
			3 2s frame s2c half (open)
			4 3s lost {"frames":1,"bytes":0,"reason":"full","streams":["s2c"]}
			5 4s lost {"frames":0,"bytes":4,"reason":"the beginning of their line was lost","streams":["s2c"]}
			6 4s frame s2c whole
			7 5s closed {"frames":3,"lost":1}`},
		{"lost between lines, and a rest that is all newline, and one without", 0, `
			lost s2c c2s
			s whole$
			c+ $next$
			lost stderr
			e+ rest`, `
			2 1s lost {"frames":1,"bytes":0,"reason":"full","streams":["s2c","c2s"]}
			3 2s frame s2c whole
			4 3s frame c2s next
			5 4s lost {"frames":1,"bytes":0,"reason":"full","streams":["stderr"]}
			6 5s lost {"frames":0,"bytes":4,"reason":"the beginning of their line was lost","streams":["stderr"]}`},
		{"delivered", 0, `
			delivered c2s
			c a$b$c
			delivered c2s
			s x$
			delivered s2c
			delivered c2s`, `
			2 1s delivered c2s {"upto":0,"blocked_ns":1}
			3 2s frame c2s a
			4 2s frame c2s b
			5 3s delivered c2s {"upto":4,"blocked_ns":1}
			6 4s frame s2c x
			7 5s delivered s2c {"upto":6,"blocked_ns":1}
			8 6s delivered c2s {"upto":4,"blocked_ns":1}
			9 6s frame c2s c (open)`},
		{"longer than is recorded", 4, `
			c 1234$12345$12
			c 34
			s {}$
			c 56$
			e 123456$
			closed`, `
			2 1s frame c2s 1234
			3 1s frame c2s 1234 (cut 1)
			4 1s lost {"frames":1,"bytes":1,"reason":"event 3 is cut after 4 B","streams":["c2s"]}
			5 3s frame s2c {}
			6 4s frame c2s 1234 (cut 2)
			7 4s lost {"frames":1,"bytes":2,"reason":"event 6 is cut after 4 B","streams":["c2s"]}
			8 5s stderr 123456
			9 6s closed {"frames":4,"lost":2}`},
		{"cut where its brackets seem to close", 2, `
			c {}{
			s {}$
			c }$`, `
			2 2s frame s2c {}
			3 3s frame c2s {} (cut 2)
			4 3s lost {"frames":1,"bytes":2,"reason":"event 3 is cut after 2 B","streams":["c2s"]}`},
		{"open after one that was answered early", 0, `
			c {}
			s {}$
			c ${[{}
			s {}$
			c ]}$"}
			s {}$
			c "$`, `
			2 1s frame c2s {}
			3 2s frame s2c {}
			4 4s frame s2c {}
			5 5s frame c2s {[{}]}
			6 6s frame s2c {}
			7 7s frame c2s "}"`},
		{"lost, and nothing says of which pipe", 0, `
			s half
			lost
			s+ rest$`, `
			2 2s lost {"frames":1,"bytes":0,"reason":"full"}
			3 2s frame s2c half (open)
			4 3s lost {"frames":0,"bytes":4,"reason":"the beginning of their line was lost","streams":["s2c"]}`},
		{"lost, and the next line begins in the same chunk", 0, `
			lost s2c
			s+ rest$whole$ha
			s lf$`, `
			2 1s lost {"frames":1,"bytes":0,"reason":"full","streams":["s2c"]}
			3 2s lost {"frames":0,"bytes":4,"reason":"the beginning of their line was lost","streams":["s2c"]}
			4 2s frame s2c whole
			5 3s frame s2c half`},
		{"the rest of a lost line answers nothing", 0, `
			c {}
			lost s2c
			s+ rest$
			c $`, `
			2 2s lost {"frames":1,"bytes":0,"reason":"full","streams":["s2c"]}
			3 3s lost {"frames":0,"bytes":4,"reason":"the beginning of their line was lost","streams":["s2c"]}
			4 4s frame c2s {}`},
		{"the rest of a lost line of standard error is no prompt", 0, `
			lost stderr
			e+ re
			s {}$
			e st$`, `
			2 1s lost {"frames":1,"bytes":0,"reason":"full","streams":["stderr"]}
			3 3s frame s2c {}
			4 4s lost {"frames":0,"bytes":4,"reason":"the beginning of their line was lost","streams":["stderr"]}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			parts := pipeParts(t, c.limit, c.script)
			var got []string
			for _, e := range assembled(t, &Assembler{}, parts, true)[1:] {
				got = append(got, told(e))
			}
			var want []string
			for line := range strings.Lines(strings.TrimSpace(c.want)) {
				want = append(want, strings.TrimSpace(line))
			}
			if !slices.Equal(got, want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
			sameHoweverCut(t, parts)
			sameFromMarks(t, parts)
		})
	}
}

// TestAssemblerStderr holds that a line of standard error that has no end comes out in
// events of a bounded length, whose ends are where they are however it was read.
func TestAssemblerStderr(t *testing.T) {
	whole := bytes.Repeat([]byte("spin\r"), maxStderr/2)
	parts := append(pipeParts(t, 0, "e x$"), Part{Event: Event{At: time.Minute, Kind: Stderr, Payload: whole}, Chunk: true})
	line := func(kind Kind, dir transport.Direction, size int) Part {
		return Part{Event: Event{At: time.Hour, Kind: kind, Dir: dir, Payload: append(bytes.Repeat([]byte("x"), size), '\n')}, Chunk: true}
	}
	events := assembled(t, &Assembler{}, append(slices.Clip(parts), line(Frame, c2s, 2*maxStderr)), true)
	if e := events[len(events)-1]; len(events) != 6 || len(e.Payload) != 2*maxStderr {
		t.Errorf("a frame has no such bound: %d events", len(events))
	}
	torn := line(Stderr, 0, 2*maxStderr)
	torn.Cont = true
	if events := assembled(t, &Assembler{}, []Part{parts[0], line(Stderr, 0, maxStderr), torn}, true); len(events) != 3 || events[1].Unterminated {
		t.Errorf("%d events: a line of the length is one, and so is the rest of one that is lost", len(events))
	}
	events = assembled(t, &Assembler{}, parts, true)[2:]
	if len(events) != 3 || len(events[0].Payload) != maxStderr || !events[0].Unterminated || len(events[2].Payload) != maxStderr/2 {
		t.Errorf("%d events, the first of %d bytes", len(events), len(events[0].Payload))
	}
	sameHoweverCut(t, parts)
}

// TestAssemblerOpenLines holds that a line without an end is kept apart, with its age.
func TestAssemblerOpenLines(t *testing.T) {
	var a Assembler
	assembled(t, &a, pipeParts(t, 3, "c {}$\ns abc\ns de\nc x$\nc y$\ne ?"), false)
	if got := a.Held(); got != 3 {
		t.Errorf("%d bytes are held", got)
	}
	got := a.OpenLines()
	want := []OpenLine{
		{Pipe: "s2c", Dir: transport.ServerToClient, Size: 5, Text: []byte("abc"), Since: 2 * time.Second, At: 3 * time.Second},
		{Pipe: "stderr", Size: 1, Text: []byte("?"), Since: 6 * time.Second, At: 6 * time.Second}}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestAssemblerOpenNewline holds that a message which has its place before its newline is named
// until the newline comes.
func TestAssemblerOpenNewline(t *testing.T) {
	var a Assembler
	assembled(t, &a, pipeParts(t, 99, "c {}$\ns {\"id\":1}\nc x$"), false)
	want := []OpenLine{{Pipe: "s2c", Dir: transport.ServerToClient, Frame: 3}}
	if got := a.OpenLines(); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %v, want %v", got, want)
	}
	mark := a.Mark(1 << 20)
	if got := NewAssembler(mark).OpenLines(); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("behind its mark: got %v, want %v", got, want)
	}
	if err := a.Add(Part{Event: Event{Kind: Frame, Dir: transport.ServerToClient, Payload: []byte("\n")}, Chunk: true}, 1<<20); err != nil {
		t.Fatal(err)
	}
	if got := a.OpenLines(); got != nil {
		t.Errorf("with its newline: got %v, want none", got)
	}
}

// sameHoweverCut holds that the events are the same when each chunk comes byte by byte,
// and when chunks of a pipe that follow each other at one time come as one.
func sameHoweverCut(t *testing.T, parts []Part) {
	t.Helper()
	var single, joined []Part
	for i, p := range parts {
		if !p.Chunk || len(p.Payload) == 0 {
			single, joined = append(single, p), append(joined, p)
			continue
		}
		for k := range p.Payload {
			one := p
			one.Payload = p.Payload[k : k+1]
			one.Cont = p.Cont && k == 0
			single = append(single, one)
		}
		if b := i - 1; b >= 0 && parts[b].Chunk && parts[b].Kind == p.Kind && parts[b].Dir == p.Dir && parts[b].At == p.At && !p.Cont {
			last := &joined[len(joined)-1]
			last.Payload = slices.Concat(last.Payload, p.Payload)
			continue
		}
		joined = append(joined, p)
	}
	want := assembled(t, &Assembler{}, parts, true)
	sameLogs(t, "byte by byte", assembled(t, &Assembler{}, single, true), want)
	sameLogs(t, "joined", assembled(t, &Assembler{}, joined, true), want)
}

// sameFromMarks holds that a reader that goes on from a mark finds the same events.
func sameFromMarks(t *testing.T, parts []Part) {
	t.Helper()
	want := assembled(t, &Assembler{}, parts, true)
	for n := 1; n <= len(parts); n++ {
		var a Assembler
		events := assembled(t, &a, parts[:n], false)
		m := a.Mark(int64(n))
		if oldest := oldestOpen(&a, parts[:n]); m.Off != oldest {
			t.Errorf("after %d parts: the mark is at part %d, not %d", n, m.Off, oldest)
		}
		m.Frames, m.Lost = 0, 0
		for _, e := range events {
			switch e.Kind {
			case Frame:
				m.Frames++
			case Lost:
				info, _ := DecodePayload[LostInfo](e)
				m.Lost += info.Frames
			}
		}
		b := NewAssembler(m)
		for i := m.Off; i < int64(len(parts)); i++ {
			if err := b.Add(parts[i], i); err != nil {
				t.Fatalf("after %d parts, from part %d: %v", n, i, err)
			}
			for e, ok := b.Next(); ok; e, ok = b.Next() {
				events = append(events, e)
			}
		}
		b.Cut()
		for e, ok := b.Next(); ok; e, ok = b.Next() {
			events = append(events, e)
		}
		sameLogs(t, fmt.Sprintf("after %d parts, from part %d", n, m.Off), events, want)
	}
}

// oldestOpen returns the part in which the oldest line or event begins that has no end yet.
func oldestOpen(a *Assembler, parts []Part) int64 {
	oldest := len(parts)
	for _, l := range a.OpenLines() {
		isIn := func(p Part) bool { return p.Chunk && p.At == l.Since }
		if i := slices.IndexFunc(parts, isIn); l.Size > 0 && i >= 0 {
			oldest = min(oldest, i)
		}
	}
	if open := a.Unfinished(); len(open) > 0 {
		oldest = slices.IndexFunc(parts, func(p Part) bool { return p.Seq == open[0].Seq })
	}
	return int64(oldest)
}

func sameLogs(t *testing.T, how string, got, want []Event) {
	t.Helper()
	for i := range max(len(got), len(want)) {
		switch {
		case i >= len(got):
			t.Fatalf("%s: event %q is missing", how, told(want[i]))
		case i >= len(want) || !got[i].Equal(want[i]):
			t.Fatalf("%s: event %d: %q", how, i+1, told(got[i]))
		}
	}
}

// FuzzAssembler makes a session of what it is given: each byte is one of a pipe, or
// something that befalls it.
func FuzzAssembler(f *testing.F) {
	for _, seed := range []string{
		"c{\"id\":1}\ns{\"id\":1}\n", "c{}s{}\nc\n{}\n", "c{}s{}\nc{}e?s\n", "sabcL+def\ncx\nE", "c12345\ns1234567Dx\n",
		"c[\"\\\"]s{}\nc\"]s\n", "s{}\rc\n\ns\n", "eprompt c{sX}\n", "c{}s{}\nE", "cab+cd\n",
	} {
		f.Add([]byte(seed), int64(0))
		f.Add([]byte(seed), int64(3))
	}
	f.Fuzz(func(t *testing.T, data []byte, limit int64) {
		if len(data) > 200 {
			return
		}
		parts := fuzzedParts(t, data, max(limit, 0)%9)
		sameHoweverCut(t, parts)
		sameFromMarks(t, parts)
		var v Validator
		for _, e := range assembled(t, &Assembler{}, parts, true) {
			if err := v.Check(e); err != nil {
				t.Fatal(err)
			}
		}
		nothingHidden(t, parts)
	})
}

func fuzzedParts(t *testing.T, data []byte, limit int64) []Part {
	parts := pipeParts(t, limit, "exit")
	seq, pipe, torn := uint64(2), 0, false
	for i, c := range data {
		at := time.Duration(i+2) * time.Second
		event := func(kind Kind, info any) {
			seq++
			_, dir := ofPipe(pipe)
			parts = append(parts, Part{Event: Event{Seq: seq, At: at, Kind: kind, Dir: dir, Payload: EncodePayload(info)}})
		}
		switch c {
		case 'c', 's', 'e':
			pipe = strings.IndexByte("cse", c)
			continue
		case '+':
			torn = true
			continue
		case 'L':
			event(Lost, LostInfo{Frames: 1, Streams: []string{pipeNames[pipe]}})
			continue
		case 'E':
			event(EOF, EOFInfo{})
			continue
		case 'D':
			event(Delivered, DeliveredInfo{})
			continue
		case 'X':
			event(Exited, ExitInfo{})
			continue
		}
		p := Part{Event: Event{At: at, Payload: []byte{c}}, Chunk: true, Cont: torn}
		p.Kind, p.Dir = ofPipe(pipe)
		if last := &parts[len(parts)-1]; last.Chunk && last.Kind == p.Kind && last.Dir == p.Dir && !torn {
			last.Payload = append(last.Payload, c)
			continue
		}
		parts, torn = append(parts, p), false
	}
	return parts
}

// nothingHidden holds that the bytes of a pipe are all in its events, in order, and that
// each line is there as soon as its newline is.
func nothingHidden(t *testing.T, parts []Part) {
	t.Helper()
	var a Assembler
	var in, out [pipes][]byte
	take := func(e Event) {
		n, ok := pipeOf(e.Kind, e.Dir)
		if !ok {
			return
		}
		if out[n] = append(out[n], e.Payload...); !e.Unterminated {
			out[n] = append(out[n], '\n')
		}
	}
	for i, p := range parts {
		if p.Kind == Lost || p.Cont {
			return
		}
		if n, ok := pipeOf(p.Kind, p.Dir); ok && p.Chunk {
			in[n] = append(in[n], p.Payload...)
		}
		for _, e := range assembled(t, &a, []Part{p}, false) {
			if e.Kind == Note || e.Cut > 0 {
				return
			}
			take(e)
		}
		for n := range in {
			whole := in[n][:bytes.LastIndexByte(in[n], '\n')+1]
			if !bytes.HasPrefix(out[n], whole) && !bytes.HasPrefix(append(slices.Clip(out[n]), '\n'), whole) {
				t.Fatalf("part %d: %q of %q is hidden", i, out[n], in[n])
			}
		}
	}
	a.Cut()
	for e, ok := a.Next(); ok; e, ok = a.Next() {
		if e.Kind == Note || e.Cut > 0 {
			return
		}
		take(e)
	}
	for n := range in {
		if !bytes.Equal(in[n], out[n]) {
			t.Fatalf("pipe %d: %q became %q", n, in[n], out[n])
		}
	}
}

// TestAssemblerUnfinished holds that events behind an open one can be read, with the Seqs that
// they keep.
func TestAssemblerUnfinished(t *testing.T) {
	var a Assembler
	add := func(seq uint64, text string, cont, more bool) {
		p := Part{Event: Event{Seq: seq, Kind: Frame, Dir: c2s, Stream: seq, Payload: []byte(text)}, Cont: cont, More: more}
		if err := a.Add(p, int64(seq)); err != nil {
			t.Fatal(err)
		}
	}
	assembled(t, &a, pipeParts(t, 0, "exit")[:1], false)
	add(2, "half", false, true)
	add(3, "whole", false, false)
	add(4, "ha", false, true)
	add(2, " more", true, true)
	first := a.Unfinished()
	mine := append(first[0].Payload, " and mine"...)
	add(4, "lf", true, true)
	add(2, " the end", true, false)
	var got []string
	for _, e := range append(first, a.Unfinished()...) {
		got = append(got, fmt.Sprintf("%d %s %v %v", e.Seq, e.Payload, e.Open, e.Unterminated))
	}
	want := []string{"2 half more true true", "3 whole false false", "4 ha true true",
		"2 half more the end false false", "3 whole false false", "4 half true true"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
	if string(mine) != "half more and mine" {
		t.Errorf("what a reader added became %q", mine)
	}
}

// TestAssemblerMarks holds that a reader goes on from a mark within events in parts, and that none is
// taken while frames of pipes wait behind one.
func TestAssemblerMarks(t *testing.T) {
	part := func(seq uint64, text string, cont, more bool) Part {
		return Part{Event: Event{Seq: seq, At: time.Duration(seq), Kind: Frame, Dir: c2s, Stream: seq, Payload: []byte(text)}, Cont: cont, More: more}
	}
	parts := append(pipeParts(t, 0, "exit"), part(3, "ha", false, true), part(4, "whole", false, false), part(5, "ha", false, true), part(3, "lf", true, false), part(5, "lf", true, false))
	parts[0].At, parts[1].At = 0, 0
	sameFromMarks(t, parts)
	var a Assembler
	assembled(t, &a, parts[:4], false)
	if !a.MayStop() {
		t.Error("a session without pipes may stop anywhere")
	}
	chunk := Part{Event: Event{At: time.Second, Kind: Frame, Dir: c2s, Payload: []byte("{}\n")}, Chunk: true}
	assembled(t, &a, []Part{chunk}, false)
	if a.MayStop() {
		t.Error("a frame of a pipe waits")
	}
	assembled(t, &a, parts[4:], false)
	if !a.MayStop() || !a.Settled() {
		t.Error("nothing waits any more")
	}
}

// TestAssemblerGap holds that what is open ends at missing records, and that the next event has any
// later number, but only the next.
func TestAssemblerGap(t *testing.T) {
	var a Assembler
	var got []string
	add := func(seq uint64, more bool) error {
		err := a.Add(Part{Event: Event{Seq: seq, Kind: Frame, Dir: c2s, Payload: []byte("x")}, More: more}, 0)
		for e, ok := a.Next(); ok; e, ok = a.Next() {
			got = append(got, told(e))
		}
		return err
	}
	for _, step := range []struct {
		seq  uint64
		more bool
		want string // of the error
	}{{1, false, ""}, {2, true, ""}, {0, false, ""}, {2, false, "event 2: expected event 3"}, {9, false, ""}, {11, false, "event 11: expected event 10"}, {10, false, ""}} {
		if step.seq == 0 {
			a.Gap(LostInfo{Frames: 3, Reason: "gone"})
			continue
		}
		if err := add(step.seq, step.more); (err == nil) != (step.want == "") || err != nil && !strings.Contains(err.Error(), step.want) {
			t.Errorf("event %d: %v, want %q", step.seq, err, step.want)
		}
	}
	want := []string{"1 0s frame c2s x", "2 0s frame c2s x (open)", `3 0s lost {"frames":3,"bytes":0,"reason":"gone"}`, "4 0s frame c2s x", "5 0s frame c2s x"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
}

// TestAssemblerOfMany holds that the events of a long queue come out in order, and so do parts of
// events between frames of pipes.
func TestAssemblerOfMany(t *testing.T) {
	var a Assembler
	part := func(seq uint64, text string, cont, more bool) Part {
		return Part{Event: Event{Seq: seq, Kind: Frame, Dir: c2s, Stream: seq, Payload: []byte(text)}, Cont: cont, More: more}
	}
	line := Part{Event: Event{Kind: Frame, Dir: s2c, Payload: []byte("line\n")}, Chunk: true}
	for i, p := range []Part{part(1, "1", false, true), line, line, part(2, "2", false, true), line, part(3, "3", false, true), part(3, "c", true, false), part(2, "b", true, false)} {
		if err := a.Add(p, int64(i)); err != nil {
			t.Fatal(err)
		}
	}
	for seq := uint64(4); seq < 3000; seq++ {
		if err := a.Add(part(seq, fmt.Sprint(seq), false, false), int64(seq)); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.Add(part(4, "late", true, false), 0); err == nil {
		t.Error("an event that is whole is continued")
	}
	if err := a.Add(part(1, "a", true, false), 0); err != nil {
		t.Fatal(err)
	}
	want := []string{"1a", "line", "line", "2b", "line", "3c"}
	for seq := 4; seq < 3000; seq++ {
		want = append(want, fmt.Sprint(seq))
	}
	for i := range want {
		if e, ok := a.Next(); !ok || string(e.Payload) != want[i] || e.Seq != uint64(i+1) {
			t.Fatalf("event %d is %d %q, want %q", i+1, e.Seq, e.Payload, want[i])
		}
	}
	if !a.Settled() {
		t.Error("there are more")
	}
	var later Assembler
	for i, p := range []Part{part(7, "7", false, false), line, part(8, "8", false, true), part(8, "b", true, false)} {
		if err := later.Add(p, int64(i)); err != nil {
			t.Fatal("behind a frame of a pipe that nobody has taken: ", err)
		}
	}
}

// TestAssemblerOfOddParts: a session may begin within a lost line. A chunk of no pipe is damage, and
// only what a recorder leaves to be filled in is.
func TestAssemblerOfOddParts(t *testing.T) {
	torn := pipeParts(t, 0, "c+ rest$")[1]
	var a Assembler
	if events := assembled(t, &a, []Part{torn}, true); len(events) != 1 || events[0].Kind != Lost {
		t.Errorf("%v", events)
	}
	if err := a.Add(Part{Event: Event{Kind: Note}, Chunk: true}, 0); !errors.Is(err, ErrCorrupt) {
		t.Errorf("a chunk of no pipe: %v", err)
	}
	parts := pipeParts(t, 0, "c x$")
	for _, e := range []Event{
		{Dir: c2s, Payload: EncodePayload(DeliveredInfo{Upto: 7})},
		{Dir: c2s, Stream: 3, Payload: EncodePayload(DeliveredInfo{})},
		{Payload: EncodePayload(DeliveredInfo{})},
		{Dir: c2s, Payload: []byte("no JSON")},
	} {
		e.Seq, e.At, e.Kind = 2, time.Hour, Delivered
		events := assembled(t, &Assembler{}, append(slices.Clip(parts), Part{Event: e}), true)
		if got := events[len(events)-1]; string(got.Payload) != string(e.Payload) {
			t.Errorf("%s became %s", told(e), told(got))
		}
	}
}
