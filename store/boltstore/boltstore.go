package boltstore

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/mcprec/mcprec/store"
)

// When the disk is told of a write, as Options.Sync.
const (
	SyncDefault time.Duration = 0  // 50 ms after it
	SyncAlways  time.Duration = -1 // before Write returns
	SyncNone    time.Duration = -2 // only at Close
)

// Options says how a store behaves. The zero value is right for most.
type Options struct {
	// Sync is the longest time from a write to a spool until the disk is told:
	// a duration, or one of the constants above.
	Sync time.Duration
	// Patience is how long a call waits for another process that holds a
	// database. 0: 10 s.
	Patience time.Duration
	// FoldBudget is how long one FoldDead folds before it leaves the rest for
	// later. 0: 250 ms.
	FoldBudget time.Duration
	// CloseBudget is how long the Close of a spool folds before it leaves the
	// rest for whoever folds next. 0: 100 ms.
	CloseBudget time.Duration
	// Mask returns what masks the events, in their order, of a session whose header says
	// that it is kept so: before they go from its spool into the database. The key is the
	// store's. nil: the spool of such a session is left to a program that can mask it.
	Mask func(key []byte, h store.Header) (func(store.Event) store.Event, error)
}

// Store is a store in a folder. Goroutines and processes may share the folder; all
// methods are safe for concurrent use.
type Store struct {
	*directory
	databases
	spools
	opts Options
}

// directory is what all parts of a Store share: where its files are, and whether it is open.
type directory struct {
	dir      string
	disk     disk
	patience time.Duration // see Options

	mu      sync.Mutex
	closed  bool
	done    chan struct{}  // closed by Close
	running sync.WaitGroup // calls and spools between begin and end
}

// databases are the files with what is folded. They know nothing of spools.
type databases struct{ *directory }

// spools are the files of live sessions and of those that are not folded yet, and their
// locks. They know nothing of databases.
type spools struct{ *directory }

var (
	_ store.Store    = (*Store)(nil)
	_ store.Spooler  = (*Store)(nil)
	_ store.Verifier = (*Store)(nil)
	_ store.Keyed    = (*Store)(nil)
)

// Open returns the store in dir, which need not exist yet. It touches no file.
func Open(dir string, o Options) (*Store, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("open store %s: %v", dir, err)
	}
	if o.Sync == SyncDefault {
		o.Sync = 50 * time.Millisecond
	}
	if o.Patience <= 0 {
		o.Patience = 10 * time.Second
	}
	if o.FoldBudget <= 0 {
		o.FoldBudget = 250 * time.Millisecond
	}
	if o.CloseBudget <= 0 {
		o.CloseBudget = 100 * time.Millisecond
	}
	f := &directory{dir: abs, disk: theDisk(), patience: o.Patience, done: make(chan struct{})}
	return &Store{directory: f, databases: databases{f}, spools: spools{f}, opts: o}, nil
}

// Info says what the store is.
func (s *Store) Info() store.Info {
	return store.Info{Name: "bbolt", Location: s.dir, Durability: "disk"}
}

// Close waits for the calls that run, and ends followers.
func (s *Store) Close() error {
	s.mu.Lock()
	if !s.closed {
		s.closed = true
		close(s.done)
	}
	s.mu.Unlock()
	s.running.Wait()
	return nil
}

// begin starts a call that Close must wait for; the caller calls end.
func (f *directory) begin(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return store.ErrClosed
	}
	f.running.Add(1)
	return nil
}

func (f *directory) end() { f.running.Done() }

