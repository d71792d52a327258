// Package streamable carries MCP frames over HTTP: both ends of Streamable HTTP, of all
// revisions, and of the HTTP+SSE transport of 2024-11-05, and server-sent events to the
// byte.
//
// # Data layout
//
// A frame is the body of a request, the body of a response, or the data of one server-sent
// event; the frame's Stream is the number of the exchange. A [Server] makes a [ServerConn] of
// each client's session, and keeps the messages of an exchange as a stream of events. HTTP
// responses follow the stream: first the response to the request, then each response by which
// the client resumes the stream. The standalone stream has number 0. A [ClientConn], which a
// [Client] opens, makes an exchange of each message.
//
// An [EventScanner] cuts a text/event-stream into events, however the bytes arrive.
// [JoinEvent] puts an event's data back among the rest of the event's bytes: for every stream,
// joining the events gives the same bytes again.
//
// # Source files
//
//	client.go          the Client, and the ClientConn of a session
//	clientexchange.go  one message of the client and the response to it, over all connections
//	server.go          the Server: which session a request belongs to
//	serverconn.go      the server's end of one session
//	serverstream.go    what the server says in one exchange, in which form, and what is resumed
//	answer.go          how a request is answered where somebody prescribes it, as a replay does
//	origin.go          which web pages may ask
//	sse.go             server-sent events to the byte
//
// # What it refuses to do
//
// It does not decide what a message means. It looks at a message to learn whether the message
// begins a session, which requests wait for a response, and which headers route a request.
// [MayAsk] refuses requests of foreign web pages; no other request is refused for its content,
// and no size is limited.
package streamable
