package session

import (
	"context"
	"errors"
	"io"
	"iter"
	"sync"
	"time"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/exit"
	"github.com/mcprec/mcprec/replay/summary"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/boltstore"
	"github.com/mcprec/mcprec/store/diagnosis"
	"github.com/mcprec/mcprec/store/jetstream"
	"github.com/mcprec/mcprec/store/objects"
	"github.com/mcprec/mcprec/store/outbox"
)

// This file alone knows which kinds of stores there are. All else of the command asks a [Store] for
// what it can do.

// place is where a store is: a folder, or a shared store that a URL names.
type place struct {
	folder   string            // "" for a shared store
	text     string            // the URL as it was given
	location string            // the folder, or the URL without credentials and parameters
	stream   jetstream.Options // of nats://; without servers for the others
	bucket   objects.Options   // of s3://
}

// readStream reads the URL of a store in NATS JetStream.
func (p *place) readStream() (err error) {
	p.stream, err = jetstream.ParseURL(p.text)
	p.stream.Name = "mcprec"
	p.location = p.stream.URL()
	return err
}

// Values of RecordOptions.Sync beside a duration.
const (
	SyncAlways = boltstore.SyncAlways // before a frame is passed on
	SyncNone   = boltstore.SyncNone   // only when the session has ended
)

// RecordOptions configures a store that is recorded into.
type RecordOptions struct {
	Sync time.Duration // how soon frames are on the disk; 0: 50 ms
	// Of a shared store only:
	KeyFile                  string      // has the key of a team for placeholders; "": the machine's own
	SessionLimit, TotalLimit int64       // bytes of a session, and of all, that may wait; 0: 1 GiB and 10 GiB
	Trouble                  func(error) // is told why a session is not sent any further; nil: nobody is
}

// OpenStore opens the store. Faults on closing are written to errs.
func OpenStore(ctx context.Context, home Home, errs io.Writer) (*Store, error) {
	db, err := OpenAsIs(ctx, home)
	if err != nil {
		return nil, err
	}
	db.errs = errs
	db.asIs = false
	return withMasker(db, home, db)
}

// OpenReadOnly opens the store for a reader that must not change it: no key is made, no summary
// is kept, and Close tidies nothing.
func OpenReadOnly(ctx context.Context, home Home) (*Store, error) {
	db, err := OpenAsIs(ctx, home)
	if err != nil {
		return nil, err
	}
	return withMasker(db, home, nil)
}

// OpenAsIs opens the store for a caller that masks what leaves it. No summary is kept, and Close
// tidies nothing.
func OpenAsIs(ctx context.Context, home Home) (*Store, error) {
	p, err := home.place()
	if err != nil {
		return nil, err
	}
	if p.folder != "" {
		db, err := openFolder(p, RecordOptions{})
		if err != nil {
			return nil, err
		}
		db.clock = ClockOf(ctx)
		return db, nil
	}
	p.stream.MustExist = true // a reader that mistypes a name is told so
	db, err := openShared(ctx, p)
	if err != nil {
		return nil, p.hidden(err)
	}
	return &Store{Store: db, place: p, clock: ClockOf(ctx), asIs: true}, nil
}

// MakeStreams makes the streams of a shared store, unless they exist, and returns where it is. maxBytes
// bounds the events that each server keeps; 0: no bound.
func MakeStreams(ctx context.Context, home Home, maxBytes int64) (place string, err error) {
	p, err := home.place()
	if err != nil {
		return "", err
	}
	if len(p.stream.Servers) == 0 {
		return "", exit.Usagef("%s has no streams: want nats://HOST/STREAM", p)
	}
	p.stream.MaxBytes = maxBytes
	db, err := openShared(ctx, p)
	if err != nil {
		return "", p.hidden(err)
	}
	return p.String(), db.Close()
}

// OpenRecorder opens the store that sessions are recorded into, as OpenAsIs: a folder, or the outbox of
// a shared store.
func OpenRecorder(home Home, options RecordOptions) (*Store, error) {
	p, err := home.place()
	if err != nil {
		return nil, err
	}
	if p.folder != "" {
		return openFolder(p, options)
	}
	if err := p.recordable(); err != nil {
		return nil, err
	}
	db, err := openOutbox(p, options)
	if err != nil {
		return nil, p.hidden(err)
	}
	return &Store{Store: db, place: p, asIs: true}, nil
}

// CheckRecordable returns an error if the place of the store is wrong, or is one that nothing can be
// recorded into. It opens nothing.
func CheckRecordable(home Home) error {
	p, err := home.place()
	if err != nil {
		return err
	}
	return p.recordable()
}

