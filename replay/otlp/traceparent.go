package otlp

import (
	"encoding/hex"
	"encoding/json"
	"strings"
)

// remote is a span of a peer, as the W3C's Trace Context names it.
type remote struct {
	trace traceID
	span  spanID
	flags byte
	state string
}

// parseRemote reads a traceparent; it returns nil if that is not valid.
func parseRemote(parent, state string) *remote {
	parts := strings.Split(parent, "-")
	if len(parts) < 4 || parts[0] == "ff" || parts[0] == "00" && len(parts) > 4 {
		return nil
	}
	r := remote{state: state}
	var version, flags [1]byte
	for i, into := range [][]byte{version[:], r.trace[:], r.span[:], flags[:]} {
		if len(parts[i]) != 2*len(into) || strings.ToLower(parts[i]) != parts[i] {
			return nil
		}
		if _, err := hex.Decode(into, []byte(parts[i])); err != nil {
			return nil
		}
	}
	if r.trace == (traceID{}) || r.span == (spanID{}) {
		return nil
	}
	r.flags = flags[0]
	return &r
}

// text returns the text of a JSON string, "" if it is none.
func text(raw json.RawMessage) string {
	var s string
	if raw == nil || json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}
