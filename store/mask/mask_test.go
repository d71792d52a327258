package mask

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/mcprec/mcprec/store"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func newMasker(t testing.TB, rules Rules) *Masker {
	t.Helper()
	m, err := New([]byte("a key of a test"), rules)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// marks are what stands around the secrets in the tests' tables.
var marks = regexp.MustCompile(`«([^»]*)»`)

// TestSecrets holds that of each line of testdata/secrets.txt exactly the marked secrets go.
func TestSecrets(t *testing.T) {
	text, err := os.ReadFile("testdata/secrets.txt")
	if err != nil {
		t.Fatal(err)
	}
	m := newMasker(t, Rules{})
	for number, line := range strings.Split(strings.TrimSuffix(string(text), "\n"), "\n") {
		if line == "" || line[0] == '#' {
			continue
		}
		in := []byte(strings.NewReplacer("«", "", "»", "").Replace(line))
		got, n := m.Frame(in)
		// A secret's placeholder is told by its place: the HMAC is tested elsewhere.
		want := regexp.MustCompile(`([:\[, ])«-?[0-9.]+»([,}\] ])`).ReplaceAllString(line, `$1"[]"$2`)
		want = marks.ReplaceAllString(want, "[]")
		if shown := placeholder().ReplaceAllString(string(got), "[]"); shown != want {
			t.Errorf("line %d:\n%s\nbecame %s\nwant   %s", number+1, in, shown, want)
		}
		if json.Valid(in) && !json.Valid(got) {
			t.Errorf("line %d: %s is no JSON", number+1, got)
		}
		if strings.Count(want, "[]") > strings.Count(line, "[]") && n == 0 {
			t.Errorf("line %d: no secret is counted", number+1)
		}
		if again, k := m.Frame(got); k != 0 || !bytes.Equal(again, got) {
			t.Errorf("line %d: masked again\n%s\nbecame %s", number+1, got, again)
		}
	}
}

// TestHarmless holds that nothing of testdata/harmless.txt goes, where each line is like a
// secret that the rules know, and two known lines of testdata/ordinary.txt.
func TestHarmless(t *testing.T) {
	m := newMasker(t, Rules{})
	for name, known := range map[string]int{"testdata/harmless.txt": 0, "testdata/ordinary.txt": 2} {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		all, wrong := 0, []string(nil)
		for line := range strings.Lines(string(text)) {
			if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
				continue
			}
			all++
			if got, n := m.Frame([]byte(line)); n > 0 {
				wrong = append(wrong, line+" became "+string(got))
			}
		}
		t.Logf("%s: %d of %d: %s", name, len(wrong), all, strings.Join(wrong, "; "))
		if all == 0 || len(wrong) != known {
			t.Errorf("%s: of %d values %d are masked:\n%s", name, all, len(wrong), strings.Join(wrong, "\n"))
		}
	}
}

func TestPlaceholders(t *testing.T) {
	m := newMasker(t, Rules{})
	one := m.Placeholder("sesame")
	if placeholder().FindString(one) != one || one == m.Placeholder("open") {
		t.Errorf("placeholder %q", one)
	}
	// The same secret has one placeholder wherever it stands and however it is written.
	for _, in := range []string{`{"password":"a\"b1c2"}`, `{"x":"password='a\"b1c2'"}`, `{"x":"{\"password\":\"a\\\"b1c2\"}"}`, `password='a"b1c2'`} {
		if got, _ := m.Frame([]byte(in)); !strings.Contains(string(got), m.Placeholder(`a"b1c2`)) {
			t.Errorf("%s became %s", in, got)
		}
	}
	other, err := New([]byte("another key"), Rules{})
	if err != nil || other.Placeholder("sesame") == one {
		t.Errorf("the placeholder does not depend on the key: %v", err)
	}
}

