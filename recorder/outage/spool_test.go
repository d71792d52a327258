package outage

import (
	"errors"
	"testing"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/storetest"
	"github.com/mcprec/mcprec/transport"
)

// A session that rests holds nothing of what passed: there may be hundreds, and a request for
// each may be long. The parts of an inline write hold whoever would go on.
func TestRestHoldsNothing(t *testing.T) {
	d := &storetest.Disk{}
	s := opened(t, d)
	parts := []store.Part{{Event: store.Event{Kind: store.Frame, Dir: transport.ClientToServer, Payload: []byte("{}\n")}, Chunk: true, Lines: 1}}
	for what, write := range map[string]func() error{
		"by another goroutine": func() error { return s.Write(parts) },
		"in this one": func() error {
			_, err := s.WriteInline(parts, func() { t.Error("left behind") })
			return err
		},
		"in vain": func() error { d.Full.Store(true); return s.Write(parts) },
	} {
		if err := write(); err != nil {
			t.Errorf("a write %s: %v", what, err)
		}
		d.Full.Store(false)
		if s.parts != nil || s.overdue != nil {
			t.Errorf("a write %s leaves something", what)
		}
	}
	_ = s.Close()
}

func opened(t *testing.T, d *storetest.Disk) *Spool {
	t.Helper()
	open := func() (store.Spool, error) {
		return d.Spool(t.Context(), store.Event{Seq: 1, Kind: store.Opened, Payload: store.Header{}.Encode()})
	}
	s, err := Open(open, Options{Bound: Bound, Budget: Shared})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

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
