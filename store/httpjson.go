package store

import (
	"encoding/base64"
	"maps"
	"slices"
	"strconv"
)

// appendJSON appends the JSON of encodeJSON. It is written by hand because several of these
// events stand on the path of every exchange, and it takes a tenth of the time.
func (h *HTTPInfo) appendJSON(b []byte) []byte {
	b = append(b, `{"what":`...)
	b = appendText(b, h.What)
	b = appendField(b, "method", h.Method)
	b = appendField(b, "path", h.Path)
	if h.Status != 0 {
		b = append(b, `,"status":`...)
		b = strconv.AppendInt(b, int64(h.Status), 10)
	}
	if len(h.Header) > 0 {
		b = appendHeader(append(b, `,"header":`...), h.Header)
	}
	b = appendField(b, "body", h.Body)
	b = appendBase64(b, "body64", h.Body64)
	b = appendField(b, "coding", h.Coding)
	if h.Other {
		b = append(b, `,"other":true`...)
	}
	if h.Withheld {
		b = append(b, `,"withheld":true`...)
	}
	if h.Dropped != 0 {
		b = append(b, `,"dropped":`...)
		b = strconv.AppendInt(b, h.Dropped, 10)
	}
	if h.SSE != nil {
		b = h.SSE.appendJSON(append(b, `,"sse":`...))
	}
	b = appendField(b, "error", h.Error)
	return append(b, '}')
}

func (s *SSEInfo) appendJSON(b []byte) []byte {
	from := len(b)
	b = appendField(b, "event", s.Event)
	b = appendField(b, "id", s.ID)
	b = appendField(b, "retry", s.Retry)
	if len(s.Lines) > 0 {
		b = appendList(append(b, `,"lines":`...), s.Lines)
	}
	b = appendField(b, "eol", s.EOL)
	b = appendBase64(b, "raw", s.Raw)
	if s.Frame != 0 {
		b = append(b, `,"frame":`...)
		b = strconv.AppendUint(b, s.Frame, 10)
	}
	if len(b) == from {
		b = append(b, ',')
	}
	b[from] = '{'
	return append(b, '}')
}

func appendHeader(b []byte, h map[string][]string) []byte {
	var room [16]string
	names := slices.AppendSeq(room[:0], maps.Keys(h))
	slices.Sort(names)
	for i, name := range names {
		b = append(b, "{,"[min(i, 1)])
		b = append(appendText(b, name), ':')
		b = appendList(b, h[name])
	}
	return append(b, '}')
}

func appendList(b []byte, list []string) []byte {
	if list == nil {
		return append(b, "null"...)
	}
	b = append(b, '[')
	for i, s := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendText(b, s)
	}
	return append(b, ']')
}

func appendField(b []byte, name, value string) []byte {
	if value == "" {
		return b
	}
	b = append(append(append(b, `,"`...), name...), `":`...)
	return appendText(b, value)
}

func appendBase64(b []byte, name string, value []byte) []byte {
	if len(value) == 0 {
		return b
	}
	b = append(append(append(b, `,"`...), name...), `":"`...)
	return append(base64.StdEncoding.AppendEncode(b, value), '"')
}

// appendText appends a string; the library escapes unusual ones.
func appendText(b []byte, s string) []byte {
	for i := 0; i < len(s); i++ {
		if c := s[i]; c < ' ' || c == '"' || c == '\\' || c >= 0x7f {
			return append(b, encodeJSON(s)...)
		}
	}
	b = append(b, '"')
	b = append(b, s...)
	return append(b, '"')
}
