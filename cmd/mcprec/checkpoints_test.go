package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/process"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/session"
	"github.com/mcprec/mcprec/replay/checkpoint"
	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/boltstore"
	"github.com/mcprec/mcprec/store/jsonl"
	"github.com/mcprec/mcprec/transport"
)

const longID = "0190aaaa-0000-7000-8000-0000000000fd"

// longSession puts a session of n frames into a store of the test's own, where some
// calls stay open, and returns its events.
func longSession(t *testing.T, n int) []store.Event {
	t.Helper()
	home := t.TempDir()
	t.Setenv("MCPREC_HOME", home)
	events := []store.Event{{Seq: 1, Kind: store.Opened, Payload: store.Header{ID: longID, Transport: "stdio"}.Encode()}}
	for i := range n {
		e := store.Event{Seq: uint64(i + 2), At: 1000, Kind: store.Frame, Dir: transport.ClientToServer}
		e.Payload = fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"t%d"}}`, i/2, i%7)
		if i%2 == 1 {
			e.Dir, e.Payload = transport.ServerToClient, fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"result":{}}`, i/2-i%999/990)
		}
		events = append(events, e)
	}
	return events
}

// ask runs a command in this process and returns all that it says.
func ask(t *testing.T, args ...string) string {
	t.Helper()
	root := newRoot(process.Streams{})
	var out bytes.Buffer
	root.SetArgs(args)
	root.SetOut(&out)
	root.SetErr(&out)
	if err := root.ExecuteContext(t.Context()); err != nil {
		t.Fatalf("mcprec %q: %v\n%s", args, err, out.String())
	}
	return out.String()
}

// questions are asked of one long session: what they answer must not depend on what is
// in the cache.
var questions = [][]string{
	{"state", "--at", "9000"}, {"state", "--format", "json"}, {"state", "--at", "5000", "--diff", "9001"}, {"state", "--at", "1us"},
	{"show", "--from", "8190", "-n", "20"}, {"show", "--from", "9990"}, {"tail", "-n", "3"}, {"show", "--from", "20000"},
}

func answers(t *testing.T) (all string) {
	for _, q := range questions {
		said, _, _ := strings.Cut(ask(t, append(q, longID)...), "mcprec: session "+longID+" ends without being closed") // of a fixture nobody knows why
		all += fmt.Sprintln(q) + said
	}
	return all
}

// TestCache: the answers are those of a fold from the start, whatever is in the cache:
// nothing, all, what is torn, damaged, of another program, or of another session.
func TestCache(t *testing.T) {
	events := longSession(t, 10_000)
	db, err := boltstore.Open(os.Getenv("MCPREC_HOME"), boltstore.Options{})
	if err == nil {
		_, err = session.Save(context.Background(), db, events)
	}
	if err != nil {
		t.Fatal(err)
	}
	c := checkpoints{db: db, id: longID}
	want := fromFixture(t, events)
	compare := func(when string) {
		t.Helper()
		if got := answers(t); got != want {
			t.Errorf("%s:\n%s\nwant\n%s", when, got, want)
		}
	}
	compare("with nothing")
	image, err := os.ReadFile(c.path())
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(c.path())
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	compare("with all")
	other := bytes.Replace(events[5000].Payload, []byte("t"), []byte("u"), 1)
	for when, b := range map[string][]byte{
		"torn":                    image[:len(image)/2],
		"damaged":                 append(bytes.Clone(image[:len(image)-9]), image[len(image)-8:]...),
		"another program":         bytes.Replace(image, []byte(version()), []byte("0"+version()[1:]), 1),
		"empty":                   {},
		"another session":         imageOf(t, append(append(events[:5000:5000], store.Event{Seq: 5001, At: 1000, Kind: store.Frame, Dir: 1, Payload: other}), events[5001:]...), 0),
		"a longer one of another": imageOf(t, events[:8500], 8192),
		"longer":                  imageOf(t, append(events[:len(events):len(events)], moreOf(events, 9000)...), 0),
	} {
		if err := os.WriteFile(c.path(), b, 0o600); err != nil {
			t.Fatal(err)
		}
		compare(when)
	}
	ask(t, "rm", longID)
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(c.path()), "*")); len(left) > 0 {
		t.Errorf("rm leaves %q", left)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

// moreOf returns events behind the last.
func moreOf(events []store.Event, n int) (more []store.Event) {
	for i := range n {
		more = append(more, store.Event{Seq: uint64(len(events) + i + 1), At: 1000, Kind: store.Frame, Dir: 1, Payload: []byte(`{"method":"notifications/x"}`)})
	}
	return more
}

// imageOf returns the checkpoints of other events, the event at one of which is another.
func imageOf(t *testing.T, events []store.Event, change int) []byte {
	t.Helper()
	if change > 0 {
		events = append([]store.Event(nil), events...)
		events[change-1].Payload = []byte(`{"method":"notifications/x"}`)
	}
	return imageBytes(t, events)
}

// imageBytes returns the checkpoints of a log as they are kept.
func imageBytes(t *testing.T, events []store.Event) []byte {
	t.Helper()
	d, err := (&session.Home{}).Masker(nil)
	if err != nil {
		t.Fatal(err)
	}
	var log store.Head
	for _, e := range events {
		log.Seq, log.Chain = e.Seq, store.NextChain(log.Chain, e)
	}
	f := checkpoint.New()
	if err := timeline.Project(d.Events(jsonl.Each(events)), f); err != nil {
		t.Fatal(err)
	}
	return f.Image().Bytes(longID, checkpoints{masker: d}.made(), log)
}

// fromFixture asks the same of a fixture with these events, for which nothing is cached.
func fromFixture(t *testing.T, events []store.Event) (all string) {
	path := filepath.Join(t.TempDir(), "long.jsonl")
	writeEvents(t, path, events)
	for _, q := range questions {
		all += fmt.Sprintln(q) + strings.ReplaceAll(ask(t, append(q, path)...), path, "session "+longID)
	}
	return all
}

// TestCacheMade: the first question about a session that was imported makes its
// checkpoints.
func TestCacheMade(t *testing.T) {
	events := longSession(t, 9000)
	path := filepath.Join(t.TempDir(), "long.jsonl")
	writeEvents(t, path, events)
	ask(t, "import", path)
	ask(t, "state")
	kept, err := os.ReadFile(filepath.Join(os.Getenv("MCPREC_HOME"), "cache", longID+".points"))
	if want := imageBytes(t, events); err != nil || !bytes.Equal(kept, want) {
		t.Errorf("%d bytes of %d, %v", len(kept), len(want), err)
	}
}

func writeEvents(t *testing.T, path string, events []store.Event) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	err = session.Encode(f, jsonl.Each(events))
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
}
