package streamable

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/mcprec/mcprec/transport"
)

// web answers a client's requests by a function, and writes them down.
type web struct {
	answer func(r *http.Request, body string) (*http.Response, error)
	begun  time.Time

	mu    sync.Mutex
	asked []string
}

// RoundTrip implements http.RoundTripper.
func (w *web) RoundTrip(r *http.Request) (*http.Response, error) {
	var body []byte
	if r.Body != nil {
		body, _ = io.ReadAll(r.Body)
	}
	line := r.Method + " " + r.URL.Path
	for _, name := range []string{"Accept", "Content-Type", "Authorization", "Last-Event-Id", "Mcp-Session-Id", "Mcp-Protocol-Version", "Mcp-Method", "Mcp-Name", "X-Any"} {
		if values := r.Header[name]; values != nil {
			line += fmt.Sprintf(" %s=%s", strings.TrimPrefix(name, "Mcp-"), strings.Join(values, "+"))
		}
	}
	if at := time.Since(w.begun); at > 0 {
		line = fmt.Sprintf("%v %s", at, line)
	}
	w.mu.Lock()
	w.asked = append(w.asked, strings.NewReplacer(" Accept=application/json, text/event-stream Content-Type=application/json", "").Replace(line))
	w.mu.Unlock()
	resp, err := w.answer(r, string(body))
	if resp != nil {
		resp.Request = r
	}
	return resp, err
}

// reply is a response with a body of a media type.
func reply(status int, media, body string) *http.Response {
	resp := &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body))}
	if media != "" {
		resp.Header.Set("Content-Type", media)
	}
	return resp
}

