package session

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/cli"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/output"
	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/boltstore"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
	"github.com/mcprec/mcprec/transport/phrase"
)

// Store is an open store that Close tidies.
type Store struct {
	*boltstore.Store
	Masker     Masker           // masks output
	Folder     string           // where the store's files are, and what commands keep beside them
	named      string           // the --store that it was opened by, or ""
	clock      func() time.Time // nil: the system's
	errs       io.Writer        // for faults on closing
	keepsFiles bool             // Close changes no file
	summaries
}

// Flag returns what a command to copy needs to find the store again: " --store DIR", or "" for the usual one.
func (db *Store) Flag() string {
	if db.named == "" {
		return ""
	}
	return " --store " + phrase.ShellWord(db.named)
}

// Close moves the spools of dead recorders into the databases, as far as that is quick, and
// closes the store. If the moving fails, the command does not: the spools are still there and
// still read. If OpenUnmasked, OpenReadOnly or OpenRecorder opened the store, Close changes no file.
func (db *Store) Close() error {
	if db.keepsFiles {
		return db.Store.Close()
	}
	defer cli.LimitMemory()()
	if err := db.Exposed(); err != nil {
		fmt.Fprintf(db.errs, "mcprec: %v\n", err)
	}
	if err := db.FoldDead(context.Background()); err != nil {
		fmt.Fprintf(db.errs, "mcprec: tidying the store: %v\n", err)
	}
	return db.Store.Close()
}

type clockKey struct{}

// WithClock returns a context for opening stores in which it is the time that now returns. The age
// of a live session is told by it.
func WithClock(ctx context.Context, now func() time.Time) context.Context {
	return context.WithValue(ctx, clockKey{}, now)
}

// ClockOf returns what WithClock gave a context; nil: the system's clock.
func ClockOf(ctx context.Context) func() time.Time {
	now, _ := ctx.Value(clockKey{}).(func() time.Time)
	return now
}

// now returns the present time of a live session.
func (db *Store) now() time.Time {
	if db.clock == nil {
		return time.Now()
	}
	return db.clock()
}

// IsGone reports whether a session could not be read because it was removed after the store listed it: by rm,
// prune, or the budget of a recorder. A command that reads many sessions leaves it out, and reports no fault.
func IsGone(err error) bool { return errors.Is(err, store.ErrNotFound) }

// Session returns a session that the store has listed.
func (db *Store) Session(found store.Session) *Session {
	return &Session{
		Name: "session " + string(found.ID), ID: found.ID, Start: found.Start, Head: found.Head.Seq, live: found.State == store.Live,
		Store: db, Masker: db.Masker.Of(found.Header),
	}
}

// Unmasked returns a session of the store, with the zero Masker.
func (db *Store) Unmasked(id store.SessionID) *Session {
	return &Session{Name: "session " + string(id), ID: id, Store: db}
}

// surelyID is how long the beginning of an id may be that Find looks up among the labels, too. If an id
// begins with a longer word, Find does not search the labels: no label has so many digits of an id by
// chance, and a search reads every header.
const surelyID = 12

// Find returns for "" the newest session in which something was said, else the only one whose id begins with name, else the
// newest with that label. If name is both, it prints which session it took.
func (db *Store) Find(ctx context.Context, name string) (none store.Session, _ error) {
	if name == "" {
		return db.newest(ctx)
	}
	found, faults := db.sessions(ctx, store.Query{Prefix: strings.ToLower(name), Newest: true, Limit: 11})
	if len(found) == 1 && len(name) > surelyID {
		return found[0], nil
	}
	labelled, labelFaults := db.Labelled(ctx, name)
	faults = errors.Join(faults, labelFaults)
	switch {
	case len(found) == 1:
		if len(labelled) > 0 && (len(labelled) > 1 || labelled[0].ID != found[0].ID) {
			fmt.Fprintf(db.errs, "mcprec: %s is a label as well; this is the session whose id begins so\n", output.Plain(name))
		}
		return found[0], nil
	case len(labelled) > 0:
		return labelled[0], nil
	case len(found) > 1:
		var list strings.Builder
		for _, s := range found[:min(len(found), 10)] {
			line := fmt.Sprintf("\n  %s  %s  %s", s.ID, s.Start.Local().Format(time.DateTime), output.Plain(db.Masker.Header(s.Header).Label))
			list.WriteString(strings.TrimRight(line, " "))
		}
		if len(found) > 10 {
			list.WriteString("\n  …")
		}
		return none, cli.Usagef("session %s is ambiguous; it begins%s", name, &list)
	case faults != nil:
		return none, faults
	}
	return none, cli.Usagef("%w", db.NotFound(name))
}

