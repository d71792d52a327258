package retention

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/boltstore"
	"github.com/mcprec/mcprec/store/storetest"
)

var noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

// listed are sessions of different ages, newest first; one of -1 has no start.
func listed() []Session {
	session := func(id string, age time.Duration, state store.State, stored int64, label string) Session {
		s := Session{Stored: stored, Kept: isLabelled(store.Header{Label: label})}
		s.ID, s.State, s.Label = store.SessionID(id), state, label
		if age >= 0 {
			s.Start = noon.Add(-age * time.Hour)
		}
		return s
	}
	sessions := []Session{
		session("live", 30, store.Live, 10, ""),
		session("new", 1, store.Ended, 20, ""),
		session("day", 24, store.Crashed, 30, "x"),
		session("two", 48, store.Ended, 40, ""),
		session("kept", 90, store.Ended, 70, "keep"),
		session("old", 240, store.Ended, 50, ""),
		session("none", -1, store.Ended, 60, ""),
	}
	sessions[5].Head.At = 100 * time.Hour // it ended later
	return sessions
}

func TestChoose(t *testing.T) {
	hours := func(n time.Duration) *time.Duration { n *= time.Hour; return &n }
	number, size := func(n int) *int { return &n }, func(n int64) *int64 { return &n }
	for _, c := range []struct {
		limits Limits
		want   string
	}{
		{Limits{}, ""},
		{Limits{OlderThan: hours(24)}, "old age, two age"},
		{Limits{OlderThan: hours(139)}, "old age"},
		{Limits{OlderThan: hours(140)}, ""},
		{Limits{OlderThan: hours(0)}, "old age, two age, day age, new age"},
		{Limits{OlderThan: hours(0), SpareNewest: true}, "old age, two age, day age, new age"},
		{Limits{Number: number(0)}, "none number, old number, two number, day number, new number"},
		{Limits{Number: number(2)}, "none number, old number, two number, day number"},
		{Limits{Number: number(9)}, ""},
		{Limits{MaxSize: size(210)}, ""}, // what is kept is not counted
		{Limits{MaxSize: size(209)}, "none size"},
		{Limits{MaxSize: size(100)}, "none size, old size"},
		{Limits{MaxSize: size(0)}, "none size, old size, two size, day size, new size"},
		{Limits{MaxSize: size(0), SpareNewest: true}, "none size, old size, two size, day size"},
		{Limits{MaxSize: size(100), Number: number(5)}, "none number, old number"},
		{Limits{MaxSize: size(100), OlderThan: hours(24)}, "none size, old age, two age"},
	} {
		var got []string
		for _, r := range c.limits.Choose(listed(), noon, 280) {
			got = append(got, fmt.Sprint(r.ID, " ", r.Limit))
		}
		if s := strings.Join(got, ", "); s != c.want {
			t.Errorf("%+v: %s; want %s", c.limits, s, c.want)
		}
	}
}

