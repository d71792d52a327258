package clientconfig

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

// FuzzJSON: see fuzzDocument.
func FuzzJSON(f *testing.F) {
	for seed := range uint64(40) {
		doc, _ := (&randomDocument{rand.New(rand.NewPCG(seed, 1))}).json()
		f.Add([]byte(doc))
	}
	f.Fuzz(func(t *testing.T, doc []byte) { fuzzDocument(t, doc, jsonAt("mcpServers")) })
}

// FuzzTOML: see fuzzDocument.
func FuzzTOML(f *testing.F) {
	for seed := range uint64(40) {
		doc, _ := (&randomDocument{rand.New(rand.NewPCG(seed, 1))}).toml()
		f.Add([]byte(doc))
	}
	f.Fuzz(func(t *testing.T, doc []byte) { fuzzDocument(t, doc, tomlAt("mcp_servers")) })
}

// fuzzDocument holds of any document that every server that can be wrapped can be unwrapped to the
// same bytes, and without the original at all; and that wrapping keeps every byte outside the entry.
func fuzzDocument(t *testing.T, doc []byte, at Location) {
	servers, err := Find(doc, at)
	if err != nil {
		return
	}
	for _, s := range servers {
		if s.State != Direct {
			continue
		}
		wrapped, original, err := Wrap(doc, at, s.Name, testFront)
		if err != nil {
			t.Fatalf("wrap %q: %v\n%q", s.Name, err, doc)
		}
		from, to := s.edge()
		if !bytes.HasPrefix(wrapped, doc[:from]) || !bytes.HasSuffix(wrapped, doc[to:]) {
			t.Fatalf("bytes outside of %q have changed:\n%q\n%q", s.Name, doc, wrapped)
		}
		back, how, err := Unwrap(wrapped, at, s.Name, &original)
		if err != nil || how != Exact || !bytes.Equal(back, doc) {
			t.Fatalf("unwrap %q: %v, how == Exact %v\n%q\nwas\n%q", s.Name, err, how == Exact, back, doc)
		}
		if _, _, err := Unwrap(wrapped, at, s.Name, nil); err != nil {
			t.Fatalf("unwrap %q without the original: %v\n%q", s.Name, err, wrapped)
		}
	}
}

// edge returns the range of the command and the arguments with their keys.
func (s *Server) edge() (from, to int) {
	from, to = s.command.key.from, s.command.value.to
	if s.args != nil {
		from, to = min(from, s.args.key.from), max(to, s.args.value.to)
	}
	return from, to
}
