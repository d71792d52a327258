package transport

import (
	"context"
	"errors"
	"io"
	"testing"
)

var errInner = errors.New("the inner one failed")

// brokenConn is a Conn whose every method fails.
type brokenConn struct{}

func (brokenConn) Read(context.Context) (Frame, error) { return Frame{}, errInner }

func (brokenConn) Write(context.Context, Frame) error { return errInner }

func (brokenConn) Close() error { return errInner }

// brokenPipe is a byte stream whose every method fails.
type brokenPipe struct{}

func (brokenPipe) Read([]byte) (int, error) { return 0, errInner }

func (brokenPipe) Write([]byte) (int, error) { return 0, errInner }

func (brokenPipe) Close() error { return errInner }

// closable is a byte stream of which only Close fails.
type closable struct{ io.ReadWriter }

func (closable) Close() error { return errInner }

// Whatever stands around a Conn or a byte stream passes its errors on.
func TestErrorsArePassedOn(t *testing.T) {
	ctx := t.Context()
	frame := Frame{Bytes: []byte("{}")}
	for name, call := range map[string]func() error{
		"ByteStream.Read":            func() error { _, err := NewByteStream(brokenConn{}).Read(make([]byte, 9)); return err },
		"ByteStream.Write":           func() error { _, err := NewByteStream(brokenConn{}).Write([]byte("{}\n")); return err },
		"ByteStream.Close":           func() error { return NewByteStream(brokenConn{}).Close() },
		"FrameReader.Read":           func() error { _, err := NewFrameReader(brokenPipe{}).Read(); return err },
		"StreamConn.Read":            func() error { _, err := NewStreamConn(brokenPipe{}, brokenPipe{}).Read(ctx); return err },
		"StreamConn.Write":           func() error { return NewStreamConn(brokenPipe{}, brokenPipe{}).Write(ctx, frame) },
		"StreamConn.CloseWrite":      func() error { return NewStreamConn(brokenPipe{}, brokenPipe{}).CloseWrite() },
		"StreamConn.Close, its end":  func() error { return NewStreamConn(io.NopCloser(nil), closable{}).Close() },
		"StreamConn.Close, the head": func() error { return NewStreamConn(closable{}, discarded{io.Discard}).Close() },
	} {
		if err := call(); !errors.Is(err, errInner) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

type discarded struct{ io.Writer }

func (discarded) Close() error { return nil }
