package standin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
)

// DriveEnd is how a drive ended.
type DriveEnd string

// The ends of a drive.
const (
	// Complete: every frame was sent, and every answer came.
	Complete DriveEnd = "complete"
	// Gone: the server ended the connection before that.
	Gone DriveEnd = "gone"
	// Silent: no recorded message came for as long as Drive was to wait.
	Silent DriveEnd = "silent"
	// Stopped: the caller closed DriveOptions.Stop.
	Stopped DriveEnd = "stopped"
)

// NothingCompared explains a drive without a verdict on any step, which is not a success.
const NothingCompared = "nothing to compare: the recorded server said nothing that a live one has to say again"

// ExitFault says how a live server ended otherwise than the recorded server: of its own accord
// with a status other than 0, or by a signal. It returns "" for any other end. A server asked
// to end, now or in the recording, is never at fault.
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
	how := "the server ended with " + now.String()
	if now.Signal == "" {
		how = "the server ended with exit status " + now.String()
	}
	switch {
	case !known:
		return how + ", and the recording does not say how its server ended"
	case info == now || info.Signal == "terminated" || info.Signal == "killed" || info.Signal == "interrupt":
		return ""
	}
	return fmt.Sprintf("%s, and the recorded one with %s", how, info)
}

// DriveOptions say how a Driver is played.
type DriveOptions struct {
	// Timeout is the longest time without a recorded message; 0 is half a minute.
	Timeout time.Duration
	// Pacer spaces the client's frames; nil is [Unpaced]. A client needs a Pacer if it polls
	// for the end of a task.
	Pacer Pacer
	// HangUp ends an HTTP exchange where the recorded client did, as
	// [transport.ClientConn.HangUp]; nil where there are none.
	HangUp func(exchange uint64)
	// Moved is called with each frame that the server's transport took or gave; it may be nil. sent and
	// received count the frames.
	Moved func(sent, received int)
	// Stop ends the drive at once when closed; it may be nil.
	Stop <-chan struct{}
}

