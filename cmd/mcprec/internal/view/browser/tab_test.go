package browser

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto"
	"github.com/chromedp/cdproto/audits"
	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/inspector"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	targets "github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// waiting is a function of a condition and of milliseconds: it returns null when the condition
// holds, or the selectors that the condition asked for and that are not there. It builds no code
// from text, which the page's policy forbids.
//
//go:embed testdata/wait.js
var waiting string

// tab is a tab of the browser. It shares cookies and storage with no other. Opening one takes longer
// than most tests do, so a tab goes from test to test: restore says what each of them starts from.
type tab struct {
	ctx   context.Context
	end   context.CancelFunc // closes the tab
	owner testing.TB         // the test that has the tab
	t     testing.TB         // the owner, or the subtest that the tab is lent to
	empty bool               // it shows no page

	mu       sync.Mutex
	faults   []string // what must not happen
	requests []string // the addresses that the page asked for
}

// idleTabs are those that no test has.
var (
	idleMutex sync.Mutex
	idleTabs  []*tab
)

// newTab gives a tab to a test until its end. The test fails on what the page does wrong until then.
func newTab(t testing.TB) *tab {
	t.Helper()
	p := openTab(t)
	t.Cleanup(p.blame)
	return p
}

// openTab is newTab without the failure.
func openTab(t testing.TB) *tab {
	t.Helper()
	needBrowser(t)
	p := &tab{}
	idleMutex.Lock()
	if last := len(idleTabs) - 1; last >= 0 {
		p, idleTabs = idleTabs[last], idleTabs[:last]
	}
	idleMutex.Unlock()
	if p.ctx == nil {
		p.ctx, p.end = chromedp.NewContext(browserContext, chromedp.WithNewBrowserContext(), chromedp.WithListener(p.hear))
	}
	p.owner, p.t, p.empty = t, t, true
	t.Cleanup(func() {
		if t.Failed() { // nobody knows how the tab stands
			p.end()
			return
		}
		idleMutex.Lock()
		defer idleMutex.Unlock()
		idleTabs = append(idleTabs, p)
	})
	p.restore()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.faults, p.requests = nil, nil
	return p
}

// restore takes back what a test can set: the window has 1360 by 860 pixels and the focus that the
// browser gives it, the medium is the screen, no permission is given, and the page obeys its policy.
// The page stays, and so do the cookies, each of which is for one server.
func (p *tab) restore() {
	p.t.Helper()
	p.do(chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, audits.Enable, cdp.Empty{})
		if err == nil {
			_, err = cdp.Call(ctx, target, page.SetBypassCSP, page.SetBypassCSPParams{})
		}
		if err == nil {
			_, err = cdp.Call(ctx, target, emulation.SetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{})
		}
		if err == nil {
			in := chromedp.FromContext(ctx)
			params := browser.ResetPermissionsParams{BrowserContextID: in.BrowserContextID}
			_, err = cdp.Call(ctx, in.Browser, browser.ResetPermissions, params)
		}
		return err
	}), chromedp.EmulateViewport(1360, 860))
	p.media("", nil)
}

// lend gives the tab to a subtest of its owner, restored. The subtest fails on what the page does
// wrong until its end. The page is that of the subtest before, until the subtest opens its own.
func (p *tab) lend(t testing.TB) {
	t.Helper()
	p.t = t
	t.Cleanup(func() { p.t = p.owner })
	t.Cleanup(p.blame)
	p.restore()
}

// blame fails the test on what the page did wrong.
func (p *tab) blame() {
	for _, fault := range p.seenFaults() {
		p.t.Errorf("the page: %s", fault)
	}
	p.forget()
}

