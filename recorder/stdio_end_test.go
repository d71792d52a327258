package recorder

import (
	"testing"
	"time"
)

// What is still open when the server has exited may be given up only if nobody can be
// waiting for it.
func TestLimits(t *testing.T) {
	const own, others = false, true
	for _, tt := range []struct {
		name              string
		c2s, s2c, stderr  int32
		drained           bool // of both outputs
		heard, asked      bool
		wantQuiet, wantIn time.Duration
		by                string // whose doing it is, when it is given up; "": it is not
	}{
		{"the server's own in hand: the client reads slowly", ended, writing, ended, own, false, false, forever, forever, "receiver"},
		{"the server's own in hand: the client no longer reads", reading, writing, ended, own, false, false, forever, forever, "receiver"},
		{"the same, and a signal asks to end", reading, writing, ended, own, true, true, Linger, forever, "receiver"},
		{"the server's own in the pipe, and a signal asks to end", reading, reading, reading, own, true, true, forever, forever, "receiver"},
		{"only standard error's own is left, and nobody takes it", reading, ended, writing, own, false, false, Linger, forever, ""},
		{"only standard error's own is left, in the pipe", reading, ended, reading, own, false, false, forever, forever, ""},
		{"another process serves on", reading, reading, reading, others, true, false, forever, forever, "recorder"},
		{"another process serves on, and a signal asks to end", reading, reading, reading, others, true, true, 0, 0, "recorder"},
		{"another process writes without end, and a signal asks to end", reading, writing, writing, others, false, true, 0, 0, "recorder"},
		{"another process holds the output and cannot hear the client", reading, reading, reading, others, false, false, Grace, forever, "recorder"},
		{"another process's output is in hand", reading, writing, reading, others, false, false, forever, forever, "recorder"},
		{"another process holds the output of a client that has ended", ended, reading, reading, others, true, false, Grace, Linger, "recorder"},
		{"another process writes to a client that has ended", ended, writing, reading, others, true, false, Grace, Linger, "recorder"},
		{"only standard error is held", reading, ended, reading, others, true, false, Grace, Linger, ""},
	} {
		f := newEnding()
		f.c2s.set(tt.c2s)
		f.s2c.set(tt.s2c)
		f.stderr.set(tt.stderr)
		f.asked = tt.asked
		f.s2c.drained.Store(tt.drained)
		f.stderr.drained.Store(tt.drained)
		if quiet, in := f.limits(tt.heard); quiet != tt.wantQuiet || in != tt.wantIn {
			t.Errorf("%s: given up when quiet for %v, and in %v; want %v and %v", tt.name, quiet, in, tt.wantQuiet, tt.wantIn)
		}
		if got := f.eofInfo().By; tt.by != "" && got != tt.by {
			t.Errorf("%s: eof by the %s, want the %s", tt.name, got, tt.by)
		}
	}
}
