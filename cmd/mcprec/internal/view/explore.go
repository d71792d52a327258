package view

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"runtime"
	"sync"
	"time"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/session"
	"github.com/mcprec/mcprec/replay/closed"
	"github.com/mcprec/mcprec/replay/explore"
	"github.com/mcprec/mcprec/replay/picture"
	"github.com/mcprec/mcprec/store"
)

// explorer runs one exploration at a time.
type explorer struct{ busy sync.Mutex }

// exploration is what a page asks for.
type exploration struct {
	Client    string `json:"client"`
	Server    string `json:"server"`
	Level     string `json:"vary"`
	Capacity  string `json:"buffer"`
	Schedules int    `json:"orders"`
	Token     string `json:"token"`
}

// The schedules of an exploration, and the bytes of a request for one.
const (
	usualSchedules = 400
	mostSchedules  = 100_000
	mostAsked      = 1 << 14
)

// askPatience is how long a page may take to say what it asks for.
const askPatience = 10 * time.Second

// plan returns the plan of an exploration of a session.
func (e exploration) plan(ctx context.Context, i *index) (plan explore.Plan, err error) {
	setup, err := parseSetup(e.Client, e.Server, e.Capacity)
	if err != nil {
		return plan, err
	}
	events, err := session.Collect(i.source.readAll(ctx))
	if err != nil {
		return plan, err
	}
	plan, err = explore.Modeled(events, setup.Client, setup.Server)
	if err != nil {
		return plan, err
	}
	if e.Level != "" {
		plan.Level, err = explore.ParseLevel(e.Level)
		if err != nil {
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
	case plan.Level == explore.DeliveryOrder:
		plan.Schedules = len(plan.Capacities) // every order ends in the same way
	default:
		plan.Schedules = usualSchedules
	}
	plan.Workers = runtime.GOMAXPROCS(0)
	if plan.Level == explore.SendingOrder && (setup.Client == closed.SingleThreaded || setup.Server == closed.SingleThreaded) {
		return plan, fmt.Errorf("a single-threaded side has one order only, and nothing to choose in what it sends")
	}
	return plan, nil
}

// explore runs an exploration, and sends its progress and its report as events. It ends with the
// request.
func (x *explorer) explore(w http.ResponseWriter, r *http.Request, i *index) error {
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(askPatience)) // the writer of a test has no connection, and no deadline
	var asked exploration
	body := json.NewDecoder(http.MaxBytesReader(w, r.Body, mostAsked))
	body.DisallowUnknownFields()
	if err := body.Decode(&asked); err != nil {
		return fmt.Errorf("read the exploration: %w", err)
	}
	_ = control.SetReadDeadline(time.Time{}) // it would end the request
	plan, err := asked.plan(r.Context(), i)
	if err != nil {
		return err
	}
	if !x.busy.TryLock() {
		refuse(w, http.StatusTooManyRequests, "another exploration is under way")
		return nil
	}
	defer x.busy.Unlock()
	out := newEventStream(w)
	plan.Stop = r.Context().Done()
	plan.Progress = func(p explore.Progress) {
		if out.isDue() {
			out.send("progress", map[string]int{"done": p.Done, "total": p.Total})
		}
	}
	report, err := explore.Judge(plan)
	if err != nil {
		out.send("error", map[string]string{"error": err.Error()})
		return nil
	}
	failing, err := drawSchedule(r.Context(), i, report.Failing, report.Level)
	if err == nil {
		var passing *schedule
		passing, err = drawSchedule(r.Context(), i, report.Passing, report.Level)
		out.send("report", map[string]any{"report": report, "failing": failing, "passing": passing, "apart": report.Apart})
	}
	return err
}

// schedule is a schedule with its frames by their names, such as c2s.1.
type schedule struct {
	*explore.Schedule
	Frames map[string]picture.Frame `json:"messages"`
}

// drawSchedule names the frames of a schedule: at level DeliveryOrder, where each end sends in its recorded
// order, as the rows of the session do, else by the names of the steps.
func drawSchedule(ctx context.Context, i *index, of *explore.Schedule, level explore.Level) (*schedule, error) {
	if of == nil {
		return nil, nil
	}
	drawn := &schedule{of, map[string]picture.Frame{}}
	last := map[string]int{}
	for _, step := range of.Steps {
		if step.N == 0 {
			continue
		}
		key := fmt.Sprintf("%s.%d", step.Dir, step.N)
		frame := of.Frames[key]
		drawn.Frames[key] = picture.Frame{Label: frame.Label, Kind: frame.Kind, Dir: frame.Dir}
		last[step.Dir] = max(last[step.Dir], step.N)
	}
	if level != explore.DeliveryOrder {
		return drawn, nil
	}
	var seqs []uint64
	numbers := map[string]int{}
	for e, err := range i.source.recorded(ctx, 1, false) {
		if err != nil {
			return nil, err
		}
		if e.Kind != store.Frame {
			continue
		}
		dir := e.Dir.String()
		numbers[dir]++
		key := fmt.Sprintf("%s.%d", dir, numbers[dir])
		if frame, ok := drawn.Frames[key]; ok {
			frame.Seq = e.Seq
			drawn.Frames[key] = frame
			seqs = append(seqs, e.Seq)
		}
		if numbers["c2s"] >= last["c2s"] && numbers["s2c"] >= last["s2c"] {
			break
		}
	}
	return drawn, i.name(ctx, seqs, drawn.Frames)
}
