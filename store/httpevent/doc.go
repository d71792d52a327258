// Package httpevent decides what a recording keeps of an HTTP exchange besides its frames.
//
// A tap on live traffic and an importer of another recorder's file make their HTTP events
// by the same rules. All functions are pure: no I/O and no state.
//
//	[Header]    the headers that matter to MCP, without credentials
//	[SSE]       what a server-sent event says besides its data
//	[SSEBytes]  the way back from that to the bytes
//
// # What it refuses
//
// A credential in a header is never recorded: only that it was there, and its scheme. Secrets elsewhere (in a URL, in a body) stay: package mask finds them when the
// recording leaves the store.
package httpevent
