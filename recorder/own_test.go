package recorder

import (
	"bytes"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/storetest"
	"github.com/mcprec/mcprec/transport"
)

// sleeper is a spool that looks at what it is to write only after a while: its goroutine
// got no processor.
type sleeper struct {
	*disk
	before func(write int) time.Duration
	writes int
}

func (s *sleeper) Write(parts []store.Part) error {
	s.writes++
	time.Sleep(s.before(s.writes))
	return s.disk.Write(parts)
}

// A write that is late writes what passed, whatever has become since of the memory in
// which it passed.
func TestLateWriteKeepsBytes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &disk{}
		r := d.begin(t)
		slow := &sleeper{disk: d, before: nth(2, time.Second)}
		r.spool, r.back.spool = slow, slow
		pipe := transport.NewPipe(8, 8, nil)
		client := r.Conn(pipe.Client(), transport.ClientToServer)
		buf := make([]byte, 6)
		for _, text := range []string{"\"one\"\n", "\"two\"\n", "\"tre\"\n", "\"for\"\n"} {
			copy(buf, text)
			if err := client.Write(t.Context(), transport.Frame{Bytes: buf[:5]}); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(2 * time.Second)
		r.Close()
		var got []byte
		for _, e := range d.events {
			if e.Kind == store.Frame {
				got = append(got, bytes.TrimSpace(e.Payload)...)
			}
		}
		if want := `"one""two""tre""for"`; string(got) != want {
			t.Errorf("recorded %s, want %s", got, want)
		}
	})
	storetest.Tell(t, "a writer that gets no processor for a second, while its memory is filled anew", 1, "what passed is recorded")
}
