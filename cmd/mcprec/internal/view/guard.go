package view

import (
	"crypto/rand"
	"crypto/subtle"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
)

// policy lets the page load its own script and style, ask its own server, and nothing else. Text
// cannot become markup: require-trusted-types-for makes every innerHTML an error.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

// guard answers one browser: the one that opened the address with the key first. It keeps out other
// web pages, other programs and users of the machine, and names that were bound to this address.
type guard struct {
	host   string      // of the listener, with its port
	key    string      // in the address: other programs may see it, as in the arguments of the browser
	used   atomic.Bool // the key opens nothing any more
	secret string      // of the cookie, which only the browser has
	next   http.Handler
}

func newGuard(host string, next http.Handler) *guard {
	return &guard{host: host, key: rand.Text(), secret: rand.Text(), next: next}
}

// cookie returns the name of the cookie: cookies do not tell the ports of a host apart.
func (g *guard) cookie() string {
	return "mcprec-view-" + g.host[strings.LastIndexByte(g.host, ':')+1:]
}

// ServeHTTP passes requests of the page on. The first request has the key in its address; the answer
// is the cookie, and leads to the address without the key.
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
	if site := r.Header.Get("Sec-Fetch-Site"); site != "" && site != "same-origin" && site != "none" {
		refuse(w, http.StatusForbidden, "another site asks")
		return
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead && r.Header.Get("Origin") != "http://"+g.host {
		refuse(w, http.StatusForbidden, "another site asks")
		return
	}
	cookie, err := r.Cookie(g.cookie())
	isKnown := err == nil && isEqual(cookie.Value, g.secret)
	query := r.URL.Query()
	opens := r.URL.Path == "/" && query.Has("key")
	switch {
	case isKnown && !opens:
		g.next.ServeHTTP(w, r)
		return
	case isKnown: // opened again, as with a click on the printed address
	case r.URL.Path != "/":
		refuse(w, http.StatusForbidden, "open the address that mcprec view printed")
		return
	case r.Method != http.MethodGet || !opens || !isEqual(query.Get("key"), g.key):
		turnAway(w, "Open the address that mcprec view printed", "It has a key, which lets in the browser that opens it first.")
		return
	case !g.used.CompareAndSwap(false, true):
		turnAway(w, "This address was used already", // a browser that opened it twice at once has the cookie by now
			`It lets in one browser, the first that opens it. If that was this one, <a href="/">go to the page</a>.</p>`+
				`<p>For another browser end mcprec view and start it again: it prints a new address. `+
				`Do so as well if you did not open the address yourself.`)
		return
	default:
		http.SetCookie(w, &http.Cookie{Name: g.cookie(), Value: g.secret, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode})
	}
	query.Del("key")
	to := *r.URL
	to.RawQuery = query.Encode()
	http.Redirect(w, r, to.RequestURI(), http.StatusSeeOther) // the browser keeps the hash
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
