package recording

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"testing"

	"github.com/mcprec/mcprec/store/outbox"
)

// TestWaiting holds that the word at the end of a session names the cause, without the place twice.
func TestWaiting(t *testing.T) {
	const target = "nats://n1/MCPREC"
	for name, row := range map[string]struct {
		events uint64
		last   error
		want   string
	}{
		"no error":  {1, nil, "1 event waits in the outbox for nats://n1/MCPREC; mcprec store flush sends it"},
		"the close": {2, fmt.Errorf("append: %w", context.Canceled), "2 events wait in the outbox for nats://n1/MCPREC; mcprec store flush sends them"},
		"no server": {2, errors.New("connect to nats://n1/MCPREC: open nats://n1/MCPREC: no NATS server answers at n1"),
			"2 events wait in the outbox for nats://n1/MCPREC (last error: no NATS server answers at n1); mcprec store flush sends them"},
	} {
		if got := waiting(outbox.Stats{Target: target, EventsWaiting: row.events, LastError: row.last}); got != row.want {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// TestWithHost holds that a session for a shared store names its machine, unless its user has.
func TestWithHost(t *testing.T) {
	name, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	given := map[string]string{"env": "ci"}
	if got := withHost(given); !maps.Equal(got, map[string]string{"env": "ci", "host": name}) || len(given) != 1 {
		t.Errorf("%v becomes %v", given, got)
	}
	for _, own := range []string{"lab", ""} {
		if got := withHost(map[string]string{"host": own}); !maps.Equal(got, map[string]string{"host": own}) {
			t.Errorf("host=%s becomes %v", own, got)
		}
	}
}