func TestPlan(t *testing.T) {
	const day = 24 * time.Hour
	month := Budget{Age: 30 * day}
	gigabyte := Budget{Size: 1000}
	ago := func(d time.Duration) time.Time { return noon.Add(-d) }
	for _, c := range []struct {
		budget Budget
		memory Memory
		space  store.Space
		want   string
	}{
		{Budget{}, Memory{}, store.Space{Files: 1 << 40}, ""},
		{month, Memory{}, store.Space{}, "age"},
		{month, Memory{Looked: ago(2 * time.Hour), Oldest: ago(31 * day)}, store.Space{}, "age"},
		{month, Memory{Looked: ago(2 * time.Hour), Oldest: ago(29 * day)}, store.Space{}, ""},
		{month, Memory{Looked: ago(30 * time.Minute), Oldest: ago(31 * day)}, store.Space{}, ""}, // soon enough in an hour
		{month, Memory{Looked: ago(-time.Hour), Oldest: ago(29 * day)}, store.Space{}, "age"},    // the clock was set back
		{gigabyte, Memory{}, store.Space{Files: 800}, ""},
		{gigabyte, Memory{}, store.Space{Files: 801}, "size"},
		{gigabyte, Memory{}, store.Space{Files: 1000, Free: 200}, ""}, // the next sessions fill it
		{gigabyte, Memory{}, store.Space{Files: 1001, Free: 201}, "compact"},
		{gigabyte, Memory{}, store.Space{Files: 1300, Free: 200}, "size compact"},
		{gigabyte, Memory{}, store.Space{Files: 500, Spools: 60}, "fold"},
		{gigabyte, Memory{Kept: 500}, store.Space{Files: 1300}, ""},
		{gigabyte, Memory{Kept: 500}, store.Space{Files: 1301}, "size"},
	} {
		todo := c.budget.plan(noon, c.memory, c.space)
		var got []string
		for _, word := range []struct {
			is   bool
			name string
		}{{todo.age, "age"}, {todo.size, "size"}, {todo.compact, "compact"}, {todo.fold, "fold"}} {
			if word.is {
				got = append(got, word.name)
			}
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%+v %+v %+v: %v; want %s", c.budget, c.memory, c.space, got, c.want)
		}
	}
}

func TestText(t *testing.T) {
	both := Budget{Size: 2 << 30, Age: 30 * 24 * time.Hour}
	for _, c := range []struct {
		memory Memory
		want   string
	}{
		{Memory{Budget: both}, "1.0 MiB of 2.0 GiB used, sessions stay 30 days"},
		{Memory{Budget: both, Kept: 1024}, "1.0 MiB of 2.0 GiB used, 1.0 KiB of it kept apart, sessions stay 30 days"},
		{Memory{}, "off, 1.0 MiB used"},
		{Memory{Budget: Budget{Size: 1 << 20}, Last: Deletion{Budget{Size: 1 << 20}, "2026-11-20", 0, 1}}, "1.0 MiB of 1.0 MiB used, sessions of any age stay; on 2026-11-20 1 session was deleted to stay within 1.0 MiB"},
		{Memory{Budget: Budget{Age: time.Hour}, Last: Deletion{Budget{Age: time.Hour}, "2026-11-20", 12, 0}}, "1.0 MiB used, sessions stay 1h0m0s; on 2026-11-20 12 sessions older than 1h0m0s were deleted"},
		{Memory{Budget: both, Last: Deletion{both, "2026-11-20", 12, 3}}, "1.0 MiB of 2.0 GiB used, sessions stay 30 days; on 2026-11-20 12 sessions older than 30 days, and 3 sessions to stay within 2.0 GiB, were deleted"},
	} {
		if got := c.memory.Text(1 << 20); got != c.want {
			t.Errorf("%s\nwant %s", got, c.want)
		}
	}
	day := Deletion{both, "2026-11-20", 1, 0}
	for _, c := range []struct{ more, want Deletion }{
		{Deletion{both, "2026-11-20", 2, 3}, Deletion{both, "2026-11-20", 3, 3}},
		{Deletion{both, "2026-11-21", 0, 3}, Deletion{both, "2026-11-21", 0, 3}},
		{Deletion{Budget{Size: 1}, "2026-11-20", 0, 3}, Deletion{Budget{Size: 1}, "2026-11-20", 0, 3}},
		{Deletion{both, "2026-11-21", 0, 0}, day},
	} {
		if got := day.plus(c.more); got != c.want {
			t.Errorf("%+v: %+v", c.more, got)
		}
	}
}

// storing adds a session that ended at a time to a store.
func storing(t *testing.T, db *boltstore.Store, n int, end time.Time, size int, label string) store.SessionID {
	t.Helper()
	at := end.UnixMilli()
	id := store.SessionID(fmt.Sprintf("%08x-%04x-7000-8000-%012x", at>>16, at&0xffff, n))
	payload := make([]byte, size)
	for i := range payload { // that does not compress
		payload[i] = byte((i*i*31 + i*7 + n*13) >> (i % 7))
	}
	events := []store.Event{
		{Seq: 1, Kind: store.Opened, Payload: store.Header{ID: id, Start: end, Label: label}.Encode()},
		{Seq: 2, Kind: store.Frame, Payload: payload},
		{Seq: 3, Kind: store.Closed, Payload: []byte("{}")},
	}
	if _, err := db.Append(t.Context(), id, 0, events); err != nil {
		t.Fatal(err)
	}
	return id
}

