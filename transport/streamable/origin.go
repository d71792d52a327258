package streamable

import (
	"net"
	"net/http"
	"net/url"
	"strings"
)

// MayAsk says why an HTTP request must be refused; "": it need not. The
// specification has servers look at the origin, against pages of other sites that
// reach a server of this machine by DNS rebinding (basic transports, security
// warning). One that is asked on loopback is not asked by another name either, but
// for those of the origins: a tunnel or a proxy of this machine may keep the name.
func MayAsk(r *http.Request, origins []string) (refusal string) {
	if origin := r.Header.Get("Origin"); origin != "" && !isOrigin(origin, origins) {
		return "web pages of " + origin + " may not use this server"
	}
	if local, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr); ok && local.IP.IsLoopback() && !isHost(hostOf(r.Host), origins) {
		return "this server is not " + r.Host
	}
	return ""
}

// isOrigin reports whether an origin is one of this machine or of those allowed.
func isOrigin(origin string, allowed []string) bool {
	for _, o := range allowed {
		if o == "*" || strings.EqualFold(strings.TrimSuffix(o, "/"), origin) {
			return true
		}
	}
	u, err := url.Parse(origin)
	return err == nil && isLoopback(u.Hostname())
}

// isHost reports whether a name is one of this machine or of an allowed origin.
func isHost(host string, allowed []string) bool {
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

// hostOf returns the host of host:port.
func hostOf(address string) string {
	if host, _, err := net.SplitHostPort(address); err == nil {
		return host
	}
	return strings.Trim(address, "[]")
}

// isLoopback reports whether a name or an address is this machine's own.
func isLoopback(host string) bool {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	ip := net.ParseIP(host)
	return host == "localhost" || strings.HasSuffix(host, ".localhost") || ip != nil && ip.IsLoopback()
}
