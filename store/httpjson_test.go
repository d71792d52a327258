package store

import "testing"

// The encoding by hand is the library's.
func TestHTTPInfoEncoding(t *testing.T) {
	odd := "a\"b\\c\x01\x7f\u00e9\u2028<&>\xff\n"
	for _, info := range []HTTPInfo{
		{},
		{What: HTTPRequest, Method: "POST", Path: "/mcp?a=b", Header: map[string][]string{"Mcp-B": {"1", "2"}, "Mcp-A": {}, "Accept": nil}},
		{What: HTTPResponse, Status: 404, Header: map[string][]string{}, Length: 148, Body: odd, Body64: []byte{}, Coding: "br", Other: true, Dropped: 12, Error: odd},
		{What: HTTPEvent, Body64: []byte{0, 255, 1}, SSE: &SSEInfo{}},
		{What: odd, Header: map[string][]string{odd: {odd}}, SSE: &SSEInfo{Lines: []string{}, Raw: []byte("x")}},
		{SSE: &SSEInfo{Event: odd, ID: "1", Retry: "2", Lines: []string{odd, ""}, EOL: "\r\n", Frame: 7}},
		{SSE: &SSEInfo{Retry: "2"}},
		{What: `a\b`, Method: `a"b`, Path: "a\x7fb", Error: "a\nb"}, // one of each
		{What: "a\xff", Method: "\u2028"},
	} {
		if got, want := EncodePayload(&info), EncodePayload(info); string(got) != string(want) {
			t.Errorf("%+v:\n%s\nwant:\n%s", info, got, want)
		}
	}
}
