package output

import (
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// Nothing is drawn in the first second, then a line in 200 ms at most, and nothing is left.
func TestProgress(t *testing.T) {
	var out strings.Builder
	p := ProgressOn(&out, 12)
	for tenths := range 14 {
		p.Draw(time.Duration(tenths)*time.Second/10, func() string { return "at " + string(rune('a'+tenths)) })
	}
	if got, want := strings.Split(out.String(), eraseLine), []string{"", "at k", "at m"}; !slices.Equal(got, want) {
		t.Errorf("drawn %q, want %q", got, want)
	}
	out.Reset()
	p.Draw(time.Minute, func() string { return "longer than the terminal" })
	p.Erase()
	p.Erase()
	if want := eraseLine + "longer t..." + eraseLine; out.String() != want {
		t.Errorf("drawn %q, want %q", out.String(), want)
	}
	short := NewProgress(&out)
	out.Reset()
	short.Draw(time.Minute, func() string { return "no terminal" })
	if short.Erase(); out.Len() > 0 {
		t.Errorf("drawn where no terminal is: %q", out.String())
	}
}

// During and Reader draw by themselves, and take the line away.
func TestProgressDuring(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		end := ProgressOn(&out, 80).During(func() string { return "works" })
		time.Sleep(1300 * time.Millisecond)
		synctest.Wait()
		end()
		if want := eraseLine + "works" + eraseLine + "works" + eraseLine; out.String() != want {
			t.Errorf("drawn %q, want %q", out.String(), want)
		}
		time.Sleep(time.Second)
		out.Reset()
		slow := &slowReader{reads: 3}
		read, err := io.ReadAll(ProgressOn(&out, 80).Reader(slow, func(passed int64) string { return strings.Repeat("x", int(passed)) }))
		if want := eraseLine + "xx" + eraseLine + "xxx" + eraseLine; len(read) != 3 || err != nil || out.String() != want {
			t.Errorf("read %q, %v, drawn %q, want %q", read, err, out.String(), want)
		}
	})
}

// slowReader gives a byte each 600 ms.
type slowReader struct{ reads int }

func (r *slowReader) Read(b []byte) (int, error) {
	if r.reads == 0 {
		return 0, io.EOF
	}
	time.Sleep(600 * time.Millisecond)
	r.reads--
	b[0] = 'x'
	return 1, nil
}
