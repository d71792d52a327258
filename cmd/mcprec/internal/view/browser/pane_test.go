package browser

import (
	"net"
	"os"
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
	p.until(`getComputedStyle(one("main")).fontSize === getComputedStyle(document.body).fontSize`) // nothing else changes
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
	p.until(`one("header .what").checkVisibility()`) // which session this is
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

// TestSaysWithoutHover: what the page counts, chooses and finds is named where it stands.
func TestSaysWithoutHover(t *testing.T) {
	t.Parallel()
	p := newTab(t)
	p.open(view(t, fixture("gosdk-897")).at("at=8"))
	// a finding says the rule in words before its code
	p.until(`/^error, not kept: [a-z ]{10,}.*\(rule E1, /.test(one("#findings li").textContent)`)
	// a command is not broken behind the hyphens of a flag
	p.until(`((words) => words.length > 2 && words.every((word) => word.getClientRects().length === 1))(all("#side .said code .whole"))`)
	p.open(view(t, fixture("seed")).at("view=replay"))
	p.until(`one("#replay .verdict.pass")`)
	// steps are no events
	p.until(`all("#replay .top text").some((head) => head.textContent === "step")`)
	// a transport that holds nothing
	p.until(`one("#replay select[name=buffer]").selectedOptions[0].textContent === "0 (none)"`)
	// how a side of a model works stands before what needs scrolling
	p.until(`all("#side h2")[0].textContent === "How each side works in this replay" &&
		one("#side dl").textContent.startsWith("client independentits reader never waits")`)
	p.press("3")
	p.until(`all("#beside .caption b").length === 2 &&
		all("#beside .caption b").every((b) => b.textContent === "client independent, server independent, buffer 0 (none)")`)
}

// TestNothingCovered: in no window does a control of a replay cover another, and no head of its drawing is cut or
// covers another. At 400 pixels the first box of the ring is in sight.
func TestNothingCovered(t *testing.T) {
	t.Parallel()
	p := newTab(t)
	page := view(t, fixture("pysdk-594"))
	for _, c := range []struct {
		width, height int64
		view          string
	}{{1440, 900, "replay"}, {1024, 768, "replay"}, {720, 450, "replay"}, {400, 800, "replay"}, {400, 800, "beside"}} {
		p.do(chromedp.EmulateViewport(c.width, c.height))
		p.open(page.at("view=" + c.view + "&client=python-sdk@1.3&client2=independent"))
		p.until(`one("#ring") && all("#ring .node rect").some((box) => ` + seen + `(box) > 0.95)`)
		p.until(`!one("html").dataset.busy`)
		covered := value[[]string](p, `(() => {
			const found = [];
			for (const [name, boxes] of [
				["setup", all(".setup > *, .setup label > select")], ["heads", all(".top text")], ["bar", all("#verdict > *")], ["header", all("header > *")],
			]) {
				const seen = boxes.filter((e) => e.checkVisibility()).map((e) => [e, e.getBoundingClientRect()]);
				for (const [e, a] of seen) {
					if (name === "heads" && a.left < e.ownerSVGElement.getBoundingClientRect().left) found.push(e.textContent + " is cut");
					for (const [other, b] of seen) {
						const across = Math.min(a.right, b.right) - Math.max(a.left, b.left);
						const down = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
						const apart = !e.contains(other) && !other.contains(e);
						if (apart && across > 1 && down > 3) found.push(name + ": " + e.textContent.slice(0, 20) + " / " + other.textContent.slice(0, 20));
					}
				}
			}
			return found;
		})()`)
		if len(covered) > 0 {
			t.Errorf("%s, %d by %d: %q", c.view, c.width, c.height, covered)
		}
	}
	p.do(chromedp.EmulateViewport(1024, 768)) // the button of the ring has a long text here
	p.open(view(t, fixture("gosdk-897")).at("at=8"))
	p.until(`one("#why button:not(.jump)") && one("#side").scrollWidth <= one("#side").clientWidth`)
}

// TestSentenceWhole: the verdict's sentence has a second line where it needs one.
func TestSentenceWhole(t *testing.T) {
	t.Parallel()
	p := newTab(t)
	page := view(t, fixture("pysdk-594"))
	for _, width := range []int64{1440, 1024, 720} {
		p.do(chromedp.EmulateViewport(width, 768))
		p.open(page.at(""))
		p.until(`one("#verdict.fail") && one("#verdict .told").scrollHeight <= one("#verdict .told").clientHeight + 1 &&
			one("#verdict .told").scrollWidth <= one("#verdict .told").clientWidth + 1`)
	}
}

// TestLinesAreSeen: what is drawn as a line stands out from its ground as the guidelines ask: 3 to 1.
func TestLinesAreSeen(t *testing.T) {
	t.Parallel()
	p := newTab(t)
	page := view(t, fixture("seed"))
	for _, theme := range []string{"light", "dark"} {
		p.open(page.at("theme=" + theme))
		contrast := value[float64](p, `(() => {
			const style = getComputedStyle(one("html"));
			const light = (name) => {
				const parts = style.getPropertyValue(name).trim().slice(1).match(/../g).map((part) => parseInt(part, 16) / 255);
				const [r, g, b] = parts.map((c) => (c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
				return 0.2126 * r + 0.7152 * g + 0.0722 * b;
			};
			const [a, b] = [light("--line"), light("--ground")].sort((x, y) => y - x);
			return (a + 0.05) / (b + 0.05);
		})()`)
		if contrast < 3 {
			t.Errorf("%s: %.2f to 1", theme, contrast)
		}
	}
}

// TestServerGone: when mcprec view has ended, the page says so, and what stands there stays.
func TestServerGone(t *testing.T) {
	t.Parallel()
	p := openTab(t) // requests will fail
	page := view(t, fixture("seed"))
	p.open(page.at("at=5"))
	p.until(`one("#payload").dataset.seq === "5" && one("#state").dataset.seq && !one("html").dataset.busy && !one("#away")`)
	if err := page.process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	p.untilGone(page)
	p.press("j")
	p.until(`one("#away").textContent.includes("mcprec view does not answer any more") && one(".row.pick").dataset.seq === "6"`)
}

// untilGone waits until a server answers no more.
func (p *tab) untilGone(of *server) {
	p.t.Helper()
	waitUntil(p.t, "the server ends", func() bool {
		conn, err := net.Dial("tcp", of.url.Host)
		if err == nil {
			conn.Close()
		}
		return err != nil
	})
}
