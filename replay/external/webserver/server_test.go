package webserver

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/mcprec/mcprec/replay/standin"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
)

// written is a response as it is written.
type written struct{ strings.Builder }

func (w *written) Respond(status int, header http.Header, body []byte) {
	fmt.Fprintf(w, "%d %s %s", status, header.Get("Content-Type"), body)
}
func (w *written) Begin(http.Header) { w.WriteString("stream:") }
func (w *written) Piece(data []byte) { w.WriteString(strings.ReplaceAll(string(data), "\n", "|")) }
func (w *written) Finish()           { w.WriteString("end") }
func (w *written) BreakOff()         { w.WriteString("broken") }
func (w *written) String() string    { return w.Builder.String() }
func frame(text string, number uint64) transport.Frame {
	return transport.Frame{Bytes: []byte(text), Stream: number}
}

// talk is a client of a server, which numbers its requests.
type talk struct {
	*Server
	requests uint64
}

// ask makes a request with headers "Name: value" and a body.
func (t *talk) ask(method, body string, headers ...string) *written {
	return t.at(endpoint, method, body, headers...)
}

func (t *talk) at(path, method, body string, headers ...string) *written {
	t.requests++
	w := &written{}
	request, _ := http.NewRequest(method, "http://127.0.0.1"+path, nil)
	for _, line := range headers {
		name, value, _ := strings.Cut(line, ": ")
		request.Header.Set(name, value)
	}
	t.Take(&Request{Request: request, Number: t.requests, Body: []byte(body), Response: w})
	return w
}

func (t *talk) say(text string, number uint64) {
	t.Write(Frame{Line: []byte(text), Stream: number}, func() {})
}

const (
	helloText = `{"jsonrpc":"2.0","id":0,"method":"initialize"}`
	helloed   = `{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25"}}`
	callText  = `{"jsonrpc":"2.0","id":1,"method":"tools/call"}`
	answered  = `{"jsonrpc":"2.0","id":1,"result":{}}`
	progress  = `{"jsonrpc":"2.0","method":"notifications/progress"}`
	inSession = "Mcp-Session-Id: explored-1"
)

func begin(options Options) *talk {
	t := &talk{Server: New(standin.ResponsesOf([]store.Event{{Seq: 1, Kind: store.Frame, Dir: transport.ClientToServer, Payload: []byte(helloText)}}), options)}
	t.ask(http.MethodPost, helloText)
	t.say(helloed, 1)
	return t
}

// TestForms holds that an answer alone is the body of its response, that one behind something else is an event, and what
// other messages get.
func TestForms(t *testing.T) {
	s := begin(Options{})
	alone, streamed := s.ask(http.MethodPost, callText, inSession), s.ask(http.MethodPost, callText, inSession)
	s.say(answered, 2)
	s.say(progress, 3)
	s.say(answered, 3)
	for _, c := range []struct {
		is   *written
		want string
	}{
		{alone, "200 application/json " + answered},
		{streamed, "stream:event: message|data: " + progress + "||event: message|data: " + answered + "||end"},
		{s.ask(http.MethodPost, `{"jsonrpc":"2.0","method":"notifications/initialized"}`, inSession), "202  "},
		{s.ask(http.MethodPost, callText), "400 application/json "},
		{s.ask(http.MethodPost, callText, "Mcp-Session-Id: other"), "404 application/json "},
		{s.ask(http.MethodGet, ""), "405  "},
		{s.ask(http.MethodGet, "", inSession), "stream:"},
		{s.ask(http.MethodGet, "", inSession), "409  "},
		{s.at("/.well-known/oauth-protected-resource", http.MethodGet, "", inSession), "404  "},
		{s.ask(http.MethodDelete, "", inSession), "200  "},
		{s.ask(http.MethodPost, callText, inSession), "404 application/json "},
	} {
		if !strings.HasPrefix(c.is.String(), c.want) {
			t.Errorf("%q, want %q", c.is, c.want)
		}
	}
}

// TestComeBack holds that a client gets the rest of a stream by the id of its last event, as often as the stream ends.
func TestComeBack(t *testing.T) {
	s := begin(Options{IDs: true})
	first := s.ask(http.MethodPost, callText, inSession)
	s.Cut(frame(answered, 2))
	if want := "stream:id: 2_0|retry: 10|data: ||end"; first.String() != want {
		t.Fatalf("%q, want %q", first, want)
	}
	if s.MayGo(frame(answered, 2)) {
		t.Error("the answer can go, and nobody is there")
	}
	again := s.ask(http.MethodGet, "", inSession, "Last-Event-ID: 2_0")
	s.Cut(frame(answered, 2))
	last := s.ask(http.MethodGet, "", inSession, "Last-Event-ID: 2_0")
	s.say(answered, 2)
	late := s.ask(http.MethodGet, "", inSession, "Last-Event-ID: 2_0")
	want := "stream:event: message|id: 2_1|data: " + answered + "||end"
	if again.String() != "stream:end" || last.String() != want || late.String() != want || s.Returns != 3 {
		t.Errorf("%q, %q, %q, came back %d times", again, last, late, s.Returns)
	}
}

// TestEnds holds how a response ends in place of its answer.
func TestEnds(t *testing.T) {
	s := begin(Options{NoIDs: true})
	dropped, broken := s.ask(http.MethodPost, callText, inSession), s.ask(http.MethodPost, callText, inSession)
	s.Drop(frame(answered, 2), false)
	s.Drop(frame(answered, 3), true)
	gone := s.ask(http.MethodPost, callText, inSession)
	stream := s.ask(http.MethodGet, "", inSession)
	s.Forget(frame(answered, 4))
	after := s.ask(http.MethodPost, callText, inSession)
	if dropped.String() != "stream:end" || broken.String() != "stream:broken" || stream.String() != "stream:end" {
		t.Errorf("%q, %q, %q", dropped, broken, stream)
	}
	if !strings.HasPrefix(gone.String(), "404 ") || !strings.HasPrefix(after.String(), "404 ") {
		t.Errorf("%q, %q", gone, after)
	}
	if again := s.ask(http.MethodPost, helloText); again.String() != "" || !s.MayGo(frame(helloed, s.requests)) {
		t.Errorf("a new session: %q", again)
	}
}