// usual answers as a server with sessions does.
func usual(r *http.Request, body string) (*http.Response, error) {
	messages, _ := transport.Frame{Bytes: []byte(body)}.Messages()
	switch {
	case r.Method != http.MethodPost:
		return reply(http.StatusMethodNotAllowed, "", ""), nil
	case messages[0].Kind() != transport.Request:
		return reply(http.StatusAccepted, "", ""), nil
	}
	resp := reply(http.StatusOK, "application/json", fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25"}}`, messages[0].ID))
	resp.Header.Set("Mcp-Session-Id", "of"+string(messages[0].ID))
	return resp, nil
}

// TestRequests: what a client asks in a session, line by line.
func TestRequests(t *testing.T) {
	const call = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`
	const note = `{"jsonrpc":"2.0","method":"x"}`
	const ofSession = " Session-Id=of0 Protocol-Version=2025-11-25"
	manner := func(m Manner) func(uint64) *Manner {
		return func(stream uint64) *Manner {
			if stream == 3 {
				return &m
			}
			return nil
		}
	}
	for _, c := range []struct {
		name   string
		client Client
		say    []string
		want   []string
	}{
		{"a session", Client{}, []string{request(0, "initialize"), initialized, request(7, "ping")}, []string{
			"POST /mcp", "POST /mcp" + ofSession, "POST /mcp" + ofSession, "DELETE /mcp" + ofSession}},
		{"with credentials", Client{Header: http.Header{"Authorization": {"Bearer x"}}}, []string{request(0, "initialize")}, []string{
			"POST /mcp Authorization=Bearer x", "DELETE /mcp Authorization=Bearer x" + ofSession}},
		{"of the newest revision", Client{}, []string{call}, []string{"POST /mcp Protocol-Version=2026-07-28 Method=tools/call Name=echo"}},
		{"listens when initialized", Client{Listen: ListenInitialized}, []string{request(0, "initialize"), initialized, note}, []string{
			"POST /mcp", "POST /mcp" + ofSession, "GET /mcp Accept=text/event-stream" + ofSession, "POST /mcp" + ofSession, "DELETE /mcp" + ofSession}},
		{"listens when answered", Client{Listen: ListenAnswered}, []string{request(0, "initialize"), initialized, request(7, "ping")}, []string{
			"POST /mcp", "GET /mcp Accept=text/event-stream" + ofSession, "POST /mcp" + ofSession, "POST /mcp" + ofSession, "DELETE /mcp" + ofSession}},
		{"of several clients", Client{Session: func(stream uint64) string { return fmt.Sprint(stream % 2) }}, []string{request(0, "initialize"), request(8, "initialize"), request(7, "ping"), request(9, "ping")}, []string{
			"POST /mcp", "POST /mcp", "POST /mcp" + ofSession, "POST /mcp Session-Id=of8 Protocol-Version=2025-11-25", "DELETE /mcp" + ofSession, "DELETE /mcp Session-Id=of8 Protocol-Version=2025-11-25"}},
		{"in another manner", Client{Manner: manner(Manner{Routing: http.Header{"Mcp-Method": {"other"}}, Header: http.Header{"X-Any": {"a", "b"}, "Accept": nil}, Path: "/other"})},
			[]string{request(0, "initialize"), initialized, call}, []string{
				"POST /mcp", "POST /mcp" + ofSession, "POST /other Content-Type=application/json Session-Id=of0 Method=other X-Any=a+b", "DELETE /mcp" + ofSession}},
		{"of no session", Client{Manner: manner(Manner{Session: SessionNone})}, []string{request(0, "initialize"), initialized, request(7, "ping")}, []string{
			"POST /mcp", "POST /mcp" + ofSession, "POST /mcp", "DELETE /mcp" + ofSession}},
		{"of an unknown session", Client{Manner: manner(Manner{Session: SessionUnknown, ID: "who"})}, []string{request(0, "initialize"), initialized, request(7, "ping")}, []string{
			"POST /mcp", "POST /mcp" + ofSession, "POST /mcp Session-Id=who", "DELETE /mcp" + ofSession}},
		{"of a session that has ended, and is deleted once", Client{Manner: manner(Manner{Session: SessionEnded})}, []string{request(0, "initialize"), initialized, request(7, "ping"), request(8, "ping")}, []string{
			"POST /mcp", "POST /mcp" + ofSession, "DELETE /mcp" + ofSession, "POST /mcp Session-Id=of0", "POST /mcp" + ofSession}},
		{"an initialize within a batch", Client{}, []string{"[" + request(0, "initialize") + "," + initialized + "]", request(7, "ping")}, []string{
			"POST /mcp", "POST /mcp" + ofSession, "DELETE /mcp" + ofSession}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := &web{answer: usual}
				conn := dialWeb(t, c.client, w)
				for _, text := range c.say {
					say(t, conn, 0, text)
					synctest.Wait()
				}
				posts := len(w.asked)
				conn.Close()
				slices.Sort(w.asked[posts:]) // sessions are deleted in any order
				if !slices.Equal(w.asked, c.want) {
					t.Errorf("asked\n%s\nwant\n%s", strings.Join(w.asked, "\n"), strings.Join(c.want, "\n"))
				}
			})
		})
	}
}

// TestFailures: how a request that fails is told: an error that names the cause, a message, or nothing
// where the caller knows.
func TestFailures(t *testing.T) {
	broken := func(cause error) func(*http.Request, string) (*http.Response, error) {
		return func(*http.Request, string) (*http.Response, error) { return nil, fmt.Errorf("send: %w", cause) }
	}
	late := func(r *http.Request, _ string) (*http.Response, error) {
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	torn := func(r *http.Request, _ string) (*http.Response, error) {
		resp := reply(http.StatusOK, "application/json", "")
		resp.Body = io.NopCloser(io.MultiReader(strings.NewReader(`{"half`), iotest.ErrReader(io.ErrUnexpectedEOF)))
		return resp, nil
	}
	gone := func(*http.Request, string) (*http.Response, error) { return reply(http.StatusGone, "", " gone\n"), nil }
	mayBreak := Client{Manner: func(uint64) *Manner { return &Manner{MayBreak: true} }}
	forgiving := func(yes bool) Client {
		return Client{Forgive: func(stream uint64, e *StatusError) bool { return yes && stream == 1 && e.Status == http.StatusGone }}
	}
	for _, c := range []struct {
		name   string
		client Client
		answer func(*http.Request, string) (*http.Response, error)
		hangUp bool
		want   string // of Read: an error, or nothing for an hour
	}{
		{"the connection is reset", Client{}, broken(syscall.ECONNRESET), false, "connection reset"},
		{"it may be", mayBreak, broken(syscall.ECONNRESET), false, ""},
		{"it may end", mayBreak, broken(io.EOF), false, ""},
		{"it may be gone", mayBreak, broken(syscall.EPIPE), false, ""},
		{"it may break, but cannot be made", mayBreak, broken(syscall.ECONNREFUSED), false, "connection refused"},
		{"the client hangs up", Client{}, late, true, ""},
		{"the body breaks off", Client{}, torn, false, "unexpected EOF"},
		{"a status", Client{}, gone, false, "410 Gone: gone"},
		{"a status that is forgiven", forgiving(true), gone, false, ""},
		{"a status that is not", forgiving(false), gone, false, "410 Gone: gone"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				conn := dialWeb(t, c.client, &web{answer: c.answer})
				go say(t, conn, 0, request(1, "a"))
				synctest.Wait()
				if c.hangUp {
					conn.HangUp(1)
				}
				patience, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				for range 2 { // it stays so, whatever comes later
					_, err := conn.Read(patience)
					conn.fail(errors.New("another"))
					if c.want == "" && !errors.Is(err, context.DeadlineExceeded) || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
						t.Errorf("got %v, want %q", err, c.want)
					}
				}
				conn.Close()
			})
		})
	}
}

