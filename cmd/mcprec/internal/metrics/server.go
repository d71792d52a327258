package metrics

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"time"
)

// Address is where a Server listens.
type Address struct {
	host string
	port uint16
}

// ParseAddress reads an address such as 127.0.0.1:9464, [::1]:9464, localhost:9464 or :9464, whose
// host is 127.0.0.1. It refuses hosts that other machines reach.
func ParseAddress(text string) (Address, error) {
	host, port, err := net.SplitHostPort(text)
	if err != nil {
		return Address{}, fmt.Errorf("%q: want an address such as 127.0.0.1:9464, or 127.0.0.1:0 for any free port", text)
	}
	number, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return Address{}, fmt.Errorf("%q: %q is no port; want a number up to 65535, or 0 for any free port", text, port)
	}
	switch host {
	case "", "localhost":
		host = "127.0.0.1"
	}
	if !isLoopback(host) {
		return Address{}, fmt.Errorf("%q: %s is not an address of this machine alone; the numbers tell who works when, and everybody could read them; "+
			"want 127.0.0.1:%s, and an agent or a tunnel of this machine for a Prometheus elsewhere", text, host, port)
	}
	return Address{host, uint16(number)}, nil
}

// AnyPort reports whether the address leaves the port to the system.
func (a Address) AnyPort() bool { return a.port == 0 }

func isLoopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}

// Server tells a snapshot to those who ask for it.
type Server struct {
	listener net.Listener
	http     *http.Server
	ended    chan struct{}
}

// Listen starts a server. Each request gets the text of a snapshot of its own.
func Listen(address Address, snapshot func() Snapshot) (*Server, error) {
	listener, err := net.Listen("tcp", net.JoinHostPort(address.host, strconv.Itoa(int(address.port))))
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, r *http.Request) {
		if !isOwnName(r.Host) { // a name that a web page had bound to this address
			http.Error(w, "this is the address of another host", http.StatusMisdirectedRequest)
			return
		}
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		_, _ = w.Write(snapshot().Text()) // one who went away needs no answer
	})
	s := &Server{listener: listener, http: &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second, WriteTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute},
		ended: make(chan struct{})}
	go func() {
		defer close(s.ended)
		_ = s.http.Serve(listener) // it ends by Close
	}()
	return s, nil
}

// isOwnName reports whether the Host of a request names this machine.
func isOwnName(hostPort string) bool {
	host, _, err := net.SplitHostPort(hostPort)
	var fault *net.AddrError
	if errors.As(err, &fault) {
		host = strings.Trim(hostPort, "[]")
	}
	return host == "localhost" || isLoopback(host)
}

// URL returns the address to ask.
func (s *Server) URL() string { return "http://" + s.listener.Addr().String() + "/metrics" }

// Close ends the server.
func (s *Server) Close() {
	_ = s.http.Close()
	<-s.ended
}
