package objects

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync"

	"github.com/klauspost/compress/zstd"

	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/jsonl"
	"github.com/mcprec/mcprec/transport/mcp"
)

// Options name a bucket. Credentials are found as other programs do: in the environment
// (AWS_ACCESS_KEY_ID, MINIO_ROOT_USER), in ~/.aws/credentials or ~/.mc/config.json, or from the role of
// the machine. Authorities of certificates are those of the system and of the file in SSL_CERT_FILE.
type Options struct {
	Bucket   string
	Prefix   string // of all keys; "" or "a/b"
	Endpoint string // https://HOST[:PORT], or http:// for a connection without TLS; "": Amazon's
	Region   string // "": AWS_REGION, or the server is asked
}

// Store is a bucket with sealed sessions. The methods are safe for concurrent use, and for many processes.
type Store struct {
	bucket *bucket
	recent recent

	mu     sync.Mutex
	closed bool
	calls  sync.WaitGroup
	life   context.Context // ends with Close; ends what yields to a caller
	stop   context.CancelFunc
}

var (
	_ store.Store      = (*Store)(nil)
	_ store.Summarizer = (*Store)(nil)
	_ store.Verifier   = (*Store)(nil)
	_ store.Cleaner    = (*Store)(nil)
	_ store.Putter     = (*Store)(nil)
)

// The content types of objects.
const (
	sessionType = "application/zstd"
	summaryType = mcp.MediaJSON
)

// errWhole refuses what is no sealed session.
var errWhole = errors.New("a bucket takes a sealed session whole: record into a folder, and copy with mcprec store archive")

// Open asks the server for one key, which shows that the bucket can be read.
func Open(ctx context.Context, options Options) (*Store, error) {
	ctx, stop := stoppable(ctx)
	defer stop(nil)
	b, err := newBucket(options)
	if err == nil {
		err = b.check(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("open s3://%s: %w", options.Bucket, err)
	}
	s := &Store{bucket: b}
	s.life, s.stop = context.WithCancel(context.Background())
	return s, nil
}

// Info describes the store.
func (s *Store) Info() store.Info {
	return store.Info{Name: "s3", Location: strings.TrimSuffix(s.bucket.url(""), "/"), Durability: "bucket"}
}

// Close waits for running calls, except for reads and listings: those end with their next event.
func (s *Store) Close() error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.calls.Wait()
	s.stop()
	s.bucket.transport.CloseIdleConnections()
	return nil
}

// begin starts a call; the caller ends it with end. The context ends with the store.
func (s *Store) begin(ctx context.Context, yields bool) (_ context.Context, end func(), err error) {
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, nil, store.ErrClosed
	}
	ctx, cancel := stoppable(ctx)
	if !yields {
		s.calls.Add(1)
		return ctx, func() { cancel(nil); s.calls.Done() }, nil
	}
	release := context.AfterFunc(s.life, func() { cancel(store.ErrClosed) })
	return ctx, func() { release(); cancel(nil) }, nil
}

// Append puts a whole sealed session: after is 0, and the last event is Closed. See [Store.Put].
func (s *Store) Append(ctx context.Context, id store.SessionID, after uint64, events []store.Event) (store.Head, error) {
	if ctx.Err() == nil && (after != 0 || len(events) == 0 || events[len(events)-1].Kind != store.Closed) {
		return store.Head{}, fmt.Errorf("append to session %s: %w", id, errWhole)
	}
	return s.Put(ctx, id, jsonl.Each(events), nil)
}

// Put writes a sealed session from its events, which it need not hold at once. The same session again is
// accepted; for another one with the id the error is a *store.ConflictError, and for a deleted one
// it wraps store.ErrExists. An error among the events ends the put and leaves nothing behind.
// summary is called after the last event, and returns the bytes for [store.Summarizer]; nil: none.
func (s *Store) Put(ctx context.Context, id store.SessionID, events iter.Seq2[store.Event, error], summary func() []byte) (store.Head, error) {
	ctx, end, err := s.begin(ctx, false)
	if err != nil {
		return store.Head{}, fmt.Errorf("put session %s: %w", id, err)
	}
	defer end()
	lower, err := store.ParseSessionID(string(id))
	if err != nil {
		return store.Head{}, fmt.Errorf("put session: %w", err)
	}
	session, day, err := s.putEvents(ctx, lower, events)
	if err == nil {
		var data []byte
		if summary != nil {
			data = summary()
		}
		err = s.putSummary(ctx, day, session, data)
	}
	if conflict := (*store.ConflictError)(nil); errors.As(err, &conflict) {
		return conflict.Head, conflict
	}
	if err != nil {
		return store.Head{}, fmt.Errorf("put session %s: %w", id, err)
	}
	return session.Head, nil
}

