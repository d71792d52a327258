// Package mcpgo carries MCP frames for mcp-go (github.com/mark3labs/mcp-go): a
// [transport.Conn] as its client's transport, under its stdio server, and under a
// server in the same process.
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
// In process, for as many sessions as there are, in bubbles too, [ServeInProcess]
// takes the place of Serve:
//
//	go mcpgo.ServeInProcess(ctx, s, pipe.Server())
//
// and [Tap] records a session of the SDK's own in-process transport. With [Points] the start of a
// tool's handler is a step in a plan of replay/explore.
//
// # Data layout
//
// The SDK's own stdio code does all the work, with its read loop, its locks and its
// queues: what is explored or recorded is what runs in production. Below it the
// Conn is a [transport.ByteStream], which never returns bytes of two frames, so
// that the SDK's buffered reader reads nothing ahead.
//
// In process the SDK has no bytes, only calls of functions. ServeInProcess takes each
// frame for the call that it stands for, and keeps the SDK's session, its queues and
// what runs where:
//
//   - a request is handled on a goroutine of its own, as its caller's is, and under the
//     session: there is no worker queue, as the SDK's stdio server has;
//     notifications/cancelled cancels the call, as the caller's context would, and no
//     answer is sent;
//   - a notification is handled where it is read, in order, and without the session,
//     as the SDK's transport does;
//   - notifications of the server wait in a queue of 100, from which another goroutine
//     writes. They keep their order, but the result of a call may overtake them; what
//     is in the queue at the end is lost;
//   - what the server asks (sampling, roots, elicitation) is no call of a handler
//     but a frame, which the client answers as it does over stdio.
//
// The SDK has the goroutine since v0.57.0; before, its in-process clients get no
// notification at all (mcp-go issue 919). Here they do with every release.
//
// # Promises
//
// The values of a call's context reach the Conn's Write, so that replay/explore knows
// which operation wrote it; its cancellation does not, for a Write to a process cannot be
// interrupted.
// Writers take turns on a channel before they come to the SDK's mutex, which serves
// the same purpose but freezes a testing/synctest bubble. A Conn closed at either end is the
// end of the stream (io.EOF).
//
// It works with mcp-go v0.37.0 to v1.2.1, which go.mod and newest.mod ask for: the tests
// run with both. (It compiles from v0.24.0 on.)
//
// # What it refuses
//
// The stdio server keeps its one session in a package variable, so that there can
// be one at a time in a process, and none in a testing/synctest bubble: explore it
// with the engine for such peers: Plan{Engine: explore.Settle}, or explore the same
// server by ServeInProcess, without the stdio code.
//
// In revision 2026-07-28 a server asks nothing on its own. The SDK excepts sessions in
// process, and so a server that does sends a frame here which the revision does not have.
package mcpgo
