// Package transport carries MCP frames: exact bytes, in order, in two
// directions, over a process's own stdin and stdout, over a child process, and over
// a bounded in-memory Pipe. Package streamable carries them over HTTP.
//
// # Data layout
//
// On stdio the MCP specification delimits messages by newlines ("Messages are
// delimited by newlines, and MUST NOT contain embedded newlines", basic
// transports, stdio). A [Frame] is what stands between two newlines, without
// the newline and with everything else: '\r', blanks, invalid UTF-8, nothing
// at all. A last line without a newline is a frame too, marked Unterminated.
// So for every byte string s, joining the frames of s gives s again.
//
// A [Message] is a parsed view of a frame and is never stored: ids stay raw
// JSON, a batch of revision 2025-03-26 is several messages.
//
// [Direction] is absolute: client to server or server to client, at both ends.
//
// # Concurrency
//
// A [Conn] may be read by one goroutine while others write to it; who else may
// call what says [Conn]. Frames, messages and the other plain values are never
// changed once they were handed out, and may be shared. A [FrameReader] and a
// [Lane] belong to one goroutine.
//
// # What it refuses to do
//
// A Write of a frame with a newline in it: on stdio that would be several frames
// ([ErrNewline]). What a tap sees pass is never refused.
//
// It does not limit the size of a frame, does not decide what a frame means, and drops
// nothing. Of MCP it knows where a request has its progress token, and no more.
package transport
