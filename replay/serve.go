package replay

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/mcprec/mcprec/transport"
)

// Serve plays p to the client at the other end of conn until the client ends its
// side, writes what there is to say, and returns nil. It returns the context's
// error, or the connection's, wrapped. What the client did otherwise than the
// recorded one is in p.Close. Serve closes conn, which also ends a write to a
// client that does not read.
func Serve(ctx context.Context, conn transport.Conn, p *Player) error {
	ctx, cancel := context.WithCancel(ctx)
	s := stage{in: make(chan heard), out: make(chan transport.Frame), written: make(chan error, 1)}
	var workers sync.WaitGroup
	workers.Go(func() { s.read(ctx, conn) })
	workers.Go(func() { s.written <- s.write(ctx, conn) })
	err := s.run(ctx, p)
	cancel()
	closeErr := conn.Close()
	workers.Wait()
	if err == nil && closeErr != nil {
		err = fmt.Errorf("serve session: close: %w", closeErr)
	}
	return err
}

// stage holds a reader and a writer apart, so that a client which writes much
// before it reads is always heard.
type stage struct {
	in      chan heard
	out     chan transport.Frame
	written chan error // how the writer ended
}

// heard is what a Read returned.
type heard struct {
	frame transport.Frame
	err   error
}

func (s *stage) read(ctx context.Context, conn transport.Conn) {
	for {
		f, err := conn.Read(ctx)
		select {
		case s.in <- heard{f, err}:
		case <-ctx.Done():
			return
		}
		if err != nil {
			return
		}
	}
}

func (s *stage) write(ctx context.Context, conn transport.Conn) error {
	for {
		select {
		case f, more := <-s.out:
			if !more {
				return nil
			}
			if err := conn.Write(ctx, f); err != nil {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// run lets p speak until the client has ended and the last frame was written.
func (s *stage) run(ctx context.Context, p *Player) error {
	queue := p.Start()
	silence := time.NewTimer(patience)
	defer silence.Stop()
	in := s.in
	for in != nil || len(queue) > 0 {
		if silence.Stop(); len(queue) == 0 && p.Waiting() {
			silence.Reset(patience)
		}
		out, next := s.next(queue)
		select {
		case h := <-in:
			if h.err != nil && h.err != io.EOF {
				return fmt.Errorf("serve session: read from client: %w", h.err)
			}
			if h.err == io.EOF {
				in = nil
				queue = append(queue, p.End()...)
				break
			}
			queue = append(queue, p.Receive(h.frame)...)
		case out <- next:
			queue = queue[1:]
		case <-silence.C:
			queue = append(queue, p.Relent()...)
		case err := <-s.written:
			return endOfWriting(err, in == nil)
		case <-ctx.Done():
			return fmt.Errorf("serve session: %w", ctx.Err())
		}
	}
	close(s.out)
	select {
	case err := <-s.written:
		return endOfWriting(err, true)
	case <-ctx.Done():
		return fmt.Errorf("serve session: %w", ctx.Err())
	}
}

// next returns the head of the queue and where it goes; nothing goes anywhere
// while the queue is empty.
func (s *stage) next(queue []transport.Frame) (chan<- transport.Frame, transport.Frame) {
	if len(queue) == 0 {
		return nil, transport.Frame{}
	}
	return s.out, queue[0]
}

// endOfWriting is Serve's result when the writer has ended. A client that has
// ended its own side need not hear the rest.
func endOfWriting(err error, ended bool) error {
	if err == nil || ended {
		return nil
	}
	return fmt.Errorf("serve session: write to client: %w", err)
}
