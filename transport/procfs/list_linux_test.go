//go:build amd64 || arm64

package procfs

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// A child with a pipe as its input is listed, with who it is and which end of which pipe it has.
func TestList(t *testing.T) {
	cmd := exec.Command("cat")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = in.Close(), cmd.Wait() }()
	_, err = io.WriteString(in, "cat runs\n") // until then it may still be this program
	if err == nil {
		_, err = bufio.NewReader(out).ReadString('\n')
	}
	if err != nil {
		t.Fatal(err)
	}
	list, err := List()
	if err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(list, func(r Seen) bool { return r.PID == cmd.Process.Pid })
	if at < 0 {
		t.Fatalf("the child %d is not among %d processes", cmd.Process.Pid, len(list))
	}
	child := list[at]
	if child.Parent != os.Getpid() || child.User != os.Getuid() || child.ID() != Identify(child.PID) || child.IsHidden {
		t.Errorf("%+v", child)
	}
	if child.Name == "cat" && (!slices.Equal(child.Command, []string{"cat"}) || child.Memory == 0) {
		t.Errorf("%+v", child)
	}
	file := child.At(0)
	ours := slices.IndexFunc(list, func(r Seen) bool { return r.PID == os.Getpid() })
	holds := func(d Descriptor) bool { return d.File == file && d.Writes && !d.Reads }
	if !strings.HasPrefix(file, "pipe:[") || !slices.Contains(child.Pipes, Descriptor{FD: 0, File: file, Reads: true}) || !slices.ContainsFunc(list[ours].Pipes, holds) {
		t.Errorf("input %q of %+v, of ours %+v", file, child.Pipes, list[ours].Pipes)
	}
}

// What lies unread in a pipe and in a Unix socket is seen as often as one looks, and all of it is still there.
func TestPeekTakesNothing(t *testing.T) {
	said := []byte(strings.Repeat(`{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n", 100))
	for name, open := range map[string]func() (in, out *os.File){
		"pipe": func() (*os.File, *os.File) {
			r, w, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			return r, w
		},
		"Unix sockets": func() (*os.File, *os.File) {
			ends, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
			if err != nil {
				t.Fatal(err)
			}
			return os.NewFile(uintptr(ends[0]), "ours"), os.NewFile(uintptr(ends[1]), "theirs")
		},
	} {
		t.Run(name, func(t *testing.T) {
			r, w := open()
			defer r.Close()
			fd := int(r.Fd())
			if u, err := Peek(os.Getpid(), fd, 1<<20); err != nil || u.Size != 0 || u.Begin != nil || u.IsOver {
				t.Errorf("empty: %+v, %v", u, err)
			}
			if _, err := w.Write(said); err != nil {
				t.Fatal(err)
			}
			for range 3 {
				if u, err := Peek(os.Getpid(), fd, 1<<20); err != nil || u.Size != len(said) || !bytes.Equal(u.Begin, said) || u.IsOver {
					t.Errorf("%d of %d bytes, over: %v, %v", u.Size, len(u.Begin), u.IsOver, err)
				}
				if u, err := Peek(os.Getpid(), fd, 10); err != nil || u.Size != len(said) || string(u.Begin) != `{"jsonrpc"` {
					t.Errorf("%+v, %v", u, err)
				}
			}
			w.Close()
			if u, err := Peek(os.Getpid(), fd, 0); err != nil || u.Size != len(said) || !u.IsOver {
				t.Errorf("closed: %+v, %v", u, err)
			}
			if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, said) {
				t.Errorf("%d bytes are left of %d, %v", len(got), len(said), err)
			}
		})
	}
}

// A full pipe of one-byte writes, which is as full as one can be, is read as any other.
func TestPeekManyWrites(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	big := bytes.Repeat([]byte("x"), 64<<10)
	if _, err := w.Write(big); err != nil {
		t.Fatal(err)
	}
	if u, err := Peek(os.Getpid(), int(r.Fd()), 1<<20); err != nil || u.Size != len(big) || !bytes.Equal(u.Begin, big) {
		t.Errorf("%d of %d bytes, %v", len(u.Begin), u.Size, err)
	}
}

// A process that sleeps last ran as long ago as it was looked at before, and what it read is counted.
func TestLastRan(t *testing.T) {
	if _, ok := LastRan(os.Getpid()); !ok {
		t.Skip("this kernel does not tell when a thread ran")
	}
	cmd := exec.Command("cat")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = in.Close(), cmd.Wait() }()
	echo := func() (read uint64) {
		if _, err := in.Write([]byte("12345678")); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(out, make([]byte, 8)); err != nil {
			t.Fatal(err)
		}
		read, _, ok := Counts(cmd.Process.Pid)
		if !ok {
			t.Skip("this kernel does not count what a process reads")
		}
		return read
	}
	before := echo()
	if after := echo(); after != before+8 {
		t.Errorf("it has read %d bytes, and then %d", before, after)
	}
	for Of(Identify(cmd.Process.Pid)).State != Sleeping {
	}
	first, _ := LastRan(cmd.Process.Pid)
	second, ok := LastRan(cmd.Process.Pid)
	if !ok || second < first {
		t.Errorf("it ran %v ago, and then %v ago", first, second)
	}
}
