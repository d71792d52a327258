package mcpgo

import (
	"context"
	"errors"
	"testing"

	"github.com/mcprec/mcprec/transport"
)

// brokenConn is a Conn whose every method fails.
type brokenConn struct{ err error }

func (c brokenConn) Read(context.Context) (transport.Frame, error) {
	return transport.Frame{}, c.err
}

func (c brokenConn) Write(context.Context, transport.Frame) error { return c.err }

func (c brokenConn) Close() error { return c.err }

// What stands around a Conn passes its errors on, and whose turn it was has ended.
func TestErrorsArePassedOn(t *testing.T) {
	ctx, inner := t.Context(), errors.New("the inner one failed")
	c := &turns{Conn: brokenConn{inner}, free: make(chan struct{}, 1)}
	for name, call := range map[string]func() error{
		"Read":          func() error { _, err := c.Read(ctx); return err },
		"Write":         func() error { return c.Write(ctx, transport.Frame{}) },
		"Write, a turn": func() error { c.take(ctx); return c.Write(ctx, transport.Frame{}) },
		"Close":         func() error { return c.Close() },
	} {
		if err := call(); !errors.Is(err, inner) {
			t.Errorf("%s: %v", name, err)
		}
		if len(c.free) > 0 {
			t.Errorf("%s: the turn was not given on", name)
		}
	}
}
