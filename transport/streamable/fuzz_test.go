package streamable

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcprec/mcprec/transport"
)

// FuzzEventID: an id that is understood is the one that was given.
func FuzzEventID(f *testing.F) {
	f.Add("3_4")
	f.Add("18446744073709551615_0")
	f.Add(" +3_-1")
	f.Fuzz(func(t *testing.T, id string) {
		if _, event, ok := parseEventID(id); ok && event < 0 {
			t.Errorf("%q: event %d", id, event)
		}
	})
}

// served answers each request of a client with one response, and none to a second.
type served struct {
	status int
	kind   string
	body   []byte
	asked  int
}

func (s *served) RoundTrip(r *http.Request) (*http.Response, error) {
	resp := &http.Response{StatusCode: http.StatusMethodNotAllowed, Header: http.Header{}, Request: r, Body: http.NoBody}
	if s.asked++; s.asked == 1 {
		resp.StatusCode = s.status
		resp.Header.Set("Content-Type", s.kind)
		resp.Body = io.NopCloser(bytes.NewReader(s.body))
	}
	return resp, nil
}

// FuzzResponse: whatever a server answers, the client reads the messages that are in
// it, or an error, and closes.
func FuzzResponse(f *testing.F) {
	f.Add(uint16(100), true, []byte("event: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n\n"))
	f.Add(uint16(100), true, []byte("\ufeffid: 1\nretry: 99999999\ndata: {}\n\ndata: 2\r\ndata: 3\r\n\r\n"))
	f.Add(uint16(100), true, []byte("\ufeffevent: ping\ndata: x\n\n"))
	f.Add(uint16(100), true, []byte("event: ping\ndata: x\n\n: y\n\n"))
	f.Add(uint16(100), false, []byte(`{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":7}}`))
	f.Add(uint16(304), false, []byte("no"))
	f.Fuzz(func(t *testing.T, status uint16, stream bool, body []byte) {
		s := &served{status: 100 + int(status)%500, kind: "application/json", body: body}
		if stream {
			s.kind = "text/event-stream"
		}
		synctest.Test(t, func(t *testing.T) {
			got, err := answered(t, s)
			if s.status == http.StatusOK && stream {
				if want := messagesOf(string(body)); strings.Join(got, "\x00") != strings.Join(want, "\x00") {
					t.Errorf("%q: read %q, want %q", body, got, want)
				}
				return
			}
			if len(got) > 1 || len(got) == 1 && got[0] != string(body) {
				t.Errorf("read %q of %q", got, body)
			}
			if err == nil && len(got) == 0 && s.status >= 300 {
				t.Errorf("status %d is no error", s.status)
			}
		})
	})
}

// answered asks a server once, and returns what is read until nothing comes for an hour.
func answered(t *testing.T, s *served) (got []string, err error) {
	t.Helper()
	c, err := Client{URL: "http://host/mcp", Client: &http.Client{Transport: s}}.Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Write(t.Context(), transport.Frame{Bytes: []byte(`{"jsonrpc":"2.0","id":1,"method":"initialize"}`)}); err != nil {
		t.Fatal(err)
	}
	patience, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	for err == nil {
		var frame transport.Frame
		if frame, err = c.Read(patience); err == nil {
			got = append(got, string(frame.Bytes))
		}
	}
	if patience.Err() != nil {
		err = nil
	}
	if bad := c.Close(); bad != nil {
		t.Error(bad)
	}
	return got, err
}

// messagesOf reads a stream by the letter of the specification.
func messagesOf(stream string) (list []string) {
	stream = strings.TrimPrefix(stream, "\ufeff")
	stream = strings.ReplaceAll(strings.ReplaceAll(stream, "\r\n", "\n"), "\r", "\n")
	var data []string
	kind := ""
	lines := strings.Split(stream, "\n")
	for _, line := range lines[:len(lines)-1] { // what has no line end is not one
		if line == "" {
			if text := strings.Join(data, "\n"); text != "" && (kind == "" || kind == "message") {
				list = append(list, text)
			}
			data, kind = nil, ""
			continue
		}
		name, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch name {
		case "data":
			data = append(data, value)
		case "event":
			kind = value
		}
	}
	return list
}

// FuzzRequest: whatever a client asks over HTTP, the server answers, and hands on no
// other bytes than those of the body.
func FuzzRequest(f *testing.F) {
	f.Add("POST", "/mcp", "", "", "2025-11-25", []byte(`{"jsonrpc":"2.0","id":1,"method":"initialize"}`), false)
	f.Add("POST", "/mcp", "", "", "2026-07-28", []byte(`{"jsonrpc":"2.0","id":"a","method":"tools/call"}`), true)
	f.Add("GET", "/sse", "x", "1_2", "", []byte(nil), false)
	f.Add("DELETE", "/mcp?sessionId=a", "x", "", "", []byte("x"), false)
	f.Add("POST", "/", "", "", "", []byte(`[{"id":1,"method":"a"},{"method":"b"}]`), true)
	f.Fuzz(func(t *testing.T, method, path, session, last, version string, body []byte, stateless bool) {
		target, err := url.ParseRequestURI(path)
		if err != nil || method == "" {
			return
		}
		r := &http.Request{Method: method, URL: target, Host: "127.0.0.1:7000", Header: http.Header{}, ContentLength: int64(len(body)), Body: io.NopCloser(bytes.NewReader(body))}
		for name, value := range map[string]string{"Mcp-Session-Id": session, "Last-Event-Id": last, "Mcp-Protocol-Version": version} {
			if value != "" {
				r.Header.Set(name, value)
			}
		}
		synctest.Test(t, func(t *testing.T) { checkAnswered(t, r, body, stateless) })
	})
}

// checkAnswered has a server answer a request, and each message of it with a result.
func checkAnswered(t *testing.T, r *http.Request, body []byte, stateless bool) {
	s := NewServer(ServerOptions{Stateless: stateless})
	ctx, cancel := context.WithCancel(t.Context())
	w := httptest.NewRecorder()
	go s.ServeHTTP(w, r.WithContext(ctx))
	var heard [][]byte
	go func() {
		for {
			c, err := s.Accept(ctx)
			if err != nil {
				return
			}
			for {
				frame, err := c.Read(ctx)
				if err != nil {
					break
				}
				heard = append(heard, frame.Bytes)
				messages, _ := frame.Messages()
				for _, m := range messages {
					if m.Kind() == transport.Request {
						_ = c.Write(ctx, transport.Frame{Stream: frame.Stream, Bytes: []byte(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"result":{}}`)})
					}
				}
			}
		}
	}()
	synctest.Wait()
	cancel()
	s.Close()
	synctest.Wait()
	if len(heard) > 1 || len(heard) == 1 && !bytes.Equal(heard[0], body) {
		t.Errorf("heard %q of %q", heard, body)
	}
	if w.Code < 200 || w.Code > 599 {
		t.Errorf("status %d", w.Code)
	}
}
