package httptap

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"fmt"
	"github.com/mcprec/mcprec/recorder"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
)

// flusher is a compressing writer.
type flusher interface {
	io.WriteCloser
	Flush() error
}

func compressors() map[string]func(io.Writer) flusher {
	return map[string]func(io.Writer) flusher{
		"gzip":    func(w io.Writer) flusher { return gzip.NewWriter(w) },
		"deflate": func(w io.Writer) flusher { return zlib.NewWriter(w) },
		"br":      func(w io.Writer) flusher { return brotli.NewWriter(w) },
		"zstd": func(w io.Writer) flusher {
			e, _ := zstd.NewWriter(w, zstd.WithEncoderConcurrency(1))
			return e
		},
		"deflate bare": func(w io.Writer) flusher {
			f, _ := flate.NewWriter(w, flate.DefaultCompression)
			return f
		},
	}
}

// openBody returns a response's body with the headers.
func openBody(contentType, coding string) *body {
	b := &body{}
	b.open(transport.ServerToClient, http.Header{"Content-Type": {contentType}, "Content-Encoding": {coding}}, -1, true)
	return b
}

// frames returns what the items hold of frames, and of what is none.
func frames(items []recorder.Item) (text, other string) {
	for _, it := range items {
		if it.Info != nil {
			other += it.Info.What + it.Info.Coding + it.Info.Body + string(it.Info.Body64) + ";"
			continue
		}
		if text += string(it.Payload); !it.More {
			text += ";"
		}
	}
	return text, other
}

// A compressed event is in the log as soon as it was flushed, whatever the chunks.
func TestDecodeStream(t *testing.T) {
	for name, compress := range compressors() {
		t.Run(name, func(t *testing.T) {
			b := openBody("text/event-stream", strings.Fields(name)[0])
			var wire bytes.Buffer
			w := compress(&wire)
			for _, event := range []string{"1", "22", strings.Repeat("3", 100_000)} {
				_, _ = io.WriteString(w, "event: message\ndata: "+event+"\n\n")
				_ = w.Flush()
				got := ""
				for wire.Len() > 0 {
					items, end := b.cut(wire.Next(7), bodyOpen)
					text, other := frames(items)
					if got += text; other != "" || end != bodyOpen {
						t.Fatalf("end %v, other %q", end, other)
					}
				}
				if got != event+";" {
					t.Fatalf("got %d bytes of %d", len(got), len(event))
				}
			}
			_ = w.Close()
			if items, _ := b.cut(wire.Bytes(), bodyWhole); len(items) > 0 {
				t.Errorf("the end gives %v", items)
			}
		})
	}
}

func TestDecodeFrame(t *testing.T) {
	for _, c := range []struct{ name, coding, wire, text, other string }{
		{"none", "", "{}", "{};", ""},
		{"identity", "identity", "{}", "{};", ""},
		{"one that is not known", "dcb", "\x01\x02", "", "bodydcb\x01\x02;"},
		{"damaged", "gzip", "no gzip at all", "", "bodydamagedno gzip at all;"},
		{"empty", "gzip", "", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			items, _ := openBody("application/json", c.coding).cut([]byte(c.wire), bodyWhole)
			if text, other := frames(items); text != c.text || other != c.other {
				t.Errorf("frames %q, other %q; want %q, %q", text, other, c.text, c.other)
			}
		})
	}
}

