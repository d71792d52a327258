package chunk

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

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
		if !got[len(got)-1].Equal(events[len(events)-1]) {
			t.Errorf("%s: the payloads share memory with each other", name)
		}
	}
}

// TestBuilder makes two chunks of events in memory that is used again.
func TestBuilder(t *testing.T) {
	var b Builder
	var payload []byte
	for _, events := range [][]store.Event{run(1, 40, 2000), run(41, 3, 10)} {
		for _, event := range events {
			payload = append(payload[:0], event.Payload...)
			event.Payload = payload
			b.Add(&event)
		}
		clear(payload)
		size := b.Size()
		data := b.Chunk(session)
		if !bytes.Equal(data, Encode(session, events)) {
			t.Errorf("from event %d: the chunk is not that of Encode", events[0].Seq)
		}
		if h, err := ReadHeader(session, events[0].Seq, data); err != nil || h.Last != events[len(events)-1].Seq || h.Size != size || b.Size() != 0 {
			t.Errorf("from event %d: last %d, %d of %d bytes, %v; then %d", events[0].Seq, h.Last, h.Size, size, err, b.Size())
		}
	}
}

// TestPartly: the events before a record that is none are yielded, and a reader may stop at one.
func TestPartly(t *testing.T) {
	whole := append(manyEvents(3), 0)
	for _, event := range run(1, 2, 0) {
		form := store.AppendPart(nil, store.Part{Event: event})
		whole = append(binary.AppendUvarint(whole, uint64(len(form))), form...)
	}
	const head = headSize + 2
	whole = append(whole, 0xff, 0xff)
	whole[head-1] = byte(len(whole) - head)
	var got []string
	for event, err := range Events(session, 1, believed(whole, 1)) {
		if got = append(got, fmt.Sprintf("%d %t", event.Seq, errors.Is(err, store.ErrCorrupt))); len(got) > 5 {
			break
		}
	}
	if want := "[1 false 2 false 0 true]"; fmt.Sprint(got) != want {
		t.Errorf("got %v, want %s", got, want)
	}
	for event, err := range Events(session, 1, whole) {
		if event.Seq != 1 || err != nil {
			t.Errorf("event %d, %v", event.Seq, err)
		}
		break
	}
}

// TestImageSize holds that an image in base64 takes the place of its bytes.
func TestImageSize(t *testing.T) {
	image := make([]byte, 300<<10)
	_, _ = rand.Read(image)
	events := run(1, 3, 300)
	events[1].Payload = fmt.Appendf(nil, `{"result":{"content":[{"type":"image","data":"%s"}]}}`, base64.StdEncoding.EncodeToString(image))
	if size := len(Encode(session, events)); size > 310<<10 {
		t.Errorf("an image of 300 KiB takes %d bytes", size)
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

// TestBombs: of a chunk that expands to more than it says, or says more than it can expand to, no more
// is held than it says and than its bytes can stand for.
func TestBombs(t *testing.T) {
	enc, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	zeros := enc.EncodeAll(make([]byte, 256<<20), nil)
	for _, tt := range []struct {
		name        string
		count, size uint64
		body        []byte
		allocates   uint64
	}{
		{"says 64 KiB, is 256 MiB", 1, 64 << 10, zeros, 8 << 20},
		{"says 2 GiB, has ten bytes", 1, 2 << 30, zeros[:10], 1 << 20},
		{"says more than any", 1, 1 << 62, zeros, 1 << 20},
		{"many events in 256 MiB", 3, 256 << 20, zeros, 1 << 20},
		{"says what it is, from a few kilobytes", 1, 256 << 20, zeros, 1 << 20},
	} {
		t.Run(tt.name, func(t *testing.T) {
			data := append(binary.AppendUvarint(manyEvents(tt.count), tt.size), tt.body...)
			data[6] = compressZstd
			data = believed(data, 1)
			decoder()
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := Decode(session, 1, data)
			runtime.ReadMemStats(&after)
			if !errors.Is(err, store.ErrCorrupt) {
				t.Errorf("got %v", err)
			}
			if got := after.TotalAlloc - before.TotalAlloc; got > tt.allocates {
				t.Errorf("allocated %d bytes", got)
			}
		})
	}
}

// TestNoBombs: what was recorded is read again, also where it would compress to next to nothing.
func TestNoBombs(t *testing.T) {
	for _, size := range []int{freely - 1<<10, freely + 1<<10} {
		event := store.Event{Seq: 1, Kind: store.Frame, Payload: bytes.Repeat([]byte("A"), size)}
		data := Encode(session, []store.Event{event})
		if events, err := Decode(session, 1, data); err != nil || len(events) != 1 || !events[0].Equal(event) {
			t.Errorf("%d bytes of one letter: %d events, %v", size, len(events), err)
		}
		if isWhole := len(data) > size; isWhole != (size > freely) {
			t.Errorf("%d bytes of one letter are %d", size, len(data))
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
