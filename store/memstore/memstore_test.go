package memstore_test

import (
	"testing"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/memstore"
	"github.com/mcprec/mcprec/store/storetest"
)

func TestConformance(t *testing.T) {
	storetest.Test(t, func(*testing.T) store.Store { return memstore.New() })
}