// hear notes what happens in the tab.
func (p *tab) hear(event any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	fault := func(format string, args ...any) { p.faults = append(p.faults, fmt.Sprintf(format, args...)) }
	switch e := event.(type) {
	case *runtime.EventConsoleAPICalled:
		text, _ := json.Marshal(e.Args)
		fault("console.%s %s", e.Type, text)
	case *runtime.EventExceptionThrown:
		text := e.ExceptionDetails.Text
		if thrown := e.ExceptionDetails.Exception; thrown != nil {
			text += " " + thrown.Description
		}
		fault("exception: %s", text)
	case *log.EventEntryAdded:
		fault("%s of %s: %s %s", e.Entry.Level, e.Entry.Source, e.Entry.Text, e.Entry.URL)
	case *audits.EventIssueAdded:
		text, _ := json.Marshal(e.Issue.Details)
		fault("report %s: %s", e.Issue.Code, text)
	case *inspector.EventTargetCrashed:
		fault("the tab crashed")
	case *page.EventJavascriptDialogOpening:
		fault("dialog: %s", e.Message)
	case *network.EventRequestWillBeSent:
		p.requests = append(p.requests, e.Request.URL)
	case *network.EventResponseReceived:
		if e.Response.Status >= 400 {
			fault("%s answered %d", e.Response.URL, e.Response.Status)
		}
	case *network.EventLoadingFailed:
		// The page takes back what it no longer needs, and leaving it ends its streams.
		if !e.Canceled && e.ErrorText != "net::ERR_ABORTED" {
			fault("request failed: %s %s", e.ErrorText, e.BlockedReason)
		}
	}
}

func (p *tab) seenFaults() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.faults...)
}

func (p *tab) seenRequests() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.requests...)
}

// do runs actions by the deadline.
func (p *tab) do(actions ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	if err := chromedp.Do(p.ctx); err != nil { // else the deadline would end the tab
		p.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(p.ctx, deadline)
	defer cancel()
	if err := chromedp.Do(ctx, actions...); err != nil {
		p.t.Fatalf("%v\n%s", err, strings.Join(p.seenFaults(), "\n"))
	}
}

// open goes to an address and waits until the page says that it is ready.
func (p *tab) open(address string) *tab {
	p.t.Helper()
	value[bool](p, `(document.documentElement.dataset.ready = "0", true)`) // a new hash alone loads nothing
	p.visit(address)
	p.until(`document.documentElement.dataset.ready === "1"`)
	return p
}

// visit goes to an address. The page goes before what the owner of the tab started until now, such as
// its server, which else it would miss.
func (p *tab) visit(address string) {
	p.t.Helper()
	p.owner.Cleanup(p.leave)
	p.empty = false
	p.do(chromedp.Navigate(address))
}

// leave goes from the page.
func (p *tab) leave() {
	if p.empty {
		return
	}
	ctx, cancel := context.WithTimeout(p.ctx, deadline)
	defer cancel()
	_ = chromedp.Do(ctx, chromedp.Navigate("about:blank")) // the tab may be gone
	p.empty = true
}

// script puts values into an expression as JSON, each at a %s.
func script(expression string, values ...any) string {
	texts := make([]any, len(values))
	for i, value := range values {
		text, err := json.Marshal(value)
		if err != nil {
			panic(err)
		}
		texts[i] = string(text)
	}
	if len(values) == 0 {
		return expression
	}
	return fmt.Sprintf(expression, texts...)
}

// until waits until an expression is true in the page. In it, one(selector) is the element of a
// selector, and all(selector) are its elements.
func (p *tab) until(expression string, values ...any) {
	p.t.Helper()
	expression = script(expression, values...)
	end := time.Now().Add(deadline)
	for {
		left := time.Until(end)
		ctx, cancel := context.WithTimeout(p.ctx, left+5*time.Second)
		code := fmt.Sprintf("(%s)((one, all) => (%s), %d)", waiting, expression, left.Milliseconds())
		missing, err := chromedp.Run(ctx, chromedp.Evaluate[*string](code, chromedp.EvalAwaitPromise))
		cancel()
		switch {
		case err == nil && missing == nil:
			return
		case err == nil:
			p.t.Fatalf("not after %v: %s\n%s\n%s", deadline, expression, *missing, strings.Join(p.seenFaults(), "\n"))
		case !navigated(err) || time.Now().After(end):
			p.t.Fatalf("wait for %s: %v\n%s", expression, err, strings.Join(p.seenFaults(), "\n"))
		}
	}
}

// navigated reports whether an error says that the page went while an expression waited in it.
func navigated(err error) bool {
	var failed *cdproto.Error
	return errors.As(err, &failed) && slices.ContainsFunc([]string{"context", "navigated", "Promise was collected"}, func(said string) bool {
		return strings.Contains(failed.Message, said)
	})
}

// value returns the value of an expression in the page. one(selector) throws where there is no
// such element, and names it.
func value[T any](p *tab, expression string, values ...any) T {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, deadline)
	defer cancel()
	code := fmt.Sprintf(`(() => {
		const all = (selector) => [...document.querySelectorAll(selector)];
		const one = (selector) => {
			const found = document.querySelector(selector);
			if (!found) throw new Error("no element " + selector);
			return found;
		};
		return (%s);
	})()`, script(expression, values...))
	got, err := chromedp.Run(ctx, chromedp.Evaluate[T](code, chromedp.EvalAwaitPromise))
	if err != nil {
		p.t.Fatalf("%s: %v\n%s", script(expression, values...), err, strings.Join(p.seenFaults(), "\n"))
	}
	return got
}

