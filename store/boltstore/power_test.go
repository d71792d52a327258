package boltstore

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/storetest"
)

// powered is a store whose disk is lossy, and the sessions that it is given.
type powered struct {
	*testing.T
	s    *Store
	d    *lossy
	logs map[store.SessionID][]store.Event
}

func newPowered(t *testing.T, sync time.Duration) *powered {
	s, err := Open(t.TempDir(), Options{Sync: sync, FoldBudget: time.Hour, CloseBudget: time.Hour, Patience: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.makeFolders(); err != nil {
		t.Fatal(err)
	}
	d := newLossy(s.dir)
	s.disk.fileSystem, s.disk.committer = d, d
	return &powered{T: t, s: s, d: d, logs: map[store.SessionID][]store.Event{}}
}

// record makes session n, promises with each write what the contract does, and
// folds in between. Written is told of each write.
func (p *powered) record(n, events int, written func(id store.SessionID, seq uint64)) {
	p.Helper()
	id, log := testID(n), testLog(n, events, 700, true)
	p.logs[id] = log
	x := startSpool(p.T, p.s, log[:1])
	for i, e := range log[1:] {
		if err := x.Write(asParts([]store.Event{e})); err != nil {
			p.Fatal(err)
		}
		written(id, e.Seq)
		if i%5 == 3 {
			if _, err := p.s.fold(p.Context(), id, x.(*spool).key, foldLimit{}); err != nil {
				p.Fatal(err)
			}
		}
	}
	if err := x.Close(); err != nil {
		p.Fatal(err)
	}
	p.d.promise(id, uint64(events))
}

// life uses the store in every way that changes it.
func (p *powered) life(written func(id store.SessionID, seq uint64)) {
	p.Helper()
	p.record(1, 12, written)
	p.logs[testID(2)] = testLog(2, 9, 400, true)
	if _, err := p.s.Append(p.Context(), testID(2), 0, p.logs[testID(2)]); err != nil {
		p.Fatal(err)
	}
	p.d.promise(testID(2), 9)
	p.record(3, 8, written)
	if err := p.s.Delete(p.Context(), testID(1)); err != nil {
		p.Fatal(err)
	}
	p.d.note(op{kind: opDelete, id: testID(1)})
	p.record(4, 7, written)
	if before, after := mustCompact(p, p.s); after >= before {
		p.Fatalf("nothing to compact: %d bytes", before)
	}
}

// thorough returns how many steps there are from cut to cut, and how often all
// of them are made: much in make night.
func thorough(step int, seeds uint64) (int, uint64) {
	if night {
		return 1, seeds
	}
	return step, 1
}

// cutEverywhere looks at what power cuts behind every step'th thing that was
// done leave.
func (p *powered) cutEverywhere(seed uint64, step int) (cuts int) {
	p.Helper()
	r := rand.New(rand.NewPCG(8, seed))
	for k := r.IntN(step); k <= len(p.d.ops); k += step {
		for _, keep := range []leftover{nothing, everything, beginnings, anything} {
			if step > 1 && r.IntN(4) > 0 {
				continue
			}
			p.survive(k, keep, r)
			cuts++
		}
	}
	return cuts
}

// survive is what must be true after a power cut.
func (p *powered) survive(k int, keep leftover, r *rand.Rand) {
	p.Helper()
	files, promised, deleted := p.d.cut(k, keep, r)
	dir := memDir(p.T)
	defer func() { _ = os.RemoveAll(dir) }()
	s := testStore(p.T, dir)
	defer func() { _ = s.Close() }()
	if _, err := s.makeFolders(); err != nil {
		p.Fatal(err)
	}
	for path, b := range files {
		rel, err := filepath.Rel(p.d.root, path)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, rel), b, 0o600)
		}
		if err != nil {
			p.Fatal(err)
		}
	}
	said := fmt.Sprintf("power cut after %d of %d, keeping %d", k, len(p.d.ops), keep)
	p.remains(s, promised, deleted, said)
	err := s.FoldDead(context.Background())
	if err != nil && !(keep == anything && errors.Is(err, store.ErrCorrupt)) {
		p.Fatalf("%s: fold: %v", said, err)
	}
	p.remains(s, promised, deleted, said+", folded")
	if err := s.Verify(context.Background(), func(err error) { p.Errorf("%s: verify: %v", said, err) }); err != nil || p.Failed() {
		p.Fatalf("%s: verify: %v", said, err)
	}
	x := startSpool(p.T, s, testLog(9, 3, 10, true))
	if err := x.Close(); err != nil {
		p.Fatalf("%s: a new session: %v", said, err)
	}
}

