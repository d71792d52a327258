//go:build unix

package main

import (
	"io/fs"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// dieOf ends this process by the signal that ended its child, so that its
// parent sees what it would have seen without us. If the signal does not kill,
// the shell's 128+n is the exit code.
func dieOf(sig os.Signal) {
	s, ok := sig.(syscall.Signal)
	if !ok {
		os.Exit(exitData)
	}
	signal.Reset(s)
	defaultAction(s)
	syscall.Setrlimit(syscall.RLIMIT_CORE, &syscall.Rlimit{}) // one core dump is enough
	syscall.Kill(syscall.Getpid(), s)
	// Any thread may be the one that takes the signal; give it the time.
	time.Sleep(time.Second)
	os.Exit(128 + int(s))
}

// forwarded are the signals that record passes on to its child. Those that a
// terminal sends to its whole foreground group reach the child anyway.
func forwarded() []os.Signal {
	var sigs []os.Signal
	for _, s := range []os.Signal{syscall.SIGTERM, syscall.SIGHUP, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGINT, syscall.SIGQUIT} {
		if !signal.Ignored(s) {
			sigs = append(sigs, s)
		}
	}
	return sigs
}

// endings are the signals that end a recorder of a remote server; its terminal's closing
// does, but not under nohup.
func endings() []os.Signal {
	sigs := []os.Signal{syscall.SIGINT, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		sigs = append(sigs, syscall.SIGHUP)
	}
	return sigs
}

// fromTerminal reports whether a signal of this kind comes from the terminal,
// which then has sent it to the child as well.
func fromTerminal(sig os.Signal) bool {
	return (sig == syscall.SIGINT || sig == syscall.SIGQUIT) && interruptsForeground()
}

// keepPipeErrors turns the death that a closed stdout brings to a Go program
// into an ordinary write error.
func keepPipeErrors() { signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) }

// vacate moves the protocol's streams off descriptors 0 and 1, which get the
// null device. record closes the streams when they end, and a database that then
// opened as descriptor 1 would take in whatever is printed by mistake.
func vacate(std streams) (streams, error) {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return std, err
	}
	defer null.Close()
	for _, f := range []**os.File{&std.in, &std.out} {
		fd := int((*f).Fd())
		if fd > 1 {
			continue // not the process's own: a test's
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

// mayFollow reports whether a symbolic link is ours or root's.
func mayFollow(link fs.FileInfo) bool {
	x, ok := link.Sys().(*syscall.Stat_t)
	return ok && (x.Uid == 0 || int(x.Uid) == os.Geteuid())
}
