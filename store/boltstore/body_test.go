package boltstore

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
)

// withImage is a session with an image of n bytes.
func withImage(n int, image string) []store.Event {
	log := testLog(n, 6, 300, true)
	log[3] = store.Event{Seq: 4, At: log[3].At, Kind: store.Frame, Dir: transport.ServerToClient,
		Payload: fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"image","data":"%s","mimeType":"image/png"}]}}`, n*1000, image)}
	return log
}

func bodiesOf(t testing.TB, s *Store) DatabaseUsage {
	t.Helper()
	u, err := s.Usage(t.Context())
	if err != nil || len(u.Databases) != 1 {
		t.Fatalf("%+v, %v", u, err)
	}
	return u.Databases[0]
}

// The same image in twenty sessions, recorded and imported, takes the place of one, until
// the last of them goes.
func TestSameImage(t *testing.T) {
	s := testStore(t, t.TempDir())
	shared := image(1, 1<<20)
	logs := map[store.SessionID][]store.Event{}
	for n := 1; n <= 20; n++ {
		log := withImage(n, shared)
		logs[testID(n)] = log
		if n%2 == 0 {
			if _, err := s.Append(t.Context(), testID(n), 0, log); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if err := startSpool(t, s, log).Close(); err != nil {
			t.Fatal(err)
		}
		mustFoldDead(t, s)
	}
	d := bodiesOf(t, s)
	if d.Bytes > 3<<20 || d.Bytes-d.Free > 11<<20/10 || d.Shared.Bytes < 19*d.Bodies.Bytes {
		t.Errorf("twenty sessions with one image of 1 MiB take %d bytes, %d of them free; bodies %+v, used %+v", d.Bytes, d.Free, d.Bodies, d.Shared)
	}
	mustVerify(t, s)
	for n := range 19 {
		if err := s.Delete(t.Context(), testID(n+1)); err != nil {
			t.Fatal(err)
		}
		if n == 9 {
			mustCompact(t, s)
		}
		mustRead(t, s, testID(20), logs[testID(20)])
	}
	if now := bodiesOf(t, s); now.Bodies != d.Bodies || now.Shared != now.Bodies {
		t.Errorf("one left: bodies %+v, used %+v", now.Bodies, now.Shared)
	}
	mustVerify(t, s)
	if err := s.Delete(t.Context(), testID(20)); err != nil {
		t.Fatal(err)
	}
	if now := bodiesOf(t, s); now.Bodies.Files+now.Shared.Files != 0 {
		t.Errorf("none left: bodies %+v, used %+v", now.Bodies, now.Shared)
	}
	if _, after := mustCompact(t, s); after > 64<<10 {
		t.Errorf("an empty database has %d bytes", after)
	}
}

// A session that replaces itself, and the same image twice in one, keep their bodies.
func TestImageTwice(t *testing.T) {
	s := testStore(t, t.TempDir())
	one := image(2, 400<<10)
	log := withImage(1, one+`"},{"data":"`+one)
	if _, err := s.Append(t.Context(), testID(1), 0, log); err != nil {
		t.Fatal(err)
	}
	if d := bodiesOf(t, s); d.Bodies.Bytes > 500<<10 {
		t.Errorf("bodies %+v", d.Bodies)
	}
	key, _ := testID(1).Bytes()
	if err := s.replaceSession(t.Context(), key, log); err != nil {
		t.Fatal(err)
	}
	mustRead(t, s, testID(1), log)
	mustVerify(t, s)
}

// A body that is damaged is said, its session salvaged but for the event, the others are
// whole, and who records the same again has it whole.
func TestBodyDamaged(t *testing.T) {
	s := testStore(t, t.TempDir())
	one, two := image(3, 300<<10), image(4, 300<<10)
	logs := [][]store.Event{withImage(1, one), withImage(2, two), withImage(3, one)}
	for i, log := range logs[:2] {
		if _, err := s.Append(t.Context(), testID(i+1), 0, log); err != nil {
			t.Fatal(err)
		}
	}
	harmBody(t, s, logs[0][3].Payload)
	s = testStore(t, s.dir)
	if _, err := readAll(s, testID(1)); !errors.Is(err, store.ErrCorrupt) {
		t.Errorf("damaged body: %v", err)
	}
	if err := s.Compact(t.Context(), 0, func(Compacted) {}); err == nil {
		t.Error("compacted a damaged database")
	}
	mustRead(t, s, testID(2), logs[1])
	if _, err := s.Append(t.Context(), testID(3), 0, logs[2]); err != nil {
		t.Fatal(err)
	}
	mustRead(t, s, testID(3), logs[2])
	faults := 0
	if err := s.Verify(t.Context(), func(error) { faults++ }); err != nil || faults < 2 {
		t.Errorf("verify: %d faults, %v", faults, err)
	}
	if err := s.Repair(t.Context(), false, func(r Repaired) {
		if r.Lost() {
			t.Errorf("lost: %+v", r) // session 3 brought it back
		}
	}); err != nil {
		t.Fatal(err)
	}
	for i, log := range logs {
		mustRead(t, s, testID(i+1), log)
	}
	mustVerify(t, s)
}

// harmBody damages the second piece of a payload.
func harmBody(t *testing.T, s *Store, payload []byte) {
	t.Helper()
	f := got(os.OpenFile(s.monthPath(got(testID(1).Bytes())), os.O_RDWR, 0))
	defer func() { _ = f.Close() }()
	w := got(scanDatabase(f))
	var cuts cutter
	piece := payload[cuts.cut(payload):]
	piece = piece[:cuts.cut(piece)]
	at, ok := w.bodies[sha256.Sum256(piece)]
	if !ok {
		t.Fatal("the image is no body")
	}
	if _, err := f.WriteAt([]byte("damage"), at.off+at.n/2); err != nil {
		t.Fatal(err)
	}
}
