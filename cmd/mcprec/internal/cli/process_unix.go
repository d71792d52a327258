//go:build unix

package cli

import (
	"os"
	"os/signal"
	"syscall"
	"time"
)

// DieOf ends this process by the signal that ended the child: the parent sees the same status as
// without mcprec. If the signal does not kill, the exit code is 128+n, as in a shell.
func DieOf(sig os.Signal) {
	s, ok := sig.(syscall.Signal)
	if !ok {
		os.Exit(ExitData)
	}
	signal.Reset(s)
	defaultAction(s)
	syscall.Setrlimit(syscall.RLIMIT_CORE, &syscall.Rlimit{}) // one core dump is enough
	syscall.Kill(syscall.Getpid(), s)
	// Any thread may take the signal; give it the time.
	time.Sleep(time.Second)
	os.Exit(128 + int(s))
}

// ForwardedSignals returns the signals that record passes on to its child.
func ForwardedSignals() []os.Signal {
	var sigs []os.Signal
	for _, s := range []os.Signal{syscall.SIGTERM, syscall.SIGHUP, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGINT, syscall.SIGQUIT} {
		if !signal.Ignored(s) {
			sigs = append(sigs, s)
		}
	}
	return sigs
}

// EndSignals returns the signals that end a command which then cleans up. SIGHUP does, but not under
// nohup.
func EndSignals() []os.Signal {
	sigs := []os.Signal{syscall.SIGINT, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		sigs = append(sigs, syscall.SIGHUP)
	}
	return sigs
}

// FromTerminal reports whether such a signal comes from the terminal, which has then sent it
// to the child as well.
func FromTerminal(sig os.Signal) bool {
	return (sig == syscall.SIGINT || sig == syscall.SIGQUIT) && interruptsForeground()
}

// KeepPipeErrors makes a write to a closed stdout an error; it would kill the process.
func KeepPipeErrors() { signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) }

// MoveStdio moves the protocol's streams off descriptors 0 and 1, and puts the null device
// there. record closes the streams when they end; a database that was then opened as
// descriptor 1 would receive whatever is printed by mistake.
func MoveStdio(std Streams) (Streams, error) {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return std, err
	}
	defer null.Close()
	for _, f := range []**os.File{&std.In, &std.Out} {
		fd := int((*f).Fd())
		if fd > 1 {
			continue // a test's, not the process's
		}
		moved, err := syscall.Dup(fd)
		if err != nil {
			return std, err
		}
		syscall.CloseOnExec(moved)
		if err := dup2(int(null.Fd()), fd); err != nil {
			return std, err
		}
		*f = os.NewFile(uintptr(moved), (*f).Name())
	}
	return std, nil
}
