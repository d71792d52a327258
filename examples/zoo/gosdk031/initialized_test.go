package gosdk031

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcprec/mcprec/examples/zoo"
	"github.com/mcprec/mcprec/replay/explore"
	"github.com/mcprec/mcprec/transport"
)

// TestOvertakenInitialized is https://github.com/modelcontextprotocol/go-sdk/issues/395:
// a request that overtakes notifications/initialized is refused. Over HTTP two POSTs
// overtake each other on the way; here a client writes both at once, and which is
// taken first is a choice. Since v0.4.0 the server answers.
func TestOvertakenInitialized(t *testing.T) {
	zoo.Case{
		Name: "go-sdk 395 initialized overtaken",
		SDK:  mcp.NewServer,
		Plan: explore.Plan{Setup: func(r *explore.Run) {
			server := mcp.NewServer(&mcp.Implementation{Name: "strict", Version: "1"}, &mcp.ServerOptions{HasTools: true})
			if _, err := server.Connect(r.Context(), connector{r.Server()}, nil); err != nil {
				panic(err)
			}
			r.Op("initialize", func(ctx context.Context) error {
				return ask(ctx, r.Client(), `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"hasty","version":"1"}}}`)
			})
			r.Op("ready", func(ctx context.Context) error {
				return r.Client().Write(ctx, transport.Frame{Bytes: []byte(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)})
			}).After("initialize")
			r.Op("list", func(ctx context.Context) error {
				return ask(ctx, r.Client(), `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`)
			}).After("initialize")
		}},
		Want: map[string]zoo.Want{
			"v0.3.1": {Session: "gosdk-395", Verdict: explore.CheckFailed, Says: []string{"tools/list", "session initialization"}},
			"v0.4.0": {},
		},
	}.Run(t)
}

// TestSessionOvertaken is the same in one order: the client is the recorded one of the
// golden session, whose request has overtaken the notification.
func TestSessionOvertaken(t *testing.T) {
	zoo.Case{
		Name: "go-sdk 395 overtaken, session",
		SDK:  mcp.NewServer,
		Plan: explore.Plan{
			Session: zoo.Golden(t, "gosdk-395").Events(),
			Setup: func(r *explore.Run) {
				watched := &refusals{Conn: r.Server()}
				r.Data = watched
				server := mcp.NewServer(&mcp.Implementation{Name: "strict", Version: "1"}, &mcp.ServerOptions{HasTools: true})
				if _, err := server.Connect(r.Context(), connector{watched}, nil); err != nil {
					panic(err)
				}
				r.RecordedClient()
			},
			Check: func(r *explore.Run) error { return errors.Join(r.Data.(*refusals).err, r.Failures()) },
		},
		Want: map[string]zoo.Want{
			"v0.3.1": {Verdict: explore.CheckFailed, Says: []string{"tools/list", "session initialization"}},
			"v0.4.0": {},
		},
	}.Run(t)
}

// refusals is a server's Conn that keeps the last refusal. The golden session has one
// itself, so that a server which answers is the one that differs from it.
type refusals struct {
	transport.Conn
	err error
}

func (r *refusals) Write(ctx context.Context, f transport.Frame) error {
	if messages, err := f.Messages(); err == nil && messages[0].Error != nil {
		r.err = fmt.Errorf("the request was refused: %s", messages[0].Error)
	}
	return r.Conn.Write(ctx, f)
}

// ask writes a request and reads its answer.
func ask(ctx context.Context, conn transport.Conn, request string) error {
	if err := conn.Write(ctx, transport.Frame{Bytes: []byte(request)}); err != nil {
		return err
	}
	f, err := conn.Read(ctx)
	if err != nil {
		return err
	}
	messages, err := f.Messages()
	if err != nil {
		return err
	}
	if messages[0].Error != nil {
		return fmt.Errorf("the request was refused: %s", messages[0].Error)
	}
	return nil
}

// connector is what transport/gosdk does, for releases before its oldest.
type connector struct{ conn transport.Conn }

func (c connector) Connect(context.Context) (mcp.Connection, error) { return c, nil }

func (c connector) Read(ctx context.Context) (jsonrpc.Message, error) {
	f, err := c.conn.Read(ctx)
	if err != nil {
		return nil, err
	}
	return jsonrpc.DecodeMessage(f.Bytes)
}

func (c connector) Write(ctx context.Context, m jsonrpc.Message) error {
	b, err := jsonrpc.EncodeMessage(m)
	return errors.Join(err, c.conn.Write(ctx, transport.Frame{Bytes: b}))
}

func (c connector) Close() error      { return c.conn.Close() }
func (c connector) SessionID() string { return "" }
