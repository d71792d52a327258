package recorder

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcprec/mcprec/recorder/redact"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/memstore"
)

// keyed is a store whose key comes late.
type keyed struct {
	*memstore.Store
	after time.Duration
}

func (k keyed) RedactionKey() ([]byte, error) {
	time.Sleep(k.after)
	return make([]byte, 32), nil
}

// TestKeyOfStuckDisk holds that no session waits long for a key: it is redacted with one of
// its own then, and that is said.
func TestKeyOfStuckDisk(t *testing.T) {
	for after, want := range map[time.Duration]error{0: nil, keyTime / 2: nil, time.Hour: ErrNoAnswer} {
		synctest.Test(t, func(t *testing.T) {
			start := time.Now()
			r, err := Secrets(keyed{memstore.New(), after}, store.Header{}, redact.Rules{})
			if !errors.Is(err, want) || r == nil || time.Since(start) > keyTime {
				t.Errorf("after %v: %v, %v, waited %v", after, r, err, time.Since(start))
			}
			time.Sleep(after)
		})
	}
}
