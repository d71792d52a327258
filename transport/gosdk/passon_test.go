package gosdk_test

import (
	"context"
	"errors"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcprec/mcprec/recorder"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/memstore"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/gosdk"
)

var errInner = errors.New("the inner one failed")

// brokenConn is a Conn whose every method fails.
type brokenConn struct{}

func (brokenConn) Read(context.Context) (transport.Frame, error) {
	return transport.Frame{}, errInner
}

func (brokenConn) Write(context.Context, transport.Frame) error { return errInner }

func (brokenConn) Close() error { return errInner }

// brokenPipe is a byte stream whose every method fails.
type brokenPipe struct{}

func (brokenPipe) Read([]byte) (int, error) { return 0, errInner }

func (brokenPipe) Write([]byte) (int, error) { return 0, errInner }

func (brokenPipe) Close() error { return errInner }

// brokenTransport is one of the SDK whose connection fails, or that has none.
type brokenTransport struct{ refuses bool }

func (t brokenTransport) Connect(context.Context) (mcp.Connection, error) {
	if t.refuses {
		return nil, errInner
	}
	return brokenConnection{}, nil
}

type brokenConnection struct{}

func (brokenConnection) Read(context.Context) (jsonrpc.Message, error) { return nil, errInner }

func (brokenConnection) Write(context.Context, jsonrpc.Message) error { return errInner }

func (brokenConnection) Close() error { return errInner }

func (brokenConnection) SessionID() string { return "" }

// Whatever stands around a connection passes its errors on to the SDK.
func TestErrorsArePassedOn(t *testing.T) {
	ctx := t.Context()
	rec, err := recorder.New(ctx, memstore.New(), store.Header{Transport: "memory"})
	if err != nil {
		t.Fatal(err)
	}
	defer rec.Close()
	message, err := jsonrpc.DecodeMessage([]byte(`{"jsonrpc":"2.0","method":"notifications/initialized"}`))
	if err != nil {
		t.Fatal(err)
	}
	tap := func(inner mcp.Transport) mcp.Transport { return gosdk.Tap(inner, rec, transport.ClientToServer) }
	if _, err := tap(brokenTransport{refuses: true}).Connect(ctx); !errors.Is(err, errInner) {
		t.Errorf("Tap, Connect: %v", err)
	}
	bytewise := tap(&mcp.IOTransport{Reader: brokenPipe{}, Writer: brokenPipe{}}).(*mcp.IOTransport)
	for name, call := range map[string]func() error{
		"Tap of bytes, Read":         func() error { _, err := bytewise.Reader.Read(make([]byte, 9)); return err },
		"Tap of bytes, Write":        func() error { _, err := bytewise.Writer.Write([]byte("{}\n")); return err },
		"Tap of bytes, Reader.Close": func() error { return bytewise.Reader.Close() },
		"Tap of bytes, Writer.Close": func() error { return bytewise.Writer.Close() },
	} {
		if err := call(); !errors.Is(err, errInner) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, outer := range map[string]mcp.Transport{
		"Transport": gosdk.Transport(brokenConn{}),
		"Tap":       tap(brokenTransport{}),
	} {
		c, err := outer.Connect(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Read(ctx); !errors.Is(err, errInner) {
			t.Errorf("%s, Read: %v", name, err)
		}
		if err := c.Write(ctx, message); !errors.Is(err, errInner) {
			t.Errorf("%s, Write: %v", name, err)
		}
		if err := c.Close(); !errors.Is(err, errInner) {
			t.Errorf("%s, Close: %v", name, err)
		}
	}
}
