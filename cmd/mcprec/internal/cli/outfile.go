package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// File is the file of a command's --out.
type File struct {
	Name  string // "-" is standard output
	Force bool   // overwrite an existing file
}

// Check refuses an existing file, before the command begins.
func (o File) Check() error {
	if o.Force || o.Name == "" || o.Name == "-" || special(o.Name) {
		return nil
	}
	if _, err := os.Lstat(o.Name); err == nil {
		return o.taken()
	}
	return nil
}

func (o File) taken() error {
	return Usagef("%s is there already; name another file, or use --force to write over it", o.Name)
}

// Write writes the file, or w for "-". It follows no symbolic link: with force the file
// replaces the link.
func (o File) Write(w io.Writer, write func(io.Writer) error) error {
	if o.Name == "-" {
		return write(w)
	}
	return writeFile(o.Name, write, func(tmp string) error {
		settle := claim
		if o.Force {
			settle = os.Rename
		}
		err := settle(tmp, o.Name)
		if errors.Is(err, fs.ErrExist) {
			return o.taken()
		}
		return writeError(o.Name, err)
	})
}

// writeFile writes a temporary file beside name, with mode 0600, and has settle rename the file:
// a reader finds the whole file or no file. A device or a pipe is written to
// directly.
//
// A symbolic link of another user, as in a folder like /tmp, is refused, because the link may
// lead to any file of ours. The links of the system, such as /dev/stdout, are root's.
func writeFile(name string, write func(io.Writer) error, settle func(tmp string) error) error {
	if info, err := os.Lstat(name); err == nil && info.Mode()&fs.ModeSymlink != 0 && !mayFollow(info) {
		return fmt.Errorf("write %s: it is a symbolic link of another user; name the file itself", name)
	}
	if special(name) {
		f, err := os.OpenFile(name, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		if err := errors.Join(write(f), f.Close()); err != nil {
			return writeError(name, err)
		}
		return nil
	}
	return writeFileIn(filepath.Dir(name), ".mcprec-*", name, write, settle)
}

// writeFileIn is writeFile with the temporary file in a folder, under a name of the pattern.
func writeFileIn(folder, pattern, name string, write func(io.Writer) error, settle func(tmp string) error) error {
	f, err := os.CreateTemp(folder, pattern)
	if err != nil {
		return fmt.Errorf("write %s: its folder cannot be written to: %v", name, errors.Unwrap(err))
	}
	defer os.Remove(f.Name())
	_ = f.Chmod(0o600) // the umask may have removed bits
	if err := errors.Join(write(f), f.Close()); err != nil {
		return writeError(name, err)
	}
	return settle(f.Name())
}

// writeError returns the error of writing a file of the user's. Which system call of which file failed is left out:
// it may be a temporary one.
func writeError(name string, err error) error {
	var path *fs.PathError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &path) && errors.Is(err, path.Err) && path.Op == "write":
		err = path.Err
	}
	return fmt.Errorf("write %s: %w", name, err)
}

// special reports whether the name is not of a regular file, or leads
// to an open file, as /dev/stdout does.
func special(name string) bool {
	info, err := os.Stat(name)
	return err == nil && (!info.Mode().IsRegular() || strings.HasPrefix(filepath.Clean(name), "/dev/"))
}

// ReplaceFile writes a file anew at the request of the user, and keeps the file's mode and, where it
// may, its owner. A file that is read-only stays as it is. ReplaceFile follows the user's own symbolic
// link.
func ReplaceFile(name string, write func(io.Writer) error) error {
	target := name
	if info, err := os.Lstat(name); err == nil && mayFollow(info) {
		if real, err := filepath.EvalSymlinks(name); err == nil && !special(name) {
			target = real
		}
	}
	return writeFile(target, write, func(tmp string) error {
		info, err := writable(target)
		switch {
		case err == nil:
			_ = giveTo(tmp, info)
			_ = os.Chmod(tmp, info.Mode().Perm())
		case !errors.Is(err, fs.ErrNotExist): // a new file has the mode 0600
			return err
		}
		return writeError(target, os.Rename(tmp, target))
	})
}

// writable refuses a file that is read-only, to root as well, and one that this user may not write to.
func writable(name string) (fs.FileInfo, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if info.Mode().Perm()&0o222 == 0 {
		return nil, fmt.Errorf("write %s: it is read-only", name)
	}
	f, err := os.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		return nil, err
	}
	return info, f.Close()
}

// ErrFileChanged is the error for a file that is no longer what was read.
var ErrFileChanged = errors.New("it was changed meanwhile; run the command again")

// exchanged is the pattern of the temporary files of ExchangeFile.
const exchanged = ".mcprec-exchange-*"

