package browser

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"
)

// TestShots writes screenshots of each view into the folder MCPREC_SHOTS, for eyes: both themes, wide and
// narrow.
func TestShots(t *testing.T) {
	folder := os.Getenv("MCPREC_SHOTS")
	if folder == "" {
		return // nobody wants to look
	}
	needBrowser(t)
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	looks := []struct {
		name, theme string
		width       int64
	}{{"light", "light", 1360}, {"light-narrow", "light", 400}, {"dark", "dark", 1360}, {"dark-narrow", "dark", 400}}
	eachPlace(t, func(t *testing.T, p *tab, c place, show func(string)) {
		for _, look := range looks {
			p.do(chromedp.EmulateViewport(look.width, 860))
			show("&theme=" + look.theme)
			p.shoot(filepath.Join(folder, c.name+"-"+look.name+".png"))
		}
	})
	for _, look := range looks {
		shootLive(t, look.theme, look.width, filepath.Join(folder, "why-"+look.name+".png"))
	}
}

// shootLive takes the picture of a session that hangs now.
func shootLive(t *testing.T, theme string, width int64, path string) {
	t.Helper()
	r := record(t)
	r.handshake()
	r.fromClient(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ask","arguments":{}}}`)
	r.fromServer(`{"jsonrpc":"2.0","id":"s1","method":"sampling/createMessage","params":{"maxTokens":1,"messages":[]}}`)
	page := viewStore(t, r.store)
	p := newTab(t)
	p.do(chromedp.EmulateViewport(width, 860))
	p.open(page.at("theme=" + theme))
	p.until(`one("#why")`)
	p.shoot(path)
}

// shoot writes what the tab shows, once it has drawn all that it asked for.
func (p *tab) shoot(path string) {
	p.t.Helper()
	p.until(`!one("html").dataset.busy`)
	value[bool](p, `new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(() => drawn(true))))`)
	picture, err := chromedp.Run(p.ctx, chromedp.CaptureScreenshot())
	if err == nil {
		err = os.WriteFile(path, picture, 0o644)
	}
	if err != nil {
		p.t.Fatal(err)
	}
}
