// Package webserver is the recorded server over Streamable HTTP, for a client under test. It keeps the sessions and the
// streams, and says on which response a frame goes out, and in which form.
//
// # What it promises
//
// It answers as the recorded server did, unless its caller or its [Options] say otherwise. Each frame goes out once, on
// the stream of its request.
//
// # Data layout
//
// A [Server] has sessions, and a session has streams: one for each request that wants an answer, and the standalone
// one. A stream is carried by the response to one HTTP request at a time. It outlives that response where its events have
// ids: the client comes back by the last id, and the response to that request carries the stream on. A [Frame] has the
// number of its request. The caller decides about each frame: to write it, to end the response in front of it or in place
// of it, or to forget the session.
//
// # What it refuses to do
//
// It does no I/O and has no clock: it writes to a [Response], and the caller sends that. A frame of no request goes out on
// the standalone stream alone, and without one not at all. It does not speak HTTP+SSE of 2024-11-05.
package webserver
