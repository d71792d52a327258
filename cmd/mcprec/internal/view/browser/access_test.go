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
	{"replay", "seed", "view=replay&client=inbox:0", `one("#replay .verdict.hang") && one("#ring")`},
	{"passing", "seed", "view=replay", `one("#replay .verdict.pass")`},
	{"beside", "seed", "view=beside&client=inbox:0&client2=free", `all("#beside g.apart").length === 2`},
	{"compare", "memory-2025-03-26 memory-2025-06-18", "view=compare", `one("#compare tr.pick")`},
	{"keys", "seed", "at=5", `one("dialog#keys").open`},
	{"list", "", "", `one("#sessions tr.pick")`},
}

// open opens a place on a server of its own.
func (c place) open(t testing.TB, p *tab, extra string) {
	t.Helper()
	var page *server
	if c.args == "" {
		store := t.TempDir()
		for _, name := range []string{"seed", "pysdk-594", "gosdk-897"} {
			output(t, store, "import", fixture(name))
		}
		page = viewStore(t, store, "--dir")
	} else {
		var paths []string
		for _, name := range strings.Fields(c.args) {
			paths = append(paths, fixture(name))
		}
		page = view(t, paths...)
	}
	p.open(page.at(c.focus + extra))
	if c.name == "keys" {
		p.press("?")
	}
	p.until(c.want)
}

// TestAxe: axe-core finds nothing in any view, light and dark, wide and narrow.
func TestAxe(t *testing.T) {
	needBrowser(t)
	source := axe(t)
	for _, c := range places {
		for _, theme := range []string{"light", "dark"} {
			t.Run(c.name+" "+theme, func(t *testing.T) {
				p := newTab(t)
				p.do(chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
					_, err := cdp.Call(ctx, target, page.SetBypassCSP, page.SetBypassCSPParams{Enabled: true}) // for axe
					return err
				}))
				c.open(t, p, "&theme="+theme)
				p.until(`one("html").dataset.theme === %s`, theme)
				for _, width := range []int64{1360, 400} {
					p.do(chromedp.EmulateViewport(width, 860))
					p.until(`innerWidth === %s`, width)
					value[any](p, "(() => {"+source+"\n; return null})()")
					found := value[[]string](p, `axe.run(document).then((result) => result.violations.map((v) => v.id + ": " + v.help + ": " +
						v.nodes.slice(0, 3).map((n) => n.html.slice(0, 160) + " " + n.failureSummary.replace(/\s+/g, " ")).join(" | ")))`)
					for _, violation := range found {
						t.Errorf("%d px: %s", width, violation)
					}
				}
			})
		}
	}
}

// TestNarrow: nothing is wider than a window of 400 pixels.
func TestNarrow(t *testing.T) {
	needBrowser(t)
	for _, c := range places {
		t.Run(c.name, func(t *testing.T) {
			p := newTab(t)
			p.do(chromedp.EmulateViewport(400, 800))
			c.open(t, p, "")
			if width := value[int](p, `document.documentElement.scrollWidth`); width > 400 {
				wide := value[[]string](p, `all("body *").filter((e) => e.getBoundingClientRect().right > 400).slice(0, 5)
					.map((e) => e.localName + "#" + e.id + "." + e.getAttribute("class"))`)
				t.Errorf("the page is %d pixels wide: %q", width, wide)
			}
		})
	}
}

// TestTargets: what a finger presses is 24 pixels wide and high, with the room around a number in a text.
func TestTargets(t *testing.T) {
	needBrowser(t)
	for _, c := range places {
		t.Run(c.name, func(t *testing.T) {
			p := newTab(t)
			p.do(chromedp.EmulateViewport(400, 800))
			c.open(t, p, "")
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
		})
	}
}

// TestNarrowMatters: in a narrow window both runs stand side by side, and the list shows how a
// session ended.
func TestNarrowMatters(t *testing.T) {
	needBrowser(t)
	for name, selector := range map[string]string{"beside": "#beside .verdict, #beside .runs svg", "list": "#sessions td:last-child"} {
		p := newTab(t)
		p.do(chromedp.EmulateViewport(400, 800))
		c := places[slices.IndexFunc(places, func(c place) bool { return c.name == name })]
		c.open(t, p, "")
		outside := value[[]string](p, `all(%s).filter((e) => e.getBoundingClientRect().right > innerWidth || e.localName === "td" && e.scrollWidth > e.clientWidth)
			.map((e) => e.outerHTML.slice(0, 80))`, selector)
		if len(outside) > 0 {
			t.Errorf("%s: out of sight: %q", name, outside)
		}
	}
}

// TestPrint: a replay is printed whole, also where it scrolls on the screen.
func TestPrint(t *testing.T) {
	needBrowser(t)
	p := newTab(t)
	p.do(chromedp.EmulateViewport(1000, 400))
	p.open(view(t, "--client", "inbox:0", fixture("memory-2025-06-18")).at("view=replay"))
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
	needBrowser(t)
	for _, c := range places {
		t.Run(c.name, func(t *testing.T) {
			p := newTab(t)
			c.open(t, p, "")
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
	needBrowser(t)
	for _, c := range places {
		t.Run(c.name, func(t *testing.T) {
			p := newTab(t)
			c.open(t, p, "")
			p.allow() // focus as in the window before the user
			names := value[[]string](p, controls)
			if len(names) < 1 {
				t.Fatal("no controls")
			}
			reached := map[string]bool{}
			for range 2*len(names) + 4 {
				p.press(kb.Tab)
				reached[value[string](p, `document.activeElement?.dataset.control ?? ""`)] = true
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
}
