package server

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/memstore"
	"github.com/mcprec/mcprec/store/objects"
	"github.com/mcprec/mcprec/store/storetest"
)

// TestRealServer runs the suite, an upload in parts and an archive against the server that
// MCPREC_S3_ENDPOINT names, with the credentials of the environment, in the bucket
// MCPREC_S3_BUCKET. It writes below a prefix of its own, and leaves the objects there.
func TestRealServer(t *testing.T) {
	endpoint := os.Getenv("MCPREC_S3_ENDPOINT")
	if endpoint == "" {
		t.Skip("MCPREC_S3_ENDPOINT names no server")
	}
	n := 0
	fresh := func(t *testing.T) *objects.Store {
		n++
		prefix := fmt.Sprintf("mcprec-test/%d-%d", time.Now().UnixNano(), n)
		s, err := objects.Open(t.Context(), objects.Options{Bucket: os.Getenv("MCPREC_S3_BUCKET"), Prefix: prefix, Endpoint: endpoint})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	t.Run("suite", func(t *testing.T) {
		storetest.Test(t, func(t *testing.T) store.Store { return fresh(t) }, storetest.Sealed())
	})
	t.Run("parts", func(t *testing.T) {
		s := fresh(t)
		events := session(idAt(noon, 1), noon, 40, 0)
		for i := range events[1:39] {
			events[i+1].Payload = noise(1<<20, i)
		}
		head := mustAppend(t, s, events)
		wantEvents(t, s, idAt(noon, 1), events)
		events[2].At++
		if _, err := s.Append(t.Context(), idAt(noon, 1), 0, events); err == nil {
			t.Error("another session with the id: accepted")
		}
		if got, err := s.Head(t.Context(), idAt(noon, 1)); err != nil || got != head {
			t.Errorf("head %v, %v", got, err)
		}
	})
	t.Run("archive", func(t *testing.T) {
		s := fresh(t)
		from := memstore.New()
		for i := range 30 {
			mustAppend(t, from, session(idAt(noon, i), noon, 20, 50))
		}
		options := objects.ArchiveOptions{Rule: rule}
		options.Delete = true
		done, err := run(t, from, s, options)
		if ids, faults := listed(t, s, store.Query{}); err != nil || len(done) != 30 || len(ids) != 30 || len(faults) > 0 {
			t.Errorf("archived %d, listed %d, %v, %v", len(done), len(ids), err, faults)
		}
	})
}