// However much a few coded bytes become, it is cut a bounded stretch at a time; what becomes
// more than any honest body is not decoded any more.
func TestDecodeFew(t *testing.T) {
	for name, compress := range compressors() {
		for _, size := range []int{3 << 20, ratioFrom + 8<<20} {
			t.Run(fmt.Sprint(name, size), func(t *testing.T) {
				t.Parallel()
				var wire bytes.Buffer
				w := compress(&wire)
				zeros := make([]byte, 1<<20)
				for range size >> 20 {
					_, _ = w.Write(zeros)
				}
				_ = w.Close()
				b, got, end, spoilt := openBody("text/plain", strings.Fields(name)[0]), 0, bodyOpen, false
				b.left = int64(wire.Len())
				for chunk, again := wire.Bytes(), true; again; chunk, again = nil, b.full() {
					var items []recorder.Item
					items, end = b.cut(chunk, bodyOpen)
					if len(b.plain) > 2*outLimit {
						t.Fatalf("%d bytes at once", len(b.plain))
					}
					for _, it := range items {
						if got += len(it.Info.Body); it.Info.Coding == "damaged" {
							spoilt = true
						}
					}
				}
				if bomb := size > ratioLimit*wire.Len() && size > ratioFrom; end != bodyWhole || spoilt != bomb || !bomb && got != size {
					t.Errorf("%d bytes became %d, end %v, spoilt %v", wire.Len(), got, end, spoilt)
				}
			})
		}
	}
}

// What decodes to nothing is not held for ever.
func TestDecodeNothing(t *testing.T) {
	b := openBody("application/json", "gzip")
	held := 0
	for chunk := gzipHead; held <= 2*heldLimit; chunk = bytes.Repeat([]byte("\x00\x00\x00\xff\xff"), 200) { // empty blocks
		_, _ = b.cut(chunk, bodyOpen)
		if held += len(chunk); b.code == nil {
			return
		}
	}
	t.Errorf("%d bytes are held", held)
}

// What came before the damage is kept also when both come at once, and so are the coded
// bytes of a body that ends too early.
func TestDecodeDamagedAtOnce(t *testing.T) {
	var wire bytes.Buffer
	w := gzip.NewWriter(&wire)
	_, _ = io.WriteString(w, "data: 1\n\ndata: half")
	_ = w.Flush()
	damaged := append(bytes.Clone(wire.Bytes()), 0xff, 0xff, 0xff)
	for _, c := range []struct {
		media, text string
		chunk       []byte
		parts       []string
	}{
		{"text/event-stream", "1;", damaged, []string{"data: half", "damaged\xff"}},
		{"text/plain", "", damaged, []string{"data: 1\n\ndata: half", "damaged"}},
		{"application/json", "data: 1\n\ndata: half", damaged, []string{"damaged"}},
		{"text/event-stream", "", wire.Bytes()[:15], []string{"damaged"}},
		{"application/json", "", wire.Bytes()[:15], []string{"damaged"}},
	} {
		b := openBody(c.media, "gzip")
		items, _ := b.cut(c.chunk, bodyWhole)
		text, other := frames(items)
		if !strings.HasPrefix(text, c.text) {
			t.Errorf("%s: frames %q", c.media, text)
		}
		for _, part := range c.parts {
			if !strings.Contains(other, part) {
				t.Errorf("%s: other %q has no %q", c.media, other, part)
			}
		}
	}
}

var gzipHead = []byte("\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff")

// A damaged stream keeps what came before the damage, and then the bytes as they are.
func TestDecodeDamaged(t *testing.T) {
	var wire bytes.Buffer
	w := gzip.NewWriter(&wire)
	_, _ = io.WriteString(w, "data: 1\n\n")
	_ = w.Flush()
	b := openBody("text/event-stream", "gzip")
	items, _ := b.cut(wire.Bytes(), bodyOpen)
	if text, _ := frames(items); text != "1;" {
		t.Errorf("before: %q", text)
	}
	items, _ = b.cut([]byte("\xff\xff\xff\xff"), bodyOpen)
	if _, other := frames(items); !strings.HasPrefix(other, "bodydamaged") {
		t.Errorf("damage: %q", other)
	}
	items, _ = b.cut([]byte("more"), bodyWhole)
	if text, other := frames(items); text != "" || !strings.Contains(other, "more") {
		t.Errorf("after: %q, %q", text, other)
	}
}