// makeFolders makes the store's folders. It reports whether there were none before;
// their names are then not durable until syncDir(s.dir). Of those that are there it
// takes the rights of others, and it follows no symbolic link: what is in there must be
// where nobody else can put or read it. The folder above is its user's choice.
func (f *directory) makeFolders() (made bool, err error) {
	for _, d := range []string{f.spoolDir(), f.storeDir()} {
		info, err := os.Lstat(d)
		switch {
		case err == nil && info.Mode()&fs.ModeSymlink != 0:
			return made, f.refuseLinks()
		case err == nil && !info.IsDir():
			return made, fmt.Errorf("%s is %s, where a folder of the store should be; move it away", d, kindOfFile(info.Mode()))
		case err == nil && info.Mode().Perm()&0o077 == 0:
			continue
		case err == nil:
			_ = os.Chmod(d, info.Mode().Perm()&0o700) // if it is not ours it stays as it is
			continue
		}
		if err := makeFolder(d); err != nil {
			return made, err
		}
		made = true
	}
	return made, nil
}

// makeFolder makes a folder, and those above it that are missing, for their user alone; of
// what is there it changes nothing.
func makeFolder(path string) error {
	err := os.Mkdir(path, 0o700)
	if errors.Is(err, fs.ErrNotExist) {
		if err := makeFolder(filepath.Dir(path)); err != nil {
			return err
		}
		err = os.Mkdir(path, 0o700)
	}
	switch {
	case err == nil:
		return os.Chmod(path, 0o700) // a umask may have taken some of that
	case errors.Is(err, fs.ErrExist):
		if info, statErr := os.Stat(path); statErr == nil && info.IsDir() {
			return nil
		}
	}
	return err
}

// refuseLinks refuses folders that are symbolic links.
func (f *directory) refuseLinks() error {
	for _, d := range []string{f.spoolDir(), f.storeDir()} {
		if info, err := os.Lstat(d); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			return fmt.Errorf("%s is a symbolic link; make it a folder, or link the folder above it", d)
		}
	}
	return nil
}

// makePrivate takes the rights of others to a file of ours that has some.
func makePrivate(f *os.File) {
	if info, err := f.Stat(); err == nil && info.Mode().Perm()&0o077 != 0 {
		_ = f.Chmod(0o600)
	}
}

func (f *directory) spoolDir() string { return filepath.Join(f.dir, "spool") }
func (f *directory) storeDir() string { return filepath.Join(f.dir, "store") }

func (s spools) spoolPath(id store.SessionID) string { return s.spoolFile(id, ".log") }

// spoolFile returns the path of a session's file in the folder of the spools.
func (s spools) spoolFile(id store.SessionID, ending string) string {
	return filepath.Join(s.spoolDir(), string(id)+ending)
}

func (d databases) databasePath(key [16]byte) string {
	return filepath.Join(d.storeDir(), databaseName(key)+".db")
}

// databaseName returns the name of the database that holds a session.
func databaseName(key [16]byte) string {
	if key[6]>>4 != 7 {
		return "other"
	}
	return startOf(key).Format("200601")
}

// startOf returns the time in a version 7 id.
func startOf(key [16]byte) time.Time {
	return time.UnixMilli(int64(binary.BigEndian.Uint64(key[:]) >> 16)).UTC()
}

// sessionID is the inverse of SessionID.Bytes.
func sessionID(key [16]byte) store.SessionID {
	h := hex.EncodeToString(key[:])
	return store.SessionID(h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:])
}

// databasePaths returns those of the store's databases, and says what else has a name
// that ends like theirs: it is left alone.
func (d databases) databasePaths() (paths []string, foreign []error, err error) {
	entries, err := readDir(d.storeDir())
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), ".db")
		path := filepath.Join(d.storeDir(), e.Name())
		switch {
		case !ok:
		case isDatabaseName(name) && !e.Type().IsRegular(): // see oddFiles
		case !isDatabaseName(name):
			foreign = append(foreign, fmt.Errorf("%s is left alone: databases of the store are named by the month, like 202611.db; give it its name back if it was one, or move it away", path))
		default:
			paths = append(paths, path)
		}
	}
	return paths, foreign, err
}

