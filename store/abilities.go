package store

import (
	"context"
	"iter"
	"slices"
)

// Cleaner is a store that removes many sessions at once.
type Cleaner interface {
	// DeleteAll removes sessions, many in a transaction, and calls removed for each. Live and missing
	// sessions are left out. After an interrupted call the reported sessions are gone and the others
	// untouched.
	DeleteAll(ctx context.Context, ids []SessionID, removed func(SessionID)) error
}

// Tidier is a store in which recorders that died leave something behind.
type Tidier interface {
	// FoldDead moves what dead recorders left to its place, as far as that is quick. The error joins
	// what could not be moved; the rest is.
	FoldDead(ctx context.Context) error
	// Exposed returns an error if other users of the machine can put files into the store and take
	// files out.
	Exposed() error
	// Odd returns an error that names what is in the place of the store's files and is none.
	Odd() error
}

// LineReader is a store that shows the bytes of a live session that are no event yet.
type LineReader interface {
	// OpenLines returns the unterminated lines of a live session.
	OpenLines(ctx context.Context, id SessionID) ([]OpenLine, error)
}

// Putter is a store that takes a sealed session as a whole, and none in parts.
type Putter interface {
	// Put stores a sealed session. The same session again is accepted; for another one with the id the
	// error is a *ConflictError, and for a deleted one ErrExists. summary is called after the last
	// event, and returns the bytes for Summarizer; nil: there are none.
	Put(ctx context.Context, id SessionID, events iter.Seq2[Event, error], summary func() []byte) (Head, error)
}

// Exclusive is a store in which one process at a time may do the work that is for all.
type Exclusive interface {
	// Alone runs f unless another process, or another call, runs its own by Alone just now: then
	// nobody waits, and ran is false.
	Alone(ctx context.Context, f func(context.Context) error) (ran bool, err error)
}

// Repairer is a store that saves what is intact in damaged files.
type Repairer interface {
	// Repair puts the intact content of each damaged file in its place, keeps the old file, and
	// reports each. With dry it changes nothing.
	Repair(ctx context.Context, dry bool, report func(Repaired)) error
	// Salvage yields the intact events of an unreadable session, and a lost event in place of each
	// missing one. It changes nothing.
	Salvage(ctx context.Context, id SessionID) iter.Seq2[Event, error]
}

// Repaired is the result for one damaged file.
type Repaired struct {
	Path     string
	Fault    error      // the damage
	Kept     string     // new name of the damaged file; "": nothing was changed
	Sessions []Salvaged // the sessions of the file, complete or not
	Gone     uint64     // number of sessions without a trace
	GoneID   SessionID
	Unknown  bool // the number of sessions is unknown
	Odd      bool // a folder, a pipe or a symbolic link
}

// Lost reports whether a part could not be saved.
func (r Repaired) Lost() bool {
	return r.Gone > 0 || r.Unknown || slices.ContainsFunc(r.Sessions, func(x Salvaged) bool { return x.Lost > 0 })
}

// Salvaged is the result for one damaged session.
type Salvaged struct {
	ID    SessionID
	Saved uint64 // events
	Lost  uint64 // events known to be missing
	Open  bool   // whether events followed the last one, and how many, is unknown
}

// Compactor is a store whose files have free space that can be given back to the disk.
type Compactor interface {
	// Compact rewrites each database whose free share is at least `least`, and reports each.
	Compact(ctx context.Context, least float64, report func(Compacted)) error
}

// Compacted is the result for one database.
type Compacted struct {
	Path          string
	Before, After int64 // size of the file; equal: it stays as it was
}

// Measurer is a store that knows what it takes on the disk.
type Measurer interface {
	// Space measures the store as a whole. The error names what cannot be read; the rest is counted.
	Space(ctx context.Context) (Space, error)
	// Usage measures each session and each file. The error names what cannot be read; the rest is
	// counted.
	Usage(ctx context.Context) (Usage, error)
}

// Space is the disk space of a store as a whole, from the sizes of its files and the lists of free
// pages: it costs the same however many sessions there are.
type Space struct {
	Files  int64 // bytes of databases and spools
	Spools int64 // bytes of spools
	Free   int64 // bytes of databases, for later sessions, or for compacting to return
}

// Usage is the disk space of a store.
type Usage struct {
	Databases []DatabaseUsage
	Spools    FileUsage // of sessions that are live or not folded yet
	Damaged   FileUsage // damaged databases and spools
	// Stored is the disk space of each session, an estimate close to the space that compacting
	// would return without it.
	Stored map[SessionID]int64
}

// FileUsage counts files.
type FileUsage struct {
	Files int
	Bytes int64
}

// DatabaseUsage is the disk space of one database.
type DatabaseUsage struct {
	Path     string
	Bytes    int64 // of the file
	Free     int64 // space that compacting returns
	Sessions int
	Deleted  int // tombstones
	Chunks   FileUsage
}

// Size returns the bytes of databases and spools.
func (u Usage) Size() int64 {
	size := u.Spools.Bytes
	for _, d := range u.Databases {
		size += d.Bytes
	}
	return size
}

// Add counts a file of n bytes.
func (f *FileUsage) Add(n int64) {
	f.Files++
	f.Bytes += n
}
