//go:build amd64 || arm64

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/report"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/session"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/storetest"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/procfs"
)

// neutralTap is a client of a server that keeps each byte that it sends and gets.
type neutralTap struct {
	t        *testing.T
	server   *exec.Cmd
	in       io.WriteCloser
	sent     bytes.Buffer
	mu       sync.Mutex
	received bytes.Buffer
	heard    chan struct{} // a message came
	done     chan struct{}
}

// openTap starts a server.
func openTap(t *testing.T, command ...string) *neutralTap {
	t.Helper()
	n := &neutralTap{t: t, server: exec.Command(command[0], command[1:]...), heard: make(chan struct{}, 1<<20), done: make(chan struct{})}
	n.server.Stderr = os.Stderr
	var err error
	if n.in, err = n.server.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := n.server.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := n.server.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(n.done)
		for lines := bufio.NewReader(out); ; {
			line, err := lines.ReadBytes('\n')
			n.mu.Lock()
			n.received.Write(line)
			n.mu.Unlock()
			if err != nil {
				return
			}
			n.heard <- struct{}{}
		}
	}()
	return n
}

// say sends a request, and waits until as many answers are due as it allows to be open.
func (n *neutralTap) say(id int) {
	line := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"echo","arguments":{"text":"ä\t%s"}}}`+"\n", id, strings.Repeat("x", id%300))
	n.sent.WriteString(line)
	if _, err := io.WriteString(n.in, line); err != nil {
		n.t.Fatal(err)
	}
}

// close ends the session, and waits for the server.
func (n *neutralTap) close() {
	n.t.Helper()
	_ = n.in.Close()
	<-n.done
	if err := n.server.Wait(); err != nil {
		n.t.Errorf("the server: %v", err)
	}
}

// attachTo starts mcprec attach, and returns when it records. wait waits for its end.
func attachTo(t *testing.T, home string, pid int) (cmd *exec.Cmd, wait func()) {
	t.Helper()
	cmd = exec.Command("mcprec", "attach", "--store", home, fmt.Sprint(pid))
	errs, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(errs)
	line, err := lines.ReadString('\n')
	if err != nil || !strings.Contains(line, "from now on") {
		_ = cmd.Wait()
		if strings.Contains(line, "not permitted") {
			t.Skip(line)
		}
		t.Fatalf("%q, %v", line, err)
	}
	return cmd, func() {
		t.Helper()
		rest, _ := io.ReadAll(lines)
		if err := cmd.Wait(); err != nil {
			t.Errorf("attach: %v\n%s", err, rest)
		}
	}
}

// saidIn returns what a log has of a direction.
func saidIn(log []store.Event, dir transport.Direction) string {
	var b strings.Builder
	for _, e := range log {
		if e.Kind == store.Frame && e.Dir == dir {
			b.Write(e.Payload)
			if !e.Unterminated {
				b.WriteByte('\n')
			}
		}
	}
	return b.String()
}

func needStrace(t *testing.T) {
	t.Helper()
	if err := procfs.Supported(); err != nil {
		t.Skip(err)
	}
	if _, err := exec.LookPath("strace"); err != nil {
		t.Skip("no strace")
	}
}

// What attach records of a session that is under way is, from the first whole message on, what a neutral tap has, to the
// byte: also of a server with eight threads that is asked without a pause.
func TestAttach(t *testing.T) {
	needStrace(t)
	runs, messages := 2, 300
	if storetest.Night() {
		runs, messages = 20, 10_000
	}
	withoutConfiguration(t)
	for run := range runs {
		command := [][]string{{"threadserver"}, {"fakeserver", "echo"}}[run%2]
		home := t.TempDir()
		n := openTap(t, command...)
		next := 0
		ask := func(count int) {
			for range count {
				next++
				n.say(next)
			}
			for range count {
				<-n.heard
			}
		}
		ask(50)
		_, wait := attachTo(t, home, n.server.Process.Pid)
		before := n.sent.Len()
		began := time.Now()
		ask(messages)
		took := time.Since(began)
		n.close()
		wait()
		logs := sessions(t, home)
		if len(logs) != 1 {
			t.Fatalf("%d sessions", len(logs))
		}
		c2s, s2c := saidIn(logs[0], transport.ClientToServer), saidIn(logs[0], transport.ServerToClient)
		if !strings.HasSuffix(n.sent.String(), c2s) || len(c2s) < n.sent.Len()-before {
			t.Errorf("%v: %d bytes to the server are recorded of %d behind the attach", command, len(c2s), n.sent.Len()-before)
		}
		if !strings.HasSuffix(n.received.String(), s2c) || strings.Count(s2c, "\n") < messages {
			t.Errorf("%v: %d messages to the client are recorded of %d", command, strings.Count(s2c, "\n"), messages)
		}
		last := logs[0][len(logs[0])-2]
		if last.Kind != store.Exited {
			t.Errorf("%v: the log ends with %v", command, last)
		}
		t.Logf("%v: %d messages in %v", command, 2*messages, took)
	}
	storetest.Tell(t, "attach to a server that is asked without a pause, beside a neutral tap", runs, "byte-equal from the first whole message on")
}

// A signal ends attach, and the server goes on as it was.
func TestAttachLeaves(t *testing.T) {
	needStrace(t)
	withoutConfiguration(t)
	home := t.TempDir()
	n := openTap(t, "fakeserver", "echo")
	n.say(1)
	<-n.heard
	cmd, wait := attachTo(t, home, n.server.Process.Pid)
	n.say(2)
	<-n.heard
	_ = cmd.Process.Signal(os.Interrupt)
	wait()
	n.say(3)
	<-n.heard
	n.close()
	log := sessions(t, home)[0]
	if got := saidIn(log, transport.ClientToServer); !strings.Contains(got, `"id":2,`) || strings.Contains(got, `"id":3,`) || strings.Contains(got, `"id":1,`) {
		t.Errorf("recorded: %s", got)
	}
	if !strings.Contains(mcprec(t, "show", "--store", home), "attached by strace to a session that was under way") {
		t.Error("the log does not say that it begins in the middle")
	}
}

// TestWhyUnrecorded plays the sessions of testdata/why without a recorder, and asks why of the server's process. It must
// blame the right side, call nothing healthy stuck, and touch nothing that lies unread.
func TestWhyUnrecorded(t *testing.T) {
	t.Parallel()
	if err := procfs.Supported(); err != nil {
		t.Skip(err)
	}
	paths, err := filepath.Glob("testdata/why/*.txtar")
	if err != nil || len(paths) < 60 {
		t.Fatalf("%d plays, %v", len(paths), err)
	}
	some := []string{"asks-roots", "client-deaf", "healthy-idle", "healthy-person", "late-answer", "neither-reads", "no-answer", "server-deaf", "server-stopped"}
	var mu sync.Mutex
	counts := map[string]int{}
	t.Run("plays", func(t *testing.T) {
		for _, path := range paths {
			name := strings.TrimSuffix(filepath.Base(path), ".txtar")
			archive, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			isPlayed := strings.Contains(string(archive.Comment), "hang stdio")
			if !isPlayed || !storetest.Night() && !slices.Contains(some, name) {
				continue
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				told := whyUnrecorded(t, archive)
				mu.Lock()
				defer mu.Unlock()
				counts[told]++
				t.Log(told)
			})
		}
	})
	stuck := counts[toldRightly] + counts[toldNothing]
	t.Logf("%v of %d that are stuck", counts, stuck)
	if counts[toldRightly]*4 < stuck*3 { // four in five where the machine is not busy
		t.Errorf("%d of %d are told", counts[toldRightly], stuck)
	}
	storetest.Tell(t, "a session that hangs and that nobody recorded", stuck, fmt.Sprintf("%d are told by the processes alone, none wrongly; no byte is touched", counts[toldRightly]))
}

// What the answer about a play comes to.
const (
	toldRightly = "told rightly"
	toldNothing = "not told"
	isHealthy   = "healthy, and not called stuck"
)

// whyUnrecorded plays one play, and judges the answer.
func whyUnrecorded(t *testing.T, archive *txtar.Archive) string {
	t.Helper()
	files := map[string]string{}
	for _, f := range archive.Files {
		files[f.Name] = string(f.Data)
	}
	dir := t.TempDir()
	play, done := filepath.Join(dir, "play"), filepath.Join(dir, "done")
	if err := os.WriteFile(play, []byte(files["play"]), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(done, 0o600); err != nil {
		t.Fatal(err)
	}
	fifo, err := os.OpenFile(done, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer fifo.Close()
	clock, err := newClock(filepath.Join(dir, "clock"))
	if err != nil {
		t.Fatal(err)
	}
	server := exec.Command("stuckserver", "stdio", play, done)
	server.Env = append(os.Environ(), playClockVariable+"="+filepath.Join(dir, "clock"))
	in, err := server.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := server.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = server.Process.Kill()
		_, _ = in.Close(), out.Close()
		_ = server.Wait()
	}()
	lines := readPlay(files["play"])
	end := &stdioEnd{who: '>', in: bufio.NewReader(out), out: in, clock: clock, pause: func(_ int, what string) {
		_, rest, _ := strings.Cut(what, " ")
		pause, _ := time.ParseDuration(rest)
		clock.move(pause)
	}}
	client := make(chan struct{})
	go func() {
		end.play(lines, func() { close(client) })
		for !end.deaf {
			if _, err := end.in.ReadString('\n'); err != nil {
				return
			}
		}
	}()
	pid := 0
	_, _ = fmt.Fscanln(fifo, &pid)
	<-client
	_, standing, _ := strings.Cut(files["want"], "while it stands: ")
	verdict, rest, _ := strings.Cut(standing, "\n")
	isStuck := strings.HasPrefix(verdict, "stuck") || strings.HasPrefix(verdict, "may be stuck")
	awaitStill(t, server.Process.Pid)
	db, err := session.OpenUnmasked(context.Background(), session.Home{Place: filepath.Join(dir, "store")})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	before := unreadOf(server.Process.Pid)
	answers, err := report.HangsInProcess(context.Background(), db, server.Process.Pid)
	// The client is this process, which has other tests to run: it may seem to work when one looks.
	for looks := 1; looks < 50 && err == nil && isStuck && len(answers[0].Findings) == 0; looks++ {
		answers, err = report.HangsInProcess(context.Background(), db, server.Process.Pid)
	}
	if err != nil {
		if procfs.Of(procfs.Identify(server.Process.Pid)).State == procfs.Zombie || strings.Contains(err.Error(), "no session on stdio") {
			return toldRightly // the server has ended
		}
		t.Fatal(err)
	}
	after := unreadOf(server.Process.Pid)
	if after.Size < before.Size || !bytes.HasPrefix(after.Begin, before.Begin) {
		t.Errorf("of %d bytes %d are left unread", before.Size, after.Size)
	}
	first, _, _ := strings.Cut(rest, "\n")
	shape, culprit, _ := strings.Cut(strings.TrimSpace(first), ", ")
	a := answers[0]
	switch {
	case len(a.Findings) == 0 && !isStuck:
		return isHealthy
	case len(a.Findings) == 0:
		return toldNothing
	case !isStuck:
		t.Errorf("healthy, and called %s: %s", a.Verdict, a.Findings[0].Text)
	case a.Findings[0].Culprit != culprit && a.Findings[0].Culprit != "both":
		t.Errorf("%s, %s is stuck; called %s, %s: %s", shape, culprit, a.Findings[0].Shape, a.Findings[0].Culprit, a.Findings[0].Text)
	}
	return toldRightly
}

// awaitStill waits until a server has come to rest.
func awaitStill(t *testing.T, pid int) {
	t.Helper()
	for range 5000 {
		state := procfs.Of(procfs.Identify(pid)).State
		if state == procfs.Sleeping || state == procfs.Stopped || state == procfs.Zombie {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

// unreadOf returns what lies unread in the input of a process.
func unreadOf(pid int) procfs.Unread {
	u, _ := procfs.Peek(pid, 0, 1<<20)
	return u
}

// A session goes on, byte for byte, while ps and why look at it: with messages that pass, and with messages that lie unread
// because the server is stopped.
func TestLooksDisturbNothing(t *testing.T) {
	if err := procfs.Supported(); err != nil {
		t.Skip(err)
	}
	withoutConfiguration(t)
	n := openTap(t, "fakeserver", "echo")
	defer func() { _ = n.server.Process.Signal(syscall.SIGCONT) }()
	pid := fmt.Sprint(n.server.Process.Pid)
	look := func() string {
		psOf(t)
		out, errs, _ := inProcess(t, nil, "why", pid)
		if len(out) == 0 {
			t.Errorf("why: %s", errs)
		}
		return string(out)
	}
	count := 0
	say := func(messages int) {
		for range messages {
			count++
			n.say(count)
		}
	}
	looked := make(chan struct{})
	go func() {
		defer close(looked)
		look()
	}()
	for isLooking := true; isLooking; {
		say(20)
		for range 20 {
			<-n.heard
		}
		select {
		case <-looked:
			isLooking = false
		default:
		}
	}
	// The kernel tells of the stop when the last thread stands. Before, one that is in a read may take what comes.
	_ = n.server.Process.Signal(syscall.SIGSTOP)
	var status syscall.WaitStatus
	if _, err := syscall.Wait4(n.server.Process.Pid, &status, syscall.WUNTRACED, nil); err != nil || !status.Stopped() {
		t.Fatalf("the server has not stopped: %v, %v", status, err)
	}
	say(50)
	before := unreadOf(n.server.Process.Pid)
	if said := look(); !strings.Contains(said, "is stopped by a signal") {
		t.Errorf("%s", said)
	}
	after := unreadOf(n.server.Process.Pid)
	if before.Size == 0 || after.Size != before.Size || !bytes.Equal(after.Begin, before.Begin) || !strings.HasSuffix(n.sent.String(), string(before.Begin)) {
		t.Errorf("%d bytes lay unread, and then %d", before.Size, after.Size)
	}
	_ = n.server.Process.Signal(syscall.SIGCONT)
	for range 50 {
		<-n.heard
	}
	n.close()
	answered := map[int]bool{}
	for line := range bytes.Lines(n.received.Bytes()) {
		var m struct{ ID int }
		if err := json.Unmarshal(line, &m); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		answered[m.ID] = true
	}
	if len(answered) != count {
		t.Errorf("%d of %d requests are answered", len(answered), count)
	}
	if got := strings.Count(n.received.String(), "\n"); got != count {
		t.Errorf("%d answers to %d requests", got, count)
	}
}