// dialWeb returns a Conn of a client to a web.
func dialWeb(t *testing.T, client Client, w *web) *ClientConn {
	t.Helper()
	w.begun = time.Now()
	client.URL = "http://host/mcp"
	client.Client = &http.Client{Transport: w}
	conn, err := client.Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

// TestWriteWaits: a Write of a request is over when the request is written, or as its patience says;
// others wait for the response, which here begins after 3 seconds.
func TestWriteWaits(t *testing.T) {
	patient := func(d time.Duration) Client {
		return Client{Manner: func(uint64) *Manner { return &Manner{Patience: d} }}
	}
	for _, c := range []struct {
		name   string
		client Client
		text   string
		want   time.Duration
	}{
		{"a request", Client{}, request(1, "a"), time.Second},
		{"a patient one", patient(2 * time.Second), request(1, "a"), 2 * time.Second},
		{"a very patient one", patient(time.Hour), request(1, "a"), 3 * time.Second},
		{"initialize", patient(2 * time.Second), request(1, "initialize"), 3 * time.Second},
		{"a notification", patient(2 * time.Second), initialized, 3 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				conn := dialWeb(t, c.client, &web{answer: func(r *http.Request, body string) (*http.Response, error) {
					if r.Method == http.MethodPost {
						time.Sleep(time.Second)
						if trace := httptrace.ContextClientTrace(r.Context()); trace != nil {
							trace.WroteRequest(httptrace.WroteRequestInfo{})
						}
						time.Sleep(2 * time.Second)
					}
					return usual(r, body)
				}})
				begun := time.Now()
				say(t, conn, 0, c.text)
				if took := time.Since(begun); took != c.want {
					t.Errorf("took %v, want %v", took, c.want)
				}
				conn.Close()
			})
		})
	}
}

// TestCloseWaits: Close waits for the answer to a DELETE, which here comes after an hour, for as long as
// it is told.
func TestCloseWaits(t *testing.T) {
	for timeout, want := range map[time.Duration]time.Duration{0: 2 * time.Second, time.Minute: time.Minute, -1: time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			var told []any
			conn := dialWeb(t, Client{DeleteTimeout: timeout}, &web{answer: func(r *http.Request, body string) (*http.Response, error) {
				told = append(told, r.Context().Value(aKey{}))
				if r.Method == http.MethodDelete {
					select {
					case <-time.After(time.Hour):
					case <-r.Context().Done():
						return nil, r.Context().Err()
					}
				}
				return usual(r, body)
			}})
			ctx := context.WithValue(t.Context(), aKey{}, "of the Write")
			if err := conn.Write(ctx, transport.Frame{Bytes: []byte(request(0, "initialize"))}); err != nil {
				t.Error(err)
			}
			begun := time.Now()
			conn.Close()
			if took := time.Since(begun); took != want {
				t.Errorf("timeout %v: closed after %v, want %v", timeout, took, want)
			}
			if !slices.Equal(told, []any{"of the Write", nil}) {
				t.Errorf("the requests have the values %v", told)
			}
		})
	}
}

type aKey struct{}

// TestWriteEnds: a Write that nothing follows ends with its context or the Conn, and each has a
// number of its own.
func TestWriteEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &web{answer: func(r *http.Request, _ string) (*http.Response, error) {
			<-r.Context().Done()
			return nil, r.Context().Err()
		}}
		conn := dialWeb(t, Client{}, w)
		frame := transport.Frame{Bytes: []byte(request(1, "a"))}
		over, cancel := context.WithCancel(t.Context())
		cancel()
		if err := conn.Write(over, frame); !errors.Is(err, context.Canceled) || len(w.asked) > 0 {
			t.Errorf("a context that is over: %v, asked %v", err, w.asked)
		}
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := conn.Write(short, frame); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a context that ends: %v", err)
		}
		closed := make(chan error, 1)
		go func() { closed <- conn.Write(t.Context(), frame) }()
		synctest.Wait()
		conn.Close()
		if err := <-closed; !errors.Is(err, transport.ErrClosed) {
			t.Errorf("a Conn that ends: %v", err)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		conn := dialWeb(t, Client{}, &web{answer: usual})
		for i, c := range []struct{ stream, want uint64 }{{2, 2}, {0, 1}, {2, 3}, {0, 4}, {7, 7}, {7, 5}} {
			say(t, conn, c.stream, request(i, "a"))
			if got := hears(t, conn, result(i, "2025-11-25")); got != c.want {
				t.Errorf("frame %d of stream %d came on %d, want %d", i, c.stream, got, c.want)
			}
		}
		conn.Close()
	})
}

