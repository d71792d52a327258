package streamable

import (
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// MayAsk returns why an HTTP request must be refused, or "". The specification has servers
// check the origin, against pages of other sites that
// reach a server of this machine by DNS rebinding (basic transports, security
// warning). A request that a browser makes for an image, a link or a frame has no origin, and
// is told by [IsFromOtherSite]. One that is asked on loopback is not asked by another name either, but
// for those of the origins: a tunnel or a proxy of this machine may keep the name.
func MayAsk(r *http.Request, origins []string) (refusal string) {
	origin := r.Header.Get("Origin")
	switch {
	case origin != "" && !isOrigin(origin, origins):
		return fmt.Sprintf("web pages of %.100s may not use this server", origin)
	case origin == "" && IsFromOtherSite(r) && !slices.Contains(origins, "*"):
		return "web pages of other sites may not use this server, as by a link or an image"
	}
	if local, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr); ok && local.IP.IsLoopback() && !isHost(r.Host, origins) {
		return fmt.Sprintf("this server is not %.100s", r.Host)
	}
	return ""
}

// IsFromOtherSite reports whether a browser makes a request for a page of another origin, also of
// another port of the same host. Browsers say so to every server of this machine, and to others over
// TLS (Fetch Metadata, W3C); no other client does.
func IsFromOtherSite(r *http.Request) bool {
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "same-origin", "none": // none: the user typed the address
		return false
	}
	return true
}

// isOrigin reports whether an origin is allowed, or of this machine.
func isOrigin(origin string, allowed []string) bool {
	for _, o := range allowed {
		if o == "*" || strings.EqualFold(strings.TrimSuffix(o, "/"), origin) {
			return true
		}
	}
	u, err := url.Parse(origin)
	return err == nil && isLoopback(u.Hostname())
}

// isHost reports whether the host of an address, host or host:port, is this machine or
// that of an allowed origin.
func isHost(address string, allowed []string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		host = strings.Trim(address, "[]")
	}
	for _, o := range allowed {
		if o == "*" {
			return true
		}
		if u, err := url.Parse(o); err == nil && u.Host != "" && strings.EqualFold(u.Hostname(), host) {
			return true
		}
	}
	return isLoopback(host)
}

// isLoopback reports whether a name or an address is this machine's own.
func isLoopback(host string) bool {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	ip := net.ParseIP(host)
	return host == "localhost" || strings.HasSuffix(host, ".localhost") || ip != nil && ip.IsLoopback()
}
