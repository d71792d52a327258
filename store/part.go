package store

import "github.com/mcprec/mcprec/transport"

// Part is a record of a spool: an event, a stretch of one, or a chunk of a pipe.
//
// An event that comes in several reads of an HTTP body is one part with More set, then
// continuations: parts with Cont set that repeat only the Seq and carry the next bytes.
// The last part of an event has More unset and decides Unterminated; Redacted and Cut are
// of each part's bytes. Parts of different events may stand between the parts of one. The
// Seq of a part counts the events that come as parts; where there are chunks as well, an
// [Assembler] numbers the events anew.
type Part struct {
	Event
	Cont bool // continues the event of the same Seq
	More bool // further parts of the same event follow
	// Chunk marks bytes of a pipe as they were read, at At: of the direction Dir if Kind
	// is Frame, of standard error if it is Stderr. It has no Seq: frames and lines are
	// found by the Assembler. Cont says of a chunk that what was lost before it ended
	// within a line, whose rest it begins with.
	Chunk bool
	// Lines is how many lines begin in a chunk. It is not in the spool: the giver counts
	// them for those who number events before they are read.
	Lines uint64
	// Buffer, if a chunk has one, is memory that ends with the payload and has ChunkRoom
	// bytes before it, in which a spool may put a head, to write both at once.
	Buffer []byte
}

// ChunkRoom is how much room a chunk's Buffer has before the payload.
const ChunkRoom = 32

// The pipes of a stdio session, as the bytes in chunks are numbered.
const (
	pipeC2S = iota
	pipeS2C
	pipeStderr
	pipes
)

// pipeOf returns the pipe of a direction's frames or of standard error; ok is false if
// there is none.
func pipeOf(kind Kind, dir transport.Direction) (n int, ok bool) {
	switch {
	case kind == Stderr:
		return pipeStderr, true
	case kind == Frame && dir == transport.ClientToServer:
		return pipeC2S, true
	case kind == Frame && dir == transport.ServerToClient:
		return pipeS2C, true
	}
	return 0, false
}

// ofPipe returns the kind and the direction of what passes through a pipe.
func ofPipe(n int) (Kind, transport.Direction) {
	switch n {
	case pipeC2S:
		return Frame, transport.ClientToServer
	case pipeS2C:
		return Frame, transport.ServerToClient
	}
	return Stderr, transport.NoDirection
}

// pipeNames are the names of the pipes in the Streams of a LostInfo.
var pipeNames = [pipes]string{"c2s", "s2c", "stderr"}
