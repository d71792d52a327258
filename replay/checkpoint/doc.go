// Package checkpoint keeps points of a long session, so that how it stood at any event
// is known without a fold over all that came before.
//
// # Promises
//
// What goes on from a point is what would have come of the whole session: the state and
// the calls in flight of the transcript. A point is derived, and may be thrown away and
// made again at any time. Nothing here does I/O.
//
// A point is taken when enough has passed since the last one, and the log has grown by
// several times what the point takes: points never cost more than a part of the log,
// however much is open in it.
//
// # Data layout
//
// An image is a head and the points in the order of their events. Integers without a
// word are little-endian, CRC is CRC-32C.
//
//	head   magic "mcprecck"; version 1; state.SnapshotVersion; the session's id, 16
//	       bytes; its first event, as a hash (32); the Seq (8) and chain (32) of the log
//	       when this was written; the length of a text (1) and the text, which says what
//	       program that was: another may see other things in the same events; CRC of all
//	       that
//	point  length of the body (4), CRC of the body (4); body: Seq and At as varints; the
//	       event as a hash (32); the length of the snapshot as varint, the snapshot of
//	       package state, and the calls of replay.Transcript
//
// A hash is store.NextChain behind nothing. A queue of a snapshot has what came since the
// point before, so a point needs all before it.
//
// # What it refuses
//
// [Read] takes no image of another session, form, or program, and no point behind one
// that is not whole. Whether the session's events are still those is for the caller to
// ask: [Image.Opened], [Image.Fits] and [Point.Is].
package checkpoint
