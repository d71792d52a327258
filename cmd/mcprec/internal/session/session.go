package session

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/cli"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/output"
	"github.com/mcprec/mcprec/replay/filter"
	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/jsonl"
	"github.com/mcprec/mcprec/transport/phrase"
)

// Session is an open log. The caller closes it.
type Session struct {
	Name     string           // for messages
	ID       store.SessionID  // "" for a fixture
	Start    time.Time        // of a session in the store
	Head     uint64           // of a session in the store: the last event when it was opened
	live     bool             // a recorder held the session when it was opened
	Store    *Store           // nil for a fixture
	File     io.ReadCloser    // of a fixture
	Masker   Masker           // masks the events
	Path     string           // of a fixture in a file
	Lines    bool             // of a fixture: event N is line N
	decoded  []store.Event    // of a fixture in a format that may have several sessions in a file
	salvage  bool             // of a damaged store: yield every event with a good checksum
	progress *output.Progress // nil: readings draw nothing
}

// Argument returns the words that name the session in a command to copy: its id, and its store if that is not the
// usual one; or its file. Those of standard input, which nobody can read again, are "".
func (s *Session) Argument() string {
	switch {
	case s.Store != nil:
		return string(s.ID) + s.Store.Flag()
	case s.Path != "":
		return phrase.ShellWord(s.Name)
	}
	return ""
}

// Open finds what the argument names. Standard input is in, and what goes wrong when a store
// is closed is written to errs. The session must be closed. A file with several sessions is an
// error that lists them.
func Open(ctx context.Context, home Home, arg string, in io.Reader, errs io.Writer) (*Session, error) {
	all, err := OpenAll(ctx, home, arg, in, errs)
	if err != nil {
		return nil, err
	}
	if len(all) > 1 {
		err := listed(arg, all)
		for _, s := range all {
			err = errors.Join(err, s.Close())
		}
		return nil, err
	}
	return all[0], nil
}

// OpenAll is Open for commands that take all sessions of a file. There is at least one.
func OpenAll(ctx context.Context, home Home, arg string, in io.Reader, errs io.Writer) ([]*Session, error) {
	if arg != "-" && !IsPath(arg) {
		return oneOf(openStored(ctx, home, errs, func(db *Store) (store.Session, error) { return db.Find(ctx, arg) }))
	}
	d, err := home.Masker(nil)
	if err != nil {
		return nil, err
	}
	if arg == "-" {
		return openFixture(&Session{Name: "standard input", File: io.NopCloser(in), Masker: d}, anyNumber, errs)
	}
	path, number := arg, anyNumber
	f, err := OpenFile(arg)
	if errors.Is(err, fs.ErrNotExist) {
		if base, picked, ok := numbered(arg); ok {
			path, number = base, picked
			f, err = OpenFile(path)
		}
	}
	if errors.Is(err, fs.ErrNotExist) { // a label may look like a path
		labelled, fault := openStored(ctx, home, errs, func(db *Store) (store.Session, error) {
			found, _ := db.Labelled(ctx, arg)
			if len(found) == 0 {
				return store.Session{}, err
			}
			return found[0], nil
		})
		if fault == nil {
			return []*Session{labelled}, nil
		}
	}
	if err != nil {
		return nil, err
	}
	return openFixture(&Session{Name: path, Path: path, File: f, Masker: d}, number, errs)
}

func oneOf(s *Session, err error) ([]*Session, error) { return []*Session{s}, err }

// openStored opens the session of the store that find returns.
func openStored(ctx context.Context, home Home, errs io.Writer, find func(*Store) (store.Session, error)) (*Session, error) {
	db, err := OpenExisting(ctx, home, errs)
	if err != nil {
		return nil, err
	}
	found, err := find(db)
	if err != nil {
		return nil, errors.Join(err, db.Odd(), db.Store.Close())
	}
	return db.Session(found), nil
}

