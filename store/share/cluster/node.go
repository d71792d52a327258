package cluster

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Node is one server. Its methods are for the test's goroutine.
type Node struct {
	Name  string
	Proxy *Proxy // where clients connect

	t      testing.TB
	dir    string // configuration and log
	folder string // streams
	ports  ports
	ahead  time.Duration // of its clock
	cmd    *exec.Cmd     // nil: not running
	exited chan struct{}
}

// built is the folder with the server that this test run has built.
var built struct {
	sync.Once
	dir string
	err error
}

// Main runs the tests of a package and removes the programs that they built.
func Main(m *testing.M) int {
	defer func() { _ = errors.Join(os.RemoveAll(built.dir), os.RemoveAll(withClock.dir)) }()
	return m.Run()
}

// server returns the path of nats-server, built from the module that go.mod names.
func server(t testing.TB) string {
	t.Helper()
	built.Do(func() {
		built.dir, built.err = os.MkdirTemp("", "mcprec-nats-server-")
		if built.err != nil {
			return
		}
		build := exec.Command("go", "build", "-o", built.dir, "github.com/nats-io/nats-server/v2")
		if out, err := build.CombinedOutput(); err != nil {
			built.err = fmt.Errorf("build nats-server: %w\n%s", err, out)
		}
	})
	if built.err != nil {
		t.Fatal(built.err)
	}
	return filepath.Join(built.dir, "nats-server")
}

func (n *Node) configFile() string { return filepath.Join(n.dir, "nats.conf") }
func (n *Node) logFile() string    { return filepath.Join(n.dir, "log") }

// start starts the process, and does not wait until it is ready.
func (n *Node) start() {
	n.t.Helper()
	log, err := os.OpenFile(n.logFile(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		n.t.Fatal(err)
	}
	path := server(n.t)
	if n.ahead != 0 {
		path = programWithClock(n.t, "nats-server")
	}
	cmd := exec.Command(path, "-c", n.configFile())
	cmd.Env = append(os.Environ(), clockAhead(n.ahead))
	cmd.Stdout = log
	cmd.Stderr = log
	cmd.SysProcAttr = diesWithParent()
	err = cmd.Start()
	_ = log.Close()
	if err != nil {
		n.t.Fatal(err)
	}
	exited := make(chan struct{})
	n.cmd = cmd
	n.exited = exited
	go func() {
		_ = cmd.Wait()
		close(exited)
	}()
}

// Start starts a node that was killed, and returns when it answers. Its streams may still catch up,
// see [Cluster.WaitCurrent].
func (n *Node) Start() {
	n.t.Helper()
	n.start()
	n.wait("node "+n.Name+" answers", func() error {
		select {
		case <-n.exited:
			if !n.portTaken() {
				return errors.New("the server has exited")
			}
			n.start() // another process had the port for a moment
		default:
		}
		return n.get("/healthz?js-server-only=true", nil)
	})
}

// Kill kills the process with SIGKILL and waits for its end.
func (n *Node) Kill() {
	n.t.Helper()
	if n.cmd == nil {
		return
	}
	if err := n.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		n.t.Fatal(err)
	}
	<-n.exited
	n.cmd = nil
}

// Running reports whether the node was started and not killed.
func (n *Node) Running() bool { return n.cmd != nil }

// Pause stops the process with SIGSTOP: its connections stay, and nobody answers.
func (n *Node) Pause() { n.signal(syscall.SIGSTOP) }

// Resume ends a pause.
func (n *Node) Resume() { n.signal(syscall.SIGCONT) }

func (n *Node) signal(sig os.Signal) {
	n.t.Helper()
	if err := n.cmd.Process.Signal(sig); err != nil {
		n.t.Fatal(err)
	}
}

// Usage returns the memory that the process holds now, and the processor time that it has used.
func (n *Node) Usage() (memory int64, processor time.Duration) {
	n.t.Helper()
	return Usage(n.t, n.cmd.Process.Pid)
}

// Usage returns the memory that a process holds now, in bytes, and the processor time that it has
// used. It reads /proc.
func Usage(t testing.TB, pid int) (memory int64, processor time.Duration) {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := bytes.Cut(text, []byte(") "))
	fields := strings.Fields(string(rest)) // from the third on, see proc_pid_stat(5)
	number := func(field int) int64 {
		value, err := strconv.ParseInt(fields[field-3], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
	ticks := number(14) + number(15) // a tick is 10 ms on every Linux that Go runs on
	return number(24) * int64(os.Getpagesize()), time.Duration(ticks) * 10 * time.Millisecond
}

// portTaken reports whether the server's last words are that another process has its port.
func (n *Node) portTaken() bool {
	log, _ := os.ReadFile(n.logFile())
	lines := bytes.Split(bytes.TrimSpace(log), []byte("\n"))
	for _, line := range lines[max(0, len(lines)-5):] {
		if bytes.Contains(line, []byte("address already in use")) {
			return true
		}
	}
	return false
}

// get asks the monitoring port.
func (n *Node) get(path string, into any) error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("http://127.0.0.1:%d%s", n.ports.monitor, path), nil)
	if err != nil {
		return err
	}
	request.Close = true // a paused or killed node leaves no connection behind
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", path, response.Status)
	}
	if into == nil {
		return nil
	}
	return json.NewDecoder(response.Body).Decode(into)
}

// patience is how long a cluster may take for what it always does on a machine that is not broken.
const patience = time.Minute

// wait asks until there is no error.
func (n *Node) wait(what string, ask func() error) { n.t.Helper(); wait(n.t, what, ask) }

func wait(t testing.TB, what string, ask func() error) {
	t.Helper()
	for began := time.Now(); ; time.Sleep(5 * time.Millisecond) {
		err := ask()
		if err == nil {
			return
		}
		if time.Since(began) > patience {
			t.Fatalf("%s: not within %v: %v", what, patience, err)
		}
	}
}