// text returns the text of an element, as it is in the document.
func (p *tab) text(selector string) string {
	p.t.Helper()
	return value[string](p, `one(%s).textContent`, selector)
}

// press types keys, each a rune as kb spells it. A key that the page takes writes no letter, as
// with a real keyboard: down and letter are one event.
func (p *tab) press(keys string, modifiers ...chromedp.Modifier) {
	p.t.Helper()
	p.do(chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		for _, key := range keys {
			events := kb.Encode(key)
			down, up := *events[0], *events[len(events)-1]
			if len(events) == 3 {
				down.Type, down.Text = input.DispatchKeyEventTypeKeyDown, events[1].Text
			}
			for _, modifier := range modifiers {
				down.Modifiers |= int64(modifier)
				up.Modifiers |= int64(modifier)
			}
			for _, event := range []input.DispatchKeyEventParams{down, up} {
				if _, err := cdp.Call(ctx, target, input.DispatchKeyEvent, event); err != nil {
					return err
				}
			}
		}
		return nil
	}))
}

// choose sets a select element, as a user does.
func (p *tab) choose(selector, chosen string) {
	p.t.Helper()
	p.until(`one(%s) && [...one(%s).options].some((o) => o.value === %s)`, selector, selector, chosen)
	value[bool](p, `(() => {
		const select = one(%s);
		select.value = %s;
		select.dispatchEvent(new Event("input", {bubbles: true}));
		select.dispatchEvent(new Event("change", {bubbles: true}));
		return true;
	})()`, selector, chosen)
}

// click presses the mouse on an element.
func (p *tab) click(selector string) {
	p.t.Helper()
	p.until(`one(%s)`, selector)
	at := value[[2]float64](p, `(() => {
		const element = one(%s);
		element.scrollIntoView({block: "nearest"});
		const box = element.getBoundingClientRect();
		return [box.x + box.width / 2, box.y + box.height / 2];
	})()`, selector)
	p.do(chromedp.MouseClickXY(at[0], at[1]))
}

// media emulates a medium and features, such as "prefers-color-scheme": "dark".
func (p *tab) media(medium string, features map[string]string) {
	p.t.Helper()
	params := emulation.SetEmulatedMediaParams{Media: medium}
	for name, set := range features {
		params.Features = append(params.Features, &emulation.MediaFeature{Name: name, Value: set})
	}
	p.do(chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, emulation.SetEmulatedMedia, params)
		return err
	}))
}

// clickText presses the mouse on the element of a selector that has a text.
func (p *tab) clickText(selector, text string) {
	p.t.Helper()
	p.until(`all(%s).some((e) => e.textContent === %s)`, selector, text)
	at := value[[2]float64](p, `(() => {
		const element = all(%s).find((e) => e.textContent === %s);
		element.scrollIntoView({block: "nearest"});
		const box = element.getBoundingClientRect();
		return [box.x + box.width / 2, box.y + box.height / 2];
	})()`, selector, text)
	p.do(chromedp.MouseClickXY(at[0], at[1]))
}

// forget takes the faults so far as expected.
func (p *tab) forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.faults = nil
}

// allow gives the page permissions that a user would be asked for.
func (p *tab) allow(names ...string) {
	p.t.Helper()
	p.do(chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		info, err := cdp.Call(ctx, target, targets.GetTargetInfo, targets.GetTargetInfoParams{})
		if err != nil {
			return err
		}
		for _, name := range names {
			params := browser.SetPermissionParams{
				Permission:       &browser.PermissionDescriptor{Name: name},
				Setting:          browser.PermissionSettingGranted,
				BrowserContextID: info.TargetInfo.BrowserContextID,
			}
			if _, err := cdp.Call(ctx, chromedp.FromContext(ctx).Browser, browser.SetPermission, params); err != nil {
				return fmt.Errorf("permission %s: %w", name, err)
			}
		}
		_, err = cdp.Call(ctx, target, emulation.SetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true})
		return err
	}))
}
