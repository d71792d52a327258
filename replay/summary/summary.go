package summary

import (
	"cmp"
	"slices"
)

// Summary is a session in short.
type Summary struct {
	Client   Peer
	Server   Peer
	Revision string // of the protocol, as the server or the requests named it; "": not said
	Requests uint64 // of the client
	Errors   uint64 // requests of the client whose answer is an error
	Hung     uint64 // hangs, as mcprec why counts them
	Tools    []Tool // by name
}

// Peer is an end of a session as it named itself first. The zero Peer did not.
type Peer struct{ Name, Version string }

// String returns the name and the version.
func (p Peer) String() string {
	if p.Version == "" {
		return p.Name
	}
	return p.Name + " " + p.Version
}

// Tool sums up the calls of a tool.
type Tool struct {
	Name      string
	Calls     uint64
	Errors    uint64    // whose answer is an error
	Open      uint64    // neither answered nor cancelled
	Hung      uint64    // that waited in vain
	Bytes     uint64    // of requests and answers
	Durations Durations // of the answered calls
}

// Limits of a summary. Further tools share an entry.
const (
	maxTools = 1000
	maxName  = 200 // bytes of a name or a version
	others   = "(others)"
)

// Merge adds the calls of another session to the same tool.
func (t *Tool) Merge(other *Tool) {
	t.Calls += other.Calls
	t.Errors += other.Errors
	t.Open += other.Open
	t.Hung += other.Hung
	t.Bytes += other.Bytes
	t.Durations.Merge(&other.Durations)
}

// tool returns the entry of a tool, which may be new.
func (s *Summary) tool(name string) *Tool {
	byName := func(t Tool, name string) int { return cmp.Compare(t.Name, name) }
	i, found := slices.BinarySearchFunc(s.Tools, name, byName)
	if !found && len(s.Tools) >= maxTools {
		name = others
		i, found = slices.BinarySearchFunc(s.Tools, name, byName)
	}
	if !found {
		s.Tools = slices.Insert(s.Tools, i, Tool{Name: name})
	}
	return &s.Tools[i]
}