// putEvents writes the session object, unless an equal one is there.
func (s *Store) putEvents(ctx context.Context, id store.SessionID, events iter.Seq2[store.Event, error]) (_ store.Session, day string, err error) {
	t := tally{id: id}
	up := &upload{ctx: ctx, bucket: s.bucket}
	var compressed *zstd.Encoder
	var text *jsonl.Encoder
	isThere := false
	defer func() {
		if compressed != nil {
			compressed.Reset(nil) // frees what it holds
		}
		if err != nil {
			up.abort()
		}
	}()
	for event, err := range events {
		if err != nil {
			return store.Session{}, "", err
		}
		if err := t.add(event); err != nil {
			return store.Session{}, "", err
		}
		if event.Seq == 1 {
			day = dayOf(t.session.Start)
			up.key = sessionKey(day, id)
			isThere, err = s.admit(ctx, id, day)
			if err != nil {
				return store.Session{}, "", err
			}
			compressed, err = zstd.NewWriter(up, zstd.WithEncoderConcurrency(1))
			if err != nil {
				return store.Session{}, "", err
			}
			text = jsonl.NewEncoder(compressed)
		}
		if !isThere {
			if err := text.Encode(event); err != nil {
				return store.Session{}, "", err
			}
		}
	}
	if !t.session.Head.Sealed {
		return store.Session{}, "", errWhole
	}
	if !isThere {
		err = compressed.Close()
		if err == nil {
			err = up.finish()
		}
		if err != nil && !errors.Is(err, errTaken) {
			return store.Session{}, "", err
		}
		if err != nil {
			up.abort()
			isThere = true
		}
	}
	if isThere {
		held, err := s.headAt(ctx, place{id: id, day: day})
		if err != nil {
			return store.Session{}, "", err
		}
		if held != t.session.Head {
			return store.Session{}, "", &store.ConflictError{ID: id, Head: held}
		}
	}
	return t.session, day, nil
}

// admit reports whether a session object is there already. It refuses a deleted session, and one
// that is there with another day; and it writes the mark of a session whose id does not tell the day.
func (s *Store) admit(ctx context.Context, id store.SessionID, day string) (isThere bool, err error) {
	found, err := s.bucket.mark(ctx, id)
	if err != nil {
		return false, err
	}
	if found.Deleted {
		return false, fmt.Errorf("deleted: %w", store.ErrExists)
	}
	for _, other := range []string{found.Day, idDay(id)} {
		if other == day || other == "" {
			continue
		}
		held, err := s.headAt(ctx, place{id: id, day: other})
		if err == nil {
			return false, &store.ConflictError{ID: id, Head: held}
		}
		if !errors.Is(err, store.ErrNotFound) {
			return false, err
		}
	}
	if day != idDay(id) && day != found.Day {
		when := ifAbsent
		if found.Day != "" {
			when = always // of a put that did not come to its end
		}
		err = s.bucket.putMark(ctx, id, mark{Day: day}, when)
		if errors.Is(err, errTaken) { // by another put of this moment
			return s.admit(ctx, id, day)
		}
		if err != nil {
			return false, err
		}
	}
	_, err = s.bucket.size(ctx, sessionKey(day, id))
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// putSummary writes the summary of a session that is there, unless one with this head is.
func (s *Store) putSummary(ctx context.Context, day string, session store.Session, data []byte) error {
	key := summaryKey(day, session.ID)
	text := encodeRecord(session, data)
	err := s.bucket.put(ctx, key, text, summaryType, ifAbsent)
	if errors.Is(err, errTaken) {
		var held []byte
		held, _, err = s.bucket.get(ctx, key)
		if err != nil {
			return err
		}
		if found, _, bad := decodeRecord(session.ID, held); bad != nil || found.Head != session.Head {
			err = s.bucket.put(ctx, key, text, summaryType, always)
		}
	}
	if err != nil {
		return err
	}
	// Another process may have deleted the session since it was admitted.
	found, err := s.bucket.mark(ctx, session.ID)
	if err != nil || !found.Deleted {
		return err
	}
	if err := s.removeObjects(ctx, day, session.ID); err != nil {
		return err
	}
	return fmt.Errorf("deleted: %w", store.ErrExists)
}

// removeObjects removes the summary and then the session.
func (s *Store) removeObjects(ctx context.Context, day string, id store.SessionID) error {
	s.recent.forget(id)
	if err := s.bucket.remove(ctx, summaryKey(day, id)); err != nil {
		return err
	}
	return s.bucket.remove(ctx, sessionKey(day, id))
}

// Delete leaves a mark that refuses the id for ever, and removes the session. If it is
// interrupted after the mark, Delete can be called again.
func (s *Store) Delete(ctx context.Context, id store.SessionID) error {
	ctx, end, err := s.begin(ctx, false)
	if err == nil {
		defer end()
		err = s.delete(ctx, id)
	}
	if err != nil {
		return fmt.Errorf("delete session %s: %w", id, err)
	}
	return nil
}

func (s *Store) delete(ctx context.Context, id store.SessionID) error {
	at, err := s.find(ctx, id)
	if errors.Is(err, store.ErrNotFound) && at.day != "" { // an earlier Delete was interrupted
		return errors.Join(err, s.removeObjects(ctx, at.day, at.id))
	}
	if err != nil {
		return err
	}
	if err := s.bucket.putMark(ctx, at.id, mark{Day: at.day, Deleted: true}, always); err != nil {
		return err
	}
	return s.removeObjects(ctx, at.day, at.id)
}

// DeleteAll deletes sessions one by one.
func (s *Store) DeleteAll(ctx context.Context, ids []store.SessionID, removed func(store.SessionID)) error {
	for _, id := range ids {
		err := s.Delete(ctx, id)
		if errors.Is(err, store.ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		removed(id)
	}
	return nil
}

// tally is the session of events that are taken in order.
type tally struct {
	id      store.SessionID
	session store.Session
}

// add takes the next event.
func (t *tally) add(event store.Event) error {
	head, err := t.session.Head.Next(event)
	if err != nil {
		return err
	}
	if err := t.session.Count(event); err != nil {
		return err
	}
	if !strings.EqualFold(string(t.session.ID), string(t.id)) {
		return fmt.Errorf("its header names session %s", t.session.ID)
	}
	t.session.ID = t.id
	t.session.Head = head
	t.session.State = store.Ended
	return nil
}
