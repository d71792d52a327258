package boltstore_test

import (
	"testing"
	"time"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/boltstore"
	"github.com/mcprec/mcprec/store/storetest"
)

func open(t testing.TB, dir string) *boltstore.Store {
	t.Helper()
	s, err := boltstore.Open(dir, boltstore.Options{Patience: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestConformance(t *testing.T) {
	storetest.Test(t, func(t *testing.T) store.Store {
		return open(t, t.TempDir())
	}, storetest.Reopen(func(t *testing.T, s store.Store) store.Store {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		return open(t, s.Info().Location)
	}))
}
