package standin

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/mcprec/mcprec/replay/match"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
	"github.com/mcprec/mcprec/transport/streamable"
)

// refused is a recording of a server that is asked in ways in which it should not be:
// method, path, session id, other headers, body, then status, headers and body.
const refused = `
POST /mcp - | {"jsonrpc":"2.0","id":"x","method":"tools/list"} | 400 | {"jsonrpc":"2.0","id":"x","error":{"code":1,"message":"no session"}}
POST /mcp - Accept=application/json | {"jsonrpc":"2.0","id":1,"method":"initialize"} | 406 | {"jsonrpc":"2.0","id":null,"error":{"code":2,"message":"forms"}}
POST /mcp - Content-Type=text/plain | {"jsonrpc":"2.0","id":1,"method":"initialize"} | 415 |
POST /mcp - | {"jsonrpc":"2.0","id":1,"method":"initialize"} | 200 Mcp-Session-Id=s | {"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25"}}
POST /mcp s Mcp-Protocol-Version=1999-12-31 | {"jsonrpc":"2.0","id":2,"method":"ping"} | 400 |
POST /mcp s Mcp-Protocol-Version=2025-11-25 | {"jsonrpc":"2.0","id":3,"method":"ping"} | 200 | {"jsonrpc":"2.0","id":3,"result":{}}
POST /mcp nobody | {"jsonrpc":"2.0","id":4,"method":"ping"} | 404 |
POST /mcp nobody | {"jsonrpc":"2.0","id":4,"method":"ping"} | 410 |
POST /mcp s | {broken | 400 | {"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"broken"}}
GET /other - | | 403 |
GET /mcp - | | 401 |
PATCH /mcp s | | 501 |
DELETE /mcp s | | 200 |
POST /mcp s | {"jsonrpc":"2.0","id":5,"method":"ping"} | 409 |`

func rejectionsOf(t *testing.T, text string) (*rejections, []store.Event) {
	t.Helper()
	var events []store.Event
	add := func(e store.Event) {
		e.Seq = uint64(len(events)) + 1
		events = append(events, e)
	}
	for i, line := range strings.Split(strings.TrimSpace(text), "\n") {
		part := strings.Split(line, "|")
		for i := range part {
			part[i] = strings.TrimSpace(part[i])
		}
		stream := uint64(i + 1)
		method, path, session, h := asking(part[0])
		if session != "-" {
			h.Set("Mcp-Session-Id", session)
		}
		add(store.Event{Kind: store.HTTP, Dir: transport.ClientToServer, Stream: stream, Payload: store.EncodePayload(store.HTTPInfo{What: store.HTTPRequest, Method: method, Path: path, Header: h})})
		switch {
		case h.Get("Content-Type") != "application/json": // as a recorder has it
			add(store.Event{Kind: store.HTTP, Dir: transport.ClientToServer, Stream: stream, Payload: store.EncodePayload(store.HTTPInfo{What: store.HTTPBody, Body: part[1]})})
		case part[1] != "":
			add(store.Event{Kind: store.Frame, Dir: transport.ClientToServer, Stream: stream, Payload: []byte(part[1])})
		}
		status, _, _, _ := asking(part[2] + " - -")
		_, _, _, given := asking("- - - " + strings.TrimPrefix(part[2], status))
		code := map[string]int{"200": 200, "400": 400, "401": 401, "403": 403, "404": 404, "406": 406, "409": 409, "410": 410, "415": 415, "501": 501}[status]
		given.Set("Content-Type", "application/json")
		add(store.Event{Kind: store.HTTP, Dir: transport.ServerToClient, Stream: stream, Payload: store.EncodePayload(store.HTTPInfo{What: store.HTTPResponse, Status: code, Header: given})})
		if part[3] != "" {
			add(store.Event{Kind: store.Frame, Dir: transport.ServerToClient, Stream: stream, Payload: []byte(part[3])})
		}
	}
	return newRejections(match.Rules{}, exchangesOf(events)), events
}

