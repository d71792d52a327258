package recorder

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
)

// Stdio is a stdio session to record: this process's own streams on the
// client's side, a child process on the server's.
type Stdio struct {
	Client  *os.File  // the client writes to it: os.Stdin
	Reply   *os.File  // the client reads from it: os.Stdout
	Errors  io.Writer // where the server's standard error goes on: os.Stderr
	Process *transport.Process
	// Signals are passed on to the process, unless Heard reports that the process has them
	// already, as from a terminal. Heard may be nil.
	Signals <-chan os.Signal
	Heard   func(os.Signal) bool
	// Held is told which processes still hold the server's output when the session ends without them. It may be nil.
	Held func(text string)
}

// Run passes the session through until the process has ended and its output has been passed on,
// and returns how the process ended. An end of file in either direction is passed on. If a
// reader goes away, the writer gets a broken pipe, as without a recorder.
//
// Another process may hold the server's output when the server has ended. The server's own
// bytes are passed on in any case. Then, if a signal has asked the session to end,
// it ends at once. While the client has its end open and the other process can read from it, as
// with a server whose launcher has exited, the session goes on. Otherwise the other process's
// bytes are passed on until a silence of [Grace], and for [Linger] altogether once the client has
// closed its end. A note in the log tells which outputs are still held.
//
// A read of the client or of held output that blocks at the end is left behind, because a read
// cannot be interrupted. Its bytes are not passed on.
//
// A receiver that reads nothing for [StallThreshold] while bytes wait for it leaves a Stalled
// event, and so does standard error that nobody reads, once the server can write no more to it.
func (r *Recorder) Run(std Stdio) (transport.ExitStatus, error) {
	exitRead, exitWrite, err := os.Pipe()
	if err != nil {
		std.Process.Signal(os.Kill)
		return transport.ExitStatus{}, fmt.Errorf("record: %w", err)
	}
	s := newEnding()
	s.onSignal = func(sig os.Signal) {
		r.Record(store.Signal, transport.NoDirection, store.SignalInfo{Signal: sig.String()})
	}
	watch := watchStalls(r.log, s, std.Process.Stdin, std.Reply, std.Process.Stderr)
	defer watch.close()
	requests := r.Tap(transport.ClientToServer)
	passedOn := make(chan struct{})
	go func() {
		defer close(passedOn)
		requests.pass(newServerInput(std.Process.Stdin, &s.c2s), std.Client, &s.c2s)
		std.Process.Stdin.Close()
		std.Client.Close()
	}()
	var out sync.WaitGroup
	answers := r.Tap(transport.ServerToClient)
	out.Go(func() {
		answers.pass(std.Reply, newServerOutput(std.Process.Stdout, exitRead, &s.s2c), &s.s2c)
		std.Process.Stdout.Close()
		std.Reply.Close()
	})
	out.Go(func() {
		r.StderrTap().pass(neverFails{std.Errors}, newServerOutput(std.Process.Stderr, exitRead, &s.stderr), &s.stderr)
		std.Process.Stderr.Close()
	})
	exited := make(chan struct{})
	passed := make(chan struct{})
	go func() { s.asked = r.passSignals(std, exited); close(passed) }()
	status, err := std.Process.Wait()
	close(exited)
	<-passed
	if err == nil {
		info := store.ExitInfoOf(status)
		info.Unread = newPipeQueue(std.Process.Stdin).held().bytes
		r.Record(store.Exited, transport.NoDirection, info)
	}
	exitWrite.Close()
	done := make(chan struct{})
	go func() { out.Wait(); exitRead.Close(); close(done) }()
	if !s.wait(done, std.Signals, func() bool { return !unread(std.Process.Stdin) }) {
		if s.s2c.state.Load() != ended {
			answers.end(s.eofInfo(), true)
		}
		if text := s.heldNote(std.Process); text != "" {
			r.Record(store.Note, transport.NoDirection, store.NoteInfo{Text: text})
			if std.Held != nil {
				std.Held(text)
			}
		}
	}
	if s.c2s.read.Load() > s.c2s.passed.Load() { // the write fails if no process can read any more
		select {
		case <-passedOn:
		case <-time.After(Grace):
			requests.end(s.c2s.refused("receiver", "what was sent last had not been read when the server had exited"), true)
		}
	}
	return status, err
}

// passSignals passes signals on until the process has ended, and reports whether one asked
// it to end. The log has each signal before what it causes.
func (r *Recorder) passSignals(stdio Stdio, exited <-chan struct{}) (asked bool) {
	for {
		select {
		case sig := <-stdio.Signals:
			passes := stdio.Heard == nil || !stdio.Heard(sig)
			r.Record(store.Signal, transport.NoDirection, store.SignalInfo{Signal: sig.String(), Passed: passes})
			if passes {
				stdio.Process.Signal(sig)
			}
			asked = asked || asksToEnd(sig)
		case <-exited:
			return asked
		}
	}
}

// neverFails hides the errors of a writer: a server must not die because the client has closed
// standard error, and its messages are still recorded.
type neverFails struct{ w io.Writer }

func (f neverFails) Write(data []byte) (int, error) {
	n, err := f.w.Write(data)
	if errors.Is(err, syscall.EAGAIN) {
		return n, err
	}
	return len(data), nil
}
