//go:build amd64 || arm64

package procfs

import (
	"net"
	"os"
	"testing"
)

// The sockets of a connection are named by the address at the other end, the listener's by its own.
func TestAddress(t *testing.T) {
	for _, at := range []string{"127.0.0.1:0", "[::1]:0"} {
		listener, err := net.Listen("tcp", at)
		if err != nil {
			t.Logf("%s: %v", at, err)
			continue
		}
		defer listener.Close()
		conn, err := net.Dial("tcp", listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		nameOf := func(of interface{ File() (*os.File, error) }) string {
			file, err := of.File()
			if err != nil {
				t.Fatal(err)
			}
			defer file.Close()
			return Name(int(file.Fd()))
		}
		if got, want := Address(os.Getpid(), nameOf(conn.(*net.TCPConn))), "a connection to "+listener.Addr().String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
		if got, want := Address(os.Getpid(), nameOf(listener.(*net.TCPListener))), "connections at "+listener.Addr().String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if got := Address(os.Getpid(), "socket:[1]"); got != "" {
		t.Errorf("no such socket: %q", got)
	}
}
