//go:build amd64 || arm64

package procfs

import (
	"io"
	"net"
	"net/netip"
	"testing"
)

// TestTCP holds what is told of the sockets of a connection.
func TestTCP(t *testing.T) {
	tcp, err := NewTCP()
	if err != nil {
		t.Fatal(err)
	}
	defer tcp.Close()
	for _, at := range []string{"127.0.0.1:0", ":0"} {
		listener, err := net.Listen("tcp", at)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = listener.Close() }()
		port := uint16(listener.Addr().(*net.TCPAddr).Port)
		server, nobody := netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), port), netip.MustParseAddrPort("127.0.0.1:0")
		if socket, isThere, err := tcp.Find(server, nobody); err != nil || !isThere || !socket.IsListen || socket.Name == "" {
			t.Errorf("the listener is %+v, %v, %v", socket, isThere, err)
		}
		client, err := net.Dial("tcp", server.String())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = client.Close() }()
		ours := client.LocalAddr().(*net.TCPAddr).AddrPort()
		if socket, isThere, err := tcp.Find(server, ours); err != nil || !isThere || socket.IsListen || socket.Name != "" {
			t.Errorf("before it is accepted it is %+v, %v, %v", socket, isThere, err)
		}
		conn, err := listener.Accept()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(client, "hello"); err != nil {
			t.Fatal(err)
		}
		for isMoving := true; isMoving; { // until it has arrived
			socket, _, err := tcp.Find(ours, server)
			if isMoving = socket.InFlight; err != nil {
				t.Fatal(err)
			}
		}
		if socket, isThere, err := tcp.Find(server, ours); err != nil || !isThere || socket.Name == "" || socket.Unread != len("hello") || socket.InFlight {
			t.Errorf("with five bytes it is %+v, %v, %v", socket, isThere, err)
		}
		_ = client.Close()
		_ = conn.Close()
		_ = listener.Close()
		if socket, isThere, err := tcp.Find(server, nobody); err != nil || isThere {
			t.Errorf("after the end there is %+v, %v", socket, err)
		}
	}
}
