package cluster

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/share/push"
)

// killNodes kills nodes with SIGKILL, two times of three the leader of the chunks, and starts them
// again. It waits for stored, which tells how much has been stored so far, to grow between two kills.
func killNodes(t *testing.T, c *Cluster, kills int, stored func() int64) {
	t.Helper()
	grows := func() {
		t.Helper()
		before := stored()
		wait(t, "events are stored again", func() error {
			if stored() == before {
				return errors.New("none")
			}
			return nil
		})
	}
	for k := range kills {
		grows()
		victim := c.Nodes[rand.IntN(len(c.Nodes))]
		if k%3 != 2 {
			victim = c.Leader(name)
		}
		victim.Kill()
		if k%2 == 0 {
			grows() // the others go on without it
		}
		victim.Start()
		if k%3 == 1 {
			c.WaitCurrent(name)
		}
	}
	grows()
	c.WaitCurrent(name)
}

// TestKilledNodes kills nodes under six machines that record, push, and a pull, and holds that each event is there
// once, in the stream and in the folder.
func TestKilledNodes(t *testing.T) {
	t.Parallel()
	kills := 3
	if night {
		kills = 15
	}
	c := Start(t, Options{Nodes: 3})
	direct := shipped{openStream(t, c.DirectURL(name, ""))}
	pulled := startPull(t, c.DirectURL(name, ""))
	var pushes []*pusher
	var recorded []*recording
	for range 6 {
		p := startPush(t, t.TempDir(), c.URL(name, ""), push.Options{})
		pushes = append(pushes, p)
		recorded = append(recorded, record(t, p.db))
	}
	stored := func() (sum int64) {
		for _, p := range pushes {
			acknowledged, _ := p.Progress()
			sum += int64(acknowledged)
		}
		return sum
	}
	ctx, stop := context.WithCancel(t.Context())
	var recorders sync.WaitGroup
	for _, r := range recorded {
		recorders.Go(func() {
			for ctx.Err() == nil {
				if err := r.write(r.frame(500 + r.random.IntN(3000))); err != nil {
					t.Errorf("session %s: %v", r.id, err)
					return
				}
				time.Sleep(5 * time.Millisecond) // a busy session, and no race of the disk
			}
		})
	}
	killNodes(t, c, kills, stored)
	stop()
	recorders.Wait()
	events := 0
	for _, r := range recorded {
		r.end(t)
		events += len(r.events)
	}
	arrived(t, direct, recorded...)
	compare(t, direct, recorded...)
	arrived(t, pulled, recorded...)
	compare(t, pulled, recorded...)
	sealed(t, pulled, recorded...)
	t.Logf("%d kills: %d events of %d sessions", kills, events, len(recorded))
	tell(t, "SIGKILL of a node of three under six pushes and a pull", kills, "each event is there once, in order")
}

// TestTwoNodesDown stops two nodes of three, and holds that all is there when they are back.
func TestTwoNodesDown(t *testing.T) {
	t.Parallel()
	s := share(t, Options{Nodes: 3})
	r := s.begin(t)
	s.c.Nodes[0].Kill()
	s.c.Nodes[1].Kill()
	r.writeFrames(t, 1000, 2000)
	s.push.fails(t)
	s.c.Nodes[0].Start()
	s.c.Nodes[1].Start()
	r.end(t)
	s.hold(t, r)
	tell(t, "two nodes of three down for a while", 1, "all arrives once when they are back")
}

// process starts the program with arguments, and returns the function that kills it with SIGKILL. lines has what it
// prints on standard output.
func process(t *testing.T, m *machine, home string, args ...string) (kill func(), lines <-chan string) {
	t.Helper()
	cmd := m.command(home, append([]string{"share"}, args...)...)
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = diesWithParent()
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	said := make(chan string, 1000)
	go func() {
		defer close(said)
		for scanner := bufio.NewScanner(out); scanner.Scan(); {
			said <- scanner.Text()
		}
	}()
	kill = sync.OnceFunc(func() {
		_ = cmd.Process.Kill()
		if err := cmd.Wait(); err != nil && !errors.As(err, new(*exec.ExitError)) {
			t.Error(err)
		}
	})
	t.Cleanup(kill)
	return kill, said
}

