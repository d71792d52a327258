//go:build race

package explore

import (
	"context"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// A data race in a burst is a verdict with the token of its schedule, and the token gives it
// again in a process of its own. The race detector reports a race to the process, which fails.
func TestDataRace(t *testing.T) {
	plans := map[string]struct {
		plan  Plan
		after string // the step
	}{
		"operations": {Plan{Setup: func(r *Run) {
			client, _ := pair(r)
			next := 0
			r.Op("first", func(ctx context.Context) error { return client.tool(ctx, "first") })
			for _, name := range []string{"a", "b"} {
				r.Op(name, func(ctx context.Context) error {
					next++
					return client.tool(ctx, name)
				}).After("first")
			}
			r.Burst("a", "b")
		}}, "start a + b"},
		"handlers": {Plan{HTTP: &HTTP{}, Lawless: true, Setup: func(r *Run) {
			seen := 0
			r.Handle(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				seen++
				w.WriteHeader(http.StatusAccepted)
			}))
			for _, name := range []string{"a", "b"} {
				r.Op(name, func(ctx context.Context) error { return notify(ctx, r.HTTPClient()) })
			}
			r.Burst("a", "b")
		}}, "c2s take notifications/roots/list_changed by b#1"},
	}
	const variable = "EXPLORE_RACE"
	if told, child := os.LookupEnv(variable); child {
		which, token, _ := strings.Cut(told, " ")
		plan := plans[which].plan
		plan.Token = token
		Explore(t, plan)
		return
	}
	for which, c := range plans {
		token := ""
		for range 2 {
			cmd := exec.Command(os.Args[0], "-test.run=^TestDataRace$")
			cmd.Env = append(os.Environ(), variable+"="+which+" "+token)
			out, err := cmd.CombinedOutput()
			_, report, ok := strings.Cut(string(out), "DATA RACE, delivery order only, ")
			if err == nil || !ok || !strings.Contains(report, "the race detector reported a data race, in the output of the test above, after step ") ||
				!strings.Contains(report, ", «"+c.after+"».") {
				t.Fatalf("%s: %v\n%s", which, err, out)
			}
			_, report, _ = strings.Cut(report, "token ")
			token, _, _ = strings.Cut(report, "\n")
		}
	}
}

// notify sends a notification over HTTP.
func notify(ctx context.Context, client *http.Client) error {
	body := strings.NewReader(`{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://server/", body)
	if err != nil {
		return err
	}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}
