//go:build !linux

package external

import (
	"github.com/mcprec/mcprec/replay/external/child"
	"github.com/mcprec/mcprec/transport/procfs"
)

// web is never made.
type web struct {
	connection
	exchanges
}

func startWebServer(Server, bool, child.Place) (*child.Process, *web, error) {
	return nil, nil, procfs.Supported()
}
