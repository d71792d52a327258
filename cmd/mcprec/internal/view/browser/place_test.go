package browser

import (
	"context"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// TestPlaceIsKept: the address has the place of the page also where it had none at first: a reload comes back
// to it, and so does the way back from another view or event.
func TestPlaceIsKept(t *testing.T) {
	t.Parallel()
	p := newTab(t)
	p.open(view(t, fixture("seed")).at(""))
	p.until(`one(".row.pick").dataset.seq === "2"`)
	for _, next := range []string{"3", "4", "5", "6"} {
		p.press("j")
		p.until(`one(".row.pick").dataset.seq === %s`, next)
	}
	p.press("2")
	p.until(`one("#replay .verdict.pass")`)
	p.press("k")
	p.until(`one("footer .at").textContent.startsWith("step 6 ")`)
	p.until(`["view=replay", "at=6", "step=6"].every((part) => location.hash.includes(part))`)
	p.do(chromedp.Reload())
	p.until(`one("#replay .verdict.pass") && one("footer .at").textContent.startsWith("step 6 ")`)
	p.press("1")
	p.until(`one(".row.pick").dataset.seq === "6"`)
	p.press("2") // the step is kept, too
	p.until(`one("#replay") && one("footer .at").textContent.startsWith("step 6 ")`)
	back(p)
	p.until(`one("#sequence .row.pick").dataset.seq === "6"`)
	p.press("[")
	p.until(`one("#sequence .row.pick").dataset.seq === "5"`)
	back(p)
	p.until(`one("#sequence .row.pick").dataset.seq === "6"`)
	p.press("k2") // also where it has changed just now
	p.until(`one("#replay .verdict.pass")`)
	back(p)
	p.until(`one("#sequence .row.pick").dataset.seq === "5"`)
}

// TestTwoJumps: two keys may come faster than the page paints: each of the two views that they jump to is a place of its
// own in the history.
func TestTwoJumps(t *testing.T) {
	t.Parallel()
	p := newTab(t)
	p.open(view(t, fixture("seed")).at("at=6"))
	p.until(`one("#sequence .row.pick").dataset.seq === "6"`)
	// The second key is pressed as soon as the first has changed the page, before that is painted.
	value[bool](p, `(() => {
		const seen = new MutationObserver(() => {
			if (!document.querySelector("#replay")) return;
			seen.disconnect();
			document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "1", bubbles: true }));
		});
		seen.observe(document, { childList: true, subtree: true });
		return true;
	})()`)
	p.press("2")
	p.until(`one("#sequence .row.pick").dataset.seq === "6" && location.hash.includes("view=sequence")`)
	back(p)
	p.until(`one("#replay .verdict.pass")`)
}

// back goes back in the history of the tab.
func back(p *tab) {
	p.t.Helper()
	value[bool](p, `(setTimeout(() => history.back()), true)`)
}

// TestGoTo: e takes the number of an event, and goes there.
func TestGoTo(t *testing.T) {
	t.Parallel()
	p := newTab(t)
	p.open(view(t, fixture("gosdk-897")).at("at=1"))
	p.press("e")
	p.until(`document.activeElement === one("#place")`)
	p.press("10" + kb.Enter)
	p.until(`one("#sequence .row.pick").dataset.seq === "10" && document.activeElement !== one("#place")`)
	p.press("h") // the call that hangs
	p.until(`one("#sequence .row.pick").dataset.seq === "8"`)
}

// TestHangNotKnownYet: h goes to the call that hangs as soon as that is known, however early it is pressed, but not when
// the reader has gone on meanwhile.
func TestHangNotKnownYet(t *testing.T) {
	t.Parallel()
	p := newTab(t)
	const held = `{
		const { fetch } = window;
		const told = new Promise((tell) => (window.tell = tell));
		window.fetch = async (...request) => (/^api.(why|fits)/.test(request[0]) && (await told), fetch(...request));
	}`
	var script page.AddScriptToEvaluateOnNewDocumentResult
	p.do(chromedp.Func(func(ctx context.Context, target *chromedp.Target) (err error) {
		params := page.AddScriptToEvaluateOnNewDocumentParams{Source: held}
		script, err = cdp.Call(ctx, target, page.AddScriptToEvaluateOnNewDocument, params)
		return err
	}))
	shown := view(t, fixture("gosdk-897"))
	for _, row := range []struct{ then, at string }{{"", "8"}, {"j", "2"}} {
		p.open(shown.at("at=1"))
		p.until(`one("#sequence .row.pick").dataset.seq === "1"`)
		p.press("h" + row.then)
		value[bool](p, `(window.tell(), true)`)
		p.until(`one(".app").textContent.includes("Who waits") && one("#sequence .row.pick").dataset.seq === "` + row.at + `"`)
	}
	p.do(chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, page.RemoveScriptToEvaluateOnNewDocument, page.RemoveScriptToEvaluateOnNewDocumentParams(script))
		return err
	}))
}

// TestEachKeyInEachView: no key throws, in whatever view.
func TestEachKeyInEachView(t *testing.T) {
	t.Parallel()
	p := newTab(t)
	page := view(t, fixture("memory-2025-03-26"), fixture("memory-2025-06-18"))
	for _, name := range []string{"sequence", "replay", "beside", "compare"} {
		for _, key := range []string{"j", "k", kb.PageDown, kb.PageUp, "g", "G", "a", "[", "n", "N", "h", "e", "/", kb.Enter, "t", "s"} {
			p.open(page.at("view=" + name))
			p.press(key)
			p.until(`one("header") && !one("html").dataset.busy`)
		}
	}
}
