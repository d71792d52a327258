package match

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/mcprec/mcprec/transport"
)

func TestPointer(t *testing.T) {
	for _, tt := range []struct {
		text   string
		path   string // steps with blanks between them
		covers bool
	}{
		{"/params/arguments/when", "params arguments when", true},
		{"/params/arguments/when", "params arguments", false},
		{"/result/content/*/text", "result content 12 text", true},
		{"/result/content/*/text", "result content text", false},
		{"/params/_meta/a~1b~0", "params _meta a/b~", true},
		{"/params/~01", "params ~1", true},
		{"/", "", true},
	} {
		p, err := ParsePointer(tt.text)
		if err != nil {
			t.Errorf("%s: %v", tt.text, err)
			continue
		}
		if (Rules{Ignore: []Pointer{p}}).Ignores(strings.Split(tt.path, " ")) != tt.covers || p.String() != tt.text {
			t.Errorf("%s (%v) covers %q: %v", tt.text, p, tt.path, !tt.covers)
		}
	}
	for _, bad := range []string{"", "params", "$.params", "/a~", "/a~2"} {
		if p, err := ParsePointer(bad); err == nil {
			t.Errorf("%q: %v", bad, p)
		}
	}
}

// FuzzPointer: a pointer is written as it was read.
func FuzzPointer(f *testing.F) {
	f.Add("/params/a~1b/*/~0")
	f.Add("//")
	f.Fuzz(func(t *testing.T, text string) {
		if p, err := ParsePointer(text); err == nil && p.String() != text {
			t.Errorf("%q is %q", text, p)
		}
	})
}

// FuzzTree: the parser takes what encoding/json takes (and, unlike it, any depth),
// and finds each value where it stands.
func FuzzTree(f *testing.F) {
	for _, text := range []string{`{"a":[1,{"b":null}],"a":"\ud83d\ude00\ud800x"}`, ` [ ] `, "\"\xff\"", `-1.5e+7`, `{"\u0061":true,"a":false}`, `[[`, `tru`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		n, err := parseTree(raw)
		if valid := json.Valid(raw); valid && (err != nil || n.kind == 0) {
			t.Fatalf("%q: %v", raw, err)
		} else if !valid || err != nil {
			return
		}
		checkPlaces(t, raw, n)
	})
}

func checkPlaces(t *testing.T, raw []byte, n tree) {
	own := raw[n.start:n.end]
	if again, err := parseTree(own); err != nil || again.kind != n.kind || again.text != n.text || len(again.kids) != len(n.kids) {
		t.Fatalf("%q in %q is %+v, alone %+v, %v", own, raw, n, again, err)
	}
	if n.kind == '"' {
		if again := treeOf(quoteJSON(n.text)); again.text != n.text {
			t.Fatalf("%q is quoted %q, which says %q", n.text, quoteJSON(n.text), again.text)
		}
	}
	for _, kid := range n.kids {
		checkPlaces(t, raw, kid)
	}
}

// FuzzCompare: params have the same Key if and only if they do not differ, nothing
// differs from itself, and what is learned of any two panics nobody.
func FuzzCompare(f *testing.F) {
	f.Add(`{"a":[1,{"taskId":"x"}],"_meta":{"progressToken":1}}`, `{"a":[1.0,{"taskId":"y"}]}`)
	f.Add(`{"a":"[redacted:0123456789abcdef] and 018f3c4e-7b1a-7c3d-9e4f-000000000001"}`, `{"a":"me and ffffffff-7b1a-7c3d-9e4f-000000000001"}`)
	f.Add(`{"a":1,"a":2}`, `{"a":2}`)
	f.Add(`null`, `{"_meta":{}}`)
	f.Add(`[1,2,3]`, `[1,9,2,3]`)
	f.Fuzz(func(t *testing.T, a, b string) {
		if !json.Valid([]byte(a)) || !json.Valid([]byte(b)) {
			return
		}
		recorded, live := transport.Message{ID: json.RawMessage("1"), Method: "m", Params: json.RawMessage(a)}, transport.Message{ID: json.RawMessage("2"), Method: "m", Params: json.RawMessage(b)}
		keyA, errA := MatchParams(recorded)
		keyB, errB := MatchParams(live)
		if errA != nil || errB != nil {
			t.Fatal(errA, errB)
		}
		if c := (Rules{}).Compare(recorded, live, nil); c.Same() != (keyA == keyB) && !strings.Contains(a, "[redacted:") {
			t.Fatalf("%d differences, keys %q and %q", c.Count(), keyA, keyB)
		}
		v := NewVariables(func(yield func(int, transport.Frame) bool) {
			yield(1, transport.Frame{Bytes: []byte(`{"id":1,"result":` + a + `}`)})
		})
		v.Learn(recorded, live, 0)
		if put := v.Substitute([]byte(`{"id":1,"result":` + a + `}`)); !json.Valid(put) {
			t.Fatalf("%q is no JSON", put)
		}
		Rules{Normalize: Normalizers()}.Compare(recorded, live, v)
	})
}

// TestCompareLarge has values as deep as there are, and as long: time grows as they
// do.
func TestCompareLarge(t *testing.T) {
	deep := func(n int, inner string) transport.Message {
		return transport.Message{Method: "m", Params: json.RawMessage(strings.Repeat(`{"a":[`, n) + inner + strings.Repeat(`]}`, n))}
	}
	if c := (Rules{}).Compare(deep(20_000, "1"), deep(20_000, "2"), NewVariables(nil)); c.Count() != 1 || strings.Count(c.Differences[0].Path, "/a/0") != 20_000 {
		t.Errorf("%d differences", c.Count())
	}
	if _, err := MatchParams(deep(20_000, "1")); err != nil {
		t.Error(err)
	}
	wide := func(last string) transport.Message {
		return transport.Message{Method: "m", Params: json.RawMessage(`[` + strings.Repeat(`{"x":`+last+`},`, 20_000) + `1]`)}
	}
	if c := (Rules{}).Compare(wide("1"), wide("2"), nil); c.Count() != 20_000 || len(c.Differences) != keptDifferences {
		t.Errorf("%d differences, %d kept", c.Count(), len(c.Differences))
	}
}

func TestParseStrictness(t *testing.T) {
	for _, s := range []Strictness{ByParams, ByMethod, ByOrder, Strict} {
		if again, err := ParseStrictness(s.String()); err != nil || again != s {
			t.Errorf("%v: %v, %v", s, again, err)
		}
	}
	if _, err := ParseStrictness("loose"); err == nil {
		t.Error("loose: no error")
	}
	if s := Strictness(9).String(); s != "Strictness(9)" {
		t.Error(s)
	}
}

// TestTreeDepth: what is deeper than a message may be is no value, and no end of the
// program either: a text within a message may hold anything.
func TestTreeDepth(t *testing.T) {
	for _, tt := range []struct {
		depth int
		valid bool
	}{{100, true}, {deepest, true}, {deepest + 2, false}, {5_000_000, false}} {
		text := strings.Repeat("[", tt.depth) + strings.Repeat("]", tt.depth)
		if _, err := parseTree([]byte(text)); (err == nil) != tt.valid {
			t.Errorf("depth %d: %v", tt.depth, err)
		}
	}
	if n, err := parseTree([]byte("[" + strings.Repeat("1,", deepest) + "1]")); err != nil || len(n.kids) != deepest+1 {
		t.Errorf("a long list: %d elements, %v", len(n.kids), err)
	}
}
