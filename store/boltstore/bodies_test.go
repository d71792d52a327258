package boltstore

import (
	"archive/tar"
	"compress/gzip"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	mrand "math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	bolt "go.etcd.io/bbolt"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
)

// Two sessions of the store of release 0.1.0 have the same image of 540,000 bytes, which
// lies there in three bodies.
const (
	firstImage  store.SessionID = "01a2041e-e5c8-7b85-99ec-698472e4b402"
	secondImage store.SessionID = "01a2041e-ea69-7e55-aaa7-120b2a046255"
)

// releasedStore unpacks the store that release 0.1.0 left.
func releasedStore(t *testing.T) *Store {
	t.Helper()
	f := got(os.Open(filepath.Join("testdata", "store.0.1.0.tar.gz")))
	defer func() { _ = f.Close() }()
	dir := memDir(t)
	for r := tar.NewReader(got(gzip.NewReader(f))); ; {
		h, err := r.Next()
		if err == io.EOF {
			return testStore(t, filepath.Join(dir, "home"))
		}
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, filepath.FromSlash(h.Name))
		if h.Typeflag == tar.TypeDir {
			err = os.MkdirAll(path, 0o700)
		} else {
			err = os.WriteFile(path, got(io.ReadAll(r)), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// inBodies returns how many elements the buckets of the bodies have.
func inBodies(t *testing.T, s *Store) (bodies, uses int) {
	t.Helper()
	err := s.view(t.Context(), s.databasePath(got(firstImage.Bytes())), func(tx *dbTx) error {
		for n, b := range map[*int]*bolt.Bucket{&bodies: tx.bodies, &uses: tx.use} {
			if b != nil {
				*n = b.Stats().KeyN
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return bodies, uses
}

// TestReleasedBodies deletes, one after the other, two sessions that share their bodies,
// and compacts in between.
func TestReleasedBodies(t *testing.T) {
	s := releasedStore(t)
	first, second := got(readAll(s, firstImage)), got(readAll(s, secondImage))
	if b, u := inBodies(t, s); b != 3 || u != 6 {
		t.Fatalf("%d bodies, used %d times", b, u)
	}
	usage := got(s.Usage(t.Context()))
	if stored := usage.Stored[firstImage]; stored < 3<<10 || stored > 10<<10 {
		t.Errorf("the first session takes %d bytes", stored)
	}
	if err := s.Delete(t.Context(), testID(1)); !errors.Is(err, store.ErrNotFound) {
		t.Fatal(err)
	}
	compactAnew(t, s)
	mustRead(t, s, firstImage, first)
	if err := s.Delete(t.Context(), firstImage); err != nil {
		t.Fatal(err)
	}
	if b, u := inBodies(t, s); b != 3 || u != 3 {
		t.Errorf("after the first is deleted: %d bodies, used %d times", b, u)
	}
	compactAnew(t, s)
	mustRead(t, s, secondImage, second)
	mustVerify(t, s)
	if err := replaceSession(t.Context(), s, got(secondImage.Bytes()), second); err != nil {
		t.Fatal(err)
	}
	if b, u := inBodies(t, s); b != 0 || u != 0 {
		t.Errorf("after the second is written anew: %d bodies, used %d times", b, u)
	}
	mustRead(t, s, secondImage, second)
	mustVerify(t, s)
}

// compactAnew compacts a database whether or not it is worth it: it fills it with what
// repeats nothing, and deletes that.
func compactAnew(t *testing.T, s *Store) {
	t.Helper()
	id := store.SessionID(fmt.Sprintf("01a2041e-0000-7000-8000-%012x", mrand.Uint32()))
	log := withImage(1, 300<<10)
	log[0].Payload = store.Header{ID: id, Start: testStart(1), Transport: "stdio"}.Encode()
	if _, err := s.Append(t.Context(), id, 0, log); err != nil {
		t.Fatal(err)
	}
	if err := s.Delete(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	if before, after := mustCompact(t, s); after >= before {
		t.Fatalf("%d bytes, now %d", before, after)
	}
}

// TestReleasedBodyDamaged damages a body: it is said, its sessions are salvaged but for
// the event, and the others are whole.
func TestReleasedBodyDamaged(t *testing.T) {
	s := releasedStore(t)
	first := got(readAll(s, firstImage))
	f := got(os.OpenFile(s.databasePath(got(firstImage.Bytes())), os.O_RDWR, 0))
	for _, at := range got(scanDatabase(f)).bodies {
		got(f.WriteAt([]byte("damage"), at.offset+at.length/2))
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	s = testStore(t, s.dir)
	if _, err := readAll(s, secondImage); !errors.Is(err, store.ErrCorrupt) {
		t.Errorf("damaged body: %v", err)
	}
	faults := 0
	if err := s.Verify(t.Context(), func(error) { faults++ }); err != nil || faults != 2 {
		t.Errorf("verify: %d faults, %v", faults, err)
	}
	if err := s.Repair(t.Context(), false, func(store.Repaired) {}); err != nil {
		t.Fatal(err)
	}
	lost := 0
	for i, e := range got(readAll(s, firstImage)) {
		if !e.Equal(first[i]) {
			lost++
		}
	}
	if lost != 1 {
		t.Errorf("%d events are lost", lost)
	}
	mustVerify(t, s)
}

// TestReleasedBitFlips flips bits of a database with bodies. What is read without an error
// is what was recorded.
func TestReleasedBitFlips(t *testing.T) {
	s := releasedStore(t)
	want := map[store.SessionID][]store.Event{}
	for _, id := range []store.SessionID{firstImage, secondImage} {
		want[id] = got(readAll(s, id))
	}
	path := s.databasePath(got(firstImage.Bytes()))
	whole := got(os.ReadFile(path))
	r := mrand.New(mrand.NewPCG(1, 7))
	for range 200 {
		bit := r.IntN(len(whole) * 8)
		b := append([]byte(nil), whole...)
		b[bit/8] ^= 1 << (bit % 8)
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		x := testStore(t, s.dir)
		for id, log := range want {
			events, err := readAll(x, id)
			if err == nil {
				err = sameLog(events, log)
			} else if errors.Is(err, store.ErrCorrupt) {
				err = nil
			}
			if err != nil {
				t.Fatalf("bit %d: %v", bit, err)
			}
		}
		_ = x.Delete(t.Context(), firstImage)
		_ = x.Repair(t.Context(), false, func(store.Repaired) {})
		mustVerify(t, x)
		_ = x.Close()
	}
}

// withImage is a session with an image of n bytes, which repeats nothing.
func withImage(i, n int) []store.Event {
	b := make([]byte, n)
	_, _ = rand.Read(b)
	log := testLog(i, 6, 300, true)
	log[3] = store.Event{Seq: 4, At: log[3].At, Kind: store.Frame, Dir: transport.ServerToClient,
		Payload: fmt.Appendf(nil, `{"result":{"content":[{"type":"image","data":"%s"}]}}`, base64.StdEncoding.EncodeToString(b))}
	return log
}

// TestImageSize holds that an image in base64 takes the place of its bytes.
func TestImageSize(t *testing.T) {
	var c chunker
	for _, e := range withImage(1, 300<<10) {
		c.add(e, store.Head{Seq: e.Seq})
	}
	c.flush()
	size := 0
	for _, x := range c.done {
		size += len(x.data)
	}
	if size > 310<<10 {
		t.Errorf("an image of 300 KiB takes %d bytes", size)
	}
}
