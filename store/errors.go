package store

import (
	"errors"
	"fmt"
)

// Errors of looking a session up.
var (
	// ErrNotFound: the store has no such session.
	ErrNotFound = errors.New("not found")
	// ErrExists: a new session has the id of one that is there or was deleted.
	ErrExists = errors.New("exists already")
	// ErrLive: a live recorder holds the session.
	ErrLive = errors.New("still being recorded")
)

// Errors of reading what is there.
var (
	// ErrCorrupt: the bytes on disk are not what was written.
	ErrCorrupt = errors.New("damaged")
	// ErrNewer: written by a newer mcprec in a form this one does not know.
	ErrNewer = errors.New("written by a newer version")
)

// Errors of a store as a whole.
var (
	// ErrClosed: the store was closed.
	ErrClosed = errors.New("store closed")
	// ErrNotKept: a file could not be made durable; what was written since it last was
	// may be gone from it.
	ErrNotKept = errors.New("the disk did not keep what it took")
	// ErrBusy: another process held the store for longer than the patience.
	ErrBusy = errors.New("busy")
)

// ConflictError says that an Append does not continue the log as it is.
type ConflictError struct {
	ID   SessionID
	Head Head // the log's end when the append was refused
}

// Error says where the log ends.
func (e *ConflictError) Error() string {
	return fmt.Sprintf("append to session %s: conflict: the log ends at event %d", e.ID, e.Head.Seq)
}

// RootCause returns the innermost error, which has no place or name around it that the log
// knows anyway.
func RootCause(err error) error {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err
		}
		err = inner
	}
}
