package objects

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/klauspost/compress/zstd"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/jsonl"
)

// place is where a session is, and its summary if that can be read.
type place struct {
	id      store.SessionID
	day     string
	session *store.Session // from the summary object; nil: missing or damaged
	data    []byte         // the summary bytes
	etag    string         // of the summary object; "": there is none
	fault   error          // of the summary object
}

// look reads the summary of a session with a known day.
func (s *Store) look(ctx context.Context, id store.SessionID, day string) (place, error) {
	at := place{id: id, day: day}
	text, etag, err := s.bucket.get(ctx, summaryKey(day, id))
	if errors.Is(err, store.ErrNotFound) {
		at.fault = fmt.Errorf("session %s has no summary", id)
		return at, nil
	}
	if err != nil {
		return at, err
	}
	at.etag = etag
	session, data, err := decodeRecord(id, text)
	if err != nil {
		at.fault = err
		return at, nil
	}
	at.session = &session
	at.data = data
	s.recent.keep(store.Summary{ID: id, Head: session.Head, Data: data})
	return at, nil
}

// find finds a session by its id; ErrNotFound, with the place of a deleted session.
func (s *Store) find(ctx context.Context, name store.SessionID) (at place, err error) {
	id, err := store.ParseSessionID(string(name))
	if err != nil {
		return place{}, fmt.Errorf("%w: %w", err, store.ErrNotFound)
	}
	day := idDay(id)
	if day != "" {
		at, err = s.look(ctx, id, day)
		if err != nil || at.etag != "" {
			return at, err
		}
	}
	found, err := s.bucket.mark(ctx, id)
	switch {
	case err != nil:
		return place{}, err
	case found.Deleted:
		return place{id: id, day: found.Day}, store.ErrNotFound
	case found.Day != "":
		day = found.Day
		at, err = s.look(ctx, id, day)
		if err != nil || at.etag != "" {
			return at, err
		}
	case day == "":
		return place{}, store.ErrNotFound
	}
	if _, err := s.bucket.size(ctx, sessionKey(day, id)); err != nil {
		return place{}, err
	}
	return at, nil
}

// headAt returns the head of the session at a place; ErrNotFound if there is none.
func (s *Store) headAt(ctx context.Context, at place) (store.Head, error) {
	at, err := s.look(ctx, at.id, at.day)
	if err != nil {
		return store.Head{}, err
	}
	if at.session != nil {
		return at.session.Head, nil
	}
	session, err := s.count(ctx, at)
	return session.Head, err
}

// count reads a session to its end, and returns what its summary should say.
func (s *Store) count(ctx context.Context, at place) (store.Session, error) {
	t := tally{id: at.id}
	for event, err := range s.events(ctx, at) {
		if err == nil {
			err = t.add(event)
		}
		if err != nil {
			return store.Session{}, err
		}
	}
	return t.session, nil
}

// events yields the events of the session object, and checks them against the summary.
func (s *Store) events(ctx context.Context, at place) iter.Seq2[store.Event, error] {
	return func(yield func(store.Event, error) bool) {
		object := s.bucket.url(sessionKey(at.day, at.id))
		body, err := s.bucket.open(ctx, sessionKey(at.day, at.id))
		if errors.Is(err, store.ErrNotFound) && at.etag != "" {
			err = fmt.Errorf("%s is gone, and only its summary is left: restore an earlier version of the object, "+
				"or delete the session: %w", object, store.ErrCorrupt)
		}
		if err != nil {
			yield(store.Event{}, err)
			return
		}
		defer body.Close()
		text, err := zstd.NewReader(body, zstd.WithDecoderConcurrency(1))
		if err != nil {
			yield(store.Event{}, err)
			return
		}
		defer text.Close()
		t := tally{id: at.id}
		for event, err := range jsonl.Decode(text) {
			if cause := context.Cause(ctx); cause != nil {
				err = cause
			} else if err == nil {
				err = t.add(event)
			}
			switch {
			case body.fault != nil:
				err = body.fault
			case err != nil && ctx.Err() == nil && !errors.Is(err, store.ErrNewer):
				err = fmt.Errorf("%s is damaged: %w: %w; restore an earlier version of the object", object, store.ErrCorrupt, err)
			}
			if !yield(event, err) || err != nil {
				return
			}
		}
		switch head := t.session.Head; {
		case body.fault != nil:
			err = body.fault
		case !head.Sealed:
			err = fmt.Errorf("%s is damaged: %w: event %d is the last, and the session is not sealed; "+
				"restore an earlier version of the object", object, store.ErrCorrupt, head.Seq)
		case at.session != nil && at.session.Head != head:
			err = fmt.Errorf("%s and its summary tell of different events: %w: one of the two was changed; "+
				"restore earlier versions of both", object, store.ErrCorrupt)
		}
		if err != nil {
			yield(store.Event{}, err)
		}
	}
}

// Read yields the events from Seq `from`. It reads the object from its beginning, because the chain is
// checked at the end. Follow makes no difference: the session is sealed.
func (s *Store) Read(ctx context.Context, id store.SessionID, from uint64, _ store.ReadOptions) iter.Seq2[store.Event, error] {
	return func(yield func(store.Event, error) bool) {
		ctx, end, err := s.begin(ctx, true)
		if err != nil {
			yield(store.Event{}, fmt.Errorf("read session %s: %w", id, err))
			return
		}
		defer end()
		at, err := s.find(ctx, id)
		if err != nil {
			yield(store.Event{}, fmt.Errorf("read session %s: %w", id, err))
			return
		}
		if at.session != nil && from > at.session.Head.Seq {
			return
		}
		for event, err := range s.events(ctx, at) {
			if err != nil {
				yield(store.Event{}, fmt.Errorf("read session %s: %w", id, err))
				return
			}
			if event.Seq >= from && !yield(event, nil) {
				return
			}
		}
	}
}

// Head returns the head in the summary, and reads the session if there is none.
func (s *Store) Head(ctx context.Context, id store.SessionID) (head store.Head, err error) {
	ctx, end, err := s.begin(ctx, false)
	if err == nil {
		defer end()
		head, err = s.head(ctx, id)
	}
	if err != nil {
		return store.Head{}, fmt.Errorf("head of session %s: %w", id, err)
	}
	return head, nil
}

func (s *Store) head(ctx context.Context, id store.SessionID) (store.Head, error) {
	at, err := s.find(ctx, id)
	if err != nil {
		return store.Head{}, err
	}
	if at.session != nil {
		return at.session.Head, nil
	}
	session, err := s.count(ctx, at)
	return session.Head, err
}

// RestoreSummary reads a session and writes its summary, in the place of a missing or damaged one. The
// summary bytes of a damaged one are lost; a reader makes them again.
func (s *Store) RestoreSummary(ctx context.Context, id store.SessionID) error {
	ctx, end, err := s.begin(ctx, false)
	if err == nil {
		defer end()
		err = s.restoreSummary(ctx, id)
	}
	if err != nil {
		return fmt.Errorf("restore summary of session %s: %w", id, err)
	}
	return nil
}

func (s *Store) restoreSummary(ctx context.Context, id store.SessionID) error {
	at, err := s.find(ctx, id)
	if err != nil || at.session != nil {
		return err
	}
	session, err := s.count(ctx, at)
	if err != nil {
		return err
	}
	return s.putSummary(ctx, at.day, session, nil)
}
