package redact

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// frameWith returns a frame of about so many bytes around a text.
func frameWith(text []byte, size int) []byte {
	const head, tail = `{"jsonrpc":"2.0","id":12,"result":{"_meta":{"progressToken":7},"content":[{"type":"text","text":`, `}],"isError":false}}` + "\n"
	for len(text) < size {
		text = append(text, text...)
	}
	n := max(10, size-len(head)-len(tail))
	for {
		b, _ := json.Marshal(string(bytes.ToValidUTF8(text[:n], nil)))
		if len(b) <= size-len(head)-len(tail) || n < 20 {
			return append(append([]byte(head), b...), tail...)
		}
		n = n * 19 / 20
	}
}

// samples returns texts of several kinds.
func samples(tb testing.TB) map[string][]byte {
	read := func(pattern string) (all []byte) {
		names, err := filepath.Glob(pattern)
		if err != nil || len(names) == 0 {
			tb.Fatal(pattern, err)
		}
		for _, n := range names {
			b, err := os.ReadFile(n)
			if err != nil {
				tb.Fatal(err)
			}
			all = append(all, b...)
		}
		return all
	}
	raw := make([]byte, 96<<10)
	rnd := rand.New(rand.NewPCG(1, 2))
	for i := range raw {
		raw[i] = byte(rnd.Uint32())
	}
	return map[string][]byte{
		"prose":  read("../../README.md")[2000:],
		"code":   read("../*.go"),
		"base64": []byte(base64.StdEncoding.EncodeToString(raw)),
		"json":   read("../../fixtures/*.jsonl"),
	}
}

// BenchmarkStream says what a byte costs at best, of frames that come as a pipe is read.
func BenchmarkStream(b *testing.B) {
	r := newRedactor(b, Rules{Values: []string{"abcdef0123456789"}})
	for name, text := range samples(b) {
		for _, size := range []int{200, 2000, 64000} {
			b.Run(fmt.Sprint(name, "/", size), func(b *testing.B) {
				all := bytes.Repeat(frameWith(text, size), max(1, 1<<20/size))
				b.SetBytes(int64(len(all)))
				least := time.Hour
				for b.Loop() {
					start := time.Now()
					s := r.Stream(false)
					for from := 0; from < len(all); from += 64 << 10 {
						chunk := all[from:min(len(all), from+64<<10)]
						for len(chunk) > 0 {
							piece, rest, ended := bytes.Cut(chunk, []byte("\n"))
							s.Next(piece, !ended)
							chunk = rest
						}
					}
					least = min(least, time.Since(start))
				}
				b.ReportMetric(float64(least)/float64(len(all)), "ns/B")
			})
		}
	}
}

// BenchmarkEndless says what a byte costs of runs in which a secret may begin everywhere:
// what does not depend on their length is as much as a peer can ask for.
func BenchmarkEndless(b *testing.B) {
	r := newRedactor(b, Rules{})
	for _, beginning := range []string{"token", "credential:", "?code=-", "pk--", "jwt=jwt.", "eyJ.", "apiversion "} {
		for _, size := range []int{10_000, 1_000_000} {
			b.Run(fmt.Sprint(beginning, "/", size), func(b *testing.B) {
				frame := []byte(`{"x":"` + strings.Repeat(beginning, size/len(beginning)) + `"}`)
				b.SetBytes(int64(len(frame)))
				for b.Loop() {
					r.Frame(frame)
				}
			})
		}
	}
}
