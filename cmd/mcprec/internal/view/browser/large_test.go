package browser

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// largeEvents is how many events the large session has: a million at night. By day they are as well
// more than the page keeps, and take longer to index than the page takes to ask for rows.
var largeEvents = 100_000

func init() {
	if os.Getenv("MCPREC_NIGHT") != "" {
		largeEvents = 1_000_000
	}
}

// largeStore makes a store with the large session, once for all tests.
var largeStore = sync.OnceValues(func() (string, error) {
	store, err := os.MkdirTemp(filepath.Dir(mcprec), "large-")
	if err != nil {
		return "", err
	}
	path := filepath.Join(store, "large.jsonl")
	if err := writeLarge(path); err != nil {
		return "", err
	}
	cmd := command(store, "import", path)
	if text, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("import the large session: %w\n%s", err, text)
	}
	return store, os.Remove(path)
})

// writeLarge writes a session of calls with progress, a few errors, and a call that has no answer.
// Event 6n+2 is the call with id n.
func writeLarge(path string) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer file.Close()
	out := bufio.NewWriterSize(file, 1<<20)
	fmt.Fprintln(out, `{"mcprec":1,"id":"01a1fee3-ffff-7e18-8ba0-5616e36c62b1","start":"2026-11-21T16:15:16Z",`+
		`"transport":"stdio","label":"large","command":["server"]}`)
	seq := 1
	put := func(dir, frame string) {
		if seq < largeEvents {
			seq++
			fmt.Fprintf(out, `{"seq":%d,"at":"%dus","dir":"%s","frame":%s}`+"\n", seq, seq*250, dir, frame)
		}
	}
	for id := 0; seq < largeEvents; id++ {
		put("c2s", fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"_meta":{"progressToken":%d},`+
			`"name":"tool%d","arguments":{"text":"some words, as many as a call has on average","n":%d}}}`, id, id, id%7, id))
		for n := range 4 {
			put("s2c", fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%d,`+
				`"progress":%d,"message":"on the way"}}`, id, n+1))
		}
		switch {
		case id == 1000:
			put("s2c", `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"no answer"}}`)
		case id%500 == 499:
			put("s2c", fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"error":{"code":-32603,"message":"it failed"}}`, id))
		default:
			put("s2c", fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text",`+
				`"text":"the answer, with some text behind it so that it has a usual length"}]}}`, id))
		}
	}
	return out.Flush()
}

// needLarge returns the store of the large session.
func needLarge(t testing.TB) string {
	t.Helper()
	needBrowser(t)
	store, err := largeStore()
	if err != nil {
		t.Fatal(err)
	}
	return store
}

// largeRow is a text that the row of an event has.
func largeRow(seq int) string {
	switch id := (seq - 2) / 6; (seq - 2) % 6 {
	case 0:
		return fmt.Sprintf("tool%d", id%7)
	case 5:
		return fmt.Sprintf("#%d ", seq-5) // an answer names its call
	default:
		return "progress"
	}
}

// jump sets the range of the footer to an event and returns the milliseconds until its row stands.
func (p *tab) jump(seq int) float64 {
	p.t.Helper()
	return value[float64](p, `(async () => {
		const range = one("footer input[type=range]"), seq = %s;
		const from = performance.now();
		Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value").set.call(range, seq);
		range.dispatchEvent(new Event("input", {bubbles: true}));
		for (;;) {
			const row = document.querySelector('g.row.pick[data-seq="' + seq + '"]');
			if (row && row.textContent.length > String(seq).length + 3) return performance.now() - from;
			if (performance.now() - from > 20000) throw new Error("no row g.row.pick of event " + seq + " after 20 s");
			await new Promise(requestAnimationFrame);
		}
	})()`, seq)
}

// jumps are events all over the session.
func jumps() (seqs []int) {
	for n := range 30 {
		seqs = append(seqs, 2+(n*7919+n*n*104_729)%(largeEvents-2))
	}
	return seqs
}