// remains holds that each session is an unbroken beginning, with all that was
// promised. What came out of order may be counted as lost behind it.
func (p *powered) remains(s *Store, promised map[store.SessionID]uint64, deleted map[store.SessionID]bool, said string) {
	p.Helper()
	for id, want := range p.logs {
		got, err := readAll(s, id)
		if deleted[id] {
			if !errors.Is(err, store.ErrNotFound) {
				p.Fatalf("%s: deleted session %s: %d events, %v", said, id, len(got), err)
			}
			continue
		}
		if errors.Is(err, store.ErrNotFound) && promised[id] == 0 || errors.Is(err, store.ErrNotFound) && id == testID(1) {
			continue // session 1 may be on its way out
		}
		if errors.Is(err, store.ErrCorrupt) && promised[id] == 0 && len(got) == 0 {
			continue // its head is not there and something behind it is: it is said and kept
		}
		if err != nil {
			p.Fatalf("%s: session %s: %v", said, id, err)
		}
		if n := len(got); n > 0 && got[n-1].Kind == store.Lost {
			got = got[:n-1]
		}
		if uint64(len(got)) < promised[id] || len(got) > len(want) {
			p.Fatalf("%s: session %s: %d events, %d promised", said, id, len(got), promised[id])
		}
		if err := sameLog(got, want[:len(got)]); err != nil {
			p.Fatalf("%s: session %s: %v", said, id, err)
		}
	}
	for x, err := range s.Sessions(context.Background(), store.Query{}) {
		if err != nil && !errors.Is(err, store.ErrCorrupt) {
			p.Fatalf("%s: list: %v", said, err)
		}
		if err == nil && p.logs[x.ID] == nil {
			p.Fatalf("%s: listed %+v", said, x)
		}
	}
}

// TestPowerCut cuts the power behind what was done, with every event promised
// when its Write returns, at Close, or when the disk was told.
func TestPowerCut(t *testing.T) {
	step, seeds := thorough(9, 3)
	for name, sync := range map[string]time.Duration{"always": SyncAlways, "none": SyncNone, "timer": time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			p := newPowered(t, sync)
			p.life(func(id store.SessionID, seq uint64) {
				switch {
				case sync == SyncAlways:
					p.d.promise(id, seq)
				case sync > 0:
					p.told(id)
					p.d.promise(id, seq)
				}
			})
			cuts := 0
			for seed := range seeds {
				cuts += p.cutEverywhere(seed, step)
			}
			storetest.Tell(t, "power cut, --sync "+name, cuts, "the synced part is whole, the rest an unbroken beginning")
		})
	}
}

// TestFailedCommit cuts the power after transactions whose last sync failed: the
// database looks as if it had them, and has not.
func TestFailedCommit(t *testing.T) {
	cuts := 0
	step, seeds := thorough(2, 20)
	for late := 1; late <= 3; late++ { // making the database, a fold, the last fold
		p := newPowered(t, SyncAlways)
		p.logs[testID(1)] = testLog(1, 5, 700, true)
		x := startSpool(t, p.s, p.logs[testID(1)][:3])
		p.d.late = late
		_, _ = p.s.fold(t.Context(), testID(1), x.(*spool).key, foldLimit{})
		if err := x.Write(asParts(p.logs[testID(1)][3:])); err != nil {
			t.Fatal(err)
		}
		p.d.promise(testID(1), 5)
		_ = x.Close()
		_ = p.s.FoldDead(t.Context())
		for seed := range seeds {
			cuts += p.cutEverywhere(seed, step)
		}
	}
	storetest.Tell(t, "power cut after a commit whose last fsync failed", cuts, "the spool goes only after one that succeeded")
}

// told waits until the disk was told of all that is in a spool.
func (p *powered) told(id store.SessionID) {
	p.Helper()
	hangs := time.After(patience)
	for !p.d.synced(p.s.spoolPath(id)) {
		select {
		case <-p.d.sync:
		case <-hangs:
			p.Fatal("the disk was not told of a write")
		}
	}
}

// synced reports whether all that was written to a file is durable.
func (d *lossy) synced(path string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	covered := d.durable(len(d.ops))
	for i, o := range d.ops {
		named := o.kind == opNames && o.names[path] == d.nodes[path] && o.names[path] != 0
		if (named || o.kind == opWrite && o.node == d.nodes[path]) && !covered[i] {
			return false
		}
	}
	return true
}
