package recorder

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/mcprec/mcprec/store"
)

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
				n := min(len(rest), readSize)
				items, _ := b.cut([]byte(rest[:n]), bodyOpen)
				for _, it := range items {
					if logged += len(it.payload); it.info != nil {
						logged += len(it.info.Body)
					}
					more = it.more
				}
				if rest = rest[n:]; b.sse.Held() > eventLimit+readSize {
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
	}, HTTPOptions{Open: opening(t, f)})
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