// OpenDamaged opens a session that a damaged store may not list. The session yields every event
// with a good checksum. For a session that is not listed the argument is its whole id.
func OpenDamaged(ctx context.Context, home Home, arg string, in io.Reader, errs io.Writer) (*Session, error) {
	id, err := store.ParseSessionID(arg)
	if err != nil {
		s, err := Open(ctx, home, arg, in, errs)
		switch {
		case err != nil:
			return nil, fmt.Errorf("%w; mcprec store repair --dry-run lists what can be saved, by whole ids", err)
		case s.Store == nil:
			return nil, errors.Join(cli.Usagef("--salvage is for a session in the store"), s.Close())
		}
		s.salvage = true
		return s, nil
	}
	db, err := OpenExisting(ctx, home, errs)
	if err != nil {
		return nil, err
	}
	return &Session{Name: "session " + string(id), ID: id, Store: db, salvage: true, Masker: db.Masker}, nil
}

// IsPath reports whether an argument is a path: ids have neither dots nor slashes.
func IsPath(arg string) bool {
	if strings.ContainsAny(arg, `./\`) {
		return true
	}
	if strings.Trim(arg, "0123456789abcdefABCDEF-") == "" {
		return false
	}
	info, err := os.Stat(arg)
	return err == nil && !info.IsDir() // a folder of that name does not hide a label
}

// OpenFile opens a fixture named by the user.
func OpenFile(name string) (*os.File, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, &cli.Status{Code: cli.ExitUsage, Cause: err}
	}
	if info, err := f.Stat(); err == nil && info.IsDir() {
		f.Close()
		return nil, cli.Usagef("%s is a folder; name a fixture", name)
	}
	return f, nil
}

// Events yields the session's events from a Seq on, masked unless --secrets is given. The events before are read
// too: a secret may have begun there. A fixture can be read once.
func (s *Session) Events(ctx context.Context, from uint64, options store.ReadOptions) iter.Seq2[store.Event, error] {
	if s.Store != nil && s.Masker.inner == nil {
		return s.Recorded(ctx, from, options)
	}
	return s.Masker.EventsFrom(s.Recorded(ctx, 1, options), from)
}

// Reading yields the session's events for a view that quotes few messages; see [Masker.Reading].
func (s *Session) Reading(ctx context.Context, options store.ReadOptions) (iter.Seq2[store.Event, error], timeline.Mask) {
	return s.Masker.Reading(s.Recorded(ctx, 1, options))
}

// Recorded yields the events as they were recorded, for commands that play or copy them. Of a
// fixture it yields all.
func (s *Session) Recorded(ctx context.Context, from uint64, options store.ReadOptions) iter.Seq2[store.Event, error] {
	switch {
	case s.salvage:
		return s.watched(s.Store.Salvage(ctx, s.ID))
	case s.Store != nil && options.Follow: // which may last for days
		return s.Store.Read(ctx, s.ID, from, options)
	case s.Store != nil:
		return s.watched(s.Store.Read(ctx, s.ID, from, options))
	}
	return s.watched(func(yield func(store.Event, error) bool) {
		for e, err := range s.decode() {
			if err != nil {
				err = fmt.Errorf("%s: %w", s.Name, err)
			}
			if !yield(e, err) || err != nil {
				return
			}
		}
	})
}

// Fault returns the error of a command that reads the session. An error about a file names the file already.
func (s *Session) Fault(command string, err error) error {
	if strings.HasPrefix(err.Error(), s.Name+": ") {
		return fmt.Errorf("%s %w", command, err)
	}
	return fmt.Errorf("%s %s: %w", command, s.Name, err)
}

// decode yields the events of a fixture.
func (s *Session) decode() iter.Seq2[store.Event, error] {
	if s.decoded != nil {
		return jsonl.Each(s.decoded)
	}
	return jsonl.Decode(s.File)
}

// Now returns the present time since the start of a live session; 0 for any other.
func (s *Session) Now() time.Duration {
	if !s.live {
		return 0
	}
	return max(s.Store.now().Sub(s.Start), 0)
}

// Close closes the file, or the store, which it tidies.
func (s *Session) Close() error {
	if s.Store != nil {
		return s.Store.Close()
	}
	return s.File.Close()
}

// Release is Close for commands that must not change the store.
func (s *Session) Release() error {
	if s.Store != nil {
		return s.Store.Store.Close()
	}
	return s.File.Close()
}

// Transcript returns a transcript of the session from its first event. If it looks ahead, it
// knows at each request how the call ends; for that the session is read here.
func (s *Session) Transcript(ctx context.Context, ahead bool, emit func(timeline.Entry) error) (*timeline.Transcript, error) {
	t := timeline.NewTranscript(emit)
	if !ahead {
		return t, nil
	}
	endings, err := s.Endings(ctx)
	t.Foresee(endings)
	return t, err
}

// Endings reads how the calls of the session end, and rewinds it.
func (s *Session) Endings(ctx context.Context) (*timeline.Endings, error) {
	if err := s.Keep(); err != nil {
		return nil, err
	}
	endings := timeline.NewEndings()
	_ = timeline.Project(timeline.Steps(s.Events(ctx, 1, store.ReadOptions{})), endings) // the next reading reports an error
	endings.Close(s.Now())
	return endings, s.Rewind()
}

// Keep makes a fixture readable again: it copies a pipe to a temporary file.
func (s *Session) Keep() error {
	if s.Rewind() == nil {
		return nil
	}
	tmp, err := os.CreateTemp("", "mcprec-*")
	if err != nil {
		return fmt.Errorf("read %s twice: %w", s.Name, err)
	}
	os.Remove(tmp.Name())
	_, err = io.Copy(tmp, s.File)
	s.File.Close()
	s.File = tmp
	if err != nil {
		return fmt.Errorf("read %s: %w", s.Name, err)
	}
	return s.Rewind()
}

// Rewind goes back to the first event.
func (s *Session) Rewind() error {
	if s.Store != nil || s.decoded != nil {
		return nil
	}
	f, ok := s.File.(io.Seeker)
	if !ok {
		return errors.ErrUnsupported
	}
	_, err := f.Seek(0, io.SeekStart)
	return err
}

// EventSet holds the events of a session that a filter selects, a bit for each. nil selects all.
type EventSet []uint64

// Pick returns the set of events under the filter.
func (s *Session) Pick(ctx context.Context, fits *filter.Filter) (EventSet, error) {
	if fits.String() == "" {
		return nil, nil
	}
	if err := s.Keep(); err != nil {
		return nil, err
	}
	set := EventSet{}
	return set, s.Select(ctx, fits, func(seq uint64) {
		for uint64(len(set)) <= seq/64 {
			set = append(set, 0)
		}
		set[seq/64] |= 1 << (seq % 64)
	})
}

// Select calls f for every event that fits, and rewinds the session. The reading that
// follows reports the errors of the recording.
func (s *Session) Select(ctx context.Context, fits *filter.Filter, f func(seq uint64)) error {
	t, err := s.Transcript(ctx, fits.Ahead(), func(entry timeline.Entry) error {
		if fits.Selects(&entry) {
			f(entry.Seq)
		}
		return nil
	})
	if err != nil {
		return err
	}
	_ = timeline.Project(timeline.Steps(s.Events(ctx, 1, store.ReadOptions{})), t)
	return s.Rewind()
}

// errFound ends a reading early.
var errFound = errors.New("found")

// Has reports whether an event of a session in the store fits.
func (s *Session) Has(ctx context.Context, fits *filter.Filter) (bool, error) {
	t, err := s.Transcript(ctx, fits.Ahead(), func(e timeline.Entry) error {
		if fits.Selects(&e) {
			return errFound
		}
		return nil
	})
	if err == nil {
		err = timeline.Project(timeline.Steps(s.Events(ctx, 1, store.ReadOptions{})), t)
	}
	if errors.Is(err, errFound) {
		return true, nil
	}
	return false, err
}

// HasAny reports whether an event of the list is in the set.
func (p EventSet) HasAny(seqs []uint64) bool {
	return p == nil || slices.ContainsFunc(seqs, func(seq uint64) bool {
		return seq/64 < uint64(len(p)) && p[seq/64]&(1<<(seq%64)) != 0
	})
}
