//go:build amd64 || arm64

package procfs

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"
)

// goEnv makes the test binary a Go program that does what its value says.
const goEnv = "MCPREC_QUIET_PROGRAM"

func TestMain(m *testing.M) {
	switch os.Getenv(goEnv) {
	case "":
		os.Exit(m.Run())
	case "timer":
		time.Sleep(time.Hour)
	case "read":
		_, _ = io.Copy(os.Stdout, os.Stdin)
	case "pair":
		ends, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_NONBLOCK|syscall.SOCK_CLOEXEC, 0)
		if err == nil { // the runtime waits for both in its epoll call
			one, other := os.NewFile(uintptr(ends[0]), "one"), os.NewFile(uintptr(ends[1]), "other")
			_, _ = one.Read(make([]byte, 1))
			_ = other.Close()
		}
	case "process":
		child := exec.Command("cat")
		child.Stdin = os.Stdin
		if err := child.Start(); err == nil {
			const pidfdOpen = 434 // on all machines
			fd, _, _ := syscall.Syscall(pidfdOpen, uintptr(child.Process.Pid), 0, 0)
			poll := [2]uint32{uint32(fd), 1} // struct pollfd: POLLIN
			_, _, _ = syscall.Syscall6(syscall.SYS_PPOLL, uintptr(unsafe.Pointer(&poll)), 1, 0, 0, 0, 0)
		}
	case "launcher":
		_, _ = os.Stdin.Read(make([]byte, 1))
		_ = syscall.Exec("/bin/sh", []string{"sh", "-c", "echo up; read -r line"}, os.Environ())
	}
}

// watch starts a command with pipes to this test, and returns a Watcher of it.
func watch(t *testing.T, cmd *exec.Cmd) (w *Watcher, in, out *os.File) {
	t.Helper()
	theirIn, in := pipe(t)
	out, theirOut := pipe(t)
	if cmd.Stdin == nil {
		cmd.Stdin = theirIn
	}
	cmd.Stdout = theirOut
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	ours := []string{Name(int(in.Fd())), Name(int(out.Fd()))}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		_ = cmd.Wait()
	})
	_ = theirIn.Close()
	_ = theirOut.Close()
	w, err := Watch(cmd.Process.Pid, ours...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Close)
	return w, in, out
}

func pipe(t *testing.T) (reader, writer *os.File) {
	t.Helper()
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = reader.Close(); _ = writer.Close() })
	return reader, writer
}

// awaitLook looks until the processes are in a state.
func awaitLook(t *testing.T, w *Watcher, want Activity) Look {
	t.Helper()
	for {
		look := w.Look()
		if look.Activity == want {
			return look
		}
		select {
		case <-t.Context().Done():
			t.Fatalf("activity %d never came: %d, %v", want, look.Activity, look)
		case <-time.After(100 * time.Microsecond):
		}
	}
}

// TestStates holds what is said of programs that wait in different ways.
func TestStates(t *testing.T) {
	sh := func(script string) *exec.Cmd { return exec.Command("sh", "-c", script) }
	program := func(does string) *exec.Cmd {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), goEnv+"="+does)
		return cmd
	}
	for name, test := range map[string]struct {
		cmd  *exec.Cmd
		want Activity
	}{
		"reads":                 {exec.Command("cat"), Asleep},
		"a pipe inside":         {sh("cat | cat; :"), Asleep},
		"waits for its child":   {sh("cat; :"), Asleep},
		"sleeps":                {exec.Command("sleep", "1000"), Timed},
		"a child sleeps":        {sh("sleep 1000 & cat"), Timed},
		"is not read":           {exec.Command("cat", "/dev/zero"), Full},
		"runs":                  {sh("while :; do :; done"), Busy},
		"a Go program reads":    {program("read"), Asleep},
		"a Go program's timer":  {program("timer"), Timed},
		"a socket pair inside":  {program("pair"), Asleep},
		"a process inside":      {program("process"), Asleep},
		"has ended, not waited": {sh("exit 3"), Ended},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, _, _ := watch(t, test.cmd)
			look := awaitLook(t, w, test.want)
			if test.want == Timed && (look.Timer <= 0 || look.Timer > time.Hour) {
				t.Errorf("the timer is in %v", look.Timer)
			}
			if test.want == Asleep && (look.Timer >= 0 || len(look.Outside) > 0 || look.Threads == 0) {
				t.Errorf("%+v", look)
			}
			if test.want == Asleep && look.Ours != (name != "a socket pair inside") {
				t.Errorf("something of the caller's is waited for: %t", look.Ours)
			}
		})
	}
}

