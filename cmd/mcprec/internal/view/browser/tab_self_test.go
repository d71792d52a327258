package browser

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestFaults: a tab notes each thing that must not happen, so that the other tests can fail.
func TestFaults(t *testing.T) {
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
	for do, want := range map[string]string{
		`console.log("here")`:          "console.log",
		`console.warn("here")`:         "console.warning",
		`throw new Error("here")`:      "exception",
		`Promise.reject("here")`:       "exception",
		`document.body.innerHTML="x"`:  "report",
		`eval("1")`:                    "report",
		`fetch("/missing")`:            "404",
		`fetch("http://127.0.0.1:1/")`: "request failed",
		`1`:                            "",
	} {
		p := openTab(t)
		p.open(site.URL + "/?do=" + strings.ReplaceAll(do, "+", "%2B"))
		if want == "" {
			if seen := p.seenFaults(); len(seen) > 0 {
				t.Errorf("%s: %q", do, seen)
			}
			continue
		}
		waitUntil(t, do+" is noted as "+want, func() bool { return strings.Contains(strings.Join(p.seenFaults(), "\n"), want) })
	}
}
