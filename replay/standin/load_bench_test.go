package standin_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/mcprec/mcprec/replay/match"
	"github.com/mcprec/mcprec/replay/standin"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/jsonl"
	"github.com/mcprec/mcprec/transport"
)

// longSession returns the text of a session of calls with progress.
func longSession(frames int) string {
	var b strings.Builder
	b.WriteString(`{"mcprec":1}` + "\n")
	line := func(dir, format string, args ...any) {
		fmt.Fprintf(&b, `{"dir":"`+dir+`","frame":`+format+"}\n", args...)
	}
	for id := range frames / 4 {
		line("c2s", `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"echo","arguments":{"message":"the message with number %d"},"_meta":{"progressToken":%d}}}`, id, id%100, id)
		for step := range 2 {
			line("s2c", `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%d,"progress":%d,"total":2,"message":"step"}}`, id, step+1)
		}
		line("s2c", `{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":"Echo: the message with number %d"}]}}`, id, id%100)
	}
	return b.String()
}

// BenchmarkLoad reads a session of 100,000 frames and makes both halves of it.
// live/text is the memory that is held then, which fails above 3; allocated/text
// what was asked for in all.
func BenchmarkLoad(b *testing.B) {
	text := longSession(100_000)
	for _, c := range []struct {
		name string
		load func([]store.Event) any
	}{
		{"events", func(events []store.Event) any { return events }},
		{"server", func(events []store.Event) any { return standin.NewPlayer(events, match.Rules{}) }},
		{"client", func(events []store.Event) any { return standin.NewDriver(events, match.Rules{}) }},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			var kept any
			before := memory()
			for b.Loop() {
				kept = nil
				kept = c.load(decodeText(b, text))
			}
			after := memory()
			live := float64(after.HeapAlloc-before.HeapAlloc) / float64(len(text))
			if live > 3 {
				b.Errorf("%.2f times the text are held, want at most 3", live)
			}
			b.ReportMetric(live, "live/text")
			b.ReportMetric(float64(after.TotalAlloc-before.TotalAlloc)/float64(len(text)*b.N), "allocated/text")
			runtime.KeepAlive(kept)
		})
	}
}

// BenchmarkSelfPlayGrowth plays sessions of one sort to themselves. growth is the time
// a frame takes in one that is four times as long: 1 where nothing is searched for.
func BenchmarkSelfPlayGrowth(b *testing.B) {
	for name, text := range map[string]func(frames int) string{
		"calls": longSession,
		"pings": func(frames int) string {
			var b strings.Builder
			for id := range frames / 2 {
				fmt.Fprintf(&b, "> {\"id\":%d,\"method\":\"ping\"}\n< {\"id\":%[1]d,\"result\":{}}\n", id)
			}
			return b.String()
		},
		"logs": func(frames int) string { return strings.Repeat("< {\"method\":\"notifications/message\"}\n", frames) },
		"changes": func(frames int) string {
			return strings.Repeat("> {\"method\":\"notifications/roots/list_changed\"}\n", frames)
		},
	} {
		b.Run(name, func(b *testing.B) {
			var took [2]time.Duration
			for b.Loop() {
				for i, frames := range []int{5_000, 20_000} {
					events := sessionOf(b, text(frames))
					start := time.Now()
					playBoth(events, transport.ClientToServer, untouched)
					took[i] += time.Since(start)
				}
			}
			b.ReportMetric(float64(took[1])/float64(took[0])/4, "growth")
		})
	}
}

// sessionOf reads a fixture, or lines as recorded takes them.
func sessionOf(t testing.TB, text string) []store.Event {
	if text[0] == '{' {
		return decodeText(t, text)
	}
	return recorded(t, text)
}

// memory returns the counts after a collection.
func memory() (m runtime.MemStats) {
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m
}

func decodeText(t testing.TB, text string) (events []store.Event) {
	for e, err := range jsonl.Decode(strings.NewReader(text)) {
		if err != nil {
			t.Fatal(err)
		}
		events = append(events, e)
	}
	return events
}
