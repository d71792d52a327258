package replay_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/mcprec/mcprec/fixtures"
	"github.com/mcprec/mcprec/replay"
	"github.com/mcprec/mcprec/store"
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
		{"server", func(events []store.Event) any { return replay.NewPlayer(events, replay.Rules{}) }},
		{"client", func(events []store.Event) any { return replay.NewDriver(events, replay.Rules{}) }},
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

// memory returns the counts after a collection.
func memory() (m runtime.MemStats) {
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m
}

func decodeText(t testing.TB, text string) (events []store.Event) {
	for e, err := range fixtures.Decode(strings.NewReader(text)) {
		if err != nil {
			t.Fatal(err)
		}
		events = append(events, e)
	}
	return events
}
