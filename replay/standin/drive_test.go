package standin

import (
	"context"
	"errors"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcprec/mcprec/replay/match"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
)

// liveServer is a script: after each frame of the client it says the next of its
// lines; "wait" lets a second pass and "end" ends the connection.
type liveServer struct {
	conn transport.Conn
	said [][]string
	rude bool // goes on when the client has ended
}

func (s *liveServer) run(ctx context.Context) {
	defer s.conn.Close()
	for _, lines := range s.said {
		if _, err := s.conn.Read(ctx); err != nil {
			return
		}
		for _, line := range lines {
			switch line {
			case "wait":
				select {
				case <-time.After(time.Second):
				case <-ctx.Done():
					return
				}
				continue
			case "end":
				return
			}
			if s.conn.Write(ctx, transport.Frame{Bytes: []byte(line)}) != nil {
				return
			}
		}
	}
	for {
		if _, err := s.conn.Read(ctx); err != nil {
			break
		}
	}
	if s.rude {
		<-ctx.Done()
	}
}

// drives plays a recording to a live server and returns how it ended, and how long
// that took.
func drives(t *testing.T, events []store.Event, server liveServer, timeout time.Duration) (*Driver, DriveEnd, time.Duration) {
	t.Helper()
	pipe := transport.NewPipe(0, 0, nil)
	server.conn = pipe.Server()
	ctx, cancel := context.WithCancel(t.Context())
	ran := make(chan bool)
	go func() {
		server.run(ctx)
		close(ran)
	}()
	defer func() {
		cancel()
		<-ran
	}()
	d := NewDriver(events, match.Rules{})
	d.OneByOne()
	start := time.Now()
	end, err := Drive(t.Context(), pipe.Client(), d, DriveOptions{Timeout: timeout})
	if err != nil {
		t.Error(err)
	}
	return d, end, time.Since(start)
}

func TestDrive(t *testing.T) {
	const minute = time.Minute
	const answer, ok, progress = `{"id":1,"result":"asked"}`, `{"id":2,"result":[]}`, `{"method":"notifications/progress","params":{"progressToken":1,"progress":1}}`
	for _, tt := range []struct {
		name, recorded string
		said           [][]string
		rude           bool
		end            DriveEnd
		took           time.Duration
		pending        string
	}{
		{name: "as recorded", recorded: withSampling, end: Complete,
			said: [][]string{{`{"id":7,"method":"sampling/createMessage","params":{}}`}, {answer}, {ok}}},
		{name: "a question that is not asked", recorded: withSampling, end: Complete, took: defaultPatience,
			said: [][]string{{answer}, {ok}}},
		{name: "a slow answer", recorded: withSampling, end: Complete, took: 3*time.Second + defaultPatience,
			said: [][]string{{"wait", "wait", "wait", answer}, {ok}}},
		{name: "a server that heeds no end", recorded: withSampling, rude: true, end: Complete, took: defaultPatience + partingTimeout,
			said: [][]string{{answer}, {ok}}},
		{name: "a server that goes", recorded: withSampling, end: Gone, took: defaultPatience,
			said: [][]string{{answer}, {"end"}}, pending: "the client waits for the answer to #6 tools/list (id 2)"},
		{name: "a server that says no more", recorded: withSampling, end: Silent, took: minute,
			said: nil, pending: "the client waits for the answer to #2 tools/call ask (id 1)"},
		{name: "a server that says other things for ever", recorded: withSampling, end: Silent, took: minute + partingTimeout,
			said: [][]string{slices.Repeat([]string{progress, "wait"}, 100)}, rude: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d, end, took := drives(t, recordPlaybook(tt.recorded), liveServer{said: tt.said, rude: tt.rude}, minute)
				if end != tt.end || took != tt.took {
					t.Errorf("%s after %v", end, took)
				}
				if got := strings.Join(d.Pending(), "; "); !strings.HasPrefix(got, tt.pending) {
					t.Errorf("pending %q", got)
				}
			})
		})
	}
}

// TestDriveWaitsAsRecorded has a timer on the server's side.
func TestDriveWaitsAsRecorded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		events := recordPlaybook(`
			> {"id":1,"method":"a"}
			< {"id":1,"result":1}
			< {"method":"notifications/message","params":{"data":"later"}}
			> {"id":2,"method":"b"}
			< {"id":2,"result":2}`)
		for i := 3; i < len(events); i++ {
			events[i].At = 5 * time.Second
		}
		message := string(events[3].Payload)
		d, end, took := drives(t, events, liveServer{said: [][]string{
			{`{"id":1,"result":1}`, "wait", "wait", "wait", "wait", "wait", "wait", message}, {`{"id":2,"result":2}`},
		}}, time.Minute)
		if end != Complete || took != 6*time.Second || len(d.Without()) > 0 {
			t.Errorf("%s after %v, without %q", end, took, d.Without())
		}
	})
}

