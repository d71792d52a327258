package zoo

import (
	"encoding/json"
	"fmt"
	"os"
	"testing"

	"github.com/mcprec/mcprec/replay/explore"
)

// RowsVariable is the environment variable with the file that tests add their rows to.
const RowsVariable = "MCPREC_ZOO_ROWS"

// Row is what a case gave at one release. A file of rows is JSON Lines.
type Row struct {
	Bug       string `json:"bug"`
	Module    string `json:"module"` // and its version, as go-sdk@v1.8.0
	Verdict   string `json:"verdict"`
	Schedules string `json:"orders,omitempty"`   // it took to find the failure; "" where none was explored
	Measured  string `json:"measured,omitempty"` // with MCPREC_NIGHT=1: schedules that other seeds took
	Wanted    string `json:"wanted"`
	Failed    bool   `json:"failed,omitempty"` // the case's test
}

// Add writes the row to the file of rows, or, where nobody asked for one, to the
// test's log.
func (r Row) Add(t *testing.T) {
	t.Helper()
	path := os.Getenv(RowsVariable)
	if path == "" {
		t.Logf("%s at %s: %s, wanted %s; orders: %s", r.Bug, r.Module, r.Verdict, r.Wanted, r.Schedules)
		return
	}
	if err := r.appendTo(path); err != nil {
		t.Errorf("add row: %v", err)
	}
}

func (r Row) appendTo(path string) error {
	line, err := json.Marshal(r)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o666)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(f, "%s\n", line); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}

// schedules says how many it took to find a failure. Outside of a bubble that differs
// a little from run to run, and the plan's limit is what is sure.
func schedules(p explore.Plan, r explore.Report) string {
	switch {
	case r.Verdict == explore.Pass:
		return ""
	case p.Engine == explore.Settle:
		return fmt.Sprintf("<=%d", p.Schedules)
	}
	return fmt.Sprint(r.Schedules)
}
