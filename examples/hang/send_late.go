//go:build late

package hang

import (
	"context"
	"fmt"

	"github.com/mcprec/mcprec/transport"
)

// send writes a request and returns where its response will come. This is the bug:
// a response that is there before Write has returned finds nobody waiting for it.
func (c *Client) send(ctx context.Context, id, method, params string) (chan transport.Message, error) {
	err := c.write(ctx, fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":%s}`, id, method, params))
	return c.await(id), err
}
