package replay

import (
	"context"

	"github.com/mcprec/mcprec/transport"
)

// stage holds a reader and a writer apart, so that a peer which writes much
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

// next returns the head of the queue and where it goes; nothing goes anywhere
// while the queue is empty.
func (s *stage) next(queue []transport.Frame) (chan<- transport.Frame, transport.Frame) {
	if len(queue) == 0 {
		return nil, transport.Frame{}
	}
	return s.out, queue[0]
}
