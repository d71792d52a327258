// Package sharing is what mcprec does around a store that several machines share: it says what is
// wrong with it, sends what waits on this machine, and moves sessions into an archive. A store in a
// folder is examined, too.
//
// # Source files
//
//	diagnosis.go   the report of mcprec store doctor
//	folder.go      the facts of a store in a folder; disk_*.go its file system
//	flush.go       what waits on this machine is sent
//	archive.go     sessions that have ended are copied into a bucket
package sharing
