package view

import (
	"crypto/rand"
	"crypto/subtle"
	"net/http"
	"strings"
)

// policy lets the page load its own script and style, ask its own server, and nothing else. Text
// cannot become markup: require-trusted-types-for makes every innerHTML an error.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

// guard keeps other web pages, other users of the machine and names that were bound to this address
// out.
type guard struct {
	host string // of the listener, with its port
	key  string
	next http.Handler
}

func newGuard(host string, next http.Handler) *guard { return &guard{host, rand.Text(), next} }

// cookie returns the name of the cookie: cookies do not tell the ports of a host apart.
func (g *guard) cookie() string {
	return "mcprec-view-" + g.host[strings.LastIndexByte(g.host, ':')+1:]
}

// holds reports whether a text is the key, in a time that does not depend on the text.
func (g *guard) holds(text string) bool {
	return subtle.ConstantTimeCompare([]byte(text), []byte(g.key)) == 1
}

// ServeHTTP passes requests of the page on. The first request carries the key in its address; the
// answer moves the key into a cookie and leads to the address without the key.
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
	query := r.URL.Query()
	if r.URL.Path == "/" && query.Has("key") && g.holds(query.Get("key")) {
		http.SetCookie(w, &http.Cookie{Name: g.cookie(), Value: g.key, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode})
		query.Del("key")
		to := *r.URL
		to.RawQuery = query.Encode()
		http.Redirect(w, r, to.RequestURI(), http.StatusSeeOther) // the browser keeps the hash
		return
	}
	cookie, err := r.Cookie(g.cookie())
	if err != nil || !g.holds(cookie.Value) {
		refuse(w, http.StatusForbidden, "open the address that mcprec view printed")
		return
	}
	g.next.ServeHTTP(w, r)
}
