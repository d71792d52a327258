package explore

import (
	"context"
	"io"
	"net/http"
	"testing"
	"time"
)

// TestTimersAmongLanes: time passes while frames wait also where there are more lanes than two:
// another pair of ends, or the responses of HTTP, which come while time passes.
func TestTimersAmongLanes(t *testing.T) {
	hurry := func(ctx context.Context) error {
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
		}
		return nil
	}
	for name, plan := range map[string]Plan{
		"two pairs": {Setup: func(r *Run) {
			strict(r)
			r.Pair(2)
			r.Op("timer", hurry)
		}},
		"http": {HTTP: &HTTP{}, Setup: func(r *Run) {
			r.Handle(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") }))
			client := r.HTTPClient()
			r.Op("get", func(ctx context.Context) error {
				request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://server/", nil)
				if err != nil {
					return err
				}
				response, err := client.Do(request)
				if err != nil {
					return err
				}
				_, err = io.ReadAll(response.Body)
				return err
			})
			r.Op("timer", hurry)
		}},
	} {
		plan.Timers, plan.Schedules, plan.Lawless, plan.Shrink = 2, 40, true, -1
		report := Search(t, plan)
		if report.Verdict == Panic || report.Coverage.Timed == 0 {
			t.Errorf("%s: %s", name, report.Text())
		}
	}
}