// ExchangeFile replaces the content of a file if it is still old, else it returns [ErrFileChanged]. The
// file keeps its mode and its owner, and the content is on the disk before the file has it. ExchangeFile
// follows the user's own symbolic link.
//
// The content is first written in a folder, which is to be the user's alone: a process that is killed
// leaves it there, for [SweepExchanged], and not beside the file, where others may read it. Where a file
// cannot be moved from there, and on Windows, where it would take along who may read it, it is written
// beside the file.
func ExchangeFile(name string, old, content []byte, folder string) error {
	if info, err := os.Lstat(name); err == nil && info.Mode()&fs.ModeSymlink != 0 && !mayFollow(info) {
		return fmt.Errorf("write %s: it is a symbolic link of another user; name the file itself", name)
	}
	target, err := filepath.EvalSymlinks(name)
	if err != nil {
		return err
	}
	info, err := writable(target)
	if err != nil {
		return err
	}
	write := func(w io.Writer) error {
		_, err := w.Write(content)
		if f, ok := w.(*os.File); ok {
			err = errors.Join(err, f.Sync())
		}
		return err
	}
	decided := false // whether another folder for the temporary file makes a difference
	settle := func(tmp string) error {
		decided = true
		now, err := os.ReadFile(target)
		if err == nil && !bytes.Equal(now, old) {
			return fmt.Errorf("write %s: %w", name, ErrFileChanged)
		}
		if err = errors.Join(err, giveTo(tmp, info), os.Chmod(tmp, info.Mode().Perm())); err != nil {
			return writeError(target, err)
		}
		err = os.Rename(tmp, target)
		decided = err == nil
		return writeError(target, err)
	}
	if runtime.GOOS != "windows" {
		err = writeFileIn(folder, exchanged, target, write, settle)
		if err == nil || decided {
			return err
		}
	}
	return writeFileIn(filepath.Dir(target), exchanged, target, write, settle)
}

// SweepExchanged removes what a killed process has left of [ExchangeFile] in a folder. No other may run there.
func SweepExchanged(folder string) {
	entries, _ := os.ReadDir(folder)
	for _, entry := range entries {
		if isLeft, _ := filepath.Match(exchanged, entry.Name()); isLeft { // the pattern is valid
			_ = os.Remove(filepath.Join(folder, entry.Name()))
		}
	}
}

// WriteNewFile writes a file under the name or, as long as a file of that name is there, under
// name-2, name-3, …, and returns the name taken. Two processes with the same name
// both keep a file. A file for which mayReplace is true is replaced.
func WriteNewFile(name string, write func(io.Writer) error, mayReplace func(name string) bool) (taken string, replaced bool, err error) {
	taken = name // of a device
	err = writeFile(name, write, func(tmp string) (err error) {
		taken, replaced, err = place(tmp, name, mayReplace)
		return err
	})
	return taken, replaced, err
}

// place gives the file tmp the name, or the first that is free or whose file may be replaced.
func place(tmp, name string, mayReplace func(name string) bool) (taken string, replaced bool, err error) {
	ext := filepath.Ext(name)
	for n, next := 2, name; ; n++ {
		err := claim(tmp, next)
		if errors.Is(err, fs.ErrExist) && mayReplace(next) {
			err = displace(tmp, next, mayReplace)
			replaced = true
		}
		if err == nil {
			return next, replaced, nil
		}
		if !errors.Is(err, fs.ErrExist) {
			return "", false, writeError(next, err)
		}
		next = fmt.Sprintf("%s-%d%s", strings.TrimSuffix(name, ext), n, ext)
		replaced = false
	}
}

// displace gives the file tmp the name of a file that may be replaced. The old file is moved aside and
// examined again: if another process has just put a new file there, the new file is kept.
func displace(tmp, name string, mayReplace func(name string) bool) error {
	aside := tmp + "-aside"
	if err := os.Rename(name, aside); err != nil {
		return err
	}
	if !mayReplace(aside) {
		never := func(string) bool { return false }
		if _, _, err := place(aside, name, never); err != nil {
			return fmt.Errorf("%w; what was there is %s", err, aside)
		}
		os.Remove(aside)
		return fs.ErrExist
	}
	defer os.Remove(aside)
	return claim(tmp, name)
}

// claim gives the file tmp the name, unless that is taken: fs.ErrExist.
func claim(tmp, name string) error {
	err := os.Link(tmp, name)
	if err == nil || errors.Is(err, fs.ErrExist) {
		return err
	}
	f, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600) // no hard links here
	if err != nil {
		return err
	}
	if err := errors.Join(f.Close(), os.Rename(tmp, name)); err != nil {
		os.Remove(name) // or an empty file would stay
		return err
	}
	return nil
}
