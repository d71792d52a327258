package view

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"

	"github.com/mcprec/mcprec/transport/streamable"
)

// policy lets the page load its own script and style, ask its own server, and nothing else. Text
// cannot become markup: require-trusted-types-for makes every innerHTML an error.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

// guard answers one browser: the one that opened the address with the key first. It keeps out other
// web pages, other programs and users of the machine, and names that were bound to this address.
//
// The page stands under a path that nobody can guess, and the cookie is of that path: a browser gives
// the cookies of a host to each of its ports, and with them to whatever listens there.
type guard struct {
	host   string      // of the listener, with its port
	path   string      // of the page, between slashes
	key    string      // in the address, which works once
	used   atomic.Bool // the key opens nothing any more
	secret string      // of the cookie, which only the browser has
	next   http.Handler
}

func newGuard(host string, next http.Handler) *guard {
	return &guard{host: host, path: "/" + strings.ToLower(rand.Text()) + "/", key: rand.Text(), secret: rand.Text(), next: next}
}

// cookieName is the name of the cookie.
const cookieName = "mcprec-view"

// leading is the script of the document that the address with the key shows. It leads to the page, by
// the address without the key, and keeps the hash. A redirect would not do: after a link from
// elsewhere, such as the file of --open, a browser sends no strict cookie to where a redirect leads,
// and none when it loads such a page again.
const leading = `const to = new URL(location.href); to.searchParams.delete("key"); location.replace(to);`

// leadingPolicy lets a document run the script leading, and load nothing.
var leadingPolicy = func() string {
	sum := sha256.Sum256([]byte(leading))
	return "default-src 'none'; script-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; img-src data:; " +
		"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
}()

// ServeHTTP passes requests of the page on. The first request has the key in its address; the answer
// has the cookie, and leads to the address without the key.
func (g *guard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
	if r.Host != g.host {
		refuse(w, http.StatusMisdirectedRequest, "this is the address of another host")
		return
	}
	query := r.URL.Query()
	opens := r.Method == http.MethodGet && r.URL.Path == g.path && query.Has("key")
	follows := opens && r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Sec-Fetch-Dest") == "document"
	if streamable.IsFromOtherSite(r) && !follows { // a file that has the key may lead here
		refuse(w, http.StatusForbidden, "another site asks")
		return
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead && r.Header.Get("Origin") != "http://"+g.host {
		refuse(w, http.StatusForbidden, "another site asks")
		return
	}
	cookie, err := r.Cookie(cookieName)
	isKnown := err == nil && isEqual(cookie.Value, g.secret) && strings.HasPrefix(r.URL.Path, g.path)
	switch {
	case isKnown && !opens:
		http.StripPrefix(strings.TrimSuffix(g.path, "/"), g.next).ServeHTTP(w, r)
		return
	case isKnown: // opened again, as with a click on the printed address
	case r.URL.Path != g.path && r.URL.Path != "/":
		refuse(w, http.StatusForbidden, "open the address that mcprec view printed")
		return
	case !opens || !isEqual(query.Get("key"), g.key):
		turnAway(w, "Open the address that mcprec view printed", "It has a key, which lets in the browser that opens it first.")
		return
	case !g.used.CompareAndSwap(false, true):
		turnAway(w, "This address was used already", // a browser that opened it twice at once has the cookie by now
			`It lets in one browser, the first that opens it. If that was this one, <a href="./">go to the page</a>.</p>`+
				`<p>For another browser end mcprec view and start it again: it prints a new address. `+
				`Do so as well if you did not open the address yourself.`)
		return
	default:
		http.SetCookie(w, &http.Cookie{Name: cookieName, Value: g.secret, Path: g.path, HttpOnly: true, SameSite: http.SameSiteStrictMode})
	}
	h.Set("Content-Security-Policy", leadingPolicy)
	h.Set("Content-Type", "text/html; charset=utf-8")
	fmt.Fprintf(w, `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="color-scheme" content="light dark">`+
		`<title>mcprec</title><link rel="icon" href="data:,"><script>%s</script></head><body></body></html>`, leading)
}

// turnAway answers a person whose browser is not let in.
func turnAway(w http.ResponseWriter, title, text string) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(http.StatusForbidden)
	fmt.Fprintf(w, `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="color-scheme" content="light dark">`+
		`<title>mcprec</title></head><body><h1>%s</h1><p>%s</p></body></html>`, title, text)
}

// isEqual compares a text with a secret, in a time that does not depend on the text.
func isEqual(text, secret string) bool {
	return subtle.ConstantTimeCompare([]byte(text), []byte(secret)) == 1
}
