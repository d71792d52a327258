package mask

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/mcprec/mcprec/store"
)

// Event returns an event without its secrets, which it counts; the event itself if there are
// none. The payload of the given event is left as it is.
func (m *Masker) Event(e store.Event) store.Event {
	n := 0
	switch e.Kind {
	case store.Opened:
		return m.opened(e)
	case store.HTTP:
		e.Payload, n = m.http(e)
	case store.Stderr:
		e.Payload, n = m.Text(e.Payload)
	default:
		e.Payload, n = m.Frame(e.Payload)
	}
	e.Redacted += uint64(n)
	return e
}

// opened masks a header. The count stands in the header, which is the first line of a
// fixture.
func (m *Masker) opened(e store.Event) store.Event {
	h, err := store.ParseHeader(e.Payload)
	payload, n := m.masked(e.Payload, m.rules.fields["opened"])
	if e.Payload = payload; n == 0 || err != nil {
		return e
	}
	count := fmt.Appendf(nil, `"redacted":%d`, h.Redacted)
	if !bytes.Contains(payload, count) {
		payload = slices.Concat(payload[:len(payload)-1], []byte{','}, count, []byte{'}'})
	}
	e.Payload = bytes.Replace(payload, count, fmt.Appendf(nil, `"redacted":%d`, h.Redacted+uint64(n)), 1)
	return e
}

// http masks what HTTP says around frames. What is no UTF-8 stands there in base64.
func (m *Masker) http(e store.Event) ([]byte, int) {
	payload, n := m.masked(e.Payload, m.rules.fields["http"])
	var info store.HTTPInfo
	hasBase64 := bytes.Contains(payload, []byte(`"body64":`)) || bytes.Contains(payload, []byte(`"raw":`))
	if !hasBase64 || json.Unmarshal(payload, &info) != nil || info.Coding != "" {
		return payload, n
	}
	body, inBody := m.Frame(info.Body64)
	if inBody > 0 {
		info.SetBody(body)
	}
	inRaw := 0
	if info.SSE != nil {
		info.SSE.Raw, inRaw = m.Text(info.SSE.Raw)
	}
	if inBody+inRaw > 0 {
		payload = store.EncodePayload(&info)
	}
	return payload, n + inBody + inRaw
}
