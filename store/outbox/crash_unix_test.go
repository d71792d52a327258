//go:build unix

package outbox

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/boltstore"
	"github.com/mcprec/mcprec/store/storetest"
)

// children are what the test binary does when a test starts it again, with a folder and the number
// of a session as arguments.
var children = map[string]func(dir string, n int) error{"record": childRecord, "flush": childFlush}

const childVar = "OUTBOX_TEST_CHILD"

func TestMain(m *testing.M) {
	if run := children[os.Getenv(childVar)]; run != nil {
		n, _ := strconv.Atoi(os.Args[2])
		if err := run(os.Args[1], n); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// fileShared is a shared store in a folder. A claim is a lock that ends with its process, as the claim
// of a dead recorder lapses. Its calls take some time, and some answers are lost.
type fileShared struct {
	*boltstore.Store
	dir    string
	faulty bool
}

func openFileShared(dir string, faulty bool) (Shared, error) {
	s, err := boltstore.Open(filepath.Join(dir, "shared"), boltstore.Options{Patience: time.Hour})
	if err != nil {
		return nil, err
	}
	return &fileShared{s, dir, faulty}, nil
}

type fileClaim struct {
	shared *fileShared
	id     store.SessionID
	lock   *os.File
}

func (s *fileShared) Claim(ctx context.Context, id store.SessionID) (store.Claim, error) {
	f, err := os.OpenFile(filepath.Join(s.dir, string(id)+".claim"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil {
		return nil, errors.Join(store.ErrLive, f.Close())
	}
	return &fileClaim{s, id, f}, nil
}

func (c *fileClaim) Append(ctx context.Context, after uint64, events []store.Event) (store.Head, error) {
	if c.shared.faulty && rand.IntN(4) == 0 {
		return store.Head{}, errors.New("no answer")
	}
	head, err := c.shared.Append(ctx, c.id, after, events)
	if c.shared.faulty && rand.IntN(4) == 0 {
		return store.Head{}, errors.New("the answer was lost")
	}
	return head, err
}

func (c *fileClaim) Release(context.Context) error { return c.lock.Close() }

// hide masks a frame, in dependence of the frames before.
func hide(store.Header) (func(store.Event) store.Event, error) {
	frames := 0
	return func(e store.Event) store.Event {
		if e.Kind == store.Frame {
			frames++
			e.Payload = fmt.Appendf(bytes.Clone(e.Payload), " masked %d", frames)
			e.Redacted = 1
		}
		return e
	}, nil
}

func openCrashOutbox(dir string, faulty bool, uptime func() (string, time.Duration)) (*Outbox, error) {
	local, err := boltstore.Open(filepath.Join(dir, "outbox"), boltstore.Options{Outbox: true, Patience: time.Hour})
	if err != nil {
		return nil, err
	}
	open := func(context.Context) (Shared, error) { return openFileShared(dir, faulty) }
	return New(local, open, Options{Mask: hide, Uptime: uptime, Target: "the test"}), nil
}

// childRecord records for ever, and says how far it is.
func childRecord(dir string, n int) error {
	o, err := openCrashOutbox(dir, true, nil)
	if err != nil {
		return err
	}
	events := testLog(n, 1, false)
	p, err := o.Spool(context.Background(), events[0])
	if err != nil {
		return err
	}
	for seq := uint64(2); ; seq++ {
		e := store.Event{Seq: seq, At: time.Duration(seq), Kind: store.Frame, Dir: 1, Payload: fmt.Appendf(nil, `{"n":%d,"fill":"%0*d"}`, seq, 50+seq%2000, 0)}
		if err := p.Write(asParts([]store.Event{e})); err != nil {
			return err
		}
		if seq%5 == 0 {
			time.Sleep(time.Millisecond)
		}
		if _, err := fmt.Println(seq); err != nil {
			return err
		}
	}
}

// childFlush flushes, and says when it has begun.
func childFlush(dir string, n int) error {
	o, err := openCrashOutbox(dir, true, nil)
	if err != nil {
		return err
	}
	if _, err := fmt.Println(1); err != nil {
		return err
	}
	return errors.Join(o.Flush(context.Background(), func(Flushed) {}), o.Close())
}

// killed starts a child, kills it after it has said so many numbers and another while, and returns the
// last number.
func killed(t *testing.T, name, dir string, n, numbers int, wait time.Duration) (last uint64) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(exe, dir, strconv.Itoa(n))
	c.Env = append(os.Environ(), childVar+"="+name)
	c.Stderr = os.Stderr
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(out)
	for count := 0; ; {
		line, err := lines.ReadString('\n')
		if err != nil {
			break
		}
		if last, err = strconv.ParseUint(strings.TrimSpace(line), 10, 64); err != nil {
			t.Errorf("%s says %q", name, line)
		}
		if count++; count == numbers {
			time.AfterFunc(wait, func() { _ = c.Process.Kill() })
		}
	}
	_ = c.Wait()
	return last
}

// TestKill kills recorders, and flushes of what they left, at random moments: after a whole flush the
// shared store has exactly the events of the spools, once and in order, and then the spools go.
func TestKill(t *testing.T) {
	kills := 6
	if storetest.Night() {
		kills = 120
	}
	dir := t.TempDir()
	tried := 0
	for round := range kills {
		acked := killed(t, "record", dir, round, 1+rand.IntN(1500), time.Duration(rand.IntN(3000))*time.Microsecond)
		tried++
		for rand.IntN(2) == 0 {
			killed(t, "flush", dir, round, 1, time.Duration(rand.IntN(60))*time.Millisecond)
			tried++
		}
		if round%3 == 2 || round == kills-1 { // the others wait for a later flush
			arrived(t, dir, round, acked)
		}
	}
	shared, err := openFileShared(dir, false)
	if err != nil {
		t.Fatal(err)
	}
	storetest.Validate(t, shared)
	n := 0
	for range shared.Sessions(t.Context(), store.Query{}) {
		n++
	}
	if n != kills {
		t.Errorf("%d sessions arrived, of %d", n, kills)
	}
	storetest.Tell(t, "kill -9 of recorders and flushes of an outbox", tried, "every event of the spools is in the shared store, once and in order")
}

// arrived flushes the outbox, compares the shared store with the spools, and frees them.
func arrived(t *testing.T, dir string, newest int, acked uint64) {
	t.Helper()
	uptime := time.Duration(0)
	o, err := openCrashOutbox(dir, false, func() (string, time.Duration) {
		uptime += time.Hour // the hold-back is over at each look
		return "test", uptime
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { mustClose(t, o) }()
	want := map[store.SessionID][]store.Event{}
	for x, err := range o.Sessions(t.Context(), store.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		mask, _ := hide(x.Header)
		for e, err := range o.Read(t.Context(), x.ID, 1, store.ReadOptions{}) {
			if err != nil {
				t.Fatal(err)
			}
			want[x.ID] = append(want[x.ID], mask(e))
		}
	}
	if got := uint64(len(want[testID(newest)])); got < acked {
		t.Errorf("the spool has %d events, and the recorder was at %d", got, acked)
	}
	found, err := flushAll(t, o)
	if err != nil {
		t.Fatal(err)
	}
	shared, err := openFileShared(dir, false)
	if err != nil {
		t.Fatal(err)
	}
	for id, events := range want {
		if got := found[id]; got.Fate != Sent && got.Fate != Freed || got.Err != nil {
			t.Errorf("flushed %+v", got)
		}
		wantShared(t, shared, id, events)
	}
	if found, err = flushAll(t, o); err != nil {
		t.Fatal(err)
	}
	for id, got := range found {
		if got.Fate != Freed || got.Err != nil {
			t.Errorf("session %s: %+v", id, got)
		}
	}
	if left, err := flushAll(t, o); err != nil || len(left) > 0 {
		t.Errorf("still here: %+v, %v", left, err)
	}
}