// newest returns the newest session that is live, or in which the client asked for something, if there is one among
// the newest 20; else one in which something was said. It says which newer one it left out.
func (db *Store) newest(ctx context.Context) (none store.Session, _ error) {
	found, faults := db.sessions(ctx, store.Query{Newest: true, Limit: 20})
	said := -1 // the newest session with a message
	for i, s := range found {
		if s.State == store.Live || s.Frames > 0 && db.hasAsked(ctx, s) {
			if i > 0 && db.errs != nil {
				fmt.Fprintf(db.errs, "mcprec: this is session %s; in the newest, %s, the client asked for nothing but the handshake\n", s.ID, found[0].ID)
			}
			return s, nil
		}
		if said < 0 && s.Frames > 0 {
			said = i
		}
	}
	switch {
	case len(found) > 0:
		return found[max(said, 0)], nil
	case faults != nil:
		return none, faults
	}
	return none, cli.Usagef("%w", db.NotFound(""))
}

// askedWithin is how many events are read for the first thing that a client asks for.
const askedWithin = 1000

// hasAsked reports whether the client of a session asked for more than the handshake, as a probe does not, or has no
// answer to that: a server that does not start is what a user asks about.
func (db *Store) hasAsked(ctx context.Context, s store.Session) bool {
	unanswered := 0 // requests of the handshake
	for step, err := range timeline.Steps(db.Read(ctx, s.ID, 1, store.ReadOptions{})) {
		switch {
		case err != nil:
			return true // the command reports it
		case step.Seq > askedWithin:
			return unanswered > 0
		case step.Kind != store.Frame:
			continue
		case len(step.Messages) == 0 && step.Dir == transport.ClientToServer: // such as one that is cut
			return true
		}
		for _, m := range step.Messages {
			switch {
			case m.Kind == transport.Response && step.Dir == transport.ServerToClient:
				unanswered--
			case m.Kind != transport.Request || step.Dir != transport.ClientToServer:
			case !mcp.Greets(m.Method):
				return true
			default:
				unanswered++
			}
		}
	}
	return unanswered > 0
}

// NotFoundError says that the store has no such session. One may still come.
type NotFoundError struct {
	Location string // of the store
	Name     string // an id or a label; "": the store is empty
	Missing  bool   // there is no store
}

// NotFound returns the error for an id or a label that no session has, or for "".
func (db *Store) NotFound(name string) *NotFoundError {
	return &NotFoundError{db.Info().Location, name, db.Missing()}
}

// Missing reports whether the folder of the store is not there. A recorder makes it.
func (db *Store) Missing() bool {
	_, err := os.Stat(db.Folder)
	return errors.Is(err, fs.ErrNotExist)
}

// Error says what to do as well.
func (e *NotFoundError) Error() string {
	if e.Missing {
		return fmt.Sprintf("there is no store in %s yet; mcprec record -- COMMAND makes one", e.Location)
	}
	if e.Name == "" {
		return fmt.Sprintf("no session in %s yet; make one with mcprec record -- COMMAND", e.Location)
	}
	return fmt.Sprintf("no session has the id or the label %s in %s; mcprec list shows them", e.Name, e.Location)
}

// sessions lists the sessions that can be read, with what is wrong with the others.
func (db *Store) sessions(ctx context.Context, q store.Query) (found []store.Session, faults error) {
	for s, err := range db.Sessions(ctx, q) {
		if err != nil {
			faults = errors.Join(faults, err)
			continue
		}
		found = append(found, s)
	}
	return found, faults
}

// Labelled returns the sessions with a label, newest first; none for "".
func (db *Store) Labelled(ctx context.Context, label string) ([]store.Session, error) {
	if label == "" {
		return nil, nil
	}
	found, faults := db.sessions(ctx, store.Query{Newest: true})
	return WithLabel(found, label), faults
}

// WithLabel returns the sessions of a list that have a label. If none has it, a plain word is the name of a server,
// as mcprec wrap labels it.
func WithLabel(list []store.Session, label string) (found []store.Session) {
	for _, wanted := range []string{label, "server=" + label} {
		for _, s := range list {
			if HasLabel(s.Header, wanted) {
				found = append(found, s)
			}
		}
		if len(found) > 0 || label == "" || strings.Contains(label, "=") {
			return found
		}
	}
	return nil
}

// HasLabel reports whether a session has a label: a plain one, which may be NAME=VALUE, or the
// value of a name.
func HasLabel(h store.Header, label string) bool {
	if h.Label == label {
		return true
	}
	name, value, ok := strings.Cut(label, "=")
	has, named := h.Labels[name]
	return ok && named && has == value
}

// LabelList returns a plain label and NAME=VALUE of the others, by name.
func LabelList(plain string, named map[string]string) (list []string) {
	if plain != "" {
		list = append(list, plain)
	}
	for _, name := range slices.Sorted(maps.Keys(named)) {
		list = append(list, name+"="+named[name])
	}
	return list
}

// Labels returns the labels of a session in a line.
func Labels(h store.Header) string { return strings.Join(LabelList(h.Label, h.Labels), " ") }
