// Package hang is the example of a client that hangs sometimes: a small MCP client
// as people write them, and the test that finds, pins and keeps fixed a bug of
// order in it. docs/go-test.md tells it step by step; `go test -tags late` has the bug.
package hang

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"

	"github.com/mcprec/mcprec/transport"
)

// Client calls an MCP server. Call may be called concurrently.
type Client struct {
	conn transport.Conn
	read sync.WaitGroup

	mu      sync.Mutex
	last    int
	pending map[string]chan transport.Message // by the id of the request
}

// Connect starts the client and goes through the handshake.
func Connect(ctx context.Context, conn transport.Conn) (*Client, error) {
	c := &Client{conn: conn, pending: map[string]chan transport.Message{}}
	c.read.Go(func() { c.receive(context.WithoutCancel(ctx)) })
	_, err := c.Call(ctx, "initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"example","version":"1"}}`)
	if err == nil {
		err = c.write(ctx, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	}
	if err != nil {
		c.Close()
		return nil, fmt.Errorf("connect client: %w", err)
	}
	return c, nil
}

// Close ends the session and waits for the receive loop.
func (c *Client) Close() error {
	err := c.conn.Close()
	c.read.Wait()
	return err
}

// Call sends a request and waits for its result.
func (c *Client) Call(ctx context.Context, method, params string) (json.RawMessage, error) {
	answer, err := c.send(ctx, c.nextID(), method, params)
	if err != nil {
		return nil, err
	}
	select {
	case m, ok := <-answer:
		switch {
		case !ok:
			return nil, errors.New("the server has ended")
		case m.Error != nil:
			return nil, fmt.Errorf("the server says %s", m.Error)
		}
		return m.Result, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (c *Client) nextID() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last++
	return strconv.Itoa(c.last)
}

// await makes the channel that the response to a request will come on.
func (c *Client) await(id string) chan transport.Message {
	c.mu.Lock()
	defer c.mu.Unlock()
	answer := make(chan transport.Message, 1)
	c.pending[id] = answer
	return answer
}

func (c *Client) write(ctx context.Context, frame string) error {
	return c.conn.Write(ctx, transport.Frame{Bytes: []byte(frame)})
}

// receive reads until the connection ends.
func (c *Client) receive(ctx context.Context) {
	for {
		f, err := c.conn.Read(ctx)
		if err != nil {
			c.end()
			return
		}
		messages, err := f.Messages()
		if err != nil {
			continue // a stray line
		}
		for _, m := range messages {
			c.take(m)
		}
	}
}

// take hands a response to whom it is for. This client has no use for progress.
func (c *Client) take(m transport.Message) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if answer := c.pending[string(m.ID)]; answer != nil && m.Kind() == transport.Response {
		answer <- m
		delete(c.pending, string(m.ID))
	}
}

// end lets every call know that no response comes.
func (c *Client) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for id, answer := range c.pending {
		close(answer)
		delete(c.pending, id)
	}
}
