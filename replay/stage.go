package replay

import (
	"context"

	"github.com/mcprec/mcprec/transport"
)

// stage holds a reader and a writer apart, so that a peer which writes much
// before it reads is always heard.
type stage struct {
	pacer Pacer
	in    chan heard
	out   chan outgoing
	begun chan struct{} // a frame's gap is over
	taken chan struct{} // the transport has the frame
	ended chan error    // how the writer ended
}

func newStage(pacer Pacer) *stage {
	if pacer == nil {
		pacer = Unpaced{}
	}
	return &stage{
		pacer: pacer, in: make(chan heard), out: make(chan outgoing),
		begun: make(chan struct{}, 1), taken: make(chan struct{}, 1), ended: make(chan error, 1),
	}
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

// write writes one frame after the other, each after its gap, until out is closed.
func (s *stage) write(ctx context.Context, conn transport.Conn) error {
	for {
		select {
		case next, more := <-s.out:
			if !more {
				return nil
			}
			if err := s.pacer.Pace(ctx, next.gap); err != nil {
				return err
			}
			if err := report(ctx, s.begun); err != nil {
				return err
			}
			if err := conn.Write(ctx, next.frame); err != nil {
				return err
			}
			if err := report(ctx, s.taken); err != nil {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// report tells of a step of the writer. When the server is gone nobody may be
// listening: the word on the frame before can still be there.
func report(ctx context.Context, to chan struct{}) error {
	select {
	case to <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
