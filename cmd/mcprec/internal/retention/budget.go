package retention

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/cli"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/output"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport/phrase"
)

// Budget is how much a store may hold, and for how long.
type Budget struct {
	Size int64         `json:"size"`   // bytes of its files; 0: any
	Age  time.Duration `json:"age_ns"` // since a session ended; 0: any
}

// The shares of a budget's size. Sessions are deleted when what the store holds reaches more than
// the high mark, until it is at the low one. The rest is room for free pages that are too small for
// what comes, and for spools that wait, so that hardly any database must be written anew.
const (
	highMark = 0.8
	lowMark  = 0.7
	freeMark = 0.1 // of the size: less free space is not worth a new file
	foldMark = 0.05
)

// Deletion is what a budget deleted on one day.
type Deletion struct {
	Budget
	Day    string `json:"day"` // local, as 2006-01-02; "": nothing was ever deleted
	ByAge  int    `json:"by_age"`
	BySize int    `json:"by_size"`
}

// Memory is what a store remembers of its budget: the file budget.json.
type Memory struct {
	Budget
	Looked time.Time `json:"looked"` // when the ends of all sessions were last seen
	Oldest time.Time `json:"oldest"` // the first of these ends
	Kept   int64     `json:"kept"`   // bytes of kept sessions then, which the budget leaves out
	Last   Deletion  `json:"last"`
}

// task is what a budget asks for now.
type task struct {
	age     bool // sessions may be too old
	size    bool // the sessions take too much
	compact bool // the files are too large, and compacting makes them smaller
	fold    bool // dead recorders may have left many spools, which are larger than in a database
}

// plan returns what the budget asks for. Looking at every session for its age takes time, so that
// is due when the oldest can have come of age, and at most 720 times in that time.
func (b Budget) plan(now time.Time, memory Memory, space store.Space) (todo task) {
	if b.Age > 0 {
		soonest := memory.Looked.Add(b.Age / 720)
		todo.age = memory.Looked.After(now) || now.After(soonest) && now.After(memory.Oldest.Add(b.Age))
	}
	if b.Size > 0 {
		files := space.Files - memory.Kept
		todo.size = files-space.Free > share(b.Size, highMark)
		todo.fold = space.Spools > share(b.Size, foldMark)
		todo.compact = files > b.Size && space.Free > share(b.Size, freeMark)
	}
	return todo
}

func share(size int64, mark float64) int64 { return int64(float64(size) * mark) }

// Store is a store that can be kept within a budget, as boltstore.Store is.
type Store interface {
	store.Store
	DeleteAll(ctx context.Context, ids []store.SessionID, removed func(store.SessionID)) error
	Compact(ctx context.Context, least float64, report func(store.Compacted)) error
	Alone(ctx context.Context, f func(context.Context) error) (ran bool, err error)
	Space(ctx context.Context) (store.Space, error)
	Usage(ctx context.Context) (store.Usage, error)
	FoldDead(ctx context.Context) error
}

// Enforce deletes the sessions beyond the budget, oldest first, and returns what it deleted. If
// another process is at it, Enforce leaves the work to it. first tells that nothing had ever been
// deleted in this store. An unreadable part of the store may hold what is to stay, so nothing is
// deleted then. After patience (0: any time) Enforce leaves the rest of the deleting to a later
// call, as does a call that is interrupted.
func (b Budget) Enforce(ctx context.Context, db Store, now time.Time, patience time.Duration) (gone Deletion, first bool, err error) {
	t := &tidying{budget: b, db: db, now: now, patience: patience, begun: time.Now()}
	t.gone = Deletion{Budget: b, Day: now.Local().Format(time.DateOnly)}
	_, err = db.Alone(ctx, func(ctx context.Context) error {
		before, err := Recall(db.Info().Location)
		if err != nil {
			return err
		}
		first = before.Last.Day == ""
		t.memory = before
		t.memory.Budget = b
		fault := t.work(ctx)
		t.memory.Last = before.Last.plus(t.gone)
		if t.memory != before {
			fault = errors.Join(fault, t.memory.keep(db.Info().Location))
		}
		return fault
	})
	if err != nil {
		err = fmt.Errorf("keep the limit of the store: %w", err)
	}
	return t.gone, first, err
}

// tidying is one call of Enforce, while no other process is at it.
type tidying struct {
	budget   Budget
	db       Store
	now      time.Time
	patience time.Duration
	begun    time.Time
	memory   Memory
	gone     Deletion
}

func (t *tidying) isTimeUp() bool { return t.patience > 0 && time.Since(t.begun) > t.patience }

// mostRounds is how often a call deletes and measures again: what a deletion gives back is only
// known afterwards.
const mostRounds = 4

// work does what the budget asks for.
func (t *tidying) work(ctx context.Context) error {
	for range mostRounds {
		space, err := t.db.Space(ctx)
		if err != nil {
			return err
		}
		todo := t.budget.plan(t.now, t.memory, space)
		if todo != (task{}) {
			if err := t.db.FoldDead(ctx); err != nil {
				return err
			}
			if space, err = t.db.Space(ctx); err != nil {
				return err
			}
			todo = t.budget.plan(t.now, t.memory, space)
		}
		deleted := 0
		if todo.age || todo.size {
			deleted, err = t.delete(ctx, todo)
			if err != nil {
				return err
			}
		}
		switch {
		case deleted > 0 && t.isTimeUp():
			return nil
		case deleted > 0: // look again
		case todo.compact:
			return t.db.Compact(ctx, freeMark, func(store.Compacted) {})
		default:
			return nil
		}
	}
	return nil
}

