// Package mcpgo carries MCP frames for mcp-go (github.com/mark3labs/mcp-go): a
// [transport.Conn] as its client's transport, and under its stdio server.
//
// It is a module of its own. Whoever tests a program with mcprec keeps the release
// of mcp-go that the program has: nothing of mcprec asks for another one.
//
// # Use
//
//	pipe := transport.NewPipe(0, 0, nil)
//	go mcpgo.Serve(ctx, server.NewStdioServer(s), pipe.Server())
//	c := client.NewClient(mcpgo.Client(pipe.Client()))
//	err := c.Start(ctx)
//
// # Data layout
//
// The SDK's own stdio code does all the work, with its read loop, its locks and its
// queues: what is explored or recorded is what runs in production. Below it the
// Conn is a [transport.ByteStream], which never returns bytes of two frames, so
// that the SDK's buffered reader reads nothing ahead.
//
// # Promises
//
// The values of a call's context reach the Conn's Write, so that replay/explore knows
// which operation wrote it; its end does not, as nothing ends a Write to a process.
// Writers take turns on a channel before they come to the SDK's mutex, which serves
// the same purpose but freezes a testing/synctest bubble. A Conn closed at either end is the end of the stream (io.EOF).
//
// It works with mcp-go v0.37.0, which go.mod asks for, and later, up to the release
// of newest.mod; the tests run with both. (It compiles from v0.24.0 on.)
//
// # What it refuses
//
// The stdio server keeps its one session in a package variable, so that there can
// be one at a time in a process, and none in a testing/synctest bubble: explore it
// with the engine for such peers: Plan{Engine: explore.Settle}.
package mcpgo
