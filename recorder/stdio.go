package recorder

import (
	"errors"
	"io"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
)

// Linger is how long the streams that a child has left open when it exited must
// be silent before the session ends without them, as a unit: a grandchild can
// hold them.
const Linger = time.Second

// Stdio is a stdio session to record: this process's own streams on the
// client's side, a child process on the server's.
type Stdio struct {
	Client  *os.File  // what the client writes: os.Stdin
	Reply   *os.File  // what the client reads: os.Stdout
	Errors  io.Writer // where the server's standard error goes on: os.Stderr
	Process *transport.Process
	// Signals are passed on to the process.
	Signals <-chan os.Signal
}

// Run passes the session through until the process has ended and its output
// has been passed on, and returns how the process ended. An end of file in
// either direction is passed on, and so is a reader that went away: the writer
// then gets a broken pipe, as if nothing stood in between.
//
// A read of s.Client that blocks when the process has ended is left behind: it
// cannot be interrupted. It ends with this process, and once the recorder is
// closed it passes on nothing.
func (r *Recorder) Run(s Stdio) (transport.ExitStatus, error) {
	var f flows
	go func() {
		r.Tap(transport.ClientToServer).pass(s.Process.Stdin, s.Client, &f.c2s)
		s.Process.Stdin.Close()
		s.Client.Close()
	}()
	var out sync.WaitGroup
	out.Go(func() {
		r.Tap(transport.ServerToClient).pass(s.Reply, s.Process.Stdout, &f.s2c)
		s.Process.Stdout.Close()
		s.Reply.Close()
	})
	out.Go(func() {
		r.StderrTap().pass(patient{s.Errors}, s.Process.Stderr, &f.stderr)
		s.Process.Stderr.Close()
	})
	exited := make(chan struct{})
	var signals sync.WaitGroup
	signals.Go(func() { passSignals(s, exited) })
	status, err := s.Process.Wait()
	close(exited)
	signals.Wait()
	if err == nil {
		r.Record(store.Exited, transport.NoDirection, exitInfo(status))
	}
	done := make(chan struct{})
	go func() { out.Wait(); close(done) }()
	if !f.waitQuiet(done, s.Signals) && f.s2c.state.Load() != ended {
		r.Record(store.EOF, transport.ServerToClient, f.leftOpen())
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

func passSignals(s Stdio, exited <-chan struct{}) {
	for {
		select {
		case sig := <-s.Signals:
			s.Process.Signal(sig)
		case <-exited:
			return
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
