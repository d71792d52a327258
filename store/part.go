package store

import (
	"slices"

	"github.com/mcprec/mcprec/transport"
)

// Part is a record of a spool: an event, a stretch of one, or a chunk of a pipe.
//
// An event in several reads of an HTTP body is one part with More set, then continuations:
// parts with Cont set that repeat only the Seq and carry the next bytes. The last part has
// More unset and decides Unterminated; Redacted and Cut count in each part. Parts of other
// events may stand between. The Seq of a part counts only the events in parts; in a spool with
// chunks an [Assembler] numbers the events anew.
type Part struct {
	Event
	Cont bool // continues the event of the same Seq
	More bool // further parts of the same event follow
	// Chunk marks bytes of a pipe as they were read, at At: of direction Dir if Kind is Frame,
	// of standard error if it is Stderr. A chunk has no Seq, because the Assembler finds the
	// frames and lines. Its Cont says that bytes were lost before it and that it begins within
	// a line.
	Chunk bool
	// Lines is the number of lines that begin in a chunk, for writers that number events. It
	// is not in the spool.
	Lines uint64
	// Buffer is memory that ends with the payload of a chunk and has ChunkRoom bytes before
	// it: a spool puts its head there, to write both at once. It may be nil.
	Buffer []byte
}

// ChunkRoom is the number of bytes before the payload in a Buffer.
const ChunkRoom = 32

// The pipes of a stdio session, as chunks number them.
const (
	pipeC2S = iota
	pipeS2C
	pipeStderr
	pipes
)

// pipeOf returns the pipe of a direction's frames or of standard error; ok is false if there
// is none.
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

// ofPipe returns the kind and the direction of the bytes in a pipe.
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

// AllPipes returns the Streams of a LostInfo that may stand for bytes of any pipe.
func AllPipes() []string { return slices.Clone(pipeNames[:]) }
