package boltstore

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/storetest"
)

// night is whether the long forms of the tests are wanted: make night.
var night = storetest.Night()

// children are what the test binary does when it is started again by a test,
// with the store's folder as argument.
var children = map[string]func(dir string, n int) error{
	"write":   childWrite,
	"session": childSession,
	"disk":    childFullDisk,
	"memory":  childMemory,
}

const childVar = "BOLTSTORE_TEST_CHILD"

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

func child(t testing.TB, name, dir string, n int) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(exe, dir, fmt.Sprint(n))
	c.Env = append(os.Environ(), childVar+"="+name)
	c.Stderr = os.Stderr
	return c
}

// childWrite writes events for ever and says on standard output how far it is,
// as a tap forwards what it has written.
func childWrite(dir string, n int) error {
	s, err := Open(dir, Options{Patience: time.Hour})
	if err != nil {
		return err
	}
	p, err := s.Spool(context.Background(), opening(n))
	if err != nil {
		return err
	}
	for seq := uint64(2); ; seq++ {
		if err := p.Write(asParts([]store.Event{frameEvent(seq, 3000)})); err != nil {
			return err
		}
		if seq%7 == 0 { // folds in between, so that some kills hit them
			if _, err := s.fold(context.Background(), testID(n), p.(*spool).key, foldLimit{}); err != nil {
				return err
			}
		}
		if _, err := fmt.Println(seq); err != nil {
			return err
		}
	}
}

// TestKill kills writers in mid-write: every event that was acknowledged is
// there, whole and once.
func TestKill(t *testing.T) {
	s := testStore(t, t.TempDir())
	kills := 10
	if night {
		kills = 60
	}
	for round := range kills {
		c := child(t, "write", s.dir, round)
		out, err := c.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewReader(out)
		acked := uint64(0)
		for more := true; more; {
			line, err := lines.ReadString('\n')
			if n, perr := strconv.ParseUint(strings.TrimSpace(line), 10, 64); perr == nil && err == nil {
				acked = n
			}
			if acked == uint64(20+37*(round%10)+round) {
				if err := c.Process.Kill(); err != nil {
					t.Fatal(err)
				}
			}
			more = err == nil
		}
		_ = c.Wait()
		acknowledged(t, s, round, acked)
	}
	storetest.Validate(t, s)
	storetest.Tell(t, "kill -9 of a writer that folds all the time", kills, "every event that was acknowledged is there, whole and once")
}

// acknowledged holds what is left of a killed writer's session, at once and
// folded, against what it had said.
func acknowledged(t *testing.T, s *Store, round int, acked uint64) {
	t.Helper()
	for _, fold := range []bool{false, true} {
		if fold {
			mustFoldDead(t, s)
		}
		got, err := readAll(s, testID(round))
		if err != nil || uint64(len(got)) < acked {
			t.Fatalf("round %d: %d events of %d acknowledged, %v", round, len(got), acked, err)
		}
		for _, e := range got[1:] {
			if !e.Equal(frameEvent(e.Seq, 3000)) {
				t.Fatalf("round %d: event %d is another", round, e.Seq)
			}
		}
		if x := one(t, s, testID(round)); x.State != store.Crashed {
			t.Fatalf("round %d: state %s", round, x.State)
		}
	}
}

const childEvents = 300

// childSession records one whole session.
func childSession(dir string, n int) error {
	s, err := Open(dir, Options{Patience: time.Hour})
	if err != nil {
		return err
	}
	events := testLog(n, childEvents, 2000, true)
	p, err := s.Spool(context.Background(), events[0])
	if err != nil {
		return err
	}
	for _, e := range events[1:] {
		if err := p.Write(asParts([]store.Event{e})); err != nil {
			return err
		}
	}
	return errors.Join(p.Close(), s.Close())
}

