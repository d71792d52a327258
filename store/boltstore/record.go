package boltstore

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"slices"

	"github.com/mcprec/mcprec/store"
)

const (
	spoolMagic   = "mcprecsp"
	spoolVersion = 2
	spoolHead    = 32
	recordHead   = 8
	maxRecord    = 1 << 30 // a longer length is no record
	maxPartHead  = 40      // of the kinds that mcprec writes
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// appendSpoolHead appends the first bytes of a spool.
func appendSpoolHead(b []byte, key [16]byte) []byte {
	from := len(b)
	b = append(b, spoolMagic...)
	b = append(b, spoolVersion, store.CodecVersion, 0, 0)
	b = append(b, key[:]...)
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b[from:], castagnoli))
}

// checkSpoolHead checks the first bytes of the spool at path.
func checkSpoolHead(b []byte, key [16]byte, path string) error {
	if len(b) < spoolHead || string(b[:8]) != spoolMagic {
		return fmt.Errorf("read spool %s: no spool header: %w", path, store.ErrCorrupt)
	}
	if b[8] > spoolVersion || b[9] > store.CodecVersion {
		return fmt.Errorf("read spool %s: spool version %d, codec version %d: %w; install a newer mcprec", path, b[8], b[9], store.ErrNewer)
	}
	if id := [16]byte(b[12:28]); binary.LittleEndian.Uint32(b[28:]) == crc32.Checksum(b[:28], castagnoli) && id != key {
		return fmt.Errorf("spool %s is left alone: it is that of session %s, under another name; is it a copy? move it away, or give it its name back", path, idOf(id))
	}
	if binary.LittleEndian.Uint32(b[28:]) != crc32.Checksum(b[:28], castagnoli) {
		return fmt.Errorf("read spool %s: header: %w", path, store.ErrCorrupt)
	}
	return nil
}

// appendRecord appends the record of p.
func appendRecord(b []byte, p *store.Part) []byte {
	at := len(b)
	b = slices.Grow(b, recordHead+maxPartHead+len(p.Payload))
	b = append(store.AppendPartHead(b[:at+recordHead], p), p.Payload...)
	body := b[at+recordHead:]
	binary.LittleEndian.PutUint32(b[at:], uint32(len(body)))
	binary.LittleEndian.PutUint32(b[at+4:], crc32.Checksum(body, castagnoli))
	return b
}

// recordInPlace returns the record of a chunk, whose head it puts into the room in front of
// the payload.
func recordInPlace(p *store.Part) []byte {
	var room [store.ChunkRoom]byte
	head := store.AppendPartHead(room[:recordHead], p)
	at := store.ChunkRoom - len(head)
	copy(p.Buffer[at+recordHead:], head[recordHead:])
	b := p.Buffer[at:]
	body := b[recordHead:]
	binary.LittleEndian.PutUint32(b, uint32(len(body)))
	binary.LittleEndian.PutUint32(b[4:], crc32.Checksum(body, castagnoli))
	return b
}

// recordLen returns the whole length of the record that starts b; 0: these
// bytes start none.
func recordLen(b []byte) int {
	n := binary.LittleEndian.Uint32(b)
	if n < 2 || n > maxRecord {
		return 0
	}
	return int(n) + recordHead
}

// intact reports whether b, which is one record, is as it was written.
func intact(b []byte) bool {
	return crc32.Checksum(b[recordHead:], castagnoli) == binary.LittleEndian.Uint32(b[4:])
}
