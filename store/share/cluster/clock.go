package cluster

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// clockEnv is how many seconds the clock of a program is ahead that [buildWithClock] has built. (A
// library that stands before the system's, such as libfaketime, does not reach programs in Go.)
const clockEnv = "MCPREC_CLOCK_AHEAD"

const aheadSource = `package time

import "syscall"

var clockAhead = func() int64 {
	text, _ := syscall.Getenv("` + clockEnv + `")
	seconds, _ := atoi(text)
	return int64(seconds)
}()
`

// buildWithClock builds a program with a package time whose Now is ahead, as clockEnv says.
func buildWithClock(dir, folder, program string) error {
	out, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return err
	}
	library := filepath.Join(strings.TrimSpace(string(out)), "src", "time")
	source, err := os.ReadFile(filepath.Join(library, "time.go"))
	if err != nil {
		return err
	}
	const now = "func Now() Time {\n\tsec, nsec, mono := runtimeNow()\n"
	if strings.Count(string(source), now) != 1 {
		return errors.New("time.Now of this Go looks otherwise: change buildWithClock")
	}
	source = []byte(strings.Replace(string(source), now, now+"\tsec += clockAhead\n", 1))
	changed, added := filepath.Join(folder, "time.go"), filepath.Join(folder, "ahead.go")
	list, err := json.Marshal(map[string]any{"Replace": map[string]string{
		filepath.Join(library, "time.go"): changed, filepath.Join(library, "ahead.go"): added,
	}})
	overlay := filepath.Join(folder, "overlay.json")
	err = errors.Join(err, os.WriteFile(changed, source, 0o600), os.WriteFile(added, []byte(aheadSource), 0o600), os.WriteFile(overlay, list, 0o600))
	if err != nil {
		return err
	}
	build := exec.Command("go", "build", "-overlay", overlay, "-o", folder+string(filepath.Separator), program)
	build.Dir = dir
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s with another clock: %w\n%s", program, err, out)
	}
	return nil
}

// withClock is the folder with the programs that this test run has built with another clock.
var withClock struct {
	sync.Once
	dir string
	err error
}

// programWithClock returns the path of nats-server, mcprec or mcprec-share, built with another clock.
func programWithClock(t testing.TB, name string) string {
	t.Helper()
	withClock.Do(func() {
		withClock.dir, withClock.err = os.MkdirTemp("", "mcprec-clock-")
		if withClock.err == nil {
			withClock.err = errors.Join(
				buildWithClock("", withClock.dir, "github.com/nats-io/nats-server/v2"),
				buildWithClock(filepath.Join("..", "..", ".."), withClock.dir, "./cmd/mcprec"),
				buildWithClock("..", withClock.dir, "./mcprec-share"))
		}
	})
	if withClock.err != nil {
		t.Fatal(withClock.err)
	}
	return filepath.Join(withClock.dir, name)
}

// clockAhead returns the variable for a program whose clock is ahead by so much.
func clockAhead(ahead time.Duration) string {
	return fmt.Sprintf("%s=%d", clockEnv, int(ahead.Seconds()))
}
