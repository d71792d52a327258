package store

import "slices"

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

// Compacted is the result for one database.
type Compacted struct {
	Path          string
	Before, After int64 // size of the file; equal: it stays as it was
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
