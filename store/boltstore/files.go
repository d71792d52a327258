package boltstore

import (
	"bytes"
	"context"
	"crypto/rand"
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

	"github.com/gofrs/flock"

	"github.com/mcprec/mcprec/store"
)

// directory is shared by all parts of a Store: where the files are, and whether the store is open.
type directory struct {
	dir      string
	disk     disk
	patience time.Duration // how long to wait for locks
	// replaceNeedsClosed says that a file can be replaced only while nobody has it open, as on
	// Windows; see holdNames.
	replaceNeedsClosed bool

	mu      sync.Mutex
	closed  bool
	done    chan struct{}  // closed by Close
	running sync.WaitGroup // calls and spools between begin and end
}

// begin starts a call, for which Close must wait; the caller calls end.
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

// call runs a function between begin and end. The error names the attempt.
func (f *directory) call(ctx context.Context, what string, run func(context.Context) error) error {
	err := f.begin(ctx)
	if err == nil {
		defer f.end()
		err = run(ctx)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// makeFolders makes the store's folders, and reports whether any was missing: new names are
// durable only after syncDir(f.dir). makeFolders takes other users' rights from existing folders and
// follows no symbolic link, because nobody else may put files there or read them. The folder
// above is the user's choice.
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
			_ = os.Chmod(d, info.Mode().Perm()&0o700) // fails for another user's folder, which then stays
			continue
		}
		if err := makeFolder(d); err != nil {
			return made, err
		}
		made = true
	}
	return made, nil
}

// makeFolder makes a folder and missing parents for the user alone, and changes no
// existing folder.
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

// refuseLinks returns an error if a folder is a symbolic link.
func (f *directory) refuseLinks() error {
	for _, d := range []string{f.spoolDir(), f.storeDir()} {
		if info, err := os.Lstat(d); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			return fmt.Errorf("%s is a symbolic link; make it a folder, or link the folder above it", d)
		}
	}
	return nil
}

// makePrivate takes other users' rights from a file.
func makePrivate(file *os.File) {
	if info, err := file.Stat(); err == nil && info.Mode().Perm()&0o077 != 0 {
		_ = file.Chmod(0o600)
	}
}

func (f *directory) spoolDir() string { return filepath.Join(f.dir, "spool") }

func (f *directory) storeDir() string { return filepath.Join(f.dir, "store") }

// readDir is os.ReadDir, but a missing folder is empty.
func readDir(path string) ([]fs.DirEntry, error) {
	entries, err := os.ReadDir(path)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return entries, err
}

// oddFiles returns folders, pipes and links in the place of files of the store.
func (f *directory) oddFiles() (found []*oddFile) {
	for _, folder := range []struct {
		path string
		ours func(name, end string) bool
	}{
		{f.dir, func(name, end string) bool { return name == "redact" && end == "key" }},
		{f.spoolDir(), func(name, end string) bool {
			_, err := store.ParseSessionID(name)
			return err == nil && strings.Contains(" log lock damaged ", " "+end+" ") || name == "fold" && end == "lock"
		}},
		{f.storeDir(), func(name, end string) bool {
			return isDatabaseName(name) && end == "db" || end == "lock" && strings.Contains(" alone compact create exchange ", " "+name+" ")
		}},
	} {
		entries, _ := os.ReadDir(folder.path) // other calls report errors
		for _, e := range entries {
			name, end, _ := strings.Cut(e.Name(), ".")
			if !e.Type().IsRegular() && folder.ours(name, end) {
				found = append(found, &oddFile{filepath.Join(folder.path, e.Name()), e.Type()})
			}
		}
	}
	return found
}

// Odd returns an error with the names of the folders, pipes and links in the place of files of the
// store.
func (f *directory) Odd() error {
	var faults []error
	for _, odd := range f.oddFiles() {
		faults = append(faults, odd)
	}
	return errors.Join(faults...)
}

// Exposed returns an error if every user of the machine can put files into the store's
// folder and take files out.
func (f *directory) Exposed() error {
	info, err := os.Stat(f.dir)
	if err != nil || !modesTell || info.Mode().Perm()&0o002 == 0 || info.Mode()&fs.ModeSticky != 0 {
		return nil
	}
	return fmt.Errorf("%s can be written to by every user of this machine; chmod go-w takes that right away", f.dir)
}

