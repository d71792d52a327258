package diff_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/mcprec/mcprec/replay/diff"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/jsonl"
)

// TestBigBatch: a batch is read once, not once for each of its messages: twice as many
// take twice the memory, and not four times.
func TestBigBatch(t *testing.T) {
	for name, message := range map[string]string{
		"request":      `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"t","arguments":{"i":%[1]d}}}`,
		"notification": `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"%d"}}`,
		"stray output": `{"no message":%d}`,
	} {
		t.Run(name, func(t *testing.T) {
			const n = 500
			once, twice := comparedBatches(t, message, n), comparedBatches(t, message, 2*n)
			if twice > 3*once {
				t.Errorf("%d messages took %d bytes, %d took %d", n, once, 2*n, twice)
			}
		})
	}
}

// comparedBatches returns how much memory it took to compare two batches of n messages
// that all differ.
func comparedBatches(t *testing.T, message string, n int) uint64 {
	t.Helper()
	a, b := batchSession(t, message, 1000, n), batchSession(t, message, 500_000, n)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	r := compared(t, diff.Options{}, a, b)
	runtime.ReadMemStats(&after)
	if r.Same() {
		t.Fatal("they are the same")
	}
	return after.TotalAlloc - before.TotalAlloc
}

func batchSession(t *testing.T, message string, from, n int) (events []store.Event) {
	t.Helper()
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf(message, from+i)
	}
	text := `{"mcprec":1}` + "\n" + `{"dir":"c2s","frame":[` + strings.Join(list, ",") + "]}\n"
	for e, err := range jsonl.Decode(strings.NewReader(text)) {
		if err != nil {
			t.Fatal(err)
		}
		events = append(events, e)
	}
	return events
}

// TestNoiseInBatch: of a batch with something in it that is no message, that is told and
// not the whole batch.
func TestNoiseInBatch(t *testing.T) {
	a, b := batchSession(t, `{"no message":%d}`, 1, 2), batchSession(t, `{"no message":%d}`, 2, 2)
	if got := told(compared(t, diff.Options{}, a, b)); !strings.Contains(got, `"{\"no message\":1}"`) {
		t.Error(got)
	}
}
