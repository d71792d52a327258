package sourceline

import (
	"encoding/json"
	"slices"
	"testing"
)

// TestWords: the calls that are open come first, with what they wait for; then what an answered call has left behind; what
// is for no request is told only where nothing is for one.
func TestWords(t *testing.T) {
	request := func(id, method string, answered bool) *Request {
		return &Request{ID: json.RawMessage(id), Method: method, Answered: answered}
	}
	line := func(number int, isLibrary bool) Line {
		return Line{File: "/my cöde/server.mjs", Number: number, Function: "work", IsLibrary: isLibrary}
	}
	other := Wait{Lines: []Line{line(1, false)}, State: "chan receive"}
	left := Wait{Request: request("2", "tools/call", true), Lines: []Line{line(2, false)}}
	inLibrary := Wait{Request: request("3", "tools/list", false), Lines: []Line{line(3, true)}}
	open := Wait{Request: request(`"a"`, "tools/call", false), Lines: []Line{line(9, true), line(4, false), line(5, false), line(6, false), line(7, false)}}
	asked := []Asked{{Request: *request("100", "roots/list", false), By: request(`"a"`, "tools/call", false)}}
	for _, test := range []struct {
		waits []Wait
		most  int
		want  []string
	}{
		{[]Wait{other, left, inLibrary, open}, 9, []string{
			`tools/call (id "a") is held at server.mjs:9 (work), called from server.mjs:4 (work), from server.mjs:5 (work); it waits for the answer to its own roots/list (id 100)`,
			"tools/list (id 3) is held at server.mjs:3 (work)",
			"tools/call (id 2) was answered, but something that it began is still held at server.mjs:2 (work)",
		}},
		{[]Wait{left, inLibrary}, 1, []string{"tools/list (id 3) is held at server.mjs:3 (work)"}},
		{[]Wait{other, other}, 3, []string{"held at server.mjs:1 (work), chan receive"}},
	} {
		if got := (Answer{Waits: test.waits, Asked: asked}).Words(test.most); !slices.Equal(got, test.want) {
			t.Errorf("got\n%q\nwant\n%q", got, test.want)
		}
	}
}
