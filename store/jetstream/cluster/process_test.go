package cluster

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/boltstore"
	"github.com/mcprec/mcprec/store/jetstream"
	"github.com/mcprec/mcprec/store/outbox"
)

// recorderEnv has a recorderTask as JSON: the test binary is a recorder then.
const recorderEnv = "MCPREC_CLUSTER_RECORDER"

// recorderTask is what a recorder process does.
type recorderTask struct {
	Folder string          // of its outbox
	URL    string          // of the shared store
	ID     store.SessionID // of its session
	Pause  time.Duration   // between two events
	Events int             // after which it seals the session and ships the rest; 0: it records until it is killed
	Size   int             // of an event
}

// runRecorder records one session, and prints the number of each event that is in its spool.
func runRecorder(text string) error {
	var task recorderTask
	if err := json.Unmarshal([]byte(text), &task); err != nil {
		return err
	}
	local, err := boltstore.Open(task.Folder, boltstore.Options{Outbox: true})
	if err != nil {
		return err
	}
	target, err := jetstream.ParseURL(task.URL)
	if err != nil {
		return err
	}
	target.Lease = lease
	o := outbox.New(local, func(ctx context.Context) (outbox.Shared, error) { return jetstream.Open(ctx, target) },
		outbox.Options{Target: target.URL(), CloseBudget: patience, Trouble: func(err error) { fmt.Fprintln(os.Stderr, "trouble:", err) }})
	r := newSession(task.ID)
	if r.spool, err = o.Spool(context.Background(), r.events[0]); err != nil {
		return err
	}
	for task.Events == 0 || len(r.events) < task.Events {
		if err := r.write(r.frame(task.Size)); err != nil {
			return err
		}
		fmt.Println(r.seq())
		time.Sleep(task.Pause)
	}
	if err := errors.Join(r.seal(), r.spool.Close()); err != nil {
		return err
	}
	fmt.Println(r.seq())
	return o.Close()
}

// startRecorder starts a recorder process. said has a value for each event that is in the spool, and
// is closed at its end.
func startRecorder(t testing.TB, task recorderTask) (process *exec.Cmd, said <-chan uint64) {
	t.Helper()
	text, err := json.Marshal(task)
	if err != nil {
		t.Fatal(err)
	}
	return startBinary(t, os.Args[0], recorderEnv, string(text))
}

// startBinary starts a test binary as something else than its tests, as a variable says.
func startBinary(t testing.TB, binary, variable, task string) (process *exec.Cmd, said <-chan uint64) {
	t.Helper()
	process = exec.Command(binary)
	process.Env = append(os.Environ(), variable+"="+task)
	process.Stderr = os.Stderr
	process.SysProcAttr = diesWithParent()
	out, err := process.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	numbers := make(chan uint64, 1<<16)
	go func() {
		defer close(numbers)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			var seq uint64
			if _, err := fmt.Sscan(lines.Text(), &seq); err == nil {
				numbers <- seq
			}
		}
		_, _ = io.Copy(io.Discard, out)
	}()
	return process, numbers
}

// spooled reads what an outbox has of a session, as a recording.
func spooled(t testing.TB, dir string, id store.SessionID) *recording {
	t.Helper()
	local, err := boltstore.Open(dir, boltstore.Options{Outbox: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = local.Close() }()
	r := &recording{id: id}
	for event, err := range local.Read(t.Context(), id, 0, store.ReadOptions{}) {
		if err != nil {
			t.Fatal(err)
		}
		event.Payload = slices.Clone(event.Payload)
		r.events = append(r.events, event)
	}
	return r
}

// TestKilledRecorder kills recorder processes at random moments, some of them with the cluster out
// of reach, and holds that a flush brings exactly the spool's events.
func TestKilledRecorder(t *testing.T) {
	t.Parallel()
	kills := 4
	if night {
		kills = 40
	}
	c := Start(t, Options{})
	url := c.URL(stream, "")
	reader := openStore(t, c.DirectURL(stream, ""))
	events := 0
	for k := range kills {
		dir := t.TempDir()
		task := recorderTask{Folder: dir, URL: url, ID: newRecording(t).id, Pause: time.Millisecond, Size: 2000}
		process, said := startRecorder(t, task)
		cut := k%3 == 2
		if cut {
			c.Nodes[0].Proxy.Cut()
		}
		var last uint64
		for range 1 + rand.IntN(400) {
			seq, ok := <-said
			if !ok {
				t.Fatal("the recorder has ended by itself")
			}
			last = seq
		}
		if err := process.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = process.Wait()
		for seq := range said {
			last = seq
		}
		c.Nodes[0].Proxy.Heal()
		want := spooled(t, dir, task.ID)
		if want.seq() < last {
			t.Fatalf("the spool has %d events, and the recorder has written %d", want.seq(), last)
		}
		events += len(want.events)
		o := openOutbox(t, dir, url, outbox.Options{HoldBack: time.Nanosecond})
		flush(t, o, outbox.Freed)
		compare(t, reader, want)
		_ = o.Close()
	}
	tell(t, "SIGKILL of a recorder, then a flush", kills, fmt.Sprintf("exactly the %d events of the spools arrive, once", events))
}
