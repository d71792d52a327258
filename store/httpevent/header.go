package httpevent

import (
	"strings"

	"github.com/mcprec/mcprec/transport/mcp"
)

// dropped stands where a credential was.
const dropped = "[dropped]"

// keptHeader are the headers that matter to MCP, besides all that begin with Mcp-. It is
// true of credentials, which are never recorded: only that they were there, and their scheme.
var keptHeader = map[string]bool{
	"Accept":              false,
	"Accept-Encoding":     false,
	"Allow":               false,
	"Authorization":       true,
	"Cache-Control":       false,
	"Content-Encoding":    false,
	"Content-Type":        false,
	"Cookie":              true,
	mcp.HeaderLastEventID: false,
	"Location":            false,
	"Origin":              false,
	"Proxy-Authorization": true,
	"Retry-After":         false,
	"Set-Cookie":          true,
	"Traceparent":         false,
	"Tracestate":          false,
	"Www-Authenticate":    false,
	"X-Accel-Buffering":   false,
	"X-Api-Key":           true,
}

// credentialWords are in the names of headers Mcp-… whose value is a credential.
var credentialWords = []string{"Auth", "Token", "Key", "Secret", "Passw", "Credential"}

// Header returns the headers that matter, without credentials. Names are canonical. The
// result may share values with all.
func Header(all map[string][]string) map[string][]string {
	kept := make(map[string][]string, 4)
	for name, values := range all {
		credential, known := keptHeader[name]
		if !known && !strings.HasPrefix(name, "Mcp-") {
			continue
		}
		for _, word := range credentialWords {
			credential = credential || !known && strings.Contains(name, word)
		}
		if credential {
			clean := make([]string, len(values))
			for i, value := range values {
				clean[i] = withoutCredential(name, value)
			}
			values = clean
		}
		kept[name] = values
	}
	return kept
}

// withoutCredential keeps the scheme of an authorization.
func withoutCredential(name, value string) string {
	scheme, _, found := strings.Cut(value, " ")
	if found && strings.HasSuffix(name, "Authorization") {
		return scheme + " " + dropped
	}
	return dropped
}
