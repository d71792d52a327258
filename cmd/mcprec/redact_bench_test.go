package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcprec/mcprec/recorder"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/boltstore"
	"github.com/mcprec/mcprec/transport"
)

// frameOf returns a frame of so many bytes, without a secret, of a kind of text.
func frameOf(b *testing.B, kind string, size int) string {
	var text []byte
	switch kind {
	case "base64": // an image
		rnd := rand.New(rand.NewPCG(1, 2))
		raw := make([]byte, size)
		for i := range raw {
			raw[i] = byte(rnd.Uint32())
		}
		text = []byte(base64.StdEncoding.EncodeToString(raw))
	case "json": // what tools answer, in a string
		for i := 0; len(text) < size; i++ {
			text = fmt.Appendf(text, `{"id":%d,"name":"item %d","tags":["a","b"],"ok":true,"at":"2026-01-01T00:00:00Z"},`, i, i)
		}
	default: // files, as tools read them
		file := filesOf(b, map[string]string{"page": "../../*/doc.go", "code": "../../replay/*er.go"}[kind])
		for text = file; len(text) < size; {
			text = append(text, file...)
		}
	}
	quoted, err := json.Marshal(string(text[:size]))
	if err != nil {
		b.Fatal(err)
	}
	head := `{"jsonrpc":"2.0","id":12,"result":{"_meta":{"progressToken":7},"content":[{"type":"text","text":`
	tail := `}],"isError":false}}` + "\n"
	quoted = quoted[:max(20, size-len(head)-len(tail)-1)]
	return head + strings.TrimRight(string(quoted), `\u0123456789abcdef`) + `"` + tail
}

// filesOf returns what is in files.
func filesOf(b *testing.B, pattern string) (text []byte) {
	names, err := filepath.Glob(pattern)
	if err != nil || len(names) == 0 {
		b.Fatal(pattern, err)
	}
	for _, name := range names {
		file, err := os.ReadFile(name)
		if err != nil {
			b.Fatal(err)
		}
		text = append(text, file...)
	}
	return text
}

// passTime returns how long frames take through a tap and two pipes into a spool.
func passTime(b *testing.B, frame string, n int, options ...recorder.Option) time.Duration {
	db, err := boltstore.Open(b.TempDir(), boltstore.Options{Sync: boltstore.SyncNone})
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	rec, err := recorder.New(context.Background(), db, store.Header{Transport: "stdio"}, options...)
	if err != nil {
		b.Fatal(err)
	}
	in, src, err := os.Pipe()
	if err != nil {
		b.Fatal(err)
	}
	dst, out, err := os.Pipe()
	if err != nil {
		b.Fatal(err)
	}
	start := time.Now()
	go func() {
		for range n {
			io.WriteString(src, frame)
		}
		src.Close()
	}()
	go func() {
		rec.Tap(transport.ServerToClient).Pass(out, in)
		out.Close()
	}()
	if _, err := io.Copy(struct{ io.Writer }{io.Discard}, dst); err != nil {
		b.Fatal(err)
	}
	took := time.Since(start)
	if sum := rec.Close(); sum.Frames != uint64(n) || sum.Err != nil {
		b.Fatalf("%+v", sum)
	}
	return took
}

// BenchmarkRedact sets recording with redaction beside recording without, taking turns
// in one run. The metrics are ratios of medians of the speed: 1 is no loss.
func BenchmarkRedact(b *testing.B) {
	b.Setenv("SOME_API_KEY", "abcdef0123456789")
	for _, kind := range []string{"page", "code", "json", "base64"} {
		for _, size := range []int{200, 2000, 64000} {
			b.Run(fmt.Sprint(kind, "/", size), func(b *testing.B) {
				frame, n := frameOf(b, kind, size), 16<<20/size
				var times [2][]time.Duration
				for b.Loop() {
					for range 5 {
						times[0] = append(times[0], passTime(b, frame, n))
						times[1] = append(times[1], passTime(b, frame, n, recorder.Redact(nil)))
					}
				}
				b.ReportMetric(ratio(times), "speed/unredacted")
				b.ReportMetric(16000/float64(median(times[0]).Milliseconds()+1), "MBs-redact")
				b.ReportMetric(16000/float64(median(times[1]).Milliseconds()+1), "MBs-raw")
			})
		}
	}
}
