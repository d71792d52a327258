// Package peerbench measures the embedded store against SQLite and Pebble. It
// is a module of its own, so that no user of mcprec downloads them.
package peerbench

import (
	"context"
	"database/sql"
	"encoding/binary"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"
	_ "modernc.org/sqlite"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/boltstore"
)

const (
	batch = 256
	size  = 2000
)

// BenchmarkDurableBatch makes batches of 256 frames of 2 KB durable, in turns,
// and reports the medians as ratios.
func BenchmarkDurableBatch(b *testing.B) {
	payload := make([]byte, size)
	for i := range payload {
		payload[i] = byte('a' + i%23)
	}
	names := []string{"spool", "sqlite", "pebble"}
	writers := []func(first uint64) error{spool(b, payload), sqlite(b, payload), pebbles(b, payload)}
	took := make([][]time.Duration, len(writers))
	for seq := uint64(2); b.Loop(); seq += batch {
		for i, write := range writers {
			start := time.Now()
			if err := write(seq); err != nil {
				b.Fatal(names[i], err)
			}
			took[i] = append(took[i], time.Since(start))
		}
	}
	median := func(i int) float64 {
		slices.Sort(took[i])
		return float64(took[i][len(took[i])/2])
	}
	b.ReportMetric(median(1)/median(0), "x-sqlite")
	b.ReportMetric(median(2)/median(0), "x-pebble")
}

func spool(b *testing.B, payload []byte) func(uint64) error {
	s, err := boltstore.Open(b.TempDir(), boltstore.Options{Sync: boltstore.SyncAlways})
	if err != nil {
		b.Fatal(err)
	}
	h := store.Header{ID: "01a19c22-5c60-7000-8000-00000000003c"}
	p, err := s.Spool(context.Background(), store.Event{Seq: 1, Kind: store.Opened, Payload: h.Encode()})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = p.Close() })
	parts := make([]store.Part, batch)
	return func(first uint64) error {
		for i := range parts {
			parts[i].Event = store.Event{Seq: first + uint64(i), Kind: store.Frame, Payload: payload}
		}
		return p.Write(parts)
	}
}

func sqlite(b *testing.B, payload []byte) func(uint64) error {
	db, err := sql.Open("sqlite", "file:"+filepath.Join(b.TempDir(), "s.db")+"?_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = db.Close() })
	if _, err := db.Exec("create table ev (seq integer primary key, payload blob)"); err != nil {
		b.Fatal(err)
	}
	return func(first uint64) error {
		tx, err := db.Begin()
		if err != nil {
			return err
		}
		insert, err := tx.Prepare("insert into ev values (?, ?)")
		if err != nil {
			return err
		}
		for i := range uint64(batch) {
			if _, err := insert.Exec(first+i, payload); err != nil {
				return err
			}
		}
		return tx.Commit()
	}
}

func pebbles(b *testing.B, payload []byte) func(uint64) error {
	db, err := pebble.Open(b.TempDir(), &pebble.Options{Logger: quiet{}})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = db.Close() })
	return func(first uint64) error {
		w := db.NewBatch()
		for i := range uint64(batch) {
			if err := w.Set(binary.BigEndian.AppendUint64(nil, first+i), payload, nil); err != nil {
				return err
			}
		}
		return w.Commit(pebble.Sync)
	}
}

type quiet struct{}

func (quiet) Infof(string, ...any)  {}
func (quiet) Errorf(string, ...any) {}
func (quiet) Fatalf(string, ...any) {}
