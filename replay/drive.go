package replay

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/mcprec/mcprec/transport"
)

// farewell is how long Drive reads on when it has ended its own side. Servers that
// heed the end of their input are done in an instant; Close deals with the others.
const farewell = 2 * time.Second

// DriveEnd is how a drive came to its end.
type DriveEnd string

// The ends of a drive.
const (
	// Complete: all was said, and every answer came.
	Complete DriveEnd = "complete"
	// Gone: the server ended the connection before that.
	Gone DriveEnd = "gone"
	// Refused: a redacted value was about to be sent; see [Driver.Guard].
	Refused DriveEnd = "refused"
	// Silent: nothing that was recorded came for as long as Drive was to wait.
	Silent DriveEnd = "silent"
)

// Drive plays d to the server at the other end of conn until all was said and all
// answers came, or the server has gone, or said nothing that was recorded for as
// long as the timeout. Then it ends its side as a client does: it closes what it
// writes to, reads to the end what the server still says, and closes conn.
//
// How the live server's messages compare with the recorded ones is in d.Verdicts,
// what was still to come in d.Pending. An error is the context's, or the
// connection's, wrapped.
func Drive(ctx context.Context, conn transport.Conn, d *Driver, timeout time.Duration) (DriveEnd, error) {
	ctx, cancel := context.WithCancel(ctx)
	s := stage{in: make(chan heard), out: make(chan transport.Frame), written: make(chan error, 1)}
	var workers sync.WaitGroup
	workers.Go(func() { s.read(ctx, conn) })
	workers.Go(func() { s.written <- s.write(ctx, conn) })
	end, err := s.drive(ctx, d, timeout)
	if err == nil && end != Gone {
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

// drive lets d speak until it is done, the server is gone, or nothing goes on.
func (s *stage) drive(ctx context.Context, d *Driver, timeout time.Duration) (DriveEnd, error) {
	queue := d.Start()
	limit := time.NewTimer(timeout)
	defer limit.Stop()
	quiet := newSilence(timeout)
	defer quiet.Stop()
	written := s.written
	for d.refused == "" && (len(queue) > 0 || !d.IsDone() || !d.IsHeard()) {
		if written == nil {
			queue = nil
		}
		quiet.watch(d, len(queue) == 0)
		out, next := s.next(queue)
		heard, moved := d.heard, false
		select {
		case h := <-s.in:
			if h.err != nil {
				return gone(d, h.err)
			}
			queue = append(queue, d.Receive(h.frame)...)
			moved = d.heard > heard // of what nobody recorded there may be no end
		case out <- next:
			queue, moved = queue[1:], true
		case <-quiet.C:
			if d.IsDone() && !d.Waiting() {
				return Complete, nil
			}
			queue, moved = append(queue, d.Relent()...), true
		case <-limit.C:
			return Silent, nil
		case err := <-written:
			if !isEnd(err) {
				return Gone, fmt.Errorf("drive server: write: %w", err)
			}
			s.written <- err // for part
			written = nil    // it may have said something before it went
		case <-ctx.Done():
			return Gone, fmt.Errorf("drive server: %w", ctx.Err())
		}
		if moved {
			limit.Reset(timeout)
			quiet.forget()
		}
	}
	if d.refused != "" {
		return Refused, nil
	}
	return Complete, nil
}

// gone is how a drive ends whose connection has ended.
func gone(d *Driver, err error) (DriveEnd, error) {
	switch {
	case !isEnd(err):
		return Gone, fmt.Errorf("drive server: read: %w", err)
	case d.IsDone():
		return Complete, nil
	}
	return Gone, nil
}

func isEnd(err error) bool { return errors.Is(err, io.EOF) || errors.Is(err, transport.ErrClosed) }

// part ends the client's side and hears the server out.
func (s *stage) part(ctx context.Context, conn transport.Conn, d *Driver) {
	half, ok := conn.(transport.HalfCloser)
	close(s.out)
	patience := time.NewTimer(farewell)
	defer patience.Stop()
	for written := s.written; ; {
		select {
		case <-written: // the last frame is out
			if written = nil; !ok || half.CloseWrite() != nil {
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
		s.Reset(min(d.patience(), s.most)) // before the time is up for good
	case !waits:
		s.Stop()
	}
	s.running = waits
}

// forget begins the time anew.
func (s *silence) forget() {
	s.Stop()
	s.running = false
}
