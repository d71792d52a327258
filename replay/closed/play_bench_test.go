package closed

import (
	"strings"
	"testing"

	"github.com/mcprec/mcprec/replay/internal/replaytest"
)

// million is a session of 1,000,000 frames: calls with progress and a nested
// request of the server.
func million(b *testing.B) *Recording {
	return load(b, strings.Repeat("> 1:call!\n< ~progress\n< 9:roots/list\n> 9=\n< 1=\n", 200_000))
}

func BenchmarkClosedMillion(b *testing.B) {
	r := million(b)
	for _, words := range []string{"independent independent 0", "independent independent unbounded", "answers-inline single-threaded 0", "notification-queue=1 answers-inline 10"} {
		b.Run(strings.ReplaceAll(words, " ", ","), func(b *testing.B) {
			s := setup(b, words)
			for b.Loop() {
				if v := Replay(r, s); v.Verdict != Pass {
					b.Fatal(v.Text())
				}
			}
		})
	}
}

// BenchmarkClosedHang is the worst case for changes: a hang at once.
func BenchmarkClosedHang(b *testing.B) {
	r := load(b, strings.Repeat(crossing+"\n", 250_000))
	for _, words := range []string{"notification-queue=0 single-threaded 0", "single-threaded single-threaded 0", "answers-inline answers-inline 0"} {
		b.Run(strings.ReplaceAll(words, " ", ","), func(b *testing.B) {
			s := setup(b, words)
			for b.Loop() {
				Replay(r, s)
			}
		})
	}
}

func BenchmarkClosedSeed(b *testing.B) {
	r := load(b, seed)
	s := setup(b, "notification-queue=0 independent 0")
	for b.Loop() {
		Replay(r, s)
	}
}

func BenchmarkLoadMillion(b *testing.B) {
	events := replaytest.Session(b, strings.Repeat("> 1:call!\n< ~progress\n< 9:roots/list\n> 9=\n< 1=\n", 200_000))
	b.ResetTimer()
	for b.Loop() {
		if _, err := Load(replaytest.SequenceOf(events)); err != nil {
			b.Fatal(err)
		}
	}
}
