//go:build unix

package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/cli"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/boltstore"
)

// client is a client with a recorder in front of its server, in processes of
// their own.
type client struct {
	t   *testing.T
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func startClient(t *testing.T, home string, server ...string) *client {
	t.Helper()
	return newClient(t, os.Stderr, append([]string{"record", "--store", home, "--"}, server...)...)
}

// newClient starts mcprec with the arguments as a client's server.
func newClient(t *testing.T, stderr *os.File, args ...string) *client {
	t.Helper()
	c := &client{t: t, cmd: exec.Command("mcprec", args...)}
	c.cmd.Stderr = stderr
	var err error
	if c.in, err = c.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	c.out = bufio.NewReaderSize(out, 1<<16)
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return c
}

// ping sends request n and waits for its response.
func (c *client) ping(n int) error {
	if _, err := fmt.Fprintf(c.in, `{"jsonrpc":"2.0","id":%d,"method":"ping"}`+"\n", n); err != nil {
		return err
	}
	line, err := c.out.ReadString('\n')
	if err != nil {
		return err
	}
	if want := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{}}`+"\n", n); line != want {
		return fmt.Errorf("response %q, want %q", line, want)
	}
	return nil
}

func (c *client) close() {
	c.t.Helper()
	c.in.Close()
	if _, err := io.Copy(io.Discard, c.out); err != nil {
		c.t.Error(err)
	}
	if err := c.cmd.Wait(); err != nil {
		c.t.Error(err)
	}
}

func mcprec(t *testing.T, args ...string) string {
	t.Helper()
	var out, errs []byte
	var code int
	if slices.Contains(needOwnProcess, args[0]) {
		out, errs, code = ownProcess(t, nil, nil, append([]string{"mcprec"}, args...)...)
	} else {
		out, errs, code = inProcess(t, nil, args...)
	}
	if code != cli.ExitFine {
		t.Errorf("mcprec %s: exit status %d\n%s%s", strings.Join(args, " "), code, out, errs)
	}
	return string(out)
}

// sessions reads every log in the store whole and validates it.
func sessions(t *testing.T, home string) (logs [][]store.Event) {
	t.Helper()
	db, err := boltstore.Open(home, boltstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for s, err := range db.Sessions(t.Context(), store.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		var log []store.Event
		var v store.Validator
		for e, err := range db.Read(t.Context(), s.ID, 1, store.ReadOptions{}) {
			if err == nil {
				err = v.Check(e)
			}
			if err != nil {
				t.Fatalf("session %s: %v", s.ID, err)
			}
			log = append(log, e)
		}
		logs = append(logs, log)
	}
	return logs
}

// checkPings says how many responses the log has; each must come after its
// request, and both in order.
func checkPings(t *testing.T, log []store.Event) (answered int) {
	t.Helper()
	asked := 0
	for _, e := range log {
		if e.Kind != store.Frame {
			continue
		}
		switch string(e.Payload) {
		case fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"ping"}`, asked+1):
			asked++
		case fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{}}`, answered+1):
			answered++
		default:
			t.Fatalf("event %d: %s after %d requests and %d responses", e.Seq, e.Payload, asked, answered)
		}
		if answered > asked {
			t.Fatalf("event %d: a response before its request", e.Seq)
		}
	}
	return answered
}

// As many notifications as fast as a server can write them: none is lost, none
// changes its place.
func TestFlood(t *testing.T) {
	t.Parallel()
	n := soak(20_000, 200_000)
	home := t.TempDir()
	c := startClient(t, home, "fakeserver", "flood", fmt.Sprint(n))
	var got bytes.Buffer
	for range n {
		line, err := c.out.ReadSlice('\n')
		if err != nil {
			t.Fatal(err)
		}
		got.Write(line)
	}
	c.close()
	if raw := mcprec(t, "export", "--store", home, "--format", "raw", "--dir", "s2c"); raw != got.String() {
		t.Errorf("the recording differs from what the client saw: %d and %d bytes", len(raw), got.Len())
	}
	for i, line := range strings.Split(strings.TrimSuffix(got.String(), "\n"), "\n") {
		if !strings.Contains(line, fmt.Sprintf(`"%0120d"`, i)) {
			t.Fatalf("frame %d is %s", i, line)
		}
	}
}

// No response is logged before its request. make night does a million.
func TestPingPong(t *testing.T) {
	t.Parallel()
	n := soak(2_000, 1_000_000)
	home := t.TempDir()
	c := startClient(t, home, "fakeserver", "echo")
	for i := 1; i <= n; i++ {
		if err := c.ping(i); err != nil {
			t.Fatal(err)
		}
	}
	c.close()
	if got := checkPings(t, sessions(t, home)[0]); got != n {
		t.Errorf("%d responses recorded, want %d", got, n)
	}
}

// Five recorders write one store while others list, show and follow it.
func TestFiveRecorders(t *testing.T) {
	home := t.TempDir()
	n := soak(300, 50_000)
	clients := startClients(t, home, 5)
	follower := exec.CommandContext(t.Context(), "mcprec", "show", "-f", "--last", "1000000", "--store", home)
	var followed bytes.Buffer
	follower.Stdout = &followed
	if err := follower.Start(); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	var readers, writers sync.WaitGroup
	readers.Go(func() {
		for ctx.Err() == nil {
			if out := mcprec(t, "list", "--store", home); strings.Count(out, " live ") != 5 && ctx.Err() == nil {
				t.Errorf("list:\n%s", out)
			}
			mcprec(t, "show", "--store", home, "-n", "100")
		}
	})
	for _, c := range clients {
		writers.Go(func() {
			for i := 2; i <= n; i++ {
				if err := c.ping(i); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	writers.Wait()
	stop()
	readers.Wait()
	for _, c := range clients {
		c.close()
	}
	if err := follower.Wait(); err != nil {
		t.Errorf("show -f: %v", err)
	}
	if got := strings.Count(followed.String(), "\n"); got != len(sessions(t, home)[4]) {
		t.Errorf("show -f showed %d events of %d", got, len(sessions(t, home)[4]))
	}
	for i, log := range sessions(t, home) {
		if got := checkPings(t, log); got != n {
			t.Errorf("session %d: %d responses recorded, want %d", i, got, n)
		}
	}
	mcprec(t, "store", "verify", "--store", home)
}

// startClients starts some, each of which has sent its first ping.
func startClients(t *testing.T, home string, n int) (clients []*client) {
	t.Helper()
	for i := range n {
		c := startClient(t, home, "fakeserver", "echo")
		if err := c.ping(1); err != nil {
			t.Fatalf("client %d: %v", i, err)
		}
		clients = append(clients, c)
	}
	return clients
}

// Half a line moves on before its end comes.
func TestHalfALine(t *testing.T) {
	c := startClient(t, t.TempDir(), "fakeserver", "half")
	half := make([]byte, len(`{"jsonrpc":"2.0",`))
	if _, err := io.ReadFull(c.out, half); err != nil {
		t.Fatal(err)
	}
	io.WriteString(c.in, "go on\n")
	if rest, err := c.out.ReadString('\n'); err != nil || rest != "\"method\":\"x\"}\n" {
		t.Errorf("rest %q, %v", rest, err)
	}
	c.close()
}

// TestOpenLine holds that a line of a live session whose end has not come hides nothing,
// and that state tells of it and of its age.
func TestOpenLine(t *testing.T) {
	home := t.TempDir()
	c := startClient(t, home, "cat")
	send := func(text string) {
		if _, err := io.WriteString(c.in, text); err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(io.LimitReader(c.out, int64(len(text)))); err != nil || string(got) != text {
			t.Fatalf("%q, %v", got, err)
		}
	}
	send(`{"jsonrpc":"2.0","id":1,"method":"ping"}` + "\n")
	send(`{"jsonrpc":"2.0","id":2,"meth`)
	if got := mcprec(t, "show", "--store", home); strings.Count(got, "ping id 1") != 2 || strings.Contains(got, "meth\n") {
		t.Errorf("show says\n%s", got)
	}
	for _, pipe := range []string{"c2s", "s2c"} {
		if got, want := mcprec(t, "state", "--store", home), regexp.MustCompile(`(?m)^  line +`+pipe+`, 29 B without an end, since \S+s, for \S+s$`); !want.MatchString(got) {
			t.Errorf("state says\n%s", got)
		}
	}
	if got := mcprec(t, "state", "--store", home, "--format", "json"); !strings.Contains(got, `"lines":[{"pipe":"c2s","bytes":29,"since":"`) {
		t.Errorf("state says\n%s", got)
	}
	if got := mcprec(t, "state", "--store", home, "--at", "2"); strings.Contains(got, "without an end") {
		t.Errorf("state at an event says\n%s", got)
	}
	send("od\":\"ping\"}\n")
	if got := mcprec(t, "state", "--store", home); strings.Contains(got, "without an end") {
		t.Errorf("state says\n%s", got)
	}
	c.close()
}
