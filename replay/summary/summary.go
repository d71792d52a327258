package summary

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/varint"
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

// Version is the version of the encoded form and of what the fold counts. A summary of an older
// version is made anew.
const Version = 1

// ErrOld is returned for a summary of an older version.
var ErrOld = errors.New("an older version")

// Encode returns the summary in its compact form.
func (s *Summary) Encode() []byte {
	b := varint.AppendText([]byte{Version}, s.Client.Name, s.Client.Version, s.Server.Name, s.Server.Version, s.Revision)
	b = varint.Append(b, s.Requests, s.Errors, s.Hung, uint64(len(s.Tools)))
	for i := range s.Tools {
		t := &s.Tools[i]
		b = varint.AppendText(b, t.Name)
		b = t.Durations.append(varint.Append(b, t.Calls, t.Errors, t.Open, t.Hung, t.Bytes))
	}
	return b
}

// Decode is the inverse of Encode. The error is ErrOld, store.ErrNewer or store.ErrCorrupt.
func Decode(b []byte) (s Summary, err error) {
	switch {
	case len(b) == 0:
		return s, fmt.Errorf("decode summary: it is empty: %w", store.ErrCorrupt)
	case b[0] < Version:
		return s, fmt.Errorf("decode summary: version %d: %w", b[0], ErrOld)
	case b[0] > Version:
		return s, fmt.Errorf("decode summary: version %d: %w", b[0], store.ErrNewer)
	}
	r := varint.NewReader(b[1:])
	for _, text := range []*string{&s.Client.Name, &s.Client.Version, &s.Server.Name, &s.Server.Version, &s.Revision} {
		*text = r.Text()
	}
	s.Requests, s.Errors, s.Hung = r.Uint(), r.Uint(), r.Uint()
	valid := true
	if n := r.Count(); n > 0 {
		s.Tools = make([]Tool, n)
	}
	for i := range s.Tools {
		t := &s.Tools[i]
		t.Name, t.Calls, t.Errors, t.Open, t.Hung, t.Bytes = r.Text(), r.Uint(), r.Uint(), r.Uint(), r.Uint(), r.Uint()
		valid = valid && t.Durations.decode(&r)
	}
	if !valid || !r.Whole() {
		return Summary{}, fmt.Errorf("decode summary: %w", store.ErrCorrupt)
	}
	return s, nil
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
