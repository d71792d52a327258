package recorder

import (
	"slices"
	"testing"

	"github.com/mcprec/mcprec/recorder/redact"
	"github.com/mcprec/mcprec/store"
)

// TestCleanHeaders: of what others recorded of HTTP goes what mcprec does not record,
// however the names are written; and it is told once.
func TestCleanHeaders(t *testing.T) {
	info := store.HTTPInfo{What: store.HTTPRequest, Method: "POST", Path: "/mcp?api_key=sesame&page=2", Header: map[string][]string{
		"authorization": {"Bearer sesame"}, "Cookie": {"a=sesame", "b=sesame"}, "x-custom-token": {"sesame"}, "Accept": {"*/*"},
		"mcp-session-id": {"sk-ant-api03-abcdefghijklmnop-qrstuv"}, ":authority": {"example.com"}, "User-Agent": {"x"},
	}}
	var found []string
	r, err := redact.New(make([]byte, 32), redact.Rules{})
	if err != nil {
		t.Fatal(err)
	}
	c := NewCleaner(r.Reporting(func(f redact.Finding) { found = append(found, f.Rule+" "+f.Path) }))
	e := c.Clean(store.Event{Seq: 2, Kind: store.HTTP, Payload: store.EncodePayload(&info)})
	want := `{"what":"request","method":"POST","path":"/mcp?api_key=[dropped]&page=2","header":{":authority":["example.com"],"Accept":["*/*"],` +
		`"Cookie":["[dropped]","[dropped]"],"User-Agent":["x"],"authorization":["Bearer [dropped]"],"mcp-session-id":["sk-ant-api03-abcdefghijklmnop-qrstuv"],"x-custom-token":["[dropped]"]}}`
	if string(e.Payload) != want || e.Redacted != 5 {
		t.Errorf("%d secrets, left is %s\nwant %s", e.Redacted, e.Payload, want)
	}
	slices.Sort(found)
	if list := []string{"header /header/Cookie", "header /header/Cookie", "header /header/authorization", "header /header/x-custom-token", "header /path"}; !slices.Equal(found, list) {
		t.Errorf("told %q", found)
	}
	if again := c.Clean(e); again.Redacted != 5 || string(again.Payload) != want {
		t.Errorf("again: %d secrets, %s", again.Redacted, again.Payload)
	}
}
