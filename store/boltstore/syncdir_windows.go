package boltstore

// syncDir does nothing: Windows keeps names durable by itself and syncs no
// folder.
func syncDir(string) error { return nil }
