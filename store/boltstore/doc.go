// Package boltstore is the embedded default store: a spool file for each live
// session, folded into bbolt as compressed, checksummed chunks.
//
// # What it promises
//
// Spool.Write hands its parts to the operating system with one write before it
// returns: what a recorder then forwards survives the recorder's death. The
// disk is told beside that path, 50 ms after a write (Options.Sync). Nobody
// waits for anybody: each spool has one writer, bbolt is locked for the length
// of one commit or the copying out of a few chunks, and no lock is held while a
// caller handles an event. Open touches no file.
//
// After an fsync that fails the session goes on in the same file, and nothing claims any
// more that it is durable: the spool's OnDoubt tells from which event on it may not be, and
// Close returns an error unless the database has all of it.
//
// A torn tail, the trace of a crash, is cut where its checksum says so. A bad
// record with good ones after it is damage: what is before it is folded, a
// "lost" event says how many bytes follow, and the file is kept as
// spool/<id>.damaged. Damage in a database is found by checksums over every
// value and by the counts in its head, never handed out, never a crash. Repair
// finds what is whole by the same checksums, without the tree that leads there.
//
// The database of a month is written by one transaction at a time, each made
// durable before the next begins, and not at all once a meta page is damaged:
// what is missing then would be missed no more.
//
// # Files
//
//	spool/<id>.log      a live session, or one whose fold is not complete
//	spool/<id>.lock     held exclusively by the live recorder
//	spool/fold.lock     held by whoever folds or deletes what the dead left
//	store/<yyyymm>.db   bbolt, by the month (UTC) in a version 7 id
//	store/other.db      bbolt, for ids of other versions
//	store/compact.lock  held by whoever writes databases anew, see Store.Compact
//	*.damaged           what was damaged and is kept
//	spool/<id>.reserve  left by a release up to 0.1.0, of no use
//	spool/<id>.renewed  left by one that died, a copy of a spool that a disk did not keep
//
// Folders are 0700, files 0600, whatever the umask; those that have wider rights lose
// them when they are written. No symbolic link is followed below the store's folder. Integers are little-endian, except in keys.
// CRC is CRC-32C (Castagnoli).
//
// # Spool, version 2
//
//	 0  magic "mcprecsp"
//	 8  spool version, 2
//	 9  codec version (store.CodecVersion)
//	10  zero, zero
//	12  session id, 16 bytes
//	28  CRC of bytes 0 to 27
//	32  records, each: length of the body (4), CRC of the body (4), body, which
//	    is a part in the form of store.AppendPart: a chunk of a pipe as it was read,
//	    or an event, or a stretch of one
//
// The order of the records is the order of the session. Events are made of them by
// store.Assembler, which cuts frames and numbers all. Version 1 is read as it was: it has
// no chunks, and its events have the numbers that they are given.
//
// A spool is never trimmed: until it is removed it holds its session whole.
//
// # Database
//
//	bucket  key                          value
//	month   "head"                       version 1, number of sessions (8), the
//	                                     exclusive or of their keys (16), CRC of
//	                                     all that
//	meta    id (16)                      projection, below
//	ev      id (16), first Seq (8, big-  chunk, below
//	        endian)
//	body    number (8, big-endian)       by releases up to 0.1.0: a piece of large
//	                                     payloads, below
//	use     SHA-256 of a body (32), id   the same: its number (8, big-endian), CRC of
//	        (16) of a session with it    the key and that
//
// Projection, version 1: CRC (4) over the id and the rest; version (1); flags
// (1: sealed, 2: deleted, 4: exit known, 8: pipes); then as varints Seq, At, frames,
// bytes, lost, and the offset in the spool of the first record that is not
// folded (0: no spool); chain (32); then, each a varint length and the bytes,
// exit, transport, label, URL, recorder, expect; start as varint seconds
// (zigzag) and nanoseconds; header version; the number of words of the command
// and each of them; then, if there are labels, pipes or a doubtful event, the number of
// labels, and the name and the value of each; with pipes a store.Mark as JSON, a varint
// length and the text, with which a reader goes on at that offset; and the first
// doubtful event, if there is one. A deleted session keeps its projection as tombstone.
//
// Chunk, version 1:
//
//	0  CRC over the key and all that follows
//	4  chunk version, 1
//	5  codec version
//	6  compression: 0 none, 1 zstd, 2 zstd with the dictionary (dict.go); bit 7:
//	   it refers to bodies
//	7  varints: number of events, length before compression; with bit 7 the number
//	   of bodies, and for each its SHA-256 (32) and as varints its length and its
//	   event, counted from the first
//	   records: for each event a varint length and its store.AppendPart form
//
// Releases up to 0.1.0 cut the payload of an event of 128 KiB or more into pieces, the
// bodies, which all sessions of the database that had them shared. In the place of the
// payload stands, for each piece, 0 for the next body, or the varint length of a small
// piece and its bytes. A session's bodies go with it, but for those that others use.
//
// Body, version 1:
//
//	0  CRC over all that follows
//	4  body version, 1
//	5  compression: 0 none, 1 zstd
//	6  SHA-256 of the piece (32), its length as a varint, and the piece
//
// # What it refuses to do
//
// It never runs bbolt without its syncs, holds no bbolt file locked between
// calls, trusts no byte of a file without a checksum, and reads nothing that a
// newer version wrote: store.ErrNewer names the file.
package boltstore
