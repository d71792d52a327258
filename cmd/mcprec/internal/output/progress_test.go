package output

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// Nothing is drawn in the first second, then a line in 200 ms at most, and nothing is left.
func TestProgress(t *testing.T) {
	var out strings.Builder
	p := &Progress{w: &out, width: 12, next: progressAfter}
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
