package recorder

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"syscall"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
)

// Stdio is a stdio session to record: this process's own streams on the
// client's side, a child process on the server's.
type Stdio struct {
	Client  *os.File  // what the client writes: os.Stdin
	Reply   *os.File  // what the client reads: os.Stdout
	Errors  io.Writer // where the server's standard error goes on: os.Stderr
	Process *transport.Process
	// Signals are passed on to the process, but for those that Heard reports: the process
	// has them already, as from a terminal. Heard may be nil.
	Signals <-chan os.Signal
	Heard   func(os.Signal) bool
}

// Run passes the session through until the process has ended and its output
// has been passed on, and returns how the process ended. An end of file in
// either direction is passed on, and so is a reader that went away: the writer
// then gets a broken pipe, as if nothing stood in between.
//
// A process that the server has started may hold the server's output when it has ended.
// All that the server wrote itself is passed on in any case. Then, if a signal has asked
// the session to end, it ends at once. While the client has its end open and the other
// process can read what it says, as with a server whose launcher has exited, the session
// goes on. Else what the other process writes is followed until it has been silent for
// [Grace], and for [Linger] in all once the client has closed its end. A note in the log
// says what is still held.
//
// A read that blocks at the end, of s.Client or of output that is held, is left behind: it
// cannot be interrupted. It ends with this process or with what it reads, and what it
// reads is not passed on.
func (r *Recorder) Run(s Stdio) (transport.ExitStatus, error) {
	exitRead, exitWrite, err := os.Pipe()
	if err != nil {
		s.Process.Signal(os.Kill)
		return transport.ExitStatus{}, fmt.Errorf("record: %w", err)
	}
	f := newFlows()
	go func() {
		r.Tap(transport.ClientToServer).pass(s.Process.Stdin, s.Client, &f.c2s)
		s.Process.Stdin.Close()
		s.Client.Close()
	}()
	var out sync.WaitGroup
	answers := r.Tap(transport.ServerToClient)
	out.Go(func() {
		answers.pass(s.Reply, newOutlet(s.Process.Stdout, exitRead, &f.s2c), &f.s2c)
		s.Process.Stdout.Close()
		s.Reply.Close()
	})
	out.Go(func() {
		r.StderrTap().pass(patient{s.Errors}, newOutlet(s.Process.Stderr, exitRead, &f.stderr), &f.stderr)
		s.Process.Stderr.Close()
	})
	exited, passed := make(chan struct{}), make(chan struct{})
	go func() { f.asked = passSignals(s, exited); close(passed) }()
	status, err := s.Process.Wait()
	close(exited)
	<-passed
	if err == nil {
		r.Record(store.Exited, transport.NoDirection, exitInfo(status))
	}
	exitWrite.Close()
	done := make(chan struct{})
	go func() { out.Wait(); exitRead.Close(); close(done) }()
	if !f.follow(done, s.Signals, func() bool { return !unread(s.Process.Stdin) }) {
		if f.s2c.state.Load() != ended {
			answers.giveUp(f.leftOpen())
		}
		if text := f.holders(); text != "" {
			r.Record(store.Note, transport.NoDirection, map[string]string{"text": text})
		}
	}
	return status, err
}

func exitInfo(status transport.ExitStatus) store.ExitInfo {
	info := store.ExitInfo{Code: status.Code}
	if status.Signal != nil {
		info.Signal = status.Signal.String()
	}
	return info
}

// passSignals passes signals on until the process has ended, and reports whether one asked
// it to end.
func passSignals(s Stdio, exited <-chan struct{}) (asked bool) {
	for {
		select {
		case sig := <-s.Signals:
			if s.Heard == nil || !s.Heard(sig) {
				s.Process.Signal(sig)
			}
			asked = asked || asksToEnd(sig)
		case <-exited:
			return asked
		}
	}
}

// patient never refuses: a server must not die of a client that closed its
// standard error, and what it says is recorded all the same.
type patient struct{ w io.Writer }

func (p patient) Write(b []byte) (int, error) {
	n, err := p.w.Write(b)
	if errors.Is(err, syscall.EAGAIN) {
		return n, err
	}
	return len(b), nil
}
