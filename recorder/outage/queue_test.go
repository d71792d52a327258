package outage

import (
	"bytes"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcprec/mcprec/store"
)

// slowDisk is a spool whose writes take a time, or fail, until the disk is mended.
type slowDisk struct {
	takes   time.Duration
	fault   error
	mended  atomic.Bool
	written int // parts
}

func (d *slowDisk) Write(parts []store.Part) error {
	if !d.mended.Load() {
		time.Sleep(d.takes)
		if d.fault != nil {
			return d.fault
		}
	}
	d.written += len(parts)
	return nil
}

func (d *slowDisk) Close() error { return nil }

func openSlow(t *testing.T, d *slowDisk, limit int64) *Spool {
	t.Helper()
	s, err := Open(func() (store.Spool, error) { return d, nil }, Options{Bound: Bound, Budget: NewBudget(limit)})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func partOf(size int) []store.Part {
	return []store.Part{{Event: store.Event{Kind: store.Frame, Payload: bytes.Repeat([]byte("x"), size)}}}
}

// TestOutage writes to a disk that is slow or full, and is mended later: no write is held longer
// than it must be, and the outage ends with the first prompt write.
func TestOutage(t *testing.T) {
	for _, c := range []struct {
		name  string
		disk  *slowDisk
		limit int64 // of the memory
		rest  time.Duration
		sizes []int           // of the writes, one after the other
		held  []time.Duration // each of them, at most
		fails bool            // the last
		cause string
		noted int // events in the note
	}{
		{"slow", &slowDisk{takes: time.Hour}, 1 << 20, 0, []int{9, 9, 9}, []time.Duration{Bound, 0, 0}, false, "the disk does not answer", 3},
		{"slow at every write", &slowDisk{takes: time.Second}, 1 << 20, time.Minute, []int{9, 9, 9}, []time.Duration{Bound, 0, 0}, false, "the disk does not answer", 4},
		{"slow, and a write that never has room", &slowDisk{takes: time.Hour}, 1 << 10, 0, []int{9, 1 << 11}, []time.Duration{Bound, 0}, true, "the disk does not answer", 2},
		{"slow, and no room", &slowDisk{takes: time.Hour}, 1 << 10, 0, []int{9, 600, 600}, []time.Duration{Bound, 0, roomTime}, true, "the disk does not answer", 2},
		{"slow, and room in time", &slowDisk{takes: Bound + roomTime/2}, 1 << 11, 0, []int{1200, 9, 1200}, []time.Duration{Bound, 0, Bound/2 + roomTime/2}, false, "the disk does not answer", 3},
		{"full", &slowDisk{fault: errors.New("no space left")}, 1 << 20, time.Minute, []int{9, 9, 9}, []time.Duration{0, 0, 0}, false, "no space left", 3},
		{"full, and no room", &slowDisk{fault: errors.New("no space left")}, 1 << 10, 0, []int{9, 600, 600}, []time.Duration{0, 0, 0}, true, "no space left", 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, took := openSlow(t, c.disk, c.limit), len(c.sizes)
				if c.fails {
					took--
				}
				write := func(i, size int, held time.Duration) {
					start := time.Now()
					if err := s.Write(partOf(size)); (err == nil) != (i != took) {
						t.Errorf("write %d: %v", i, err)
					}
					if got := time.Since(start); got > held {
						t.Errorf("write %d was held for %v, want %v at most", i, got, held)
					}
					if s.parts != nil || s.overdue != nil {
						t.Errorf("write %d leaves something", i)
					}
				}
				for i, size := range c.sizes {
					write(i, size, c.held[i])
					time.Sleep(c.rest)
				}
				c.disk.mended.Store(true)
				time.Sleep(2 * time.Hour)
				write(-1, 9, 0)
				synctest.Wait()
				note, since := s.Recovered(), ""
				if note == nil {
					t.Fatal("the outage goes on")
				}
				var rest string
				if _, err := fmt.Sscanf(note.Text, c.cause+": what passed was held in memory for %s all of it is written (events, until here: %s", &since, &rest); err != nil || rest != fmt.Sprint(c.noted, ")") {
					t.Errorf("the note says %q", note.Text)
				}
				if held := s.queue.budget.Held(); c.disk.written != took+1 || held != 0 {
					t.Errorf("%d parts are written, %d bytes are held", c.disk.written, held)
				}
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// TestEnd: the end waits for a disk as long as it takes some, and says when it takes none.
func TestEnd(t *testing.T) {
	for _, c := range []struct {
		takes time.Duration // of each write
		left  int
		want  error
	}{{patience * 2 / 3, 0, nil}, {2 * time.Hour, 3, ErrNoAnswer}} {
		synctest.Test(t, func(t *testing.T) {
			d := slowDisk{takes: c.takes}
			s := openSlow(t, &d, 1<<30)
			for range 3 {
				if err := s.Write(partOf(mergeSize)); err != nil {
					t.Error(err)
				}
			}
			left, fault := s.Drain()
			written, err := s.Finish(partOf(1))
			if len(left) != c.left || fault != c.want || !errors.Is(err, c.want) || written != (c.want == nil) {
				t.Errorf("%v: %d parts left, fault %v; the last is written: %v, %v", c.takes, len(left), fault, written, err)
			}
			time.Sleep(2 * c.takes) // the write that was left behind returns
		})
	}
}
