package match

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mcprec/mcprec/transport"
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
		{"q1w2e3r4t5y6u7i8 1234-5678-9012-3456 getResourceLinksByNameOfOwner", "q1w2e3r4t5y6u7i8:opaque 1234-5678-9012-3456 getResourceLinksByNameOfOwner"},
		{"018F3C4E-7B1A-7C3D-9E4F-00000000000A", "018F3C4E-7B1A-7C3D-9E4F-00000000000A:uuid"},
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
		"docs/guides/getting/started": false, "a1b2/c3d4e5+": false,
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
	v.addAnywhere("id-12345", "new-\"1\"\n⣿")
	v.addAnywhere("4711", "815")
	v.add(Handle{"cursor", "a"}, "b")
	for _, tt := range []struct{ frame, want string }{
		{`{"id":"id-12345","method":"m","params":{"x":"id-12345"}}`, `{"id":"id-12345","method":"m","params":{"x":"new-\"1\"\n⣿"}}`},
		{`{ "id": 1, "result": {"a":"\u003c\n\/id-12345 \ud83d\ude00\ud800,id-12345\u0041 id-12345\"","n":4711,"m":"4711"} }`,
			`{ "id": 1, "result": {"a":"\u003c\n\/new-\"1\"\n⣿ \ud83d\ude00\ud800,id-12345\u0041 new-\"1\"\n⣿\"","n":815,"m":"815"} }`},
		{`{"method":"m","params":{"cursor":"a","_meta":{"progressToken":"id-12345"},"requestId":4711,"name":"a"}}`,
			`{"method":"m","params":{"cursor":"b","_meta":{"progressToken":"id-12345"},"requestId":4711,"name":"a"}}`},
		{`[{"id":1,"error":{"data":["id-12345"]}},{"id":2,"result":4711}]`, `[{"id":1,"error":{"data":["new-\"1\"\n⣿"]}},{"id":2,"result":815}]`},
		{"no JSON: 4711", "no JSON: 4711"},
	} {
		if got := string(v.Substitute([]byte(tt.frame))); got != tt.want {
			t.Errorf("%s\ngot  %s\nwant %s", tt.frame, got, tt.want)
		}
	}
}

