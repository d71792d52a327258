package stream

import (
	"bufio"
	"errors"
	"fmt"
	"math"
	"net"
	"slices"
	"strings"
	"testing"
)

// TestInbound holds that lengths are believed up to a bound, whatever pieces a line comes in, and that nothing in a
// message is taken for a line.
func TestInbound(t *testing.T) {
	for text, isTooMuch := range map[string]bool{
		"INFO {}\r\nMSG a 1 5\r\nMSG b\r\n+OK\r\nPING\r\n":                                 false,
		"MSG a 1 24\r\nMSG a 1 2147483000\r\nxxx\r\nHMSG a 1 in 12 12\r\nxxxxxxxxxxxx\r\n": false,
		"MSG a 1 2147483000\r\n":                               true,
		"msg a 1 inbox 16777217\r\n":                           true,
		"HMSG a 1 12 99999999999999999999\r\n":                 true,
		"MSG a 1 -1\r\n":                                       true,
		"MSG a 1 5\r\nhello\r\nMSG\ta\t1\t2147483000\r\n":      true,
		"MSG a 1 5\r\nhello MSG a 1 2147483000\r\nMSG a 1 3\n": false,
		"INFO " + strings.Repeat("x", mostLine):                true,
		"MSG a 1 16777216\r\n":                                 false,
	} {
		for _, size := range []int{1, 7, 1 << 20} {
			var lines inbound
			var err error
			for piece := range slices.Chunk([]byte(text), size) {
				if err = lines.take(piece); err != nil {
					break
				}
			}
			if errors.Is(err, errTooMuch) != isTooMuch {
				t.Errorf("%.40q in pieces of %d: %v", text, size, err)
			}
		}
	}
}

// TestListing holds that a list ends with what was there when it began, while others write, and that one without an
// end is given up.
func TestListing(t *testing.T) {
	busy := listing{last: 7}
	for seq := uint64(5); seq <= 7; seq++ {
		if isLast, err := busy.take(500, seq, 3); isLast != (seq == 7) || err != nil {
			t.Errorf("%d of 7: %v, %v", seq, isLast, err)
		}
	}
	lying := listing{last: math.MaxUint64}
	for seq := uint64(1); ; seq++ {
		if isLast, err := lying.take(500, seq, math.MaxInt64); isLast || err != nil {
			if seq != mostEntries+1 || !errors.Is(err, errTooMuch) {
				t.Errorf("after %d entries: %v, %v", seq, isLast, err)
			}
			break
		}
	}
	large := listing{last: math.MaxUint64}
	for seq := uint64(1); ; seq++ {
		if isLast, err := large.take(mostInbound, seq, math.MaxInt64); isLast || err != nil {
			if seq != mostListed/mostInbound+1 || !errors.Is(err, errTooMuch) {
				t.Errorf("after %d large entries: %v, %v", seq, isLast, err)
			}
			break
		}
	}
}

// TestLyingServer holds that a server which announces two gigabytes is given up at once, by what it says.
func TestLyingServer(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go lie(conn)
		}
	}()
	_, err = Open(t.Context(), Options{Servers: []string{listener.Addr().String()}})
	if !errors.Is(err, errTooMuch) || !strings.Contains(err.Error(), "2147483000") {
		t.Errorf("open says %v", err)
	}
}

// lie greets a client, and announces two gigabytes in place of its first answer.
func lie(conn net.Conn) {
	defer func() { _ = conn.Close() }()
	fmt.Fprint(conn, `INFO {"server_id":"X","version":"2.15.2","proto":1,"host":"127.0.0.1","headers":true,"max_payload":1048576,"jetstream":true}`+"\r\n")
	lines := bufio.NewScanner(conn)
	for sid := ""; lines.Scan(); {
		switch words := strings.Fields(lines.Text()); {
		case len(words) == 0:
		case words[0] == "PING":
			fmt.Fprint(conn, "PONG\r\n")
		case words[0] == "SUB":
			sid = words[len(words)-1]
		case strings.HasSuffix(words[0], "PUB") && len(words) > 3:
			fmt.Fprintf(conn, "MSG %s %s 2147483000\r\n", words[2], sid)
		}
	}
}
