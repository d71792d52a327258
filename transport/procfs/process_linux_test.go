package procfs

import (
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// start starts a shell command whose input and output are pipes, and returns its id and input.
func start(t *testing.T, script string) (*exec.Cmd, ID, io.WriteCloser) {
	t.Helper()
	cmd := exec.Command("sh", "-c", script)
	in, err := cmd.StdinPipe()
	if err == nil {
		_, err = cmd.StdoutPipe()
	}
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = in.Close()
		_ = cmd.Wait()
	})
	return cmd, Identify(cmd.Process.Pid), in
}

// await looks at a process until it is as it should be.
func await(t *testing.T, id ID, what string, is func(Process) bool) Process {
	t.Helper()
	for {
		p := Tree(id)
		if is(p) {
			return p
		}
		select {
		case <-t.Context().Done():
			t.Fatalf("never %s: %+v", what, p)
		case <-time.After(time.Millisecond):
		}
	}
}

func inCall(name string, fd int) func(Process) bool {
	return func(p Process) bool {
		return p.State == Sleeping && len(p.Calls) > 0 && p.Calls[0].Name == name && (p.Calls[0].FD == fd || p.Calls[0].FD < 0)
	}
}

func isIn(state State) func(Process) bool {
	return func(p Process) bool { return p.State == state }
}

// TestOf holds what is said of a process from its start to its end.
func TestOf(t *testing.T) {
	cmd, id, in := start(t, "exec cat")
	if !strings.Contains(id.Birth, ".") {
		t.Fatalf("the birth of process %d is %q", id.PID, id.Birth)
	}
	p := await(t, id, "in a read", inCall("read", 0))
	if p.Name != "cat" || !strings.HasPrefix(p.Files[0], "pipe:[") || len(p.Children) > 0 {
		t.Errorf("%+v", p)
	}
	if c := p.Calls[0]; c.FD == 0 && c.File != p.Files[0] {
		t.Errorf("%+v", p)
	}
	for _, step := range []struct {
		signal syscall.Signal
		state  State
	}{{syscall.SIGSTOP, Stopped}, {syscall.SIGCONT, Sleeping}, {syscall.SIGKILL, Zombie}} {
		if err := cmd.Process.Signal(step.signal); err != nil {
			t.Fatal(err)
		}
		await(t, id, string(step.state), isIn(step.state))
	}
	_ = in.Close()
	_ = cmd.Wait()
	if p := Of(id); p.State != Gone {
		t.Errorf("after its end: %+v", p)
	}
}

// TestWrites holds that a process that nobody reads is seen in its write.
func TestWrites(t *testing.T) {
	_, id, _ := start(t, "exec cat /dev/zero")
	await(t, id, "in a write", inCall("write", 1))
}

// TestTree holds that the server below its launcher is seen, and that it has the same pipe.
func TestTree(t *testing.T) {
	_, id, _ := start(t, "(cat; :) </dev/stdin; :")
	p := await(t, id, "a launcher with a child in a read", func(p Process) bool {
		for len(p.Children) == 1 {
			p = p.Children[0]
		}
		return p.PID != id.PID && inCall("read", 0)(p)
	})
	for child := p.Children[0]; ; child = child.Children[0] {
		if child.Files[0] != p.Files[0] {
			t.Errorf("input %s, of the launcher %s", child.Files[0], p.Files[0])
		}
		if len(child.Children) == 0 {
			break
		}
	}
	if alone := Of(id); len(alone.Children) > 0 {
		t.Errorf("Of describes children: %+v", alone)
	}
}

// TestOthers holds that a number is not a process.
func TestOthers(t *testing.T) {
	me := Identify(os.Getpid())
	if p := Of(me); p.State != Running && p.State != Sleeping {
		t.Errorf("%+v", p)
	}
	begun := strings.LastIndexByte(me.Birth, '.')
	for birth, want := range map[string]State{me.Birth + "1": Gone, "0123abcd" + me.Birth[8:]: Unknown, "": Unknown, me.Birth[begun:]: Unknown} {
		if p := Of(ID{PID: me.PID, Birth: birth}); p.State != want {
			t.Errorf("process %d of birth %q is %s, want %s", me.PID, birth, p.State, want)
		}
	}
	if id := Identify(1 << 30); id.Birth != "" {
		t.Errorf("no process: %+v", id)
	}
}

// TestCallIn holds the names of kernel functions from several releases.
func TestCallIn(t *testing.T) {
	for function, want := range map[string]string{
		"pipe_read": "read", "anon_pipe_read": "read", "pipe_wait_readable": "pipe_wait_readable", "anon_pipe_write": "write",
		"unix_stream_read_generic": "read", "do_epoll_wait": "poll", "ep_poll": "poll", "poll_schedule_timeout.constprop.0": "poll",
		"do_select": "poll", "futex_wait_queue": "futex", "do_wait": "wait", "hrtimer_nanosleep": "sleep", "0": "", "": "",
	} {
		if got := callIn(function); got != want {
			t.Errorf("%q is %q, want %q", function, got, want)
		}
	}
}

// TestLineage holds that a process is followed by its ancestors, by names that last.
func TestLineage(t *testing.T) {
	cmd, id, _ := start(t, "exec cat")
	list := Lineage(cmd.Process.Pid)
	if len(list) < 2 || list[0] != id || list[1] != Identify(os.Getpid()) {
		t.Errorf("%+v; want %+v, then %+v", list, id, Identify(os.Getpid()))
	}
	for _, ancestor := range Lineage(os.Getpid()) {
		if ancestor.PID <= 0 {
			t.Errorf("%+v", ancestor)
		}
	}
	if list := Lineage(0); len(list) > 0 {
		t.Errorf("no process: %+v", list)
	}
}