// Drive plays driver to the server at the other end of conn until the client has said everything
// and every answer came, or the server has gone, or no recorded message came within the
// timeout. Then Drive ends the client's side: it closes the output, reads to the end of the
// server's, and closes conn.
//
// driver.Verdicts has the comparison of the live server's messages with the recorded messages, and
// driver.Pending the messages still to come. An error is the context's, or the connection's,
// wrapped.
func Drive(ctx context.Context, conn transport.Conn, driver *Driver, options DriveOptions) (DriveEnd, error) {
	if options.Timeout == 0 {
		options.Timeout = 30 * time.Second
	}
	if options.Pacer == nil {
		options.Pacer = Unpaced{}
	}
	ctx, cancel := context.WithCancel(ctx)
	driver.hangsUp = options.HangUp != nil
	s := &driving{
		DriveOptions: options, conn: conn, driver: driver,
		in: make(chan readResult), out: make(chan outgoing),
		begun: make(chan struct{}, 1), taken: make(chan struct{}, 1), ended: make(chan error, 1),
		limit: time.NewTimer(options.Timeout), quiet: time.NewTimer(options.Timeout),
	}
	s.quiet.Stop()
	s.failed = s.ended
	var workers sync.WaitGroup
	workers.Go(func() {
		for {
			f, err := conn.Read(ctx)
			select {
			case s.in <- readResult{f, err}:
			case <-ctx.Done():
				return
			}
			if err != nil {
				return
			}
		}
	})
	workers.Go(func() { s.ended <- s.write(ctx) })
	end, err := s.run(ctx)
	if err == nil && end != Gone && end != Stopped {
		driver.End()
		s.part(ctx)
		if end == Silent && driver.IsDone() { // the last answers came when the client had ended
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

// driving plays a Driver. The reader and the writer are apart: a server may write much before
// it reads.
type driving struct {
	DriveOptions
	conn   transport.Conn
	driver *Driver

	in    chan readResult
	out   chan outgoing
	begun chan struct{} // the gap in front of a frame is over
	taken chan struct{} // the transport has the frame
	ended chan error    // how the writer ended

	queue    []outgoing
	returned int         // frames returned by the driver
	received int         // frames of the server
	busy     bool        // the writer has a frame
	pacing   bool        // and waits for the frame's time, unknown to the server
	failed   chan error  // is ended; nil once the writer has ended
	limit    *time.Timer // the time without a recorded message
	quiet    *time.Timer // the same, while the driver waits for messages that may never come
	waits    bool        // quiet is running
}

// readResult is the result of a Read.
type readResult struct {
	frame transport.Frame
	err   error
}

// write writes frame after frame, each after the gap in front, until out is closed.
func (s *driving) write(ctx context.Context) error {
	// When the server is gone there may be no listener: the word on the frame before can still
	// be there.
	report := func(step chan struct{}) error {
		select {
		case step <- struct{}{}:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	for {
		select {
		case next, more := <-s.out:
			if !more {
				return nil
			}
			if err := s.Pacer.Pace(ctx, next.gap); err != nil {
				return err
			}
			if err := report(s.begun); err != nil {
				return err
			}
			if err := s.conn.Write(ctx, next.frame); err != nil {
				return err
			}
			if err := report(s.taken); err != nil {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// add queues frames of the driver.
func (s *driving) add(frames []transport.Frame) {
	for _, f := range frames {
		s.queue = append(s.queue, outgoing{frame: f, gap: s.driver.Gap(s.returned)})
		s.returned++
	}
}

// run lets the driver speak until the drive is done, the server is gone, or no progress is
// made.
func (s *driving) run(ctx context.Context) (DriveEnd, error) {
	defer s.limit.Stop()
	defer s.quiet.Stop()
	s.add(s.driver.Start())
	for {
		if len(s.queue) == 0 && !s.busy { // hang up where the recorded client did, and go on
			exchanges := s.driver.HangUps()
			for _, exchange := range exchanges {
				if s.HangUp != nil {
					s.HangUp(exchange)
				}
			}
			if len(exchanges) > 0 {
				s.add(s.driver.AfterHangUps())
			}
		}
		if s.failed == nil { // writing has ended, but the server may have said more first
			s.queue = nil
		}
		isIdle := len(s.queue) == 0 && !s.busy
		if isIdle && s.driver.IsDone() && s.driver.IsHeard() {
			return Complete, nil
		}
		waits := isIdle && (s.driver.Waiting() || s.driver.IsDone())
		switch {
		case waits && !s.waits: // ends before the limit
			s.quiet.Reset(min(s.driver.patience(), s.Timeout-s.Timeout/8))
		case !waits:
			s.quiet.Stop()
		}
		s.waits = waits
		moved, end, err := s.step(ctx)
		if end != "" || err != nil {
			return end, err
		}
		if moved {
			if !s.pacing {
				s.limit.Reset(s.Timeout)
			}
			s.quiet.Stop()
			s.waits = false
		}
	}
}

// moved counts the frames for the caller.
func (s *driving) moved() {
	if s.Moved != nil {
		sent := s.returned - len(s.queue)
		if s.busy {
			sent--
		}
		s.Moved(sent, s.received)
	}
}

// step waits for the next event. It reports whether the session moved on, and how the drive
// ends, if at the end.
func (s *driving) step(ctx context.Context) (moved bool, end DriveEnd, err error) {
	var out chan<- outgoing // nothing goes out while the writer has a frame
	var next outgoing
	if len(s.queue) > 0 && !s.busy {
		out, next = s.out, s.queue[0]
	}
	select {
	case got := <-s.in:
		switch {
		case got.err == nil:
			s.received++
			s.moved()
			heard := s.driver.heard
			s.add(s.driver.Receive(got.frame))
			return s.driver.heard > heard, "", nil // unrecorded messages may have no end
		case !isEnd(got.err):
			return false, Gone, fmt.Errorf("drive server: read: %w", got.err)
		case s.driver.IsDone():
			return false, Complete, nil
		}
		return false, Gone, nil
	case out <- next:
		s.queue = s.queue[1:]
		s.busy = true
		s.pacing = true
		s.limit.Stop()
		return false, "", nil
	case <-s.begun:
		s.pacing = false
		return true, "", nil
	case <-s.taken:
		s.busy = false
		s.pacing = false
		s.moved()
		select {
		case <-s.begun: // of this frame, and not of the next
		default:
		}
		return true, "", nil
	case <-s.quiet.C:
		if s.driver.IsDone() && !s.driver.Waiting() {
			return false, Complete, nil
		}
		s.add(s.driver.GiveUpWaiting())
		return true, "", nil
	case <-s.limit.C:
		return false, Silent, nil
	case <-s.Stop:
		return false, Stopped, nil
	case err := <-s.failed:
		if !isEnd(err) {
			return false, Gone, fmt.Errorf("drive server: write: %w", err)
		}
		s.ended <- err // for part
		s.failed = nil
		s.busy = false
		s.pacing = false
		return true, "", nil
	case <-ctx.Done():
		return false, Gone, fmt.Errorf("drive server: %w", ctx.Err())
	}
}

func isEnd(err error) bool { return errors.Is(err, io.EOF) || errors.Is(err, transport.ErrClosed) }

// part ends the client's side and hears the server out.
func (s *driving) part(ctx context.Context) {
	half, ok := s.conn.(transport.HalfCloser)
	close(s.out)
	patience := time.NewTimer(partingTimeout)
	defer patience.Stop()
	for ended := s.ended; ; {
		select {
		case <-s.begun:
		case <-s.taken:
		case <-ended: // the last frame is out
			ended = nil
			if !ok || half.CloseWrite() != nil {
				return
			}
		case got := <-s.in:
			if got.err != nil {
				return
			}
			s.driver.Receive(got.frame) // no answer can be sent any more
		case <-patience.C:
			return
		case <-ctx.Done():
			return
		}
	}
}
