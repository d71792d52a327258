package boltstore

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"hash/crc32"
	"io/fs"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/mcprec/mcprec/store"
)

// The targets below make the checksums right, as one would who wants to be believed:
// otherwise the fuzzer would not come further than to them.

func FuzzMeta(f *testing.F) {
	key, _ := testID(7).Bytes()
	var p projection
	for _, e := range goldenLog() {
		if err := p.take(key, e); err != nil {
			f.Fatal(err)
		}
	}
	f.Add(p.encode(key))
	f.Fuzz(func(t *testing.T, data []byte) {
		b := bytes.Clone(data)
		if len(b) >= 4 {
			binary.LittleEndian.PutUint32(b, metaSum(key, b))
		}
		p, err := decodeProjection(key, b, "the file")
		switch {
		case err == nil:
			if again, err := decodeProjection(key, p.encode(key), "its copy"); err != nil {
				t.Errorf("what was read and written is not read: %v: %+v", err, again)
			}
		case !errors.Is(err, store.ErrCorrupt) && !errors.Is(err, store.ErrNewer):
			t.Errorf("neither damaged nor newer: %v", err)
		}
	})
}

// memoryFile is a spool that is no file.
type memoryFile struct{ *bytes.Reader }

func (memoryFile) Close() error                 { return nil }
func (memoryFile) Name() string                 { return "spool" }
func (memoryFile) Sync() error                  { return nil }
func (f memoryFile) Stat() (fs.FileInfo, error) { return memoryInfo(f.Size()), nil }

type memoryInfo int64

func (memoryInfo) Name() string       { return "spool" }
func (n memoryInfo) Size() int64      { return int64(n) }
func (memoryInfo) Mode() fs.FileMode  { return 0o600 }
func (memoryInfo) ModTime() time.Time { return time.Time{} }
func (memoryInfo) IsDir() bool        { return false }
func (memoryInfo) Sys() any           { return nil }

// believed makes the checksums of the records right, as far as there are records.
func believed(records []byte) []byte {
	b := bytes.Clone(records)
	for rest := b; len(rest) > recordHead; {
		n := recordLen(rest)
		if n == 0 || n > len(rest) {
			break
		}
		binary.LittleEndian.PutUint32(rest[4:], crc32.Checksum(rest[recordHead:n], castagnoli))
		rest = rest[n:]
	}
	return b
}

// readAll reads a spool that nobody writes any more, and counts what its events hold.
func (r *spoolReader) readAll(t *testing.T) (held int64) {
	t.Helper()
	for next := uint64(1); ; {
		e, ok, err := r.read()
		switch {
		case err != nil && !errors.Is(err, store.ErrCorrupt) && !errors.Is(err, store.ErrNewer):
			t.Fatalf("neither damaged nor newer: %v", err)
		case err != nil:
			return held
		case ok && e.Seq != next:
			t.Fatalf("event %d after event %d", e.Seq, next-1)
		case ok:
			next++
			held += int64(len(e.Payload))
		case r.ended:
			return held
		default:
			if err := r.end(); err != nil {
				return held
			}
		}
	}
}

func FuzzSpool(f *testing.F) {
	var records []byte
	for _, e := range goldenLog() {
		records = appendRecord(records, &store.Part{Event: e})
	}
	f.Add(records, false)
	f.Add(records[:len(records)-3], true)
	f.Add([]byte("\xff\xff\xff\x3f    \x01"), true)
	f.Fuzz(func(t *testing.T, records []byte, raw bool) {
		if !raw {
			records = believed(records)
		}
		data := append(make([]byte, spoolHead), records...)
		for _, reuse := range []bool{false, true} {
			r := newSpoolReader(memoryFile{bytes.NewReader(data)}, spoolStart)
			r.reuse = reuse
			if held := r.readAll(t); held > int64(len(data))+256 { // a lost event has a reason
				t.Errorf("%d bytes of events in a spool of %d", held, len(data))
			}
		}
	})
}

// FuzzDatabase: a database with any bytes changed is looked through without a panic, and
// what repair would save of it is what was recorded.
func FuzzDatabase(f *testing.F) {
	s, _, whole := damageStore(f)
	if err := errors.Join(s.Close(), os.RemoveAll(s.dir)); err != nil {
		f.Fatal(err)
	}
	file, err := os.CreateTemp(f.TempDir(), "")
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { file.Close() })
	logs := damageLogs()
	f.Add([]byte{0, 0, 0, 24, 1})
	f.Add([]byte{0, 0, 48, 8, 255, 0, 0, 48, 10, 7})
	f.Add([]byte{0, 0, 64, 12, 1, 0, 1, 0, 16, 128})
	f.Fuzz(func(t *testing.T, changes []byte) {
		b := bytes.Clone(whole)
		for ; len(changes) >= 5; changes = changes[5:] {
			b[int(binary.BigEndian.Uint32(changes))%len(b)] ^= changes[4]
		}
		if _, err := file.WriteAt(b, 0); err != nil {
			t.Fatal(err)
		}
		checkScan(t, file, logs)
		if x, err := openTree(file); err == nil {
			_ = x.readable(bucketEv, nil, []byte{0xff})
			_ = x.writable([16]byte{})
		}
	})
}

// checkScan looks through a damaged database.
func checkScan(t *testing.T, f *os.File, logs [][]store.Event) {
	t.Helper()
	_ = checkTree(f)
	scan, err := scanDatabase(f)
	if err != nil && !errors.Is(err, store.ErrNewer) {
		t.Fatal(err)
	}
	for i, events := range logs {
		key, _ := testID(i).Bytes()
		found, _ := scan.events(key)
		for seq, e := range found {
			if seq == 0 || seq > uint64(len(events)) || !e.Equal(events[seq-1]) {
				t.Errorf("session %d: event %d is another", i, seq)
			}
		}
	}
}

// FuzzKey: a key is whole or refused, whatever is in its file.
func FuzzKey(f *testing.F) {
	f.Add([]byte(strings.Repeat("0a", keySize) + "\n"))
	f.Add([]byte("0a"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if key, err := parseKey(text); err == nil && (len(key) != keySize || !strings.EqualFold(hex.EncodeToString(key), string(bytes.TrimSpace(text)))) {
			t.Errorf("%q is read as %x", text, key)
		}
	})
}