// readDir is os.ReadDir; where nothing was recorded there is nothing.
func readDir(path string) ([]fs.DirEntry, error) {
	entries, err := os.ReadDir(path)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return entries, err
}

// sessionFile is a regular file in the folder of the spools whose name has a session's id.
type sessionFile struct {
	id           store.SessionID
	ending, path string
}

func (s spools) files() (files []sessionFile, err error) {
	entries, err := readDir(s.spoolDir())
	for _, e := range entries {
		name, ending, _ := strings.Cut(e.Name(), ".")
		if id, err := store.ParseSessionID(name); err == nil && e.Type().IsRegular() {
			files = append(files, sessionFile{id, "." + ending, filepath.Join(s.spoolDir(), e.Name())})
		}
	}
	return files, err
}

// isDatabaseName reports whether a database may have that name, without its ending.
func isDatabaseName(name string) bool {
	if name == "other" {
		return true
	}
	return len(name) == 6 && strings.Trim(name, "0123456789") == ""
}

// belongsIn reports whether a session belongs into a database, or into what is to take its
// place.
func belongsIn(path string, key []byte) bool {
	name, _, _ := strings.Cut(filepath.Base(path), ".db")
	return databaseName([16]byte(key)) == name
}

// misplacedError says that a database holds sessions that belong into others. Nobody looks for
// them there.
func misplacedError(path string, n int) error {
	return fmt.Errorf("%s holds sessions of other months: %d, which are looked for only in the databases of theirs; is it a copy? move it away, or give it its name back", path, n)
}

// keySize is that of the key with which secrets are replaced.
const keySize = 32

const keyName = "redact.key"

// RedactionKey returns the key in the file redact.key, which whoever needs it first
// makes. It is whole when it has its name, and is never changed.
func (s *Store) RedactionKey() ([]byte, error) {
	path := filepath.Join(s.dir, keyName)
	key, err := readKey(path)
	if err == nil || !errors.Is(err, os.ErrNotExist) {
		return key, err
	}
	if err := s.makeKey(path); err != nil {
		return nil, fmt.Errorf("make key %s: %w", path, err)
	}
	return readKey(path)
}

// ReadKey returns the key of the store in a folder, if it has one.
func ReadKey(dir string) ([]byte, error) { return readKey(filepath.Join(dir, keyName)) }

// readKey reads a key file. It does not follow a symbolic link.
func readKey(path string) ([]byte, error) {
	f, err := openRegular(path, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	makePrivate(f)
	text, err := io.ReadAll(io.LimitReader(f, 1<<10))
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, err
	}
	key, err := parseKey(text)
	if err != nil {
		return nil, fmt.Errorf("read key %s: %v; remove it to have a new one", path, err)
	}
	return key, nil
}

// parseKey reads what a key file holds.
func parseKey(text []byte) ([]byte, error) {
	key, err := hex.DecodeString(string(bytes.TrimSpace(text)))
	if err != nil || len(key) != keySize {
		return nil, fmt.Errorf("not %d bytes in hexadecimal", keySize)
	}
	return key, nil
}

// makeKey makes a key file, unless another process is first.
func (f *directory) makeKey(path string) error {
	if err := makeFolder(f.dir); err != nil {
		return err
	}
	key := make([]byte, keySize)
	if _, err := rand.Read(key); err != nil {
		return err
	}
	temp, err := os.CreateTemp(f.dir, ".redact-key-*") // 0600
	if err != nil {
		return err
	}
	defer os.Remove(temp.Name())
	_ = temp.Chmod(0o600) // a umask may have taken some of that
	_, err = fmt.Fprintln(temp, hex.EncodeToString(key))
	if err = errors.Join(err, temp.Sync(), temp.Close()); err != nil {
		return err
	}
	if err := os.Link(temp.Name(), path); err != nil && !errors.Is(err, os.ErrExist) {
		return os.Rename(temp.Name(), path) // a filesystem without links
	}
	return syncDir(f.dir)
}
