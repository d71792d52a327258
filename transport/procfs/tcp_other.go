//go:build !linux || (!amd64 && !arm64)

package procfs

import "net/netip"

// TCP asks nobody.
type TCP struct{}

// NewTCP returns an error.
func NewTCP() (*TCP, error) { return nil, Supported() }

// Find is never called.
func (t *TCP) Find(netip.AddrPort, netip.AddrPort) (Socket, bool, error) { return Socket{}, false, nil }

// Close does nothing.
func (t *TCP) Close() {}
