package mask

import (
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"
)

// BenchmarkCost masks N and 2N bytes of each of the worst texts. It measures the processor's time, not the clock's:
// of 2N at most 2.6 times that of N, if that is no trifle, and of N at most mostOfOrdinary times that of an ordinary text.
func BenchmarkCost(b *testing.B) {
	const (
		size           = 40_000
		mostOfOrdinary = 150
	)
	m := newMasker(b, Rules{})
	for form, mask := range forms {
		took := func(text string) time.Duration { return processorTime(func() { mask(m, text) }) }
		ordinary := took(ordinaryText(size))
		for _, word := range worstTexts {
			b.Run(form+"/"+strings.ReplaceAll(word, "/", "_"), func(b *testing.B) {
				once, twice := took(strings.Repeat(word, size/len(word))), took(strings.Repeat(word, 2*size/len(word)))
				for b.Loop() {
				}
				b.ReportMetric(0, "ns/op")
				b.ReportMetric(float64(twice)/float64(once), "x/2N")
				b.ReportMetric(float64(once)/float64(ordinary), "x/ordinary")
				if float64(twice) > 2.6*float64(max(once, 4*ordinary)) {
					b.Errorf("%q: %v of %d bytes, and %v of twice as many", word, once, size, twice)
				}
				if once > mostOfOrdinary*ordinary {
					b.Errorf("%q: %v of %d bytes, and %v of an ordinary text", word, once, size, ordinary)
				}
			})
		}
	}
}

// processorTime returns the least time of the processor that f takes of several runs.
func processorTime(f func()) time.Duration {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	now := func() time.Duration {
		const clock = 3 // CLOCK_THREAD_CPUTIME_ID
		var t syscall.Timespec
		if _, _, errno := syscall.Syscall(syscall.SYS_CLOCK_GETTIME, clock, uintptr(unsafe.Pointer(&t)), 0); errno != 0 {
			panic(errno)
		}
		return time.Duration(t.Nano())
	}
	least := time.Duration(1 << 62)
	for range 5 {
		start := now()
		f()
		least = min(least, now()-start)
	}
	return least
}
