package recorder

import (
	"net/http"
	"net/url"
	"strings"
)

// dropped stands where a secret was.
const dropped = "[dropped]"

// keptHeader are the headers that matter to MCP, besides all that begin with Mcp-, and
// what removes the secrets of those that have some.
var keptHeader = map[string]func(string) string{
	"Accept":              nil,
	"Accept-Encoding":     nil,
	"Allow":               nil,
	"Authorization":       dropCredentials,
	"Cache-Control":       nil,
	"Content-Encoding":    nil,
	"Content-Type":        nil,
	"Cookie":              dropAll,
	"Last-Event-Id":       nil,
	"Location":            dropInURL,
	"Origin":              nil,
	"Proxy-Authorization": dropCredentials,
	"Retry-After":         nil,
	"Set-Cookie":          dropAll,
	"Traceparent":         nil,
	"Tracestate":          nil,
	"Www-Authenticate":    dropInChallenge,
	"X-Accel-Buffering":   nil,
	"X-Api-Key":           dropAll,
}

func dropAll(string) string { return dropped }

// dropperOf returns what removes the secrets of a header, whether or not it matters to
// MCP; nil: it has none.
func dropperOf(name string) func(string) string {
	without, known := keptHeader[name]
	if !known && isSecret(name) && !strings.HasPrefix(name, ":") {
		return dropAll
	}
	return without
}

// keepHeader returns the headers that matter, without their secrets. It may share
// values with h.
func keepHeader(h http.Header) map[string][]string {
	kept := make(map[string][]string, 4)
	for name, values := range h {
		without, known := keptHeader[name]
		switch {
		case known:
		case strings.HasPrefix(name, "Mcp-") && isSecret(name):
			without = dropAll
		case strings.HasPrefix(name, "Mcp-"):
		default:
			continue
		}
		if without != nil {
			clean := make([]string, len(values))
			for i, v := range values {
				clean[i] = without(v)
			}
			values = clean
		}
		kept[name] = values
	}
	return kept
}

// dropCredentials keeps the scheme.
func dropCredentials(value string) string {
	if scheme, _, found := strings.Cut(value, " "); found {
		return scheme + " " + dropped
	}
	return dropped
}

// challengeParts are the parameters of a challenge that are no secret.
var challengeParts = map[string]bool{
	"realm": true, "scope": true, "error": true, "error_description": true, "error_uri": true,
	"resource_metadata": true, "authorization_uri": true, "charset": true, "algorithm": true, "algs": true,
}

// dropInChallenge keeps the scheme, the structure, and the parameters that are known
// to be harmless.
func dropInChallenge(value string) string {
	var b strings.Builder
	for i, part := range splitChallenge(value) {
		if i > 0 {
			b.WriteByte(',')
		}
		name, _, found := strings.Cut(part, "=")
		key := name[strings.LastIndexByte(strings.TrimRight(name, " "), ' ')+1:]
		scheme, rest, _ := strings.Cut(strings.TrimSpace(part), " ")
		if rest != "" && !strings.ContainsAny(strings.TrimRight(rest, "="), "=\" ") {
			part = scheme + " " + dropped // a token, as of Negotiate
		} else if found && strings.Contains(name, `"`) {
			part = dropped // quotes that cannot be
		} else if found && !challengeParts[strings.ToLower(strings.TrimSpace(key))] {
			part = name + `="` + dropped + `"`
		}
		b.WriteString(part)
	}
	return b.String()
}

// splitChallenge cuts a challenge at the commas that are not in quotes.
func splitChallenge(value string) []string {
	var parts []string
	from, quoted := 0, false
	for i := 0; i < len(value); i++ {
		switch c := value[i]; {
		case c == '\\' && quoted:
			i++
		case c == '"':
			quoted = !quoted
		case c == ',' && !quoted:
			parts = append(parts, value[from:i])
			from = i + 1
		}
	}
	return append(parts, value[from:])
}

// secretWords are what the name of a parameter of a query holds when its value is a
// secret. Session ids of the HTTP+SSE transport are none: messages are told apart by
// them.
var secretWords = []string{"token", "key", "secret", "passw", "pwd", "auth", "signature", "credential", "assertion", "jwt"}

// secretNames are such names that are too short to look for within others.
var secretNames = map[string]bool{"code": true, "sig": true, "code_verifier": true, "state": true, "nonce": true}

func isSecret(name string) bool {
	name = strings.ToLower(name)
	if secretNames[name] {
		return true
	}
	for _, w := range secretWords {
		if strings.Contains(name, w) {
			return true
		}
	}
	return false
}

// dropInQuery replaces the values of secret parameters; the rest stays as it was.
func dropInQuery(query string) string {
	parts := strings.Split(query, "&")
	for i, part := range parts {
		name, _, found := strings.Cut(part, "=")
		plain, err := url.QueryUnescape(name)
		if found && (err != nil || isSecret(plain)) {
			parts[i] = name + "=" + dropped
		}
	}
	return strings.Join(parts, "&")
}

// dropInURL removes secrets from a URL: a password, parts of the query.
func dropInURL(value string) string {
	if !strings.ContainsAny(value, "?#@") {
		return value
	}
	value, fragment, marked := strings.Cut(value, "#")
	value, query, asked := strings.Cut(value, "?")
	if scheme, rest, found := strings.Cut(value, "://"); found {
		host, path, slash := strings.Cut(rest, "/")
		if i := strings.LastIndexByte(host, '@'); i >= 0 {
			host = dropped + host[i:]
		}
		if value = scheme + "://" + host; slash {
			value += "/" + path
		}
	}
	if asked {
		value += "?" + dropInQuery(query)
	}
	if marked { // an implicit grant has its token there
		value += "#" + dropInQuery(fragment)
	}
	return value
}
