package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/exit"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/terminal"
	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/boltstore"
	"github.com/mcprec/mcprec/store/foreign"
	"github.com/mcprec/mcprec/store/jsonl"
)

// session is what a SESSION argument names.
type session struct {
	name    string          // for messages
	id      store.SessionID // "" for a fixture
	start   time.Time       // of a session in the store
	live    bool            // a recorder held it when it was opened
	db      *openedStore    // nil for a fixture
	file    io.ReadCloser   // of a fixture
	cmd     *cobra.Command
	masker  masker // masks its events
	lines   bool   // of a fixture: event N is line N
	salvage bool   // of the store: yield what can be saved of it
}

const sessionHelp = `SESSION is an id, a unique prefix of one, the path of a fixture, - for a
fixture on standard input, or nothing for the session in the store that
started last.`

// openSession finds what the argument names. The session must be closed.
func openSession(cmd *cobra.Command, h home, arg string) (*session, error) {
	if arg != "-" && !looksLikeFile(arg) {
		db, err := openStore(cmd, h)
		if err != nil {
			return nil, err
		}
		found, err := findSession(cmd.Context(), db, arg)
		if err != nil {
			return nil, errors.Join(err, db.Odd(), db.Store.Close())
		}
		return &session{name: "session " + string(found.ID), id: found.ID, start: found.Start, live: found.State == store.Live, db: db, cmd: cmd, masker: db.masker.of(found.Header)}, nil
	}
	d, err := h.masker(nil)
	if err != nil {
		return nil, err
	}
	if arg == "-" {
		return &session{name: "standard input", file: io.NopCloser(cmd.InOrStdin()), masker: d}, nil
	}
	f, err := openFile(arg)
	if err != nil {
		return nil, err
	}
	head := make([]byte, 4096)
	n, _ := f.ReadAt(head, 0)            // a pipe cannot be read twice, and its lines have no numbers
	_, other := foreign.Detect(head[:n]) // our own form has an event a line
	return &session{name: arg, file: f, lines: n > 0 && !other, masker: d}, nil
}

