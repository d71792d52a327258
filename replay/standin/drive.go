package standin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
)

// partingTimeout is how long Drive reads on when it has ended its own side. Servers that
// heed the end of their input are done in an instant; Close deals with the others.
const partingTimeout = 2 * time.Second

// DriveEnd is how a drive came to its end.
type DriveEnd string

// The ends of a drive.
const (
	// Complete: all was said, and every answer came.
	Complete DriveEnd = "complete"
	// Gone: the server ended the connection before that.
	Gone DriveEnd = "gone"
	// Silent: nothing that was recorded came for as long as Drive was to wait.
	Silent DriveEnd = "silent"
	// Stopped: the caller closed DriveOptions.Stop.
	Stopped DriveEnd = "stopped"
)

// NothingCompared explains a drive without a verdict on any step, which is not a success.
const NothingCompared = "nothing to compare: the recorded server said nothing that a live one has to say again"

// ExitFault says how a live server that was driven to its end ended otherwise than the
// recorded one: of its own accord with a status that is not 0, or by a signal. It returns ""
// if the server did not. A server that was asked to end, now or in the recording, is not to
// blame for how it ended.
func ExitFault(recorded []store.Event, live transport.ExitStatus) string {
	if live.Asked || live.Code == 0 {
		return ""
	}
	var info store.ExitInfo
	known := false
	for _, e := range slices.Backward(recorded) {
		if e.Kind == store.Exited {
			var err error
			info, err = store.DecodePayload[store.ExitInfo](e)
			known = err == nil
			break
		}
	}
	now := store.ExitInfoOf(live)
	how := "the server ended with " + exitText(now)
	switch {
	case !known:
		return how + ", and the recording does not say how its server ended"
	case info == now || info.Signal == "terminated" || info.Signal == "killed" || info.Signal == "interrupt":
		return ""
	}
	return fmt.Sprintf("%s, and the recorded one with %s", how, strings.TrimPrefix(exitText(info), "exit status "))
}

func exitText(info store.ExitInfo) string {
	if info.Signal != "" {
		return info.String()
	}
	return "exit status " + info.String()
}

// DriveOptions say how a Driver is played.
type DriveOptions struct {
	// Timeout is how long nothing that was recorded may come; 0 is half a minute.
	Timeout time.Duration
	// Pacer spaces what the client says; nil is [Unpaced]. A client that asks again
	// and again until something is done needs one.
	Pacer Pacer
	// HangUp ends an HTTP exchange where the recorded client did, as
	// [transport.ClientConn.HangUp]; nil where there are none.
	HangUp func(exchange uint64)
	// Stop, when it is closed, ends the drive where it stands; nil: nothing does.
	Stop <-chan struct{}
}

// Drive plays d to the server at the other end of conn until all was said and all
// answers came, or the server has gone, or said nothing that was recorded for as
// long as the timeout. Then it ends its side as a client does: it closes what it
// writes to, reads to the end what the server still says, and closes conn.
//
// How the live server's messages compare with the recorded ones is in d.Verdicts,
// what was still to come in d.Pending. An error is the context's, or the
// connection's, wrapped.
func Drive(ctx context.Context, conn transport.Conn, d *Driver, o DriveOptions) (DriveEnd, error) {
	if o.Timeout == 0 {
		o.Timeout = 30 * time.Second
	}
	ctx, cancel := context.WithCancel(ctx)
	d.order.hangsUp = o.HangUp != nil
	if o.HangUp == nil {
		o.HangUp = func(uint64) {}
	}
	s := newIOLoop(o.Pacer)
	var workers sync.WaitGroup
	workers.Go(func() { s.read(ctx, conn) })
	workers.Go(func() { s.ended <- s.write(ctx, conn) })
	p := driving{
		ioLoop: s, driver: d, failed: s.ended, timeout: o.Timeout, hangUp: o.HangUp, stop: o.Stop,
		limit: time.NewTimer(o.Timeout), quiet: newSilence(o.Timeout),
	}
	end, err := p.run(ctx)
	if err == nil && end != Gone && end != Stopped {
		d.End()
		s.part(ctx, conn, d)
		if end == Silent && d.IsDone() { // the last answers came when the client had ended
			end = Complete
		}
	}
	cancel()
	closeErr := conn.Close()
	workers.Wait()
	if err == nil && closeErr != nil {
		err = fmt.Errorf("drive server: close: %w", closeErr)
	}
	return end, err
}

// driving plays a Driver between its reader and its writer.
type driving struct {
	*ioLoop
	driver  *Driver
	queue   []outgoing
	said    int        // frames that the driver has returned
	busy    bool       // the writer has one
	pacing  bool       // and waits for its time, of which the server knows nothing
	failed  chan error // the writer's end; nil once that has come
	timeout time.Duration
	hangUp  func(exchange uint64)
	stop    <-chan struct{}
	limit   *time.Timer
	quiet   *silence
}

