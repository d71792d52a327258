//go:build unix

package main

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"
)

// recordedTarget runs mcprec record before a target, with its standard error as lines.
func recordedTarget(t *testing.T, target string) (c *client, url string, lines *bufio.Reader) {
	t.Helper()
	t.Setenv("MCPREC_HOME", t.TempDir())
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = read.Close() })
	c = newClient(t, write, "record", "--target", target, "--listen", "127.0.0.1:0")
	_ = write.Close()
	t.Cleanup(func() { _ = c.cmd.Process.Kill() }) // if the test ends early
	url, err = c.out.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return c, strings.TrimSpace(url), bufio.NewReader(read)
}

// TestGoLog: what Go's packages log of a peer is a line of mcprec's, masked and escaped: a target that says
// more than it was asked for, and that closes with words of its own.
func TestGoLog(t *testing.T) {
	for _, more := range []string{
		"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\npassword=hunter2zz",
		"password=hunter2zz\x1b[2J\nFORGED",
		"HTTP/1.1 500 Odd\r\nX-Note: password=hunter2zz\r\n\r\nFORGED \u202e",
	} {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer listener.Close()
		answered := make(chan struct{})
		go func() {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			r, err := http.ReadRequest(bufio.NewReader(conn))
			if err != nil {
				return
			}
			_, _ = io.Copy(io.Discard, r.Body)
			_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}")
			<-answered // the connection is idle
			_, _ = io.WriteString(conn, more)
		}()
		c, url, lines := recordedTarget(t, fmt.Sprintf("http://%s/mcp", listener.Addr()))
		resp, err := http.Post(url, "application/json", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"ping"}`))
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
		close(answered)
		line, err := lines.ReadString('\n')
		if err != nil || !strings.HasPrefix(line, "mcprec: Unsolicited response") || strings.Contains(line, "hunter2zz") || unplain(strings.TrimSpace(line)) != "" {
			t.Errorf("%q: %q, %v", more, line, err)
		}
		_ = c.cmd.Process.Signal(os.Interrupt)
		rest, _ := io.ReadAll(lines)
		if strings.Contains(string(rest), "hunter2zz") || unplain(string(rest)) != "" {
			t.Errorf("%q: then %q", more, rest)
		}
		c.exits(0)
	}
}

// TestNetworkText: an error with the words of a peer is one line, and masked: of a certificate whose name has a line end, of
// a header that is none.
func TestNetworkText(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), DNSNames: []string{"evil\nFORGED", "password=hunter2zz"}}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	secure := &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{certificate}, PrivateKey: key}}}
	for _, c := range []struct {
		scheme string
		serve  func(net.Conn)
		want   string
	}{
		{"https", func(conn net.Conn) { _ = tls.Server(conn, secure).Handshake() }, "certificate is valid for"},
		{"http", func(conn net.Conn) {
			if _, err := http.ReadRequest(bufio.NewReader(conn)); err == nil {
				_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\npassword=hunter2zz \x1b[2J\rFORGED\r\n\r\n")
			}
		}, "malformed MIME header"},
	} {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer listener.Close()
		go func() {
			for {
				conn, err := listener.Accept()
				if err != nil {
					return
				}
				go func() {
					c.serve(conn)
					_ = conn.Close()
				}()
			}
		}()
		target := fmt.Sprintf("%s://localhost:%d/mcp", c.scheme, listener.Addr().(*net.TCPAddr).Port)
		recorder, url, lines := recordedTarget(t, target)
		if resp, err := http.Post(url, "application/json", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)); err == nil {
			_ = resp.Body.Close()
			t.Errorf("%s: answered %s", target, resp.Status)
		}
		line, err := lines.ReadString('\n')
		if err != nil || !strings.Contains(line, c.want) || !strings.HasSuffix(line, "clients see their connection closed\n") ||
			strings.Contains(line, "hunter2zz") || unplain(strings.TrimSpace(line)) != "" {
			t.Errorf("record: %q, %v", line, err)
		}
		_ = recorder.cmd.Process.Signal(os.Interrupt)
		recorder.exits(0)
		for _, command := range []string{"drive ../../fixtures/memory-2025-11-25.jsonl --timeout 5s --target " + target} {
			out, errs := runLine(t, strings.Fields(command)...)
			if said := out + errs; !strings.Contains(said, c.want) || strings.Contains(said, "hunter2zz") || unplain(said) != "" {
				t.Errorf("%s: %q: %s", command, said, unplain(said))
			}
		}
	}
}