// TestLearn: what a live end says in the place of a recorded value is a variable if it is this end's to make up
// and the other end repeats it, and no other value is.
func TestLearn(t *testing.T) {
	const uuid, other, mask = "018f3c4e-7b1a-7c3d-9e4f-000000000001", "ffffffff-7b1a-7c3d-9e4f-000000000001", "[redacted:0123456789abcdef]"
	for _, tt := range []struct {
		at             int    // how many messages of this end the other had when it said heard
		heard          string // the params of the other end's message
		recorded, live string // params; of several live ones the newest counts
		put, want      string
	}{
		{1, `{"order_id":"o1"}`, `{"id":"o1"}`, `{"id":"o2"}`, `{"order_id":"o1","name":"o1"}`, `{"order_id":"o2","name":"o1"}`},
		{1, `{"order_id":"o9"}`, `{"id":"o1"}`, `{"id":"o2"}`, `{"order_id":"o1"}`, `{"order_id":"o1"}`},
		{1, `{"name":"o1"}`, `{"id":"o1"}`, `{"id":"o2"}`, `{"order_id":"o1"}`, `{"order_id":"o1"}`},
		{0, `{"order_id":"o1"}`, `{"id":"o1"}`, `{"id":"o2"}`, `{"order_id":"o1"}`, `{"order_id":"o1"}`},
		{1, `{"id":"general"}`, `{"id":"general"}`, `{"id":"random"}`, `{"id":"general"}`, `{"id":"general"}`},
		{1, `{"order_id":17}`, `{"id":17}`, `{"id":18}`, `{"order_id":17,"count":17}`, `{"order_id":18,"count":17}`},
		{1, `{"id":"a17"}`, `{"id":"a17"}`, `{"id":18}`, `{"id":"a17"}`, `{"id":"a17"}`},
		{1, `{"ids":["o1"]}`, `{"ids":["o0","o1"]}`, `{"ids":["o0","o2"]}`, `{"ids":["o1"]}`, `{"ids":["o2"]}`},
		{1, `{"ids":["o1"]}`, `{"ids":["o0","o1"]}`, `{"ids":["o0"]}`, `{"ids":["o1"]}`, `{"ids":["o1"]}`},
		{1, `{"id":"o1"}`, `{"a":{"id":"o1"}}`, `{"b":{"id":"o2"}}`, `{"id":"o1"}`, `{"id":"o1"}`},
		{1, `{"id":"o1"}`, `{"text":" {\"id\":\"o1\"}"}`, `{"text":"{\"id\":\"o2\"}"}`, `{"id":"o1"}`, `{"id":"o2"}`},
		{1, `{"requestId":"r1","id":"r1"}`, `{"requestId":"r1"}`, `{"requestId":"r2"}`, `{"id":"r1"}`, `{"id":"r1"}`},
		{1, `{"progressToken":"r1","id":"r1"}`, `{"progressToken":"r1"}`, `{"progressToken":"r2"}`, `{"id":"r1"}`, `{"id":"r1"}`},
		{0, `{"id":"r1"}`, `{"task":{"id":"r1"}}`, `{"task":{"id":"r2"}}`, `{"id":"r1"}`, `{"id":"r1"}`},
		{1, `{}`, `{"nextCursor":"a"}`, `{"nextCursor":"b"} {"nextCursor":"c"} {"nextCursor":"b"}`, `{"cursor":"a","id":"a"}`, `{"cursor":"b","id":"a"}`},
		{1, `{}`, `{"nextCursor":true}`, `{"nextCursor":false}`, `{"cursor":"true"}`, `{"cursor":"true"}`},
		{1, `{}`, `{"taskId":"a"}`, `{"taskId":"b"}`, `{"taskId":"a"}`, `{"taskId":"b"}`},
		{0, `{"taskId":"a"}`, `{"taskId":"a"}`, `{"taskId":"b"}`, `{"taskId":"a"}`, `{"taskId":"a"}`},
		{0, `{"taskId":"a"}`, `{"task":{"taskId":"a"}}`, `{"task":{"taskId":"b"}}`, `{"taskId":"a"}`, `{"taskId":"b"}`},
		{1, `{"x":"task-17"}`, `{"id":"task-17"}`, `{"id":"task-18"}`, `{"text":"see task-17, not task-1"}`, `{"text":"see task-18, not task-1"}`},
		{1, `{"x":"` + uuid + `"}`, `{"x":"` + uuid + `"}`, `{"x":"` + other + `"}`, `{"text":"close ` + uuid + `"}`, `{"text":"close ` + other + `"}`},
		{1, `{"x":"` + uuid + `"}`, `{"text":"open ` + uuid + `"}`, `{"text":"open ` + other + `"}`, `{"x":"` + uuid + `"}`, `{"x":"` + other + `"}`},
		{1, `{"x":"` + uuid + `"}`, `{"text":"open ` + uuid + `"}`, `{"text":"open 1763719200123"}`, `{"x":"` + uuid + `"}`, `{"x":"` + uuid + `"}`},
		{0, `{"x":"` + uuid + `"}`, `{"text":"open ` + uuid + `"}`, `{"text":"open ` + other + `"}`, `{"x":"` + uuid + `"}`, `{"x":"` + uuid + `"}`},
		{1, `{"x":"` + uuid + `"}`, `{"x":"` + uuid + `"}`, `{"x":"none"}`, `{"x":"` + uuid + `"}`, `{"x":"` + uuid + `"}`},

		{1, `{}`, `{"a":"Bearer ` + mask + `!"}`, `{"a":"Bearer secret!"}`, `{"b":"` + mask + `"}`, `{"b":"secret"}`},
		{1, `{}`, `{"a":"Bearer ` + mask + `"}`, `{"a":"Basic secret"}`, `{"b":"` + mask + `"}`, `{"b":"` + mask + `"}`},
		{1, `{}`, `{"a":"` + mask + ` end"}`, `{"a":"secret END"}`, `{"b":"` + mask + `"}`, `{"b":"` + mask + `"}`},
		{1, `{}`, `{"a":"(` + mask + `)"}`, `{"a":"()"}`, `{"b":"` + mask + `"}`, `{"b":"` + mask + `"}`},
		{1, `{}`, `{"a":"` + mask + ` ` + mask + `"}`, `{"a":"secret secret"}`, `{"b":"` + mask + `"}`, `{"b":"secret"}`},
		{1, `{}`, `{"a":"` + mask + ` ` + mask + `"}`, `{"a":"secret other"}`, `{"b":"` + mask + `"}`, `{"b":"` + mask + `"}`},
		{1, `{}`, `{"a":"` + mask + `:[redacted:fedcba9876543210]@x"}`, `{"a":"me:secret@x"}`, `{"b":"[redacted:fedcba9876543210]"}`, `{"b":"secret"}`},
	} {
		v := NewVariables(func(yield func(int, transport.Frame) bool) {
			yield(tt.at, transport.Frame{Bytes: []byte(`{"method":"m","params":` + tt.heard + `}`)})
		})
		for live := range strings.SplitSeq(tt.live, " {") {
			v.Learn(transport.Message{Params: []byte(tt.recorded)}, transport.Message{Params: []byte("{" + strings.TrimPrefix(live, "{"))}, 0)
		}
		if got := string(v.SubstituteParams([]byte(tt.put))); got != tt.want {
			t.Errorf("%s for %s, heard at %d %s: %s became %s, want %s", tt.live, tt.recorded, tt.at, tt.heard, tt.put, got, tt.want)
		}
		if back := string(v.Inverse().SubstituteParams([]byte(tt.want))); back != tt.put {
			t.Errorf("%s for %s: %s came back as %s, want %s", tt.live, tt.recorded, tt.want, back, tt.put)
		}
	}
}

