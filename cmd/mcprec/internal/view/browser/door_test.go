package browser

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/chromedp/chromedp"
)

// ready is true when the page has loaded.
const ready = `document.documentElement.dataset.ready === "1"`

// TestOtherPorts: the browser gives the cookie of the page to no other port of the machine, at whatever
// path that it can know, and nothing on another port reads the page by the browser.
func TestOtherPorts(t *testing.T) {
	t.Parallel()
	needBrowser(t)
	page := view(t, fixture("seed"))
	var mu sync.Mutex
	var came []string // the path and the cookie of each request
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		came = append(came, r.URL.Path+" "+r.Header.Get("Cookie"))
		mu.Unlock()
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprint(w, `<!doctype html><html lang="en"><head><title>other</title><link rel="icon" href="data:,"></head></html>`)
	}))
	defer other.Close()
	p := newTab(t)
	p.open(page.at(""))
	asks := value[[]string](p, `performance.getEntriesByType("resource").map((entry) => new URL(entry.name).pathname)`)
	if len(asks) == 0 {
		t.Fatal("the page asks for nothing")
	}
	p.visit(other.URL + "/")
	for _, path := range []string{"/", "/api/rows", "/dist/view.js"} {
		value[bool](p, `fetch(%s, {credentials: "include"}).then(() => true)`, path)
	}
	mu.Lock()
	for _, got := range came {
		if _, cookie, _ := strings.Cut(got, " "); cookie != "" {
			t.Errorf("another port gets a cookie: %s", got)
		}
	}
	mu.Unlock()
	for _, path := range asks { // as one that had learned the path
		address := *page.url
		address.Path, address.RawQuery = path, ""
		got := value[string](p, `fetch(%s, {credentials: "include"}).then((answer) => answer.text(), () => "")`, address.String())
		if got != "" {
			t.Errorf("a page on another port reads %s: %.80s", path, got)
		}
	}
	p.forget() // the browser says that it was refused
	p.open(page.at(""))
}

// TestLaunched: the file that view --open gives to the browser leads to the page with its hash. The page
// loads again, and a session of a list opens in another tab.
func TestLaunched(t *testing.T) {
	t.Parallel()
	needBrowser(t)
	programs := t.TempDir()
	opened := filepath.Join(programs, "opened")
	if err := syscall.Mkfifo(opened, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"xdg-open", "open"} {
		script := "#!/bin/sh\nprintf %s \"$1\" >'" + opened + "'\n"
		if err := os.WriteFile(filepath.Join(programs, name), []byte(script), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	store := t.TempDir()
	output(t, store, "import", fixture("seed"), fixture("gosdk-897"))
	for _, args := range [][]string{{"--at", "5", fixture("seed")}, {"--dir"}} {
		page := viewWith(t, store, []string{"PATH=" + programs + ":" + os.Getenv("PATH"), "TMPDIR=" + t.TempDir()}, append([]string{"--open"}, args...)...)
		file, err := os.ReadFile(opened)
		if err != nil {
			t.Fatal(err)
		}
		p := newTab(t)
		p.visit((&url.URL{Scheme: "file", Path: string(bytes.TrimSpace(file))}).String())
		p.until(ready)
		at := value[string](p, `location.href`)
		if want := page.url.EscapedFragment(); strings.Contains(at, "key=") || !strings.Contains(at, want) {
			t.Errorf("the page is at %s, want #%s and no key", at, want)
		}
		p.do(chromedp.Reload())
		p.until(ready)
		p.forget() // the browser says that the page is stricter with links than most
		if args[0] == "--dir" {
			value[bool](p, `(window.another = open("?session=" + one("#sessions tr[data-session]").dataset.session), true)`)
			p.until(`window.another.document.querySelector("#app")?.textContent.includes("Sequence")`)
			value[bool](p, `(window.another.close(), true)`)
		}
	}
}