// encode applies the codings of a list, the first one first, without a flush where flush
// is false, and begins anew in the middle of the text where members is 2.
func encode(t *testing.T, list, text string, flush bool, members int) []byte {
	t.Helper()
	codings := compressors()
	codings["identity"], codings["x-gzip"] = nil, codings["gzip"]
	coded := []byte(text)
	for _, name := range strings.Split(list, ", ") {
		compress, known := codings[name]
		if !known {
			t.Fatalf("no coding %q", name)
		}
		if compress == nil {
			continue
		}
		var wire bytes.Buffer
		for i := range members {
			w := compress(&wire)
			_, _ = w.Write(coded[i*len(coded)/members : (i+1)*len(coded)/members])
			if flush {
				_ = w.Flush()
			}
			_ = w.Close()
		}
		coded = wire.Bytes()
	}
	return coded
}

// cutCoded has the body cut a wire in chunks, and returns the frames, how the last one
// ended, and what is no frame. Where apart is set the body's end comes after its last byte.
func cutCoded(b *body, wire []byte, chunk int, apart bool) (text string, cut bool, other string) {
	keep := func(items []recorder.Item) {
		frame, rest := frames(items)
		text, other = text+frame, other+rest
		for _, it := range items {
			if it.Kind == store.Frame && !it.More {
				cut = it.Cut
			}
			if it.Info != nil && it.Info.Error != "" {
				other += it.Info.Error
			}
		}
	}
	for len(wire) > chunk || apart && len(wire) > 0 {
		n := min(chunk, len(wire))
		items, _ := b.cut(wire[:n], bodyOpen)
		keep(items)
		wire = wire[n:]
	}
	items, _ := b.cut(wire, bodyWhole)
	keep(items)
	return text, cut, other
}

// Every coding, flushed before it is closed or not, of one member or
// several, in one read or byte by byte, whether or not the end comes with the last byte:
// the log has what was said, and says what is damaged.
func TestCodings(t *testing.T) {
	message := `{"jsonrpc":"2.0","id":1,"result":{"t":"` + strings.Repeat("hello ", 50) + `"}}`
	media := map[string][2]string{
		"application/json":  {message, message + ";"},
		"text/event-stream": {"event: message\ndata: " + message + "\n\nevent: message\ndata: {}\n\n", message + ";{};"},
	}
	for _, c := range []struct {
		coding  string // of Content-Encoding
		applied string // as the compressors are named
		several bool   // it may have several members
	}{
		{"identity", "identity", false}, {"gzip", "gzip", true}, {"x-gzip", "gzip", true}, {"GZIP", "gzip", true}, {"deflate", "deflate", false},
		{"deflate", "deflate bare", false}, {"br", "br", false}, {"zstd", "zstd", true}, {"gzip, identity", "gzip", true},
	} {
		for kind, said := range media {
			for i := range 16 {
				flush, chunk, apart, members := i&1 > 0, []int{1 << 20, 1}[i>>1&1], i&4 > 0, 1+i>>3
				if members > 1 && !c.several {
					continue
				}
				wire := encode(t, c.applied, said[0], flush, members)
				what := fmt.Sprintf("%s as %s, %s, flush %v, chunks of %d, end apart %v, %d members", c.coding, c.applied, kind, flush, chunk, apart, members)
				if text, cut, other := cutCoded(openBody(kind, c.coding), wire, chunk, apart); text != said[1] || cut || other != "" {
					t.Errorf("%s: frames %.90q, cut %v, other %.200q", what, text, cut, other)
				}
				if c.applied == "identity" {
					continue
				}
				for _, missing := range []int{1, len(wire) / 2} {
					text, cut, other := cutCoded(openBody(kind, c.coding), wire[:len(wire)-missing], chunk, apart)
					whole := kind == "application/json" && text != "" && !cut
					if !strings.Contains(other, "damaged") || whole || !strings.HasPrefix(said[1], strings.TrimSuffix(text, ";")) {
						t.Errorf("%s, without %d bytes: frames %.90q, cut %v, other %.200q", what, missing, text, cut, other)
					}
				}
				text, cut, other := cutCoded(openBody(kind, c.coding), append(wire, "what is this"...), chunk, apart)
				if text != said[1] || cut || !strings.Contains(other, "bytes follow its end") {
					t.Errorf("%s, with bytes behind it: frames %.90q, cut %v, other %.200q", what, text, cut, other)
				}
			}
		}
	}
}

