// Package webserver is what a recorded server is over Streamable HTTP, for a client under test: its sessions, its
// streams, on which response a frame goes out, and in which form.
//
// # Data layout
//
// A [Server] has sessions, and a session has streams: one for each request that wants an answer, and the standalone
// one. A stream is carried by the response to one HTTP request at a time. It outlives that response where its events have
// ids: the client comes back by the last one, and the response to that request carries it on. A [Frame] has the number of
// the request that it belongs to. What the server does with a frame is for its caller to say: to write it, to end the
// response in front of it or in place of it, to forget the session.
//
// # What it refuses to do
//
// It does no I/O, and has no clock: a [Response] is written to, and when that goes out is for its caller. What belongs to
// no request goes out on the standalone stream alone; where a client has none, it cannot go out. It does not speak
// HTTP+SSE of 2024-11-05.
package webserver
