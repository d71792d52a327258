package match

import (
	"fmt"
	"strings"
	"testing"
)

func TestTokens(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"Session 018f3c4e-7b1a-7c3d-9e4f-000000000001 is open.", "Session 018f3c4e-7b1a-7c3d-9e4f-000000000001:uuid is open"},
		{"at 2026-11-21T10:00:00.5Z, 2026-11-21 10:00 and 2026-11-21", "at 2026-11-21T10:00:00.5Z:time 2026-11-21 10:00:time and 2026-11-21"},
		{"http://localhost:80/x 10.0.0.1:8080 [::1]:90", "http localhost:80:port x 10.0.0.1:8080:port [::1]:90:port"},
		{"localhost 10.0.0.1 1.5", "localhost 10 0 0 1 1 5"},
		{"Bearer [redacted:0123456789abcdef]!", "Bearer [redacted:0123456789abcdef]:redacted"},
		{"[redacted:nothing]", "redacted nothing"},
		{"dab6626a683fcdb4b27bf6c2f4c07acc 1763719200123 1234567", "dab6626a683fcdb4b27bf6c2f4c07acc:hex 1763719200123:digits 1234567"},
		{"a1B2c3D4e5F6g7H8 get-resource-links-2025", "a1B2c3D4e5F6g7H8:opaque get-resource-links-2025"},
		{"-a- \xff é", "a-"},
	} {
		var got []string
		for _, k := range wordsOf(tt.text) {
			if tt.text[k.start:k.end] != k.text {
				t.Errorf("%q is at %d to %d of %q", k.text, k.start, k.end, tt.text)
			}
			if k.shape != "" {
				k.text = fmt.Sprintf("%s:%s", k.text, k.shape)
			}
			got = append(got, k.text)
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("%q: %q", tt.text, got)
		}
	}
}

func TestOpaque(t *testing.T) {
	for text, want := range map[string]bool{
		"": false, "echo": false, "structured-content-tool": false, "file:///a/b1": false, "4711": false,
		"demo://resource/dynamic/text/7": false, "The quick brown fox": false,
		"12345678": true, "eyJhIjoxLCJiIjpbMiwzXX0=": true, "aGVsbG8gd29ybGQhIQ/+3k9==": true, "2026-11-21T10:00:00Z": true,
	} {
		if isOpaque(text) != want {
			t.Errorf("%q: %v", text, !want)
		}
	}
}

func TestWindow(t *testing.T) {
	long := strings.Repeat("word ", 2000)
	for _, tt := range [][2]string{
		{"x", "y"}, {long + "1" + long, long + "2" + long}, {long, long + "more"}, {"a " + long, "b " + long},
		{long + "1" + long + "2" + long, long + "3" + long + "4" + long}, {strings.Repeat("x", 9000), strings.Repeat("x", 9001)},
	} {
		a, b := differingParts(tt[0], tt[1])
		at := 0 // where both parts are, with the same on either side
		for ; at <= len(tt[0])-len(a); at++ {
			if tt[0][:at]+b+tt[0][at+len(a):] == tt[1] && tt[0][at:at+len(a)] == a {
				break
			}
		}
		if a == b || at > len(tt[0])-len(a) || len(a) > len(tt[0])/2+9000 {
			t.Errorf("window of %d and %d bytes: %d and %d", len(tt[0]), len(tt[1]), len(a), len(b))
		}
	}
}

// TestRespell: what is around a live value keeps its spelling.
func TestRespell(t *testing.T) {
	v := NewVariables(nil)
	v.addAnywhere("id-12345", "new-\"1\"\n")
	v.addAnywhere("4711", "815")
	v.add(Handle{"cursor", "a"}, "b")
	for _, tt := range []struct{ frame, want string }{
		{`{"id":"id-12345","method":"m","params":{"x":"id-12345"}}`, `{"id":"id-12345","method":"m","params":{"x":"new-\"1\"\n"}}`},
		{`{ "id": 1, "result": {"a":"\u003c\n\/id-12345 \ud83d\ude00\ud800,id-12345\u0041 id-12345\"","n":4711,"m":"4711"} }`,
			`{ "id": 1, "result": {"a":"\u003c\n\/new-\"1\"\n \ud83d\ude00\ud800,id-12345\u0041 new-\"1\"\n\"","n":815,"m":"815"} }`},
		{`{"method":"m","params":{"cursor":"a","_meta":{"progressToken":"id-12345"},"requestId":4711,"name":"a"}}`,
			`{"method":"m","params":{"cursor":"b","_meta":{"progressToken":"id-12345"},"requestId":4711,"name":"a"}}`},
		{`[{"id":1,"error":{"data":["id-12345"]}},{"id":2,"result":4711}]`, `[{"id":1,"error":{"data":["new-\"1\"\n"]}},{"id":2,"result":815}]`},
		{"no JSON: 4711", "no JSON: 4711"},
	} {
		if got := string(v.Substitute([]byte(tt.frame))); got != tt.want {
			t.Errorf("%s\ngot  %s\nwant %s", tt.frame, got, tt.want)
		}
	}
}
