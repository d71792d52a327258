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
	for _, words := range []string{"free free 0", "free free unbounded", "inline rigid 0", "inbox:1 inline 10"} {
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
	for _, words := range []string{"inbox:0 rigid 0", "rigid rigid 0", "inline inline 0"} {
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
	s := setup(b, "inbox:0 free 0")
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
