package mask

import (
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"
)

// BenchmarkCost masks N and 2N bytes of each of the worst texts. It measures the processor's time, not the clock's:
// of 2N at most 2.6 times that of N, if that is no trifle, and of N at most mostOfOrdinary times that of an ordinary text.
// The three are measured in turn, and again where a bound is broken: a busy machine is slower for a while, and a text
// that costs too much does so each time. The collector is off meanwhile, for it asks some runs to help, and others not.
func BenchmarkCost(b *testing.B) {
	const (
		size           = 40_000
		mostOfOrdinary = 120
		rounds, most   = 3, 30
	)
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	m := newMasker(b, Rules{})
	for form, mask := range forms {
		for _, word := range worstTexts {
			b.Run(form+"/"+strings.ReplaceAll(word, "/", "_"), func(b *testing.B) {
				const never = time.Duration(1 << 62)
				texts := [3]string{ordinaryText(size), strings.Repeat(word, size/len(word)), strings.Repeat(word, 2*size/len(word))}
				least := [3]time.Duration{never, never, never}
				isSquare := func() bool { return float64(least[2]) > 2.6*float64(max(least[1], 4*least[0])) }
				isMuch := func() bool { return least[1] > mostOfOrdinary*least[0] }
				for round := 0; round < rounds || round < most && (isSquare() || isMuch()); round++ {
					runtime.GC()
					for i, text := range texts {
						least[i] = min(least[i], processorTime(func() { mask(m, text) }))
					}
				}
				for b.Loop() {
				}
				b.ReportMetric(0, "ns/op")
				b.ReportMetric(float64(least[2])/float64(least[1]), "x/2N")
				b.ReportMetric(float64(least[1])/float64(least[0]), "x/ordinary")
				if isSquare() {
					b.Errorf("%q: %v of %d bytes, and %v of twice as many", word, least[1], size, least[2])
				}
				if isMuch() {
					b.Errorf("%q: %v of %d bytes, and %v of an ordinary text", word, least[1], size, least[0])
				}
			})
		}
	}
}

// processorTime returns the time of the processor that f takes.
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
	start := now()
	f()
	return now() - start
}