// TestMonth records 150 sessions over three months (10,000 in make night), 16 hours from one to
// the next, and has the budget enforced after each: the files stay within it all the time, the
// newest sessions and the kept one are there, and no session is too old.
func TestMonth(t *testing.T) {
	db, err := boltstore.Open(t.TempDir(), boltstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	count := 150
	if storetest.Night() {
		count = 10_000
	}
	budget := Budget{Size: int64(count) * 7000, Age: 20 * 24 * time.Hour}
	now := time.Date(2026, 10, 25, 0, 0, 0, 0, time.UTC)
	var gone Deletion
	var peak int64
	for n := range count {
		now = now.Add(8 * time.Hour * 300 / time.Duration(count))
		label := ""
		if n == 0 {
			label = KeepLabel
		}
		size := 1000 + n%7*1000
		if n > count/2 { // as when a large server is wrapped, too
			size *= 20
		}
		storing(t, db, n, now, size, label)
		deleted, first, err := budget.Enforce(t.Context(), db, now, 0)
		if err != nil {
			t.Fatal(err)
		}
		if isFirst := gone.ByAge+gone.BySize == 0; first != isFirst {
			t.Errorf("session %d: the first deletion: %v, want %v", n, first, isFirst)
		}
		gone.ByAge += deleted.ByAge
		gone.BySize += deleted.BySize
		space, err := db.Space(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		peak = max(peak, space.Files)
		if space.Files > budget.Size+8<<10 { // and what the kept session takes
			t.Errorf("session %d: the files have %d bytes", n, space.Files)
		}
	}
	sessions, _, err := List(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	for i, s := range sessions {
		isKept := i == len(sessions)-1
		if s.Kept != isKept || !isKept && now.Sub(endOf(s)) > budget.Age {
			t.Errorf("session %d of %d: kept: %v, ended: %v", i, len(sessions), s.Kept, endOf(s))
		}
	}
	if len(sessions)+gone.ByAge+gone.BySize != count || len(sessions) < 10 || gone.ByAge == 0 || gone.BySize == 0 {
		t.Errorf("%d sessions are left; deleted: %+v", len(sessions), gone)
	}
	memory, err := Recall(db.Info().Location)
	if err != nil || memory.Budget != budget || memory.Last.Day == "" || memory.Kept == 0 {
		t.Errorf("remembered: %+v, %v", memory, err)
	}
	storetest.Tell(t, "months of short sessions", count, "the files stay within the limit, the newest sessions and the kept one are there")
	t.Logf("%d sessions are left, deleted: %+v, the files took at most %d bytes", len(sessions), gone, peak)
}

// TestLargest: a session that is larger than the budget stays until a newer one has ended.
func TestLargest(t *testing.T) {
	db, err := boltstore.Open(t.TempDir(), boltstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	budget := Budget{Size: 100_000}
	for n, want := range []string{"0", "1", "2"} {
		storing(t, db, n, noon.Add(time.Duration(n)*time.Minute), 1_000_000, "")
		if _, _, err := budget.Enforce(t.Context(), db, noon.Add(time.Hour), 0); err != nil {
			t.Fatal(err)
		}
		sessions, space, err := List(t.Context(), db)
		if err != nil || len(sessions) != 1 || !strings.HasSuffix(string(sessions[0].ID), want) || space.Files > 1_500_000 {
			t.Errorf("after session %d: %d sessions, %+v, %v", n, len(sessions), space, err)
		}
	}
}

// TestKept: neither age nor size removes what Keep names, and Forget ends it.
func TestKept(t *testing.T) {
	db, err := boltstore.Open(t.TempDir(), boltstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	dir := db.Info().Location
	id := storing(t, db, 1, noon, 100_000, "")
	storing(t, db, 2, noon.Add(time.Minute), 100, "")
	if err := Keep(dir, id, false); err != nil {
		t.Fatal(err)
	}
	later := noon.Add(1000 * time.Hour)
	deletedBy := func(budget Budget) int {
		gone, _, err := budget.Enforce(t.Context(), db, later, 0)
		if err != nil {
			t.Fatal(err)
		}
		return gone.ByAge + gone.BySize
	}
	if n := deletedBy(Budget{Size: 1, Age: time.Hour}); n != 1 {
		t.Errorf("%d sessions went beside the kept one", n)
	}
	if err := Keep(dir, id, true); err != nil {
		t.Fatal(err)
	}
	later = later.Add(2 * time.Hour)
	if n := deletedBy(Budget{Age: time.Hour}); n != 1 {
		t.Errorf("%d sessions went when it was no longer kept", n)
	}
	if err := Keep(dir, id, false); err != nil {
		t.Fatal(err)
	}
	Forget(dir, id)
	if kept, err := keptIDs(dir); err != nil || len(kept) > 0 {
		t.Errorf("kept: %v, %v", kept, err)
	}
}

// TestOneAtATime: while one recorder is at it, the others neither wait nor delete.
func TestOneAtATime(t *testing.T) {
	dir := t.TempDir()
	db, err := boltstore.Open(dir, boltstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	storing(t, db, 1, noon, 100, "")
	_, err = db.Alone(t.Context(), func(ctx context.Context) error {
		gone, _, err := Budget{Age: time.Hour}.Enforce(ctx, db, noon.Add(2*time.Hour), 0)
		if gone.ByAge > 0 {
			t.Errorf("deleted meanwhile: %+v", gone)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir + "/budget.json"); err == nil {
		t.Error("what the other does is written down")
	}
}

// TestPatience: a call whose time is up leaves the rest to the next ones, which do it.
func TestPatience(t *testing.T) {
	db, err := boltstore.Open(t.TempDir(), boltstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for n := range 2*deleteStep + 1 {
		storing(t, db, n, noon, 10, "")
	}
	var steps []int
	for range 4 {
		gone, _, err := Budget{Age: time.Hour}.Enforce(t.Context(), db, noon.Add(2*time.Hour), 1)
		if err != nil {
			t.Fatal(err)
		}
		steps = append(steps, gone.ByAge)
	}
	if want := []int{deleteStep, deleteStep, 1, 0}; !slices.Equal(steps, want) {
		t.Errorf("sessions went %v, want %v", steps, want)
	}
}

// failing is a store of which one operation fails.
type failing struct {
	*boltstore.Store
	operation string
}

var errDisk = errors.New("the disk is gone")

func (f failing) fault(operation string) error {
	if f.operation == operation {
		return errDisk
	}
	return nil
}

func (f failing) Space(ctx context.Context) (store.Space, error) {
	space, err := f.Store.Space(ctx)
	return space, errors.Join(err, f.fault("space"))
}

func (f failing) FoldDead(ctx context.Context) error {
	return errors.Join(f.Store.FoldDead(ctx), f.fault("fold"))
}

func (f failing) Usage(ctx context.Context) (store.Usage, error) {
	usage, err := f.Store.Usage(ctx)
	return usage, errors.Join(err, f.fault("usage"))
}

func (f failing) Sessions(ctx context.Context, query store.Query) iter.Seq2[store.Session, error] {
	return func(yield func(store.Session, error) bool) {
		for s, err := range f.Store.Sessions(ctx, query) {
			if !yield(s, err) {
				return
			}
		}
		if err := f.fault("sessions"); err != nil {
			yield(store.Session{}, err)
		}
	}
}

func (f failing) DeleteAll(ctx context.Context, ids []store.SessionID, removed func(store.SessionID)) error {
	if err := f.fault("delete"); err != nil {
		return err
	}
	return f.Store.DeleteAll(ctx, ids, removed)
}

func (f failing) Compact(ctx context.Context, least float64, report func(store.Compacted)) error {
	return errors.Join(f.Store.Compact(ctx, least, report), f.fault("compact"))
}

// TestEnforceFails: what fails is told, and nothing is deleted while a part of the store, or what is kept,
// cannot be read. What was deleted before is remembered.
func TestEnforceFails(t *testing.T) {
	for operation, deleted := range map[string]int{"": 3, "space": 0, "fold": 0, "usage": 0, "sessions": 0, "delete": 0, "compact": 3, "kept": 0, "limit": 0} {
		db, err := boltstore.Open(t.TempDir(), boltstore.Options{Sync: boltstore.SyncNone})
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		for n := range 4 {
			storing(t, db, n, noon.Add(time.Duration(n)*time.Minute), 1000, "")
		}
		dir := db.Info().Location
		switch operation {
		case "kept": // the folder is a file
			err = os.WriteFile(filepath.Join(dir, "keep"), nil, 0o600)
		case "limit": // the file is a folder
			err = os.Mkdir(filepath.Join(dir, memoryName), 0o700)
		}
		if err != nil {
			t.Fatal(err)
		}
		gone, first, err := Budget{Size: 1}.Enforce(t.Context(), failing{db, operation}, noon.Add(time.Hour), 0)
		isTold := err != nil && strings.HasPrefix(err.Error(), "keep the limit of the store: ")
		if isTold != (operation != "") || errors.Is(err, errDisk) != (operation != "" && operation != "kept" && operation != "limit") {
			t.Errorf("%s: %v", operation, err)
		}
		if gone.BySize != deleted || !first && operation != "limit" {
			t.Errorf("%s: %+v deleted, first %v", operation, gone, first)
		}
		if memory, err := Recall(dir); operation != "limit" && (err != nil || memory.Last.BySize != deleted || memory.Size != 1) {
			t.Errorf("%s: remembered %+v, %v", operation, memory, err)
		}
		left := 0
		for _, err := range db.Sessions(t.Context(), store.Query{}) {
			if err != nil {
				t.Fatal(err)
			}
			left++
		}
		if left != 4-deleted {
			t.Errorf("%s: %d sessions are left", operation, left)
		}
	}
}

// TestRecall: a file whose content cannot be read is taken as forgotten, and without a folder nothing is remembered.
func TestRecall(t *testing.T) {
	dir := t.TempDir()
	for _, text := range []string{"", `{"size":`, `{"size":5,"kept":"x"}`} {
		if err := os.WriteFile(filepath.Join(dir, memoryName), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if memory, err := Recall(dir); err != nil || memory != (Memory{}) {
			t.Errorf("%s: %+v, %v", text, memory, err)
		}
	}
	if memory, err := Recall(""); err != nil || memory != (Memory{}) {
		t.Errorf("no folder: %+v, %v", memory, err)
	}
}

// TestReplace: what is put in the place of a kept session is kept, and the removed one is not.
func TestReplace(t *testing.T) {
	dir := t.TempDir()
	for _, id := range []store.SessionID{"a", "b"} {
		if err := Keep(dir, id, false); err != nil {
			t.Fatal(err)
		}
	}
	Replace(dir, "a", "c")
	Replace(dir, "x", "y")
	kept, err := Kept(dir)
	if err != nil {
		t.Fatal(err)
	}
	for id, want := range map[store.SessionID]bool{"a": false, "b": true, "c": true, "y": false} {
		s := store.Session{}
		if s.ID = id; kept(s) != want {
			t.Errorf("%s is kept: %v", id, !want)
		}
	}
	if err := Keep(dir, "a", true); err != nil {
		t.Errorf("not to keep what is not kept: %v", err)
	}
	if err := Keep("", "a", false); err != nil {
		t.Errorf("a store without a folder: %v", err)
	}
	file := filepath.Join(t.TempDir(), "keep")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, off := range []bool{false, true} {
		if err := Keep(filepath.Dir(file), "a", off); err == nil {
			t.Errorf("a file is in the place of the folder, off %v: no error", off)
		}
	}
}
