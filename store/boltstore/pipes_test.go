package boltstore

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
)

// pipeChunks returns chunks of the three pipes of a session, which end anywhere, with an
// event now and then.
func pipeChunks(n int, seed uint64) (parts []store.Part) {
	rng := rand.New(rand.NewPCG(seed, 0))
	kinds := []store.Event{{Kind: store.Frame, Dir: transport.ClientToServer}, {Kind: store.Frame, Dir: transport.ServerToClient}, {Kind: store.Stderr}}
	texts := make([][]byte, len(kinds))
	seq := uint64(1)
	for i := range n {
		k := rng.IntN(len(kinds))
		if len(texts[k]) == 0 {
			texts[k] = fmt.Appendf(nil, "{\"id\":%d,\"text\":%q}\n\n{\"pipe\":%d}\r\nnoise\n", i, strings.Repeat("x{", rng.IntN(600)), k)
		}
		cut := rng.IntN(len(texts[k])) + 1
		e := kinds[k]
		e.At, e.Payload = time.Duration(i)*time.Millisecond, texts[k][:cut]
		texts[k] = texts[k][cut:]
		parts = append(parts, store.Part{Event: e, Chunk: true})
		if rng.IntN(8) == 0 {
			seq++
			note := store.Event{Seq: seq, At: e.At, Kind: store.Delivered, Dir: transport.ServerToClient, Payload: store.EncodePayload(store.DeliveredInfo{Blocked: time.Second})}
			parts = append(parts, store.Part{Event: note})
		}
	}
	return parts
}

// pipeEvents returns what a reader makes of parts.
func pipeEvents(t *testing.T, opened store.Event, parts []store.Part, dead bool) (events []store.Event) {
	t.Helper()
	var a store.Assembler
	for i, p := range append([]store.Part{{Event: opened}}, parts...) {
		p.Payload = bytes.Clone(p.Payload)
		if err := a.Add(p, int64(i)); err != nil {
			t.Fatal(err)
		}
	}
	if dead {
		a.Cut()
	}
	for e, ok := a.Next(); ok; e, ok = a.Next() {
		events = append(events, e)
	}
	return events
}

// TestPipes folds a session beside its recorder while lines are open: whoever reads it,
// from wherever, and whoever folds the rest when the recorder is gone, finds the events
// that are found without a fold.
func TestPipes(t *testing.T) {
	for seed := range uint64(4) {
		s := testStore(t, t.TempDir())
		p := startSpool(t, s, []store.Event{opening(1)})
		parts := pipeChunks(120, seed)
		for i, x := range parts {
			if i%5 == 0 && x.Chunk {
				x.Buffer = append(make([]byte, store.ChunkRoom), x.Payload...)
				x.Payload = x.Buffer[store.ChunkRoom:]
			}
			if err := p.Write([]store.Part{x}); err != nil {
				t.Fatal(err)
			}
			if i%11 == 10 {
				foldInPlace(t, s, p.(*spool).key)
			}
			if i%7 != 6 {
				continue
			}
			want := pipeEvents(t, opening(1), parts[:i+1], false)
			mustRead(t, s, testID(1), want)
			head := want[len(want)-1]
			for _, from := range []int{1, len(want)/2 + 1, len(want)} {
				for e, err := range s.Read(t.Context(), testID(1), uint64(from), store.ReadOptions{}) {
					if err != nil || !e.Equal(want[from-1]) {
						t.Fatalf("seed %d, %d parts: event %d: %d %q, %v", seed, i+1, from, e.Seq, e.Payload, err)
					}
					from++
				}
				if from != len(want)+1 {
					t.Fatalf("seed %d, %d parts: read up to event %d of %d", seed, i+1, from-1, len(want))
				}
			}
			if got := one(t, s, testID(1)); got.Head.Seq != head.Seq || got.State != store.Live {
				t.Fatalf("listed %+v", got)
			}
			gone := died(t, s)
			mustFoldDead(t, gone)
			mustRead(t, gone, testID(1), pipeEvents(t, opening(1), parts[:i+1], true))
		}
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
		mustRead(t, s, testID(1), pipeEvents(t, opening(1), parts, true))
		mustVerify(t, s)
	}
}

// TestDamagedPipes salvages what stands behind damage in a spool with chunks: one lost
// event stands for what is missing, and lines whose beginnings are missing are told.
func TestDamagedPipes(t *testing.T) {
	s := testStore(t, t.TempDir())
	p := startSpool(t, s, []store.Event{opening(1)})
	write := func(text string) (at int64) {
		at = p.(*spool).good
		e := store.Event{Kind: store.Frame, Dir: transport.ClientToServer, Payload: []byte(text)}
		if err := p.Write([]store.Part{{Event: e, Chunk: true}}); err != nil {
			t.Fatal(err)
		}
		return at
	}
	write("{\"id\":1}\n{\"id\":")
	bad := write("2}\n{\"id\":3")
	write("}\n{\"id\":4}\n")
	gone := died(t, s)
	flipBit(t, gone.spoolPath(testID(1)), (bad+recordHead+5)*8)
	if err := gone.FoldDead(t.Context()); err == nil {
		t.Error("damage was not told")
	}
	text := func(salvaged bool) (text string) {
		events := gone.Read(t.Context(), testID(1), 2, store.ReadOptions{})
		if salvaged {
			events = gone.Salvage(t.Context(), testID(1))
		}
		for e, err := range events {
			if err != nil {
				t.Fatal(err)
			}
			if e.Kind != store.Opened {
				text += fmt.Sprintf("%d %s %.8q %v\n", e.Seq, e.Kind, e.Payload, e.Unterminated)
			}
		}
		return text
	}
	if got, want := text(false), "2 frame \"{\\\"id\\\":1}\" false\n3 frame \"{\\\"id\\\":\" true\n4 lost \"{\\\"frames\" false\n"; got != want {
		t.Errorf("read\n%s", got)
	}
	if got, want := text(true), "2 frame \"{\\\"id\\\":1}\" false\n3 frame \"{\\\"id\\\":\" true\n4 lost \"{\\\"frames\" false\n5 lost \"{\\\"frames\" false\n6 frame \"{\\\"id\\\":4}\" false\n"; got != want {
		t.Errorf("salvaged\n%s", got)
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
}
