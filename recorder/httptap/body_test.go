package httptap

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/httpevent"
	"github.com/mcprec/mcprec/transport/streamable"
)

// scanAll scans a stream that comes in the chunks.
func scanAll(chunks ...string) (events []streamable.StreamEvent, rest string) {
	var s streamable.EventScanner
	keep := func(found []streamable.StreamEvent) {
		for _, ev := range found {
			ev.Data = bytes.Clone(ev.Data)
			events = append(events, ev)
		}
	}
	for _, c := range chunks {
		keep(s.Scan([]byte(c)))
	}
	last, text := s.End()
	keep(last)
	return events, string(text)
}

// told is what the events say, one a line.
func told(events []streamable.StreamEvent, rest string) string {
	var b strings.Builder
	for _, ev := range events {
		fmt.Fprintf(&b, "%q", ev.Data)
		if ev.Meta != nil {
			info := httpevent.SSE(ev.Meta, ev.Stray)
			fmt.Fprintf(&b, " %q", info.Lines)
			if info.Event+info.ID+info.Retry != "" {
				fmt.Fprintf(&b, " event %q id %q retry %q", info.Event, info.ID, info.Retry)
			}
			if info.EOL != "" {
				fmt.Fprintf(&b, " eol %q", info.EOL)
			}
			if info.Raw != nil {
				fmt.Fprintf(&b, " raw %q", info.Raw)
			}
		}
		if ev.More {
			b.WriteString(" more")
		}
		if ev.Cont {
			b.WriteString(" cont")
		}
		b.WriteByte('\n')
	}
	if rest != "" {
		fmt.Fprintf(&b, "rest %q\n", rest)
	}
	return b.String()
}

func TestScanEvents(t *testing.T) {
	for _, c := range []struct{ name, stream, want string }{
		{"default", "event: message\ndata: {}\n\nevent: message\ndata: []\n\n", "\"{}\"\n\"[]\"\n"},
		{"no type", "data: {}\n\n", "\"{}\" [\"data: \"]\n"},
		{"no blank after the colon", "data:{}\n\n", "\"{}\" [\"data:\"]\n"},
		{"priming", "id: 7\nretry: 5\ndata: \n\n", "\"\" [\"id: 7\" \"retry: 5\" \"data: \"] event \"\" id \"7\" retry \"5\"\n"},
		{"type after the data", "data: {}\nevent: message\n\n", "\"{}\" [\"data: \" \"event: message\"] event \"message\" id \"\" retry \"\"\n"},
		{"several data lines", "data: {\ndata\ndata:  1}\n\n", "\"{\\n\\n 1}\" [\"data: \" \"data\" \"data: \"]\n"},
		{"comment", ": ok\n\n", "\"\" [\": ok\"]\n"},
		{"blank line", "\n\n", "\"\" []\n\"\" []\n"},
		{"CRLF", "event: message\r\ndata: {}\r\n\r\n", "\"{}\" [\"event: message\" \"data: \"] event \"message\" id \"\" retry \"\" eol \"\\r\\n\"\n"},
		{"CR", "data: {}\r\r", "\"{}\" [\"data: \"] eol \"\\r\"\n"},
		{"mixed line ends", "id: 1\r\ndata: {}\n\n", "\"{}\" [] event \"\" id \"1\" retry \"\" raw \"id: 1\\r\\ndata: \\n\\n\"\n"},
		{"byte order mark", "\ufeffdata: {}\n\n\ufeffdata: x\n\n", "\"{}\" [\"\\ufeffdata: \"]\n\"\" [\"\\ufeffdata: x\"]\n"},
		{"not UTF-8", ": \xff\ndata: \xfe\n\n", "\"\\xfe\" [] raw \": \\xff\\ndata: \\n\\n\"\n"},
		{"name that begins like data", "datum: 1\ndata: {}\n\n", "\"{}\" [\"datum: 1\" \"data: \"]\n"},
		{"cut off in data", "data: {}\n\ndata: {\"a\"", "\"{}\" [\"data: \"]\nrest \"data: {\\\"a\\\"\"\n"},
		{"cut off before the blank line", "id: 1\ndata: {}\n", "rest \"id: 1\\ndata: {}\\n\"\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := told(scanAll(c.stream)); got != c.want {
				t.Errorf("whole:\n%swant:\n%s", got, c.want)
			}
			if got := told(scanAll(strings.Split(c.stream, "")...)); got != c.want && c.name != "CR" {
				t.Errorf("byte by byte:\n%swant:\n%s", got, c.want)
			}
		})
	}
}

// A long event's data is given out before its end.
func TestScanLongEvent(t *testing.T) {
	long := strings.Repeat("x", streamable.EventLimit)
	events, rest := scanAll("event: message\ndata: "+long, "y", "z\ndata: 2\n", "\ndata: {}\n\n")
	for i := range events {
		if n := len(events[i].Data); n > streamable.EventLimit {
			events[i].Data = fmt.Append(nil, n)
		}
	}
	want := "\"65537\" more\n\"z\\n2\" more cont\n\"\" [\"event: message\" \"data: \" \"data: \"] event \"message\" id \"\" retry \"\" cont\n\"{}\" [\"data: \"]\n"
	if got := told(events, rest); got != want {
		t.Errorf("got:\n%swant:\n%s", got, want)
	}
}