// TestFiveProcesses records from five processes while this one lists, reads
// and folds: none waits for another and nothing is missing.
func TestFiveProcesses(t *testing.T) {
	s := testStore(t, t.TempDir())
	var writers, readers sync.WaitGroup
	stop := make(chan struct{})
	for i := range 5 {
		c := child(t, "session", s.dir, i)
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		writers.Go(func() {
			if err := c.Wait(); err != nil {
				t.Errorf("process %d: %v", i, err)
			}
		})
	}
	for range 2 {
		readers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				checkAll(t, s)
				if err := s.FoldDead(context.Background()); err != nil {
					t.Errorf("fold: %v", err)
				}
			}
		})
	}
	writers.Wait()
	close(stop)
	readers.Wait()
	for i := range 5 {
		mustRead(t, s, testID(i), testLog(i, childEvents, 2000, true))
		if x := one(t, s, testID(i)); x.State != store.Ended {
			t.Errorf("session %d: %s", i, x.State)
		}
	}
	storetest.Validate(t, s)
}

// checkAll reads what is there: always an unbroken beginning.
func checkAll(t *testing.T, s *Store) {
	for x, err := range s.Sessions(context.Background(), store.Query{}) {
		if err != nil {
			t.Errorf("sessions: %v", err)
			continue
		}
		var v store.Validator
		for e, err := range s.Read(context.Background(), x.ID, 0, store.ReadOptions{}) {
			if err == nil {
				err = v.Check(e)
			}
			if err != nil {
				t.Errorf("session %s: %v", x.ID, err)
				return
			}
		}
		if n, _ := v.Head(); n < x.Head.Seq {
			t.Errorf("session %s: listed with %d events, read %d", x.ID, x.Head.Seq, n)
		}
	}
}

// TestFullDisk records until the file may not grow: each failed Write leaves
// nothing, and what was written before is there.
func TestFullDisk(t *testing.T) {
	s := testStore(t, t.TempDir())
	c := child(t, "disk", s.dir, 1)
	var out bytes.Buffer
	c.Stdout = &out
	if err := c.Run(); err != nil {
		t.Fatal(err)
	}
	words := strings.Fields(out.String())
	if len(words) == 1 && words[0] == "skip" {
		t.Skip("no limit on files here")
	}
	if len(words) != 2 {
		t.Fatalf("the child says %q", out.String())
	}
	written, _ := strconv.Atoi(words[0])
	failed, _ := strconv.Atoi(words[1])
	if failed == 0 {
		t.Fatal("the disk was never full")
	}
	mustFoldDead(t, s)
	got, err := readAll(s, testID(1))
	if err != nil || len(got) != written {
		t.Fatalf("%d events of %d, %v", len(got), written, err)
	}
	mustVerify(t, s)
}

func childFullDisk(dir string, n int) error {
	if err := limitFiles(100 << 10); err != nil {
		fmt.Println("skip")
		return nil
	}
	s, err := Open(dir, Options{Patience: time.Hour})
	if err != nil {
		return err
	}
	p, err := s.Spool(context.Background(), opening(n))
	if err != nil {
		return err
	}
	seq, failed := uint64(2), 0
	for failed < 20 {
		// Large ones first, so that small ones still fit behind a failure.
		err := p.Write(asParts([]store.Event{frameEvent(seq, 3000>>failed), frameEvent(seq+1, 10)}))
		if err != nil {
			failed++
			continue
		}
		seq += 2
	}
	_ = p.Close() // the database does not fit either
	_, err = fmt.Println(seq-1, failed)
	return err
}

// childMemory writes and folds 64 MiB and says how much memory it took.
func childMemory(dir string, n int) error {
	s, err := Open(dir, Options{FoldBudget: time.Hour, Patience: time.Hour})
	if err != nil {
		return err
	}
	p, err := s.Spool(context.Background(), opening(n))
	if err != nil {
		return err
	}
	for seq := uint64(2); seq < 32<<10; seq++ {
		if err := p.Write(asParts([]store.Event{frameEvent(seq, 2000)})); err != nil {
			return err
		}
	}
	if err := errors.Join(p.Close(), s.FoldDead(context.Background())); err != nil {
		return err
	}
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(b)) {
		if kb, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			fmt.Println(strings.TrimSuffix(strings.TrimSpace(kb), " kB"))
		}
	}
	return nil
}
