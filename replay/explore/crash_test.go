package explore

import (
	"context"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// A panic in a goroutine of a library ends the process. The trace of it shows the token of the schedule
// that ran, and that token panics again.
func TestCrash(t *testing.T) {
	const variable = "EXPLORE_CRASH_TOKEN"
	if token, child := os.LookupEnv(variable); child {
		Explore(t, Plan{Token: token, Capacities: []Capacity{{}}, Setup: func(r *Run) {
			client, _ := pair(r)
			last := make(chan string, 2)
			go func() { // a library's goroutine
				if first := <-last; first == "b" {
					panic("b came first")
				}
			}()
			for _, name := range []string{"a", "b"} {
				r.Op(name, func(ctx context.Context) error {
					err := client.tool(ctx, name)
					last <- name
					return err
				})
			}
		}})
		return
	}
	crash := func(token string) string {
		cmd := exec.Command(os.Args[0], "-test.run=^TestCrash$")
		cmd.Env = append(os.Environ(), variable+"="+token)
		out, err := cmd.CombinedOutput()
		if err == nil || !strings.Contains(string(out), "panic: b came first") || !strings.Contains(string(out), "crash_test.go") {
			t.Fatalf("token %q: %v\n%s", token, err, out)
		}
		return string(out)
	}
	out := crash("")
	found := regexp.MustCompile(`"` + crashLabel + `": "(\S+) *"`).FindStringSubmatch(out)
	if found == nil || !strings.Contains(found[1], ":") {
		t.Fatalf("no token with a choice in\n%s", out)
	}
	crash(found[1])
}