// FuzzScan: however a stream is cut, the data is that of a plain parse of the whole,
// and what is given out makes up the stream again.
func FuzzScan(f *testing.F) {
	f.Add("event: message\ndata: {}\n\nid: 1\ndata: 2\n\n", uint8(3))
	f.Add(": c\r\ndata: a\r\ndata: b\r\n\r\ndata\r\rdata: x", uint8(1))
	f.Add("\ufeffdata: 1\n\n\ufeffdata: 2\n\n", uint8(2))
	f.Add("data: a\r\r\n\rdata: b\r\n\r", uint8(1))
	f.Fuzz(func(t *testing.T, stream string, size uint8) {
		var chunks []string
		for rest := stream; rest != ""; {
			n := min(len(rest), int(size)+1)
			chunks, rest = append(chunks, rest[:n]), rest[n:]
		}
		events, rest := scanAll(chunks...)
		var wire, data []byte
		for i, ev := range events {
			wire = append(wire, streamable.JoinEvent(ev.Meta, ev.Data, i == 0)...)
			if len(ev.Data) > 0 {
				data = append(append(data, ev.Data...), 0)
			}
		}
		if wire = append(wire, rest...); string(wire) != stream {
			t.Errorf("%q in chunks of %d makes up %q", stream, int(size)+1, wire)
		}
		if want := plainParse(stream); string(data) != want {
			t.Errorf("%q in chunks of %d: data %q, want %q", stream, int(size)+1, data, want)
		}
	})
}

// plainParse reads a whole stream by the letter of the specification and returns the
// data of its events, each ended by a NUL.
func plainParse(stream string) string {
	stream = strings.TrimPrefix(stream, "\ufeff")
	stream = strings.ReplaceAll(strings.ReplaceAll(stream, "\r\n", "\n"), "\r", "\n")
	var out strings.Builder
	for {
		block, rest, whole := strings.Cut("\n"+stream, "\n\n")
		if !whole {
			return out.String()
		}
		stream = rest
		var data []string
		for _, line := range strings.Split(block, "\n") {
			if name, value, _ := strings.Cut(line, ":"); name == "data" {
				data = append(data, strings.TrimPrefix(value, " "))
			}
		}
		if joined := strings.Join(data, "\n"); joined != "" {
			out.WriteString(joined + "\x00")
		}
	}
}

// An event without end, of what is not data, is logged whole and is not held.
func TestEndlessEvent(t *testing.T) {
	for name, c := range map[string]struct{ head, piece string }{
		"comment": {": ", "x"}, "field": {"id: ", "x"}, "lines": {"", "data: x\n"}, "comments": {"", ":\n"},
	} {
		t.Run(name, func(t *testing.T) {
			b := openBody("text/event-stream", "")
			wire := c.head + strings.Repeat(c.piece, 2*eventLimit/len(c.piece))
			logged, more := 0, false
			for rest := wire; len(rest) > 0; {
				n := min(len(rest), bufferSize)
				items, _ := b.cut([]byte(rest[:n]), bodyOpen)
				for _, it := range items {
					if logged += len(it.Payload); it.Info != nil {
						logged += len(it.Info.Body)
					}
					more = it.More
				}
				if rest = rest[n:]; b.sse.Held() > eventLimit+bufferSize {
					t.Fatalf("%d bytes are held", b.sse.Held())
				}
			}
			if c.piece != "data: x\n" && logged != len(wire) {
				t.Errorf("%d bytes of %d are logged", logged, len(wire))
			}
			if more {
				t.Error("a frame is left open")
			}
		})
	}
}

// A body that decodes to very much is not decoded at once.
func TestDecodeBomb(t *testing.T) {
	var wire bytes.Buffer
	z := gzip.NewWriter(&wire)
	_, _ = z.Write(make([]byte, 24<<20))
	_ = z.Close()
	f := &largest{}
	rt, tt := tapClient(t, func(r *http.Request) (*http.Response, error) {
		resp := answer("application/json", bytes.NewReader(wire.Bytes()))
		resp.Header.Set("Content-Encoding", "gzip")
		return resp, nil
	}, Options{Open: opening(t, f)})
	resp, err := ask(t, rt, `{}`)
	if err != nil {
		t.Fatal(err)
	}
	if b, err := io.ReadAll(resp.Body); !bytes.Equal(b, wire.Bytes()) || err != nil {
		t.Errorf("passed %d bytes, %v", len(b), err)
	}
	tt.tap.Close()
	if f.part > 2<<20 || f.all < 24<<20 {
		t.Errorf("%d bytes at once, %d in all", f.part, f.all)
	}
}

// largest remembers the size of the largest write.
type largest struct {
	forgetful
	part, all int
}

func (l *largest) Spool(context.Context, store.Event) (store.Spool, error) { return l, nil }

func (l *largest) Write(parts []store.Part) error {
	size := 0
	for i := range parts {
		size += len(parts[i].Payload)
	}
	l.part = max(l.part, size)
	l.all += size
	return nil
}
