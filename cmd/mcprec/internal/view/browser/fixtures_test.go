package browser

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// TestFixtures: each bundled session opens in each view, shows its events there, and the browser has
// nothing to say about it. One server has them all, as a list.
func TestFixtures(t *testing.T) {
	t.Parallel()
	needBrowser(t)
	names := fixtureNames(t)
	store := t.TempDir()
	imported := []string{"import"}
	for _, name := range names {
		imported = append(imported, fixture(name))
	}
	output(t, store, imported...)
	page := viewStore(t, store, "--dir")
	p := newTab(t)
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(fixture(name))
			if err != nil {
				t.Fatal(err)
			}
			var header struct{ ID string }
			first, _, _ := bytes.Cut(text, []byte("\n"))
			if err := json.Unmarshal(first, &header); err != nil {
				t.Fatal(err)
			}
			events := bytes.Count(bytes.TrimSpace(text), []byte("\n")) + 1
			p.lend(t)
			p.open(page.of(header.ID))
			p.until(`all("#sequence g.row").length >= 5 && !one("html").dataset.busy`)
			p.press("G")
			p.until(`one("#sequence .row.pick").dataset.seq === String(%s)`, events)
			p.until(`one("#payload").dataset.seq && one("#state").dataset.seq`)
			p.press("2")
			p.until(`one("#replay .verdict").textContent && all("#replay g.step").length >= 3`)
			p.press("3")
			p.until(`all("#beside .verdict").length === 2 && all("#beside .runs svg").length === 2`)
		})
	}
}

// TestOneBrowser: the address opens the page again in the browser that opened it first, and in no
// other.
func TestOneBrowser(t *testing.T) {
	t.Parallel()
	page := view(t, fixture("seed"))
	p := newTab(t)
	p.open(page.at("at=5"))
	p.open(page.at("at=6"))
	p.until(`one(".row.pick").dataset.seq === "6" && location.search === ""`)
	other := openTab(t)
	other.visit(page.at(""))
	other.until(`document.body.textContent.includes("This address was used already")`)
	other.click("a")
	other.until(`document.body.textContent.includes("Open the address that mcprec view printed")`)
}

// TestOverview: the strip has the colours of both ends' frames, in both themes.
func TestOverview(t *testing.T) {
	t.Parallel()
	p := newTab(t)
	p.open(view(t, fixture("seed")).at("theme=light"))
	for _, theme := range []string{"light", "dark"} {
		p.until(`one("html").dataset.theme === %s && (() => {
			const strip = one("#overview");
			const copy = new OffscreenCanvas(strip.width, strip.height).getContext("2d", {willReadFrequently: true});
			copy.drawImage(strip, 0, 0);
			const dots = copy.getImageData(0, 0, strip.width, strip.height).data;
			let blue = 0, violet = 0;
			for (let n = 0; n < dots.length; n += 4) {
				const [r, g, b] = dots.slice(n, n + 3);
				if (g > r + 25 && b > g + 30) blue++;
				if (r > g + 15 && b > g + 30) violet++;
			}
			return blue > 100 && violet > 100;
		})()`, theme)
		p.press("t")
	}
}

// TestOverviewFlags: the flag of a finding in the strip has the colour of its severity.
func TestOverviewFlags(t *testing.T) {
	t.Parallel()
	p := newTab(t)
	for name, severity := range map[string]string{"gosdk-897": "--fault", "pysdk-594": "--warn"} {
		p.open(view(t, fixture(name)).at("theme=light"))
		// the frame of what the pane shows lies over the flags, and tints them
		p.until(`all("#findings li").length > 0 && (() => {
			const strip = one("#overview"), scale = strip.width / strip.clientWidth;
			const copy = new OffscreenCanvas(strip.width, strip.height).getContext("2d", {willReadFrequently: true});
			copy.drawImage(strip, 0, 0);
			const dots = copy.getImageData(53 * scale, 0, 1, strip.height).data;
			const has = (name) => {
				const colour = getComputedStyle(strip).getPropertyValue(name).trim().slice(1).match(/../g).map((part) => parseInt(part, 16));
				for (let n = 0; n < dots.length; n += 4) {
					if (dots[n + 3] > 200 && colour.every((part, k) => Math.abs(part - dots[n + k]) < 25)) return true;
				}
				return false;
			};
			return ["--fault", "--warn", "--dim"].every((name) => has(name) === (name === %s));
		})()`, severity)
	}
}

// TestPayload: the tree keeps the order, the digits and doubled members; the text is the frame.
func TestPayload(t *testing.T) {
	t.Parallel()
	frame := `{"jsonrpc":"2.0","id":9007199254740993,"method":"tools/call","params":{"name":"x",` +
		`"2":"b","1":"a","arguments":{"a":1,"a":2,"n":1e400,"f":1.10,"z":-0}}}`
	path := writeSession(t, `{"seq":2,"at":"1ms","dir":"c2s","frame":`+frame+`}`)
	p := newTab(t)
	p.open(view(t, path).at("at=2"))
	p.until(`one("#payload").dataset.seq === "2" && one("#payload .tree")`)
	tree := p.text("#payload .tree")
	from := 0
	for _, want := range []string{
		"id", "9007199254740993", "params", "name", "x", "2", "b", "1", "a",
		"arguments", "a", "doubled", "1", "a", "doubled", "2", "n", "1e400", "f", "1.10", "z", "-0",
	} {
		at := strings.Index(tree[from:], want)
		if at < 0 {
			t.Fatalf("no %q after %q in the tree\n%s", want, tree[:from], tree)
		}
		from += at + len(want)
	}
	p.clickText("#payload button", "Text")
	p.until(`one("#payload pre")`)
	if got := p.text("#payload pre"); got != frame {
		t.Errorf("text %q, want %q", got, frame)
	}
	p.clickText("#payload button", "Bytes")
	p.until(`one("#payload pre.hex")`)
	if got := p.text("#payload pre.hex"); !strings.HasPrefix(got, "000000  7b 22 6a 73 6f 6e 72 70 63") {
		t.Errorf("bytes %q", got)
	}
}