// TestComesBack: a client comes back to a stream that ends before its last answer, if it can name the
// last event, and as the server asks.
func TestComesBack(t *testing.T) {
	stream := func(body string) *http.Response { return reply(http.StatusOK, "text/event-stream", body) }
	event := func(id, text string) string { return "id: " + id + "\ndata: " + text + "\n\n" }
	answer := result(1, "x")
	const first, back = "POST /mcp", "GET /mcp Accept=text/event-stream"
	gone := slices.Repeat([]*http.Response{nil}, 20)
	var many []*http.Response
	wantMany := []string{first}
	for i := range 12 {
		many = append(many, stream(event(fmt.Sprint(i), progress)))
		wantMany = append(wantMany, fmt.Sprintf("%s Last-Event-Id=%d", back, i))
	}
	for _, c := range []struct {
		name    string
		replies []*http.Response // nil: the connection breaks; 405 behind all
		asked   []string
		read    []string
	}{
		{"answered", []*http.Response{stream(event("1", progress) + event("2", answer))}, []string{first}, []string{progress, answer}},
		{"no id", []*http.Response{stream("data: " + progress + "\n\n")}, []string{first}, []string{progress}},
		{"comes back", []*http.Response{stream(event("1", progress)), stream(event("2", answer))}, []string{first, back + " Last-Event-Id=1"}, []string{progress, answer}},
		{"an id without data", []*http.Response{stream("id: 1\ndata:\n\n"), stream(event("2", answer))}, []string{first, back + " Last-Event-Id=1"}, []string{answer}},
		{"when it is asked to", []*http.Response{stream("retry: 500\n" + event("1", progress)), stream(event("2", answer))}, []string{first, "500ms " + back + " Last-Event-Id=1"}, []string{progress, answer}},
		{"a retry that is no number", []*http.Response{stream("retry: x\n" + event("1", progress)), stream(event("2", answer))}, []string{first, back + " Last-Event-Id=1"}, []string{progress, answer}},
		{"the server writes there yet", []*http.Response{stream(event("1", progress)), reply(http.StatusConflict, "", ""), stream(event("2", answer))},
			[]string{first, back + " Last-Event-Id=1", "1s " + back + " Last-Event-Id=1"}, []string{progress, answer}},
		{"and is slow", []*http.Response{stream("retry: 3000\n" + event("1", progress)), reply(http.StatusConflict, "", ""), stream(event("2", answer))},
			[]string{first, "3s " + back + " Last-Event-Id=1", "6s " + back + " Last-Event-Id=1"}, []string{progress, answer}},
		{"the server has no stream", []*http.Response{stream(event("1", progress)), reply(http.StatusNotFound, "text/event-stream", event("2", answer))}, []string{first, back + " Last-Event-Id=1"}, []string{progress}},
		{"the server answers otherwise", []*http.Response{stream(event("1", progress)), reply(http.StatusOK, "application/json", answer)}, []string{first, back + " Last-Event-Id=1"}, []string{progress}},
		{"the connection breaks once", []*http.Response{stream(event("1", progress)), nil, stream(event("2", answer))}, []string{first, back + " Last-Event-Id=1", back + " Last-Event-Id=1"}, []string{progress, answer}},
		{"the server is gone", append([]*http.Response{stream(event("1", progress))}, gone...), append([]string{first}, slices.Repeat([]string{back + " Last-Event-Id=1"}, retries)...), []string{progress}},
		{"each time with an event", many, wantMany, slices.Repeat([]string{progress}, 12)},
		{"an event without an end", []*http.Response{stream(event("1", progress) + "data: " + answer), stream(event("2", answer))}, []string{first, back + " Last-Event-Id=1"}, []string{progress, answer}},
		{"an end that is a CR", []*http.Response{stream("data: " + answer + "\r\n\r")}, []string{first}, []string{answer}},
		{"another kind of event", []*http.Response{stream("event: ping\n" + event("1", answer)), stream("event: message\n" + event("2", answer))}, []string{first, back + " Last-Event-Id=1"}, []string{answer}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := &web{}
				w.answer = func(*http.Request, string) (*http.Response, error) {
					w.mu.Lock()
					n := len(w.asked) - 1
					w.mu.Unlock()
					switch {
					case n >= len(c.replies):
						return reply(http.StatusMethodNotAllowed, "", ""), nil
					case c.replies[n] == nil:
						return nil, io.EOF
					}
					return c.replies[n], nil
				}
				conn := dialWeb(t, Client{}, w)
				say(t, conn, 0, request(1, "a"))
				var read []string
				patience, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				for {
					f, err := conn.Read(patience)
					if err != nil {
						break
					}
					read = append(read, string(f.Bytes))
				}
				w.mu.Lock()
				asked := slices.Clone(w.asked)
				w.mu.Unlock()
				if !slices.Equal(asked, c.asked) || !slices.Equal(read, c.read) {
					t.Errorf("asked\n%s\nwant\n%s\nread %q, want %q", strings.Join(asked, "\n"), strings.Join(c.asked, "\n"), read, c.read)
				}
				conn.Close()
			})
		})
	}
}