// TestExplained: a difference is none where a variable explains it, in a text too, with any of its live values.
func TestExplained(t *testing.T) {
	const mask = "[redacted:0123456789abcdef]"
	v := NewVariables(nil)
	for _, live := range []string{"a", "ab", "b"} {
		v.addAnywhere("task-17", live)
	}
	v.add(Handle{"cursor", "p1"}, "q1")
	v.Learn(transport.Message{Params: []byte(`{"t":"` + mask + `"}`)}, transport.Message{Params: []byte(`{"t":"secret"}`)}, 0)
	if v.Inverse().IsEmpty() {
		t.Fatal("no inverse")
	}
	v.add(Handle{"id", "x"}, "y") // after the inverse was asked for
	for _, tt := range []struct{ recorded, live, want string }{
		{`{"cursor":"p1"}`, `{"cursor":"q1"}`, "variable"},
		{`{"name":"p1"}`, `{"name":"q1"}`, `"p1" "q1"`},
		{`{"cursor":"p1"}`, `{"cursor":5}`, `"p1" 5`},
		{`{"id":"x"}`, `{"id":"y"}`, "variable"},
		{`{"t":"task-17"}`, `{"t":"ab"}`, "variable"},
		{`{"t":"see task-17, task-17."}`, `{"t":"see ab, a."}`, "variable"},
		{`{"t":"see task-17, task-17."}`, `{"t":"see ab, c."}`, `"see b, b." "see ab, c."`},
		{`{"t":"see task-17"}`, `{"t":"see a!"}`, `"see b" "see a!"`},
		{`{"t":"see task-17"}`, `{"t":"say a"}`, `"see b" "say a"`},
		{`{"t":"Bearer ` + mask + `"}`, `{"t":"Bearer secret"}`, "redacted"},
		{`{"t":"` + mask + ` end"}`, `{"t":" end"}`, `"` + mask + ` end" (not shown)`},
		{`{"t":"x"}`, `{"t":"a secret"}`, `"x" "a ` + mask + `"`},
	} {
		c := Rules{}.Compare(transport.Message{Params: []byte(tt.recorded)}, transport.Message{Params: []byte(tt.live)}, v)
		got := fmt.Sprint(c)
		switch {
		case len(c.Differences) == 1 && len(c.Mapped) == 0:
			got = c.Differences[0].Want + " " + c.Differences[0].Got
		case len(c.Differences) == 0 && len(c.Mapped) == 1:
			got = c.Mapped[0].By
		}
		if got != tt.want {
			t.Errorf("%s and %s: %s, want %s", tt.recorded, tt.live, got, tt.want)
		}
		if c := (Rules{}).Compare(transport.Message{Params: []byte(tt.live)}, transport.Message{Params: []byte(tt.recorded)}, v.Inverse()); tt.want == "variable" && !c.Same() {
			t.Errorf("%s and %s: %v", tt.live, tt.recorded, c)
		}
	}
}
