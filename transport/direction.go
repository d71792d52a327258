package transport

import "fmt"

// Direction says which way a frame went. It is absolute, never relative to an
// observer: gopls's log shows what goes wrong otherwise.
type Direction uint8

const (
	// NoDirection is the zero value: the event belongs to no direction.
	NoDirection Direction = iota
	// ClientToServer is written c2s.
	ClientToServer
	// ServerToClient is written s2c.
	ServerToClient
)

// String returns "c2s", "s2c", or "" for NoDirection.
func (d Direction) String() string {
	switch d {
	case ClientToServer:
		return "c2s"
	case ServerToClient:
		return "s2c"
	case NoDirection:
		return ""
	}
	return fmt.Sprintf("direction(%d)", uint8(d))
}

// ParseDirection is the inverse of String for the three defined directions.
func ParseDirection(s string) (Direction, error) {
	switch s {
	case "c2s":
		return ClientToServer, nil
	case "s2c":
		return ServerToClient, nil
	case "":
		return NoDirection, nil
	}
	return NoDirection, fmt.Errorf("direction %q: want c2s or s2c", s)
}

// Reverse returns the other direction; NoDirection is its own reverse.
func (d Direction) Reverse() Direction {
	switch d {
	case ClientToServer:
		return ServerToClient
	case ServerToClient:
		return ClientToServer
	}
	return d
}

// Sender returns the MCP role that writes in this direction: "client" or "server".
func (d Direction) Sender() string {
	switch d {
	case ClientToServer:
		return "client"
	case ServerToClient:
		return "server"
	}
	return ""
}

// Receiver returns the MCP role that reads in this direction.
func (d Direction) Receiver() string { return d.Reverse().Sender() }