// asking reads a method, a path, a session, and headers over those of a client of MCP.
func asking(text string) (method, path, session string, h http.Header) {
	h = http.Header{"Accept": {"application/json, text/event-stream"}, "Content-Type": {"application/json"}}
	words := strings.Fields(text)
	for _, w := range words[3:] {
		name, value, _ := strings.Cut(w, "=")
		h.Set(name, value)
	}
	return words[0], words[1], words[2], h
}

// What is asked as something that was refused is refused so; all else is for whom it
// is meant.
func TestRefusals(t *testing.T) {
	r, events := rejectionsOf(t, refused)
	for _, c := range []struct {
		asks, body string
		status     int // 0: it is not refused
		says       string
	}{
		{"POST /mcp none", `{"jsonrpc":"2.0","id":77,"method":"tools/list"}`, 400, `{"jsonrpc":"2.0","id":77,"error":{"code":1,"message":"no session"}}`},
		{"POST /mcp none", `{"jsonrpc":"2.0","id":1,"method":"prompts/list"}`, 400, `{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"no session"}}`},
		{"POST /anywhere none", `{"jsonrpc":"2.0","id":1,"method":"initialize"}`, 0, ""},
		{"POST /mcp none Accept=*/*", `{"jsonrpc":"2.0","id":1,"method":"initialize"}`, 0, ""},
		{"POST /mcp none Accept=application/json;q=0.9", `{"jsonrpc":"2.0","id":9,"method":"initialize"}`, 406, `{"jsonrpc":"2.0","id":null,"error":{"code":2,"message":"forms"}}`},
		{"POST /mcp none Content-Type=text/plain", `{"jsonrpc":"2.0","id":1,"method":"initialize"}`, 415, ""},
		{"POST /mcp none Content-Type=application/json;charset=utf-8", `{"jsonrpc":"2.0","id":1,"method":"initialize"}`, 0, ""},
		{"POST /mcp open", `{"jsonrpc":"2.0","id":1,"method":"ping"}`, 0, ""},
		{"POST /mcp open Mcp-Protocol-Version=2025-06-18", `{"jsonrpc":"2.0","id":1,"method":"ping"}`, 0, ""},
		{"POST /mcp open Mcp-Protocol-Version=1999-12-31", `{"jsonrpc":"2.0","id":1,"method":"ping"}`, 400, ""},
		{"POST /mcp unknown", `{"jsonrpc":"2.0","id":1,"method":"ping"}`, 404, ""},
		{"POST /mcp unknown", `{"jsonrpc":"2.0","id":1,"method":"ping"}`, 410, ""},
		{"POST /mcp unknown", `{"jsonrpc":"2.0","id":1,"method":"ping"}`, 410, ""},
		{"POST /mcp ended", `{"jsonrpc":"2.0","id":1,"method":"ping"}`, 409, ""},
		{"POST /mcp open", `[broken`, 400, `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"broken"}}`},
		{"GET /other none", "", 403, ""},
		{"GET /mcp none", "", 401, ""},
		{"GET /mcp open", "", 0, ""},
		{"PATCH /mcp open", "", 501, ""},
		{"PUT /mcp open", "", 0, ""},
		{"DELETE /mcp open", "", 0, ""},
	} {
		method, path, state, h := asking(c.asks)
		states := map[string]streamable.SessionState{"none": streamable.SessionNone, "ended": streamable.SessionEnded, "unknown": streamable.SessionUnknown}
		got, answered := r.screen(streamable.Attempt{Request: &http.Request{Method: method, URL: &url.URL{Path: path}, Header: h},
			Body: []byte(c.body), Session: states[state]})
		if answered != (c.status != 0) || got.Status != c.status || string(got.Body) != c.says {
			t.Errorf("%s %s: answered %t, %d %s", c.asks, c.body, answered, got.Status, got.Body)
		}
	}
	if x := exchangesOf(events); x.isRawRequest(1) || !x.isRawRequest(3) {
		t.Error("a drive leaves out what is no message, and that alone")
	}
	if left := exchangesOf(r.spared(events)); len(left.order) != 3 {
		t.Errorf("%d exchanges are left to the session, want initialize, ping and DELETE", len(left.order))
	}
}

