// Package objects keeps sealed sessions in an S3 bucket, one object each: the archive of a team.
//
// # What it promises
//
// A session is put whole or not at all, and never over another one: the put is conditional
// (If-None-Match: *). The same session again is accepted. A Read that reaches the end has compared the
// chain of the events with the head in the summary, so that a changed bit is found; the error comes
// after the events. Memory is bounded by the largest event and [partSize], whatever a session's length.
//
// # Data layout
//
// Below the bucket's prefix:
//
//	v1/YYYY/MM/DD/<id>.mcprec.zst  the session as a fixture (package jsonl), compressed by zstd
//	v1/YYYY/MM/DD/<id>.json        the summary: header, head, counts, and the summary bytes
//	v1/ids/<id>.json               a mark: the session was deleted, or its day is not the id's day
//
// The day is that of the session's start, in UTC. A version 7 id tells its time, and thereby the day; any
// other id, and one of another day, has a mark that names the day. So one or two requests find a
// session. A deleted id has a mark for ever, and is refused.
//
// The summary is written after the session. If a session has no summary, or a damaged one, readers
// take the session itself, which is slow; [Store.RestoreSummary] writes the summary again. A summary
// without a session is an error: the object must be restored, or the session deleted. If both
// are there and tell of different heads, one of them was changed, and an earlier version of the bucket
// is needed.
//
// A listing walks the days and reads the summaries of a day, sixteen at a time. With a limit it takes the
// newest or oldest sessions of a day by the time in their ids; other ids are read to know the order.
//
// # Files
//
// store.go opens and closes a store, and puts and deletes sessions; read.go reads them; list.go lists them;
// layout.go names the objects; summary.go has the summary object; bucket.go and upload.go talk to the
// server; fault.go says its errors in plain words; archive.go copies sessions from another store;
// inspect.go is what mcprec store doctor asks, with a probe object v1/doctor/<random>.json that it removes.
//
// # What it refuses to do
//
// It takes no session that is not sealed and no part of a session: a recorder writes to a folder or to a
// shared store, and [Archive] copies. It has no locks, no index and no retention of its own: credentials,
// versions and lifecycle rules are the bucket's.
package objects
