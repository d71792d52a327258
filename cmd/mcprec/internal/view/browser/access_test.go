package browser

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

//go:embed testdata/axe/axe.min.js.gz
var axeCompressed []byte

// axeSum is the sha256 of axe-core, as testdata/axe/README.md says.
const axeSum = "29348999450cdf2849a8e70b7912fc2da85a849da39c0d0d5394f51d4a9ed95c"

func axe(t testing.TB) string {
	t.Helper()
	compressed, err := gzip.NewReader(bytes.NewReader(axeCompressed))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(compressed)
	if err != nil {
		t.Fatal(err)
	}
	if sum := sha256.Sum256(text); hex.EncodeToString(sum[:]) != axeSum {
		t.Fatal("testdata/axe/axe.min.js.gz is not the axe-core of its README")
	}
	return string(text)
}

// place is a view of the page: the arguments of the command, the focus, and what stands there.
type place struct{ name, args, focus, want string }

// places has each view.
var places = []place{
	{"sequence", "seed", "at=5", `one("#payload").dataset.seq && one("#state").dataset.seq && all("g.row").length > 4`},
	{"findings", "gosdk-897", "at=12", `one("#findings") && one("#payload").dataset.seq && one("#state").dataset.seq`},
	{"replay", "seed", "view=replay&client=notification-queue=0", `one("#replay .verdict.hang") && one("#ring")`},
	{"passing", "seed", "view=replay", `one("#replay .verdict.pass")`},
	{"beside", "seed", "view=beside&client=notification-queue=0&client2=independent", `all("#beside g.apart").length === 2`},
	{"compare", "memory-2025-03-26 memory-2025-06-18", "view=compare", `one("#compare tr.pick")`},
	{"keys", "seed", "at=5", `one("dialog#keys").open`},
	{"list", "", "", `one("#sessions tr.pick")`},
}

// serve starts a server of the sessions that the place shows.
func (c place) serve(t testing.TB) *server {
	t.Helper()
	if c.args == "" {
		store := t.TempDir()
		output(t, store, "import", fixture("seed"), fixture("pysdk-594"), fixture("gosdk-897"))
		return viewStore(t, store, "--dir")
	}
	var paths []string
	for _, name := range strings.Fields(c.args) {
		paths = append(paths, fixture(name))
	}
	return view(t, paths...)
}

// eachPlace runs a test for each place, one after the other in one tab. show loads the place, with
// more of the focus.
func eachPlace(t *testing.T, test func(t *testing.T, p *tab, c place, show func(focus string))) {
	t.Helper()
	needBrowser(t)
	servers := map[string]*server{} // by the arguments
	for _, c := range places {
		if servers[c.args] == nil {
			servers[c.args] = c.serve(t)
		}
	}
	p := newTab(t)
	for _, c := range places {
		t.Run(c.name, func(t *testing.T) {
			p.lend(t)
			test(t, p, c, func(focus string) {
				t.Helper()
				p.open(servers[c.args].at(c.focus + focus))
				if c.name == "keys" {
					p.press("?")
				}
				p.until(c.want)
			})
		})
	}
}

// TestAxe: axe-core finds nothing in any view, light and dark, wide and narrow. The page changes its
// theme and its width while it is open.
func TestAxe(t *testing.T) {
	t.Parallel()
	source := axe(t)
	eachPlace(t, func(t *testing.T, p *tab, c place, show func(string)) {
		p.do(chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
			_, err := cdp.Call(ctx, target, page.SetBypassCSP, page.SetBypassCSPParams{Enabled: true}) // for axe
			return err
		}))
		show("&theme=light")
		value[any](p, "(() => {"+source+"\n; return null})()")
		for _, theme := range []string{"light", "dark"} {
			value[any](p, `location.replace(location.hash.replace(/theme=\w+/, "theme=" + %s))`, theme)
			p.until(`one("html").dataset.theme === %s`, theme)
			for _, width := range []int64{1360, 400} {
				p.do(chromedp.EmulateViewport(width, 860))
				p.until(`innerWidth === %s && document.getAnimations().length === 0`, width)
				found := value[[]string](p, `axe.run(document, {resultTypes: ["violations"]}).then((result) => result.violations.map((v) => v.id + ": " + v.help + ": " +
					v.nodes.slice(0, 3).map((n) => n.html.slice(0, 160) + " " + n.failureSummary.replace(/\s+/g, " ")).join(" | ")))`)
				for _, violation := range found {
					t.Errorf("%s, %d px: %s", theme, width, violation)
				}
			}
		}
	})
}

