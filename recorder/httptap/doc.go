// Package httptap records MCP over HTTP: Streamable HTTP of all revisions, and HTTP+SSE of
// 2024-11-05.
//
// # What it promises
//
// Bodies stream through unchanged and at once, and every byte is recorded before it passes.
// Methods, paths, status codes and the headers of MCP (keptHeader in store/httpevent lists them)
// are recorded, too; credentials in headers never are.
//
// # Data layout
//
// A [Tap] has many recordings, one for each MCP session (sessions.go). It serves as a reverse
// proxy (proxy.go), a round tripper (roundtripper.go) or a handler (handler.go). An exchange is a
// request with its response (exchange.go). The exchange's number in the recording, from 1, is
// the Stream of its events. An exchange has two bodies, which are cut without I/O (body.go),
// after their content coding is undone (decode.go): by its content type a body is one frame,
// server-sent events, or other bytes. The items of one read are written with one call of the
// spool.
//
//   - A JSON body is one frame. Its place in the recording is the place of its first byte.
//   - Other bodies, and any body of an exchange that does not look like MCP, such as a login,
//     are recorded as they are read.
//   - A server-sent event has the place of its blank line, at which a receiver takes the event.
//     The event is in the spool before the blank line passes. An incomplete event passes at
//     once, and the tap holds a copy until the event is complete; data of more than 64 KiB is
//     not held but recorded in parts, from its beginning on.
//   - An event in the form of nearly all servers is recorded as a frame alone. For any other
//     form, an HTTP event in front of the frame has the rest of the bytes, from which the stream
//     can be made again.
//
// # What it refuses to do
//
// A new session waits while 128 others are folded into the store. The tap follows no redirect,
// decodes gzip, deflate, br and zstd only for the recording, keeps other codings as they are,
// and passes no upgrade to another protocol. For the tap a client that closes only its sending
// half has hung up: net/http cannot tell the two apart.
package httptap
