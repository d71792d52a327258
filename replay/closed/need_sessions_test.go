package closed_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/mcprec/mcprec/replay/closed"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/jsonl"
	"github.com/mcprec/mcprec/transport"
)

// TestNeedSessions: of the bundled sessions, those of the zoo, and real ones ($MCPREC_CORPUS
// names more), the analysis says what the closed replay and real goroutines say, at each
// capacity around the boundary.
func TestNeedSessions(t *testing.T) {
	folders := []string{"../../fixtures", "../../fixtures/testdata/sessions", "../../store/foreign/testdata/mcp-frames", os.Getenv("MCPREC_CORPUS")}
	tight := 0
	for _, folder := range folders {
		paths, err := filepath.Glob(filepath.Join(filepath.FromSlash(folder), "*.jsonl"))
		if err != nil || len(paths) == 0 && folder != "" {
			t.Fatalf("%s: %d sessions, %v", folder, len(paths), err)
		}
		for _, path := range paths {
			events, err := jsonl.ReadFile(path)
			if err != nil {
				t.Fatal(path, err)
			}
			r, err := closed.Load(eventsOf(events))
			if err != nil {
				t.Fatal(path, err)
			}
			closed.DebtIsLeast(t, r, path)
			for _, s := range setupsOf(r) {
				closed.AgreesWithClosed(t, r, s.Client, s.Server, path)
				for _, c := range boundary(r.Need(s.Client, s.Server)) {
					s.Capacity = c
					closed.AgreesLive(t, r, s, path)
				}
				if n := r.Need(s.Client, s.Server); !n.Safe || n.Least > 0 {
					tight++
				}
			}
		}
	}
	if tight < 5 {
		t.Errorf("only %d that can hang", tight)
	}
}

func eventsOf(events []store.Event) func(func(store.Event, error) bool) {
	return func(yield func(store.Event, error) bool) {
		for _, e := range events {
			if !yield(e, nil) {
				return
			}
		}
	}
}

func setupsOf(r *closed.Recording) []closed.Setup {
	debt := closed.NotificationQueue(r.Debt(transport.ClientToServer))
	return []closed.Setup{
		{}, {Client: closed.SingleThreaded, Server: closed.SingleThreaded}, {Client: closed.AnswersInline, Server: closed.AnswersInline},
		{Client: closed.BlockingHandlers}, {Server: closed.BlockingHandlers}, {Client: closed.NotificationQueue(0)}, {Client: debt}, {Server: closed.NotificationQueue(0)},
		{Client: closed.AnswersInline, Server: closed.SingleThreaded},
	}
}

// boundary lists capacities at which a verdict may change.
func boundary(n closed.Need) []closed.Capacity {
	list := []closed.Capacity{{}, {C2S: closed.Unbounded, S2C: closed.Unbounded}}
	if n.Safe {
		list = append(list, closed.Capacity{C2S: n.Least, S2C: n.Least})
		if n.Least > 0 {
			list = append(list, closed.Capacity{C2S: n.Least - 1, S2C: n.Least - 1})
		}
	}
	return append(list, n.Frontier[:min(len(n.Frontier), 4)]...)
}
