package cluster

import (
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/jetstream"
	"github.com/mcprec/mcprec/store/storetest"
)

// openStore opens the store behind a URL, and closes it at the end of the test.
func openStore(t testing.TB, url string) *jetstream.Store {
	t.Helper()
	options, err := jetstream.ParseURL(url)
	if err != nil {
		t.Fatal(err)
	}
	s, err := jetstream.Open(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// TestConformance runs the suite of every store against one server, and against three with three
// replicas. Each case has streams of its own.
func TestConformance(t *testing.T) {
	for name, nodes := range map[string]int{"one": 1, "three": 3} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := Start(t, Options{Nodes: nodes})
			conn, js := c.Connect()
			defer conn.Close()
			var count atomic.Int64
			open := func(t *testing.T) store.Store {
				stream := fmt.Sprintf("CASE%d", count.Add(1))
				t.Cleanup(func() {
					for _, name := range []string{stream, stream + "_META"} {
						_ = js.DeleteStream(t.Context(), name)
					}
				})
				return openStore(t, c.DirectURL(stream, ""))
			}
			reopen := func(t *testing.T, s store.Store) store.Store {
				t.Helper()
				url := s.Info().Location
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
				return openStore(t, url)
			}
			storetest.Test(t, open, storetest.Reopen(reopen))
		})
	}
}
