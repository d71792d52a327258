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
	"github.com/mcprec/mcprec/store/varint"
)

const (
	metaVersion = 1
	metaSealed  = 1 << 0
	metaDeleted = 1 << 1
	metaExit    = 1 << 2
	metaPipes   = 1 << 3
	metaMasked  = 1 << 4
)

// projection is a session's entry in the database: its header, its head and counts, and how
// far its spool is folded.
type projection struct {
	session store.Session // Header, Head and counts
	spooled int64         // offset in the spool of the first record not folded; 0: no spool
	pipes   store.Mark    // state of the assembler at that offset; zero: none
	deleted bool
}

// take adds the next event.
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

// encode returns the value in bucket meta.
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
	b = varint.Append(b, x.Head.Seq, uint64(x.Head.At), x.Frames, x.Bytes, x.Lost, uint64(p.spooled))
	b = append(b, x.Head.Chain[:]...)
	b = varint.AppendText(b, x.Exit, x.Transport, x.Label, x.URL, x.Recorder, x.Expect)
	b = binary.AppendVarint(b, x.Start.Unix())
	b = varint.Append(b, uint64(x.Start.Nanosecond()), uint64(x.Version), uint64(len(x.Command)))
	b = varint.AppendText(b, x.Command...)
	if len(x.Labels) > 0 || p.piped() || x.Doubtful > 0 {
		b = binary.AppendUvarint(b, uint64(len(x.Labels)))
	}
	for _, name := range slices.Sorted(maps.Keys(x.Labels)) {
		b = varint.AppendText(b, name, x.Labels[name])
	}
	if p.piped() {
		m, _ := json.Marshal(p.pipes) // numbers always encode
		b = varint.AppendText(b, string(m))
	}
	if x.Doubtful > 0 {
		b = binary.AppendUvarint(b, x.Doubtful)
	}
	binary.LittleEndian.PutUint32(b, metaSum(key, b))
	return b
}

// piped reports whether pipes is set.
func (p *projection) piped() bool { return p.pipes.Piped || p.pipes.Limit != 0 }

// mark returns the place in the spool behind the last folded event.
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

// decodeProjection reads a value of bucket meta. The result shares no memory with b.
func decodeProjection(key [16]byte, b []byte, path string) (p projection, err error) {
	if len(b) > 4 && b[4] > metaVersion {
		return p, fmt.Errorf("read %s: session %s: version %d: %w; install a newer mcprec", path, sessionID(key), b[4], store.ErrNewer)
	}
	if len(b) < 6 || binary.LittleEndian.Uint32(b) != metaSum(key, b) {
		return p, damagedError(path, fmt.Sprintf("facts of session %s", sessionID(key)))
	}
	x := &p.session
	d := varint.NewReader(b[6:])
	x.Head.Sealed, p.deleted = b[5]&metaSealed != 0, b[5]&metaDeleted != 0
	x.Head.Seq, x.Head.At = d.Uint(), time.Duration(d.Uint())
	x.Frames, x.Bytes, x.Lost, p.spooled = d.Uint(), d.Uint(), d.Uint(), int64(d.Uint())
	copy(x.Head.Chain[:], d.Take(32))
	for _, text := range [...]*string{&x.Exit, &x.Transport, &x.Label, &x.URL, &x.Recorder, &x.Expect} {
		*text = d.Text()
	}
	seconds := d.Int()
	x.Start = time.Unix(seconds, int64(d.Uint())).UTC()
	x.Version = int(d.Uint())
	x.Command = make([]string, d.Count())
	for i := range x.Command {
		x.Command[i] = d.Text()
	}
	if d.Len() > 0 { // older projections end here
		labels := d.Count()
		if labels > 0 {
			x.Labels = make(map[string]string, labels)
		}
		for range labels {
			name := d.Text()
			x.Labels[name] = d.Text()
		}
	}
	badMark := false
	if b[5]&metaPipes != 0 {
		badMark = json.Unmarshal([]byte(d.Text()), &p.pipes) != nil
	}
	if d.Len() > 0 {
		x.Doubtful = d.Uint()
	}
	if d.Bad() || badMark {
		return p, damagedError(path, fmt.Sprintf("facts of session %s end early", sessionID(key)))
	}
	if b[5]&metaMasked != 0 {
		x.Masked = &store.MaskRules{} // the first event has them
	}
	x.ID = sessionID(key)
	return p, nil
}
