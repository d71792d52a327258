package boltstore

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
)

// patience is how long a test waits for what comes at once, or never: on the busiest
// machine it is only to say what the test hung at.
const patience = 5 * time.Minute

// testID returns the nth of a row of version 7 ids of one month.
func testID(n int) store.SessionID {
	ms := testStart(n).UnixMilli()
	return store.SessionID(fmt.Sprintf("%08x-%04x-7000-8000-%012x", ms>>16, ms&0xffff, n))
}

func testStart(n int) time.Time {
	return time.Date(2026, 11, 2, 12, 0, n, 0, time.UTC)
}

func opening(n int) store.Event {
	h := store.Header{ID: testID(n), Start: testStart(n), Transport: "stdio", Label: "everything", Command: []string{"npx", "-y", "server"}}
	return store.Event{Seq: 1, Kind: store.Opened, Payload: h.Encode()}
}

func frameEvent(seq uint64, size int) store.Event {
	text := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"result":{"text":"`, seq)
	for i := seq; len(text) < size; i++ {
		text = fmt.Appendf(text, "line %d of some text; ", i*i%977)
	}
	return store.Event{Seq: seq, At: time.Duration(seq) * time.Millisecond, Kind: store.Frame, Dir: transport.Direction(1 + seq%2), Payload: append(text, `"}}`...)}
}

func testLog(i, n, size int, sealed bool) []store.Event {
	events := []store.Event{opening(i)}
	for seq := 2; seq <= n; seq++ {
		events = append(events, frameEvent(uint64(seq), size))
	}
	if sealed {
		e := &events[n-1]
		*e = store.Event{Seq: e.Seq, At: e.At, Kind: store.Closed, Payload: []byte("{}")}
	}
	return events
}

func asParts(events []store.Event) (parts []store.Part) {
	for _, e := range events {
		parts = append(parts, store.Part{Event: e})
	}
	return parts
}

func testStore(t testing.TB, dir string) *Store {
	t.Helper()
	s, err := Open(dir, Options{FoldBudget: time.Hour, CloseBudget: time.Hour, Patience: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func startSpool(t testing.TB, s *Store, events []store.Event) store.Spool {
	t.Helper()
	p, err := s.Spool(context.Background(), events[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Write(asParts(events[1:])); err != nil {
		t.Fatal(err)
	}
	return p
}

func readAll(s *Store, id store.SessionID) (events []store.Event, err error) {
	for e, err := range s.Read(context.Background(), id, 0, store.ReadOptions{}) {
		if err != nil {
			return events, err
		}
		events = append(events, e)
	}
	return events, nil
}

func mustRead(t testing.TB, s *Store, id store.SessionID, want []store.Event) {
	t.Helper()
	got, err := readAll(s, id)
	if err != nil {
		t.Fatalf("read: %v", err)
	}
	if err := sameLog(got, want); err != nil {
		t.Fatal(err)
	}
}

func sameLog(got, want []store.Event) error {
	for i := range min(len(got), len(want)) {
		if !got[i].Equal(want[i]) {
			return fmt.Errorf("event %d: got %d %s %v %t %.80q, want %d %s %v %t %.80q", i+1, got[i].Seq, got[i].Kind, got[i].At, got[i].Unterminated, got[i].Payload,
				want[i].Seq, want[i].Kind, want[i].At, want[i].Unterminated, want[i].Payload)
		}
	}
	if len(got) != len(want) {
		return fmt.Errorf("got %d events, want %d", len(got), len(want))
	}
	return nil
}

// died copies a store as the death of its recorders would leave it: without
// their locks.
func died(t testing.TB, s *Store) *Store {
	t.Helper()
	to := t.TempDir()
	err := filepath.WalkDir(s.dir, func(path string, d fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(s.dir, path)
		switch {
		case err != nil:
			return err
		case d.IsDir():
			return os.MkdirAll(filepath.Join(to, rel), 0o700)
		case strings.HasSuffix(path, ".lock"):
			return nil
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, rel), b, 0o600)
	})
	if err != nil {
		t.Fatal(err)
	}
	return testStore(t, to)
}

func exists(t testing.TB, path string) bool {
	t.Helper()
	_, err := os.Stat(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return err == nil
}

func mustFoldDead(t testing.TB, s *Store) {
	t.Helper()
	if err := s.FoldDead(context.Background()); err != nil {
		t.Fatalf("fold: %v", err)
	}
}

func mustVerify(t testing.TB, s *Store) {
	t.Helper()
	if err := s.Verify(context.Background(), func(err error) { t.Errorf("verify: %v", err) }); err != nil {
		t.Errorf("verify: %v", err)
	}
}

func one(t testing.TB, s *Store, id store.SessionID) store.Session {
	t.Helper()
	for x, err := range s.Sessions(context.Background(), store.Query{Prefix: string(id)}) {
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	t.Fatalf("session %s is not listed", id)
	return store.Session{}
}

// chunkSum returns the checksum that a chunk must begin with.
func chunkSum(key key, data []byte) uint32 {
	return crc32.Update(crc32.Checksum(key[:], castagnoli), castagnoli, data[4:])
}