func TestUsersRules(t *testing.T) {
	m := newMasker(t, Rules{
		Keys:     []string{"favourite-colour", "*_note", "car", "carpet"},
		Patterns: []*regexp.Regexp{regexp.MustCompile(`EMP-\d+`), regexp.MustCompile(`room (\w+)`)},
		Pointers: []string{"/params/arguments/pin", "/params/arguments/list/0/x", "/params/*/deep", "/params/cursor"},
		Values:   []string{"correct horse", "abcd", "abc"},
	})
	for in, want := range map[string]string{
		`{"favouriteColour":"red","a_note":{"b":[1,"x"]},"notes":"y"}`:                      `{"favouriteColour":"[]","a_note":{"b":["[]","[]"]},"notes":"y"}`,
		`{"a":"Favourite_Colour: red; EMP-12 in room b12","b":"a room"}`:                    `{"a":"Favourite_Colour: []; [] in room []","b":"a room"}`,
		`{"params":{"arguments":{"pin":true,"list":[{"x":5}],"deep":"d"},"pin":1},"pin":1}`: `{"params":{"arguments":{"pin":true,"list":[{"x":"[]"}],"deep":"[]"},"pin":1},"pin":1}`,
		`{"a":"say correct horse","b":"correct\u0020horse","correct horse":1}`:              `{"a":"say []","b":"[]","[]":1}`,
		`[{"params":{"arguments":{"pin":7}}}]`:                                              `[{"params":{"arguments":{"pin":"[]"}}}]`,
		`{"carpet":"x","EMP-12":"abc abcd"}`:                                                `{"carpet":"[]","[]":"abc []"}`,
		`{"params":{"cursor":"x","name":"abcd"},"a":"{\"params\":{\"cursor\":\"x\"}}"}`:     `{"params":{"cursor":"[]","name":"abcd"},"a":"{\"params\":{\"cursor\":\"x\"}}"}`,
	} {
		got, _ := m.Frame([]byte(in))
		if shown := placeholder().ReplaceAllString(string(got), "[]"); shown != want {
			t.Errorf("%s\nbecame %s\nwant   %s", in, shown, want)
		}
	}
	for _, bad := range []Rules{{Pointers: []string{"params"}}, {Pointers: []string{""}}, {Keys: []string{"*"}}, {Keys: []string{"a[b"}}} {
		if _, err := New(nil, bad); err == nil {
			t.Errorf("%+v: no error", bad)
		}
	}
}

