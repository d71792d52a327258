// Package checkpoint keeps points of a long session, so that its state at any event can be
// had without a fold over all events before it.
//
// # Promises
//
// A fold that resumes from a point has the same state and the same calls in flight as a
// fold over the whole session. A point is derived: it may be thrown away and made again at
// any time. Nothing here does I/O.
//
// A point is taken when enough events have passed since the last point, and the log has
// grown by several times the size of a point: points never take more than a fraction of
// the log, however many calls are open.
//
// # Data layout
//
// An image is a head and the points in the order of their events. Integers without a
// word are little-endian, CRC is CRC-32C.
//
//	head   magic "mcprecck"; version 1; state.SnapshotVersion; the session's id, 16
//	       bytes; its first event, as a hash (32); the Seq (8) and chain (32) of the log
//	       when this was written; the length of a text (1) and the text, which names the
//	       program: another version may read the same events otherwise; CRC of the head
//	point  length of the body (4), CRC of the body (4); body: Seq and At as varints; the
//	       event as a hash (32); the length of the snapshot as varint, the snapshot of
//	       package state, and the calls of timeline.Transcript
//
// A hash is store.NextChain of an empty chain. A queue of a snapshot holds only the frames
// since the previous point, so a point needs all points before it.
//
// # What it refuses
//
// [Read] refuses an image of another session, format or program, and reads no point behind
// a damaged one. The caller checks that the session still has the same events:
// [Image.Opened], [Image.Fits] and [Point.Is].
package checkpoint
