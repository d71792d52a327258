package boltstore

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

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
				text := bytes.Repeat(jsonl(e), int(batch))
				must(b, lines.measure(func() error {
					if _, err := file.Write(text); err != nil {
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
			r, f := readNewest(s, stop)
			reads, refused = reads+r, refused+f
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

// readNewest lists and reads until it is stopped, and counts what was refused.
func readNewest(s *Store, stop <-chan struct{}) (reads, refused int) {
	for {
		select {
		case <-stop:
			return reads, refused
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
}
