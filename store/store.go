package store

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"
)

// SessionID names a session: a UUID in its canonical text form. mcprec makes
// version 7, which sorts by time; any UUID is accepted.
type SessionID string

// ParseSessionID checks the form of an id and returns the id in lower case.
func ParseSessionID(s string) (SessionID, error) {
	id := SessionID(strings.ToLower(s))
	if _, err := id.Bytes(); err != nil {
		return "", err
	}
	return id, nil
}

// DeriveSessionID returns the id of a session that was recorded without one: a
// version 8 UUID of the text's SHA-256, the same for every reader.
func DeriveSessionID(text []byte) SessionID {
	sum := sha256.Sum256(text)
	sum[6] = sum[6]&0x0f | 0x80
	sum[8] = sum[8]&0x3f | 0x80
	return SessionID(fmt.Sprintf("%x-%x-%x-%x-%x", sum[:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16]))
}

// Bytes returns the 16 bytes of the id.
func (id SessionID) Bytes() (b [16]byte, err error) {
	s := string(id)
	if len(s) != 36 || s[8] != '-' || s[13] != '-' || s[18] != '-' || s[23] != '-' {
		return b, fmt.Errorf("session id %q: not a UUID", s)
	}
	if _, err := hex.Decode(b[:], []byte(s[:8]+s[9:13]+s[14:18]+s[19:23]+s[24:])); err != nil {
		return b, fmt.Errorf("session id %q: not a UUID", s)
	}
	return b, nil
}

// Head is the end of a log.
type Head struct {
	Seq    uint64 // of the last event; 0: no session
	At     time.Duration
	Chain  [32]byte // SHA-256 over the chain so far and the event's encoding, see NextChain
	Sealed bool     // the last event is Closed
}

// State tells whether and how a recording ended.
type State string

// The states of a session.
const (
	Live    State = "live"      // a recorder holds the session
	Ended   State = "closed"    // sealed by the Closed event
	Crashed State = "cut short" // the recorder died; the log is an unbroken beginning
)

// State returns the state of a session with the head h; live: a recorder holds it.
func (h Head) State(live bool) State {
	switch {
	case h.Sealed:
		return Ended
	case live:
		return Live
	}
	return Crashed
}

// Session is a recording in a listing: the header, and counts over the events.
type Session struct {
	Header
	Head   Head
	Frames uint64
	Bytes  uint64 // of the frames' payloads
	Lost   uint64
	// Doubtful is the first event of doubtful durability, see [NoteInfo]; 0: every event is safe.
	Doubtful uint64
	State    State
	Exit     string // ExitInfo.String; "": unknown
}

// Lasts returns how long a live session has lasted at a time of this machine's clock.
func (s *Session) Lasts(now time.Time) time.Duration { return max(now.Sub(s.Start), 0) }

// Query selects and orders sessions.
type Query struct {
	Prefix string // of the id
	Newest bool   // newest start first; otherwise oldest first
	Limit  int    // 0: all
}

// Order sorts sessions by their start, and cuts them to the limit.
func (q Query) Order(found []Session) []Session {
	slices.SortFunc(found, func(a, b Session) int {
		c := cmp.Or(a.Start.Compare(b.Start), cmp.Compare(a.ID, b.ID))
		if q.Newest {
			return -c
		}
		return c
	})
	if q.Limit > 0 && len(found) > q.Limit {
		found = found[:q.Limit]
	}
	return found
}

// ReadOptions configures Read.
type ReadOptions struct {
	// Follow waits for further events of a live session until the log is sealed or
	// the recorder dies.
	Follow bool
	// Unfinished yields, without Follow, also the events of a live session that stand behind
	// one whose rest has not come, such as half a body over HTTP, and that one as it stands, with
	// Open and Unterminated set. Their Seqs are final. A store in memory may leave them out.
	Unfinished bool
}

// Info describes a store.
type Info struct {
	Name       string // "bbolt", "memory"
	Location   string // a folder, or ""
	Durability string // Append's promise on return: "process", "disk"
}

// Store holds sessions. The methods are safe for concurrent use, and for several processes if
// the store is on disk. Payloads from Read belong to the caller.
//
// To add one: write it in a package of its own (memstore is the shortest), have it pass storetest, and
// say in cmd/mcprec/internal/session, open.go, when it is opened.
type Store interface {
	// Append adds events after Seq `after` (0: a new session), all or none, and returns when
	// they are durable to Info().Durability. Append accepts events of the log again if
	// they are equal to the byte; for other events, and for `after` past the head, the error is a
	// *ConflictError. ErrLive while a recorder holds the session.
	Append(ctx context.Context, id SessionID, after uint64, events []Event) (Head, error)
	// Read yields the events from Seq `from` (0 and 1 both mean the first) in order and
	// without gaps. An error ends the sequence; ErrNotFound for an unknown session. No lock is
	// held while the caller handles an event.
	Read(ctx context.Context, id SessionID, from uint64, options ReadOptions) iter.Seq2[Event, error]
	// Head returns the end of the log; ErrNotFound for an unknown session.
	Head(ctx context.Context, id SessionID) (Head, error)
	// Sessions yields the sessions of the query. An unreadable part of the store
	// yields an error, and the listing goes on.
	Sessions(ctx context.Context, query Query) iter.Seq2[Session, error]
	// Delete removes a session and leaves a tombstone, so that a late spool of the session is
	// refused. ErrLive while a recorder holds it.
	Delete(ctx context.Context, id SessionID) error
	// Info describes the store, at any time.
	Info() Info
	// Close waits for running calls and releases the store. Close the spools before.
	Close() error
}

// Spooler is a store for live sessions, on the hot path.
type Spooler interface {
	// Spool starts a live session with its Opened event, which has Seq 1. ErrExists for a
	// known session.
	Spool(ctx context.Context, opened Event) (Spool, error)
}

// Spool is the writer of one live session. It is not safe for concurrent use: the recorder
// orders the calls.
type Spool interface {
	// Write hands the parts to the operating system, all or none, before returning. After an
	// error no part of the call is in the log, and the next Write may be tried. Payloads and
	// Buffers belong to the call until it returns.
	Write(parts []Part) error
	// Close makes the spool durable, moves it into the store as far as that is quick, and
	// releases the session. An error names the events without durability.
	Close() error
}

// Unsteady is a spool with a disk that may fail beside the calls.
type Unsteady interface {
	// OnDoubt has f called, once, when an fsync fails. The events from Seq `from` on can be
	// read, but may be lost when the machine dies, or sooner. f must not call the spool.
	OnDoubt(f func(from uint64, cause error))
}

// Keyed is a store with a key for placeholders: equal secrets have equal placeholders in
// every session.
type Keyed interface {
	// RedactionKey returns the key. The first call makes the key.
	RedactionKey() ([]byte, error)
}

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
