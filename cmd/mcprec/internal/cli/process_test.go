package cli

import (
	"runtime/debug"
	"testing"
)

// TestLimitMemory holds that the limit lasts until the last user has ended, also when the first ends before the second,
// and that the process then has the limit that it had.
func TestLimitMemory(t *testing.T) {
	before := debug.SetMemoryLimit(-1)
	endFirst, endSecond := LimitMemory(), LimitMemory()
	for _, step := range []struct {
		end  func()
		want int64
	}{{func() {}, memoryLimit}, {endFirst, memoryLimit}, {endSecond, before}} {
		step.end()
		if got := debug.SetMemoryLimit(-1); got != step.want {
			t.Errorf("the limit is %d, want %d", got, step.want)
		}
	}
}
