package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/storetest"
)

// freezable returns a folder on a disk of its own, whose writes wait while it is frozen.
func freezable(t *testing.T) (dir string, freeze, thaw func()) {
	t.Helper()
	image, dir := filepath.Join(t.TempDir(), "image"), t.TempDir()
	for _, args := range [][]string{{"truncate", "-s", "32M", image}, {"mkfs.ext4", "-q", "-F", image}, {"mount", "-o", "loop", image, dir}} {
		if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
			t.Skipf("no disk to freeze: %s: %v\n%s", args[0], err, out)
		}
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Errorf("unmount: %v", err)
		}
	})
	control := func(request uintptr) {
		f, err := os.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, f.Fd(), request, 0); errno != 0 {
			t.Skipf("no disk to freeze: %v", errno)
		}
	}
	return dir, func() { control(0xc0045877) }, func() { control(0xc0045878) }
}

// pinger is a client whose server is behind a recorder.
type pinger interface {
	ping(n int) error
	close()
}

// While the disk of a recorder is stuck, its client's session goes on, and what happened
// is in the log afterwards.
func TestStuckDisk(t *testing.T) {
	dir, freeze, thaw := freezable(t)
	for _, way := range []struct {
		name  string
		start func(home string, stderr *os.File) pinger
	}{
		{"stdio", func(home string, stderr *os.File) pinger {
			return newClient(t, stderr, "record", "--store", home, "--", "fakeserver", "echo")
		}},
		{"http", func(home string, stderr *os.File) pinger { return askRemote(t, stderr, home) }},
	} {
		t.Run(way.name, func(t *testing.T) {
			home := filepath.Join(dir, way.name)
			stderr, said := stderrWith(t, "the disk does not answer")
			n := stick(t, way.start(home, stderr), said, freeze, thaw)
			logs := sessions(t, home)
			if got := checkPings(t, logs[0]); got != n {
				t.Errorf("%d of %d responses are recorded", got, n)
			}
			mcprec(t, "store", "verify", "--store", home)
			checkStuckNote(t, logs[0])
		})
	}
	storetest.Tell(t, "a disk that does not answer for 10 s, under a real file system", 2, "the client's session goes on; all of it is recorded")
}

// stderrWith returns a standard error for processes, and what is closed when a line with
// the text has come.
func stderrWith(t *testing.T, text string) (stderr *os.File, came <-chan struct{}) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	said, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for lines, found := bufio.NewScanner(r), false; lines.Scan(); {
			fmt.Fprintln(os.Stderr, lines.Text())
			if !found && strings.Contains(lines.Text(), text) {
				found = true
				close(said)
			}
		}
	}()
	t.Cleanup(func() {
		w.Close()
		<-ended
		r.Close()
	})
	return w, said
}

// stick has a client ask on while its recorder's disk is stuck, until the recorder has
// said so, and returns how often it asked.
func stick(t *testing.T, c pinger, said <-chan struct{}, freeze, thaw func()) (n int) {
	stuckFor, pings, pace := time.Duration(0), 300, time.NewTicker(300*time.Microsecond) // a flood would fill the memory, and be counted
	if storetest.Night() {
		stuckFor = 10 * time.Second
		pace.Reset(2 * time.Millisecond)
	}
	defer pace.Stop()
	ping := func() {
		n++
		if err := c.ping(n); err != nil {
			t.Fatal(err)
		}
	}
	for range pings {
		ping()
	}
	freeze()
	var thawed atomic.Bool
	patience := time.AfterFunc(5*time.Minute, func() { thawed.Store(true); thaw() })
	began := time.Now()
	for told := false; !told || time.Since(began) < stuckFor; {
		ping()
		select {
		case <-said:
			told, said = true, nil
		case <-pace.C:
		}
	}
	if !patience.Stop() || thawed.Load() {
		t.Error("the session waited for the disk")
	} else {
		thaw()
	}
	for range pings {
		ping()
	}
	c.close()
	return n
}

