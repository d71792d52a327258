package httpevent

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport/streamable"
)

// SSE describes a server-sent event, given its bytes without the values of its data. As many
// line ends as stray at their beginning belong to the event before.
func SSE(meta []byte, stray int) *store.SSEInfo {
	info := &store.SSEInfo{}
	even := stray == 0 && utf8.Valid(meta)
	var eol []byte
	for text, end := range streamable.EventLines(meta[stray:]) {
		if eol == nil {
			eol = end
		}
		even = even && bytes.Equal(eol, end)
		info.Lines = append(info.Lines, string(text))
		name, value, _ := bytes.Cut(bytes.TrimPrefix(text, []byte("\xef\xbb\xbf")), []byte{':'})
		value = bytes.TrimPrefix(value, []byte{' '})
		switch string(name) {
		case "event":
			info.Event = string(value)
		case "id":
			info.ID = string(value)
		case "retry":
			info.Retry = string(value)
		}
	}
	if !even {
		return &store.SSEInfo{Event: info.Event, ID: info.ID, Retry: info.Retry, Raw: meta}
	}
	info.Lines = info.Lines[:max(0, len(info.Lines)-1)] // without the blank one
	if string(eol) != "\n" {
		info.EOL = string(eol)
	}
	return info
}

// SSEBytes returns the bytes of an event without the values of its data, as
// [streamable.JoinEvent] takes them; of no info, nil.
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
