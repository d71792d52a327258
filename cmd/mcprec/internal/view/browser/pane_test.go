package browser

import (
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// seen returns which part of an element is in the window, and not behind a pane that scrolls.
const seen = `((element) => {
	const box = element.getBoundingClientRect();
	let [top, bottom] = [Math.max(0, box.top), Math.min(innerHeight, box.bottom)];
	for (let at = element.parentElement; at; at = at.parentElement) {
		if (getComputedStyle(at).overflowY === "visible") continue;
		const pane = at.getBoundingClientRect();
		[top, bottom] = [Math.max(top, pane.top), Math.min(bottom, pane.bottom)];
	}
	return Math.max(0, bottom - top) / box.height;
})`

// TestRingInSight: in a window of 1024 by 768 the whole cycle of the ring is in sight, and at 200 % its first box.
func TestRingInSight(t *testing.T) {
	t.Parallel()
	p := newTab(t)
	page := view(t, fixture("pysdk-594"))
	for _, c := range []struct {
		width, height int64
		boxes         int // of the ring that are in sight as a whole
	}{{1440, 900, 5}, {1024, 768, 4}, {720, 450, 2}} {
		p.do(chromedp.EmulateViewport(c.width, c.height))
		p.open(page.at("view=replay&client=python-sdk@1.3"))
		p.until(`all("#ring .node").length === 5 && all("#ring .node rect").filter((box) => `+seen+`(box) > 0.95).length >= %s`, c.boxes)
		p.open(page.at("at=5"))
		p.until(`all("#sequence text.end").length === 2 && all("#sequence text.end").every((end) => ` + seen + `(end) > 0.9 &&
			end.getBoundingClientRect().right <= one("#sequence").getBoundingClientRect().right)`)
		if c.width >= 1024 {
			p.until(`all("#sequence text").some((e) => e.textContent === "seconds")`) // the time is there
		}
	}
}

// TestSideYields: the side pane folds, and takes the width that the reader gives it; the address keeps it.
func TestSideYields(t *testing.T) {
	t.Parallel()
	p := newTab(t)
	p.open(view(t, fixture("seed")).at("at=5"))
	wide := value[float64](p, `one("#sequence").clientWidth`)
	p.press("s")
	p.until(`!one("#side").checkVisibility() && one("#sequence").clientWidth > %s + 300 && location.hash.includes("side=0")`, wide)
	p.do(chromedp.Reload())
	p.until(`one("html").dataset.ready === "1" && one("#sequence").clientWidth > %s + 300`, wide)
	p.press("s")
	p.until(`one("#side").checkVisibility()`)
	before := value[float64](p, `one("#side").getBoundingClientRect().width`)
	value[bool](p, `(one("#grip").focus(), true)`)
	p.press(kb.ArrowLeft)
	p.until(`one("#side").getBoundingClientRect().width > %s + 30 && location.hash.includes("side=")`, before)
	wide = value[float64](p, `one("#side").getBoundingClientRect().width`)
	p.drag("#grip", 0.5, -19.5, 0.5) // a width of the grip is 8 pixels
	p.until(`one("#side").getBoundingClientRect().width > %s + 100`, wide)
}

// TestPrintedSequence: on paper the sequence has every event, and both ends.
func TestPrintedSequence(t *testing.T) {
	t.Parallel()
	p := newTab(t)
	p.do(chromedp.EmulateViewport(700, 500))
	p.open(view(t, fixture("memory-2025-11-25")).at("all=1"))
	p.until(`all("#sequence g.row").length > 0`)
	p.media("print", nil)
	value[bool](p, `dispatchEvent(new Event("beforeprint"))`)
	p.until(`String(all("#sequence g.row").length) === one("#sequence [role=option]").getAttribute("aria-setsize")`)
	p.until(`(() => {
		const paper = one("#sequence svg").getBoundingClientRect();
		return paper.right <= innerWidth + 1 && all("#sequence text.end").every((end) => end.getBoundingClientRect().right <= paper.right);
	})()`)
	value[bool](p, `dispatchEvent(new Event("afterprint"))`)
	p.media("", nil)
}

// TestTerms: each word that has an explanation shows it at a hover and at a focus, and so at a tap.
func TestTerms(t *testing.T) {
	t.Parallel()
	p := newTab(t)
	p.open(view(t, fixture("pysdk-594")).at("view=replay&client=python-sdk@1.3"))
	p.until(`all(".term").length >= 4`)
	for _, word := range []string{"May be stuck", "reader", "notification queue", "buffer"} {
		p.until(`all(".term").some((e) => e.textContent === %s && e.dataset.means.length > 20)`, word)
		shown := value[string](p, `(() => {
			const word = all(".term").find((e) => e.textContent === %s);
			word.focus();
			return getComputedStyle(word, "::after").content;
		})()`, word)
		if len(shown) < 20 {
			t.Errorf("at a focus %s shows %s", word, shown)
		}
	}
	p.click("#told .term")
	p.until(`document.activeElement.matches("#told .term")`)
}
