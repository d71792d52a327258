package checkpoint

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"time"

	"github.com/mcprec/mcprec/replay"
	"github.com/mcprec/mcprec/replay/state"
	"github.com/mcprec/mcprec/store"
)

const (
	magic   = "mcprecck"
	version = 2
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Image is the points of one session. The zero value has none.
type Image struct {
	bytes  []byte // of the points
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

// Points lists them in the order of their events.
func (i *Image) Points() []Point { return i.points }

// Bytes returns the image as it is to be kept, of a log that has come so far; nil when
// there is nothing in it.
func (i *Image) Bytes(id store.SessionID, maker string, log store.Head) []byte {
	key, err := id.Bytes()
	if err != nil || len(i.points) == 0 {
		return nil
	}
	return append(head(key, maker, i.opened, log), i.bytes...)
}

// Fits reports whether the image may be of a log that has come so far by now. Where it
// has not grown since, that is certain.
func (i *Image) Fits(log store.Head) bool {
	return i.log.Seq < log.Seq || i.log.Seq == log.Seq && i.log.Chain == log.Chain
}

// Log returns how far the log had come when the image was kept.
func (i *Image) Log() store.Head { return i.log }

// Opened reports whether e is the event with which the session of the image begins.
func (i *Image) Opened(e store.Event) bool { return i.opened == hash(e) }

// Is reports whether e is the event that the point is behind.
func (p *Point) Is(e store.Event) bool { return p.event == hash(e) }

func hash(e store.Event) [32]byte { return store.NextChain([32]byte{}, e) }

// Read returns the image of a session that a program has made, as far as it is whole.
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
	if want = head(key, maker, i.opened, i.log); string(b[:len(want)]) != string(want) {
		return nil, fmt.Errorf("read checkpoints of session %s: damaged, or of another program", id)
	}
	whole := b[len(want):]
	for size := 0; ; {
		p, n, ok := readPoint(whole[size:])
		if !ok || len(i.points) > 0 && p.Seq <= i.points[len(i.points)-1].Seq {
			return i, nil
		}
		size += n
		i.points, i.bytes = append(i.points, p), whole[:size:size]
	}
}

// head returns the head of an image.
func head(key [16]byte, maker string, opened [32]byte, log store.Head) []byte {
	b := append([]byte(magic), version, state.SnapshotVersion)
	b = append(append(b, key[:]...), opened[:]...)
	b = append(binary.LittleEndian.AppendUint64(b, log.Seq), log.Chain[:]...)
	maker = maker[:min(len(maker), 255)]
	b = append(append(b, byte(len(maker))), maker...)
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

// readPoint reads the point at the beginning of b, and how long it is there.
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
	seq, s := binary.Uvarint(body)
	at, a := binary.Uvarint(body[max(s, 0):])
	if s <= 0 || a <= 0 || len(body) < s+a+32 {
		return p, 0, false
	}
	p.Seq, p.At, p.event = seq, time.Duration(at), [32]byte(body[s+a:s+a+32])
	body = body[s+a+32:]
	length, l := binary.Uvarint(body)
	if l <= 0 || length > uint64(len(body)-l) {
		return p, 0, false
	}
	p.snapshot, p.calls = body[l:l+int(length)], body[l+int(length):]
	return p, n, true
}

// add appends a point behind an event.
func (i *Image) add(e store.Event, s *state.State, t *replay.Transcript) {
	after := uint64(0)
	if n := len(i.points); n > 0 {
		after = i.points[n-1].Seq
	}
	h := hash(e)
	body := binary.AppendUvarint(nil, e.Seq)
	body = binary.AppendUvarint(body, uint64(e.At))
	body = append(body, h[:]...)
	snapshot, calls := s.AppendSnapshot(nil, after), t.AppendCalls(nil)
	body = binary.AppendUvarint(body, uint64(len(snapshot)))
	body = append(append(body, snapshot...), calls...)
	i.bytes = binary.LittleEndian.AppendUint32(i.bytes, uint32(len(body)))
	i.bytes = binary.LittleEndian.AppendUint32(i.bytes, crc32.Checksum(body, castagnoli))
	i.bytes = append(i.bytes, body...)
	i.points = append(i.points, Point{Seq: e.Seq, At: e.At, event: h, snapshot: snapshot, calls: calls})
}

func (p *Point) size() int { return len(p.snapshot) + len(p.calls) }

// errPoint says that a point is not of this image.
var errPoint = errors.New("resume session: no such checkpoint")

// Resume returns a fold that goes on behind the point with that number.
func (i *Image) Resume(n int) (*Fold, error) {
	if n < 0 || n >= len(i.points) {
		return nil, errPoint
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
	t, err := replay.ResumeTranscript(p.calls, nil)
	if err != nil {
		return nil, err
	}
	return &Fold{image: i, state: s, transcript: t, last: n == len(i.points)-1, spacing: usual, size: p.size()}, nil
}
