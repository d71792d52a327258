package progress

import (
	"context"
	"encoding/json"

	"github.com/mcprec/mcprec/transport"
)

// revision is the last one with a handshake: the clients that hang speak it.
const revision = "2025-11-25"

// message is a message as it is written.
type message struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  any             `json:"params,omitempty"`
	Result  any             `json:"result,omitempty"`
	Error   *problem        `json:"error,omitempty"`
}

// problem is a response's error.
type problem struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

// write writes one message as one frame.
func write(ctx context.Context, conn transport.Conn, m message) error {
	m.Version = "2.0"
	b, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return conn.Write(ctx, transport.Frame{Bytes: b})
}
