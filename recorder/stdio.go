package recorder

import (
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
)

// Linger is how long the streams of a child that has exited may stay silent
// before the session ends without them: a grandchild can hold them open.
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
	var moved atomic.Uint64
	go func() {
		r.Tap(transport.ClientToServer).Pass(s.Process.Stdin, s.Client)
		s.Process.Stdin.Close()
		s.Client.Close()
	}()
	var out sync.WaitGroup
	out.Go(func() {
		r.Tap(transport.ServerToClient).Pass(counting{s.Reply, &moved}, s.Process.Stdout)
		s.Process.Stdout.Close()
		s.Reply.Close()
	})
	out.Go(func() {
		r.StderrTap().Pass(counting{patient{s.Errors}, &moved}, s.Process.Stderr)
		s.Process.Stderr.Close()
	})
	ended := make(chan struct{})
	var signals sync.WaitGroup
	signals.Go(func() { passSignals(s, ended) })
	status, err := s.Process.Wait()
	close(ended)
	signals.Wait()
	waitQuiet(&out, &moved)
	if err == nil {
		info := store.ExitInfo{Code: status.Code}
		if status.Signal != nil {
			info.Signal = status.Signal.String()
		}
		r.Record(store.Exited, transport.NoDirection, info)
	}
	return status, err
}

func passSignals(s Stdio, ended <-chan struct{}) {
	for {
		select {
		case sig := <-s.Signals:
			s.Process.Signal(sig)
		case <-ended:
			return
		}
	}
}

// waitQuiet waits for the output of a process that has exited: to its end, or
// until nothing has moved for Linger.
func waitQuiet(out *sync.WaitGroup, moved *atomic.Uint64) {
	done := make(chan struct{})
	go func() { out.Wait(); close(done) }()
	tick := time.NewTicker(Linger)
	defer tick.Stop()
	for last := moved.Load(); ; last = moved.Load() {
		select {
		case <-done:
			return
		case <-tick.C:
			if moved.Load() == last {
				return
			}
		}
	}
}

// counting counts the writes that were begun and those that returned.
type counting struct {
	w io.Writer
	n *atomic.Uint64
}

func (c counting) Write(b []byte) (int, error) {
	c.n.Add(1)
	defer c.n.Add(1)
	return c.w.Write(b)
}

// patient never refuses: a server must not die of a client that closed its
// standard error, and what it says is recorded all the same.
type patient struct{ w io.Writer }

func (p patient) Write(b []byte) (int, error) {
	p.w.Write(b)
	return len(b), nil
}
