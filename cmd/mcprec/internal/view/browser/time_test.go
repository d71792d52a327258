package browser

import (
	"context"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
)

// drag moves the mouse with its button down between two points of an element, which are shares of its size.
func (p *tab) drag(selector string, fromX, toX, y float64) {
	p.t.Helper()
	p.until(`one(%s)`, selector)
	box := value[[4]float64](p, `(() => {
		const box = one(%s).getBoundingClientRect();
		return [box.x, box.y, box.width, box.height];
	})()`, selector)
	p.do(chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		for _, step := range []struct {
			kind    input.DispatchMouseEventType
			x       float64
			buttons int64
		}{
			{input.DispatchMouseEventTypeMousePressed, fromX, 1},
			{input.DispatchMouseEventTypeMouseMoved, (fromX + toX) / 2, 1},
			{input.DispatchMouseEventTypeMouseMoved, toX, 1},
			{input.DispatchMouseEventTypeMouseReleased, toX, 0},
		} {
			_, err := cdp.Call(ctx, target, input.DispatchMouseEvent, input.DispatchMouseEventParams{
				Type: step.kind, X: box[0] + step.x*box[2], Y: box[1] + y*box[3],
				Button: input.MouseButtonLeft, Buttons: step.buttons, ClickCount: 1,
			})
			if err != nil {
				return err
			}
		}
		return nil
	}))
}

// TestSilence: where a side is silent behind an answer, that is as long as it was, too.
func TestSilence(t *testing.T) {
	t.Parallel()
	p := newTab(t)
	p.open(view(t, fixture("pysdk-594")).at(""))
	p.until(`one("#waterfall .silence rect")`)
	share := value[float64](p, `one("#waterfall .silence rect").getBoundingClientRect().width /
		one("#waterfall > div").getBoundingClientRect().width`)
	if said := p.text("#waterfall .silence"); share < 0.9 || share > 1 || !strings.Contains(said, "the client is silent · 14") {
		t.Errorf("the silence takes %.2f of the width, and says %q", share, said)
	}
}

// TestWaterfall: a wait of two minutes is as long as it was, in red; a click on it leads to the call, and a
// range that is dragged is what the sequence shows, until it is taken away.
func TestWaterfall(t *testing.T) {
	t.Parallel()
	p := newTab(t)
	p.open(view(t, sessionFile(t, hung)).at("at=2"))
	p.until(`all("#waterfall .call").length === 2`)
	share := value[float64](p, `one("#waterfall .call.fault rect").getBoundingClientRect().width /
		one("#waterfall > div").getBoundingClientRect().width`)
	if share < 0.98 || share > 1.01 {
		t.Errorf("the wait takes %.2f of the width", share)
	}
	if said := p.text("#waterfall .call.fault"); !strings.Contains(said, "search") || !strings.Contains(said, "2.0 min") {
		t.Errorf("the wait says %q", said)
	}
	p.drag("#waterfall > div", 0.5, 1.1, 0.9)
	p.until(`one("#waterfall button").textContent.startsWith("#6 to #8")`)
	p.until(`all("#sequence g.row").map((row) => row.dataset.seq).join() === "6,7" && location.hash.includes("range=6-8")`)
	p.press("g")
	p.until(`one(".row.pick").dataset.seq === "6"`)
	p.press("\x1b")
	p.until(`all("#sequence g.row").length === 7 && !location.hash.includes("range")`)
	p.click("#waterfall .call.fault rect")
	p.until(`one(".row.pick").dataset.seq === "5"`)
}

// TestLiveTime: while a session goes on, its clock runs, an open call waits in amber until it is stuck, and
// the page says whether it goes along with new events.
func TestLiveTime(t *testing.T) {
	t.Parallel()
	needBrowser(t)
	r := record(t)
	r.handshake()
	page := viewStore(t, r.store) // ends after the tab, which else would miss it
	p := newTab(t)
	p.open(page.at(""))
	r.fromClient(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"slow","arguments":{}}}`)
	p.until(`one("#waterfall .call.waits") && one("#sequence .rail.waits") && !one("#waterfall .call.fault")`)
	p.until(`one("#follows").getAttribute("aria-pressed") === "true"`)
	before := p.text("header .what")
	p.until(`one("header .what").textContent !== %s`, before)
	p.until(`one("#waterfall .call.fault") && !one("#sequence .rail.waits") && one("#verdict.fail").textContent.includes("slow")`)
	p.press("k")
	p.until(`one("#follows").textContent.includes("not following")`)
	p.press("G")
	p.until(`one("#follows").getAttribute("aria-pressed") === "true"`)
	r.fromServer(`{"jsonrpc":"2.0","id":1,"result":{"content":[]}}`)
	p.until(`one("#verdict.pass") && one("#waterfall .call.c2s") && !one("#waterfall .call.fault")`)
}

// TestTicks: the times over the waterfall are all different, also where they are parts of a second.
func TestTicks(t *testing.T) {
	t.Parallel()
	p := newTab(t)
	p.open(view(t, sessionFile(t, strings.ReplaceAll(hung, "120.", "7."))).at(""))
	p.until(`(() => {
		const times = all("#waterfall .tick + text").map((e) => e.textContent);
		return times.length > 10 && new Set(times).size === times.length && times.includes("1.5 s");
	})()`)
}
