//go:build !late

package hang

import (
	"context"
	"fmt"

	"github.com/mcprec/mcprec/transport"
)

// send writes a request and returns where its response will come.
func (c *Client) send(ctx context.Context, id, method, params string) (chan transport.Message, error) {
	answer := c.await(id)
	return answer, c.write(ctx, fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":%s}`, id, method, params))
}