// setAside renames an odd file. A lock keeps a second process from renaming the file that the
// first has made under the same name.
func (f *directory) setAside(path string) (kept string, err error) {
	guard := flock.New(filepath.Dir(path), flock.SetFlag(os.O_RDONLY))
	if err := guard.Lock(); err != nil {
		return "", err
	}
	defer func() { _ = guard.Close() }()
	if _, err := regular(path); !isOdd(err) {
		return "", err
	}
	kept = freeName(path, ".aside")
	return kept, f.disk.rename(path, kept, true)
}

// freeName returns an unused name for a file to be kept for the user.
func freeName(path, ending string) string {
	for n := 1; ; n++ {
		name := path + ending
		if n > 1 {
			name = fmt.Sprintf("%s-%d", name, n)
		}
		if _, err := os.Lstat(name); err != nil {
			return name
		}
	}
}

// sweep removes files from the folder of the databases by a pattern and a least age.
func (f *directory) sweep(pattern string, age time.Duration) {
	entries, _ := readDir(f.storeDir())
	for _, e := range entries {
		info, err := e.Info()
		if ours, _ := filepath.Match(pattern, e.Name()); ours && err == nil && (age == 0 || time.Since(info.ModTime()) > age) {
			_ = f.disk.remove(filepath.Join(f.storeDir(), e.Name()))
		}
	}
}

// lockFile takes an exclusive lock. With wait it waits up to the patience of the store;
// without, it returns nil for a lock that is taken.
func (f *directory) lockFile(ctx context.Context, path string, wait bool) (unlock func(), err error) {
	if !wait {
		ctx = withNoWait(ctx)
	}
	unlock, err = f.takeLock(ctx, path, false)
	if !wait && errors.Is(err, store.ErrBusy) {
		return nil, nil
	}
	return unlock, err
}

