package session

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/cli"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/output"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/foreign"
	"github.com/mcprec/mcprec/transport/phrase"
)

// Which session of a file with several an argument names: a number from 1, or one of these.
const (
	anyNumber  = 0  // the only one, or all
	lastNumber = -1 // FILE@last
)

// numbered splits FILE@N and FILE@last. It reports false for any other argument.
func numbered(arg string) (path string, number int, ok bool) {
	i := strings.LastIndexByte(arg, '@')
	if i < 1 {
		return "", 0, false
	}
	if arg[i+1:] == "last" {
		return arg[:i], lastNumber, true
	}
	number, err := strconv.Atoi(arg[i+1:])
	return arg[:i], number, err == nil && number > 0
}

// FileOf returns the file that a path names: of FILE@N, where no file has that name, FILE.
func FileOf(arg string) string {
	if _, err := os.Stat(arg); errors.Is(err, fs.ErrNotExist) {
		if path, _, ok := numbered(arg); ok {
			return path
		}
	}
	return arg
}

// headBytes is how much of a file decides its format.
const headBytes = 1 << 16

// openFixture returns the session in a fixture that is open, or its sessions. It closes the
// fixture if it fails. If errs is a terminal, a line there says how far the reading of a file with several
// sessions is.
func openFixture(s *Session, number int, errs io.Writer) (all []*Session, err error) {
	file := s.File
	defer func() {
		if err != nil {
			err = errors.Join(err, file.Close())
		}
	}()
	var head []byte
	if at, ok := file.(io.ReaderAt); ok && s.Path != "" {
		head = make([]byte, headBytes)
		n, _ := at.ReadAt(head, 0) // a pipe cannot be read twice, and its lines have no numbers
		head = head[:n]
		s.Lines = n > 0
	}
	if len(head) == 0 {
		buffer := bufio.NewReaderSize(file, headBytes)
		_, _ = buffer.Peek(1) // the reading that follows returns its error again
		head, _ = buffer.Peek(buffer.Buffered())
		s.File = struct {
			io.Reader
			io.Closer
		}{buffer, file}
	}
	format, isForeign := foreign.Detect(head)
	s.Lines = s.Lines && !isForeign // our own form has an event a line
	if !isForeign || !format.HasSeveral() {
		if number != anyNumber {
			return nil, cli.Usagef("%s has one session; name it without @", s.Path)
		}
		return []*Session{s}, nil
	}
	decoded, err := format.ReadAll(s.toldTo(errs))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.Name, err)
	}
	file.Close() // it was read whole
	if number == lastNumber {
		number = len(decoded)
	}
	if number > len(decoded) {
		return nil, cli.Usagef("%s has %s; name one of them, as %s", s.Path, phrase.Plural(len(decoded), "session"), phrase.ShellWord(fmt.Sprintf("%s@%d", s.Path, len(decoded))))
	}
	for i, events := range decoded {
		if number != anyNumber && number != i+1 {
			continue
		}
		one := &Session{Name: s.Name, Path: s.Path, File: io.NopCloser(strings.NewReader("")), Masker: s.Masker, decoded: events}
		if len(decoded) > 1 {
			one.Name = fmt.Sprintf("%s@%d", s.Name, i+1)
		}
		all = append(all, one)
	}
	return all, nil
}

// longestListing is how many sessions of a file an error lists.
const longestListing = 20

// listed returns the error for an argument that names several sessions where one is wanted.
func listed(arg string, all []*Session) error {
	var list strings.Builder
	first := max(0, len(all)-longestListing)
	if first > 0 {
		list.WriteString("\n  …")
	}
	for _, s := range all[first:] {
		header, _ := store.ParseHeader(s.decoded[0].Payload) // decoders write good ones
		header = s.Masker.Header(header)
		frames := 0
		for _, e := range s.decoded {
			if e.Kind == store.Frame {
				frames++
			}
		}
		line := fmt.Sprintf("\n  %s  %s  %s  %s", s.Name, header.Start.Format(time.DateTime), phrase.Plural(frames, "message"), output.Plain(header.Label+header.URL))
		list.WriteString(strings.TrimRight(line, " "))
	}
	if arg == "-" {
		return cli.Usagef("standard input has %s; write it to a file to name one of them, or mcprec import it:%s", phrase.Plural(len(all), "session"), &list)
	}
	return cli.Usagef("%s has %s; name one of them, or the newest as %s; mcprec check and mcprec why take all, mcprec import stores all:%s",
		arg, phrase.Plural(len(all), "session"), phrase.ShellWord(arg+"@last"), &list)
}
