package view

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"runtime"
	"sync"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/session"
	"github.com/mcprec/mcprec/replay"
	"github.com/mcprec/mcprec/replay/explore"
)

// exploring lets one exploration run at a time.
type exploring struct{ one sync.Mutex }

// exploration is what a page asks for.
type exploration struct {
	Client    string `json:"client"`
	Server    string `json:"server"`
	Level     string `json:"level"`
	Capacity  string `json:"capacity"`
	Schedules int    `json:"schedules"`
	Token     string `json:"token"`
}

// The schedules of an exploration, and the bytes of a request for one.
const (
	usualSchedules = 200
	mostSchedules  = 100_000
	mostAsked      = 1 << 14
)

// plan returns the plan of an exploration of a session.
func (e exploration) plan(ctx context.Context, i *index) (plan explore.Plan, err error) {
	setup, err := parseSetup(e.Client, e.Server, e.Capacity)
	if err != nil {
		return plan, err
	}
	events, err := session.Collect(i.source.read(ctx, 1, false))
	if err != nil {
		return plan, err
	}
	if plan, err = explore.Modeled(events, setup.Client, setup.Server); err != nil {
		return plan, err
	}
	if e.Level != "" {
		if plan.Level, err = explore.ParseLevel(e.Level); err != nil {
			return plan, err
		}
	}
	plan.Capacities = explore.Sweep
	if e.Capacity != "" {
		plan.Capacities = []explore.Capacity{{C2S: int(setup.Capacity.C2S), S2C: int(setup.Capacity.S2C)}}
	}
	switch {
	case e.Token != "":
		plan.Token = e.Token
	case e.Schedules > 0:
		plan.Schedules = min(e.Schedules, mostSchedules)
	case plan.Level == explore.L0:
		plan.Schedules = len(plan.Capacities) // every order ends in the same way
	default:
		plan.Schedules = usualSchedules
	}
	plan.Workers = runtime.GOMAXPROCS(0)
	if plan.Level == explore.L1 && (setup.Client == replay.Rigid || setup.Server == replay.Rigid) {
		return plan, fmt.Errorf("a rigid end has one order only, and nothing to choose at level L1")
	}
	return plan, nil
}

// explore runs an exploration, and sends its progress and its report as events. It ends with the
// request.
func (x *Server) explore(w http.ResponseWriter, r *http.Request, i *index) error {
	var asked exploration
	body := json.NewDecoder(http.MaxBytesReader(w, r.Body, mostAsked))
	body.DisallowUnknownFields()
	if err := body.Decode(&asked); err != nil {
		return fmt.Errorf("read the exploration: %w", err)
	}
	plan, err := asked.plan(r.Context(), i)
	if err != nil {
		return err
	}
	if !x.one.TryLock() {
		refuse(w, http.StatusTooManyRequests, "another exploration is under way")
		return nil
	}
	defer x.one.Unlock()
	out := newEvents(w)
	plan.Stop = r.Context().Done()
	plan.Progress = func(p explore.Progress) {
		if out.mayHurry() {
			out.send("progress", map[string]int{"done": p.Done, "total": p.Total})
		}
	}
	report, err := explore.Judge(plan)
	if err != nil {
		out.send("error", map[string]string{"error": err.Error()})
		return nil
	}
	out.send("report", map[string]any{"report": report})
	return nil
}
