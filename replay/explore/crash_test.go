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
	token := ""
	for range 2 {
		cmd := exec.Command(os.Args[0], "-test.run=^TestCrash$")
		cmd.Env = append(os.Environ(), variable+"="+token)
		out, err := cmd.CombinedOutput()
		found := regexp.MustCompile(`"` + crashLabel + `": "(\S+) *"`).FindStringSubmatch(string(out))
		if err == nil || found == nil || !strings.Contains(string(out), "panic: b came first") ||
			!strings.Contains(string(out), "crash_test.go") || !strings.Contains(found[1], ":") {
			t.Fatalf("%v\n%s", err, out)
		}
		if _, err := ParseToken(found[1]); err != nil {
			t.Fatal(err)
		}
		token = found[1]
	}
}
