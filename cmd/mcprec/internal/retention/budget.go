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

	"github.com/mcprec/mcprec/cmd/mcprec/internal/outfile"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/terminal"
	"github.com/mcprec/mcprec/replay/phrase"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/boltstore"
)

// Budget is how much a store may hold, and for how long.
type Budget struct {
	Size int64         `json:"size"`   // bytes of its files; 0: any
	Age  time.Duration `json:"age_ns"` // since a session ended; 0: any
}

// The shares of a budget's size. Sessions are deleted when what the store holds reaches more than
// the high mark, until it is at the low one; the rest is room for databases to be uneven in.
const (
	highMark = 0.9
	lowMark  = 0.8
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
func (b Budget) plan(now time.Time, memory Memory, space boltstore.Space) (todo task) {
	if b.Age > 0 {
		soonest := memory.Looked.Add(b.Age / 720)
		todo.age = memory.Looked.After(now) || now.After(soonest) && now.After(memory.Oldest.Add(b.Age))
	}
	if b.Size > 0 {
		files := space.Files - memory.Kept
		todo.size = files-space.Free > share(b.Size, highMark)
		todo.fold = space.Spools > share(b.Size, (1-highMark)/2)
		todo.compact = files > b.Size && space.Free > share(b.Size, 1-highMark)
	}
	return todo
}

func share(size int64, mark float64) int64 { return int64(float64(size) * mark) }

// Enforce deletes the sessions beyond the budget, oldest first, and returns what it deleted. If
// another process is at it, Enforce leaves the work to it. first tells that nothing had ever been
// deleted in this store. An unreadable part of the store may hold what is to stay, so nothing is
// deleted then. An interrupted call has deleted some of the sessions.
func (b Budget) Enforce(ctx context.Context, db *boltstore.Store, now time.Time) (gone Deletion, first bool, err error) {
	_, err = db.Alone(ctx, func(ctx context.Context) error {
		memory, err := Recall(db.Info().Location)
		if err != nil {
			return err
		}
		before := memory
		gone.Budget = b
		gone.Day = now.Local().Format(time.DateOnly)
		first = memory.Last.Day == ""
		memory.Budget = b
		fault := b.work(ctx, db, now, &memory, &gone)
		memory.Last = memory.Last.plus(gone)
		if memory != before {
			fault = errors.Join(fault, memory.keep(db.Info().Location))
		}
		return fault
	})
	if err != nil {
		err = fmt.Errorf("keep the budget of the store: %w", err)
	}
	return gone, first, err
}

// mostRounds is how often Enforce deletes and measures again: what a deletion gives back is only
// known afterwards.
const mostRounds = 4

// work does what the budget asks for.
func (b Budget) work(ctx context.Context, db *boltstore.Store, now time.Time, memory *Memory, gone *Deletion) error {
	for range mostRounds {
		space, err := db.Space(ctx)
		if err != nil {
			return err
		}
		todo := b.plan(now, *memory, space)
		if todo != (task{}) {
			if err := db.FoldDead(ctx); err != nil {
				return err
			}
			if space, err = db.Space(ctx); err != nil {
				return err
			}
			todo = b.plan(now, *memory, space)
		}
		deleted := 0
		if todo.age || todo.size {
			deleted, err = b.delete(ctx, db, now, todo, memory, gone)
			if err != nil {
				return err
			}
		}
		switch {
		case deleted > 0: // look again
		case todo.compact:
			return db.Compact(ctx, 1-highMark, func(boltstore.Compacted) {})
		default:
			return nil
		}
	}
	return nil
}

// deleteStep is how many sessions are deleted in a transaction, for whose time other recorders
// cannot move their sessions into the same database.
const deleteStep = 100

// delete deletes the sessions that the task is about.
func (b Budget) delete(ctx context.Context, db *boltstore.Store, now time.Time, todo task, memory *Memory, gone *Deletion) (deleted int, err error) {
	sessions, space, err := List(ctx, db)
	if err != nil {
		return 0, err
	}
	limits := Limits{SpareNewest: true}
	if todo.age {
		limits.OlderThan = &b.Age
	}
	if todo.size {
		most := share(b.Size, lowMark)
		limits.MaxSize = &most
	}
	removals := limits.Choose(sessions, now, space.Files-space.Free)
	why := map[store.SessionID]string{}
	for _, r := range removals {
		why[r.ID] = r.Limit
	}
	for step := range slices.Chunk(removals, deleteStep) {
		ids := make([]store.SessionID, len(step))
		for i, r := range step {
			ids[i] = r.ID
		}
		err := db.DeleteAll(ctx, ids, func(id store.SessionID) {
			deleted++
			if why[id] == "age" {
				gone.ByAge++
			} else {
				gone.BySize++
			}
			Forget(db.Info().Location, id)
		})
		if err != nil {
			return deleted, err
		}
	}
	memory.Looked = now
	memory.Oldest = now // sessions that end later come of age later
	memory.Kept = 0
	for _, s := range sessions {
		_, isGone := why[s.ID]
		switch {
		case s.Kept:
			memory.Kept += s.Stored
		case !isGone && s.State != store.Live && !s.Start.IsZero() && endOf(s).Before(memory.Oldest):
			memory.Oldest = endOf(s)
		}
	}
	return deleted, nil
}

// List returns the sessions of a store, newest first, and the space that the store takes. If a
// part of the store cannot be read, there is an error and no list.
func List(ctx context.Context, db *boltstore.Store) (sessions []Session, space boltstore.Space, err error) {
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
	within := " to stay within " + terminal.Size(d.Size)
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

// Text says in a line what the budget is, what of it is used, and what went last.
func (m Memory) Text(used int64) string {
	size := terminal.Size(used) + " used"
	if m.Size > 0 {
		size = terminal.Size(used) + " of " + terminal.Size(m.Size) + " used"
	}
	if m.Kept > 0 {
		size += ", " + terminal.Size(m.Kept) + " of it kept apart"
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

// Recall reads what a store remembers of its budget. In a store without a budget it is zero. What
// cannot be read for its content is taken as forgotten: the next recorder writes it anew.
func Recall(dir string) (memory Memory, err error) {
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
	return outfile.Replace(filepath.Join(dir, memoryName), func(w io.Writer) error { return json.NewEncoder(w).Encode(m) })
}
