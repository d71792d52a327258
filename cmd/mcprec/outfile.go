package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
)

// outFile is a file that a command makes of what was recorded.
type outFile struct {
	name  string // "-" is standard output
	force bool   // write over what is there
}

func (o *outFile) addFlags(cmd *cobra.Command, name, usage string) {
	f := cmd.Flags()
	f.StringVarP(&o.name, "out", "o", name, usage)
	f.BoolVar(&o.force, "force", false, "write over the FILE of --out if it is there")
}

// check refuses a file that is there, before the command does its work.
func (o outFile) check() error {
	if o.force || o.name == "" || o.name == "-" || special(o.name) {
		return nil
	}
	if _, err := os.Lstat(o.name); err == nil {
		return o.taken()
	}
	return nil
}

func (o outFile) taken() error {
	return usagef("%s is there already; name another file, or use --force to write over it", o.name)
}

// write writes the file, for its user alone, at once or not at all. It follows no symbolic
// link: with force the file takes the link's place. A device or a pipe is written to, and
// "-" is w.
func (o outFile) write(w io.Writer, write func(io.Writer) error) error {
	if o.name == "-" {
		return write(w)
	}
	if err := ownLink(o.name); err != nil {
		return err
	}
	if special(o.name) {
		return writeThrough(o.name, write)
	}
	tmp, err := writeTemp(o.name, write)
	if err != nil {
		return err
	}
	defer os.Remove(tmp)
	if o.force {
		err = os.Rename(tmp, o.name)
	} else {
		err = claim(tmp, o.name)
	}
	if errors.Is(err, fs.ErrExist) {
		return o.taken()
	}
	if err != nil {
		return fmt.Errorf("write %s: %v", o.name, err)
	}
	return nil
}

// writeNew writes a file under the name or, as long as a file of that name is
// there, under name-2, name-3, …, and returns the name taken. Two processes
// that are given the same name both keep their file, and no reader ever sees
// half of one. A file that yields is replaced. A device or a pipe is written to.
func writeNew(name string, write func(io.Writer) error, yields func(name string) bool) (taken string, replaced bool, err error) {
	if err := ownLink(name); err != nil {
		return "", false, err
	}
	if special(name) {
		return name, false, writeThrough(name, write)
	}
	tmp, err := writeTemp(name, write)
	if err != nil {
		return "", false, err
	}
	defer os.Remove(tmp)
	return place(tmp, name, yields)
}

// place gives the file tmp the name, or the first that is free or whose file yields.
func place(tmp, name string, yields func(name string) bool) (taken string, replaced bool, err error) {
	ext := filepath.Ext(name)
	for n, next := 2, name; ; n++ {
		err := claim(tmp, next)
		if errors.Is(err, fs.ErrExist) && yields(next) {
			err, replaced = displace(tmp, next, yields), true
		}
		if err == nil {
			return next, replaced, nil
		}
		if !errors.Is(err, fs.ErrExist) {
			return "", false, fmt.Errorf("write %s: %v", next, err)
		}
		next, replaced = fmt.Sprintf("%s-%d%s", strings.TrimSuffix(name, ext), n, ext), false
	}
}

// displace gives the file tmp the name of one that yields. That is moved aside and looked
// at again, for another process may just have put its own file there, which is kept.
func displace(tmp, name string, yields func(name string) bool) error {
	aside := tmp + "-aside"
	if err := os.Rename(name, aside); err != nil {
		return err
	}
	if !yields(aside) {
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
		os.Remove(name) // or it would stay there empty
		return err
	}
	return nil
}

// replaceFile changes a file that the user named as the one to change: at once or not at
// all, and with its mode. A symbolic link of one's own is followed, a device or a pipe is
// written to.
func replaceFile(name string, write func(io.Writer) error) error {
	if err := ownLink(name); err != nil {
		return err
	}
	if special(name) {
		return writeThrough(name, write)
	}
	if target, err := filepath.EvalSymlinks(name); err == nil {
		name = target
	}
	tmp, err := writeTemp(name, write)
	if err != nil {
		return err
	}
	if info, err := os.Stat(name); err == nil {
		_ = os.Chmod(tmp, info.Mode().Perm()) // without it the file is the owner's alone
	}
	if err := os.Rename(tmp, name); err != nil {
		os.Remove(tmp)
		return fmt.Errorf("write %s: %v", name, err)
	}
	return nil
}

// ownLink refuses a symbolic link that another user made, as in a folder that all may
// write to: it may lead to any file of ours. The system's own, as /dev/stdout, are root's.
func ownLink(name string) error {
	info, err := os.Lstat(name)
	if err != nil || info.Mode()&fs.ModeSymlink == 0 || mayFollow(info) {
		return nil
	}
	return fmt.Errorf("write %s: it is a symbolic link of another user; name the file itself", name)
}

// special reports whether the name is of something that is no regular file, or leads to
// an open file, as /dev/stdout does.
func special(name string) bool {
	info, err := os.Stat(name)
	return err == nil && (!info.Mode().IsRegular() || strings.HasPrefix(filepath.Clean(name), "/dev/"))
}

func writeThrough(name string, write func(io.Writer) error) error {
	f, err := os.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	if err := errors.Join(write(f), f.Close()); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}

// writeTemp writes a file beside the name and returns what it is called.
func writeTemp(name string, write func(io.Writer) error) (string, error) {
	tmp, err := os.CreateTemp(filepath.Dir(name), ".mcprec-*")
	if err != nil {
		return "", fmt.Errorf("write %s: its folder cannot be written to: %v", name, errors.Unwrap(err))
	}
	_ = tmp.Chmod(0o600) // a umask may have taken some of that
	if err := errors.Join(write(tmp), tmp.Close()); err != nil {
		os.Remove(tmp.Name())
		return "", fmt.Errorf("write %s: %w", name, err)
	}
	return tmp.Name(), nil
}
