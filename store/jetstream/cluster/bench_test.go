package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/boltstore"
	"github.com/mcprec/mcprec/store/jetstream"
	"github.com/mcprec/mcprec/store/mask"
	"github.com/mcprec/mcprec/store/outbox"
)

// Each benchmark runs once and takes longer than a second: b.N is 1.

// median returns the middle of some values.
func median[T int64 | float64 | time.Duration](values []T) T {
	slices.Sort(values)
	return values[len(values)/2]
}

// BenchmarkHotPath compares the writes of a recorder whose sessions go to a shared store that is up
// with those of one that keeps them in a folder: in turns, in one process, 2 kB an event. "busy" is a
// session without pauses, and "paced" one of a thousand events a second. The control ratios are those of
// a second folder to the first, and tell how exact the others are: the server and the shipping share the
// machine's processors with the writes. A session's claim is not measured: a server process takes longer
// to start.
func BenchmarkHotPath(b *testing.B) {
	for name, pause := range map[string]time.Duration{"busy": 0, "paced": time.Millisecond} {
		b.Run(name, func(b *testing.B) {
			c := Start(b, Options{})
			shared := openOutbox(b, b.TempDir(), c.DirectURL(stream, ""), outbox.Options{})
			stores := []store.Spooler{openFolder(b), openFolder(b), shared}
			var middles, rates [3][]float64
			for round := range 30 {
				for turn := range stores {
					which := (round + turn) % len(stores)
					r := record(b, stores[which])
					acknowledged(b, shared) // the session is claimed
					middle, rate := writeSession(b, r, 500, pause)
					middles[which] = append(middles[which], middle)
					rates[which] = append(rates[which], rate)
					acknowledged(b, shared)
				}
			}
			ratio := func(values, to []float64) float64 {
				var ratios []float64
				for i := range values {
					ratios = append(ratios, values[i]/to[i])
				}
				return median(ratios)
			}
			b.ReportMetric(ratio(middles[1], middles[0]), "p50-control")
			b.ReportMetric(ratio(middles[2], middles[0]), "p50-ratio")
			b.ReportMetric(ratio(rates[1], rates[0]), "throughput-control")
			b.ReportMetric(ratio(rates[2], rates[0]), "throughput-ratio")
			b.ReportMetric(median(middles[0]), "p50-folder-ns")
			b.ReportMetric(median(middles[2]), "p50-shared-ns")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// openFolder opens a store in a folder.
func openFolder(b *testing.B) *boltstore.Store {
	b.Helper()
	folder, err := boltstore.Open(b.TempDir(), boltstore.Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = folder.Close() })
	return folder
}

// writeSession writes the events of a session, and returns the median time of its writes in nanoseconds,
// and how many a second there would be without anything between them.
func writeSession(b *testing.B, r *recording, events int, pause time.Duration) (middle, rate float64) {
	b.Helper()
	for range events {
		event := r.frame(2000)
		if err := r.write(event); err != nil {
			b.Fatal(err)
		}
		time.Sleep(pause)
	}
	var sum time.Duration
	for _, took := range r.took {
		sum += took
	}
	middle = float64(median(r.took))
	rate = float64(len(r.took)) / sum.Seconds()
	r.end(b)
	return middle, rate
}

// processorTime returns the processor time that this process has used.
func processorTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// BenchmarkShip ships 2 kB events at three replicas, from one recorder process with eight sessions: masked,
// as mcprec record does, and as they are.
func BenchmarkShip(b *testing.B) {
	const sessions, events = 8, 25_000
	for name, masked := range map[string]bool{"masked": true, "plain": false} {
		b.Run(name, func(b *testing.B) {
			c := Start(b, Options{Nodes: 3})
			openStore(b, c.DirectURL(stream, "")) // makes the streams
			task, err := json.Marshal(shipTask{Folder: b.TempDir(), URL: c.DirectURL(stream, ""), Sessions: sessions, Events: events, Masked: masked})
			if err != nil {
				b.Fatal(err)
			}
			before := nodesUsed(c)
			process, said := startBinary(b, os.Args[0], shipperEnv, string(task))
			rate, memory, used := <-said, <-said, <-said
			if err := process.Wait(); err != nil {
				b.Fatal(err)
			}
			state := c.WaitCurrent(stream)
			b.ReportMetric(float64(rate), "events/s")
			b.ReportMetric(float64(memory)/1024, "recorder-MiB")
			b.ReportMetric(float64(used)/1000, "recorder-cpu-us/event")
			b.ReportMetric((nodesUsed(c)-before).Seconds()*1e6/(sessions*events), "nodes-cpu-us/event")
			b.ReportMetric(float64(state.Bytes)/(sessions*events), "stored-B/event")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// nodesUsed returns the processor time that the nodes have used.
func nodesUsed(c *Cluster) (sum time.Duration) {
	for _, node := range c.Nodes {
		_, used := node.Usage()
		sum += used
	}
	return sum
}

// BenchmarkList lists the newest 100 of 50,000 sessions, and reads the heads and the events of 200 that
// are live. The others began a minute apart: ids do not tell the order of those that began within seconds.
func BenchmarkList(b *testing.B) {
	const sessions, live, writers = 50_000, 200, 16
	c := Start(b, Options{})
	shared := openStore(b, c.DirectURL(stream, ""))
	began := time.Now()
	var filling sync.WaitGroup
	for w := range writers {
		filling.Go(func() {
			for i := range sessions / writers {
				r := sessionOf(began.Add(-time.Duration(i*writers+w+1) * time.Minute))
				r.events = append(r.events, r.frame(500))
				if _, err := shared.Append(b.Context(), r.id, 0, r.events); err != nil {
					b.Errorf("writer %d: %v", w, err)
					return
				}
			}
		})
	}
	filling.Wait()
	b.Logf("%d sessions filled in %v", sessions, time.Since(began))
	var claimed []store.SessionID
	for range live {
		r := newSession(newID())
		for range 20 {
			r.events = append(r.events, r.frame(2000))
		}
		claim, err := shared.Claim(b.Context(), r.id)
		if err == nil {
			_, err = claim.Append(b.Context(), 0, r.events)
		}
		if err != nil {
			b.Fatal(err)
		}
		claimed = append(claimed, r.id)
	}
	reader := openStore(b, c.DirectURL(stream, ""))
	var lists, heads, reads []time.Duration
	for range 7 {
		began := time.Now()
		found := 0
		for _, err := range reader.Sessions(b.Context(), store.Query{Newest: true, Limit: 100}) {
			if err != nil {
				b.Fatal(err)
			}
			found++
		}
		lists = append(lists, time.Since(began))
		if found != 100 {
			b.Fatalf("%d sessions are listed", found)
		}
		began = time.Now()
		for _, id := range claimed {
			if _, err := reader.Head(b.Context(), id); err != nil {
				b.Fatal(err)
			}
		}
		heads = append(heads, time.Since(began))
		began = time.Now()
		for _, id := range claimed {
			for _, err := range reader.Read(b.Context(), id, 0, store.ReadOptions{}) {
				if err != nil {
					b.Fatal(err)
				}
			}
		}
		reads = append(reads, time.Since(began))
	}
	milliseconds := func(values []time.Duration) float64 { return median(values).Seconds() * 1000 }
	b.ReportMetric(milliseconds(lists), "list-100-ms")
	b.ReportMetric(milliseconds(heads), "200-heads-ms")
	b.ReportMetric(milliseconds(reads), "200-reads-ms")
	memory, _ := c.Nodes[0].Usage()
	b.ReportMetric(float64(memory)/(1<<20), "server-MiB")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkFollow tells how long after its recording an event of a live session reaches a follower, as
// mcprec tail -f, at three replicas: through the outbox, the cluster and another connection.
func BenchmarkFollow(b *testing.B) {
	const events = 100
	c := Start(b, Options{Nodes: 3})
	url := c.DirectURL(stream, "")
	o := openOutbox(b, b.TempDir(), url, outbox.Options{})
	r := record(b, o)
	acknowledged(b, o)
	reader := openStore(b, url)
	seen := make(chan uint64)
	var following sync.WaitGroup
	following.Go(func() {
		defer close(seen)
		for event, err := range reader.Read(b.Context(), r.id, 0, store.ReadOptions{Follow: true}) {
			if err != nil {
				b.Error(err)
				return
			}
			seen <- event.Seq
		}
	})
	if <-seen != 1 {
		b.Fatal("the first event is not there")
	}
	var took []time.Duration
	for range events {
		time.Sleep(100*time.Millisecond + time.Duration(r.random.IntN(100))*time.Millisecond)
		began := time.Now()
		if err := r.write(r.frame(2000)); err != nil {
			b.Fatal(err)
		}
		if seq, ok := <-seen; !ok || seq != r.seq() {
			b.Fatalf("event %d comes in the place of %d", seq, r.seq())
		}
		took = append(took, time.Since(began))
	}
	r.end(b)
	<-seen
	following.Wait()
	slices.Sort(took)
	milliseconds := func(part float64) float64 { return took[int(part*(events-1))].Seconds() * 1000 }
	b.ReportMetric(milliseconds(0.5), "p50-ms")
	b.ReportMetric(milliseconds(0.9), "p90-ms")
	b.ReportMetric(milliseconds(1), "worst-ms")
	b.ReportMetric(0, "ns/op")
}

// recordersEnv is how long BenchmarkRecorders records: a duration.
const recordersEnv = "MCPREC_RECORDERS_FOR"

func recordersFor(b *testing.B) time.Duration {
	text := os.Getenv(recordersEnv)
	if text == "" {
		return 30 * time.Second
	}
	length, err := time.ParseDuration(text)
	if err != nil {
		b.Fatal(err)
	}
	return length
}

// BenchmarkRecorders has 300 recorders, each with an outbox and a connection of its own, in one
// process with three nodes beside it. Each records two events of 2 kB a second. It compares every
// event at the end.
func BenchmarkRecorders(b *testing.B) {
	const recorders = 300
	length := recordersFor(b)
	c := Start(b, Options{Nodes: 3})
	url := c.DirectURL(stream, "")
	reader := openStore(b, url)
	var outboxes []*outbox.Outbox
	var recorded []*recording
	for range recorders {
		o := openOutbox(b, b.TempDir(), url, outbox.Options{CloseBudget: patience})
		outboxes = append(outboxes, o)
		recorded = append(recorded, record(b, o))
	}
	for _, o := range outboxes {
		acknowledged(b, o)
	}
	usage := func() (nodes, own time.Duration) {
		_, own = Usage(b, os.Getpid())
		return nodesUsed(c), own
	}
	nodesBefore, ownBefore := usage()
	before := c.WaitCurrent(stream)
	began := time.Now()
	var running sync.WaitGroup
	for i, r := range recorded {
		running.Go(func() {
			time.Sleep(time.Duration(i) * time.Second / recorders) // not all at the same moment
			for time.Since(began) < length {
				if err := r.write(r.frame(2000)); err != nil {
					b.Errorf("session %s: %v", r.id, err)
					return
				}
				time.Sleep(500 * time.Millisecond)
			}
		})
	}
	running.Wait()
	took := time.Since(began)
	nodesAfter, ownAfter := usage()
	memory, _ := Usage(b, os.Getpid())
	for _, r := range recorded {
		r.end(b)
	}
	for _, o := range outboxes {
		acknowledged(b, o)
	}
	after := c.WaitCurrent(stream)
	compare(b, reader, recorded...)
	events := 0
	for _, r := range recorded {
		events += len(r.events)
	}
	perRecorder := func(value float64) float64 { return value / took.Seconds() / recorders }
	b.Logf("%d events of %d recorders in %v: each is there once; a write took %s", events, recorders, took, durations(recorded))
	b.ReportMetric(perRecorder(float64(after.Messages-before.Messages)), "messages/s/recorder")
	b.ReportMetric(perRecorder(float64(after.Bytes-before.Bytes)), "stored-B/s/recorder")
	b.ReportMetric(perRecorder((ownAfter-ownBefore).Seconds())*1000, "recorder-cpu-ms/s")
	b.ReportMetric(perRecorder((nodesAfter-nodesBefore).Seconds())*1000, "nodes-cpu-ms/s/recorder")
	b.ReportMetric(float64(memory)/(1<<20)/recorders, "recorder-MiB")
	for _, node := range c.Nodes {
		memory, processor := node.Usage()
		b.Logf("node %s: %d MiB, %v of processor time", node.Name, memory>>20, processor)
	}
	b.ReportMetric(0, "ns/op")
}

// shipperEnv has a shipTask as JSON: the test binary is a recorder that ships then.
const shipperEnv = "MCPREC_CLUSTER_SHIPPER"

// shipTask has a recorder process ship what it has spooled before, and tell how long that takes and
// how much memory.
type shipTask struct {
	Folder, URL string
	Sessions    int
	Events      int // in each
	Masked      bool
}

// runShipper records with the shared store out of reach, and ships then.
func runShipper(text string) error {
	var task shipTask
	if err := json.Unmarshal([]byte(text), &task); err != nil {
		return err
	}
	local, err := boltstore.Open(task.Folder, boltstore.Options{Outbox: true})
	if err != nil {
		return err
	}
	target, err := jetstream.ParseURL(task.URL)
	if err != nil {
		return err
	}
	within := make(chan struct{}) // closed when the shared store is in reach
	options := outbox.Options{Target: target.URL(), CloseBudget: patience}
	if task.Masked {
		options.Mask = func(header store.Header) (func(store.Event) store.Event, error) {
			masker, err := mask.New(make([]byte, 32), mask.Rules{})
			if err != nil {
				return nil, err
			}
			return masker.Of(header).Session().Event, nil
		}
	}
	o := outbox.New(local, func(ctx context.Context) (outbox.Shared, error) {
		select {
		case <-within:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		return jetstream.Open(ctx, target)
	}, options)
	for range task.Sessions {
		r := newSession(newID())
		if r.spool, err = o.Spool(context.Background(), r.events[0]); err != nil {
			return err
		}
		for range task.Events {
			if err := r.write(r.frame(2000)); err != nil {
				return err
			}
			r.forget() // it would count
		}
		if err := errors.Join(r.seal(), r.spool.Close()); err != nil {
			return err
		}
	}
	if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0); err != nil { // the peak begins here
		return err
	}
	usedBefore := processorTime()
	began := time.Now()
	close(within)
	for o.Stats().EventsWaiting > 0 {
		if time.Since(began) > 2*patience {
			return fmt.Errorf("%d events wait: %w", o.Stats().EventsWaiting, o.Stats().LastError)
		}
		time.Sleep(time.Millisecond)
	}
	took := time.Since(began)
	used := processorTime() - usedBefore
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return err
	}
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	kilobytes, err := strconv.Atoi(strings.Fields(rest)[0])
	if err != nil {
		return err
	}
	fmt.Println(int(float64(task.Sessions*task.Events) / took.Seconds()))
	fmt.Println(kilobytes)
	fmt.Println(used.Nanoseconds() / int64(task.Sessions*task.Events))
	return o.Close()
}

// sessionOf makes a session that began at a time, which its id tells.
func sessionOf(began time.Time) *recording {
	number := uuid.Must(uuid.NewV7())
	milliseconds := began.UnixMilli()
	for at := range 6 {
		number[at] = byte(milliseconds >> (8 * (5 - at)))
	}
	r := newSession(store.SessionID(number.String()))
	header := store.Header{ID: r.id, Start: began.UTC(), Transport: "stdio", Command: []string{"server"}}
	r.events = []store.Event{{Seq: 1, Kind: store.Opened, Payload: header.Encode()}}
	return r
}
