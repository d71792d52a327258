package gosdk_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcprec/mcprec/recorder"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/memstore"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/gosdk"
)

// ends is a client's and a server's transport.
type ends struct{ client, server mcp.Transport }

// streams joins two IOTransports, and keeps the bytes that pass each way.
func streams() (e ends, sent map[transport.Direction]*bytes.Buffer) {
	sent = map[transport.Direction]*bytes.Buffer{transport.ClientToServer: {}, transport.ServerToClient: {}}
	fromClient, toServer := io.Pipe()
	fromServer, toClient := io.Pipe()
	return ends{
		client: &mcp.IOTransport{Reader: fromServer, Writer: tee{toServer, sent[transport.ClientToServer]}},
		server: &mcp.IOTransport{Reader: fromClient, Writer: tee{toClient, sent[transport.ServerToClient]}},
	}, sent
}

type tee struct {
	io.WriteCloser
	copy io.Writer
}

func (t tee) Write(p []byte) (int, error) {
	t.copy.Write(p)
	return t.WriteCloser.Write(p)
}

// record runs a session with a tap around one end and returns its log.
func record(t *testing.T, e ends, sends transport.Direction) []store.Event {
	t.Helper()
	s := memstore.New()
	r, err := recorder.New(t.Context(), s, store.Header{Transport: "memory"})
	if err != nil {
		t.Fatal(err)
	}
	if sends == transport.ClientToServer {
		e.client = gosdk.Tap(e.client, r, sends)
	} else {
		e.server = gosdk.Tap(e.server, r, sends)
	}
	server, err := newQuietServer().Connect(t.Context(), e.server, nil)
	if err != nil {
		t.Fatal(err)
	}
	client, err := newClient(&mcp.ClientOptions{
		ProgressNotificationHandler: func(context.Context, *mcp.ProgressNotificationClientRequest) {},
	}).Connect(t.Context(), e.client, speaking(handshake))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(callCount(t.Context(), client), client.Close(), server.Wait()); err != nil {
		t.Error(err)
	}
	if sum := r.Close(); sum.Err != nil || sum.Lost > 0 {
		t.Errorf("the recording has %d lost, %v", sum.Lost, sum.Err)
	}
	var events []store.Event
	for e, err := range s.Read(t.Context(), r.ID(), 1, store.ReadOptions{}) {
		if err != nil {
			t.Fatal(err)
		}
		events = append(events, e)
	}
	return events
}

// TestTapBytes: an IOTransport's log has the bytes that passed, at either end.
func TestTapBytes(t *testing.T) {
	for _, sends := range []transport.Direction{transport.ClientToServer, transport.ServerToClient} {
		e, sent := streams()
		got := map[transport.Direction][]byte{}
		for _, e := range record(t, e, sends) {
			if e.Kind == store.Frame {
				got[e.Dir] = transport.AppendFrame(got[e.Dir], e.AsFrame())
			}
		}
		for dir, want := range sent {
			if !bytes.Equal(got[dir], want.Bytes()) {
				t.Errorf("tap at the %s: %v has\n%s\nrecorded\n%s", sends.Sender(), dir, want, got[dir])
			}
		}
	}
}

// TestTapMessages: the in-memory pair's log has each message, in its place: the
// call, its progress, its response.
func TestTapMessages(t *testing.T) {
	for _, sends := range []transport.Direction{transport.ClientToServer, transport.ServerToClient} {
		var e ends
		e.client, e.server = mcp.NewInMemoryTransports()
		var got []string
		for _, e := range record(t, e, sends) {
			messages, err := e.AsFrame().Messages()
			if e.Kind != store.Frame || err != nil {
				continue
			}
			got = append(got, e.Dir.String()+" "+messages[0].Kind().String()+" "+messages[0].Method)
		}
		want := []string{
			"c2s request initialize", "s2c response ", "c2s notification notifications/initialized",
			"c2s request tools/call",
			"s2c notification notifications/progress", "s2c notification notifications/progress", "s2c notification notifications/progress",
			"s2c response ",
		}
		if len(got) != len(want) {
			t.Fatalf("tap at the %s: recorded %q, want %q", sends.Sender(), got, want)
		}
		for i := range want {
			if got[i] != want[i] {
				t.Errorf("tap at the %s: frame %d is %s, want %s", sends.Sender(), i+1, got[i], want[i])
			}
		}
	}
}

// TestTapHTTP: the SDK looks at its own connections over HTTP for methods that a
// tap would hide.
func TestTapHTTP(t *testing.T) {
	for _, inner := range []mcp.Transport{&mcp.StreamableClientTransport{}, &mcp.SSEClientTransport{}} {
		tap := gosdk.Tap(inner, recorder.Unrecorded(errors.New("none")), transport.ClientToServer)
		if _, err := tap.Connect(t.Context()); !errors.Is(err, gosdk.ErrHTTP) {
			t.Errorf("connect %T: %v, want %v", inner, err, gosdk.ErrHTTP)
		}
	}
}
