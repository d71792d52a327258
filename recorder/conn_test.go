package recorder

import (
	"context"
	"errors"
	"testing"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
)

var errPlanted = errors.New("planted")

// failingConn is a connection of frames that fails in all that it is asked for.
type failingConn struct{}

func (failingConn) Read(context.Context) (transport.Frame, error) {
	return transport.Frame{}, errPlanted
}
func (failingConn) Write(context.Context, transport.Frame) error { return errPlanted }
func (failingConn) CloseWrite() error                            { return errPlanted }
func (failingConn) Close() error                                 { return errPlanted }

// failingSpooler does not open.
type failingSpooler struct{}

func (failingSpooler) Spool(context.Context, store.Event) (store.Spool, error) {
	return nil, errPlanted
}

// What is wrapped in order to record it fails as it does without that.
func TestErrorsPass(t *testing.T) {
	rec, _ := open(t)
	defer rec.Close()
	conn := rec.Conn(failingConn{}, transport.ClientToServer)
	for name, fails := range map[string]func() error{
		"Recorder.New":    func() error { _, err := New(t.Context(), failingSpooler{}, store.Header{}); return err },
		"Conn.Read":       func() error { _, err := conn.Read(t.Context()); return err },
		"Conn.Write":      func() error { return conn.Write(t.Context(), transport.Frame{Bytes: []byte("{}")}) },
		"Conn.CloseWrite": func() error { return conn.(transport.HalfCloser).CloseWrite() },
		"Conn.Close":      conn.Close,
	} {
		if err := fails(); !errors.Is(err, errPlanted) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
