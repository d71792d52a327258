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
// After, not in Setup itself. With [Points] the start of a handler is a step, too.
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
// It knows no HTTP: sessions have no id, and a frame's stream number is dropped.
//
// # Releases of the SDK
//
// It works with v1.1.0 to v1.8.0; before, there was no [mcp.IOTransport] for Tap to
// see. mcprec's go.mod asks for v1.4.1, the oldest one without a published advisory
// (GO-2026-4569 and GO-2026-4770 are of the decoder that the adapter uses), so that a
// program keeps any later release that it has. The tests run with v1.4.1 and, from
// examples/gosdk, with v1.8.0; release_test.go names the others that pass them. A
// program that still has an older one keeps it by a line in its go.mod:
//
//	replace github.com/modelcontextprotocol/go-sdk => github.com/modelcontextprotocol/go-sdk v1.2.0
//
// A program that does not import this package does not build the SDK at all.
package gosdk