// takeLock takes a lock, and waits for it up to the patience of the store.
func (f *directory) takeLock(ctx context.Context, path string, shared bool) (unlock func(), err error) {
	if _, err := regular(path); isOdd(err) { // no process can hold a lock there
		if _, err := f.setAside(path); err != nil {
			return nil, err
		}
	}
	l := flock.New(path, flock.SetFlag(os.O_CREATE|os.O_RDONLY|noFollow|noBlock), flock.SetPermissions(0o600))
	err = f.retry(ctx, func() error {
		ok, err := f.disk.tryLock(l, shared)
		if err == nil && !ok {
			err = fmt.Errorf("lock %s: %w", path, store.ErrBusy)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return func() { _ = l.Close() }, nil
}

// holdNames keeps the databases under their names until release is called; with exchange nobody
// else has one open meanwhile, and the caller may put another file in its place. It is needed
// where only closed files can be exchanged. Elsewhere it does nothing: a process exchanges a database
// under its lock, and one that has waited for that lock checks whether the file still has its name.
func (f *directory) holdNames(ctx context.Context, exchange bool) (release func(), err error) {
	if !f.replaceNeedsClosed {
		return func() {}, nil
	}
	release, err = f.takeLock(ctx, filepath.Join(f.storeDir(), "exchange.lock"), !exchange)
	if !exchange && errors.Is(err, fs.ErrPermission) { // nobody exchanges a file in a folder that cannot be written to
		return func() {}, nil
	}
	return release, err
}

const lockRetry = 1500 * time.Microsecond // between two tries for a lock

// retry calls try again while it returns store.ErrBusy, as long as the store has patience. With
// a context of withNoWait there is a single try.
func (f *directory) retry(ctx context.Context, try func() error) error {
	for deadline := time.Now().Add(f.patience); ; {
		err := try()
		if !errors.Is(err, store.ErrBusy) || ctx.Value(noWaitKey{}) != nil || time.Now().After(deadline) {
			return err
		}
		select {
		case <-time.After(lockRetry):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// noWaitKey is the key of a context without a wait for the lock of a database.
type noWaitKey struct{}

func withNoWait(ctx context.Context) context.Context {
	return context.WithValue(ctx, noWaitKey{}, true)
}

// underName reports whether path still names an open file.
func underName(file interface{ Stat() (fs.FileInfo, error) }, path string) bool {
	held, err1 := file.Stat()
	named, err2 := os.Stat(path)
	return err1 == nil && err2 == nil && os.SameFile(held, named)
}

// opening would block, a folder, a symbolic link. The store opens regular files only and
// ignores the others. FoldDead and Verify name such files, and Repair renames them.

// oddFile is the error for a folder, pipe or link in the place of a file of the store.
type oddFile struct {
	path string
	mode fs.FileMode
}

func (e *oddFile) Error() string {
	return fmt.Sprintf("%s is %s, where a file of the store should be; mcprec store repair sets it aside", e.path, kindOfFile(e.mode))
}

// kindOfFile names a kind of file for a message.
func kindOfFile(mode fs.FileMode) string {
	switch mode.Type() {
	case 0:
		return "a file"
	case fs.ModeDir:
		return "a folder"
	case fs.ModeNamedPipe:
		return "a named pipe"
	case fs.ModeSymlink:
		return "a symbolic link"
	case fs.ModeSocket:
		return "a socket"
	case fs.ModeDevice, fs.ModeDevice | fs.ModeCharDevice:
		return "a device"
	}
	return "no regular file"
}

// isOdd reports whether err is an oddFile.
func isOdd(err error) bool {
	var odd *oddFile
	return errors.As(err, &odd)
}

// regular returns the info of a file, and an oddFile error for anything but a regular file.
func regular(path string) (fs.FileInfo, error) {
	info, err := os.Lstat(path)
	if err == nil && !info.Mode().IsRegular() {
		err = &oddFile{path, info.Mode()}
	}
	return info, err
}

// openRegular opens an existing regular file, and never blocks.
func openRegular(path string, flag int) (*os.File, error) {
	if _, err := regular(path); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, flag|noFollow|noBlock, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() { // replaced since
		err = &oddFile{path, info.Mode()}
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// keySize is the size of the key of placeholders, in bytes.
const keySize = 32

const keyName = "redact.key"

// RedactionKey returns the key in the file redact.key; the first caller makes it. The file
// gets the name when complete, and changes by UseKey only.
func (f *directory) RedactionKey() ([]byte, error) {
	path := filepath.Join(f.dir, keyName)
	key, err := readKey(path)
	if err == nil || !errors.Is(err, os.ErrNotExist) {
		return key, err
	}
	key = make([]byte, keySize)
	_, err = rand.Read(key)
	if err == nil {
		err = f.writeKey(path, key, false)
	}
	if err != nil {
		return nil, fmt.Errorf("make key %s: %w", path, err)
	}
	return readKey(path)
}

// UseKey keeps a key for placeholders in the place of the store's own. What is masked from then on has
// the placeholders of every store with that key.
func (f *directory) UseKey(key []byte) error {
	path := filepath.Join(f.dir, keyName)
	if len(key) != keySize {
		return fmt.Errorf("keep key %s: not %d bytes", path, keySize)
	}
	held, err := readKey(path)
	if err == nil && bytes.Equal(held, key) {
		return nil
	}
	if err := f.writeKey(path, key, true); err != nil {
		return fmt.Errorf("keep key %s: %w", path, err)
	}
	return nil
}

// ReadKey returns the key of the store in a folder, if there is a key.
func ReadKey(dir string) ([]byte, error) { return readKey(filepath.Join(dir, keyName)) }

// readKey reads a key file, but follows no symbolic link.
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

// parseKey parses the content of a key file.
func parseKey(text []byte) ([]byte, error) {
	key, err := hex.DecodeString(string(bytes.TrimSpace(text)))
	if err != nil || len(key) != keySize {
		return nil, fmt.Errorf("not %d bytes in hexadecimal", keySize)
	}
	return key, nil
}

// writeKey writes a key file, unless there is one and it is not to be replaced.
func (f *directory) writeKey(path string, key []byte, replace bool) error {
	if err := makeFolder(f.dir); err != nil {
		return err
	}
	temp, err := os.CreateTemp(f.dir, ".redact-key-*") // 0600
	if err != nil {
		return err
	}
	defer os.Remove(temp.Name())
	_ = temp.Chmod(0o600) // a umask may have taken some of that
	_, err = fmt.Fprintln(temp, hex.EncodeToString(key))
	err = errors.Join(err, temp.Sync(), temp.Close())
	if err != nil {
		return err
	}
	if !replace {
		err = os.Link(temp.Name(), path)
	}
	if replace || err != nil && !errors.Is(err, os.ErrExist) { // a filesystem without links
		err = os.Rename(temp.Name(), path)
		if err != nil {
			return err
		}
	}
	return syncDir(f.dir)
}
