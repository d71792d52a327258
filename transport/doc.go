// Package transport carries MCP frames: exact bytes, in order, in two
// directions, over a process's own stdin and stdout, over a child process, and over
// a bounded in-memory Pipe. Package streamable carries them over HTTP.
//
// # Data layout
//
// On stdio the MCP specification delimits messages by newlines ("Messages are
// delimited by newlines, and MUST NOT contain embedded newlines", basic
// transports, stdio). A [Frame] is a line without its newline, and with every other
// byte: '\r', blanks, invalid UTF-8; or it is empty. A last line without a newline is
// a frame too, marked Unterminated. For every byte string s, joining the frames of s
// gives s again.
//
// A [Message] is a parsed view of a frame and is never stored: ids stay raw
// JSON, a batch of revision 2025-03-26 is several messages.
//
// [Direction] is absolute: client to server or server to client, at both ends.
//
// # Concurrency
//
// One goroutine may read a [Conn] while others write; see [Conn]. Frames, messages
// and the other plain values never change after creation, and may be shared. A [FrameReader] and a
// [Lane] belong to one goroutine.
//
// # What it refuses to do
//
// It refuses a Write of a frame with a newline, which is several frames on stdio
// ([ErrNewline]). A tap never refuses passing bytes.
//
// It does not limit the size of a frame, does not decide what a frame means, and drops
// nothing. Of MCP it knows only the place of a request's progress token.
package transport
