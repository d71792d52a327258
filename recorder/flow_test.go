package recorder

import "testing"

// What is still open when the server has exited may be given up only if nobody
// can be waiting for it.
func TestPatience(t *testing.T) {
	for _, tt := range []struct {
		name     string
		c2s, s2c int32
		want     int
		by       string // whose doing it is, when it is given up
	}{
		{"output in hand: the client reads slowly", ended, writing, -1, "receiver"},
		{"output in hand: the client no longer reads", reading, writing, -1, "receiver"},
		{"a grandchild serves on", reading, reading, -1, "recorder"},
		{"a grandchild holds the output of a session that is over", ended, reading, 10, "recorder"},
		{"only standard error is held", reading, ended, 1, "recorder"},
	} {
		var f flows
		f.c2s.set(tt.c2s)
		f.s2c.set(tt.s2c)
		if got := f.patience(); got != tt.want {
			t.Errorf("%s: patience %d, want %d", tt.name, got, tt.want)
		}
		if got := f.leftOpen().By; got != tt.by {
			t.Errorf("%s: eof by the %s, want the %s", tt.name, got, tt.by)
		}
	}
}
