package explore

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/mcprec/mcprec/transport"
)

// The report of a failed check tells what was open then: the quick call waits behind a slow one, whose
// handler stands in a line of the server.
func TestOpenAtFailure(t *testing.T) {
	late := errors.New("quick is late")
	for _, c := range []struct {
		name string
		late func(*Run) error // what the test does when quick is late
		when string
	}{
		{"an operation fails", func(*Run) error { return late }, "what was open when operation quick failed, after step "},
		{"the test calls Fail", func(r *Run) error { r.Fail(late); return nil }, "what was open when the check failed, after step "},
	} {
		setup := func(r *Run) {
			client, server := pair(r)
			server.inline = true // the fault: one request after the other
			server.request = func(ctx context.Context, m transport.Message) {
				if m.Method == "tools/call" {
					time.Sleep(time.Minute) // line 30
				}
				server.answer(ctx, m, `{}`)
			}
			r.Op("slow", func(ctx context.Context) error { return client.tool(ctx, "slow") })
			r.Op("quick", func(ctx context.Context) error {
				short, cancel := context.WithTimeout(ctx, time.Second)
				defer cancel()
				if _, err := client.call(short, "x/quick", `{}`); err != nil {
					return c.late(r)
				}
				return nil
			})
		}
		r := Search(t, Plan{Setup: setup})
		text := r.Text()
		if r.Verdict != CheckFailed || !errors.Is(r.Err, late) {
			t.Fatalf("%s: %s", c.name, text)
		}
		for _, want := range []string{c.when, "response to tools/call \"slow\" by slow#1  not sent: the server read the request at step", "[sleep] explore.TestOpenAtFailure.", " open_test.go:30"} {
			if !strings.Contains(text, want) {
				t.Errorf("%s: no %q in\n%s", c.name, want, text)
			}
		}
	}
}
