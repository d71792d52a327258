package transport

import (
	"context"
	"sync"
)

// Each calls handle with every frame, on the goroutine that reads, and returns as
// Read does when there are no more, when the connection is closed, or when the
// context ends. handle is not called after that, and must not block: nothing is
// read meanwhile. It is instead of Read, once, for who answers at once: handing a
// frame to another goroutine takes longer than to answer it.
func (c *StreamConn) Each(ctx context.Context, handle func(Frame)) error {
	var mu sync.Mutex
	over := false
	end := make(chan error, 1)
	go func() { // nobody waits for it; see Read
		r := NewFrameReader(c.in)
		for {
			f, err := r.Read()
			if err != nil {
				end <- err
				return
			}
			mu.Lock()
			if over {
				mu.Unlock()
				return
			}
			handle(f)
			mu.Unlock()
		}
	}()
	err := ErrClosed
	select {
	case err = <-end:
		if c.isClosed() { // whose doing the reader's error is
			err = ErrClosed
		}
	case <-c.closed:
	case <-ctx.Done():
		err = ctx.Err()
	}
	mu.Lock()
	defer mu.Unlock()
	over = true
	return err
}

// promptSize is how many bytes a pipe takes at once if it takes any: PIPE_BUF.
const promptSize = 4096

// WriteNow writes a frame if it is known that this does not block, and reports
// whether it did. Where it is not, Write finds out why.
func (c *StreamConn) WriteNow(f Frame) bool {
	if len(f.Bytes) >= promptSize || f.Sendable() != nil || c.isClosed() || !hasRoom(c.out) {
		return false
	}
	select {
	case buf := <-c.write:
		buf = AppendFrame(buf[:0], f)
		_, err := c.out.Write(buf)
		c.write <- buf
		return err == nil
	default: // somebody writes, or nobody may any more
		return false
	}
}
