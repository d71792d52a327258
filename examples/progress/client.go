package progress

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strconv"

	"github.com/mcprec/mcprec/transport"
)

// The parameters of the client's three messages.
const (
	hello = `{"clientInfo":{"name":"demo client","version":"1.0.0"},"protocolVersion":"` + revision +
		`","capabilities":{"roots":{"listChanged":true}}}`
	call = `{"_meta":{"progressToken":"count-1"},"name":"count","arguments":{"text":"hello, world"}}`
)

// Call is the client: it calls the tool once over conn with a progress token, says
// on w what it saw, and closes conn. It reads whenever it waits, so that no order of
// what a server may send stops it.
func Call(ctx context.Context, w io.Writer, conn transport.Conn) error {
	defer conn.Close()
	c := client{conn: conn, out: w}
	greeting, err := c.request(ctx, "initialize", hello)
	if err != nil {
		return fmt.Errorf("initialize: %w", err)
	}
	var server struct{ ProtocolVersion string }
	if err := json.Unmarshal(greeting, &server); err != nil || server.ProtocolVersion != revision {
		return fmt.Errorf("initialize: the server speaks revision %q, not %s", server.ProtocolVersion, revision)
	}
	if err := write(ctx, conn, message{Method: "notifications/initialized", Params: struct{}{}}); err != nil {
		return fmt.Errorf("initialize: %w", err)
	}
	raw, err := c.request(ctx, "tools/call", call)
	if err != nil {
		return fmt.Errorf("call the tool: %w", err)
	}
	var result content
	if err := json.Unmarshal(raw, &result); err != nil {
		return fmt.Errorf("read the tool's result: %w", err)
	}
	for _, c := range result.Content {
		fmt.Fprintf(w, "client: the tool said %q\n", c.Text)
	}
	return nil
}

// client makes one request at a time.
type client struct {
	conn transport.Conn
	out  io.Writer
	last int // id
}

// request sends a request and reads until its response is there.
func (c *client) request(ctx context.Context, method, params string) (json.RawMessage, error) {
	c.last++
	id := json.RawMessage(strconv.Itoa(c.last))
	if err := write(ctx, c.conn, message{ID: id, Method: method, Params: json.RawMessage(params)}); err != nil {
		return nil, err
	}
	for {
		f, err := c.conn.Read(ctx)
		if err != nil {
			return nil, err
		}
		messages, _ := f.Messages() // a line that is not JSON is not for us
		for _, m := range messages {
			switch {
			case m.Kind() != transport.Response || string(m.ID) != string(id):
				if err := c.receive(ctx, m); err != nil {
					return nil, err
				}
			case m.Error != nil:
				return nil, fmt.Errorf("the server says %s", m.Error)
			default:
				return m.Result, nil
			}
		}
	}
}

// receive takes what comes before the response.
func (c *client) receive(ctx context.Context, m transport.Message) error {
	switch {
	case m.Method == "notifications/progress":
		var p step
		if err := json.Unmarshal(m.Params, &p); err != nil {
			return fmt.Errorf("read progress: %w", err)
		}
		fmt.Fprintf(c.out, "client: progress %v of %v\n", p.Progress, p.Total)
	case m.Kind() != transport.Request:
	case m.Method == "ping":
		return write(ctx, c.conn, message{ID: m.ID, Result: struct{}{}})
	case m.Method == "roots/list":
		return write(ctx, c.conn, message{ID: m.ID, Result: json.RawMessage(`{"roots":[]}`)})
	default:
		return write(ctx, c.conn, message{ID: m.ID, Error: &problem{methodNotFound, "there is no method " + m.Method}})
	}
	return nil
}