// TestKilledPrograms kills the programs that push and that pull at random moments, while sessions are recorded, and
// holds that the last ones bring exactly what was recorded.
func TestKilledPrograms(t *testing.T) {
	t.Parallel()
	kills := 6
	if night {
		kills = 60
	}
	c := Start(t, Options{})
	m := newMachine(t)
	url := c.DirectURL(name, "")
	direct := shipped{openStream(t, url)}
	dir, into := t.TempDir(), t.TempDir()
	db := openFolder(t, dir)
	pulled := openFolder(t, into)
	var recorded []*recording
	r := record(t, db)
	pushing := func() func() { kill, _ := process(t, m, dir, "push", url, "--machine", ""); return kill }
	pulling := func() func() { kill, _ := process(t, m, into, "pull", url, "--into", into); return kill }
	killPush, killPull := pushing(), pulling()
	for k := range kills {
		arrived(t, pulled, r) // both have come as far as that
		for range 1 + rand.IntN(400) {
			r.writeFrames(t, 1, 2000)
		}
		if k%2 == 0 {
			killPush()
			killPush = pushing()
		} else {
			killPull()
			killPull = pulling()
		}
		if k%3 == 2 {
			r.end(t)
			recorded = append(recorded, r)
			r = record(t, db)
		}
	}
	r.end(t)
	recorded = append(recorded, r)
	// A push masks: what it ships is what was recorded, but for the chain of hashes nothing differs here.
	arrived(t, direct, recorded...)
	compare(t, direct, recorded...)
	arrived(t, pulled, recorded...)
	compare(t, pulled, recorded...)
	sealed(t, pulled, recorded...)
	tell(t, "SIGKILL of push and pull while sessions are recorded", kills, "exactly what was recorded arrives, once")
}

