package boltstore

// readahead asks the operating system for what a scan will read next: bbolt
// maps its files for random access, where each page would be read by itself.
type readahead struct{}

func (*readahead) want(value []byte) { willNeed(value) }
