package boltstore

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	bolt "go.etcd.io/bbolt"

	"github.com/mcprec/mcprec/store"
)

// Every benchmark measures its peers in the same run, in turns, and reports
// ratios: the machine's noise hits both.

// corpus makes frames whose text is Go source, as a server's answers are text
// that compresses like text.
func corpus(b *testing.B) []byte {
	b.Helper()
	root, err := exec.Command("go", "env", "GOROOT").Output()
	must(b, err)
	files, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(root)), "src", "net", "http", "*.go"))
	if err != nil || len(files) == 0 {
		b.Skip("no Go sources for a corpus")
	}
	var text []byte
	for _, f := range files {
		t, err := os.ReadFile(f)
		if err != nil {
			b.Fatal(err)
		}
		text = append(text, t...)
	}
	return text
}

func corpusFrame(text []byte, r *rand.Rand, seq uint64, size int) store.Event {
	e := frameEvent(seq, 0)
	at := r.IntN(len(text) - size)
	quoted, _ := json.Marshal(string(bytes.ToValidUTF8(text[at:at+size], nil)))
	e.Payload = fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":%s}]}}`, seq, quoted)
	return e
}

func jsonl(e store.Event) []byte {
	return fmt.Appendf(nil, "{\"seq\":%d,\"at\":\"%v\",\"dir\":\"%s\",\"frame\":%s}\n", e.Seq, e.At, e.Dir, e.Payload)
}

type times []time.Duration

func (t times) at(q float64) float64 {
	slices.Sort(t)
	return float64(t[min(int(float64(len(t))*q), len(t)-1)])
}

func (t *times) measure(f func() error) error {
	start := time.Now()
	err := f()
	*t = append(*t, time.Since(start))
	return err
}

func must(b *testing.B, err error) {
	if err != nil {
		b.Helper()
		b.Fatal(err)
	}
}

func appendFile(b *testing.B, name string) *os.File {
	f, err := os.OpenFile(filepath.Join(b.TempDir(), name), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	must(b, err)
	b.Cleanup(func() { _ = f.Close() })
	return f
}

func boltFile(b *testing.B) (put func(first, n uint64, value []byte) error) {
	db, err := bolt.Open(filepath.Join(b.TempDir(), "x.db"), 0o600, &bolt.Options{FreelistType: bolt.FreelistMapType})
	must(b, err)
	b.Cleanup(func() { _ = db.Close() })
	return func(first, n uint64, value []byte) error {
		return db.Update(func(tx *bolt.Tx) error {
			bucket, err := tx.CreateBucketIfNotExists([]byte("ev"))
			if err != nil {
				return err
			}
			bucket.FillPercent = 1
			for i := range n {
				k := chunkKey([16]byte{1}, first+i)
				if err := bucket.Put(k[:], value); err != nil {
					return err
				}
			}
			return nil
		})
	}
}

// BenchmarkHandOver is what a frame waits for before it is forwarded.
func BenchmarkHandOver(b *testing.B) {
	for _, size := range []int{200, 2000, 64 << 10} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			s := testStore(b, b.TempDir())
			p := startSpool(b, s, []store.Event{opening(1)})
			file, put := appendFile(b, "bare"), boltFile(b)
			parts := asParts([]store.Event{frameEvent(0, size)})
			var spool, bare, inline times
			for n := uint64(2); b.Loop(); n++ {
				parts[0].Seq, parts[0].At = n, time.Duration(n)
				must(b, bare.measure(func() error { _, err := file.Write(parts[0].Payload); return err }))
				must(b, spool.measure(func() error { return p.Write(parts) }))
				if n%64 == 0 {
					must(b, inline.measure(func() error { return put(n, 1, parts[0].Payload) }))
				}
			}
			must(b, p.Close())
			if len(inline) == 0 {
				return
			}
			b.ReportMetric(spool.at(.5), "spool-p50-ns")
			b.ReportMetric(spool.at(.99), "spool-p99-ns")
			b.ReportMetric(spool.at(.5)/bare.at(.5), "p50/write(2)")
			b.ReportMetric(inline.at(.99)/spool.at(.99), "bbolt-p99/spool-p99")
		})
	}
}

// BenchmarkRecord is what making records costs, without the system call.
func BenchmarkRecord(b *testing.B) {
	part := store.Part{Event: frameEvent(1000, 200)}
	var buf []byte
	b.ReportAllocs()
	for b.Loop() {
		buf = appendRecord(buf[:0], &part)
	}
}

