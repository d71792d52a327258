// Package boltstore is the embedded default store: a spool file for each live session, folded
// into bbolt as compressed, checksummed chunks.
//
// # What it promises
//
// Spool.Write hands its parts to the operating system with one write before it returns: a
// frame that a recorder then forwards survives the recorder's death. An fsync follows in the
// background, by default 50 ms after a write (Options.Sync). Processes hardly wait for each other: each
// spool has one writer, bbolt is locked for the length of one commit or the copying of a few
// chunks, and no lock is held while a caller handles an event. Open touches no file.
//
// After a failed fsync the session goes on in the same file, and mcprec no longer claims that
// it is durable: the spool's OnDoubt names the first doubtful event, and Close returns an
// error unless the database has every event.
//
// A torn tail, the trace of a crash, is cut by its checksum. A bad record with good records
// after it is damage: the events before it are folded, a "lost" event counts the bytes that
// follow, and the file is kept as spool/<id>.damaged. Checksums over every value and the
// counts in the head find damage in a database. Damaged values are never handed out and never
// cause a crash. Repair finds intact values by the same checksums, without the tree.
//
// One transaction at a time writes the database of a month, each durable before the next
// begins, and none after damage to a meta page: a new transaction would hide the loss of the
// last.
//
// # Files
//
//	spool/<id>.log      a live session, or one whose fold is not complete
//	spool/<id>.lock     held exclusively by the live recorder
//	spool/fold.lock     held for folding or deleting sessions of dead recorders
//	store/<yyyymm>.db   bbolt, by the month (UTC) in a version 7 id
//	store/other.db      bbolt, for ids of other versions
//	store/compact.lock  held by Store.Compact
//	store/exchange.lock on Windows, held shared while a database is open, and alone while one
//	                    is exchanged
//	store/alone.lock    held by Store.Alone
//	push/, pull.lock    of package store/share, which this one leaves alone
//	*.damaged           damaged files that are kept
//	spool/<id>.reserve  written by releases up to 0.1.0; safe to delete
//	spool/<id>.renewed  written by such releases after a failed fsync: a copy of a spool
//
// Folders are 0700, files 0600, whatever the umask; wider rights are taken away when a file or
// folder is written. Below the store's folder no symbolic link is followed. Integers are
// little-endian, except in keys. CRC is CRC-32C (Castagnoli).
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
// The order of the records is the order of the session. store.Assembler makes the events: it
// cuts frames and numbers all events. Version 1 has no chunks, and its events carry their
// numbers.
//
// A spool is never trimmed: until it is removed it holds the whole session.
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
//	summary id (16)                      CRC of the key, the chain of the session and the
//	                                     rest; the bytes of a store.Summary
//
// Projection, version 1: CRC (4) over the id and the rest; version (1); flags
// (1: sealed, 2: deleted, 4: exit known, 8: pipes, 16: masked); then as varints Seq, At, frames,
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
//	6  compression: 0 none, 1 zstd, 2 zstd with the dictionary (chunk.go); bit 7:
//	   it refers to bodies
//	7  varints: number of events, length before compression; with bit 7 the number
//	   of bodies, and for each its SHA-256 (32) and as varints its length and its
//	   event, counted from the first
//	   records: for each event a varint length and its store.AppendPart form
//
// Releases up to 0.1.0 cut payloads of 128 KiB or more into pieces, the bodies, which all
// sessions of the database shared. The payload's place has, for each piece, 0 for the next
// body, or the varint length of a small piece and its bytes. A session's bodies go with it
// unless others use them.
//
// Body, version 1:
//
//	0  CRC over all that follows
//	4  body version, 1
//	5  compression: 0 none, 1 zstd
//	6  SHA-256 of the piece (32), its length as a varint, and the piece
//
// # Source files
//
//	boltstore.go                                                   the Store: options, opening, listing
//	spool.go, spoolread.go                                         the file of a live session: its writer; its form and its reader
//	fold.go                                                        from spools into databases
//	databases.go, dbtx.go                                          the databases of the months; one transaction, and the buckets in it
//	chunk.go                                                       events as a compressed chunk
//	read.go                                                        a session from its database and its spool, as one sequence
//	summary.go                                                     the summaries beside the sessions
//	repair.go, salvage.go, pages.go                                damaged files; damaged sessions; the pages of bbolt
//	space.go                                                       disk space, and compaction
//	release.go                                                     a session removed as if it had never been there
//	files.go                                                       where files are, folders and rights
//	os_unix.go, os_other.go, datasync_linux.go, datasync_other.go  what differs between systems
//
// # What it refuses to do
//
// It never runs bbolt without its syncs, holds no bbolt file locked between calls, trusts no
// byte of a file without a checksum, and reads no file of a newer version: store.ErrNewer
// names it.
package boltstore
