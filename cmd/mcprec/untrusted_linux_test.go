package main

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestOpensNothing holds that no command opens a file that a recording names, or connects to an address that it names.
func TestOpensNothing(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("MCPREC_HOME", filepath.Join(dir, "home"))
	named := filepath.Join(dir, "named")
	path := filepath.Join(dir, "hostile.jsonl")
	web, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer web.Close()
	url := "http://" + web.Addr().String() + "/mcp"
	text := fmt.Sprintf(`{"mcprec":1,"transport":"http","label":"%[1]s","command":["cat","%[1]s"],"url":"%[2]s"}
{"dir":"c2s","frame":{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"file://%[1]s"}}}
{"dir":"s2c","frame":{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"resource_link","uri":"%[2]s","name":"%[1]s","icons":[{"src":"%[2]s"}]}]}}}
`, named, url)
	for _, file := range []string{named, path} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	watch, err := syscall.InotifyInit1(syscall.IN_CLOEXEC | syscall.IN_NONBLOCK)
	if err == nil {
		defer syscall.Close(watch)
		_, err = syscall.InotifyAddWatch(watch, named, syscall.IN_OPEN)
	}
	if err != nil {
		t.Fatal(err)
	}
	wasOpened := func() bool {
		count, _ := syscall.Read(watch, make([]byte, 4096))
		return count > 0
	}
	for _, line := range untrusted {
		out, errs := runLine(t, strings.Split(strings.ReplaceAll(line, "F", path), " ")...)
		if wasOpened() {
			t.Errorf("%s: opened the file that the recording names\n%s%s", line, out, errs)
		}
	}
	own, err := net.Dial("tcp", web.Addr().String()) // it waits behind the connections of the commands
	if err != nil {
		t.Fatal(err)
	}
	defer own.Close()
	first, err := web.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	if first.RemoteAddr().String() != own.LocalAddr().String() {
		t.Error("a command connected to the address that the recording names")
	}
	if _, err := os.ReadFile(named); err != nil || !wasOpened() {
		t.Errorf("an open of the file is not seen: %v", err)
	}
}
