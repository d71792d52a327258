package boltstore

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"reflect"
	"testing"
	"time"

	"github.com/mcprec/mcprec/store"
)

// TestDatabaseFaults damages one thing of a database at a time, mostly with right checksums: a
// session that is there is never said not to be found.
func TestDatabaseFaults(t *testing.T) {
	const n, there = 60, 40
	s := testStore(t, memDir(t))
	first, _ := testID(0).Bytes()
	sought, _ := testID(there).Bytes()
	path := s.databasePath(first)
	err := s.update(t.Context(), path, func(tx *dbTx) error {
		for i := range n {
			key, _ := testID(i).Bytes()
			c, p := &chunker{id: key}, projection{}
			if err := errors.Join(c.take(&p, testLog(i, 2, 10, true)), tx.putSession(key, c.done, &p)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	head := func(change func(v []byte) []byte) func(*dbTx) error {
		return func(tx *dbTx) error { return tx.head.Put(keyHead, change(bytes.Clone(tx.head.Get(keyHead)))) }
	}
	facts := func(change func(v []byte) []byte) func(*dbTx) error {
		return func(tx *dbTx) error { return tx.meta.Put(sought[:], change(bytes.Clone(tx.meta.Get(sought[:])))) }
	}
	extra := func(key string) func(*dbTx) error { // a key that the count includes
		return func(tx *dbTx) error {
			count, keys, _ := tx.statedCount()
			for i := range min(len(key), len(keys)) {
				keys[i] ^= key[i]
			}
			return errors.Join(tx.meta.Put([]byte(key), []byte("x")), tx.head.Put(keyHead, encodeCount(count+1, keys)))
		}
	}
	without := func(bucket []byte) func(*dbTx) error {
		return func(tx *dbTx) error { return tx.meta.Tx().DeleteBucket(bucket) }
	}
	keyAt := func(b []byte, at int) []byte {
		from := at + int(binary.NativeEndian.Uint32(b[at+4:]))
		size := int(binary.NativeEndian.Uint32(b[at+8:]))
		if binary.NativeEndian.Uint16(b[at/os.Getpagesize()*os.Getpagesize()+8:]) == pageBranch {
			from, size = at+int(binary.NativeEndian.Uint32(b[at:])), int(binary.NativeEndian.Uint32(b[at+4:]))
		}
		return b[from : from+size]
	}
	for _, c := range []struct {
		name   string
		change func(*dbTx) error
		raw    func(b []byte) // where a transaction cannot do it
		seek   int
		want   error
	}{
		{"nothing", nil, nil, n + 1, store.ErrNotFound},
		{"no head", func(tx *dbTx) error { return tx.head.Delete(keyHead) }, nil, there, store.ErrCorrupt},
		{"an empty head", head(func([]byte) []byte { return nil }), nil, there, store.ErrCorrupt},
		{"a longer head", head(func(v []byte) []byte { return append(v, 0) }), nil, there, store.ErrCorrupt},
		{"a shorter head", head(func(v []byte) []byte { return v[:25] }), nil, there, store.ErrCorrupt},
		{"another head", head(func(v []byte) []byte { v[3] ^= 1; return v }), nil, there, store.ErrCorrupt},
		{"a newer head", head(func(v []byte) []byte { v[0]++; return v }), nil, there, store.ErrNewer},
		{"a higher count", head(func(v []byte) []byte { return encodeCount(n+1, [16]byte(v[9:])) }), nil, n + 1, store.ErrCorrupt},
		{"other sessions", head(func(v []byte) []byte { v[9] ^= 1; return encodeCount(n, [16]byte(v[9:])) }), nil, n + 1, store.ErrCorrupt},
		{"no bucket of heads", without(bucketMonth), nil, there, store.ErrCorrupt},
		{"no bucket of facts", without(bucketMeta), nil, there, store.ErrCorrupt},
		{"no bucket of events", without(bucketEv), nil, there, store.ErrCorrupt},
		{"a short key", extra("short"), nil, n + 1, store.ErrCorrupt},
		{"a long key", extra("seventeen letters"), nil, n + 1, store.ErrCorrupt},
		{"other facts", facts(func(v []byte) []byte { v[9] ^= 1; return v }), nil, there, store.ErrCorrupt},
		{"short facts", facts(func(v []byte) []byte { return v[:5] }), nil, there, store.ErrCorrupt},
		{"newer facts", facts(func(v []byte) []byte { v[4]++; return v }), nil, there, store.ErrNewer},
		{"facts that end early", facts(func(v []byte) []byte {
			v = v[:len(v)-3]
			putSum(v, metaSum(sought, v))
			return v
		}), nil, there, store.ErrCorrupt},
		{"keys out of order", nil, func(b []byte) {
			next, _ := testID(there + 1).Bytes()
			for _, at := range elements(b, pageLeaf) {
				switch key := keyAt(b, at); {
				case bytes.Equal(key, sought[:]):
					copy(key, next[:])
				case bytes.Equal(key, next[:]):
					copy(key, sought[:])
				}
			}
		}, n + 1, store.ErrCorrupt},
		{"a search led past the session", nil, func(b []byte) {
			for _, at := range elements(b, pageBranch) {
				if key := keyAt(b, at); len(key) == 16 && !bytes.Equal(key, first[:]) {
					copy(sought[:], key)
					key[15]++
					return
				}
			}
			t.Fatal("no branch")
		}, -1, store.ErrCorrupt},
	} {
		if err := os.WriteFile(path, whole, 0o600); err != nil {
			t.Fatal(err)
		}
		if c.change != nil {
			if err := s.update(t.Context(), path, c.change); err != nil {
				t.Fatalf("%s: %v", c.name, err)
			}
		} else if c.raw != nil {
			b := bytes.Clone(whole)
			c.raw(b)
			if err := os.WriteFile(path, b, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		id := sessionID(sought)
		if c.seek >= 0 {
			id = testID(c.seek)
		}
		if got, err := readAll(s, id); !errors.Is(err, c.want) {
			t.Errorf("%s: %d events, %v, want %v", c.name, len(got), err, c.want)
		}
	}
}

// TestProjectionRoundTrip: each of a session's facts comes back, whichever others there are.
func TestProjectionRoundTrip(t *testing.T) {
	id := testID(1)
	key, _ := id.Bytes()
	plain := func() projection {
		h := store.Header{ID: id, Start: testStart(1), Transport: "stdio", Command: []string{}, Version: 1}
		return projection{session: store.Session{Header: h, Head: store.Head{Seq: 7, At: time.Second, Chain: [32]byte{1, 31: 2}}}}
	}
	for name, change := range map[string]func(*projection){
		"plain":            func(*projection) {},
		"sealed":           func(p *projection) { p.session.Head.Sealed = true },
		"deleted":          func(p *projection) { p.deleted = true },
		"its exit":         func(p *projection) { p.session.Exit = "code 3" },
		"counts":           func(p *projection) { p.session.Frames, p.session.Bytes, p.session.Lost = 1, 2, 3 },
		"doubtful":         func(p *projection) { p.session.Doubtful = 5 },
		"labels":           func(p *projection) { p.session.Labels = map[string]string{"a": "1", "b": ""} },
		"doubtful, labels": func(p *projection) { p.session.Doubtful, p.session.Labels = 5, map[string]string{"a": "1"} },
		"of pipes":         func(p *projection) { p.spooled, p.pipes.Piped, p.pipes.Part = 9, true, 4 },
		"with a limit":     func(p *projection) { p.spooled, p.pipes.Limit = 9, 100 },
		"pipes, labels":    func(p *projection) { p.pipes.Piped, p.session.Labels = true, map[string]string{"a": "1"} },
		"pipes, doubtful":  func(p *projection) { p.pipes.Piped, p.session.Doubtful = true, 5 },
		"texts": func(p *projection) {
			p.session.Label, p.session.URL, p.session.Recorder, p.session.Expect, p.session.Command = "l", "u", "r", "e", []string{"a", "b"}
		},
		"masked": func(p *projection) { p.session.Masked = &store.MaskRules{} },
		"rest":   func(p *projection) { p.spooled, p.rest = 9, &spoolRest{Size: 99, Seq: 8, Exit: "code 3"} },
	} {
		want := plain()
		change(&want)
		b := want.encode(key)
		if got, err := decodeProjection(key, b, "file"); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %+v, %v, want %+v", name, got, err, want)
		}
		b[5] |= metaPipes // a mark that is none
		putSum(b, metaSum(key, b))
		if _, err := decodeProjection(key, b, "file"); !want.piped() && !errors.Is(err, store.ErrCorrupt) {
			t.Errorf("%s, and no mark of its pipes: %v", name, err)
		}
	}
}