// add queues what the driver has returned.
func (s *driving) add(frames []transport.Frame) {
	for _, f := range frames {
		s.queue = append(s.queue, outgoing{frame: f, n: s.said, gap: s.driver.Gap(s.said)})
		s.said++
	}
}

// run lets the driver speak until it is done, the server is gone, or nothing goes
// on.
func (s *driving) run(ctx context.Context) (DriveEnd, error) {
	defer s.limit.Stop()
	defer s.quiet.Stop()
	s.add(s.driver.Start())
	for {
		s.hangUpWhereDue()
		if s.failed == nil { // there is nothing to say, but the server may have said something first
			s.queue = nil
		}
		if s.isIdle() && s.driver.IsDone() && s.driver.IsHeard() {
			return Complete, nil
		}
		s.quiet.watch(s.driver, s.isIdle())
		moved, end, err := s.step(ctx)
		if end != "" || err != nil {
			return end, err
		}
		if moved {
			if !s.pacing {
				s.limit.Reset(s.timeout)
			}
			s.quiet.Stop()
			s.quiet.running = false
		}
	}
}

// isIdle reports whether all is written that the driver has returned.
func (s *driving) isIdle() bool { return len(s.queue) == 0 && !s.busy }

// hangUpWhereDue hangs up where the recorded client did next, and goes on to what it
// said then.
func (s *driving) hangUpWhereDue() {
	if !s.isIdle() {
		return
	}
	exchanges := s.driver.HangUps()
	for _, exchange := range exchanges {
		s.hangUp(exchange)
	}
	if len(exchanges) > 0 {
		s.add(s.driver.release())
	}
}

// step waits for one thing to happen, and reports whether the session moved on by
// it, and where that ends it, how.
func (s *driving) step(ctx context.Context) (moved bool, end DriveEnd, err error) {
	var out chan<- outgoing // nothing goes out while the writer has another
	var next outgoing
	if len(s.queue) > 0 && !s.busy {
		out, next = s.out, s.queue[0]
	}
	select {
	case h := <-s.in:
		if h.err != nil {
			switch {
			case !isEnd(h.err):
				return false, Gone, fmt.Errorf("drive server: read: %w", h.err)
			case s.driver.IsDone():
				return false, Complete, nil
			}
			return false, Gone, nil
		}
		heard := s.driver.heard
		s.add(s.driver.Receive(h.frame))
		return s.driver.heard > heard, "", nil // of what nobody recorded there may be no end
	case out <- next:
		s.queue, s.busy, s.pacing = s.queue[1:], true, true
		s.limit.Stop()
		return false, "", nil
	case <-s.begun:
		s.pacing = false
		return true, "", nil
	case <-s.taken:
		s.busy, s.pacing = false, false
		select {
		case <-s.begun: // of this frame: it must not be taken for the next one's
		default:
		}
		return true, "", nil
	case <-s.quiet.C:
		if s.driver.IsDone() && !s.driver.Waiting() {
			return false, Complete, nil
		}
		s.add(s.driver.Relent())
		return true, "", nil
	case <-s.limit.C:
		return false, Silent, nil
	case <-s.stop:
		return false, Stopped, nil
	case err := <-s.failed:
		if !isEnd(err) {
			return false, Gone, fmt.Errorf("drive server: write: %w", err)
		}
		s.ended <- err // for part
		s.failed, s.busy, s.pacing = nil, false, false
		return true, "", nil
	case <-ctx.Done():
		return false, Gone, fmt.Errorf("drive server: %w", ctx.Err())
	}
}

func isEnd(err error) bool { return errors.Is(err, io.EOF) || errors.Is(err, transport.ErrClosed) }

// part ends the client's side and hears the server out.
func (s *ioLoop) part(ctx context.Context, conn transport.Conn, d *Driver) {
	half, ok := conn.(transport.HalfCloser)
	close(s.out)
	patience := time.NewTimer(partingTimeout)
	defer patience.Stop()
	for ended := s.ended; ; {
		select {
		case <-s.begun:
		case <-s.taken:
		case <-ended: // the last frame is out
			if ended = nil; !ok || half.CloseWrite() != nil {
				return
			}
		case h := <-s.in:
			if h.err != nil {
				return
			}
			d.Receive(h.frame) // there is nobody to answer to any more
		case <-patience.C:
			return
		case <-ctx.Done():
			return
		}
	}
}

// silence is the time since the live server said something that was recorded,
// while the driver waits for what may never come. It runs on while the server says
// other things.
type silence struct {
	*time.Timer
	running bool
	most    time.Duration
}

func newSilence(timeout time.Duration) *silence {
	s := &silence{Timer: time.NewTimer(timeout), most: timeout - timeout/8}
	s.Stop()
	return s
}

// watch starts the time when the driver waits, and stops it when it does not.
func (s *silence) watch(d *Driver, idle bool) {
	waits := idle && (d.Waiting() || d.IsDone())
	switch {
	case waits && !s.running:
		s.Reset(min(d.order.patience(), s.most)) // before the time is up for good
	case !waits:
		s.Stop()
	}
	s.running = waits
}
