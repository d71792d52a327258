package external

import (
	"cmp"
	"fmt"
	"time"

	"github.com/mcprec/mcprec/replay/external/child"
	"github.com/mcprec/mcprec/replay/probe"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/leftover"
	"github.com/mcprec/mcprec/transport/procfs"
)

// Probe measures how a server reads and writes: see package probe. Each experiment has a process of its own.
// stop, if not nil, ends the probe with [child.ErrStopped]; progress is called before each experiment.
func Probe(server Server, options probe.Options, stop <-chan struct{}, progress func(experiments int)) (probe.Report, error) {
	if err := procfs.Supported(); err != nil {
		return probe.Report{}, fmt.Errorf("probe a server process: %w", err)
	}
	leftover.Sweep()
	bench := &processes{server: server, stop: stop, progress: progress}
	report, err := probe.Server(bench, options)
	report.Evidence = probe.External
	if bench.isStopped() {
		return report, child.ErrStopped
	}
	return report, err
}

// processes is a bench: each experiment has a process.
type processes struct {
	server   Server
	stop     <-chan struct{}
	progress func(experiments int)
	played   int
}

func (b *processes) isStopped() bool { return child.IsClosed(b.stop) }

// Play implements [probe.Bench].
func (b *processes) Play(experiment func(probe.Line)) error {
	if b.isStopped() { // and say nothing more of the progress
		return child.ErrStopped
	}
	if b.progress != nil {
		b.progress(b.played)
	}
	b.played++
	return child.InPlace(b.server.Folder, b.stop, false, func(at child.Place) error {
		process, pipes, err := child.StartServer(b.server.program(), at)
		if err != nil {
			return err
		}
		defer process.Kill()
		experiment(&processLine{process: process, pipes: pipes, room: pipes.Narrow(), isStopped: b.isStopped})
		return nil
	})
}

// processLine is a line to a process.
type processLine struct {
	process   *child.Process
	pipes     *child.Pipes
	room      int
	isStopped func() bool
	look      procfs.Look
	since     time.Time // of the first Pass in a row
	sent      int       // bytes
	ends      []int     // where each frame ends, in bytes sent
}

// Send writes the frames in one go.
func (l *processLine) Send(frames ...transport.Frame) {
	var data []byte
	for _, f := range frames {
		data = append(append(data, f.Bytes...), '\n')
		l.ends = append(l.ends, l.sent+len(data))
	}
	l.sent += len(data)
	l.pipes.Write(data)
}

// Listen reads everything, or nothing.
func (l *processLine) Listen(frames int) { l.process.Unread = frames == 0 }

// Rest waits until the kernel shows that every thread of the server sleeps.
func (l *processLine) Rest() probe.Stand {
	isMoved := true
	for isMoved && !l.isStopped() {
		l.look, isMoved = l.process.Settle(child.Searching)
	}
	stand := probe.Stand{Over: l.look.Activity == procfs.Ended}
	if stand.Over {
		stand.Ended = cmp.Or(l.process.Status(), "exit status 0")
	}
	stand.Heard = l.pipes.Said()
	taken := l.sent - l.pipes.Untaken()
	for i := len(l.ends) - 1; i >= 0 && l.ends[i] > taken; i-- {
		stand.Untaken++
	}
	if l.look.Activity != procfs.Asleep && l.look.Activity != procfs.Full && l.look.Activity != procfs.Ended {
		stand.Unsure = l.look.String()
	}
	return stand
}

// Pass waits a little, as long as a timer or something outside may still move the server.
func (l *processLine) Pass(tries int) bool {
	if tries == 0 {
		l.since = time.Now()
	}
	if l.isStopped() || !child.Searching.IsWorthIt(l.look, time.Since(l.since)) {
		return false
	}
	time.Sleep(500 * time.Microsecond)
	return true
}

func (l *processLine) Room() int { return l.room }
