package store

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/mcprec/mcprec/transport"
)

// TestKeepOnly holds that an Assembler which keeps little of each frame returns the same events as one that keeps
// all, but for their bytes, and counts these.
func TestKeepOnly(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	pieces := []string{`{"a":"`, `xxxxxxxxxxxxxxxxxxxx`, `\"`, `"}`, "\n", " \t", `[[1,2]`, `]`, "}", `{"b":{}}`, "\n{}\n"}
	for range 3000 {
		all, few := &Assembler{}, &Assembler{}
		few.KeepOnly(7)
		opened := Part{Event: Event{Seq: 1, Kind: Opened, Payload: Header{ID: "x", MaxFrame: int64(random.IntN(3)) * 20}.Encode()}}
		parts := []Part{opened}
		for range 2 + random.IntN(25) {
			part := Part{Chunk: true, Event: Event{Kind: Frame, Dir: transport.ClientToServer, Payload: []byte(pieces[random.IntN(len(pieces))])}}
			switch random.IntN(5) {
			case 0, 1:
				part.Dir = transport.ServerToClient
			case 2:
				part.Kind, part.Dir = Stderr, transport.NoDirection
			}
			parts = append(parts, part)
		}
		var lists [2]string
		for i, a := range []*Assembler{all, few} {
			var bytes uint64
			take := func() {
				for e, ok := a.Next(); ok; e, ok = a.Next() {
					lists[i] += fmt.Sprintf("%d %s %v %t %d\n", e.Seq, e.Kind, e.Dir, e.Unterminated, e.Cut)
					if e.Kind == Frame {
						bytes += uint64(len(e.Payload))
					} else {
						lists[i] += string(e.Payload) + "\n"
					}
				}
			}
			for j, part := range parts {
				if err := a.Add(part, int64(j)); err != nil {
					t.Fatal(err)
				}
				take()
				lists[i] += fmt.Sprintf("held %d\n", a.Held())
			}
			a.Cut()
			take()
			lists[i] += fmt.Sprintf("%d bytes", bytes+a.Left())
		}
		if lists[0] != lists[1] {
			t.Fatalf("all:\n%s\nfew:\n%s", lists[0], lists[1])
		}
	}
}

// TestKeepOnlyParts holds the same for an event in parts.
func TestKeepOnlyParts(t *testing.T) {
	var a Assembler
	a.KeepOnly(7)
	for i, size := range []int{5, 13, 17} {
		part := Part{Event: Event{Seq: 1, Kind: Frame, Payload: make([]byte, size)}, Cont: i > 0, More: i < 2}
		if err := a.Add(part, 0); err != nil {
			t.Fatal(err)
		}
	}
	e, ok := a.Next()
	if !ok || len(e.Payload) != 7 || a.Left() != 28 || a.held != 0 {
		t.Errorf("%t, %d bytes kept, %d left, %d held", ok, len(e.Payload), a.Left(), a.held)
	}
}
