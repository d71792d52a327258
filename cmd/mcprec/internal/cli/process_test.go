package cli

import (
	"runtime/debug"
	"testing"
)

// Whoever ends first, the limit of the process is at the end what it was.
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
