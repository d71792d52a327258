package recorder

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/phrase"
	"github.com/mcprec/mcprec/transport/procfs"
)

// Grace is how long another process that holds the output of a server that has exited must be
// silent before the session ends without it.
const Grace = 250 * time.Millisecond

// Linger is how long a session lasts after the exit of its server when no client reads the
// server's output, or waits for it.
const Linger = time.Second

// forever is no limit.
const forever = time.Duration(-1)

// passState is where one pass-through stands.
type passState struct {
	state   atomic.Int32
	moved   atomic.Uint64 // changes of state
	read    atomic.Int64  // bytes read and recorded
	passed  atomic.Int64  // bytes of these that were passed on, or more
	drained atomic.Bool   // the server's own bytes have been passed on
	changed chan<- struct{}
	watch   *stallWatch // that sees whether the receiver reads; or nil
}

const (
	reading int32 = iota // waits for its source
	writing              // waits for its destination
	ended
)

func (p *passState) set(state int32) {
	p.state.Store(state)
	p.moved.Add(1)
	if state == ended {
		p.tell()
	}
}

func (p *passState) drain() {
	if !p.drained.Swap(true) {
		p.tell()
	}
}

// tell wakes ending.wait.
func (p *passState) tell() {
	select {
	case p.changed <- struct{}{}:
	default: // the last change has not been looked at yet
	}
}

// mayHaveMore reports whether some of the server's own bytes may still come.
func (p *passState) mayHaveMore() bool { return p.state.Load() != ended && !p.drained.Load() }

// refused returns how the direction ends whose receiver takes no more.
func (p *passState) refused(by, cause string) store.EOFInfo {
	info := store.EOFInfo{By: by, Error: cause}
	if read, passed := p.read.Load(), p.passed.Load(); read > passed {
		info.Read = read
		info.Passed = passed
	}
	return info
}

// heldByOther reports whether another process holds the output of the server.
func (p *passState) heldByOther() bool { return p.state.Load() != ended && p.drained.Load() }

// ending decides when a stdio session whose server has exited is over.
type ending struct {
	c2s, s2c, stderr passState
	changed          chan struct{}
	asked            bool // a signal asks the session to end
	onSignal         func(os.Signal)
}

func newEnding() *ending {
	s := &ending{changed: make(chan struct{}, 1), onSignal: func(os.Signal) {}}
	s.c2s.changed, s.s2c.changed, s.stderr.changed = s.changed, s.changed, s.changed
	return s
}

// limits returns how long the session goes on: until no byte has moved for quiet, and for all in
// any case. heard: some process can read the client's bytes.
//
// The server's own bytes are never given up: they are in the pipe, and the client reads them or
// goes away. Only a client that has asked the session to end and does not read is not waited
// for. Bytes of other processes are passed on as the client would see them without a recorder,
// as long as the client may be waiting: a launcher's server serves on. Standard error alone
// holds up no session.
func (s *ending) limits(heard bool) (quiet, all time.Duration) {
	open := s.c2s.state.Load() != ended && s.s2c.state.Load() != ended
	inHand := s.s2c.state.Load() == writing
	switch {
	case s.s2c.mayHaveMore() && inHand && s.asked:
		return Linger, forever
	case s.s2c.mayHaveMore():
		return forever, forever
	case open && heard && !s.asked:
		return forever, forever
	case s.stderr.mayHaveMore() && s.stderr.state.Load() == writing:
		return Linger, forever
	case s.stderr.mayHaveMore():
		return forever, forever
	case s.asked:
		return 0, 0
	case open && inHand:
		return forever, forever
	case open:
		return Grace, forever
	}
	return Grace, Linger
}

// wait waits until done is closed or the session has lasted to its limits, and reports whether
// done was closed. A signal asks the session to end; another one ends it at once.
func (s *ending) wait(done <-chan struct{}, signals <-chan os.Signal, heard func() bool) bool {
	moves := func() uint64 { return s.c2s.moved.Load() + s.s2c.moved.Load() + s.stderr.moved.Load() }
	moved := moves()
	start := time.Now()
	still := start // since when nothing has moved
	for {
		quiet, all := s.limits(heard())
		now := time.Now()
		if m := moves(); m != moved {
			moved, still = m, now
		}
		if all == forever {
			start = now
		}
		if quiet != forever && now.Sub(still) >= quiet || all != forever && now.Sub(start) >= all {
			return false
		}
		if !tellsEmpty && now.Sub(still) >= Grace { // the reader waits, so the pipe is empty
			for _, out := range []*passState{&s.s2c, &s.stderr} {
				if out.state.Load() == reading {
					out.drain()
				}
			}
		}
		step := Grace / 5
		if quiet == forever && all == forever && tellsEmpty {
			step = Linger // only heard can change without a message on changed
		}
		select {
		case <-done:
			return true
		case sig := <-signals:
			s.onSignal(sig)
			if asksToEnd(sig) && s.asked {
				return false
			}
			s.asked = s.asked || asksToEnd(sig)
		case <-s.changed:
		case <-time.After(step):
		}
	}
}

// eofInfo tells the state of the server's output when the session gives up. If a chunk is in
// hand, the client has not read on.
func (s *ending) eofInfo() store.EOFInfo {
	switch {
	case s.s2c.mayHaveMore():
		return s.s2c.refused("receiver", "what was sent last had not been taken when a signal ended the wait")
	case s.asked:
		return store.EOFInfo{By: "recorder", Error: "still open when a signal had ended the server"}
	case s.c2s.state.Load() == ended:
		return store.EOFInfo{By: "recorder", Error: "still open when the server had exited and the client had ended"}
	}
	return store.EOFInfo{By: "recorder", Error: "still open when the server had exited"}
}

// heldNote tells which outputs of the server other processes hold, and which processes these are; or returns "".
func (s *ending) heldNote(server *transport.Process) string {
	var names, files []string
	if s.s2c.heldByOther() {
		names = append(names, "stdout")
		files = append(files, procfs.Name(int(server.Stdout.Fd())))
	}
	if s.stderr.heldByOther() {
		names = append(names, "stderr")
		files = append(files, procfs.Name(int(server.Stderr.Fd())))
	}
	if names == nil {
		return ""
	}
	text := "another process still holds the server's " + strings.Join(names, " and ")
	if who := outliving(files); len(who) > 0 {
		text += ": " + strings.Join(who, ", ") + phrase.Agree(len(who), " outlives", " outlive") + " the session"
	}
	return text + "; the recording ends as the server did"
}

// outliving names the processes that can write to one of some pipes, where the system shows them.
func outliving(files []string) (names []string) {
	list, _ := procfs.List()
	for _, p := range list {
		if slices.ContainsFunc(p.Pipes, func(d procfs.Descriptor) bool { return d.Writes && slices.Contains(files, d.File) }) {
			names = append(names, fmt.Sprintf("%s (%d, started %v ago)", phrase.Name(p.Name), p.PID, phrase.Brief(p.Age)))
		}
	}
	return names
}
