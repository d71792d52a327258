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
// cause a crash. Repair takes over the values whose checksums hold, from every page whose
// head is intact; the old file is kept.
//
// One transaction at a time writes the database of a month, each durable before the next
// begins, and none after damage to a meta page: a new transaction would hide the loss of the
// last.
//
// # Files
//
//	redact.key          the key of placeholders
//	spool/<id>.log      a live session, or one whose fold is not complete, or never will be:
//	                    that of one with an event of more than Options.LargestFolded
//	spool/<id>.lock     held exclusively by the live recorder
//	spool/fold.lock     held for folding or deleting sessions of dead recorders
//	store/<yyyymm>.db   bbolt, by the month (UTC) in a version 7 id
//	store/other.db      bbolt, for ids of other versions
//	store/compact.lock  held by Store.Compact
//	store/create.lock   held while a database gets its name, on a file system without links
//	store/exchange.lock on Windows, held shared while a database is open, and alone while one
//	                    is exchanged
//	store/alone.lock    held by Store.Alone
//	push/, pull.lock    of package store/share, which this one leaves alone
//	*.damaged           damaged files that are kept
//
// Folders are 0700, files 0600, whatever the umask; wider rights are taken away when a file or
// folder is written. Below the store's folder no symbolic link is followed. Integers are
// little-endian, except in keys. CRC is CRC-32C (Castagnoli).
//
// # Spool, version 1
//
//	 0  magic "mcprecsp"
//	 8  spool version, 1
//	 9  codec version (store.CodecVersion)
//	10  zero, zero
//	12  session id, 16 bytes
//	28  CRC of bytes 0 to 27
//	32  records, each: length of the body (4), CRC of the body (4), body, which
//	    is a part in the form of store.AppendPart: a chunk of a pipe as it was read,
//	    or an event, or a stretch of one
//
// The order of the records is the order of the session. store.Assembler makes the events: it
// cuts frames and numbers all events.
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
//	ev      id (16), first Seq (8, big-  chunk, in the form of package store/chunk
//	        endian)
//
// Projection, version 1: CRC (4) over the id and the rest; version (1); flags
// (1: sealed, 2: deleted, 4: exit known, 8: pipes, 16: masked, 32: rest); then as varints Seq, At, frames,
// bytes, lost, and the offset in the spool of the first record that is not
// folded (0: no spool); chain (32); then, each a varint length and the bytes,
// exit, transport, label, URL, recorder, expect; start as varint seconds
// (zigzag) and nanoseconds; header version; the number of words of the command
// and each of them; then, if there are labels, pipes, a doubtful event or a rest, the number of
// labels, and the name and the value of each; with pipes a store.Mark as JSON, a varint
// length and the text, with which a reader goes on at that offset; and the first
// doubtful event, if there is one, or 0 before a rest: a spoolRest as JSON in the same way,
// with which a listing need not read what stays in the spool. A deleted session keeps its projection as tombstone.
//
// # Source files
//
//	boltstore.go                                                   the Store: where it is by default, options, opening, listing
//	spool.go, spoolread.go                                         the file of a live session: its writer; its form and its reader
//	fold.go                                                        from spools into databases
//	databases.go, dbtx.go                                          the databases of the months; one transaction, and the buckets in it
//	chunk.go                                                       chunks of events with their keys
//	read.go                                                        a session from its database and its spool, as one sequence
//	repair.go, salvage.go, pages.go                                damaged files; damaged sessions; the pages of bbolt, before it reads them
//	space.go                                                       disk space, and compaction
//	release.go                                                     a session removed as if it had never been there
//	files.go                                                       where files are, folders, rights, locks, what is no file; the key of placeholders
//	disk.go                                                        what a store asks of the disk, and the disk of this machine
//	os_unix.go, os_other.go, datasync_linux.go, datasync_other.go  what differs between systems
//
// # What it refuses to do
//
// It never runs bbolt without its syncs, holds no bbolt file locked between calls, trusts no
// byte of a file without a checksum, and reads no file of a newer version: store.ErrNewer
// names it.
package boltstore
