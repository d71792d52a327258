package gosdk110

import (
	"context"
	"fmt"

	"github.com/mcprec/mcprec/transport"
)

// scripted is a server that answers the handshake; do has the other frames, on the
// goroutine that reads.
func scripted(conn transport.Conn, do func(transport.Message)) func(context.Context) {
	return func(ctx context.Context) {
		for {
			f, err := conn.Read(ctx)
			if err != nil {
				return
			}
			messages, err := f.Messages()
			if err != nil {
				return
			}
			if m := messages[0]; m.Method == "initialize" {
				conn.Write(ctx, transport.Frame{Bytes: fmt.Appendf(nil,
					`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":%s,"capabilities":{"tools":{}},"serverInfo":{"name":"scripted","version":"1"}}}`,
					m.ID, transport.Member(m.Params, "protocolVersion"))})
			} else {
				do(m)
			}
		}
	}
}
