//go:build night

package cluster

import (
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcprec/mcprec/store/share/push"
)

// TestWrongClocks has machines that record, machines that pull, and a node whose clocks are an hour off, and lets each node be the
// leader in turn. It holds that why tells how long a call really waits, and that nothing is lost.
func TestWrongClocks(t *testing.T) {
	t.Parallel()
	c := Start(t, Options{Nodes: 3, Clocks: []time.Duration{0, time.Hour, 0}})
	url := c.DirectURL(name, "")
	into := t.TempDir()
	direct := shipped{openStream(t, url)}
	p := startPush(t, t.TempDir(), c.URL(name, ""), push.Options{})
	r := record(t, p.db)
	clocks := []time.Duration{-time.Hour, 0, time.Hour}
	began := time.Now()
	machines := map[time.Duration]*machine{}
	for _, ahead := range clocks {
		m := newMachine(t)
		m.path = programWithClock(t, "mcprec")
		m.variables = []string{clockAhead(ahead)}
		machines[ahead] = m
		home := t.TempDir()
		recorder := m.command(home, "record", "-l", fmt.Sprintf("clock%.0f", ahead.Hours()), "--", "sh", "-c", "cat > /dev/null")
		input, err := recorder.StdinPipe()
		if err == nil {
			err = recorder.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { end(t, recorder, input.Close) })
		if _, err := input.Write([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"hang"}}` + "\n")); err != nil {
			t.Fatal(err)
		}
		process(t, m, home, "push", url)
		process(t, m, home, "pull", url, "--into", filepath.Join(into, ahead.String()))
	}
	// told holds that a reader with some clock is told that all three wait, and for how long.
	told := func(ahead time.Duration) error {
		got := machines[ahead].run(filepath.Join(into, ahead.String()), "why", "--all", "--after", "1s", "--format", "json")
		waiting := 0
		for line := range strings.Lines(got.out) {
			var answer struct {
				Label, State string
				Findings     []struct {
					Waited time.Duration `json:"waited_ns"`
				}
			}
			if err := json.Unmarshal([]byte(line), &answer); err != nil {
				return err
			}
			if !strings.Contains(answer.Label, "host=") { // the one in this process
				continue
			}
			if answer.State != "live" || len(answer.Findings) != 1 {
				return fmt.Errorf("why says %s", line)
			}
			// A clock is only taken for wrong by more than 10 s, see clockNoise.
			if waited, real := answer.Findings[0].Waited, time.Since(began); waited > real+20*time.Second || waited < real-time.Minute {
				return fmt.Errorf("%s waits %v, and has been there for %v: %s", answer.Label, waited, real, line)
			}
			waiting++
		}
		if waiting != len(clocks) {
			return fmt.Errorf("%d of %d sessions wait: %s%s", waiting, len(clocks), got.out, got.errs)
		}
		return nil
	}
	for _, node := range append(c.Nodes, nil) {
		for _, ahead := range clocks {
			wait(t, fmt.Sprintf("a reader whose clock is %v ahead is told how long they wait", ahead), func() error { return told(ahead) })
		}
		r.writeFrames(t, 100, 2000)
		arrived(t, direct, r)
		if node != nil {
			node.Kill()
			r.writeFrames(t, 100, 2000)
			arrived(t, direct, r)
			node.Start()
			c.WaitCurrent(name)
		}
	}
	r.end(t)
	arrived(t, direct, r)
	compare(t, direct, r)
	tell(t, "clocks an hour off: machines that record, that pull, a node", len(clocks)*len(clocks), "why tells how long a call waits; each event is there once")
}

// end ends a recorder.
func end(t *testing.T, recorder *exec.Cmd, closeInput func() error) {
	err := errors.Join(closeInput(), recorder.Wait())
	if failed := (*exec.ExitError)(nil); err != nil && !errors.As(err, &failed) {
		t.Error(err)
	}
}
