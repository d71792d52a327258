// Package httpevent decides which parts of an HTTP exchange a recording keeps besides the
// frames.
//
// A tap on live traffic and an importer of another recorder's file make their HTTP events
// by the same rules. The functions are pure: no I/O and no state.
//
//	[Header]    the headers of interest to MCP, without credentials: keptHeader below lists
//	            them, and besides these only Mcp-… headers are kept
//	[SSE]       the fields of a server-sent event besides its data
//	[SSEBytes]  the bytes of such an event, from its fields
//
// # What it refuses
//
// A credential in a header is never recorded, only its presence and its scheme. Secrets
// elsewhere (in a URL, in a body) stay: package mask finds them when the recording leaves the
// store.
package httpevent

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport/mcp"
	"github.com/mcprec/mcprec/transport/streamable"
)

// SSE describes a server-sent event, given its bytes without the values of the data. The
// first stray bytes, line ends, belong to the previous event.
func SSE(meta []byte, stray int) *store.SSEInfo {
	fields := streamable.ParseEventFields(meta[stray:])
	info := &store.SSEInfo{Event: fields.Event, ID: fields.ID, Retry: fields.Retry}
	even := stray == 0 && utf8.Valid(meta)
	var eol []byte
	for text, end := range streamable.EventLines(meta[stray:]) {
		if eol == nil {
			eol = end
		}
		even = even && bytes.Equal(eol, end)
		info.Lines = append(info.Lines, string(text))
	}
	if !even {
		return &store.SSEInfo{Event: info.Event, ID: info.ID, Retry: info.Retry, Raw: meta}
	}
	info.Lines = info.Lines[:max(0, len(info.Lines)-1)] // without the blank line
	if string(eol) != "\n" {
		info.EOL = string(eol)
	}
	return info
}

// SSEBytes returns the bytes of an event without the values of the data, in the
// form for [streamable.JoinEvent]; nil without an info.
func SSEBytes(info *store.SSEInfo) []byte {
	switch {
	case info == nil:
		return nil
	case info.Raw != nil:
		return info.Raw
	}
	eol := cmp.Or(info.EOL, "\n")
	return []byte(strings.Join(append(slices.Clone(info.Lines), ""), eol) + eol)
}

// dropped stands where a credential was.
const dropped = "[dropped]"

// keptHeader has the headers of interest to MCP, besides every Mcp-… header. A true value marks
// a credential, of which only the presence and the scheme are recorded.
//
// To add one: add it here, in its canonical form; a secret in its value is the business of package mask.
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

// credentialWords are in the names of Mcp-… headers with a credential as value.
var credentialWords = []string{"Auth", "Token", "Key", "Secret", "Passw", "Credential"}

// Header returns the headers of interest, without credentials. Names are canonical. The
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
				clean[i] = dropped
				scheme, _, found := strings.Cut(value, " ")
				if found && strings.HasSuffix(name, "Authorization") {
					clean[i] = scheme + " " + dropped
				}
			}
			values = clean
		}
		kept[name] = values
	}
	return kept
}
