package boltstore

import (
	"bytes"
	"math/rand/v2"
	"sync/atomic"
	"testing"
)

// TestUnsynced holds that what is held is what was written there, whatever was added, cut
// and made durable before, and that all of it is given back.
func TestUnsynced(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		var all atomic.Int64
		u := unsynced{all: &all}
		file := []byte{}
		for range 40 {
			switch off := int64(rnd.IntN(len(file) + 1)); rnd.IntN(5) {
			case 0:
				u.durable(off)
			case 1:
				file = file[:max(off, u.from)]
				u.cut(int64(len(file)))
			default:
				b := bytes.Repeat([]byte{byte(rnd.Uint32())}, rnd.IntN(3*heldBlock))
				u.add(int64(len(file)), b)
				file = append(file, b...)
			}
			checkHeld(t, &u, file)
		}
		u.cut(0)
		if u.n != 0 || len(u.blocks) != 0 || all.Load() != 0 {
			t.Fatalf("%d bytes and %d blocks are left, %d bytes counted", u.n, len(u.blocks), all.Load())
		}
	}
}

// checkHeld patches a file of which nothing is left with what is held.
func checkHeld(t *testing.T, u *unsynced, file []byte) {
	t.Helper()
	if u.end() > int64(len(file)) || u.n > maxHeld || int64(len(u.blocks))*heldBlock != u.all.Load() {
		t.Fatalf("from %d %d bytes of a file of %d are held in %d blocks, %d bytes counted", u.from, u.n, len(file), len(u.blocks), u.all.Load())
	}
	got := make([]byte, len(file))
	const step = 5000 // the file is read in stretches, wherever they begin
	for off := 0; off < len(file); off += step {
		u.patch(got[off:min(off+step, len(file))], int64(off))
	}
	want := make([]byte, len(file))
	copy(want[u.from:u.end()], file[u.from:u.end()])
	if !bytes.Equal(got, want) {
		t.Fatalf("what is held from %d to %d is not what was written there", u.from, u.end())
	}
}