// TestEvents holds what goes of each kind of event, in testdata/events.golden.
func TestEvents(t *testing.T) {
	info := func(h store.HTTPInfo) []byte { return store.EncodePayload(&h) }
	var b strings.Builder
	m := newMasker(t, Rules{})
	for _, e := range []store.Event{
		{Kind: store.Opened, Payload: store.Header{ID: "01920000-0000-7000-8000-000000000001", Transport: "stdio", Label: "db",
			Labels: map[string]string{"url": "https://u:hunter2x@h/"}, Command: []string{"srv", "--api-key", "abc123def", "--token=xyz789abc", "PASSWORD=hunter2"}, URL: "http://h/mcp?token=abc123"}.Encode()},
		{Kind: store.Opened, Payload: store.Header{ID: "x", Command: []string{"srv", "--password", "a b c"}, Redacted: 2}.Encode()},
		{Kind: store.Opened, Payload: store.Header{ID: "x", Command: []string{"srv", "-v"}}.Encode()},
		{Kind: store.Opened, Payload: []byte(`{"mcprec":99,"command":["srv","--token=xyz789abc"],"token":"xyz789abc"}`)},
		{Kind: store.Opened, Payload: []byte(`no header: password=hunter2abc`)},
		{Kind: store.Frame, Payload: []byte(` {"id":"ghp_0123456789abcdefghijABCDEFGHIJ012345","result":{"nextCursor":"password=hunter2"}}`)},
		{Kind: store.Frame, Payload: []byte(`[{"id":"ghp_0123456789abcdefghijABCDEFGHIJ012345","method":"ping"}]`)},
		{Kind: store.Frame, Payload: []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_token","arguments":{"password":"hunter2"}}}`)},
		{Kind: store.Stderr, Payload: []byte(`ERROR password=hunter2abc at x`)},
		{Kind: store.Note, Payload: []byte("the key is ghp_0123456789abcdefghijABCDEFGHIJ012345")},
		{Kind: store.HTTP, Payload: info(store.HTTPInfo{What: store.HTTPRequest, Method: "POST", Path: "/mcp?api_key=abc123def&page=2",
			Header: map[string][]string{"Mcp-Session-Id": {"3f9c2b7d"}, "Last-Event-Id": {"ghp_0123456789abcdefghijABCDEFGHIJ012345"}, "X-Api-Key": {"abc123"}, "Accept": {"text/event-stream"}, "Mcp-Name": {"https://u:hunter2@h/"}}})},
		{Kind: store.HTTP, Payload: info(store.HTTPInfo{What: store.HTTPBody, Body: `{"access_token":"abc123def"}`, Error: "dial https://u:hunter2@h/"})},
		{Kind: store.HTTP, Payload: info(store.HTTPInfo{What: store.HTTPBody, Body64: []byte("\xff password=hunter2abc")})},
		{Kind: store.HTTP, Payload: info(store.HTTPInfo{What: store.HTTPBody, Body64: []byte("\x1f\x8bpassword=hunter2abc"), Coding: "gzip"})},
		{Kind: store.HTTP, Payload: info(store.HTTPInfo{What: store.HTTPEvent, SSE: &store.SSEInfo{Lines: []string{": token=abc123def456", "id: ghp_0123456789abcdefghijABCDEFGHIJ012345"}, Raw: []byte(": token=abc123def456\r")}})},
		{Kind: store.HTTP, Payload: []byte("not JSON password=hunter2abc")},
		{Kind: store.Closed, Payload: []byte(`{"frames":1,"lost":0}`)},
	} {
		before := bytes.Clone(e.Payload)
		got := m.Event(e)
		if !bytes.Equal(before, e.Payload) {
			t.Errorf("%s: the payload that was given is changed", before)
		}
		if got.Size() != len(before) {
			t.Errorf("%s: of %d bytes, not %d", got.Payload, got.Size(), len(before))
		}
		if again := m.Event(got); !again.Equal(got) {
			t.Errorf("%s\nmasked again became %s", got.Payload, again.Payload)
		}
		b.WriteString(string(e.Kind) + " " + string(rune('0'+got.Redacted)) + " " + string(got.Payload) + "\n")
	}
	const golden = "testdata/events.golden"
	if *update {
		if err := os.WriteFile(golden, []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil || string(want) != b.String() {
		t.Errorf("%v; got\n%s\nwant\n%s", err, b.String(), want)
	}
}

func TestFindings(t *testing.T) {
	var found []Finding
	m := newMasker(t, Rules{}).Reporting(func(f Finding) { found = append(found, f) })
	m.Frame([]byte(`{"params":{"arguments":{"a/b":[["x"],[{"password":"x1"}]],"q":"ghp_0123456789abcdefghijABCDEFGHIJ012345"}}}`))
	want := []Finding{{"name", "/params/arguments/a~1b/*/*/password"}, {"github", "/params/arguments/q"}}
	m.Of(store.Header{Command: []string{"srv", "--token=xyz789abc"}}) // reports nothing: the header is masked later
	if !slices.Equal(found, want) {
		t.Errorf("found %v, want %v", found, want)
	}
}

// TestApply: of replacements that overlap the first goes, of two at one place the longer.
func TestApply(t *testing.T) {
	for want, edits := range map[string][]edit{
		"AcdeB": {{from: 5, to: 6, text: "B"}, {from: 0, to: 2, text: "A"}},
		"Aef":   {{from: 0, to: 2, text: "B"}, {from: 0, to: 4, text: "A"}, {from: 3, to: 5, text: "C"}},
		"Bef":   {{from: 0, to: 4, text: "B"}, {from: 0, to: 2, text: "A"}},
		"ABef":  {{from: 0, to: 2, text: "A"}, {from: 2, to: 4, text: "B"}},
		"aBef":  {{from: 1, to: 4, text: "B"}, {from: 2, to: 3, text: "A"}},
	} {
		if got, _ := apply([]byte("abcdef"), edits); string(got) != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// TestOf: a Masker knows the secrets of one session's header, and shares them with no other.
func TestOf(t *testing.T) {
	m := newMasker(t, Rules{Values: []string{"aaaa", "bbbb", "cccc", "dddd", "eeee"}}) // append leaves room behind five
	one := m.Of(store.Header{Command: []string{"srv", "--token=xyz789abc"}})
	two := m.Of(store.Header{URL: "http://u:open77door@h/mcp"})
	for name, c := range map[string]struct {
		masker *Masker
		want   string
	}{"the first": {one, "[] open77door"}, "the second": {two, "xyz789abc []"}, "none": {m, "xyz789abc open77door"}} {
		got, _ := c.masker.Text([]byte("xyz789abc open77door"))
		if shown := placeholder().ReplaceAllString(string(got), "[]"); shown != c.want {
			t.Errorf("%s: %s, want %s", name, shown, c.want)
		}
	}
	if m.Of(store.Header{}) != m || one.Of(store.Header{URL: "http://u:open77door@h/mcp"}) != one {
		t.Error("a Masker is made anew for nothing")
	}
}

// FuzzFrame holds that JSON stays JSON, that nothing changes uncounted, and that the
// fields of the protocol stay.
func FuzzFrame(f *testing.F) {
	for _, name := range []string{"testdata/secrets.txt", "testdata/harmless.txt"} {
		text, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			f.Add([]byte(strings.NewReplacer("«", "", "»", "").Replace(strings.TrimSpace(line))))
		}
	}
	m := newMasker(f, Rules{Values: []string{"open sesame"}})
	f.Fuzz(func(t *testing.T, in []byte) {
		got, n := m.Frame(in)
		if n == 0 && !bytes.Equal(got, in) {
			t.Fatalf("%s became %s, and nothing is counted", in, got)
		}
		if json.Valid(in) != json.Valid(got) && json.Valid(in) {
			t.Fatalf("%s became %s", in, got)
		}
		var before, after struct{ ID, Method json.RawMessage }
		if json.Unmarshal(in, &before) == nil && json.Unmarshal(got, &after) == nil && (!bytes.Equal(before.ID, after.ID) || !bytes.Equal(before.Method, after.Method)) {
			t.Fatalf("%s became %s", in, got)
		}
	})
}

// TestSession holds that a secret of the command line or the URL is known again elsewhere,
// and one that standard error has in pieces, from the piece on in which it can be known.
func TestSession(t *testing.T) {
	m := newMasker(t, Rules{})
	header := store.Header{Command: []string{"srv", "--api-key", "blue42fish", "-v"}, URL: "http://u:open77door@h/mcp"}
	s := m.Session()
	s.Event(store.Event{Kind: store.Opened, Payload: header.Encode()})
	const in = `{"a":"with blue42fish behind open77door, -v"}`
	for _, session := range []*Session{s, m.Of(header).Session()} {
		got := session.Event(store.Event{Kind: store.Frame, Payload: []byte(in)})
		if want := `{"a":"with ` + m.Placeholder("blue42fish") + ` behind ` + m.Placeholder("open77door") + `, -v"}`; string(got.Payload) != want || got.Redacted != 2 {
			t.Errorf("%s became %s, want %s", in, got.Payload, want)
		}
	}
	if got, n := m.Frame([]byte(in)); n > 0 {
		t.Errorf("the Masker has changed: %s", got)
	}
	for _, c := range []struct {
		parts []string
		want  string
	}{
		{[]string{"a pass", "word=", "hunter2x\n", "next\n"}, "a password=[]\nnext\n"},
		{[]string{"password=hunter2x", "\n", "next\n"}, "password=[]\nnext\n"},
		{[]string{"the key ghp_0123456789", "abcdefghijABCDEFGHIJ012345 is it\n"}, "the key ghp_0123456789[] is it\n"},
		{[]string{"-----BEGIN PRIVATE KEY-----\n", "MIIEvQIBADANBgkq\n", "hkiG9w0BAQEFAASC\n-----END PRIVATE KEY-----\n", "plain\n"}, "[][][]\nplain\n"},
	} {
		all := ""
		for _, p := range c.parts {
			all += string(s.Event(store.Event{Kind: store.Stderr, Payload: []byte(p)}).Payload)
		}
		if shown := placeholder().ReplaceAllString(all, "[]"); shown != c.want {
			t.Errorf("%q became %q, want %q", c.parts, shown, c.want)
		}
	}
	body := func(p string) store.HTTPInfo {
		return store.HTTPInfo{What: store.HTTPBody, Body: p + "\n", Error: "password=" + p}
	}
	key := []string{"-----BEGIN PRIVATE KEY-----", "MIIEvQIBADANBgkq", "hkiG9w0BAQ=", "-----END PRIVATE KEY-----", "plain"}
	for name, event := range map[string]func(p string) store.Event{
		"lines": func(p string) store.Event { return store.Event{Kind: store.Frame, Payload: []byte(p)} },
		"bodies": func(p string) store.Event {
			info := body(p)
			return store.Event{Kind: store.HTTP, Stream: 1, Payload: store.EncodePayload(&info)}
		},
		"bodies of other bytes": func(p string) store.Event {
			info := store.HTTPInfo{What: store.HTTPBody, Body64: []byte("\xff" + p + "\n")}
			return store.Event{Kind: store.HTTP, Stream: 2, Payload: store.EncodePayload(&info)}
		},
		"bodies with an event within": func(p string) store.Event {
			info := body(p)
			if p == "hkiG9w0BAQ=" {
				info.What = store.HTTPEvent
			}
			return store.Event{Kind: store.HTTP, Stream: 3, Payload: store.EncodePayload(&info)}
		},
	} {
		all := ""
		for _, p := range key {
			got := s.Event(event(p))
			if info, err := store.DecodePayload[store.HTTPInfo](got); err == nil {
				got.Payload = append([]byte(info.Body), info.Body64...)
			}
			all += string(got.Payload)
		}
		if strings.Contains(all, "MIIEvQ") || strings.Contains(all, "hkiG9") || !strings.Contains(all, "plain") {
			t.Errorf("%s: %q", name, all)
		}
	}
	open, response, plain := body(key[0]), store.HTTPInfo{What: store.HTTPResponse, Status: 200}, body("plain")
	for i, info := range []*store.HTTPInfo{&open, &response, &plain} {
		got := s.Event(store.Event{Kind: store.HTTP, Stream: 4, Payload: store.EncodePayload(info)})
		if i == 2 && !strings.Contains(string(got.Payload), `"body":"plain\n"`) {
			t.Errorf("a body behind another, whose key had no end: %s", got.Payload)
		}
	}
	if e := s.Event(store.Event{Kind: store.Stderr, Payload: []byte("plain\n")}); e.Redacted != 0 || string(e.Payload) != "plain\n" {
		t.Errorf("a plain line became %q", e.Payload)
	}
}

// TestLong holds that a list of many strings is a command line to its end, and that a key of many
// lines goes to its end.
func TestLong(t *testing.T) {
	m := newMasker(t, Rules{})
	lines := strings.Repeat("MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQ\n", 60)
	for _, in := range []string{
		`{"args":[` + strings.Repeat(`"-v",`, 2*mostArguments) + `"--password","SECRET"]}`,
		"kind: Secret\ndata:\n" + strings.Repeat("  public-name: with a long text in front\n", 40) + "  a: SECRET\n",
		"a -----BEGIN PRIVATE KEY-----\n" + lines + "SECRET\n-----END PRIVATE KEY----- b",
	} {
		if got, n := m.Frame([]byte(in)); n != 1 || strings.Contains(string(got), "SECRET") {
			t.Errorf("%d secrets in %.60s…%s", n, got, got[max(0, len(got)-80):])
		}
	}
}