// BenchmarkDurableAppend makes each batch durable before the next.
func BenchmarkDurableAppend(b *testing.B) {
	for _, batch := range []uint64{1, 256} {
		b.Run(fmt.Sprint(batch), func(b *testing.B) {
			s, err := Open(b.TempDir(), Options{Sync: SyncAlways})
			must(b, err)
			p := startSpool(b, s, []store.Event{opening(1)})
			file, put := appendFile(b, "jsonl"), boltFile(b)
			e := frameEvent(0, 2000)
			var spool, lines, inline times
			seq := uint64(2)
			for b.Loop() {
				parts := make([]store.Part, batch)
				for i := range parts {
					parts[i].Event = e
					parts[i].Seq = seq + uint64(i)
				}
				must(b, spool.measure(func() error { return p.Write(parts) }))
				must(b, lines.measure(func() error {
					var buf []byte
					for range batch {
						buf = append(buf, jsonl(e)...)
					}
					if _, err := file.Write(buf); err != nil {
						return err
					}
					return datasync(file)
				}))
				must(b, inline.measure(func() error { return put(seq, batch, e.Payload) }))
				seq += batch
			}
			must(b, p.Close())
			b.ReportMetric(lines.at(.5)/spool.at(.5), "x-jsonl")
			b.ReportMetric(inline.at(.5)/spool.at(.5), "x-bbolt")
		})
	}
}

// sessionsOf fills a store and a folder of JSONL files with the same sessions.
func sessionsOf(b *testing.B, n, events, size int) (s *Store, lines string) {
	b.Helper()
	text, r := corpus(b), rand.New(rand.NewPCG(3, 4))
	s, lines = testStore(b, b.TempDir()), b.TempDir()
	key, _ := testID(0).Bytes()
	for from := 0; from < n; from += 200 {
		must(b, s.update(context.Background(), s.monthPath(key), func(m *month) error {
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
					c.add(e, p.session.Head)
					all = append(all, line...)
				}
				c.flush()
				if err := m.store(key, c.done, &p); err != nil {
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
	for _, c := range []struct{ n, events, size int }{{1000, 20, 2900}, {1000, 2, 200}, {5, 2000, 2900}} {
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
	read := func(parse bool) func() error {
		return func() error {
			entries, err := os.ReadDir(lines)
			for _, e := range entries {
				text, err := os.ReadFile(filepath.Join(lines, e.Name()))
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
	}
	evict := func() {
		eachFile(b, s.dir, func(path string, _ int64) { dropCache(path) })
		eachFile(b, lines, func(path string, _ int64) { dropCache(path) })
	}
	var warm, parsed, cold, coldRead times
	must(b, scan())
	for b.Loop() {
		must(b, warm.measure(scan))
		must(b, parsed.measure(read(true)))
		evict()
		must(b, cold.measure(scan))
		must(b, coldRead.measure(read(false)))
	}
	b.ReportMetric(float64(logical)/warm.at(.5)*1e3, "warm-MB/s")
	b.ReportMetric(parsed.at(.5)/warm.at(.5), "x-unmarshal")
	b.ReportMetric(float64(logical)/cold.at(.5)*1e3, "cold-MB/s")
	b.ReportMetric(coldRead.at(.5)/cold.at(.5), "x-cold-read")
}

// BenchmarkFiveTaps records five sessions at 400 frames a second each while a
// reader lists and reads: how long a Write takes, and whether anybody is
// refused.
func BenchmarkFiveTaps(b *testing.B) {
	s := testStore(b, b.TempDir())
	var mu sync.Mutex
	var writes times
	refused, reads, round := 0, 0, 0
	for b.Loop() {
		var taps, reader sync.WaitGroup
		stop := make(chan struct{})
		for i := range 5 {
			p := startSpool(b, s, []store.Event{opening(round*5 + i)})
			taps.Go(func() {
				var mine times
				tick := time.NewTicker(2500 * time.Microsecond)
				defer tick.Stop()
				for seq := uint64(2); seq < 402; seq++ {
					<-tick.C
					parts := asParts([]store.Event{frameEvent(seq, 2000)})
					_ = mine.measure(func() error { return p.Write(parts) })
				}
				if p.Close() != nil {
					b.Error("close")
				}
				mu.Lock()
				writes = append(writes, mine...)
				mu.Unlock()
			})
		}
		reader.Go(func() {
			for {
				select {
				case <-stop:
					return
				case <-time.After(20 * time.Millisecond):
				}
				for x, err := range s.Sessions(context.Background(), store.Query{Newest: true, Limit: 5}) {
					if err == nil {
						_, err = readAll(s, x.ID)
					}
					if reads++; err != nil {
						refused++
					}
				}
			}
		})
		taps.Wait()
		close(stop)
		reader.Wait()
		round++
	}
	b.ReportMetric(writes.at(.5)/1e3, "write-p50-us")
	b.ReportMetric(writes.at(.99)/1e3, "write-p99-us")
	b.ReportMetric(float64(reads)/float64(round), "reads")
	b.ReportMetric(float64(refused), "refused")
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
