package store

// SpoolInfo describes a session that waits in a store for its way into another one, as package
// store/outbox ships them.
type SpoolInfo struct {
	ID    SessionID
	Bytes int64 // of its file; for a session without one, about as many
	Live  bool  // a recorder holds it
}
