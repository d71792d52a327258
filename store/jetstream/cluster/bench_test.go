package cluster

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/jetstream"
	"github.com/mcprec/mcprec/transport"
)

// nodeCounts are the clusters of the benchmarks.
var nodeCounts = []int{1, 3}

// benchStore starts a cluster and opens a store in it.
func benchStore(b *testing.B, nodes int) (*Cluster, *jetstream.Store) {
	b.Helper()
	c := Start(b, Options{Nodes: nodes})
	options, err := jetstream.ParseURL(c.DirectURL("MCPREC", ""))
	if err != nil {
		b.Fatal(err)
	}
	s, err := jetstream.Open(b.Context(), options)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = s.Close() })
	return c, s
}

// benchID returns the id of session number n, as recorders make them: by time.
func benchID(n int) store.SessionID {
	ms := uint64(1_795_000_000_000 + n*1000)
	return store.SessionID(fmt.Sprintf("%08x-%04x-7000-8000-%012x", ms>>16, ms&0xffff, n))
}

func benchOpening(n int) store.Event {
	header := store.Header{
		ID: benchID(n), Start: time.UnixMilli(int64(1_795_000_000_000 + n*1000)).UTC(), Transport: "stdio", Label: "everything",
		Command: []string{"npx", "-y", "@modelcontextprotocol/server-everything"}, Recorder: "v0.2.0",
		Labels: map[string]string{"host": "build-17", "team": "platform"},
	}
	return store.Event{Seq: 1, Kind: store.Opened, Payload: header.Encode()}
}

// benchFrames returns frames of about 2 kB from Seq first: half of each is text that compresses.
func benchFrames(first uint64, count int) []store.Event {
	source := rand.NewChaCha8([32]byte{byte(first)})
	events := make([]store.Event, count)
	for i := range events {
		seq := first + uint64(i)
		payload := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":"`, seq)
		var noise [8]byte
		for len(payload) < 2000 {
			_, _ = source.Read(noise[:])
			payload = fmt.Appendf(payload, "func (s *Store) name%x(ctx context.Context) error { return nil } // %x ",
				binary.LittleEndian.Uint16(noise[:]), noise[2:])
		}
		payload = append(payload, `"}]}}`...)
		events[i] = store.Event{Seq: seq, At: time.Duration(seq), Kind: store.Frame, Dir: transport.ServerToClient, Payload: payload}
	}
	return events
}

// BenchmarkAppend ships chunks of 64 events of 2 kB through six claims at once.
func BenchmarkAppend(b *testing.B) {
	for _, nodes := range nodeCounts {
		b.Run(fmt.Sprintf("R%d", nodes), func(b *testing.B) {
			_, s := benchStore(b, nodes)
			const sessions, chunk = 6, 64
			claims := make([]store.Claim, sessions)
			for i := range claims {
				claim, err := s.Claim(b.Context(), benchID(i))
				if err != nil {
					b.Fatal(err)
				}
				if _, err := claim.Append(b.Context(), 0, []store.Event{benchOpening(i)}); err != nil {
					b.Fatal(err)
				}
				claims[i] = claim
			}
			frames := benchFrames(2, chunk)
			b.ResetTimer()
			var group sync.WaitGroup
			for i, claim := range claims {
				group.Go(func() {
					for after := uint64(1); after < uint64((b.N-i+sessions-1)/sessions*chunk); after += chunk {
						events := append([]store.Event(nil), frames...)
						for k := range events {
							events[k].Seq = after + uint64(k) + 1
							events[k].At = time.Duration(events[k].Seq)
						}
						if _, err := claim.Append(b.Context(), after, events); err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			group.Wait()
			b.StopTimer()
			b.ReportMetric(float64(b.N*chunk)/b.Elapsed().Seconds(), "events/s")
			reportMemory(b)
			for _, claim := range claims {
				if err := claim.Release(b.Context()); err != nil {
					b.Error(err)
				}
			}
		})
	}
}

// reportMemory tells what this process has from the system: the client, and the test.
func reportMemory(b *testing.B) {
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	b.ReportMetric(float64(stats.Sys-stats.HeapReleased)/(1<<20), "client-MiB")
}

const manySessions = 50_000

// BenchmarkList lists a store of 50,000 sessions: the newest 100, and all.
func BenchmarkList(b *testing.B) {
	for _, nodes := range nodeCounts {
		b.Run(fmt.Sprintf("R%d", nodes), func(b *testing.B) {
			c, s := benchStore(b, nodes)
			fillStore(b, s)
			list := func(query store.Query, want int) func(*testing.B) {
				return func(b *testing.B) {
					for range b.N {
						count := 0
						for _, err := range s.Sessions(b.Context(), query) {
							if err != nil {
								b.Fatal(err)
							}
							count++
						}
						if count != want {
							b.Fatalf("%d sessions, want %d", count, want)
						}
					}
					reportMemory(b)
				}
			}
			b.Run("newest100", list(store.Query{Newest: true, Limit: 100}, 100))
			b.Run("all", list(store.Query{}, manySessions))
			b.Run("one", list(store.Query{Prefix: string(benchID(4711))}, 1))
			b.Run("read", func(b *testing.B) {
				for i := range b.N {
					for _, err := range s.Read(b.Context(), benchID(i%manySessions), 0, store.ReadOptions{}) {
						if err != nil {
							b.Fatal(err)
						}
					}
				}
			})
			for _, node := range c.Nodes {
				memory, _ := node.Usage()
				b.Logf("node %s: %d MiB", node.Name, memory>>20)
			}
		})
	}
}

// fillStore appends many short sessions.
func fillStore(b *testing.B, s *jetstream.Store) {
	b.Helper()
	next := make(chan int)
	var group sync.WaitGroup
	for range 32 {
		group.Go(func() {
			for n := range next {
				events := append([]store.Event{benchOpening(n)}, benchFrames(2, 2)...)
				if _, err := s.Append(context.Background(), benchID(n), 0, events); err != nil {
					b.Error(err)
				}
			}
		})
	}
	began := time.Now()
	for n := range manySessions {
		next <- n
	}
	close(next)
	group.Wait()
	b.Logf("%d sessions appended in %v", manySessions, time.Since(began))
}
