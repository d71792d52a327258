package boltstore

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/mcprec/mcprec/store"
)

const (
	metaVersion = 1
	metaSealed  = 1 << 0
	metaDeleted = 1 << 1
	metaExit    = 1 << 2
	metaPipes   = 1 << 3
	metaMasked  = 1 << 4
)

// projection is what the database says of a session beside its chunks.
type projection struct {
	session store.Session // Header, Head and counts
	spooled int64         // offset in the spool of the first record not folded; 0: no spool
	pipes   store.Mark    // what else a reader needs to go on there; zero: nothing
	deleted bool
}

// take adds an event that follows.
func (p *projection) take(key [16]byte, e store.Event) error {
	head, err := p.session.Head.Next(e)
	if err != nil {
		return err
	}
	if err := p.session.Count(e); err != nil {
		return err
	}
	if e.Seq == 1 {
		if !strings.EqualFold(string(p.session.ID), string(sessionID(key))) {
			return fmt.Errorf("event 1: its header names session %s, not %s", p.session.ID, sessionID(key))
		}
		p.session.ID = sessionID(key)
	}
	p.session.Head = head
	return nil
}

// encode returns the value of bucket meta.
func (p *projection) encode(key [16]byte) []byte {
	x := &p.session
	flags := byte(0)
	if x.Head.Sealed {
		flags |= metaSealed
	}
	if p.deleted {
		flags |= metaDeleted
	}
	if x.Exit != "" {
		flags |= metaExit
	}
	if p.piped() {
		flags |= metaPipes
	}
	if x.Masked != nil {
		flags |= metaMasked
	}
	b := append(make([]byte, 4, 256), metaVersion, flags)
	for _, v := range [...]uint64{x.Head.Seq, uint64(x.Head.At), x.Frames, x.Bytes, x.Lost, uint64(p.spooled)} {
		b = binary.AppendUvarint(b, v)
	}
	b = append(b, x.Head.Chain[:]...)
	for _, text := range [...]string{x.Exit, x.Transport, x.Label, x.URL, x.Recorder, x.Expect} {
		b = appendText(b, text)
	}
	b = binary.AppendVarint(b, x.Start.Unix())
	b = binary.AppendUvarint(b, uint64(x.Start.Nanosecond()))
	b = binary.AppendUvarint(b, uint64(x.Version))
	b = binary.AppendUvarint(b, uint64(len(x.Command)))
	for _, word := range x.Command {
		b = appendText(b, word)
	}
	if len(x.Labels) > 0 || p.piped() || x.Doubtful > 0 {
		b = binary.AppendUvarint(b, uint64(len(x.Labels)))
	}
	for _, name := range slices.Sorted(maps.Keys(x.Labels)) {
		b = appendText(appendText(b, name), x.Labels[name])
	}
	if p.piped() {
		m, _ := json.Marshal(p.pipes) // of numbers, which always encode
		b = appendText(b, string(m))
	}
	if x.Doubtful > 0 {
		b = binary.AppendUvarint(b, x.Doubtful)
	}
	binary.LittleEndian.PutUint32(b, metaSum(key, b))
	return b
}

// piped reports whether there is something in pipes.
func (p *projection) piped() bool { return p.pipes.Piped || p.pipes.Limit != 0 }

// mark returns where the part of a session that is not folded begins in its spool.
func (p *projection) mark() mark {
	head, m := p.session.Head, p.pipes
	m.Off, m.Seq, m.At, m.Frames, m.Lost = p.spooled, head.Seq+1, head.At, p.session.Frames, p.session.Lost
	if !m.Piped {
		m.Part = m.Seq
	}
	return mark{m, head.Sealed}
}

func metaSum(key [16]byte, b []byte) uint32 {
	return crc32.Update(crc32.Checksum(key[:], castagnoli), castagnoli, b[4:])
}

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// decodeProjection reads a value of bucket meta; nothing of it aliases b.
func decodeProjection(key [16]byte, b []byte, path string) (p projection, err error) {
	if len(b) > 4 && b[4] > metaVersion {
		return p, fmt.Errorf("read %s: session %s: version %d: %w; install a newer mcprec", path, sessionID(key), b[4], store.ErrNewer)
	}
	if len(b) < 6 || binary.LittleEndian.Uint32(b) != metaSum(key, b) {
		return p, damagedError(path, fmt.Sprintf("facts of session %s", sessionID(key)))
	}
	x := &p.session
	d := fieldReader{b: b[6:]}
	x.Head.Sealed, p.deleted = b[5]&metaSealed != 0, b[5]&metaDeleted != 0
	x.Head.Seq, x.Head.At = d.uvarint(), time.Duration(d.uvarint())
	x.Frames, x.Bytes, x.Lost, p.spooled = d.uvarint(), d.uvarint(), d.uvarint(), int64(d.uvarint())
	copy(x.Head.Chain[:], d.take(32))
	d.texts = string(d.b) // one allocation for all of them
	for _, text := range [...]*string{&x.Exit, &x.Transport, &x.Label, &x.URL, &x.Recorder, &x.Expect} {
		*text = d.text()
	}
	seconds := d.varint()
	x.Start = time.Unix(seconds, int64(d.uvarint())).UTC()
	x.Version = int(d.uvarint())
	if n := d.uvarint(); n <= uint64(len(d.b)) {
		x.Command = make([]string, n)
	} else {
		d.bad = true
	}
	for i := range x.Command {
		x.Command[i] = d.text()
	}
	x.Labels = d.labels()
	if b[5]&metaPipes != 0 {
		d.bad = json.Unmarshal([]byte(d.text()), &p.pipes) != nil || d.bad
	}
	if len(d.b) > 0 {
		x.Doubtful = d.uvarint()
	}
	if d.bad {
		return p, damagedError(path, fmt.Sprintf("facts of session %s end early", sessionID(key)))
	}
	if b[5]&metaMasked != 0 {
		x.Masked = &store.MaskRules{} // which they are says its first event
	}
	x.ID = sessionID(key)
	return p, nil
}

// fieldReader reads the fields of a projection.
type fieldReader struct {
	b     []byte
	texts string // the end of it is b, as a string
	bad   bool
}

func (d *fieldReader) uvarint() uint64 {
	v, n := binary.Uvarint(d.b)
	if n <= 0 {
		d.bad = true
		return 0
	}
	d.b = d.b[n:]
	return v
}

func (d *fieldReader) varint() int64 {
	v, n := binary.Varint(d.b)
	if n <= 0 {
		d.bad = true
		return 0
	}
	d.b = d.b[n:]
	return v
}

func (d *fieldReader) take(n uint64) []byte {
	if n > uint64(len(d.b)) {
		d.bad = true
		return nil
	}
	field := d.b[:n]
	d.b = d.b[n:]
	return field
}

func (d *fieldReader) text() string {
	n := d.uvarint()
	from := len(d.texts) - len(d.b)
	if d.take(n) == nil && n > 0 {
		return ""
	}
	return d.texts[from : from+int(n)]
}

// labels reads what came later, so that there may be none.
func (d *fieldReader) labels() map[string]string {
	if len(d.b) == 0 {
		return nil
	}
	n := d.uvarint()
	if n == 0 || n > uint64(len(d.b)) {
		d.bad = d.bad || n > 0
		return nil
	}
	labels := make(map[string]string, n)
	for range n {
		name := d.text()
		labels[name] = d.text()
	}
	return labels
}
