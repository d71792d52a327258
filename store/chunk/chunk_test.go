package chunk

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
)

var session = [16]byte{1, 15: 9}

// run returns consecutive events from Seq first; each payload has about `size` bytes.
func run(first uint64, count, size int) []store.Event {
	events := make([]store.Event, count)
	for i := range events {
		seq := first + uint64(i)
		payload := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"result":{}}`, seq)
		for len(payload) < size {
			payload = fmt.Appendf(payload, " %d", len(payload)*int(seq))
		}
		events[i] = store.Event{Seq: seq, At: time.Duration(seq), Kind: store.Frame, Dir: transport.ServerToClient, Stream: seq % 3, Redacted: seq % 2, Payload: payload}
	}
	return events
}

func TestRoundTrip(t *testing.T) {
	noise := run(1, 1, 0)
	noise[0].Payload = []byte{0xff, 0, 0x80, 7}
	for name, events := range map[string][]store.Event{
		"one":         run(1, 1, 0),
		"small":       run(7, 64, 100),
		"large":       run(1<<40, 64, 20<<10),
		"one huge":    run(3, 1, 3<<20),
		"hardly text": noise,
		"empty":       {{Seq: 4, Kind: "frobnicated"}},
	} {
		data := Encode(session, events)
		got, err := Decode(session, events[0].Seq, data)
		if err != nil || len(got) != len(events) {
			t.Errorf("%s: %d events, %v", name, len(got), err)
			continue
		}
		for i := range got {
			if !got[i].Equal(events[i]) {
				t.Errorf("%s: event %d is another: %+v", name, events[i].Seq, got[i])
			}
			_ = append(got[i].Payload, "more than there was"...)
		}
		clear(data)
		if !got[len(got)-1].Equal(events[len(events)-1]) {
			t.Errorf("%s: the payloads share memory with each other or with the chunk", name)
		}
	}
}

func TestSplit(t *testing.T) {
	events := append(run(1, 10, 1000), run(11, 1, 9000)...)
	events = append(events, run(12, 3, 1000)...)
	var sizes []int
	next := uint64(1)
	for part := range Split(events, 4200) {
		if part[0].Seq != next {
			t.Errorf("a run begins at event %d, want %d", part[0].Seq, next)
		}
		next += uint64(len(part))
		sizes = append(sizes, len(part))
	}
	if got, want := fmt.Sprint(sizes), "[4 4 2 1 3]"; got != want {
		t.Errorf("runs of %s events, want %s", got, want)
	}
}

// Every flipped bit is found, and so is the chunk of another place.
func TestDamage(t *testing.T) {
	data := Encode(session, run(5, 3, 40))
	for i := range len(data) * 8 {
		bad := bytes.Clone(data)
		bad[i/8] ^= 1 << (i % 8)
		if _, err := Decode(session, 5, bad); !errors.Is(err, store.ErrCorrupt) {
			t.Errorf("bit %d: %v", i, err)
		}
	}
	for n := range data {
		if _, err := Decode(session, 5, data[:n]); !errors.Is(err, store.ErrCorrupt) {
			t.Errorf("cut to %d bytes: %v", n, err)
		}
	}
	if _, err := Decode(session, 6, data); !errors.Is(err, store.ErrCorrupt) {
		t.Errorf("at another event: %v", err)
	}
	if _, err := Decode([16]byte{2}, 5, data); !errors.Is(err, store.ErrCorrupt) {
		t.Errorf("of another session: %v", err)
	}
	for i := 4; i < headSize; i++ {
		bad := bytes.Clone(data)
		bad[i] = 9
		if _, err := Decode(session, 5, believed(bad, 5)); !errors.Is(err, store.ErrNewer) {
			t.Errorf("byte %d of a newer version: %v", i, err)
		}
	}
}

// TestForged reads what has a right checksum and is no chunk.
func TestForged(t *testing.T) {
	record := func(part store.Part) []byte {
		b := append(store.AppendPartHead(nil, &part), part.Payload...)
		return append(binary.AppendUvarint(nil, uint64(len(b))), b...)
	}
	good := record(store.Part{Event: run(5, 1, 0)[0]})
	with := func(change func(*store.Part)) []byte {
		part := store.Part{Event: run(5, 1, 0)[0]}
		change(&part)
		return record(part)
	}
	for _, c := range []struct {
		name        string
		first       uint64
		count, size int // size -1: as it is
		compression byte
		body        []byte
		good        bool
	}{
		{"one event", 5, 1, -1, compressNone, good, true},
		{"no event", 5, 0, -1, compressNone, nil, false},
		{"no event, and bytes", 5, 0, -1, compressNone, good, false},
		{"more events than bytes", 5, len(good) + 1, -1, compressNone, good, false},
		{"an event too few", 5, 2, -1, compressNone, good, false},
		{"bytes behind", 5, 1, -1, compressNone, append(bytes.Clone(good), 0), false},
		{"another event", 6, 1, -1, compressNone, good, false},
		{"past the highest Seq", math.MaxUint64, 1, -1, compressNone, with(func(p *store.Part) { p.Seq = math.MaxUint64 }), false},
		{"a part that goes on", 5, 1, -1, compressNone, with(func(p *store.Part) { p.More = true }), false},
		{"a part of an earlier one", 5, 1, -1, compressNone, with(func(p *store.Part) { p.Cont = true }), false},
		{"bytes of a pipe", 5, 1, -1, compressNone, with(func(p *store.Part) { p.Chunk, p.Lines = true, 1 }), false},
		{"longer than it says", 5, 1, len(good) - 1, compressNone, good, false},
		{"shorter than it says", 5, 1, len(good) + 1, compressNone, good, false},
		{"a record past the end", 5, 1, -1, compressNone, good[:len(good)-1], false},
		{"a length that does not end", 5, 1, -1, compressNone, []byte{0xff, 0xff}, false},
		{"no compressed bytes", 5, 1, -1, compressZstd, good, false},
		{"larger than a chunk may be", 5, 1, 1 << 40, compressZstd, good, false},
	} {
		if c.size < 0 {
			c.size = len(c.body)
		}
		data := append(binary.AppendUvarint(manyEvents(uint64(c.count)), uint64(c.size)), c.body...)
		data[6] = c.compression
		got, err := Decode(session, c.first, believed(data, c.first))
		if c.good != (err == nil) || !c.good && !errors.Is(err, store.ErrCorrupt) {
			t.Errorf("%s: %d events, %v", c.name, len(got), err)
		}
	}
}

// believed makes the checksum right.
func believed(data []byte, first uint64) []byte {
	if len(data) >= 4 {
		binary.LittleEndian.PutUint32(data, checksum(session, first, data))
	}
	return data
}

// FuzzDecode makes the checksum right: otherwise the fuzzer would not come further than to it.
func FuzzDecode(f *testing.F) {
	f.Add(Encode(session, run(1, 3, 40)))
	f.Add(Encode(session, run(1, 2, 40<<10)))
	f.Add(manyEvents(1 << 62))
	f.Fuzz(func(t *testing.T, data []byte) {
		events, err := Decode(session, 1, believed(bytes.Clone(data), 1))
		for i, event := range events {
			if event.Seq != uint64(i)+1 {
				t.Fatalf("event %d after event %d", event.Seq, i)
			}
		}
		if err != nil && !errors.Is(err, store.ErrCorrupt) && !errors.Is(err, store.ErrNewer) {
			t.Errorf("neither damaged nor newer: %v", err)
		}
		if err == nil {
			again, err := Decode(session, 1, Encode(session, events))
			if err != nil || len(again) != len(events) {
				t.Errorf("what was read and written is not read: %v", err)
			}
		}
	})
}

// manyEvents returns an uncompressed chunk that names a number of events and has none.
func manyEvents(count uint64) []byte {
	return binary.AppendUvarint([]byte{0, 0, 0, 0, Version, store.CodecVersion, compressNone}, count)
}

// Version 1 is read for ever: with the dictionary, and without.
func TestGolden(t *testing.T) {
	for name, events := range map[string][]store.Event{"small": run(1, 3, 40), "large": run(9, 2, 20<<10)} {
		text, err := os.ReadFile(filepath.Join("testdata", "v1-"+name+".hex"))
		if err != nil {
			t.Fatal(err)
		}
		data, err := hex.DecodeString(strings.TrimSpace(string(text)))
		if err != nil {
			t.Fatal(err)
		}
		got, err := Decode(session, events[0].Seq, data)
		if err != nil || len(got) != len(events) {
			t.Fatalf("%s: %d events, %v", name, len(got), err)
		}
		for i := range got {
			if !got[i].Equal(events[i]) {
				t.Errorf("%s: event %d is another: %+v", name, events[i].Seq, got[i])
			}
		}
	}
}
