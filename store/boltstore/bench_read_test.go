package boltstore

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/mcprec/mcprec/store"
)

// sessionsOf fills a store and a folder of JSONL files with the same sessions.
func sessionsOf(b *testing.B, n, events, size int) (s *Store, lines string) {
	b.Helper()
	text, r := corpus(b), rand.New(rand.NewPCG(3, 4))
	s, lines = testStore(b, b.TempDir()), b.TempDir()
	key, _ := testID(0).Bytes()
	for from := 0; from < n; from += 200 {
		must(b, s.update(context.Background(), s.databasePath(key), func(tx *dbTx) error {
			for i := from; i < min(from+200, n); i++ {
				var p projection
				key, _ := testID(i).Bytes()
				c, all := &chunker{id: key}, []byte(nil)
				for seq := 1; seq <= events; seq++ {
					e := opening(i)
					line := append(e.Payload, '\n')
					if seq > 1 {
						e = corpusFrame(text, r, uint64(seq), size/2+r.IntN(size))
						line = jsonl(e)
					}
					if err := p.take(key, e); err != nil {
						return err
					}
					c.add(e)
					all = append(all, line...)
				}
				c.flush()
				if err := tx.putSession(key, c.done, &p); err != nil {
					return err
				}
				if err := os.WriteFile(filepath.Join(lines, string(testID(i))), all, 0o600); err != nil {
					return err
				}
			}
			return nil
		}))
	}
	return s, lines
}

func eachFile(b *testing.B, dir string, f func(path string, size int64)) {
	b.Helper()
	must(b, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			info, err := d.Info()
			if err != nil {
				return err
			}
			f(path, info.Size())
		}
		return err
	}))
}

// BenchmarkBytes compares what is on disk.
func BenchmarkBytes(b *testing.B) {
	for _, c := range []struct{ n, events, size int }{{1000, 20, 2900}, {1000, 2, 200}, {20, 200, 2900}} {
		b.Run(fmt.Sprintf("%dx%d", c.n, c.events), func(b *testing.B) {
			s, lines := sessionsOf(b, c.n, c.events, c.size)
			level3, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.EncoderLevelFromZstd(3)))
			must(b, err)
			var ours, raw, blocks, whole int64
			eachFile(b, s.dir, func(path string, size int64) { ours += allocated(path, size) })
			eachFile(b, lines, func(path string, size int64) {
				raw += size
				blocks += allocated(path, size)
				text, err := os.ReadFile(path)
				must(b, err)
				whole += int64(len(level3.EncodeAll(text, nil)))
			})
			for b.Loop() {
			}
			b.ReportMetric(float64(ours)/float64(raw), "x-jsonl")
			b.ReportMetric(float64(ours)/float64(blocks), "x-jsonl-blocks")
			b.ReportMetric(float64(ours)/float64(whole), "x-zstd3-whole")
		})
	}
}

// BenchmarkOpen opens a store of 2,000 sessions and takes the newest.
func BenchmarkOpen(b *testing.B) {
	s, _ := sessionsOf(b, 2000, 5, 1000)
	var open, newest times
	for b.Loop() {
		var again *Store
		must(b, open.measure(func() (err error) { again, err = Open(s.dir, Options{}); return err }))
		must(b, newest.measure(func() error {
			for _, err := range again.Sessions(context.Background(), store.Query{Newest: true, Limit: 1}) {
				return err
			}
			return fs.ErrNotExist
		}))
	}
	b.ReportMetric(open.at(.99)/1e3, "open-p99-us")
	b.ReportMetric(newest.at(.99)/1e3, "newest-p99-us")
}

// BenchmarkList10000 lists 10,000 sessions, against reading the first line of
// 10,000 files.
func BenchmarkList10000(b *testing.B) {
	s, lines := sessionsOf(b, 10000, 2, 300)
	var ours, heads times
	for b.Loop() {
		must(b, ours.measure(func() error {
			n := 0
			for _, err := range s.Sessions(context.Background(), store.Query{Newest: true}) {
				if n++; err != nil {
					return err
				}
			}
			if n != 10000 {
				return fmt.Errorf("%d sessions", n)
			}
			return nil
		}))
		must(b, heads.measure(func() error {
			buf := make([]byte, 512)
			entries, err := os.ReadDir(lines)
			for _, e := range entries {
				f, err := os.Open(filepath.Join(lines, e.Name()))
				if err != nil {
					return err
				}
				_, _ = f.Read(buf)
				_ = f.Close()
			}
			return err
		}))
	}
	b.ReportMetric(ours.at(.5)/1e6, "list-ms")
	b.ReportMetric(ours.at(.5)/heads.at(.5), "x-heads")
}

// readLines reads every file of a folder, and parses its lines.
func readLines(dir string, parse bool) error {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return err
		}
		for line := range bytes.Lines(text) {
			var v map[string]json.RawMessage
			if !parse {
				break
			}
			if err := json.Unmarshal(line, &v); err != nil {
				return err
			}
		}
	}
	return err
}

// BenchmarkScan reads every event, warm against JSONL with json.Unmarshal and
// cold against reading the JSONL files.
func BenchmarkScan(b *testing.B) {
	s, lines := sessionsOf(b, 1500, 20, 2900)
	logical := int64(0)
	scan := func() error {
		logical = 0
		for x, err := range s.Sessions(context.Background(), store.Query{}) {
			if err != nil {
				return err
			}
			for e, err := range s.Read(context.Background(), x.ID, 0, store.ReadOptions{}) {
				if err != nil {
					return err
				}
				logical += int64(len(e.Payload))
			}
		}
		return nil
	}
	evict := func() {
		eachFile(b, s.dir, func(path string, _ int64) { dropCache(path) })
		eachFile(b, lines, func(path string, _ int64) { dropCache(path) })
	}
	var warm, parsed, cold, coldRead times
	must(b, scan())
	for b.Loop() {
		must(b, warm.measure(scan))
		must(b, parsed.measure(func() error { return readLines(lines, true) }))
		evict()
		must(b, cold.measure(scan))
		must(b, coldRead.measure(func() error { return readLines(lines, false) }))
	}
	b.ReportMetric(float64(logical)/warm.at(.5)*1e3, "warm-MB/s")
	b.ReportMetric(parsed.at(.5)/warm.at(.5), "x-unmarshal")
	b.ReportMetric(float64(logical)/cold.at(.5)*1e3, "cold-MB/s")
	b.ReportMetric(coldRead.at(.5)/cold.at(.5), "x-cold-read")
}

// BenchmarkMemory is the most memory that a process takes which records and
// folds 64 MiB.
func BenchmarkMemory(b *testing.B) {
	most := 0.0
	for i := 0; b.Loop(); i++ {
		out, err := child(b, "memory", b.TempDir(), i).Output()
		must(b, err)
		kb, err := strconv.ParseFloat(strings.TrimSpace(string(out)), 64)
		if err != nil {
			b.Skip("no figure here")
		}
		most = max(most, kb/1024)
	}
	b.ReportMetric(most, "MiB-RSS")
}
