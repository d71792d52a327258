package progress

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/mcprec/mcprec/transport"
)

// Steps is how many progress notifications the tool sends before its result.
const Steps = 2

// The error codes of JSON-RPC.
const (
	parseError     = -32700
	invalidRequest = -32600
	methodNotFound = -32601
	invalidParams  = -32602
)

// What the server says of itself.
const (
	greeting = `{"capabilities":{"logging":{},"tools":{"listChanged":true}},"protocolVersion":"` + revision +
		`","serverInfo":{"name":"counter","version":"1.0.0"}}`
	tools = `{"tools":[{"name":"count","description":"Count letters, in steps","inputSchema":` +
		`{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}}]}`
)

// Serve is the server: it answers what comes over conn until the client has ended,
// and closes conn. It handles a request before it reads the next one, which harms
// nobody as long as it asks its client for nothing.
func Serve(ctx context.Context, conn transport.Conn) error {
	defer conn.Close()
	for {
		f, err := conn.Read(ctx)
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("read request: %w", err)
		}
		messages, err := f.Messages()
		if err != nil {
			err = refuse(ctx, conn, parseError, "not JSON")
		}
		for _, m := range messages {
			err = errors.Join(err, answer(ctx, conn, m))
		}
		if err != nil {
			return fmt.Errorf("write response: %w", err)
		}
	}
}

// answer writes what a message from the client asks for.
func answer(ctx context.Context, conn transport.Conn, m transport.Message) error {
	switch m.Kind() {
	case transport.Invalid:
		return refuse(ctx, conn, invalidRequest, "neither a request nor anything else")
	case transport.Notification, transport.Response:
		return nil // there is none that this server would have to look at
	}
	r := message{ID: m.ID}
	switch m.Method {
	case "initialize":
		r.Result = json.RawMessage(greeting)
	case "ping", "logging/setLevel": // it has no log messages of any level
		r.Result = struct{}{}
	case "tools/list":
		r.Result = json.RawMessage(tools)
	case "tools/call":
		var err error
		if r.Result, r.Error, err = count(ctx, conn, m); err != nil {
			return err
		}
	default:
		r.Error = &problem{methodNotFound, "there is no method " + m.Method}
	}
	return write(ctx, conn, r)
}

// refuse answers what has no id that could be read.
func refuse(ctx context.Context, conn transport.Conn, code int, why string) error {
	return write(ctx, conn, message{ID: json.RawMessage("null"), Error: &problem{code, why}})
}

// content is a tool's result of one text.
type content struct {
	Content []text `json:"content"`
}

type text struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

// step is the parameters of a progress notification.
type step struct {
	Token    json.RawMessage `json:"progressToken"`
	Message  string          `json:"message"`
	Progress float64         `json:"progress"`
	Total    float64         `json:"total"`
}

// count is the tool. It reports its steps to a client that asks for them.
func count(ctx context.Context, conn transport.Conn, m transport.Message) (any, *problem, error) {
	var letters string
	argument := transport.Member(m.Params, "arguments", "text")
	if string(transport.Member(m.Params, "name")) != `"count"` || !bytes.HasPrefix(argument, []byte{'"'}) {
		return nil, &problem{invalidParams, "the tool is count, its argument a text"}, nil
	}
	if err := json.Unmarshal(argument, &letters); err != nil {
		return nil, nil, err
	}
	for i := 1; i <= Steps && m.ProgressToken() != nil; i++ {
		report := step{m.ProgressToken(), fmt.Sprintf("step %d of %d", i, Steps), float64(i), Steps}
		if err := write(ctx, conn, message{Method: "notifications/progress", Params: report}); err != nil {
			return nil, nil, err
		}
	}
	return content{[]text{{"text", fmt.Sprintf("%d letters", utf8.RuneCountInString(letters))}}}, nil, nil
}