// remoteAsker is a client of a server over HTTP, with a recorder in between.
type remoteAsker struct {
	t      *testing.T
	server *httptest.Server
	cmd    *exec.Cmd
	url    string
}

func askRemote(t *testing.T, stderr *os.File, home string) *remoteAsker {
	t.Helper()
	return recordRemote(t, stderr, home, func(w http.ResponseWriter, r *http.Request) {
		var m struct{ ID int }
		_ = json.NewDecoder(r.Body).Decode(&m)
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%d,"result":{}}`, m.ID)
	})
}

// recordRemote starts a server over HTTP, and a recorder before it.
func recordRemote(t *testing.T, stderr *os.File, home string, handler http.HandlerFunc) *remoteAsker {
	t.Helper()
	server := httptest.NewServer(handler)
	r := &remoteAsker{t: t, server: server, cmd: exec.Command("mcprec", "record", "--store", home, "--target", server.URL+"/mcp", "--listen", "127.0.0.1:0")}
	r.cmd.Stderr = stderr
	out, err := r.cmd.StdoutPipe()
	if err == nil {
		err = r.cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	r.url = strings.TrimSpace(line)
	return r
}

// ping posts request n and waits for its response.
func (r *remoteAsker) ping(n int) error {
	req, err := http.NewRequest(http.MethodPost, r.url, strings.NewReader(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"ping"}`, n)))
	if err != nil {
		return err
	}
	req.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}}
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	got, err := io.ReadAll(resp.Body)
	if want := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{}}`, n); err == nil && string(got) != want {
		return fmt.Errorf("response %q, want %q", got, want)
	}
	return err
}

func (r *remoteAsker) close() {
	r.t.Helper()
	_ = r.cmd.Process.Signal(os.Interrupt)
	if err := r.cmd.Wait(); err != nil {
		r.t.Error(err)
	}
	r.server.Close()
}

// checkStuckNote: a note tells of the disk, and nothing was lost.
func checkStuckNote(t *testing.T, log []store.Event) {
	t.Helper()
	notes := ""
	for _, e := range log {
		switch e.Kind {
		case store.Note:
			notes += string(e.Payload)
		case store.Lost:
			t.Errorf("%s", e.Payload)
		}
	}
	if !strings.Contains(notes, "the disk does not answer") {
		t.Errorf("notes: %s", notes)
	}
}

// A recorder that is killed while its disk is stuck takes with it what waits in its
// memory: what is there is an unbroken beginning, and nothing says that it is all.
func TestKilledWhileStuck(t *testing.T) {
	home, freeze, thaw := freezable(t)
	c := startClient(t, home, "fakeserver", "echo")
	ping := func(n int) {
		if err := c.ping(n); err != nil {
			t.Error(err)
		}
	}
	for n := range 100 {
		ping(n + 1)
	}
	freeze()
	for n := range 100 {
		ping(n + 101)
	}
	err := c.cmd.Process.Kill()
	thaw()
	if err != nil {
		t.Fatal(err)
	}
	_ = c.cmd.Wait()
	if got := checkPings(t, sessions(t, home)[0]); got < 100 || got >= 200 {
		t.Errorf("%d responses are recorded", got)
	}
	said, err := exec.Command("mcprec", "show", "--store", home).CombinedOutput()
	if err != nil || !strings.Contains(string(said), "it may lack its last messages") {
		t.Errorf("show: %v: %s", err, said)
	}
	for _, args := range [][]string{{"store", "verify"}, {"list", "--format", "json"}} {
		said := mcprec(t, append(args, "--store", home)...)
		if !strings.Contains(said, "it may lack its last messages") && !strings.Contains(said, `"state":"cut short"`) {
			t.Errorf("%s: %s", args, said)
		}
	}
	storetest.Tell(t, "kill -9 while messages wait in memory for a stuck disk", 1, "an unbroken beginning, never said to be all")
}
