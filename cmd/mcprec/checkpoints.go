package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/session"
	"github.com/mcprec/mcprec/replay/checkpoint"
	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/boltstore"
)

// checkpoints keeps the checkpoints of a long session in the store's cache/ID.points. If they
// are missing, wrong or old, they are made again, so errors there are not reported.
type checkpoints struct {
	db     *boltstore.Store
	id     store.SessionID
	masker session.Masker // has masked what they hold
}

func (c checkpoints) path() string {
	return filepath.Join(c.db.Info().Location, "cache", string(c.id)+".points")
}

// load returns the stored checkpoints, or none if they are not of this session.
func (c checkpoints) load(ctx context.Context) *checkpoint.Image {
	none := &checkpoint.Image{}
	if info, err := os.Lstat(c.path()); err != nil || !info.Mode().IsRegular() { // reading a pipe would block
		return none
	}
	b, err := os.ReadFile(c.path())
	if err != nil {
		return none
	}
	image, err := checkpoint.Read(b, c.id, c.made())
	if err != nil {
		return none
	}
	log, settled := c.db.Settled(ctx, c.id)
	first, ok := c.event(ctx, 1)
	if settled && !image.Fits(log) || !ok || !image.Opened(first) {
		return none
	}
	return image
}

// made identifies the program and the rules of masking that made checkpoints. Others are of
// no use.
func (c checkpoints) made() string { return version() + c.masker.Rules }

func (c checkpoints) event(ctx context.Context, seq uint64) (store.Event, bool) {
	for e, err := range c.db.Read(ctx, c.id, seq, store.ReadOptions{}) {
		return c.masker.Event(e), err == nil
	}
	return store.Event{}, false
}

// save writes the checkpoints to a temporary file and renames it: a reader finds all or none.
func (c checkpoints) save(ctx context.Context, image *checkpoint.Image) {
	log, ok := c.db.Settled(ctx, c.id)
	if !ok { // its events alone identify it
		log = store.Head{}
	}
	b := image.Bytes(c.id, c.made(), log)
	if b == nil {
		return
	}
	dir := filepath.Dir(c.path())
	if os.MkdirAll(dir, 0o700) != nil {
		return
	}
	f, err := os.CreateTemp(dir, string(c.id)+".new-*") // 0600
	if err != nil {
		return
	}
	_, err = f.Write(b)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), c.path())
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
}

func (c checkpoints) remove() {
	names, _ := filepath.Glob(filepath.Join(filepath.Dir(c.path()), string(c.id)+".*"))
	for _, name := range names {
		_ = os.Remove(name)
	}
}

// foldUntil folds a session's events up to the first that is past the point. It starts from the
// nearest checkpoint, and saves the checkpoints on its way.
func (c checkpoints) foldUntil(ctx context.Context, past func(seq uint64, at time.Duration) bool) (*checkpoint.Fold, error) {
	image := c.load(ctx)
	f, from := c.resume(ctx, image, past)
	had := len(image.Points())
	for e, err := range c.masker.Events(c.db.Read(ctx, c.id, from, store.ReadOptions{})) {
		if err != nil {
			return nil, err
		}
		if past(e.Seq, e.At) {
			break
		}
		if err := f.Apply(e); err != nil {
			return nil, err
		}
	}
	if len(f.Image().Points()) > had {
		c.save(ctx, f.Image())
	}
	return f, nil
}

// resume returns a fold at the last checkpoint that is not past the point, and the Seq to go on
// from. If the checkpoint's event is not in the log, the checkpoints are of another log.
func (c checkpoints) resume(ctx context.Context, image *checkpoint.Image, past func(uint64, time.Duration) bool) (*checkpoint.Fold, uint64) {
	points := image.Points()
	n := len(points) - 1
	for n >= 0 && past(points[n].Seq, points[n].At) {
		n--
	}
	if n >= 0 {
		e, ok := c.event(ctx, points[n].Seq)
		if f, err := image.Resume(n); err == nil && ok && points[n].Is(e) {
			return f, points[n].Seq + 1
		}
		*image = checkpoint.Image{}
	}
	return checkpoint.New(), 1
}

// transcriptFrom returns a transcript that shows events from a Seq on, and the Seq from which
// it must be given events: a checkpoint before it knows the open calls. A transcript that looks
// ahead needs all events.
func transcriptFrom(ctx context.Context, s *session.Session, ahead bool, from uint64, emit func(timeline.Entry) error) (*timeline.Transcript, uint64, error) {
	if ahead || s.Store == nil || from <= checkpoint.Interval {
		t, err := s.Transcript(ctx, ahead, emit)
		return t, 1, err
	}
	f, err := checkpoints{s.Store.Store, s.ID, s.Masker}.foldUntil(ctx, func(seq uint64, _ time.Duration) bool { return seq >= from })
	if err != nil {
		return nil, 0, err
	}
	t, err := f.Transcript(emit)
	return t, f.Seq() + 1, err
}