func (p place) recordable() error {
	if p.bucket.Bucket != "" {
		return exit.Usagef("%s cannot be recorded into: record to a folder, then mcprec store archive", p)
	}
	return nil
}

func openFolder(p place, options RecordOptions) (*Store, error) {
	db, err := boltstore.Open(p.folder, boltstore.Options{Sync: options.Sync, Mask: maskFold})
	if err != nil {
		return nil, err
	}
	return &Store{Store: db, Folder: db.Info().Location, place: p, asIs: true}, nil
}

const (
	// openIn is how long opening a bucket may take: a reader that waits longer takes it for hung.
	openIn = 5 * time.Second
	// electedIn is how long opening streams may take. Servers that do not answer take five seconds of it;
	// the rest is for the election of a leader, which takes four to nine.
	electedIn = 15 * time.Second
)

// holdBack is how long a recorder's machine keeps what a shared store has acknowledged.
const holdBack = 5 * time.Minute

// openShared opens a shared store.
func openShared(ctx context.Context, p place) (store.Store, error) {
	patience := electedIn
	if p.bucket.Bucket != "" {
		patience = openIn
	}
	ctx, stop := context.WithTimeout(ctx, patience)
	defer stop()
	if p.bucket.Bucket != "" {
		return objects.Open(ctx, p.bucket)
	}
	return jetstream.Open(ctx, p.stream)
}

// Facts are what can be learned of where a store is. One of them is there.
type Facts struct {
	Place   string // without credentials
	Folder  string // of a store in a folder: it has no further facts here
	Cluster *diagnosis.Cluster
	Bucket  *diagnosis.Bucket
}

// Inspect gathers the facts of a store that may not answer. monitor are the monitoring URLs of NATS
// servers.
func Inspect(ctx context.Context, home Home, monitor []string) (Facts, error) {
	p, err := home.place()
	if err != nil {
		return Facts{}, err
	}
	facts := Facts{Place: p.String(), Folder: p.folder}
	switch {
	case p.folder != "":
	case len(p.stream.Servers) > 0:
		facts.Cluster = jetstream.Inspect(ctx, p.stream, monitor)
		facts.Cluster.Needs.HoldBack = holdBack
	default:
		facts.Bucket = objects.Inspect(ctx, p.bucket)
		facts.Bucket.Address = facts.Place
	}
	return facts, nil
}

// ArchiveRules say which sessions Archive copies, and how.
type ArchiveRules struct {
	Before time.Time // sessions that ended before
	Delete bool      // those that are whole in the archive go from the store
	DryRun bool      // nothing is changed
	// Stays reports whether a session stays in the store whatever Delete says; nil: none does.
	Stays func(store.Session) bool
}

// Archived is what became of a session, or with a dry run what would.
type Archived struct {
	Session store.Session // of the store
	Copied  bool          // by this archive; false: the bucket had it
	Deleted bool          // from the store
	Err     error
}

// Archive copies sealed sessions of the store into the bucket that `to` names, masked by the rules of `to`
// and with the key of the store, and reports each.
func (db *Store) Archive(ctx context.Context, to Home, rules ArchiveRules, report func(Archived)) error {
	p, err := to.place()
	if err != nil {
		return err
	}
	if p.bucket.Bucket == "" {
		return exit.Usagef("%s is no bucket: want s3://BUCKET/PREFIX", p)
	}
	opening, stop := context.WithTimeout(ctx, openIn)
	defer stop()
	bucket, err := objects.Open(opening, p.bucket)
	if err != nil {
		return err
	}
	from := &staying{Store: db.Store, stays: rules.Stays}
	err = objects.Archive(ctx, from, bucket, objects.ArchiveOptions{
		Rule: objects.Rule{Before: rules.Before, Delete: rules.Delete}, DryRun: rules.DryRun,
		Mask: func(header store.Header) (func(store.Event) store.Event, error) {
			return db.Masker.Of(header).InOrder(), nil
		},
		Summary: func() (apply func(store.Event) error, encode func() []byte) {
			fold := shippedSummary{summary.NewFold()}
			return fold.Apply, fold.Data
		},
		Report: func(archived objects.Archived) {
			done := Archived{Session: archived.Session, Copied: archived.Step == objects.Copy, Deleted: archived.Deleted, Err: archived.Err}
			if rules.DryRun && rules.Delete {
				done.Deleted = rules.Stays == nil || !rules.Stays(archived.Session)
			}
			if errors.Is(done.Err, errStays) {
				done.Err = nil
			}
			report(done)
		},
	})
	return errors.Join(err, bucket.Close())
}

// errStays: the session is not deleted, because it is to stay.
var errStays = errors.New("it is kept")

// staying is a store from which some sessions are not deleted.
type staying struct {
	store.Store
	mutex sync.Mutex
	stays func(store.Session) bool
	kept  map[store.SessionID]bool
}

