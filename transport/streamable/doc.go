// Package streamable carries MCP frames over HTTP: both ends of Streamable HTTP, of all
// revisions, and of the HTTP+SSE transport of 2024-11-05, and server-sent events to the
// byte.
//
// # Data layout
//
// A frame is the body of a request, the body of a response, or the data of one
// server-sent event; its Stream is the number of the exchange. A [Server] makes a
// [ServerConn] of each client's session. It keeps what is said in an exchange as a stream
// of events. HTTP responses follow that stream: the first one, and those by which the
// client resumes it. The standalone stream has number 0. A [ClientConn], which a [Client]
// opens, makes an exchange of each message.
//
// An [EventScanner] cuts a text/event-stream into events, however the bytes arrive.
// [JoinEvent] puts an event's data back among the rest of its bytes: for every stream,
// joining its events gives the same bytes again.
//
// # What it refuses to do
//
// It does not decide what a message means. It looks at a message to learn which
// one begins a session, which requests wait for a response, and by which headers a
// request is routed. [MayAsk] refuses requests of foreign web pages; nothing else is
// refused for what it says, and no size is limited.
package streamable
