// Package progress is the smallest honest MCP session with progress in it: a server
// whose one tool reports two steps before its result, and a client that calls it.
// mcprec demo runs each in a process of its own, with a recorder between. Both are
// written against package transport alone, and show how little a peer needs.
//
// The order on the wire (progress, progress, result) is what any conforming
// server may send. python-sdk issue 594 is a client that hangs on it.
//
// # Data layout
//
// A peer is one loop over a [transport.Conn], with no goroutine, queue or lock: it
// reads a frame, looks at its messages, and writes what is due. The frames are those
// that the official Go SDK writes for the same session at revision 2025-11-25, to the
// byte; fixtures/seed.jsonl is a recording of them.
//
// # What it refuses
//
// Everything else: the server has no session state, the client makes one call.
// Neither can be cancelled by its peer.
package progress
