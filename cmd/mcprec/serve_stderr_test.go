//go:build unix

package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// fullPipe returns the end to write to of a pipe that is full and that nobody reads.
func fullPipe(t *testing.T) *os.File {
	t.Helper()
	var ends [2]int
	if err := syscall.Pipe(ends[:]); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Close(ends[0]) })
	if err := syscall.SetNonblock(ends[1], true); err != nil {
		t.Fatal(err)
	}
	for size := 4096; size > 0; { // the last bytes go one by one
		if _, err := syscall.Write(ends[1], make([]byte, size)); errors.Is(err, syscall.EAGAIN) {
			size /= 2
		} else if err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.SetNonblock(ends[1], false); err != nil {
		t.Fatal(err)
	}
	w := os.NewFile(uintptr(ends[1]), "full pipe")
	t.Cleanup(func() { w.Close() })
	return w
}

// A harness that starts serve with a pipe for its standard error and does not read it
// gets all its answers, and can end it.
func TestServeUndrained(t *testing.T) {
	const requests = 100
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		cmd := exec.Command("mcprec", "serve", "--listen", "127.0.0.1:0", "../../fixtures/seed.jsonl")
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		cmd.Stderr = fullPipe(t)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { cmd.Process.Kill() })
		url, err := bufio.NewReader(out).ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		for i := range requests {
			body := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"unknown/%d"}`, i, i)
			resp, err := http.Post(strings.TrimSpace(url), "application/json", strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			if said, err := io.ReadAll(resp.Body); err != nil || !strings.Contains(string(said), "-32010") {
				t.Errorf("request %d: %q, %v", i, said, err)
			}
			resp.Body.Close()
		}
		if err := cmd.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Wait(); err != nil {
			t.Errorf("after %v serve ended with %v", sig, err)
		}
	}
}

// So does a client on stdio.
func TestServeUndrainedStdio(t *testing.T) {
	const requests = 100
	c := newClient(t, fullPipe(t), "serve", "../../fixtures/seed.jsonl")
	t.Cleanup(func() { c.cmd.Process.Kill() })
	for i := range requests {
		fmt.Fprintf(c.in, `{"jsonrpc":"2.0","id":%d,"method":"unknown/%d"}`+"\n", i, i)
		if line, err := c.out.ReadString('\n'); err != nil || !strings.Contains(line, "-32010") {
			t.Fatalf("request %d: %q, %v", i, line, err)
		}
	}
	if err := c.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	err := c.cmd.Wait()
	if status := c.cmd.ProcessState.Sys().(syscall.WaitStatus); !status.Signaled() || status.Signal() != syscall.SIGTERM {
		t.Errorf("ended with %v", err)
	}
}

// Of a client that asks for a thousand things that were not recorded the first are
// told, and the others counted.
func TestServeSaysSoMuch(t *testing.T) {
	var client strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&client, `{"jsonrpc":"2.0","id":%d,"method":"unknown/%d"}`+"\n", i, i)
	}
	cmd := exec.Command("mcprec", "serve", "../../fixtures/seed.jsonl")
	cmd.Stdin = strings.NewReader(client.String())
	var said strings.Builder
	cmd.Stderr = &said
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"no recorded answer for unknown/0: ", "no recorded answer for unknown/19: ", "980 lines more of this session not shown", "missing: "} {
		if !strings.Contains(said.String(), want) {
			t.Errorf("no %q in\n%s", want, said.String())
		}
	}
	if n := strings.Count(said.String(), "no recorded answer for"); n != 20 {
		t.Errorf("%d of 1000 requests are told one by one", n)
	}
}
