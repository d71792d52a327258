package varint

import (
	"encoding/binary"
	"math"
	"testing"
)

func TestReader(t *testing.T) {
	b := AppendText(Append([]byte{7}, 0, 300, math.MaxUint64), "größe", "")
	r := NewReader(append(b, 2, 'x', 'y'))
	if got := r.Take(1); len(got) != 1 || got[0] != 7 {
		t.Errorf("took %v", got)
	}
	for _, want := range []uint64{0, 300, math.MaxUint64} {
		if got := r.Uint(); got != want {
			t.Errorf("got %d, want %d", got, want)
		}
	}
	if a, b := r.Text(), r.Text(); a != "größe" || b != "" || r.Whole() {
		t.Errorf("got %q, %q", a, b)
	}
	if n := r.Count(); n != 2 || string(r.Take(2)) != "xy" || !r.Whole() {
		t.Errorf("%d follow", n)
	}
}

// Behind what is not there all is 0.
func TestBadReader(t *testing.T) {
	for name, read := range map[string]func(r *Reader){
		"a number without end":    func(r *Reader) { r.Uint() },
		"more than there is":      func(r *Reader) { r.Take(4) },
		"more than can be":        func(r *Reader) { r.Take(math.MaxUint64) },
		"a text without length":   func(r *Reader) { r.Text() },
		"more of them than bytes": func(r *Reader) { r.Take(2); r.Count() },
	} {
		r := NewReader([]byte{0xff, 0xff, 0xff})
		if name == "more of them than bytes" {
			r = NewReader([]byte{1, 1, 9})
		}
		if read(&r); !r.Bad() || r.Whole() || r.Uint() != 0 || r.Text() != "" || r.Count() != 0 || len(r.Take(1)) != 0 {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

func TestSignedAndBytes(t *testing.T) {
	var b []byte
	want := []int64{0, -1, 1, math.MinInt64, math.MaxInt64}
	for _, v := range want {
		b = binary.AppendVarint(b, v)
	}
	r := NewReader(append(b, 9))
	for _, v := range want {
		if got := r.Int(); got != v {
			t.Errorf("got %d, want %d", got, v)
		}
	}
	if n, c := r.Len(), r.Byte(); n != 1 || c != 9 || r.Bad() || r.Byte() != 0 || !r.Bad() {
		t.Errorf("%d bytes left, read %d, bad %v", n, c, r.Bad())
	}
}
