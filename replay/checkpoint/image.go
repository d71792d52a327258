package checkpoint

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"time"

	"github.com/mcprec/mcprec/replay/state"
	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/varint"
)

const (
	magic   = "mcprecck"
	version = 2
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Image holds the points of one session. The zero value has none.
type Image struct {
	bytes  []byte // the points, encoded
	opened [32]byte
	log    store.Head
	points []Point
}

// Point is a place in a session, behind an event.
type Point struct {
	Seq uint64
	At  time.Duration

	event    [32]byte
	snapshot []byte
	calls    []byte
}

// Points lists the points in the order of their events.
func (i *Image) Points() []Point { return i.points }

// Bytes encodes the image; log is how far the log has come. It returns nil for an image
// without points.
func (i *Image) Bytes(id store.SessionID, maker string, log store.Head) []byte {
	key, err := id.Bytes()
	if err != nil || len(i.points) == 0 {
		return nil
	}
	return append(head(key, maker, i.opened, log), i.bytes...)
}

// Fits reports whether the image may belong to a log that has come this far. For a log that
// has not grown since the image was written the answer is certain.
func (i *Image) Fits(log store.Head) bool {
	return i.log.Seq < log.Seq || i.log.Seq == log.Seq && i.log.Chain == log.Chain
}

// Opened reports whether e is the event with which the session of the image begins.
func (i *Image) Opened(e store.Event) bool { return i.opened == hash(e) }

// Is reports whether the point stands behind e.
func (p *Point) Is(e store.Event) bool { return p.event == hash(e) }

func hash(e store.Event) [32]byte { return store.NextChain([32]byte{}, e) }

// Read decodes the image that a program made of a session, up to the first damaged point.
func Read(b []byte, id store.SessionID, maker string) (*Image, error) {
	key, err := id.Bytes()
	if err != nil {
		return nil, err
	}
	const from = len(magic) + 2 + 16
	want := head(key, maker, [32]byte{}, store.Head{})
	if len(b) < len(want) || string(b[:from]) != string(want[:from]) {
		return nil, fmt.Errorf("read checkpoints of session %s: they are of another session or version", id)
	}
	i := &Image{opened: [32]byte(b[from:])}
	i.log = store.Head{Seq: binary.LittleEndian.Uint64(b[from+32:]), Chain: [32]byte(b[from+40:])}
	want = head(key, maker, i.opened, i.log)
	if string(b[:len(want)]) != string(want) {
		return nil, fmt.Errorf("read checkpoints of session %s: damaged, or of another program", id)
	}
	whole := b[len(want):]
	for size := 0; ; {
		p, n, ok := readPoint(whole[size:])
		if !ok || len(i.points) > 0 && p.Seq <= i.points[len(i.points)-1].Seq {
			return i, nil
		}
		size += n
		i.points = append(i.points, p)
		i.bytes = whole[:size:size]
	}
}

// head encodes the head of an image.
func head(key [16]byte, maker string, opened [32]byte, log store.Head) []byte {
	b := append([]byte(magic), version, state.SnapshotVersion)
	b = append(append(b, key[:]...), opened[:]...)
	b = append(binary.LittleEndian.AppendUint64(b, log.Seq), log.Chain[:]...)
	maker = maker[:min(len(maker), 255)]
	b = append(append(b, byte(len(maker))), maker...)
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

// readPoint decodes the point at the beginning of b and returns its length there.
func readPoint(b []byte) (p Point, n int, ok bool) {
	if len(b) < 8 {
		return p, 0, false
	}
	size := binary.LittleEndian.Uint32(b)
	if uint64(size) > uint64(len(b)-8) || size == 0 {
		return p, 0, false
	}
	n = 8 + int(size)
	body := b[8:n]
	if crc32.Checksum(body, castagnoli) != binary.LittleEndian.Uint32(b[4:]) {
		return p, 0, false
	}
	r := varint.NewReader(body)
	p.Seq = r.Uint()
	p.At = time.Duration(r.Uint())
	copy(p.event[:], r.Take(32))
	p.snapshot = r.Take(r.Uint())
	if r.Bad() {
		return Point{}, 0, false
	}
	p.calls = r.Rest()
	return p, n, true
}

// add appends a point behind an event.
func (i *Image) add(e store.Event, s *state.State, t *timeline.Transcript) {
	after := uint64(0)
	if n := len(i.points); n > 0 {
		after = i.points[n-1].Seq
	}
	h := hash(e)
	snapshot := s.AppendSnapshot(nil, after)
	calls := t.AppendCalls(nil)
	body := varint.Append(nil, e.Seq, uint64(e.At))
	body = append(body, h[:]...)
	body = varint.AppendText(body, string(snapshot))
	body = append(body, calls...)
	i.bytes = binary.LittleEndian.AppendUint32(i.bytes, uint32(len(body)))
	i.bytes = binary.LittleEndian.AppendUint32(i.bytes, crc32.Checksum(body, castagnoli))
	i.bytes = append(i.bytes, body...)
	i.points = append(i.points, Point{Seq: e.Seq, At: e.At, event: h, snapshot: snapshot, calls: calls})
}

func (p *Point) size() int { return len(p.snapshot) + len(p.calls) }

// Resume returns a fold that goes on behind the point with that number.
func (i *Image) Resume(n int) (*Fold, error) {
	if n < 0 || n >= len(i.points) {
		return nil, errors.New("resume session: no such checkpoint")
	}
	queues := state.Queues{}
	for _, p := range i.points[:n+1] {
		if err := queues.Add(p.snapshot); err != nil {
			return nil, err
		}
	}
	p := i.points[n]
	s, err := state.Restore(p.snapshot, queues)
	if err != nil {
		return nil, err
	}
	t, err := timeline.ResumeTranscript(p.calls, nil)
	if err != nil {
		return nil, err
	}
	return &Fold{image: i, state: s, transcript: t, last: n == len(i.points)-1, spacing: defaultSpacing, size: p.size()}, nil
}