// Sessions lists the sessions, and remembers which stay.
func (s *staying) Sessions(ctx context.Context, query store.Query) iter.Seq2[store.Session, error] {
	return func(yield func(store.Session, error) bool) {
		for found, err := range s.Store.Sessions(ctx, query) {
			if err == nil && s.stays != nil && s.stays(found) {
				s.mutex.Lock()
				if s.kept == nil {
					s.kept = map[store.SessionID]bool{}
				}
				s.kept[found.ID] = true
				s.mutex.Unlock()
			}
			if !yield(found, err) {
				return
			}
		}
	}
}

// Delete deletes a session that is not to stay.
func (s *staying) Delete(ctx context.Context, id store.SessionID) error {
	s.mutex.Lock()
	kept := s.kept[id]
	s.mutex.Unlock()
	if kept {
		return errStays
	}
	return s.Store.Delete(ctx, id)
}

// openOutbox opens the outbox of a shared store. Its connection is opened when there is something to send.
func openOutbox(p place, options RecordOptions) (*outbox.Outbox, error) {
	team, err := readTeamKey(options.KeyFile)
	if err != nil {
		return nil, err
	}
	folder, err := OutboxFolder(p.text)
	if err != nil {
		return nil, err
	}
	local, err := boltstore.Open(folder, boltstore.Options{Sync: options.Sync, Outbox: true})
	if err != nil {
		return nil, err
	}
	key, err := shippingKey(local, folder, team)
	if err == nil {
		err = p.keepURL(folder)
	}
	if err != nil {
		return nil, errors.Join(err, local.Close())
	}
	open := func(ctx context.Context) (outbox.Shared, error) {
		db, err := openShared(ctx, p)
		if err != nil {
			return nil, p.hidden(err)
		}
		return db.(outbox.Shared), nil // a store that is recorded into takes claims
	}
	return outbox.New(local, open, outbox.Options{
		Target:       p.String(),
		Mask:         func(header store.Header) (func(store.Event) store.Event, error) { return maskShipped(key, header) },
		Summarize:    func() outbox.Summary { return shippedSummary{summary.NewFold()} },
		SessionLimit: options.SessionLimit, TotalLimit: options.TotalLimit, HoldBack: holdBack, Trouble: options.Trouble,
	}), nil
}

// shippingKey returns the key for placeholders of what leaves an outbox: that of the team, else the one
// that the outbox has used before, else the machine's, which is that of the state folder. The outbox
// keeps it, for those who send later what is left.
func shippingKey(local *boltstore.Store, folder string, team []byte) ([]byte, error) {
	if team == nil {
		key, err := boltstore.ReadKey(folder)
		if err == nil {
			return key, nil
		}
		team, err = machineKey()
		if err != nil {
			return nil, err
		}
	}
	return team, local.UseKey(team)
}

// machineKey returns the machine's key for placeholders, and makes it if need be.
func machineKey() ([]byte, error) {
	state, err := StateFolder()
	if err != nil {
		return nil, err
	}
	machine, err := boltstore.Open(state, boltstore.Options{})
	if err != nil {
		return nil, err
	}
	key, err := machine.RedactionKey()
	return key, errors.Join(err, machine.Close())
}

// maskedFor returns the events of a session as the store is to have them: masked for a shared store, with
// the key of this machine's recorders, and as they are for a folder.
func (db *Store) maskedFor(header store.Header, events []store.Event) ([]store.Event, error) {
	if db.Folder != "" {
		return events, nil
	}
	var key []byte
	folder, err := OutboxFolder(db.place.text) // a bucket has none
	if err == nil {
		key, err = boltstore.ReadKey(folder)
	}
	if err != nil {
		key, err = machineKey()
	}
	if err != nil {
		return nil, err
	}
	mask, err := maskShipped(key, header)
	if err != nil {
		return nil, err
	}
	masked := make([]store.Event, len(events))
	for i, event := range events {
		masked[i] = mask(event)
	}
	return masked, nil
}

// readKey returns the key for placeholders of a store that is not open, if it has one. What is shown
// of a shared store has the placeholders of the state folder.
func readKey(p place) ([]byte, error) {
	folder := p.folder
	if folder == "" {
		var err error
		if folder, err = StateFolder(); err != nil {
			return nil, err
		}
	}
	return boltstore.ReadKey(folder)
}

// withMasker sets the masker of a store, with the key of keyed, and closes the store if that fails.
func withMasker(db *Store, home Home, keyed store.Store) (*Store, error) {
	masker, err := home.Masker(keyed)
	if err != nil {
		return nil, errors.Join(err, db.Store.Close())
	}
	db.Masker = masker
	return db, nil
}