// looksLikeFile reports whether an argument is a path: ids have neither dots nor slashes.
func looksLikeFile(arg string) bool {
	if strings.ContainsAny(arg, `./\`) {
		return true
	}
	if strings.Trim(arg, "0123456789abcdefABCDEF-") == "" {
		return false
	}
	_, err := os.Stat(arg)
	return err == nil
}

func openFile(name string) (*os.File, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, &exit.Status{Code: exit.Usage, Cause: err}
	}
	if info, err := f.Stat(); err == nil && info.IsDir() {
		f.Close()
		return nil, exit.Usagef("%s is a folder; name a fixture", name)
	}
	return f, nil
}

// findSession returns the only session with the prefix, or the newest for "".
func findSession(ctx context.Context, db *openedStore, prefix string) (none store.Session, _ error) {
	limit := 11
	if prefix == "" {
		limit = 1
	}
	var found []store.Session
	var faults error
	for s, err := range db.Sessions(ctx, store.Query{Prefix: strings.ToLower(prefix), Newest: true, Limit: limit}) {
		if err != nil {
			faults = errors.Join(faults, err)
			continue
		}
		found = append(found, s)
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		var list strings.Builder
		for _, s := range found[:min(len(found), 10)] {
			line := fmt.Sprintf("\n  %s  %s  %s", s.ID, s.Start.Local().Format(time.DateTime), terminal.Plain(db.masker.header(s.Header).Label))
			list.WriteString(strings.TrimRight(line, " "))
		}
		if len(found) > 10 {
			list.WriteString("\n  …")
		}
		return none, exit.Usagef("session %s is ambiguous; it begins%s", prefix, &list)
	case faults != nil:
		return none, faults
	case prefix == "":
		return none, exit.Usagef("no session in %s yet; make one with mcprec record -- COMMAND", db.Info().Location)
	}
	return none, exit.Usagef("no session begins with %s in %s; mcprec list shows them", prefix, db.Info().Location)
}

// events yields the session's events from a Seq on, masked unless --secrets is given. A fixture
// can be read once.
func (s *session) events(ctx context.Context, from uint64, o store.ReadOptions) iter.Seq2[store.Event, error] {
	events := s.masker.events(s.exact(ctx, from, o))
	if s.db != nil {
		return events
	}
	return func(yield func(store.Event, error) bool) { // the masker must see the header first
		for e, err := range events {
			if (err != nil || e.Seq >= from) && !yield(e, err) {
				return
			}
		}
	}
}

// exact yields the events as they were recorded, for commands that play or copy them. Of a
// fixture it yields all.
func (s *session) exact(ctx context.Context, from uint64, o store.ReadOptions) iter.Seq2[store.Event, error] {
	if s.salvage {
		return s.db.Salvage(ctx, s.id)
	}
	if s.db != nil {
		return s.db.Read(ctx, s.id, from, o)
	}
	return func(yield func(store.Event, error) bool) {
		for e, err := range jsonl.Decode(s.file) {
			if err != nil {
				err = fmt.Errorf("%s: %w", s.name, err)
			}
			if !yield(e, err) || err != nil {
				return
			}
		}
	}
}

// now returns the present time since the start of a live session; 0 for any other.
func (s *session) now() time.Duration {
	if !s.live {
		return 0
	}
	return max(time.Since(s.start), 0)
}

// Close closes the file, or the store, which it tidies.
func (s *session) Close() error {
	if s.db != nil {
		return s.db.Close()
	}
	return s.file.Close()
}

// release is Close for commands that must not change the store.
func (s *session) release() error {
	if s.db != nil {
		return s.db.Store.Close()
	}
	return s.file.Close()
}

// openedStore is a store whose Close tidies it.
type openedStore struct {
	*boltstore.Store
	masker masker // masks what is shown of it
	cmd    *cobra.Command
}

// openStore opens the store of a command.
func openStore(cmd *cobra.Command, h home) (*openedStore, error) {
	db, err := h.open(boltstore.Options{})
	if err != nil {
		return nil, err
	}
	d, err := h.masker(db)
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return &openedStore{db, d, cmd}, nil
}

// Close moves the spools of dead recorders into the databases, as far as that is quick, and
// closes the store. If the moving fails, the command does not: the spools are still there and
// still read.
func (s *openedStore) Close() error {
	defer limitMemory()()
	if err := s.Exposed(); err != nil {
		fmt.Fprintf(s.cmd.ErrOrStderr(), "mcprec: %v\n", err)
	}
	if err := s.FoldDead(context.Background()); err != nil {
		fmt.Fprintf(s.cmd.ErrOrStderr(), "mcprec: tidying the store: %v\n", err)
	}
	return s.Store.Close()
}

func encode(w io.Writer, events iter.Seq2[store.Event, error]) error {
	b := bufio.NewWriterSize(w, 1<<16)
	enc := jsonl.NewEncoder(b)
	for e, err := range events {
		if err == nil {
			err = enc.Encode(e)
		}
		if err != nil {
			return errors.Join(err, b.Flush())
		}
	}
	return b.Flush()
}

// home holds the flags for the store's folder and for masking.
type home struct {
	dir     string
	secrets secretOptions
}

func (h *home) addFlags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&h.dir, "store", "", "the store's `DIR` (default $MCPREC_HOME, else the state folder)")
}

// addMaskFlags adds the flags of a command that prints or writes recorded data.
func (h *home) addMaskFlags(cmd *cobra.Command) {
	h.addFlags(cmd)
	cmd.Flags().BoolVar(&h.secrets.show, "secrets", false, "show and write secrets as they are")
	h.secrets.addRules(cmd)
}

// path returns the store's folder and does not create it.
func (h *home) path() (string, error) {
	if h.dir != "" {
		return h.dir, nil
	}
	if dir := os.Getenv("MCPREC_HOME"); dir != "" {
		return dir, nil
	}
	if dir := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "mcprec"), nil
	}
	user, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("find the store: %v; set MCPREC_HOME", err)
	}
	return filepath.Join(user, ".local", "state", "mcprec"), nil
}

func (h *home) open(o boltstore.Options) (*boltstore.Store, error) {
	dir, err := h.path()
	if err != nil {
		return nil, err
	}
	o.Mask = maskFold
	return boltstore.Open(dir, o)
}

// transcript returns a transcript of the session from its first event. If it looks ahead, it
// knows at each request how the call ends; for that the session is read here.
func (s *session) transcript(ctx context.Context, ahead bool, emit func(timeline.Entry) error) (*timeline.Transcript, error) {
	t := timeline.NewTranscript(emit)
	if !ahead {
		return t, nil
	}
	endings, err := s.endings(ctx)
	t.Foresee(endings)
	return t, err
}

// endings reads how the calls of the session end, and rewinds it.
func (s *session) endings(ctx context.Context) (*timeline.Endings, error) {
	if err := s.keep(); err != nil {
		return nil, err
	}
	endings := timeline.NewEndings()
	for e, err := range s.events(ctx, 1, store.ReadOptions{}) {
		if err == nil {
			err = endings.Apply(e)
		}
		if err != nil {
			break // the next reading reports it
		}
	}
	endings.Close(s.now())
	return endings, s.rewind()
}

// keep makes a fixture readable again: it copies a pipe to a temporary file.
func (s *session) keep() error {
	if s.rewind() == nil {
		return nil
	}
	tmp, err := os.CreateTemp("", "mcprec-*")
	if err != nil {
		return fmt.Errorf("read %s twice: %w", s.name, err)
	}
	os.Remove(tmp.Name())
	_, err = io.Copy(tmp, s.file)
	s.file.Close()
	s.file = tmp
	if err != nil {
		return fmt.Errorf("read %s: %w", s.name, err)
	}
	return s.rewind()
}

// rewind goes back to the first event.
func (s *session) rewind() error {
	if s.db != nil {
		return nil
	}
	f, ok := s.file.(io.Seeker)
	if !ok {
		return errors.ErrUnsupported
	}
	_, err := f.Seek(0, io.SeekStart)
	return err
}

// memoryLimit is more than a command needs that reads ordinary events one by one.
const memoryLimit = 64 << 20

// limitMemory makes the collector free a large event before the next is read, instead of
// waiting for as much garbage again. It is for commands that hold little else. The function
// that it returns ends that.
func limitMemory() (end func()) {
	before := debug.SetMemoryLimit(-1)
	debug.SetMemoryLimit(min(before, memoryLimit))
	return func() { debug.SetMemoryLimit(before) }
}
