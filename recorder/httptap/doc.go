// Package httptap records MCP over HTTP: Streamable HTTP of all revisions, and HTTP+SSE of
// 2024-11-05.
//
// # What it promises
//
// Bodies stream through unchanged and at once, and every byte is recorded before it is passed
// on. Methods, paths, status codes and the headers that matter to MCP are recorded too;
// credentials in headers never are.
//
// # Data layout
//
// A [Tap] has many recordings, one for each MCP session (sessions.go). It is used as a reverse
// proxy (proxy.go), a round tripper or a handler (roundtripper.go, handler.go). An exchange is a request with
// its response (exchange.go). Its number in its recording, from 1, is the Stream of all its
// events. It has two bodies, which are cut without I/O (body.go): by its content type a body is
// one frame, server-sent events, or bytes that are no frame. The items of one read are written
// with one call of the spool.
//
//   - A JSON body is one frame. Its place in the recording is that of its first byte.
//   - A body that is no frame, and any body of an exchange that does not look like MCP, such
//     as a login, is recorded as it is read.
//   - The place of a server-sent event is that of its blank line, which is when a receiver
//     takes it. It is in the spool before that line is passed on. An incomplete event passes at
//     once, and the tap holds it until it is complete; data of more than 64 KiB is not held but
//     recorded in parts, from its beginning on.
//   - The event that nearly all servers write is recorded as a frame alone. Of any other, an
//     HTTP event in front of the frame has the rest, so that the stream can be made again.
//
// # What it refuses to do
//
// A new session waits while 128 others are folded into the store. The tap follows no redirect,
// decodes gzip, deflate, br and zstd only for the recording, keeps other codings as they are,
// and passes no upgrade to another protocol. A client that closes only its sending half has
// hung up: net/http cannot tell the two apart.
package httptap