// deleteStep is how many sessions are deleted in a transaction, for whose time other recorders
// cannot move their sessions into the same database.
const deleteStep = 100

// delete deletes the sessions that the task is about, as far as the time allows.
func (t *tidying) delete(ctx context.Context, todo task) (deleted int, err error) {
	sessions, space, err := List(ctx, t.db)
	if err != nil {
		return 0, err
	}
	limits := Limits{SpareNewest: true}
	if todo.age {
		limits.OlderThan = &t.budget.Age
	}
	if todo.size {
		most := share(t.budget.Size, lowMark)
		limits.MaxSize = &most
	}
	removals := limits.Choose(sessions, t.now, space.Files-space.Free)
	why := map[store.SessionID]string{}
	for _, r := range removals {
		why[r.ID] = r.Limit
	}
	for step := range slices.Chunk(removals, deleteStep) {
		ids := make([]store.SessionID, len(step))
		for i, r := range step {
			ids[i] = r.ID
		}
		err := t.db.DeleteAll(ctx, ids, func(id store.SessionID) {
			deleted++
			if why[id] == "age" {
				t.gone.ByAge++
			} else {
				t.gone.BySize++
			}
			Forget(t.db.Info().Location, id)
		})
		if err != nil || t.isTimeUp() {
			return deleted, err
		}
	}
	t.memory.Looked = t.now
	t.memory.Oldest = t.now // sessions that end later come of age later
	t.memory.Kept = 0
	for _, s := range sessions {
		_, isGone := why[s.ID]
		switch {
		case s.Kept:
			t.memory.Kept += s.Stored
		case !isGone && s.State != store.Live && !s.Start.IsZero() && endOf(s).Before(t.memory.Oldest):
			t.memory.Oldest = endOf(s)
		}
	}
	return deleted, nil
}

// List returns the sessions of a store, newest first, and the space that the store takes. If a part of the
// store cannot be read, there is an error and no list.
func List(ctx context.Context, db Store) (sessions []Session, space store.Space, err error) {
	usage, err := db.Usage(ctx)
	if err != nil {
		return nil, space, err
	}
	space.Files = usage.Size()
	for _, d := range usage.Databases {
		space.Free += d.Free
	}
	kept, err := keptIDs(db.Info().Location)
	if err != nil {
		return nil, space, err
	}
	for s, fault := range db.Sessions(ctx, store.Query{Newest: true}) {
		if fault != nil {
			err = errors.Join(err, fault)
			continue
		}
		sessions = append(sessions, Session{Session: s, Stored: usage.Stored[s.ID], Kept: kept[s.ID] || isLabelled(s.Header)})
	}
	if err != nil {
		return nil, space, err
	}
	return sessions, space, nil
}

// plus adds what was deleted, if it was on the same day and under the same budget; else the count
// begins anew.
func (d Deletion) plus(more Deletion) Deletion {
	switch {
	case more.ByAge+more.BySize == 0:
		return d
	case d.Day == more.Day && d.Budget == more.Budget:
		more.ByAge += d.ByAge
		more.BySize += d.BySize
	}
	return more
}

// Text says what was deleted, without the day; "" if nothing was.
func (d Deletion) Text() string {
	verb := phrase.Agree(d.ByAge+d.BySize, " was deleted", " were deleted")
	byAge := phrase.Plural(d.ByAge, "session") + " older than " + days(d.Age)
	bySize := phrase.Plural(d.BySize, "session")
	within := " to stay within " + output.Size(d.Size)
	switch {
	case d.ByAge+d.BySize == 0:
		return ""
	case d.BySize == 0:
		return byAge + verb
	case d.ByAge == 0:
		return bySize + verb + within
	}
	return byAge + ", and " + bySize + within + "," + verb
}

// Text returns a line with the budget, the share that is used, and the last deletion.
func (m Memory) Text(used int64) string {
	size := output.Size(used) + " used"
	if m.Size > 0 {
		size = output.Size(used) + " of " + output.Size(m.Size) + " used"
	}
	if m.Kept > 0 {
		size += ", " + output.Size(m.Kept) + " of it kept apart"
	}
	age := "sessions of any age stay"
	if m.Age > 0 {
		age = "sessions stay " + days(m.Age)
	}
	text := size + ", " + age
	if m.Budget == (Budget{}) {
		text = "off, " + size
	}
	if m.Last.Day != "" {
		text += "; on " + m.Last.Day + " " + m.Last.Text()
	}
	return text
}

// days writes an age in days, where it is that.
func days(age time.Duration) string {
	const day = 24 * time.Hour
	if age%day == 0 && age > 0 {
		return phrase.Plural(int(age/day), "day")
	}
	return age.String()
}

// Recall reads what the store in dir remembers of its budget. In a store without a budget it is zero. What
// cannot be read for its content is taken as forgotten: the next recorder writes it anew.
func Recall(dir string) (memory Memory, err error) {
	if dir == "" {
		return Memory{}, nil
	}
	text, err := os.ReadFile(filepath.Join(dir, memoryName))
	if errors.Is(err, os.ErrNotExist) {
		return Memory{}, nil
	}
	if err == nil && json.Unmarshal(text, &memory) != nil {
		memory = Memory{}
	}
	return memory, err
}

const memoryName = "budget.json"

func (m Memory) keep(dir string) error {
	return cli.ReplaceFile(filepath.Join(dir, memoryName), func(w io.Writer) error { return json.NewEncoder(w).Encode(m) })
}
