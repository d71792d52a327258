package recorder

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"

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
	b.open(transport.ServerToClient, http.Header{"Content-Type": {contentType}, "Content-Encoding": {coding}}, -1, false)
	return b
}

// frames returns what the items hold of frames, and of what is none.
func frames(items []item) (text, other string) {
	for _, it := range items {
		if it.info != nil {
			other += it.info.What + it.info.Coding + it.info.Body + string(it.info.Body64) + ";"
			continue
		}
		if text += string(it.payload); !it.more {
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
					var items []item
					items, end = b.cut(chunk, bodyOpen)
					if len(b.plain) > 2*outLimit {
						t.Fatalf("%d bytes at once", len(b.plain))
					}
					for _, it := range items {
						if got += len(it.info.Body); it.info.Coding == "damaged" {
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
