package mcpgo

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/mcprec/mcprec/transport"
	protocol "github.com/mcprec/mcprec/transport/mcp"
)

// asker sends the server's own requests. In process the SDK calls a handler of the
// client's for each; here they are frames, and the client at the far end of the Conn
// answers them as it does over stdio.
type asker struct {
	conn transport.Conn

	waiting sync.Mutex // never held across a wait
	last    int
	open    map[protocol.Key]chan transport.Message
}

// ask sends the params of a request and decodes the client's answer.
func (a *asker) ask(ctx context.Context, method mcp.MCPMethod, request, result any) error {
	body, err := json.Marshal(request)
	if err != nil {
		return fmt.Errorf("encode %s: %w", method, err)
	}
	frame := struct {
		JSONRPC string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Method  mcp.MCPMethod   `json:"method"`
		Params  json.RawMessage `json:"params,omitempty"`
	}{mcp.JSONRPC_VERSION, nil, method, transport.Member(body, "params")}
	id, answered := a.begin()
	defer a.end(id)
	frame.ID = json.RawMessage(id)
	b, err := json.Marshal(frame)
	if err != nil {
		return fmt.Errorf("encode %s: %w", method, err)
	}
	if err := a.conn.Write(ctx, transport.Frame{Bytes: b}); err != nil {
		return fmt.Errorf("write %s: %w", method, err)
	}
	select {
	case m := <-answered:
		if m.Error != nil {
			return fmt.Errorf("%s: the client refused: %s", method, m.Error)
		}
		return json.Unmarshal(m.Result, result)
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (a *asker) begin() (id protocol.Key, answered chan transport.Message) {
	a.waiting.Lock()
	defer a.waiting.Unlock()
	a.last++
	id, answered = protocol.Key(strconv.Itoa(a.last)), make(chan transport.Message, 1)
	a.open[id] = answered
	return id, answered
}

func (a *asker) end(id protocol.Key) {
	a.waiting.Lock()
	defer a.waiting.Unlock()
	delete(a.open, id)
}

// heard hands a response to who waits for it. One that nobody waits for is dropped.
func (a *asker) heard(m transport.Message) {
	a.waiting.Lock()
	defer a.waiting.Unlock()
	id := protocol.KeyOf(m.ID)
	if answered := a.open[id]; answered != nil {
		answered <- m
		delete(a.open, id)
	}
}

// CreateMessage implements [server.SamplingHandler].
func (a *asker) CreateMessage(ctx context.Context, request mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
	var result mcp.CreateMessageResult
	if err := a.ask(ctx, mcp.MethodSamplingCreateMessage, request, &result); err != nil {
		return nil, err
	}
	result.Content = typed(result.Content)
	return &result, nil
}

// typed gives content the SDK's type, as a handler in the process would. What the
// release does not know stays as it was decoded.
func typed(content any) any {
	switch c := content.(type) {
	case map[string]any:
		if known, err := mcp.ParseContent(c); err == nil {
			return known
		}
	case []any:
		var list []mcp.Content
		for _, element := range c {
			known, ok := typed(element).(mcp.Content)
			if !ok {
				return content
			}
			list = append(list, known)
		}
		return list
	}
	return content
}

// ListRoots is the SDK's SessionWithRoots, in releases that have it.
func (p *inProcess) ListRoots(ctx context.Context, request mcp.ListRootsRequest) (*mcp.ListRootsResult, error) {
	var result mcp.ListRootsResult
	if err := p.ask(ctx, protocol.MethodListRoots, request, &result); err != nil {
		return nil, err
	}
	return &result, nil
}

// WithElicitation lets a server ask the client's user; request is the server's method
// RequestElicitation, and only says which types it has: early releases have none of
// them.
//
//	mcpgo.ServeInProcess(ctx, s, conn, mcpgo.WithElicitation(s.RequestElicitation))
func WithElicitation[Request, Result any](request func(context.Context, Request) (*Result, error)) InProcessOption {
	return func(p *inProcess) server.ClientSession { return &eliciting[Request, Result]{p} }
}

// eliciting is the SDK's SessionWithElicitation.
type eliciting[Request, Result any] struct{ *inProcess }

func (e *eliciting[Request, Result]) RequestElicitation(ctx context.Context, request Request) (*Result, error) {
	result := new(Result)
	if err := e.ask(ctx, protocol.MethodElicit, request, result); err != nil {
		return nil, err
	}
	return result, nil
}
