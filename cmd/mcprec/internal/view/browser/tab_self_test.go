package browser

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
)

// TestFaults: a tab notes each thing that must not happen, so that the other tests can fail.
func TestFaults(t *testing.T) {
	t.Parallel()
	needBrowser(t)
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		w.Header().Set("Content-Security-Policy", "script-src 'unsafe-inline'; require-trusted-types-for 'script'; trusted-types 'none'")
		_, _ = w.Write([]byte("<!doctype html><link rel=icon href=data:,><body><script>" + r.URL.Query().Get("do") + "</script>" +
			"<script>document.documentElement.dataset.ready = 1</script>"))
	}))
	defer site.Close()
	p := openTab(t)
	p.open(site.URL + "/?do=1")
	if seen := p.seenFaults(); len(seen) > 0 {
		t.Errorf("a page without a fault: %q", seen)
	}
	for do, want := range map[string]string{ // expressions that fit no other case
		`console.log("here")`:          `console\.log`,
		`console.warn("here")`:         `console\.warning`,
		`throw new Error("here")`:      `exception: .*Error: here`,
		`Promise.reject("here")`:       `(?m)exception: .*\(in promise\) $`,
		`document.body.innerHTML="x"`:  `report .*innerHTML`,
		`eval("1")`:                    `report .*eval`,
		`fetch("/missing")`:            `/missing answered 404`,
		`fetch("http://127.0.0.1:1/")`: `request failed`,
	} {
		p.forget()
		p.open(site.URL + "/?do=" + strings.ReplaceAll(do, "+", "%2B"))
		noted := regexp.MustCompile(want)
		waitUntil(t, do+" is noted as "+want, func() bool { return noted.MatchString(strings.Join(p.seenFaults(), "\n")) })
	}
}
