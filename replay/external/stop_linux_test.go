//go:build amd64 || arm64

package external

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/mcprec/mcprec/replay/external/child"
)

// TestStopEndsAPlay holds that the end of a search ends the play that goes on, of a process that never comes to
// rest, and that nothing is said of it. Without that each play is waited for: it is counted, and what is busy is a
// finding.
func TestStopEndsAPlay(t *testing.T) {
	for what, then := range map[string]string{"busy": "while :; do :; done", "writes": "exec yes"} {
		for _, end := range []string{"server", "web", "client"} {
			t.Run(end+" "+what, func(t *testing.T) {
				t.Parallel()
				began := filepath.Join(t.TempDir(), "began")
				if err := syscall.Mkfifo(began, 0o600); err != nil {
					t.Fatal(err)
				}
				command := []string{"sh", "-c", `echo $$ > "$0"; ` + then, began}
				stop := make(chan struct{})
				pid := make(chan int, 1)
				go func() {
					text, _ := os.ReadFile(began) // waits until the process opens it
					var number int
					_, _ = fmt.Sscan(string(text), &number)
					pid <- number
					close(stop)
				}()
				options := Options{Schedules: 5, Stop: stop}
				var report Report
				var err error
				switch end {
				case "server":
					report, err = Explore(Server{Command: command}, session(), options)
				case "web":
					report, err = Explore(Server{Command: command, URL: "http://127.0.0.1:%PORT/mcp"}, session(), options)
				case "client":
					report, err = ExploreClient(Client{Command: command}, session(), options)
				}
				if err != nil || report.Ended != "interrupted" || report.Played != 0 || len(report.Findings)+len(report.Unconfirmed) != 0 {
					t.Errorf("%v, %d orders played, found:\n%s", err, report.Played, report.Text())
				}
				if err := syscall.Kill(<-pid, 0); err != syscall.ESRCH {
					t.Errorf("the process is still there: %v", err)
				}
			})
		}
	}
}

// shy is a peer that hangs in its first play. The second, which would confirm that, ends the search.
type shy struct {
	*crowd
	stop   chan struct{}
	played int
}

func (s *shy) knowing(play) peer { return s }

func (s *shy) play(schedule Schedule, _ child.Patience) (play, error) {
	if s.played++; s.played == 2 {
		close(s.stop)
		return play{}, fmt.Errorf("play: %w", child.ErrStopped)
	}
	return play{frames: []frame{{seq: 1, isRequest: true, split: 5}}, found: &fault{kind: Hang, events: []uint64{1}}}, nil
}

// TestStopTellsTheUnconfirmed holds that a search which is ended while it confirms a fault tells that fault, as one that is not confirmed.
func TestStopTellsTheUnconfirmed(t *testing.T) {
	s := &shy{crowd: &crowd{}, stop: make(chan struct{})}
	report, err := explore(s, Options{Schedules: 5, Stop: s.stop})
	if err != nil || report.Ended != "interrupted" || s.played != 2 || !strings.Contains(report.Text(), "seen, and not confirmed before the search ended: hang: x1.default\n") {
		t.Errorf("%v after %d plays:\n%s", err, s.played, report.Text())
	}
}

// TestStopBeforeTheStart holds that no process starts when a search has been ended.
func TestStopBeforeTheStart(t *testing.T) {
	stop := make(chan struct{})
	close(stop)
	mark := filepath.Join(t.TempDir(), "started")
	_, err := serverPeer{Server: Server{Command: []string{"touch", mark}}, events: session(), stop: stop}.play(nil, child.Searching)
	_, err2 := clientPeer{Client: Client{Command: []string{"touch", mark}}, events: session(), stop: stop}.play(nil, child.Searching)
	if _, missing := os.Stat(mark); !errors.Is(err, child.ErrStopped) || !errors.Is(err2, child.ErrStopped) || missing == nil {
		t.Errorf("%v, %v, and the file: %v", err, err2, missing)
	}
}