// That the end of a coded body is missing is in the log, also where all that came of it is.
func TestCodingCutInLog(t *testing.T) {
	for coding := range compressors() {
		wire := encode(t, coding, "{}", true, 1)
		rt, tt := tapClient(t, func(r *http.Request) (*http.Response, error) {
			_, _ = io.Copy(io.Discard, r.Body)
			resp := answer("application/json", bytes.NewReader(wire[:len(wire)-1]))
			resp.Header.Set("Content-Encoding", strings.Fields(coding)[0])
			return resp, nil
		}, Options{})
		resp, err := ask(t, rt, "{}")
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		tt.tap.Close()
		if log := tt.text(t); !strings.Contains(log, "1 s2c body because\n") || strings.Contains(log, "1 s2c {}\n") {
			t.Errorf("%s, log:\n%s", coding, log)
		}
	}
}

// Several codings in a row are not undone.
func TestCodingsInARow(t *testing.T) {
	wire := encode(t, "gzip, br", "{}", false, 1)
	text, _, other := cutCoded(openBody("application/json", "gzip, br"), wire, 1<<20, false)
	if text != "" || !strings.HasPrefix(other, "bodygzip, br") {
		t.Errorf("frames %q, other %q", text, other)
	}
}

// However a coded body is framed, in either direction, the log has what it says.
func TestCodingsFramed(t *testing.T) {
	text := `{"id":1,"result":{"t":"as it was said"}}`
	framings := map[string]string{
		"length": "Content-Length: %d\r\n\r\n%s", "chunked": "Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n",
		"until the close": "Connection: close\r\nX-Length: %d\r\n\r\n%s",
	}
	for name, framing := range framings {
		for coding := range compressors() {
			t.Run(name+" "+coding, func(t *testing.T) {
				t.Parallel()
				wire := encode(t, coding, text, false, 1)
				tt := tapServer(t, func(w http.ResponseWriter, r *http.Request) {
					_, _ = io.Copy(io.Discard, r.Body)
					conn, _, err := http.NewResponseController(w).Hijack()
					if err != nil {
						t.Error(err)
						return
					}
					defer conn.Close()
					fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Encoding: %s\r\n", strings.Fields(coding)[0])
					fmt.Fprintf(conn, framing, len(wire), wire)
				}, Options{})
				req, _ := http.NewRequest("POST", tt.url, bytes.NewReader(wire))
				req.Header = http.Header{"Content-Type": {"application/json"}, "Content-Encoding": {strings.Fields(coding)[0]}, "Accept-Encoding": {"gzip"}}
				if name == "chunked" {
					req.Body = io.NopCloser(io.MultiReader(bytes.NewReader(wire)))
					req.ContentLength, req.GetBody = -1, nil
				}
				resp, err := http.DefaultTransport.RoundTrip(req)
				if err != nil {
					t.Fatal(err)
				}
				defer resp.Body.Close()
				if got, err := io.ReadAll(resp.Body); err != nil || !bytes.Equal(got, wire) {
					t.Errorf("read %q, %v, want %q", got, err, wire)
				}
				log := tt.text(t)
				for _, dir := range []string{"c2s", "s2c"} {
					if want := "1 " + dir + " " + text + "\n"; !strings.Contains(log, want) {
						t.Errorf("the log has no %s:\n%s", want, log)
					}
				}
				if strings.Contains(log, "damaged") || strings.Contains(log, "because") {
					t.Errorf("log:\n%s", log)
				}
			})
		}
	}
}