// A shape in which the server took a request in is not what it refused others for:
// they are the session's.
func TestNoRefusals(t *testing.T) {
	for name, text := range map[string]string{
		"authorization": `
POST /mcp - Accept=application/json | {"jsonrpc":"2.0","id":1,"method":"initialize"} | 401 |
POST /mcp - Accept=application/json | {"jsonrpc":"2.0","id":2,"method":"initialize"} | 200 Mcp-Session-Id=s | {"jsonrpc":"2.0","id":2,"result":{}}`,
		"no sessions": `
POST /mcp - | {"jsonrpc":"2.0","id":1,"method":"tools/call"} | 400 |
GET /mcp - | | 400 |`,
		"begun before": `
POST /mcp s | {"jsonrpc":"2.0","id":1,"method":"tools/call"} | 200 | {"jsonrpc":"2.0","id":1,"result":{}}
POST /mcp s | {"jsonrpc":"2.0","id":2,"method":"tools/call"} | 404 |`,
	} {
		if r, _ := rejectionsOf(t, text); len(r.list) != 0 {
			t.Errorf("%s: %d refusals: %+v", name, len(r.list), r.list[0].form)
		}
	}
}

// TestChoose: a client is given the session that begins as it does, and of several the one that nobody had.
func TestChoose(t *testing.T) {
	key := func(method string) match.Key {
		k, err := match.Rules{}.Key(transport.Message{ID: json.RawMessage("1"), Method: method})
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	e := &Endpoint{sessions: []*recordedSession{{first: key("a")}, {first: key("b")}, {first: key("b")}}}
	for i, row := range []struct {
		frame string
		want  int
	}{{`{"id":1,"method":"b"}`, 1}, {`{"id":1,"method":"b"}`, 2}, {`{"id":1,"method":"b"}`, 1}, {`{"method":"x"}`, 0}, {`{"id":1,"method":"a"}`, 0}, {`[{"method":"x"},{"id":1,"method":"b"},{"id":2,"method":"a"}]`, 1}} {
		if got := slices.Index(e.sessions, e.choose(transport.Frame{Bytes: []byte(row.frame)})); got != row.want {
			t.Errorf("client %d with %s has session %d, want %d", i, row.frame, got, row.want)
		}
	}
}

// TestExchangesOf: what is recorded of exchanges is told again to live clients and servers.
func TestExchangesOf(t *testing.T) {
	const post, get, ready = `{"what":"request","method":"POST","path":"/mcp"%s}`, `{"what":"request","method":"GET","path":"/mcp"%s}`, `{"method":"notifications/initialized"}`
	const session = `,"header":{"Mcp-Session-Id":["s"]}`
	none := `{"what":"none","error":"%s"}`
	request := func(stream uint64, info, frame string) []store.Event {
		events := []store.Event{{Kind: store.HTTP, Dir: transport.ClientToServer, Stream: stream, Payload: []byte(info)}}
		if frame != "" {
			events = append(events, store.Event{Kind: store.Frame, Dir: transport.ClientToServer, Stream: stream, Payload: []byte(frame)})
		}
		return events
	}
	said := func(stream uint64, info string) []store.Event {
		return []store.Event{{Kind: store.HTTP, Dir: transport.ServerToClient, Stream: stream, Payload: []byte(info)}}
	}
	for _, row := range []struct {
		name   string
		events []store.Event
		listen streamable.ListenTime
		none   bool // the first exchange had no response
		failed int  // requests that a player does not wait for
	}{
		{"a stream behind initialized", slices.Concat(request(1, fmt.Sprintf(post, ""), ready), request(2, fmt.Sprintf(get, ""), "")), streamable.ListenInitialized, false, 0},
		{"a stream in a session", slices.Concat(request(1, fmt.Sprintf(post, ""), `{"id":1,"method":"initialize"}`), said(1, `{"what":"response","status":200`+session+`}`), request(2, fmt.Sprintf(get, session), "")), streamable.ListenAnswered, false, 0},
		{"a stream that is taken up again is no other", slices.Concat(request(1, fmt.Sprintf(post, ""), ready), request(2, fmt.Sprintf(get, `,"header":{"Mcp-Session-Id":["s"],"Last-Event-Id":["e"]}`), "")), streamable.ListenNever, false, 0},
		{"a stream without a session", request(1, fmt.Sprintf(get, ""), ""), streamable.ListenNever, false, 0},
		{"a session without a stream", slices.Concat(request(1, fmt.Sprintf(post, ""), `{"id":1,"method":"initialize"}`), said(1, `{"what":"response","status":200`+session+`}`), request(2, fmt.Sprintf(post, session), `{"id":2,"method":"ping"}`)), streamable.ListenNever, false, 0},
		{"a stream of a session that is taken up again", slices.Concat(request(1, fmt.Sprintf(post, ""), `{"id":1,"method":"initialize"}`), said(1, `{"what":"response","status":200`+session+`}`),
			request(2, fmt.Sprintf(get, `,"header":{"Mcp-Session-Id":["s"],"Last-Event-Id":["e"]}`), "")), streamable.ListenNever, false, 0},
		{"no stream", request(1, fmt.Sprintf(post, ""), ready), streamable.ListenNever, false, 0},
		{"HTTP+SSE", slices.Concat(request(1, fmt.Sprintf(get, session), ""), said(1, `{"what":"event","sse":{"event":"endpoint"}}`)), streamable.ListenNever, false, 0},
		{"a POST without a response", slices.Concat(request(1, fmt.Sprintf(post, ""), `{"id":1,"method":"ping"}`), said(1, fmt.Sprintf(none, "reset"))), streamable.ListenNever, true, 0},
		{"a POST that nobody heard", slices.Concat(request(1, fmt.Sprintf(post, ""), `{"id":1,"method":"ping"}`), said(1, fmt.Sprintf(none, "dial tcp: connection refused"))), streamable.ListenNever, true, 1},
	} {
		for i := range row.events {
			row.events[i].Seq = uint64(i + 1)
		}
		x := exchangesOf(row.events)
		if listen, none := x.listenTime(), x.order[0].answer().None; listen != row.listen || none != row.none {
			t.Errorf("%s: listens %v, want %v; no response %v, want %v", row.name, listen, row.listen, none, row.none)
		}
		if s := loadPlayerScript(row.events, match.Rules{}, false); len(s.failed) != row.failed {
			t.Errorf("%s: %d failed requests, want %d", row.name, len(s.failed), row.failed)
		}
	}
}

// FuzzBody: what a recorded client sent over HTTP is read without believing it.
func FuzzBody(f *testing.F) {
	f.Add("2026-07-28", "tools/call", "echo", "application/json, text/event-stream", []byte(`{"id":1,"method":"tools/call","params":{"name":"echo","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`))
	f.Add("", "", "=?base64?w6Q=?=", "*/*", []byte(`[{"id":1,"method":"initialize"}]`))
	f.Add("x", "y", "z", "text/html;q=0", []byte("no"))
	f.Fuzz(func(t *testing.T, version, method, name, accept string, body []byte) {
		h := http.Header{"Accept": {accept}, "Mcp-Protocol-Version": {version}, "Mcp-Method": {method}, "Mcp-Name": {name}}
		begins, broken, _ := readBody(h, body)
		if broken != (len(body) > 0 && !json.Valid(bytes.TrimSpace(body))) {
			t.Errorf("%q: broken %v", body, broken)
		}
		if begins && broken {
			t.Errorf("%q begins a session and is no message", body)
		}
		if got := formsOf(h, "application/json", mcp.MediaEventStream); got == "unsaid" {
			t.Errorf("%q is unsaid", accept)
		}
	})
}