// TestDrop: a stream is cut as soon as it can be taken up again, and so is the standalone stream; what
// waits to come back ends with the Conn.
func TestDrop(t *testing.T) {
	for _, standalone := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			var pipes []*io.PipeWriter
			w := &web{answer: func(r *http.Request, body string) (*http.Response, error) {
				if standalone && r.Method == http.MethodPost {
					return usual(r, body)
				}
				resp := reply(http.StatusOK, "text/event-stream", "")
				in, out := io.Pipe()
				resp.Body = in
				pipes = append(pipes, out)
				return resp, nil
			}}
			client := Client{}
			var stream uint64
			if standalone {
				client.Listen = ListenInitialized
			}
			conn := dialWeb(t, client, w)
			if standalone {
				say(t, conn, 0, initialized)
			} else {
				stream = 1
				say(t, conn, 0, request(1, "a"))
			}
			synctest.Wait()
			tell := func(i int, text string) (cut bool) {
				_, err := io.WriteString(pipes[i], text)
				synctest.Wait()
				return err != nil
			}
			conn.Drop(99)
			conn.Drop(stream)
			synctest.Wait()
			if tell(0, "data: "+progress+"\n\n") || len(pipes) != 1 {
				t.Fatal("a stream without ids is cut")
			}
			tell(0, "id: 3\ndata: "+progress+"\n\n")
			if len(pipes) != 2 || !tell(0, ":\n") {
				t.Fatalf("the stream is not cut, and %d are asked for", len(pipes))
			}
			tell(1, "retry: 60000\n\n")
			conn.Drop(stream)
			synctest.Wait()
			if !tell(1, ":\n") || len(pipes) != 2 {
				t.Fatal("the stream is not cut again")
			}
			if last := w.asked[len(w.asked)-1]; !strings.Contains(last, "Last-Event-Id=3") {
				t.Errorf("asked %s", last)
			}
			conn.Close() // a minute before it comes back
			if took := time.Since(w.begun); took > time.Second {
				t.Errorf("closed after %v", took)
			}
		})
	}
}

// TestAside: a request without a message has the session and the manner of its exchange.
func TestAside(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &web{answer: usual}
		client := Client{Manner: func(stream uint64) *Manner {
			if stream == 2 {
				return &Manner{Path: "/other", Session: SessionNone}
			}
			return nil
		}}
		conn := dialWeb(t, client, w)
		say(t, conn, 0, request(0, "initialize"))
		for stream := range uint64(3) {
			if status, err := conn.Aside(t.Context(), stream+1, http.MethodPut, nil); status != http.StatusMethodNotAllowed || err != nil {
				t.Errorf("status %d, %v", status, err)
			}
		}
		want := []string{"POST /mcp", "PUT /mcp Session-Id=of0 Protocol-Version=2025-11-25", "PUT /other", "PUT /mcp Session-Id=of0 Protocol-Version=2025-11-25"}
		if !slices.Equal(w.asked, want) {
			t.Errorf("asked %q, want %q", w.asked, want)
		}
		if _, err := conn.Aside(t.Context(), 1, "no method", nil); err == nil {
			t.Error("there is no such method")
		}
		w.answer = func(r *http.Request, _ string) (*http.Response, error) {
			<-r.Context().Done()
			return nil, r.Context().Err()
		}
		over := make(chan error, 1)
		go func() {
			_, err := conn.Aside(t.Context(), 1, http.MethodPut, nil)
			over <- err
		}()
		synctest.Wait()
		conn.Close()
		if err := <-over; !errors.Is(err, context.Canceled) {
			t.Errorf("behind Close: %v", err)
		}
	})
}
