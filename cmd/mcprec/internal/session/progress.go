package session

import (
	"fmt"
	"io"
	"iter"
	"os"
	"time"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/output"
	"github.com/mcprec/mcprec/store"
)

// progressStep is how many events pass between two looks at the clock.
const progressStep = 128

// Watch makes every reading of the session from here on draw a line on the terminal errs, if it
// takes long. What a command prints during a reading goes through [Session.Beside].
func (s *Session) Watch(errs io.Writer) {
	if output.IsTerminal(errs) {
		s.progress = output.NewProgress(errs)
	}
}

// Beside calls print, which may write to the terminal that has the line of [Session.Watch].
func (s *Session) Beside(print func()) {
	if s.progress == nil {
		print()
		return
	}
	s.progress.Beside(print)
}

// watched yields the events, and draws how many there were.
func (s *Session) watched(events iter.Seq2[store.Event, error]) iter.Seq2[store.Event, error] {
	if s.progress == nil {
		return events
	}
	return func(yield func(store.Event, error) bool) {
		defer s.progress.Erase()
		began, read := time.Now(), uint64(0)
		for e, err := range events {
			if read++; read%progressStep == 0 {
				s.progress.Draw(time.Since(began), func() string { return s.reading(read) })
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

// toldTo returns the fixture's file, whose reading draws a line if errs is a terminal.
func (s *Session) toldTo(errs io.Writer) io.Reader {
	size, _ := s.fileSize()
	return output.NewProgress(errs).Reader(s.File, func(passed int64) string { return s.bytesRead(passed, size) })
}

func (s *Session) bytesRead(passed, size int64) string {
	text := fmt.Sprintf("mcprec: reads %s: %d", output.Plain(s.Name), passed>>20)
	if size > 0 {
		text += fmt.Sprintf(" of %d", size>>20)
	}
	return text + " MB"
}

// reading says how much of the session has been read: bytes of a file, events of anything else.
func (s *Session) reading(events uint64) string {
	if size, passed := s.fileSize(); size > 0 {
		return s.bytesRead(passed, size)
	}
	text := fmt.Sprintf("mcprec: reads %s: ", output.Plain(s.Name))
	if s.Head > 0 {
		return text + fmt.Sprintf("%d of %d events", events, s.Head)
	}
	return text + fmt.Sprintf("%d events", events)
}

// fileSize returns the size of the fixture's file and how much of it has been read; 0 for anything
// else.
func (s *Session) fileSize() (size, passed int64) {
	file, ok := s.File.(*os.File)
	if !ok {
		return 0, 0
	}
	info, err := file.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return 0, 0
	}
	passed, err = file.Seek(0, io.SeekCurrent)
	if err != nil {
		return 0, 0
	}
	return info.Size(), passed
}
