package recorder

import (
	"bytes"
	"unicode/utf8"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport/streamable"
)

// sseInfo tells an event from its bytes without its data's values. stray line ends at
// the beginning belong to the event before.
func sseInfo(meta []byte, stray int) *store.SSEInfo {
	info := &store.SSEInfo{}
	even, eol := stray == 0 && utf8.Valid(meta), []byte(nil)
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
		info.Lines, info.Raw = nil, meta
		return info
	}
	info.Lines = info.Lines[:max(0, len(info.Lines)-1)] // without the blank one
	if string(eol) != "\n" {
		info.EOL = string(eol)
	}
	return info
}
