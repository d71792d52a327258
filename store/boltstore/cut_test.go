package boltstore

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// image is n random bytes in base64.
func image(seed uint64, n int) string {
	b := make([]byte, n)
	r := rand.NewChaCha8([32]byte{byte(seed)})
	_, _ = r.Read(b)
	return base64.StdEncoding.EncodeToString(b)
}

func pieces(b []byte) (list []string) {
	var c cutter
	for len(b) > 0 {
		n := c.cut(b)
		list, b = append(list, string(b[:n])), b[n:]
	}
	return list
}

// What is the same in two payloads is the same pieces, all of an image in base64.
func TestCutShares(t *testing.T) {
	one, two := image(1, 1<<20), image(2, 300<<10)
	var prose strings.Builder
	for i := range 60000 {
		fmt.Fprintf(&prose, `line %d says \"%x\"\n`, i, i*i)
	}
	for _, c := range []struct {
		name, a, b string
		most       int // bytes of b that are not in a
	}{
		{"image", `{"id":1,"data":"` + one + `"}`, `{"jsonrpc":"2.0","id":22222,"result":{"content":[{"data":"` + one + `","mimeType":"image/png"}]}}`, 200},
		{"image twice", one, `"` + one + `","` + one + `"`, 20},
		{"another before it", `["` + one + `"]`, `["` + two + `","` + one + `"]`, len(two) + 20},
		{"in a string", `{"text":"{\"data\":\"` + one + `\"}"}`, `{"text":"{\"x\":1,\"data\":\"` + one + `\"}"}`, 200},
		{"text", `{"id":1,"text":"` + prose.String() + `"}`, `{"id":10000,"text":"` + prose.String() + `"}`, 400 << 10},
		{"text in the middle", prose.String(), prose.String()[:700000] + "inserted" + prose.String()[700000:], 600 << 10},
	} {
		have := map[string]bool{}
		for _, p := range pieces([]byte(c.a)) {
			have[p] = true
		}
		other := 0
		for _, p := range pieces([]byte(c.b)) {
			if !have[p] {
				other += len(p)
			}
		}
		if other > c.most {
			t.Errorf("%s: %d of %d bytes are in pieces of their own", c.name, other, len(c.b))
		}
	}
}

// A cut depends on what follows up to cutAhead only, and pieces are neither empty nor too
// long.
func TestCutAhead(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for n := range 40 {
		b := []byte(image(uint64(n), 1<<20))
		for range r.IntN(60) {
			b[r.IntN(len(b))] = '"'
		}
		if n%4 == 0 {
			b = bytes.Repeat([]byte{byte(n)}, 1<<20)
		}
		var whole, part cutter
		for rest := b; len(rest) > 0; {
			k, l := whole.cut(rest), part.cut(rest[:min(len(rest), cutAhead)])
			if k != l || whole != part || k < 1 || k > maxPiece {
				t.Fatalf("%d: %d bytes left: cut at %d and at %d", n, len(rest), k, l)
			}
			rest = rest[k:]
		}
	}
}