// TestOutside holds that a pipe is named whose other end somebody else has.
func TestOutside(t *testing.T) {
	path := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	fifo, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = fifo.Close() }()
	w, _, _ := watch(t, exec.Command("cat", path))
	look := awaitLook(t, w, Outside)
	if !slices.Equal(look.Outside, []string{path}) || !strings.Contains(look.String(), path) {
		t.Errorf("%v", look)
	}
}

// TestNeverTooEarly holds that a program which has an answer to give is never taken for one that sleeps.
func TestNeverTooEarly(t *testing.T) {
	for name, cmd := range map[string]*exec.Cmd{
		"one process":  exec.Command("cat"),
		"two":          exec.Command("sh", "-c", "cat | cat; :"),
		"with a timer": exec.Command("sh", "-c", "while read -r line; do sleep 0.001; echo \"$line\"; done"),
		"short-lived":  exec.Command("sh", "-c", `while read -r line; do for n in 1 2; do text=$(: ; echo "$(: ; echo "$(: ; echo "$(: ; /bin/true; /bin/true; /bin/echo "$line"; :)")")"); done; echo "$text"; done`),
	} {
		t.Run(name, func(t *testing.T) {
			w, in, out := watch(t, cmd)
			awaitLook(t, w, Asleep)
			for range 200 {
				if _, err := io.WriteString(in, "a question\n"); err != nil {
					t.Fatal(err)
				}
				awaitLook(t, w, Asleep)
				if err := syscall.SetNonblock(int(out.Fd()), true); err != nil {
					t.Fatal(err)
				}
				line := make([]byte, 100)
				count, err := syscall.Read(int(out.Fd()), line)
				if err != nil || string(line[:count]) != "a question\n" {
					t.Fatalf("asleep, and the answer is %q (%v)", line[:max(count, 0)], err)
				}
			}
		})
	}
}

// TestZombie holds that a child which has ended, and which nobody waits for, does not keep a program from its rest.
func TestZombie(t *testing.T) {
	w, _, _ := watch(t, exec.Command("sh", "-c", "true & exec cat"))
	if look := awaitLook(t, w, Asleep); look.Threads != 1 {
		t.Errorf("%d threads", look.Threads)
	}
}

// TestLauncher holds that a program in the place of a Go program that has started it is no Go program: the
// timers in its futex calls are its own.
func TestLauncher(t *testing.T) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), goEnv+"=launcher")
	w, in, out := watch(t, cmd)
	if !w.runsGo(cmd.Process.Pid) {
		t.Error("the launcher is not known as a Go program")
	}
	if _, err := io.WriteString(in, "x"); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	if w.runsGo(cmd.Process.Pid) {
		t.Error("the shell is taken for a Go program")
	}
}

// TestOtherEnd holds that the two ends of a pair of sockets are known by each other's name.
func TestOtherEnd(t *testing.T) {
	ends, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = syscall.Close(ends[0]); _ = syscall.Close(ends[1]) }()
	if name := otherEnd(Name(ends[0])); name != Name(ends[1]) || name == Name(ends[0]) {
		t.Errorf("the other end of %s is %s, want %s", Name(ends[0]), name, Name(ends[1]))
	}
	listener, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = syscall.Close(listener) }()
	if name := otherEnd(Name(listener)); name != "" {
		t.Errorf("a socket that is not connected has the other end %s", name)
	}
	err = errors.Join(syscall.Bind(listener, &syscall.SockaddrUnix{}), syscall.Listen(listener, 1))
	address, failed := syscall.Getsockname(listener)
	dialer, cannot := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err := errors.Join(err, failed, cannot, syscall.Connect(dialer, address)); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = syscall.Close(dialer) }()
	if name := otherEnd(Name(dialer)); name != "" {
		t.Errorf("a socket that nobody has accepted has the other end %s", name)
	}
}

// TestSocketOfOurs holds that a process which writes into a pair of sockets whose other end the caller has
// and does not read is full, and that one which reads from it sleeps.
func TestSocketOfOurs(t *testing.T) {
	for name, test := range map[string]struct {
		script string
		want   Activity
	}{"writes": {"cat /dev/zero >&3", Full}, "reads": {"cat <&3", Asleep}} {
		t.Run(name, func(t *testing.T) {
			ends, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
			if err != nil {
				t.Fatal(err)
			}
			ours, theirs := os.NewFile(uintptr(ends[0]), "ours"), os.NewFile(uintptr(ends[1]), "theirs")
			defer func() { _ = ours.Close() }()
			cmd := exec.Command("sh", "-c", test.script)
			cmd.ExtraFiles = []*os.File{theirs}
			w, _, _ := watch(t, cmd)
			_ = theirs.Close()
			w.Own(Name(ends[0]))
			awaitLook(t, w, test.want)
		})
	}
}