// TestCopy: the button copies the exact bytes of a frame, with what the page shows by number. No test
// runs beside it, because the browser has one clipboard.
func TestCopy(t *testing.T) {
	frame := `{"jsonrpc":"2.0", "id":1,"method":"ping","params":{"b":1,"a":"` + "\u202e\u200b\u00e9\U0001f600\\u0000" + `","b":2}}  `
	line, err := json.Marshal(frame)
	if err != nil {
		t.Fatal(err)
	}
	path := writeSession(t, `{"seq":2,"at":"1ms","dir":"c2s","text":`+string(line)+`}`)
	p := newTab(t)
	p.allow("clipboard-read", "clipboard-write")
	p.open(view(t, path).at("at=2"))
	p.until(`one("#payload").dataset.seq === "2"`)
	p.clickText("#payload button", "Copy")
	p.until(`all("#payload button").some((b) => b.textContent === "Copied")`)
	if got := value[string](p, `navigator.clipboard.readText()`); got != frame {
		t.Errorf("copied %q, want %q", got, frame)
	}
}

// TestCopyRange: the rows of a range are copied as the commands write them. No test runs beside it,
// because the browser has one clipboard.
func TestCopyRange(t *testing.T) {
	p := newTab(t)
	p.allow("clipboard-read", "clipboard-write")
	p.open(view(t, fixture("seed")).at("at=7"))
	p.until(`one("#payload").dataset.seq && one("#state").dataset.seq && !one("html").dataset.busy`) // nothing moves any more
	p.until(`all("#range input").map((e) => e.value).join() === "5,8"`)                              // the call that event 7 is about
	for n, c := range []struct{ button, command string }{
		{"As text", "show --format sequence --from 5 -n 4"},
		{"As mermaid", "export --format mermaid --filter seq:5..8"},
	} {
		p.clickText("#range button", c.button)
		p.until(`all("#range button")[%s].textContent === "Copied"`, n)
		copied := value[string](p, `navigator.clipboard.readText()`)
		said := string(output(t, t.TempDir(), append(strings.Fields(c.command), fixture("seed"))...))
		for _, want := range []string{"tools/call", "notifications/progress", "result of"} {
			if !strings.Contains(copied, want) || !strings.Contains(said, want) || strings.Count(copied, "\n") != strings.Count(said, "\n") {
				t.Errorf("%s copies\n%s\nthe command prints\n%s", c.button, copied, said)
			}
		}
	}
	at := value[[2]float64](p, `(() => {
		const box = one('#sequence [data-seq="9"]').getBoundingClientRect();
		return [box.x + 300, box.y + 12];
	})()`)
	p.do(chromedp.MouseClickXY(at[0], at[1], chromedp.ButtonModifiers(chromedp.ModifierShift)))
	p.until(`all("#range input").map((e) => e.value).join() === "7,9" && all(".row.marked").length === 3`)
	if selected := value[string](p, `String(getSelection())`); selected != "" {
		t.Errorf("the click selects the text %q, too", selected)
	}
}

// TestFilter: the filter leaves the events that the commands select.
func TestFilter(t *testing.T) {
	t.Parallel()
	p := newTab(t)
	p.open(view(t, fixture("seed")).at(""))
	p.press("/")
	p.until(`document.activeElement === one("input#filter")`)
	p.press("method:notifications/progress\r")
	p.until(`all("#sequence g.row").length === 2`)
	if got := value[[]string](p, `all("#sequence g.row").map((row) => row.dataset.seq)`); strings.Join(got, " ") != "6 7" {
		t.Errorf("rows %v, want 6 and 7", got)
	}
	p.press("\u001b") // Escape
	p.until(`all("#sequence g.row").length > 2`)
	p.press("/")
	p.press("no such:(\r")
	p.until(`one(".filter [role=alert]").textContent`)
	if seen := p.seenFaults(); len(seen) != 2 { // the browser says by itself that an answer is an error
		t.Errorf("a filter that is wrong: %q", seen)
	}
	p.forget()
}

// writeSession writes a session of an opened event and lines, and returns its path.
func writeSession(t testing.TB, lines ...string) string {
	t.Helper()
	path := t.TempDir() + "/session.jsonl"
	header := `{"mcprec":1,"id":"01a1fee3-fd30-71a3-95ac-6d331e660bad","start":"2026-11-21T16:15:16Z",` +
		`"transport":"stdio","command":["server"]}`
	if err := os.WriteFile(path, []byte(header+"\n"+strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
