package outage

import (
	"errors"
	"sync/atomic"
	"testing"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
)

// An idle session holds no bytes of frames that have passed: there may be hundreds of
// sessions, and their requests may be long. The parts of an inline write would hold them.
func TestRestHoldsNothing(t *testing.T) {
	d := &fullDisk{}
	s, err := Open(func() (store.Spool, error) { return d, nil }, Options{Bound: Bound, Budget: Shared})
	if err != nil {
		t.Fatal(err)
	}
	parts := []store.Part{{Event: store.Event{Kind: store.Frame, Dir: transport.ClientToServer, Payload: []byte("{}\n")}, Chunk: true, Lines: 1}}
	for what, write := range map[string]func() error{
		"by another goroutine": func() error { return s.Write(parts) },
		"in this one": func() error {
			_, err := s.WriteInline(parts, func() { t.Error("left behind") })
			return err
		},
		"in vain": func() error { d.full.Store(true); return s.Write(parts) },
	} {
		if err := write(); err != nil {
			t.Errorf("a write %s: %v", what, err)
		}
		d.full.Store(false)
		if s.parts != nil || s.overdue != nil {
			t.Errorf("a write %s leaves something", what)
		}
	}
	_ = s.Close()
}

// fullDisk is a spool that fails while it is full.
type fullDisk struct{ full atomic.Bool }

func (d *fullDisk) Write([]store.Part) error {
	if d.full.Load() {
		return errors.New("no space left")
	}
	return nil
}

func (d *fullDisk) Close() error { return nil }

// What the inner spool fails with comes through.
func TestErrorsPass(t *testing.T) {
	planted := errors.New("planted")
	s := Direct(Unavailable{planted}, nil)
	if err := s.Write(nil); err != planted {
		t.Errorf("write: %v", err)
	}
	if _, err := s.WriteInline(nil, nil); err != planted {
		t.Errorf("inline write: %v", err)
	}
	if err := s.Close(); err != planted {
		t.Errorf("close: %v", err)
	}
	if _, err := Open(func() (store.Spool, error) { return nil, planted }, Options{Bound: Bound, Budget: Shared}); err != planted {
		t.Errorf("open: %v", err)
	}
}