// untilRead waits until the page says no more that it reads the session. That may take longer than the
// deadline, so each part of the session has one of its own.
func (p *tab) untilRead() {
	p.t.Helper()
	for what := p.text("header .what"); strings.Contains(what, "reading"); what = p.text("header .what") {
		p.until(`one("header .what").textContent !== %s`, what)
	}
}

// TestLarge: a large session opens, and each jump shows the event that it went to. The page has elements
// for the rows in sight alone: browsers end an element at 16 million pixels.
func TestLarge(t *testing.T) {
	t.Parallel()
	store := needLarge(t)
	began := time.Now()
	page := viewStore(t, store)
	p := newTab(t)
	p.open(page.at(""))
	ready := time.Since(began)
	var took []float64
	for _, seq := range jumps() {
		took = append(took, p.jump(seq))
		if row := value[string](p, `one("g.row.pick").textContent`); !strings.Contains(row, largeRow(seq)) {
			t.Errorf("event %d is shown as %q, want %q in it", seq, row, largeRow(seq))
		}
	}
	slices.Sort(took)
	t.Logf("ready %v after the process started, with a new tab; jumps while it indexes: p50 %.0f ms, worst %.0f ms",
		ready.Round(time.Millisecond), took[15], took[29])
	p.untilRead()
	if tall := value[[]string](p, `all("*").filter((e) => e.scrollHeight > 10_000).map((e) => e.localName + "#" + e.id)`); len(tall) > 0 {
		t.Errorf("as tall as the session: %q", tall)
	}
	if rows := value[int](p, `all("g.row").length`); rows > 100 {
		t.Errorf("%d rows stand on the page", rows)
	}
	p.press("G")
	p.until(`one(".row.pick").dataset.seq === %s`, fmt.Sprint(largeEvents))
	p.press("n")
	p.jump(6*1000 + 2)
	p.until(`one("#about").textContent.includes("none")`) // its answer
}

// BenchmarkLarge measures the page of the large session: from the start of the process to its
// first rows and to its whole index, a jump, and the memory of the process. check is the command
// that reads the same session, in the same minutes.
func BenchmarkLarge(b *testing.B) {
	store := needLarge(b)
	var ready, index, checked, jump, peak []float64
	for b.Loop() {
		p := openTab(b)
		p.do() // the tab is there before the process
		began := time.Now()
		page := viewStore(b, store)
		p.open(page.at(""))
		stood := value[float64](p, `performance.getEntriesByName("ready")[0].startTime + performance.timeOrigin`)
		ready = append(ready, stood-float64(began.UnixMicro())/1000)
		p.untilRead()
		index = append(index, time.Since(began).Seconds())
		for _, seq := range jumps() {
			jump = append(jump, p.jump(seq))
		}
		peak = append(peak, peakMiB(b, page.process.Pid))
		began = time.Now()
		output(b, store, "check", "--format", "json")
		checked = append(checked, time.Since(began).Seconds())
	}
	b.ReportMetric(median(ready), "ms-first-rows")
	b.ReportMetric(median(index), "s-index")
	b.ReportMetric(median(checked), "s-check")
	b.ReportMetric(median(ready)/1000/median(checked), "first-rows/check")
	b.ReportMetric(median(index)/median(checked), "index/check")
	b.ReportMetric(median(jump), "ms-jump-p50")
	b.ReportMetric(slices.Max(jump), "ms-jump-worst")
	b.ReportMetric(median(peak), "MiB-peak")
}

func median(values []float64) float64 {
	slices.Sort(values)
	return values[len(values)/2]
}

// peakMiB returns the most memory that a process has had, where the system says it.
func peakMiB(b *testing.B, pid int) float64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		b.Log(err)
		return 0
	}
	_, line, _ := strings.Cut(string(text), "VmHWM:")
	var kilobytes float64
	if _, err := fmt.Sscan(line, &kilobytes); err != nil {
		b.Fatal(err)
	}
	return kilobytes / 1024
}
