package httptap

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/url"
	"strings"
	"testing"
)

// FuzzBody: of a body the log has the same messages in whatever chunks it came, and of a
// damaged one too it holds no more decoded than a chunk can stand for.
func FuzzBody(f *testing.F) {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, _ = io.WriteString(w, "data: {}\n\ndata: "+strings.Repeat("a", 300)+"\n\n")
	_ = w.Close()
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"result":{}}`), uint8(0), uint8(0), uint8(7))
	f.Add(packed.Bytes(), uint8(1), uint8(1), uint8(3))
	f.Add(packed.Bytes()[:20], uint8(1), uint8(1), uint8(20))
	f.Add([]byte("\x78\x9cdata: \n\n"), uint8(1), uint8(2), uint8(1))
	f.Add([]byte("<html>"), uint8(2), uint8(3), uint8(2))
	f.Fuzz(func(t *testing.T, wire []byte, kind, coding, size uint8) {
		kinds, codings := []string{"application/json", "text/event-stream", "text/html"}, []string{"", "gzip", "deflate", "br", "zstd"}
		open := func() *body { return openBody(kinds[int(kind)%len(kinds)], codings[int(coding)%len(codings)]) }
		whole, small := open(), open()
		want, _, spoilt := cutAll(t, whole, wire, len(wire)+1)
		got, other, _ := cutAll(t, small, wire, int(size)+1)
		if !spoilt && got != want {
			t.Errorf("%q in chunks of %d: %q, want %q", wire, int(size)+1, got, want)
		}
		if coded := int(coding)%len(codings) != 0; !coded && int(kind)%len(kinds) != 1 && strings.TrimSuffix(got, ";")+other != string(wire) {
			t.Errorf("%q is logged as %q and %q", wire, got, other)
		}
	})
}

// cutAll cuts a body into what is logged of it: its frames, the bytes of what is none,
// and whether its coding is damaged.
func cutAll(t *testing.T, b *body, wire []byte, size int) (text, other string, spoilt bool) {
	t.Helper()
	for chunk, end := wire, bodyOpen; end == bodyOpen; {
		now := chunk[:min(size, len(chunk))]
		if chunk = chunk[len(now):]; len(now) == 0 {
			end = bodyWhole
		}
		for again := true; again; again, now = b.full(), nil {
			items, _ := b.cut(now, end)
			if len(b.plain) > 2*outLimit {
				t.Fatalf("%d bytes are held of a chunk of %d", len(b.plain), len(now))
			}
			frames, _ := frames(items)
			text += frames
			for _, it := range items {
				if it.Info != nil {
					other += it.Info.Body + string(it.Info.Body64)
					spoilt = spoilt || it.Info.Coding == "damaged"
				}
			}
		}
	}
	return text, other, spoilt
}

// FuzzEndpoint: of a stream of HTTP+SSE nothing but the data of an endpoint event is
// changed, in whatever chunks it comes, and that never leads to another server.
func FuzzEndpoint(f *testing.F) {
	f.Add([]byte("event: endpoint\ndata: /messages?id=1\n\ndata: {}\n\n"), uint8(3))
	f.Add([]byte(": hello\r\n\r\nevent: endpoint\r\ndata: http://server:1/m\r\n\r\n"), uint8(1))
	f.Add([]byte("event: message\ndata: x"), uint8(200))
	f.Fuzz(func(t *testing.T, stream []byte, size uint8) {
		read := func(n int) string {
			b := endpointBody{ReadCloser: io.NopCloser(&stuttering{stream, n}), target: parsed(t, "http://server:1/sse"), client: parsed(t, "http://proxy:2/sse")}
			out, err := io.ReadAll(&b)
			if err != nil {
				t.Fatal(err)
			}
			return string(out)
		}
		whole := read(len(stream) + 1)
		if got := read(int(size) + 1); got != whole {
			t.Errorf("%q in chunks of %d: %q, want %q", stream, int(size)+1, got, whole)
		}
		if !bytes.Contains(stream, []byte("endpoint")) && whole != string(stream) {
			t.Errorf("%q became %q", stream, whole)
		}
		if strings.Count(whole, "\n")+strings.Count(whole, "\r") != bytes.Count(stream, []byte("\n"))+bytes.Count(stream, []byte("\r")) {
			t.Errorf("%q has other lines than %q", whole, stream)
		}
	})
}

func parsed(t *testing.T, text string) *url.URL {
	t.Helper()
	u, err := url.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// stuttering gives out n bytes at a time.
type stuttering struct {
	b []byte
	n int
}

func (s *stuttering) Read(p []byte) (int, error) {
	if len(s.b) == 0 {
		return 0, io.EOF
	}
	n := copy(p, s.b[:min(s.n, len(s.b))])
	s.b = s.b[n:]
	return n, nil
}
