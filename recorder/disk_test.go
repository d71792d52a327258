package recorder

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
)

// disk is a spool that lets each write wait, or fail, as it is told. In a bubble its
// waiting takes no time.
type disk struct {
	spool
	wait   func(write int) time.Duration // < 0: for ever
	before bool                          // it waits before it looks at what it is to write
	full   atomic.Bool                   // for all but the end of a log, which fits into the last block
	all    bool                          // for that too
	from   int                           // it is full from this write on; 0: never
	writes int
	stuck  chan struct{}
	opens  time.Duration // how long it takes to open; < 0: it fails then
}

func (d *disk) Spool(_ context.Context, opened store.Event) (store.Spool, error) {
	if time.Sleep(max(d.opens, -d.opens)); d.opens < 0 {
		return nil, errors.New("no such folder")
	}
	return d, d.spool.Write([]store.Part{{Event: opened}})
}

func (d *disk) Write(parts []store.Part) error {
	d.writes++
	if ends := parts[len(parts)-1].Kind == store.Closed; d.writes == d.from {
		d.full.Store(true)
	} else if d.full.Load() && ends && !d.all {
		return d.spool.Write(parts)
	}
	if d.full.Load() {
		return errors.New("no space left")
	}
	if d.before {
		d.pause()
	}
	if err := d.spool.Write(parts); err != nil {
		return err
	}
	if !d.before {
		d.pause()
	}
	return nil
}

func (d *disk) pause() {
	if d.wait == nil {
		return
	}
	if w := d.wait(d.writes); w >= 0 {
		time.Sleep(w)
	} else {
		<-d.stuck
	}
}

// nth returns a wait for one write, and none for the others.
func nth(n int, d time.Duration) func(int) time.Duration {
	return func(write int) time.Duration {
		if write == n {
			return d
		}
		return 0
	}
}

// peers are a client and a server that answers, with a recorder between them.
type peers struct {
	t    *testing.T
	r    *Recorder
	ask  func(i int) (took time.Duration)
	quit func()
}

// byPass connects them through the taps of a stdio session.
func byPass(t *testing.T, r *Recorder) *peers {
	up, upW := io.Pipe()
	srv, srvW := io.Pipe()
	down, downW := io.Pipe()
	cl, clW := io.Pipe()
	ended := make(chan struct{}, 3)
	c2s, s2c := r.Tap(transport.ClientToServer), r.Tap(transport.ServerToClient)
	go func() { c2s.Pass(srvW, up); srvW.Close(); ended <- struct{}{} }()
	go func() { s2c.Pass(clW, down); clW.Close(); ended <- struct{}{} }()
	go func() {
		buf := make([]byte, 1<<17)
		for {
			n, err := srv.Read(buf)
			if err != nil {
				downW.Close()
				ended <- struct{}{}
				return
			}
			fmt.Fprintf(downW, "re: %d\n", n)
		}
	}()
	lines := make([]byte, 64)
	return &peers{t, r, func(i int) time.Duration {
		start := time.Now()
		fmt.Fprintf(upW, "ask %d\n", i)
		if n, err := cl.Read(lines); err != nil || !bytes.HasPrefix(lines[:n], []byte("re: ")) {
			t.Fatalf("ask %d: got %q, %v", i, lines[:n], err)
		}
		return time.Since(start)
	}, func() {
		upW.Close()
		for range 3 {
			<-ended
		}
	}}
}

// byConn connects them in process.
func byConn(t *testing.T, r *Recorder) *peers {
	pipe := transport.NewPipe(1, 1, nil)
	client := r.Conn(pipe.Client(), transport.ClientToServer)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			f, err := pipe.Server().Read(t.Context())
			if err != nil || pipe.Server().Write(t.Context(), f) != nil {
				return
			}
		}
	}()
	return &peers{t, r, func(i int) time.Duration {
		start := time.Now()
		if err := client.Write(t.Context(), transport.Frame{Bytes: fmt.Appendf(nil, "ask %d", i)}); err != nil {
			t.Fatal(err)
		}
		if _, err := client.Read(t.Context()); err != nil {
			t.Fatal(err)
		}
		return time.Since(start)
	}, func() { client.Close(); <-ended }}
}

var faces = []struct {
	name    string
	connect func(*testing.T, *Recorder) *peers
}{{"stdio", byPass}, {"in process", byConn}, {"over HTTP", byProxy}, {"in an HTTP client", byRoundTrip}}

// holding has a recorder hold what waits for the disk within a budget of the test's.
func holding(b *budget) Option {
	return func(r *Recorder) { r.budget = b }
}

// begin starts a recording on a disk.
func (d *disk) begin(t *testing.T, options ...Option) *Recorder {
	t.Helper()
	r, err := New(t.Context(), d, store.Header{}, options...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// frames counts what is in the log, whose frames are whole and in order.
func (d *disk) frames(t *testing.T) (n int, kinds string) {
	t.Helper()
	for _, e := range d.events {
		if e.Kind == store.Frame && e.Dir == transport.ClientToServer {
			n++
		}
		if e.Kind != store.Frame && e.Kind != store.EOF && e.Kind != store.HTTP {
			kinds += " " + string(e.Kind)
		}
	}
	return n, strings.TrimSpace(kinds)
}
