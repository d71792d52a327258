package recorder

import "testing"

// What is still open when the server has exited may be given up only if nobody
// can be waiting for it.
func TestAbandoned(t *testing.T) {
	for _, tt := range []struct {
		name     string
		c2s, s2c int32
		want     bool
	}{
		{"output in hand: the client reads slowly", ended, writing, false},
		{"a grandchild serves on", reading, reading, false},
		{"a grandchild holds the output of a session that is over", ended, reading, true},
		{"only standard error is held", reading, ended, true},
	} {
		var f flows
		f.c2s.set(tt.c2s)
		f.s2c.set(tt.s2c)
		if got := f.abandoned(); got != tt.want {
			t.Errorf("%s: abandoned %v, want %v", tt.name, got, tt.want)
		}
	}
}
