package httptap

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/mcprec/mcprec/transport/streamable"
)

// Refusal says why the proxy did not pass a request on.
type Refusal struct {
	Status int // of the answer
	Why    string
	IsPage bool // a web page made the request, or one that pretends to be of another host
}

// loginPaths are where a client logs in at a server without metadata (revision 2025-03-26,
// authorization, fallbacks for servers without metadata discovery). They stand at the root,
// wherever the MCP endpoint is.
var loginPaths = []string{"/authorize", "/token", "/register"}

// metadataPrefix begins the paths of metadata (RFC 8615), which stand at the root as well.
const metadataPrefix = "/.well-known/"

// refusal returns why a request must not be passed on, or nil. The proxy is there for the clients of
// one MCP endpoint. It must not be a way to what else the target's host has, for the target may
// trust this machine and not those that can reach the proxy.
func (p *proxy) refusal(r *http.Request) *Refusal {
	asked := r
	if leadsToLogin(r) {
		asked = r.Clone(r.Context())
		asked.Header.Del("Sec-Fetch-Site")
	}
	if why := streamable.MayAsk(asked, p.o.Origins); why != "" {
		return &Refusal{http.StatusForbidden, why, true}
	}
	path := fmt.Sprintf("%.100s", r.URL.EscapedPath()) // without line ends
	switch {
	case r.Method == http.MethodConnect, r.Method == http.MethodTrace:
		return &Refusal{http.StatusNotImplemented, "no MCP client asks by " + r.Method, false}
	case climbs(r.URL.Path):
		return &Refusal{http.StatusForbidden, "the path " + path + " leads upwards", false}
	case !p.isServed(r.URL.Path):
		root := url.URL{Scheme: p.o.Target.Scheme, Host: p.o.Target.Host, Path: "/"}
		return &Refusal{http.StatusForbidden, fmt.Sprintf("the path %s is not below that of the target, %s; with the target %s every path is",
			path, p.o.Target.EscapedPath(), &root), false}
	}
	return nil
}

// leadsToLogin reports whether a browser goes from a web client to the page on which its user logs in, as
// OAuth has it. It shows the page, and the other site sees nothing of it.
func leadsToLogin(r *http.Request) bool {
	return r.Method == http.MethodGet && r.URL.Path == loginPaths[0] && r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Sec-Fetch-Dest") == "document"
}

// climbs reports whether a path has a segment "..", in one of the forms in which servers read it.
func climbs(path string) bool {
	segments := strings.FieldsFunc(path, func(r rune) bool { return r == '/' || r == '\\' })
	return slices.ContainsFunc(segments, func(segment string) bool {
		name, _, _ := strings.Cut(segment, ";") // behind it are parameters
		return name == ".."
	})
}

// isServed reports whether a path is for the clients of the MCP endpoint: the endpoint's own or one
// below it, where they find its metadata and log in, or where the server has led them.
func (p *proxy) isServed(path string) bool {
	own := strings.TrimSuffix(p.o.Target.Path, "/")
	return own == "" || path == "" || path == "/" || path == own || strings.HasPrefix(path, own+"/") ||
		strings.HasPrefix(path, metadataPrefix) || slices.Contains(loginPaths, path) || p.tap.isNamed(path)
}

// follow notes the path to which a response redirects the client.
func (p *proxy) follow(asked *url.URL, location string) {
	if location == "" {
		return
	}
	to, err := asked.Parse(location)
	if err == nil && to.Scheme == asked.Scheme && to.Host == asked.Host {
		p.tap.mu.Lock()
		defer p.tap.mu.Unlock()
		p.tap.name(to.Path)
	}
}

// maxNamed is how many paths of servers are remembered: some give each session one.
const maxNamed = 1024

// name notes a path that a server has named to its client. t.mu is held.
func (t *Tap) name(path string) {
	if slices.Contains(t.named, path) {
		return
	}
	if len(t.named) >= maxNamed {
		t.named = slices.Delete(t.named, 0, 1)
	}
	t.named = append(t.named, path)
}

// isNamed reports whether a server has named a path.
func (t *Tap) isNamed(path string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Contains(t.named, path)
}
