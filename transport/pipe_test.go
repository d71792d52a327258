package transport

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
)

func frame(s string) Frame { return Frame{Bytes: []byte(s)} }

// steps runs f in a bubble over a Pipe and returns the steps taken.
func steps(t *testing.T, c2s, s2c int, f func(t *testing.T, p *Pipe)) string {
	t.Helper()
	var b strings.Builder
	synctest.Test(t, func(t *testing.T) {
		p := NewPipe(c2s, s2c, func(s Step) { fmt.Fprintf(&b, "%v %v %d\n", s.Dir, s.Kind, s.N) })
		f(t, p)
		p.Client().Close()
		p.Server().Close()
	})
	return b.String()
}

func TestRendezvousWaitsForReader(t *testing.T) {
	got := steps(t, 0, 0, func(t *testing.T, p *Pipe) {
		done := make(chan error, 1)
		go func() { done <- p.Client().Write(t.Context(), frame("a")) }()
		synctest.Wait()
		if s := p.State()[0]; s.Offered != 1 || s.Taken != 0 || len(s.Waiting) != 1 || s.Readers != 0 {
			t.Errorf("before the read: %+v", s)
		}
		f, err := p.Server().Read(t.Context())
		if err != nil || string(f.Bytes) != "a" {
			t.Errorf("read %q, %v", f.Bytes, err)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	if want := "c2s offer 1\nc2s take 1\nc2s ack 1\nc2s give 1\n"; got != want {
		t.Errorf("steps:\n%swant:\n%s", got, want)
	}
}

func TestQueueTakesUpToCapacity(t *testing.T) {
	for _, capacity := range []int{1, 3} {
		synctest.Test(t, func(t *testing.T) {
			p := NewPipe(Unbounded, capacity, nil)
			written := 0
			go func() {
				for i := range 10 {
					if p.Server().Write(t.Context(), frame(fmt.Sprint(i))) != nil {
						return
					}
					written++
				}
			}()
			synctest.Wait()
			if s := p.State()[1]; written != capacity || len(s.Queued) != capacity || len(s.Waiting) != 1 {
				t.Errorf("capacity %d: %d writes returned, %d queued, %d waiting", capacity, written, len(s.Queued), len(s.Waiting))
			}
			for i := range 10 {
				f, err := p.Client().Read(t.Context())
				if err != nil || string(f.Bytes) != fmt.Sprint(i) {
					t.Fatalf("read %d: %q, %v", i, f.Bytes, err)
				}
			}
			p.Client().Close()
			p.Server().Close()
		})
	}
}

// Two ends that both write first hang at capacity 0; a queue of one in either
// direction hides it. Quiescence is the bubble's word, not a clock's.
func TestHeadOn(t *testing.T) {
	for _, tt := range []struct {
		c2s, s2c int
		hangs    bool
	}{{0, 0, true}, {1, 0, false}, {0, 1, false}} {
		synctest.Test(t, func(t *testing.T) {
			p := NewPipe(tt.c2s, tt.s2c, nil)
			var finished atomic.Int32
			for _, end := range []Conn{p.Client(), p.Server()} {
				go func() {
					if end.Write(t.Context(), frame("first")) == nil {
						if _, err := end.Read(t.Context()); err == nil {
							finished.Add(1)
						}
					}
				}()
			}
			synctest.Wait()
			if hangs := finished.Load() < 2; hangs != tt.hangs {
				t.Errorf("capacities %d, %d: hangs %v, want %v", tt.c2s, tt.s2c, hangs, tt.hangs)
			}
			p.Client().Close()
			p.Server().Close()
		})
	}
}

func TestCancelledWriteIsWithdrawn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewPipe(0, 0, nil)
		ctx, cancel := context.WithCancel(t.Context())
		errs := make(chan error, 2)
		go func() { errs <- p.Client().Write(ctx, frame("withdrawn")) }()
		synctest.Wait()
		go func() { errs <- p.Client().Write(t.Context(), frame("delivered")) }()
		synctest.Wait()
		cancel()
		if err := <-errs; !errors.Is(err, context.Canceled) {
			t.Errorf("write: %v", err)
		}
		if f, err := p.Server().Read(t.Context()); err != nil || string(f.Bytes) != "delivered" {
			t.Errorf("read %q, %v", f.Bytes, err)
		}
		if err := <-errs; err != nil {
			t.Errorf("second write: %v", err)
		}
	})
}

func TestCancelledReadLosesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewPipe(0, 0, nil)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() {
			_, err := p.Server().Read(ctx)
			done <- err
		}()
		synctest.Wait()
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("read: %v", err)
		}
		go p.Client().Write(t.Context(), frame("next"))
		if f, err := p.Server().Read(t.Context()); err != nil || string(f.Bytes) != "next" {
			t.Errorf("read %q, %v", f.Bytes, err)
		}
	})
}

func TestCloseDeliversWhatWasTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewPipe(2, 0, nil)
		for _, s := range []string{"a", "b"} {
			if err := p.Client().Write(t.Context(), frame(s)); err != nil {
				t.Fatal(err)
			}
		}
		blocked := make(chan error, 1)
		go func() { blocked <- p.Client().Write(t.Context(), frame("never taken")) }()
		synctest.Wait()
		p.Client().Close()
		if err := <-blocked; !errors.Is(err, ErrClosed) {
			t.Errorf("blocked write: %v", err)
		}
		for _, want := range []string{"a", "b"} {
			if f, err := p.Server().Read(t.Context()); err != nil || string(f.Bytes) != want {
				t.Errorf("read %q, %v; want %q", f.Bytes, err, want)
			}
		}
		if _, err := p.Server().Read(t.Context()); err != io.EOF {
			t.Errorf("read after all: %v, want EOF", err)
		}
		if err := p.Server().Write(t.Context(), frame("x")); !errors.Is(err, ErrClosed) {
			t.Errorf("write to a closed end: %v", err)
		}
		if _, err := p.Client().Read(t.Context()); !errors.Is(err, ErrClosed) {
			t.Errorf("read at a closed end: %v", err)
		}
	})
}

func TestCloseWakesBothEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewPipe(0, 0, nil)
		client, server := make(chan error, 1), make(chan error, 1)
		go func() { _, err := p.Client().Read(t.Context()); client <- err }()
		go func() { _, err := p.Server().Read(t.Context()); server <- err }()
		synctest.Wait()
		if s := p.State(); s[0].Readers != 1 || s[1].Readers != 1 {
			t.Errorf("state %+v", s)
		}
		p.Client().Close()
		if err := <-client; !errors.Is(err, ErrClosed) {
			t.Errorf("own read: %v", err)
		}
		if err := <-server; err != io.EOF {
			t.Errorf("peer's read: %v", err)
		}
	})
}

// TestPipeRareStates: a frame that was taken stays, a read that is given up waits no more, an ended
// context writes nothing, and a reader sees the end of one direction.
func TestPipeRareStates(t *testing.T) {
	lane := NewLane(ClientToServer, 1)
	lane.Offer(frame("taken"))
	lane.Next()
	if lane.Withdraw(1) || lane.Withdraw(2) {
		t.Error("a frame that was taken, or not offered, was withdrawn")
	}
	synctest.Test(t, func(t *testing.T) {
		p := NewPipe(0, 0, nil)
		ctx, cancel := context.WithCancel(t.Context())
		read := func(ctx context.Context) chan error {
			errs := make(chan error, 1)
			go func() { _, err := p.Server().Read(ctx); errs <- err }()
			synctest.Wait()
			return errs
		}
		given := read(ctx)
		cancel()
		if err := <-given; !errors.Is(err, context.Canceled) || p.State()[0].Readers != 0 {
			t.Errorf("a read that was given up: %v, %+v", err, p.State()[0])
		}
		if err := p.Client().Write(ctx, frame("late")); !errors.Is(err, context.Canceled) || p.State()[0].Offered != 0 {
			t.Errorf("a write after its context: %v, %+v", err, p.State()[0])
		}
		waits := read(t.Context())
		if err := p.Client().(HalfCloser).CloseWrite(); err != nil {
			t.Error(err)
		}
		if err := <-waits; err != io.EOF {
			t.Errorf("a read at the end of the direction: %v", err)
		}
		p.Client().Close()
		p.Server().Close()
	})
}
