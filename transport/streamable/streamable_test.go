package streamable

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/mcprec/mcprec/transport"
)

// site is a Server on loopback.
type site struct {
	*Server
	url string
}

func newSite(t *testing.T, o ServerOptions) site {
	s := NewServer(o)
	web := httptest.NewServer(s)
	t.Cleanup(func() {
		s.Close()
		web.Close()
	})
	return site{s, web.URL + "/mcp"}
}

// accept returns the next session's Conn.
func (s site) accept(t *testing.T) *ServerConn {
	t.Helper()
	c, err := s.Accept(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func dial(t *testing.T, client Client) *ClientConn {
	t.Helper()
	c, err := client.Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func say(t *testing.T, c transport.Conn, stream uint64, text string) {
	t.Helper()
	if err := c.Write(t.Context(), transport.Frame{Bytes: []byte(text), Stream: stream}); err != nil {
		t.Error(err)
	}
}

// hears reads one frame, which must be this one.
func hears(t *testing.T, c transport.Conn, want string) uint64 {
	t.Helper()
	f, err := c.Read(t.Context())
	if err != nil || string(f.Bytes) != want {
		t.Errorf("got %q, %v, want %q", f.Bytes, err, want)
	}
	return f.Stream
}

// streamsOf reads n frames, which come in any order, and returns their streams.
func streamsOf(t *testing.T, c transport.Conn, n int) map[string]uint64 {
	t.Helper()
	streams := map[string]uint64{}
	for range n {
		f, err := c.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		streams[string(f.Bytes)] = f.Stream
	}
	return streams
}

func request(id int, method string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q}`, id, method)
}

func result(id int, text string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{"protocolVersion":%q}}`, id, text)
}

const (
	initialized = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
	progress    = `{"jsonrpc":"2.0","method":"notifications/progress"}`
)

// begin brings a client's session to where it can be used, and returns its other end.
func (s site) begin(t *testing.T, c *ClientConn) *ServerConn {
	t.Helper()
	var serving sync.WaitGroup
	var conn *ServerConn
	serving.Go(func() {
		conn = s.accept(t)
		say(t, conn, hears(t, conn, request(0, "initialize")), result(0, "2025-11-25"))
	})
	say(t, c, 0, request(0, "initialize"))
	hears(t, c, result(0, "2025-11-25"))
	serving.Wait()
	serving.Go(func() {
		hears(t, conn, initialized)
		say(t, conn, 0, `{"jsonrpc":"2.0","method":"hello"}`)
		conn.mu.Lock()
		conn.lastRead.afterRead() // as the next Read does
		conn.lastRead = nil
		conn.mu.Unlock()
	})
	say(t, c, 0, initialized)
	serving.Wait()
	hears(t, c, `{"jsonrpc":"2.0","method":"hello"}`)
	return conn
}

// Three clients use one endpoint and the same ids at once, each in its own session.
func TestParallelSessions(t *testing.T) {
	s := newSite(t, ServerOptions{Standalone: true})
	var clients [3]*ClientConn
	var servers [3]*ServerConn
	for i := range clients {
		clients[i] = dial(t, Client{URL: s.url, Listen: ListenInitialized})
		servers[i] = s.begin(t, clients[i])
	}
	if servers[0].id == servers[1].id || servers[1].id == servers[2].id {
		t.Error("two sessions have one id")
	}
	for i, c := range clients {
		say(t, c, 0, request(1, "tools/call"))
		say(t, c, 0, request(2, fmt.Sprint("of ", i)))
	}
	for i, c := range servers { // the first is answered after the second
		came := streamsOf(t, c, 2)
		first, second := came[request(1, "tools/call")], came[request(2, fmt.Sprint("of ", i))]
		say(t, c, first, progress)
		c.Answer(second, Answer{Form: JSONForm})
		say(t, c, second, `{"jsonrpc":"2.0","method":"early"}`) // no room in JSON
		say(t, c, second, result(2, fmt.Sprint(i)))
		say(t, c, 0, `{"jsonrpc":"2.0","method":"aside"}`)
		say(t, c, first, result(1, fmt.Sprint(i)))
		say(t, c, first, `{"jsonrpc":"2.0","method":"late"}`)
	}
	for i, c := range clients {
		streams := streamsOf(t, c, 6) // what its response has no room for comes on the standalone stream
		first, second := streams[result(1, fmt.Sprint(i))], streams[result(2, fmt.Sprint(i))]
		if streams[progress] != first || first == 0 || second == 0 || first == second {
			t.Errorf("client %d: the streams are %v", i, streams)
		}
		c.Close()
		if _, err := servers[i].Read(t.Context()); err != io.EOF {
			t.Errorf("after DELETE: %v", err)
		}
	}
}

// Without session ids two clients are one session, and only the exchange tells whose
// an answer is.
func TestStateless(t *testing.T) {
	s := newSite(t, ServerOptions{Stateless: true})
	one, two := dial(t, Client{URL: s.url}), dial(t, Client{URL: s.url})
	say(t, one, 5, request(1, "one"))
	c := s.accept(t)
	ofOne := hears(t, c, request(1, "one"))
	say(t, two, 5, request(1, "two"))
	ofTwo := hears(t, c, request(1, "two"))
	say(t, c, ofTwo, result(1, "two"))
	say(t, c, ofOne, result(1, "one"))
	if n := hears(t, one, result(1, "one")); n != 5 {
		t.Errorf("on stream %d", n)
	}
	hears(t, two, result(1, "two"))
}

// A stream that is cut is resumed, and nothing comes twice or not at all.
func TestResume(t *testing.T) {
	for _, broken := range []bool{false, true} {
		s := newSite(t, ServerOptions{})
		client := dial(t, Client{URL: s.url, Listen: ListenInitialized})
		c := s.begin(t, client)
		say(t, client, 0, request(1, "tools/call"))
		n := hears(t, c, request(1, "tools/call"))
		c.Answer(n, Answer{Form: StreamForm, IDs: true, Primed: true, Retry: "0", Cut: true, CutAfter: 1, Broken: broken})
		for i := range 3 {
			say(t, c, n, fmt.Sprintf(`{"jsonrpc":"2.0","method":"part","params":{"n":%d}}`, i))
		}
		say(t, c, n, result(1, ""))
		for i := range 3 {
			if stream := hears(t, client, fmt.Sprintf(`{"jsonrpc":"2.0","method":"part","params":{"n":%d}}`, i)); stream != n {
				t.Errorf("part %d came on stream %d, want %d", i, stream, n)
			}
		}
		hears(t, client, result(1, ""))
	}
}

// Last-Event-ID gives what was missed of that stream, and of no other.
func TestLastEventID(t *testing.T) {
	s := newSite(t, ServerOptions{})
	client := dial(t, Client{URL: s.url, Listen: ListenInitialized})
	c := s.begin(t, client)
	say(t, client, 0, request(1, "a"))
	n := hears(t, c, request(1, "a"))
	say(t, c, n, progress)
	say(t, c, n, result(1, "a"))
	say(t, c, 0, `{"jsonrpc":"2.0","method":"aside"}`)
	get := func(id string) (int, string) {
		r, err := http.NewRequest(http.MethodGet, s.url, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Mcp-Session-Id", c.id)
		r.Header.Set("Last-Event-ID", id)
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		b, _ := io.ReadAll(resp.Body)
		return resp.StatusCode, string(b)
	}
	want := fmt.Sprintf("event: message\nid: %d_1\ndata: %s\n\n", n, result(1, "a"))
	if status, body := get(fmt.Sprintf("%d_0", n)); status != http.StatusOK || body != want {
		t.Errorf("got %d %q, want %q", status, body, want)
	}
	for _, id := range []string{"x", "99_0", fmt.Sprintf("%d_9", n)} {
		if status, _ := get(id); status != http.StatusBadRequest {
			t.Errorf("id %s: status %d", id, status)
		}
	}
}

// A message goes out once: the standalone stream is there once, but for who comes back
// to it.
func TestStandaloneOnce(t *testing.T) {
	s := newSite(t, ServerOptions{})
	client := dial(t, Client{URL: s.url, Listen: ListenInitialized})
	c := s.begin(t, client)
	const aside = `{"jsonrpc":"2.0","method":"aside"}`
	say(t, c, 0, aside)
	hears(t, client, aside) // the stream is there
	for _, id := range []string{"", "0_0"} {
		want := http.StatusOK
		if id == "" {
			want = http.StatusConflict
		}
		r, err := http.NewRequest(http.MethodGet, s.url, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Mcp-Session-Id", c.id)
		if id != "" {
			r.Header.Set("Last-Event-ID", id)
		}
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("after event %q: %d, want %d", id, resp.StatusCode, want)
		}
	}
}

// What nobody asks for is counted.
func TestUnsent(t *testing.T) {
	s := newSite(t, ServerOptions{Stateless: true})
	client := dial(t, Client{URL: s.url})
	say(t, client, 0, request(1, "a"))
	c := s.accept(t)
	n := hears(t, c, request(1, "a"))
	say(t, c, n, result(1, ""))
	say(t, c, n, progress)
	hears(t, client, result(1, ""))
	if got := c.Unsent(); got != 1 {
		t.Errorf("%d unsent", got)
	}
}

// In HTTP+SSE all that the server says comes on the one stream, and its end is the
// session's.
func TestLegacy(t *testing.T) {
	s := newSite(t, ServerOptions{Legacy: true})
	client := dial(t, Client{URL: s.url, Legacy: true})
	c := s.accept(t)
	var serving sync.WaitGroup
	serving.Go(func() {
		n := hears(t, c, request(0, "initialize"))
		say(t, c, n, result(0, "2024-11-05"))
		hears(t, c, initialized)
		if _, err := c.Read(t.Context()); err != io.EOF {
			t.Errorf("the client hung up: %v", err)
		}
	})
	say(t, client, 0, request(0, "initialize"))
	if n := hears(t, client, result(0, "2024-11-05")); n != 0 {
		t.Errorf("on stream %d", n)
	}
	say(t, client, 0, initialized)
	client.Close()
	serving.Wait()
}

// A client that hangs up on one exchange keeps the others.
func TestHangUp(t *testing.T) {
	s := newSite(t, ServerOptions{Stateless: true})
	client := dial(t, Client{URL: s.url})
	say(t, client, 1, request(1, "listen"))
	c := s.accept(t)
	n := hears(t, c, request(1, "listen"))
	c.Answer(n, Answer{Form: StreamForm})
	say(t, c, n, progress)
	hears(t, client, progress)
	client.HangUp(1)
	say(t, client, 2, request(2, "ping"))
	say(t, c, hears(t, c, request(2, "ping")), result(2, ""))
	hears(t, client, result(2, ""))
	say(t, c, n, progress) // to nobody
}

// Close wakes who reads and who writes, at both ends.
func TestHTTPClose(t *testing.T) {
	s := newSite(t, ServerOptions{Stateless: true})
	client := dial(t, Client{URL: s.url})
	say(t, client, 0, request(1, "a"))
	c := s.accept(t)
	hears(t, c, request(1, "a"))
	for _, conn := range []transport.Conn{c, client} {
		woken := make(chan error)
		go func() {
			_, err := conn.Read(context.Background())
			woken <- err
		}()
		conn.Close()
		conn.Close()
		if err := <-woken; !errors.Is(err, transport.ErrClosed) {
			t.Errorf("Read: %v", err)
		}
		if err := conn.Write(t.Context(), transport.Frame{Bytes: []byte(`{}`)}); !errors.Is(err, transport.ErrClosed) {
			t.Errorf("Write: %v", err)
		}
	}
	if err := client.Write(t.Context(), transport.Frame{Bytes: []byte("{\n}")}); err != transport.ErrNewline {
		t.Errorf("a newline: %v", err)
	}
}

// Events leave one by one, not when the response is over.
func TestEventsLeaveAtOnce(t *testing.T) {
	s := newSite(t, ServerOptions{Stateless: true})
	r, err := http.NewRequest(http.MethodPost, s.url, strings.NewReader(request(1, "a")))
	if err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	told := make(chan struct{})
	serving.Go(func() {
		c := s.accept(t)
		n := hears(t, c, request(1, "a"))
		say(t, c, n, progress)
		<-told
		say(t, c, n, result(1, ""))
	})
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body := bufio.NewReader(resp.Body)
	for _, want := range []string{"event: message\n", "data: " + progress + "\n", "\n"} {
		if line, err := body.ReadString('\n'); line != want || err != nil {
			t.Errorf("got %q, %v", line, err)
		}
	}
	close(told)
	rest, err := io.ReadAll(body)
	if want := "event: message\ndata: " + result(1, "") + "\n\n"; string(rest) != want || err != nil {
		t.Errorf("got %q, %v", rest, err)
	}
	serving.Wait()
}

// A POST that ends before its Content-Length is refused, and is no message of the
// session.
func TestCutPost(t *testing.T) {
	site := newSite(t, ServerOptions{})
	conn, err := net.Dial("tcp", strings.TrimSuffix(strings.TrimPrefix(site.url, "http://"), "/mcp"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "POST /mcp HTTP/1.1\r\nHost: %s\r\nContent-Length: 100\r\n\r\n%s", conn.RemoteAddr(), request(1, "ping"))
	if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if said, _ := io.ReadAll(resp.Body); resp.StatusCode != http.StatusBadRequest || !strings.Contains(string(said), "cut short") {
		t.Errorf("%s: %q", resp.Status, said)
	}
}