func TestDriveErrors(t *testing.T) {
	broken := errors.New("broken")
	for name, conn := range map[string]*faulty{"read": {readErr: broken}, "write": {writeErr: broken}} {
		_, err := Drive(t.Context(), conn, NewDriver(recordPlaybook(twoCalls), match.Rules{}), DriveOptions{})
		if !errors.Is(err, broken) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Drive(ctx, transport.NewPipe(0, 0, nil).Client(), NewDriver(recordPlaybook(twoCalls), match.Rules{}), DriveOptions{}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestDriveOverlaps has a call that the server does not answer before the next one
// came, which the recording does not show.
func TestDriveOverlaps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, end, took := drives(t, recordPlaybook(`
			> {"id":1,"method":"a"}
			> {"id":2,"method":"b"}
			< {"id":1,"result":1}
			< {"id":2,"result":2}`), liveServer{said: [][]string{nil, {`{"id":1,"result":1}`, `{"id":2,"result":2}`}}}, time.Minute)
		if want := []string{"#4 (the answer to a; #3 was sent beside that call, as recorded)"}; end != Complete || took != queuePatience || !slices.Equal(d.Without(), want) {
			t.Errorf("%s after %v, without %q", end, took, d.Without())
		}
	})
}

// TestDrivePaced has the recorded time between a call and the next, and no time-out
// for it.
func TestDrivePaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		events := recordPlaybook(twice)
		events[3].At, events[4].At = time.Hour, time.Hour
		pipe := transport.NewPipe(0, 0, nil)
		server := liveServer{conn: pipe.Server(), said: [][]string{{`{"id":1,"result":1}`}, {`{"id":2,"result":2}`}}}
		go server.run(t.Context())
		start := time.Now()
		end, err := Drive(t.Context(), pipe.Client(), NewDriver(events, match.Rules{}), DriveOptions{Pacer: Paced{Speed: 2}})
		if took := time.Since(start); err != nil || end != Complete || took != time.Hour/2 {
			t.Errorf("%s, %v after %v", end, err, took)
		}
	})
}

// TestDrivePacedHears has the server say something before the recorded time of the next
// call: the time-out does not run until that is out.
func TestDrivePacedHears(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const early = `{"method":"notifications/message","params":{"data":"early"}}`
		events := recordPlaybook(`
			> {"id":1,"method":"a"}
			< {"id":1,"result":1}
			> {"id":2,"method":"b"}
			< ` + early + `
			< {"id":2,"result":2}`)
		for i := 3; i < len(events); i++ {
			events[i].At = time.Hour
		}
		pipe := transport.NewPipe(0, 0, nil)
		server := liveServer{conn: pipe.Server(), said: [][]string{{`{"id":1,"result":1}`, "wait", early}, {`{"id":2,"result":2}`}}}
		go server.run(t.Context())
		start := time.Now()
		end, err := Drive(t.Context(), pipe.Client(), NewDriver(events, match.Rules{}), DriveOptions{Pacer: Paced{Speed: 1}})
		if took := time.Since(start); err != nil || end != Complete || took != time.Hour {
			t.Errorf("%s, %v after %v", end, err, took)
		}
	})
}

const twice = `
	> {"id":1,"method":"a"}
	< {"id":1,"result":1}
	> {"id":2,"method":"b"}
	< {"id":2,"result":2}`

func TestExitFault(t *testing.T) {
	exited := func(info store.ExitInfo) []store.Event {
		return []store.Event{{Seq: 1, Kind: store.Exited, Payload: store.EncodePayload(info)}}
	}
	for _, tt := range []struct {
		name     string
		recorded []store.Event
		live     transport.ExitStatus
		want     string
	}{
		{"both well", exited(store.ExitInfo{}), transport.ExitStatus{}, ""},
		{"otherwise", exited(store.ExitInfo{}), transport.ExitStatus{Code: 4}, "the server ended with exit status 4, and the recorded one with 0"},
		{"as recorded", exited(store.ExitInfo{Code: 4}), transport.ExitStatus{Code: 4}, ""},
		{"well, and was not", exited(store.ExitInfo{Code: 4}), transport.ExitStatus{}, ""},
		{"with another fault", exited(store.ExitInfo{Code: 4}), transport.ExitStatus{Code: 5}, "the server ended with exit status 5, and the recorded one with 4"},
		{"nobody knows how it was", nil, transport.ExitStatus{Code: 1}, "the server ended with exit status 1, and the recording does not say how its server ended"},
		{"a crash", exited(store.ExitInfo{}), transport.ExitStatus{Code: -1, Signal: syscall.SIGSEGV}, "the server ended with signal: segmentation fault, and the recorded one with 0"},
		{"was asked to end", exited(store.ExitInfo{}), transport.ExitStatus{Code: 143, Asked: true}, ""},
		{"the recorded one was asked", exited(store.ExitInfo{Code: -1, Signal: "terminated"}), transport.ExitStatus{Code: 1}, ""},
		{"the recorded one crashed, too", exited(store.ExitInfo{Code: -1, Signal: "aborted"}), transport.ExitStatus{Code: 1}, "the server ended with exit status 1, and the recorded one with signal: aborted"},
	} {
		if got := ExitFault(tt.recorded, tt.live); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}
