package store

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

// FuzzHeader: a header that is read can be written, and says the same then.
func FuzzHeader(f *testing.F) {
	f.Add([]byte(`{"mcprec":1,"id":"0190aaaa-0000-7000-8000-000000000001","start":"2026-01-01T00:00:00Z","transport":"stdio","label":"x","labels":{"a":"b"},"command":["x"],"url":"http://x","redacted":2,"expect":"pass"}`))
	f.Add([]byte(`{"mcprec":1,"start":"9999-12-31T23:59:59-23:00"}`))
	f.Add([]byte(`{"mcprec":1,"start":"0000-01-01T00:00:00+23:00","command":null}`))
	f.Add([]byte(`{"mcprec":2,"id":7}`))
	f.Fuzz(func(t *testing.T, payload []byte) {
		h, err := ParseHeader(payload)
		if err != nil {
			return
		}
		written := h.Encode()
		again, err := ParseHeader(written)
		if err != nil || !bytes.Equal(again.Encode(), written) {
			t.Errorf("%s became %s, %v", payload, written, err)
		}
		if _, err := again.Start.MarshalJSON(); err != nil {
			t.Error(err)
		}
	})
}

// FuzzPayload: what mcprec says in its own events is read or refused, and what is read
// is written as the same again.
func FuzzPayload(f *testing.F) {
	for _, info := range []any{
		DeliveredInfo{Upto: 3, Blocked: 5}, StalledInfo{Read: 7, Passed: 5, Unread: -1, For: 9, Blocked: true},
		EOFInfo{By: "receiver", Error: "x", Read: 7, Passed: 5}, SignalInfo{Signal: "interrupt", Passed: true}, ExitInfo{Code: -1, Signal: "killed"},
		LostInfo{Frames: 1, Bytes: 2, Reason: "x", Streams: []string{"c2s"}}, ClosedInfo{Frames: 7, Lost: 1},
		&HTTPInfo{What: HTTPResponse, Status: 200, Header: map[string][]string{"Accept": {"a", "b"}}, Body: "x\u2028"},
		&HTTPInfo{What: HTTPEvent, Body64: []byte{0xff}, Coding: "br", SSE: &SSEInfo{Event: "e", ID: "1", Lines: []string{"data: "}, EOL: "\r", Raw: []byte{0xfe}}},
	} {
		f.Add(EncodePayload(info))
	}
	f.Fuzz(func(t *testing.T, payload []byte) {
		payloadAgain[DeliveredInfo](t, payload)
		payloadAgain[StalledInfo](t, payload)
		payloadAgain[SignalInfo](t, payload)
		payloadAgain[EOFInfo](t, payload)
		payloadAgain[ExitInfo](t, payload)
		payloadAgain[LostInfo](t, payload)
		payloadAgain[ClosedInfo](t, payload)
		payloadAgain[HTTPInfo](t, payload)
	})
}

func payloadAgain[T DeliveredInfo | StalledInfo | SignalInfo | EOFInfo | ExitInfo | LostInfo | ClosedInfo | HTTPInfo](t *testing.T, payload []byte) {
	info, err := DecodePayload[T](Event{Seq: 2, Payload: payload})
	if err != nil {
		return
	}
	written := EncodePayload(&info)
	if !json.Valid(written) || bytes.IndexByte(written, '\n') >= 0 {
		t.Fatalf("%s became %q", payload, written)
	}
	once, err := DecodePayload[T](Event{Payload: written})
	if err != nil {
		t.Fatal(err)
	}
	if twice, err := DecodePayload[T](Event{Payload: EncodePayload(&once)}); err != nil || !reflect.DeepEqual(once, twice) {
		t.Errorf("%s became %+v and then %+v, %v", payload, once, twice, err)
	}
}

// FuzzSessionID: an id that is read is a UUID in its one form.
func FuzzSessionID(f *testing.F) {
	f.Add("0190AAAA-0000-7000-8000-000000000001")
	f.Add("../../../../etc/0000-7000-8000-00000")
	f.Fuzz(func(t *testing.T, s string) {
		id, err := ParseSessionID(s)
		if err != nil {
			return
		}
		b, err := id.Bytes()
		if again, bad := ParseSessionID(string(id)); err != nil || bad != nil || again != id || !strings.EqualFold(string(id), s) || len(id) != 36 {
			t.Errorf("%q became %q, %x, %v", s, id, b, err)
		}
		if strings.ContainsAny(string(id), "/\\.") {
			t.Errorf("%q is a path", id)
		}
	})
}
