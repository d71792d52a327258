package store

import "context"

// Claimer is a store that recorders on several machines write to.
type Claimer interface {
	// Claim makes the caller the only writer of a session, which need not exist yet. The session is
	// Live until the claim is released, or until its holder has not been heard of for a time that
	// the store says in its package comment. ErrLive while another holds the session, and ErrExists
	// for a session that was deleted.
	Claim(ctx context.Context, id SessionID) (Claim, error)
}

// Claim is the right to write one session. It is not safe for concurrent use.
type Claim interface {
	// Append is Store.Append for the holder of the claim. When its outcome is unknown, as after a
	// broken connection, it may be repeated with the same events. ErrLive if another has claimed the
	// session since: then the caller must stop. ErrTooLarge if an event, or all of them together, is
	// more than the store takes in one call.
	Append(ctx context.Context, after uint64, events []Event) (Head, error)
	// Release ends the claim. A session that is not sealed is Crashed from then on.
	Release(ctx context.Context) error
}
