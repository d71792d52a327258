package recorder

import "testing"

// What is still open when the server has exited may be given up only if nobody
// can be waiting for it.
func TestPatience(t *testing.T) {
	for _, tt := range []struct {
		name     string
		c2s, s2c int32
		want     int
	}{
		{"output in hand: the client reads slowly", ended, writing, -1},
		{"a grandchild serves on", reading, reading, -1},
		{"a grandchild holds the output of a session that is over", ended, reading, 10},
		{"only standard error is held", reading, ended, 1},
	} {
		var f flows
		f.c2s.set(tt.c2s)
		f.s2c.set(tt.s2c)
		if got := f.patience(); got != tt.want {
			t.Errorf("%s: patience %d, want %d", tt.name, got, tt.want)
		}
	}
}
