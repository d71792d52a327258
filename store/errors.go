package store

import (
	"errors"
	"fmt"
)

// Errors of looking up a session.
var (
	// ErrNotFound: the store has no such session.
	ErrNotFound = errors.New("not found")
	// ErrExists: a session with this id exists or was deleted.
	ErrExists = errors.New("exists already")
	// ErrLive: a live recorder holds the session.
	ErrLive = errors.New("still being recorded")
)

// Errors of reading stored bytes.
var (
	// ErrCorrupt: bytes on disk have changed since they were written.
	ErrCorrupt = errors.New("damaged")
	// ErrNewer: a newer mcprec wrote this, in an unknown form.
	ErrNewer = errors.New("written by a newer version")
)

// Errors of a store as a whole.
var (
	// ErrClosed: the store was closed.
	ErrClosed = errors.New("store closed")
	// ErrNotKept: an fsync failed, and writes since the one before may be lost.
	ErrNotKept = errors.New("the disk did not keep what it took")
	// ErrBusy: another process held the store for longer than the patience.
	ErrBusy = errors.New("busy")
)

// ConflictError is returned by an Append that does not continue the log.
type ConflictError struct {
	ID   SessionID
	Head Head // the log's end when the append was refused
}

// Error names the end of the log.
func (e *ConflictError) Error() string {
	return fmt.Sprintf("append to session %s: conflict: the log ends at event %d", e.ID, e.Head.Seq)
}

// RootCause returns the innermost error, without the places and names around it.
func RootCause(err error) error {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err
		}
		err = inner
	}
}