// TestNarrow: nothing is wider than a window of 400 pixels. What a finger presses there is 24 pixels
// wide and high, with the room around a number in a text. Both runs stand side by side, and the list
// shows how a session ended.
func TestNarrow(t *testing.T) {
	t.Parallel()
	eachPlace(t, func(t *testing.T, p *tab, c place, show func(string)) {
		p.do(chromedp.EmulateViewport(400, 800))
		show("")
		if width := value[int](p, `document.documentElement.scrollWidth`); width > 400 {
			wide := value[[]string](p, `all("body *").filter((e) => e.getBoundingClientRect().right > 400).slice(0, 5)
				.map((e) => e.localName + "#" + e.id + "." + e.getAttribute("class"))`)
			t.Errorf("the page is %d pixels wide: %q", width, wide)
		}
		small := value[[]string](p, `all("button, select, summary, input").filter((e) => e.checkVisibility()).flatMap((e) => {
			const box = e.getBoundingClientRect();
			const around = getComputedStyle(e, "::after");
			const more = around.content === "none" ? 0 : -parseFloat(around.top);
			const fits = box.width >= 24 && Math.round(box.height + 2 * more) >= 24;
			return fits ? [] : [e.localName + " " + e.textContent.slice(0, 20) + " " + box.width + " x " + box.height];
		})`)
		if len(small) > 0 {
			t.Errorf("too small: %q", small)
		}
		inSight := map[string]string{"beside": "#beside .verdict, #beside .runs svg", "list": "#sessions td:nth-child(3)"}
		if selector, ok := inSight[c.name]; ok {
			outside := value[[]string](p, `all(%s).filter((e) => e.getBoundingClientRect().right > innerWidth || e.localName === "td" && e.scrollWidth > e.clientWidth)
				.map((e) => e.outerHTML.slice(0, 80))`, selector)
			if len(outside) > 0 {
				t.Errorf("out of sight: %q", outside)
			}
		}
	})
}

// TestPrint: a replay is printed whole, also where it scrolls on the screen.
func TestPrint(t *testing.T) {
	t.Parallel()
	needBrowser(t)
	p := newTab(t)
	p.do(chromedp.EmulateViewport(1000, 400))
	p.open(view(t, "--client", "notification-queue=0", fixture("memory-2025-06-18")).at("view=replay"))
	p.until(`one("#replay .verdict") && all("#replay g.step").length > 3`)
	p.press("g")
	p.until(`one("footer .at").textContent.startsWith("step 0 ")`)
	value[bool](p, `dispatchEvent(new Event("beforeprint"))`)
	p.media("print", nil)
	p.until(`all("#replay g.step").length === Number(one("footer input").max)`)
	if cut := value[bool](p, `one(".stage").scrollHeight > one(".stage").clientHeight + 1`); cut {
		t.Error("the print shows a part of the replay")
	}
	value[bool](p, `dispatchEvent(new Event("afterprint"))`)
	p.media("", nil)
}

// TestMedia: the page prints, and stands in forced colours and without motion.
func TestMedia(t *testing.T) {
	t.Parallel()
	eachPlace(t, func(t *testing.T, p *tab, c place, show func(string)) {
		show("")
		p.media("", map[string]string{"forced-colors": "active", "prefers-reduced-motion": "reduce"})
		p.until(c.want)
		p.media("print", nil)
		p.until(c.want)
		p.media("", nil)
		pdf, err := chromedp.Run(p.ctx, func(ctx context.Context, target *chromedp.Target) (page.PrintToPDFResult, error) {
			return cdp.Call(ctx, target, page.PrintToPDF, page.PrintToPDFParams{})
		})
		if err != nil {
			t.Fatal(err)
		}
		if len(pdf.Data) < 1000 {
			t.Errorf("the print has %d bytes", len(pdf.Data))
		}
	})
}

// controls returns what a user can use, each with a number that data-control has.
const controls = `all("button, input, select, textarea, summary, a[href], [tabindex='0']")
	.filter((e) => !e.disabled && e.checkVisibility({visibilityProperty: true}))
	.filter((e) => document.querySelector("dialog[open]")?.contains(e) ?? true)
	.map((e, n) => {
		e.dataset.control = n;
		return e.localName + "#" + e.id + " " + (e.getAttribute("aria-label") || e.name || e.textContent).slice(0, 40);
	})`

// TestKeyboard: the tabulator reaches every control of every view, and leaves each.
func TestKeyboard(t *testing.T) {
	t.Parallel()
	eachPlace(t, func(t *testing.T, p *tab, c place, show func(string)) {
		show("")
		p.allow() // focus as in the window before the user
		names := value[[]string](p, controls)
		if len(names) < 1 {
			t.Fatal("no controls")
		}
		reached, missing := map[string]bool{}, len(names)
		for presses := 0; missing > 0 && presses < 2*len(names)+4; presses++ {
			p.press(kb.Tab)
			control := value[string](p, `document.activeElement?.dataset.control ?? ""`)
			if control != "" && !reached[control] {
				reached[control] = true
				missing--
			}
		}
		for n, name := range names {
			if !reached[fmt.Sprint(n)] {
				t.Errorf("the tabulator does not reach %s", name)
			}
		}
		hidden := value[[]string](p, `all("[data-control]").filter((e) => {
			e.focus();
			const style = getComputedStyle(e);
			return style.outlineStyle === "none" && style.boxShadow === "none";
		}).map((e) => e.localName + "#" + e.id)`)
		if len(hidden) > 0 {
			slices.Sort(hidden)
			t.Errorf("the focus is not seen on %q", slices.Compact(hidden))
		}
	})
}
