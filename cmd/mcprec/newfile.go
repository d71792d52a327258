package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// writeNew writes a file under the name or, as long as a file of that name is
// there, under name-2, name-3, …, and returns the name taken. Two processes
// that are given the same name both keep their file, and no reader ever sees
// half of one.
func writeNew(name string, write func(io.Writer) error) (string, error) {
	tmp, err := os.CreateTemp(filepath.Dir(name), ".mcprec-*")
	if err != nil {
		return "", fmt.Errorf("write %s: %v", name, err)
	}
	defer os.Remove(tmp.Name())
	err = write(tmp)
	if err = errors.Join(err, tmp.Close()); err != nil {
		return "", fmt.Errorf("write %s: %w", name, err)
	}
	ext := filepath.Ext(name)
	for n, free := 2, name; ; n++ {
		err := os.Link(tmp.Name(), free)
		if err == nil {
			return free, nil
		}
		if !errors.Is(err, fs.ErrExist) {
			return "", fmt.Errorf("write %s: %v", free, err)
		}
		free = fmt.Sprintf("%s-%d%s", strings.TrimSuffix(name, ext), n, ext)
	}
}

// replaceFile writes a file under the name at once or not at all, in place of
// one that is there; "-" is w.
func replaceFile(name string, w io.Writer, write func(io.Writer) error) error {
	if name == "-" {
		return write(w)
	}
	tmp, err := os.CreateTemp(filepath.Dir(name), ".mcprec-*")
	if err != nil {
		return fmt.Errorf("write %s: %v", name, err)
	}
	err = write(tmp)
	if err = errors.Join(err, tmp.Close()); err == nil {
		err = os.Rename(tmp.Name(), name)
	}
	if err != nil {
		os.Remove(tmp.Name())
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}
