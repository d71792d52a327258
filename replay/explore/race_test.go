//go:build race

package explore

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// A data race in a burst is a verdict with the token of its schedule, and the token gives it
// again in a process of its own. The race detector reports a race to the process, which fails.
func TestDataRace(t *testing.T) {
	const variable = "EXPLORE_RACE_TOKEN"
	if token, child := os.LookupEnv(variable); child {
		Explore(t, Plan{Token: token, Setup: func(r *Run) {
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
		}})
		return
	}
	token := ""
	for range 2 {
		cmd := exec.Command(os.Args[0], "-test.run=^TestDataRace$")
		cmd.Env = append(os.Environ(), variable+"="+token)
		out, err := cmd.CombinedOutput()
		_, report, ok := strings.Cut(string(out), "DATA RACE, delivery order only, buffer c2s=0 s2c=0, ")
		if err == nil || !ok || !strings.Contains(report, "the race detector reported a data race, in the output of the test above, after step ") ||
			!strings.Contains(report, ", «start a + b».") {
			t.Fatalf("%v\n%s", err, out)
		}
		_, report, _ = strings.Cut(report, "token ")
		token, _, _ = strings.Cut(report, "\n")
	}
}
