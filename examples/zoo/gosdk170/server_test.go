package gosdk170

import (
	"context"
	"fmt"

	"github.com/mcprec/mcprec/transport"
)

// scripted is a server of revision 2025-11-25 that answers the handshake; do has
// the other frames, on the goroutine that reads.
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
			switch m := messages[0]; m.Method {
			case "server/discover":
				write(ctx, conn, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"method not found"}}`, m.ID)
			case "initialize":
				write(ctx, conn, `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"scripted","version":"1"}}}`, m.ID)
			default:
				do(m)
			}
		}
	}
}

func write(ctx context.Context, conn transport.Conn, format string, args ...any) error {
	return conn.Write(ctx, transport.Frame{Bytes: fmt.Appendf(nil, format, args...)})
}