// TestFilters holds which sessions a pull brings, and that what was removed from its folder stays away.
func TestFilters(t *testing.T) {
	t.Parallel()
	c := Start(t, Options{})
	m := newMachine(t)
	url := c.DirectURL(name, "")
	openStream(t, url)
	dir := t.TempDir()
	db := openFolder(t, dir)
	for label, age := range map[string]time.Duration{"old": 100 * time.Hour, "new": time.Hour} {
		r := newRecording()
		header := store.Header{ID: r.id, Start: time.Now().Add(-age), Transport: "stdio", Label: label, Labels: map[string]string{"env": label}}
		r.events[0].Payload = header.Encode()
		if _, err := db.Append(t.Context(), r.id, 0, append(r.events, store.Event{Seq: 2, Kind: store.Closed, Payload: store.EncodePayload(store.ClosedInfo{})})); err != nil {
			t.Fatal(err)
		}
	}
	m.must(dir, "share", "push", "--once", url)
	if got := m.run(dir, "share", "status", url); got.code != 0 || !strings.Contains(got.out, ": 0 live, 0 waiting, 2 held, 0 done, 0 refused") {
		t.Errorf("status %d: %s%s", got.code, got.out, got.errs)
	}
	for _, label := range []string{"idle", "hung"} {
		r := newRecording()
		header := store.Header{ID: r.id, Start: time.Now().Add(-time.Minute), Transport: "stdio", Label: label}
		r.events[0].Payload = header.Encode()
		spool, err := db.Spool(t.Context(), r.events[0])
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = spool.Close() }()
		r.spool = spool
		if label == "hung" {
			event := r.frame(0)
			event.Payload = []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"hang"}}`)
			if err := r.write(event); err != nil {
				t.Fatal(err)
			}
		}
	}
	process(t, m, dir, "push", url)
	wait(t, "two sessions are live in the stream", func() error {
		if got := m.run(dir, "share", "status", url); strings.Count(got.out, "  live") != 2 || !strings.Contains(got.out, "live, stuck 1m") {
			return errors.New(got.out + got.errs)
		}
		return nil
	})
	labels := func(into string) string {
		var list []string
		for x, err := range openFolder(t, into).Sessions(t.Context(), store.Query{}) {
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, x.Label)
		}
		return strings.Join(list, " ")
	}
	for flags, want := range map[string]string{
		"--since 100d":        "old new hung idle",
		"--label new":         "new",
		"-l env=old":          "old",
		"-l env=old -l new":   "",
		"--since 2d -l env=x": "",
		"--since 2d":          "new hung idle",
		"--live":              "hung idle",
		"--stuck":             "hung",
	} {
		into := t.TempDir()
		m.must(into, append([]string{"share", "pull", url, "--once", "--into", into}, strings.Fields(flags)...)...)
		got := labels(into)
		if strings.Replace(got, "idle hung", "hung idle", 1) != want {
			t.Errorf("%s: %q, want %q", flags, got, want)
		}
	}
	into := t.TempDir()
	m.must(into, "share", "pull", url, "--once", "--into", into, "-l", "new")
	m.must(into, "rm", "new")
	m.must(into, "share", "pull", url, "--once", "--into", into, "-l", "new")
	if got := labels(into); got != "" {
		t.Errorf("what was removed came back: %q", got)
	}
	for _, wrong := range []string{"pull " + url, "push nats://me:hunter2@host/A.B", "pull --into x http://h", "push " + url + " more", "make", "pull --into x --since soon " + url} {
		got := m.run(into, append([]string{"share"}, strings.Fields(wrong)...)...)
		if got.code != 2 || !strings.HasPrefix(got.errs, "mcprec-share: ") || strings.Contains(got.errs, "hunter2") {
			t.Errorf("%s: exit status %d: %s", wrong, got.code, got.errs)
		}
	}
}

// TestSecretsStay holds that nothing that the rules find leaves a machine, neither in the stream nor in an entry.
func TestSecretsStay(t *testing.T) {
	t.Parallel()
	c := Start(t, Options{})
	m := newMachine(t)
	url := c.DirectURL(name, "")
	direct := shipped{openStream(t, url)}
	dir := t.TempDir()
	db := openFolder(t, dir)
	r := newRecording()
	header := store.Header{ID: r.id, Start: r.began.UTC(), Transport: "stdio", Command: []string{"server", "--token", "hunter2hunter2"},
		Masked: &store.MaskRules{Keys: []string{"team_word"}}}
	r.events[0].Payload = header.Encode()
	var err error
	if r.spool, err = db.Spool(t.Context(), r.events[0]); err != nil {
		t.Fatal(err)
	}
	event := r.frame(0)
	event.Payload = []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"arguments":{"password":"hunter2hunter2","team_word":"swordfish99","mine":"oystercatcher7"}}}`)
	if err := r.write(event); err != nil {
		t.Fatal(err)
	}
	process(t, m, dir, "push", url, "--mask-key", "mine", "--machine", "here")
	arrived(t, direct, r)
	_, js := c.Connect()
	wait(t, "the entry is there", func() error {
		found, err := js.Stream(t.Context(), name+"_META")
		if err != nil {
			return err
		}
		_, err = found.GetLastMsgForSubject(t.Context(), "mcprec.m."+string(r.id))
		return err
	})
	var all strings.Builder
	for event, err := range direct.Read(t.Context(), r.id, 1, store.ReadOptions{}) {
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintln(&all, string(event.Payload))
	}
	found, err := js.Stream(t.Context(), name+"_META")
	if err != nil {
		t.Fatal(err)
	}
	entry, err := found.GetLastMsgForSubject(t.Context(), "mcprec.m."+string(r.id))
	if err != nil {
		t.Fatal(err)
	}
	all.Write(entry.Data)
	for _, secret := range []string{"hunter2", "swordfish99", "oystercatcher7"} {
		if strings.Contains(all.String(), secret) {
			t.Errorf("%s has left the machine: %s", secret, all.String())
		}
	}
	if !strings.Contains(all.String(), `"host":"here"`) || strings.Contains(all.String(), `"masked"`) {
		t.Errorf("the header in the stream: %s", all.String())
	}
	r.end(t)
}
