// Package gosdk carries MCP frames for the official Go SDK
// (github.com/modelcontextprotocol/go-sdk): a [transport.Conn] as its transport, and
// a tap around any of its own that is not HTTP.
//
// # Use
//
//	pipe := transport.NewPipe(0, 0, nil)
//	server.Connect(ctx, gosdk.Transport(pipe.Server()), nil)
//	session, err := client.Connect(ctx, gosdk.Transport(pipe.Client()), nil)
//
// To record a session of the SDK's own transports:
//
//	r, err := recorder.New(ctx, store, store.Header{Label: "search"})
//	session, err := client.Connect(ctx, gosdk.Tap(t, r, transport.ClientToServer), nil)
//
// [Transport] also takes a run's two ends in a plan of replay/explore. The client's
// Connect waits for the server, so it belongs in an operation, which the others come
// After, not in Setup itself.
//
// # Data layout
//
// One frame is one JSON-RPC message, encoded and decoded by the SDK itself. The
// adapter keeps nothing between two calls: no queue, no goroutine, no lock. The
// SDK's Read is the Conn's Read, so at capacity 0 a Write of one SDK returns when
// the reader of the other has the message. (The SDK's own in-memory pair reads one
// frame ahead.)
//
// # Promises
//
// The context of a call reaches the Conn's Write. A Conn closed at either end is,
// to the SDK's reader, the end of the stream (io.EOF), which it takes for an
// orderly end; to a writer it is mcp.ErrConnectionClosed. Blank frames are passed
// over, as the SDK's own stdio does.
//
// # What it refuses
//
// A frame that is no JSON-RPC message, or more than one, ends the session, as with
// the SDK's stdio; the SDK's Wait returns the error. So does a batch (a JSON array): only revision
// 2025-03-26 has them, and the SDK keeps the bookkeeping of their answers to
// itself. The error is [ErrBatch].
//
// It works with the SDK's v1.1.0 and later (`make zoo` runs it with v1.1.0, v1.2.0,
// v1.5.0 to v1.8.0); before, there was no [mcp.IOTransport] for Tap to see.
//
// It knows no HTTP: sessions have no id, and a frame's stream number is dropped.
//
// [explore.Run.Go]: https://pkg.go.dev/github.com/mcprec/mcprec/replay/explore#Run.Go
package gosdk
