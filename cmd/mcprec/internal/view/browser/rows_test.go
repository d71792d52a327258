package browser

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// TestRowsTell: a row says what mcprec show says of its event: the progress, a log line, the arguments of a
// call, the size.
func TestRowsTell(t *testing.T) {
	t.Parallel()
	p := newTab(t)
	p.open(view(t, fixture("seed")).at("at=5"))
	for seq, wants := range map[int][]string{
		5: {`tools/call "count" (id 2)`, `{"text":"hello, world"}`, "144 B"},
		6: {"1 of 2, step 1 of 2", "135 B"},
	} {
		for _, want := range wants {
			p.until(`one(".row[data-seq='" + %s + "']").textContent.includes(%s)`, seq, want)
		}
	}
	p.open(view(t, sessionFile(t, `{"seq":5,"at":"4ms","dir":"s2c","frame":{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","logger":"B","data":"tick 1 of 3"}}}
`)).at("at=5"))
	p.until(`one(".row[data-seq='5']").textContent.includes("info B: tick 1 of 3")`)
}

// TestRightToLeft: a name that is written from right to left stays whole, and our words around it where they are.
func TestRightToLeft(t *testing.T) {
	t.Parallel()
	p := newTab(t)
	p.open(view(t, sessionFile(t, strings.ReplaceAll(searches, "search", "بحث")+
		`{"seq":6,"at":"44.5ms","dir":"s2c","frame":{"jsonrpc":"2.0","id":2,"result":{"content":[]}}}
`)).at("at=6"))
	p.until(`one(".row[data-seq='6']").textContent.includes(%s)`, "\"\u2068بحث\u2069\", 40.5ms")
	// the comma behind the name stands right of it, and so does the duration
	order := value[[]float64](p, `(() => {
		const text = one(".row[data-seq='6'] text.s2c");
		const at = (part) => text.getExtentOfChar(text.textContent.indexOf(part)).x;
		return [at("بحث"), at(","), at("40.5"), at("ms")];
	})()`)
	for n := 1; n < len(order); n++ {
		if order[n] <= order[n-1] {
			t.Errorf("the parts stand at %v", order)
		}
	}
	p.until(`one("#about h1").textContent.includes(%s)`, "\u2068بحث\u2069")
}

// TestLabelsApart: where arrows cross, no label covers another.
func TestLabelsApart(t *testing.T) {
	t.Parallel()
	p := newTab(t)
	page := view(t, fixture("crossing"))
	for _, focus := range []string{
		"view=replay&client=single-threaded&server=single-threaded&buffer=1",
		"view=replay&client=blocking-handlers&buffer=10",
		"view=beside&client=single-threaded&server=single-threaded&client2=single-threaded&server2=single-threaded&buffer2=1",
	} {
		p.open(page.at(focus))
		p.until(`all(".runs .plate").length > 5`)
		covered := value[[]string](p, `(() => {
			const boxes = all(".runs .plate").map((e) => [e.getBoundingClientRect(), e.nextSibling.textContent]);
			const found = [];
			boxes.forEach(([a, first], n) => boxes.slice(n + 1).forEach(([b, second]) => {
				const across = Math.min(a.right, b.right) - Math.max(a.left, b.left);
				const down = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
				if (across > 1 && down > 1) found.push(first + " / " + second);
			}));
			return found;
		})()`)
		if len(covered) > 0 {
			t.Errorf("%s: labels cover each other: %q", focus, covered)
		}
		if n := value[int](p, `all(".runs .plate + text").filter((e) => e.textContent.startsWith("#")).length`); n < 7 {
			t.Errorf("%s: %d messages have a label", focus, n)
		}
	}
}

// TestFolded: events of HTTP that say only that all is well, and those of the recording, are no rows of their own,
// as mcprec show leaves them out; f shows them.
func TestFolded(t *testing.T) {
	t.Parallel()
	path := filepath.Join(root, "replay", "standin", "testdata", "http", "http-ts1stateless-ts1_32-stateless-2025-11-25.jsonl")
	events := strings.Count(string(output(t, t.TempDir(), "show", "--http", path)), "\n")
	said := strings.Count(string(output(t, t.TempDir(), "show", path)), "\n")
	p := newTab(t)
	p.open(view(t, path).at(""))
	p.until(`all("#sequence .folded").length > 2 && all("#sequence g.stream").length > 2`)
	rows := value[int](p, `Number(one("#sequence [role=option]").getAttribute("aria-setsize"))`)
	drawn := value[int](p, `all("#sequence g.row").length`)
	whole := value[bool](p, `all("#sequence g.row").length < Math.floor(one("#sequence").clientHeight / 24)`)
	if !whole { // the session is longer than the pane
		t.Logf("%d rows of %d in sight", drawn, rows)
	}
	if kinds := value[int](p, `all("#sequence g.row.http").length`); kinds > 3 {
		t.Errorf("%d events of HTTP stand as rows; show has %d lines, and %d with --http", kinds, said, events)
	}
	p.press("f")
	p.until(`all("#sequence .folded").length === 0 && all("#sequence g.row.http").length > 3 && location.hash.includes("all=1")`)
	p.press("f")
	p.until(`all("#sequence .folded").length > 2 && !location.hash.includes("all=1")`)
	p.open(view(t, fixture("seed")).at(""))
	p.until(`all("#sequence g.row").length === 9`) // 1, seven messages, and the four events of the end as one line
	p.until(`one(".row[data-seq='9']").textContent.includes("4 events: (eof) the client closed its end")`)
}

// TestParallel: of many calls at once those without an answer stand on their own, and the others are a bundle.
func TestParallel(t *testing.T) {
	t.Parallel()
	const calls, silent = 40, 17
	var lines strings.Builder
	seq := 4
	for n := range calls {
		seq++
		fmt.Fprintf(&lines, `{"seq":%d,"at":"%dms","dir":"c2s","frame":{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"t"}}}`+"\n", seq, 10+n, n+2)
	}
	for n := range calls {
		if n != silent {
			seq++
			fmt.Fprintf(&lines, `{"seq":%d,"at":"%dms","dir":"s2c","frame":{"jsonrpc":"2.0","id":%d,"result":{}}}`+"\n", seq, 100+n, n+2)
		}
	}
	fmt.Fprintf(&lines, `{"seq":%d,"at":"60s","kind":"eof","dir":"c2s","data":{"by":"sender"}}`+"\n"+`{"seq":%d,"at":"61s","kind":"closed","data":{"frames":82,"lost":0}}`+"\n", seq+1, seq+2)
	p := newTab(t)
	p.open(view(t, sessionFile(t, lines.String())).at(""))
	want := fmt.Sprint(5 + silent)
	p.until(`one("#sequence .row.pick").dataset.seq === %s && one("#sequence .bundle")`, want) // the page opens at it
	apart := value[float64](p, `Math.abs(one("#sequence .rail.never").getBoundingClientRect().x - one("#sequence .bundle rect").getBoundingClientRect().x)`)
	if apart < 8 {
		t.Errorf("the call without an answer stands %.0f pixels from the bundle", apart)
	}
	p.until(`one("#sequence .bundle title").textContent.includes("calls that have an answer")`)
	p.until(`all("#waterfall .call.fault").length === 1`)
}
