package jsonl

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"

	"github.com/mcprec/mcprec/store"
)

// ReadFile returns the events of a file. With an error it also returns the events before the
// fault.
func ReadFile(path string) ([]store.Event, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read fixture: %w", err)
	}
	defer f.Close()
	var events []store.Event
	for e, err := range Decode(f) {
		if err != nil {
			return events, fmt.Errorf("read fixture %s: %w", path, err)
		}
		events = append(events, e)
	}
	return events, nil
}

// WriteFile writes events to a file that only its owner can read. It replaces the file when
// all events are written, and leaves it alone after an error. It wraps an error among the
// events.
func WriteFile(path string, events iter.Seq2[store.Event, error]) error {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return fmt.Errorf("write fixture: %w", err)
	}
	err = encodeAll(f, events)
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
		return fmt.Errorf("write fixture %s: %w", path, err)
	}
	return nil
}

func encodeAll(w io.Writer, events iter.Seq2[store.Event, error]) error {
	b := bufio.NewWriterSize(w, 1<<16)
	enc := NewEncoder(b)
	for e, err := range events {
		if err != nil {
			return err
		}
		if err := enc.Encode(e); err != nil {
			return err
		}
	}
	if seq, _ := enc.log.Head(); seq == 0 {
		return errors.New("no events")
	}
	return b.Flush()
}

// Each yields the events of a slice, in the form that [WriteFile] takes.
func Each(events []store.Event) iter.Seq2[store.Event, error] {
	return func(yield func(store.Event, error) bool) {
		for _, e := range events {
			if !yield(e, nil) {
				return
			}
		}
	}
}
