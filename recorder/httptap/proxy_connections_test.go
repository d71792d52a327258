package httptap

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// onceServer answers the first request of each connection and closes the connection when
// it gets a second one, as a server does whose close crosses that request on its way.
type onceServer struct {
	net.Listener
	came    int // connections; may be read when all have ended
	serving sync.WaitGroup
}

func (s *onceServer) serve() {
	for {
		conn, err := s.Accept()
		if err != nil {
			return
		}
		s.came++
		s.serving.Go(func() {
			defer conn.Close()
			from := bufio.NewReader(conn)
			r, err := http.ReadRequest(from)
			if err != nil {
				return
			}
			_, _ = io.Copy(io.Discard, r.Body)
			fmt.Fprint(conn, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}")
			_, _ = from.ReadByte() // of the next request, or the end
		})
	}
}

// A client that asks each time over a connection of its own is not cut off by what the
// server does to a connection that another client has used, and the connection to the
// server ends with the client's.
func TestProxyOwnConnections(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &onceServer{Listener: listener}
	server.serving.Go(server.serve)
	tt := tapServer(t, nil, Options{})
	tt.proxy.Config.Handler = tt.tap.Proxy(ProxyOptions{Target: parsed(t, "http://"+listener.Addr().String()+"/mcp")})
	client := &http.Transport{DisableKeepAlives: true}
	const requests = 200
	for range requests {
		req, _ := http.NewRequest("POST", tt.url, strings.NewReader(`{"id":1}`))
		req.Header.Set("Content-Type", "application/json")
		resp, err := client.RoundTrip(req)
		if err != nil {
			t.Error(err)
			continue
		}
		if b, err := io.ReadAll(resp.Body); string(b) != "{}" || err != nil {
			t.Errorf("read %q, %v", b, err)
		}
		resp.Body.Close()
	}
	listener.Close()
	server.serving.Wait() // until the proxy has closed its connections, while it serves
	if server.came != requests {
		t.Errorf("%d connections to the server for %d of clients", server.came, requests)
	}
}

// A client that keeps its connection has one to the server, and a stream beside it, which
// HTTP/2 has on the same connection, does not hold it up. The connections to the server
// end with the client's.
func TestProxyKeptConnection(t *testing.T) {
	for _, proto := range []string{"HTTP/1.1", "HTTP/2.0"} {
		t.Run(proto, func(t *testing.T) {
			var mu sync.Mutex
			used := map[string]int{} // how many calls came over a connection
			var open int             // connections
			allClosed := make(chan struct{})
			server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodGet {
					sse(w, "data: {}\n\n")
					<-r.Context().Done()
					return
				}
				_, _ = io.Copy(w, r.Body)
				mu.Lock()
				defer mu.Unlock()
				used[r.RemoteAddr]++
			}))
			server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
				mu.Lock()
				defer mu.Unlock()
				switch state {
				case http.StateNew:
					open++
				case http.StateClosed:
					if open--; open == 0 { // the stream's is open all the time
						close(allClosed)
					}
				}
			}
			server.Start()
			defer server.Close()
			tt := tapServer(t, nil, Options{})
			tt.proxy.Config.Handler = tt.tap.Proxy(ProxyOptions{Target: parsed(t, server.URL+"/mcp")})
			client := &http.Transport{Protocols: new(http.Protocols)}
			client.Protocols.SetHTTP1(proto == "HTTP/1.1")
			client.Protocols.SetUnencryptedHTTP2(proto == "HTTP/2.0")
			req, _ := http.NewRequest("GET", tt.url, nil)
			req.Header.Set("Accept", "text/event-stream")
			stream, err := client.RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			defer stream.Body.Close()
			if stream.Proto != proto {
				t.Errorf("the proxy speaks %s", stream.Proto)
			}
			for range 20 {
				req, _ := http.NewRequest("POST", tt.url, strings.NewReader(`{"id":1}`))
				req.Header.Set("Content-Type", "application/json")
				resp, err := client.RoundTrip(req)
				if err != nil {
					t.Fatal(err)
				}
				if b, err := io.ReadAll(resp.Body); string(b) != `{"id":1}` || err != nil {
					t.Errorf("read %q, %v", b, err)
				}
				resp.Body.Close()
			}
			tt.proxy.CloseClientConnections()
			<-allClosed // while the proxy serves
			if len(used) != 1 {
				t.Errorf("the calls came over these connections: %v", used)
			}
		})
	}
}

// A further connection of a client to a TLS target is as cheap as it can be: it resumes
// the session of an earlier one, though it shares no connection with it.
func TestProxyOwnConnectionsTLS(t *testing.T) {
	for _, http2 := range []bool{false, true} {
		var resumed []string
		server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			resumed = append(resumed, fmt.Sprint(r.ProtoMajor, r.TLS.DidResume))
		}))
		server.EnableHTTP2 = http2
		server.StartTLS()
		defer server.Close()
		transport := newPerConnection()
		transport.TLSClientConfig.RootCAs = server.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
		tt := tapServer(t, nil, Options{})
		tt.proxy.Config.Handler = tt.tap.Proxy(ProxyOptions{Target: parsed(t, server.URL+"/mcp"), Transport: transport})
		for range 3 {
			post(t, &http.Transport{}, tt.proxy.URL)
		}
		want := "[1 false 1 true 1 true]"
		if http2 {
			want = "[2 false 2 true 2 true]"
		}
		if got := fmt.Sprint(resumed); got != want {
			t.Errorf("versions, and whether they resumed: %s, want %s", got, want)
		}
	}
}
