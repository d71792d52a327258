package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/mcprec/mcprec/replay"
	"github.com/mcprec/mcprec/store"
)

// transcript returns the transcript of a session from its first event. One that looks
// ahead has read the session before, and tells at each request how its call ends.
func (s *session) transcript(ctx context.Context, ahead bool, emit func(replay.Entry) error) (*replay.Transcript, error) {
	t := replay.NewTranscript(emit)
	if !ahead {
		return t, nil
	}
	endings, err := s.endings(ctx)
	t.Foresee(endings)
	return t, err
}

// endings reads the whole session for how its calls end, and goes back to its beginning.
func (s *session) endings(ctx context.Context) (*replay.Endings, error) {
	if err := s.keep(); err != nil {
		return nil, err
	}
	endings := replay.NewEndings()
	for e, err := range s.events(ctx, 1, store.ReadOptions{}) {
		if err == nil {
			err = endings.Apply(e)
		}
		if err != nil {
			break // who reads it for good will say so
		}
	}
	return endings, s.rewind()
}

// keep makes sure that a fixture can be read again: what comes through a pipe goes to
// a file that has no name.
func (s *session) keep() error {
	if _, err := s.seek(); s.db != nil || err == nil {
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
	_, err := s.seek()
	return err
}

func (s *session) seek() (int64, error) {
	if f, ok := s.file.(io.Seeker); ok {
		return f.Seek(0, io.SeekStart)
	}
	return 0, errors.ErrUnsupported
}
