package clientconfig

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/gofrs/flock"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/cli"
)

// Originals are what wrap has replaced in the files of clients, kept in a folder.
type Originals struct{ Folder string }

func (o Originals) file() string { return filepath.Join(o.Folder, "wraps.jsonl") }

// List returns what is kept, oldest first.
func (o Originals) List() (kept []Original, err error) {
	content, err := readFile(o.file())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	for i, line := range bytes.Split(content, []byte("\n")) {
		var original Original
		if len(line) == 0 {
			continue
		}
		if err := json.Unmarshal(line, &original); err != nil {
			return nil, fmt.Errorf("read %s, line %d: %w; move the file away, and mcprec unwrap does without it", o.file(), i+1, err)
		}
		kept = append(kept, original)
	}
	return kept, nil
}

// Has returns a function that reports whether the original of a server in a file is kept. Where that cannot
// be read, it is not.
func (o Originals) Has(file string) func(*Server) bool {
	kept, _ := o.List()
	atOnePath(kept, file)
	isKept := map[place]bool{}
	for _, k := range kept {
		isKept[k.place(k.Name)] = true
	}
	return func(s *Server) bool { return isKept[s.place(s.Name)] }
}

// save replaces what is kept.
func (o Originals) save(keep []Original) error {
	f, err := os.OpenFile(o.file(), os.O_CREATE|os.O_RDONLY, 0o600)
	if err != nil {
		return err
	}
	old, err := io.ReadAll(f)
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	var content bytes.Buffer
	encoder := json.NewEncoder(&content)
	encoder.SetEscapeHTML(false)
	for _, original := range keep {
		if err := encoder.Encode(original); err != nil {
			return err
		}
	}
	return cli.ExchangeFile(o.file(), old, content.Bytes(), o.Folder)
}

// lock waits until no other mcprec edits a file.
func (o Originals) lock() (unlock func(), err error) {
	l := flock.New(filepath.Join(o.Folder, "wraps.lock"), flock.SetPermissions(0o600))
	if err := l.Lock(); err != nil {
		return nil, fmt.Errorf("lock %s: %w", l.Path(), err)
	}
	cli.SweepExchanged(o.Folder) // of a mcprec that was killed
	return func() { _ = l.Close() }, nil
}

// Edit is an edit of a document: the document after it, with the originals of its entries. An edit
// may add to the originals and take from them.
type Edit func(doc []byte, kept []Original) (edited []byte, keep []Original, err error)

// Change edits a client's file. The originals are on the disk before the file is. Nothing is written
// if the edit returns an error or the same document, or if the file is no longer what was read
// ([cli.ErrFileChanged]).
func (o Originals) Change(file string, edit Edit) error {
	unlock, err := o.lock()
	if err != nil {
		return err
	}
	defer unlock()
	kept, err := o.List()
	if err != nil {
		return err
	}
	doc, err := readFile(file)
	if err != nil {
		return err
	}
	atOnePath(kept, file)
	edited, keep, err := edit(doc, slices.Clone(kept))
	if err != nil || bytes.Equal(edited, doc) {
		return err
	}
	// Between the two files both have what either may need.
	both := slices.Clone(keep)
	isKept := map[place]bool{}
	for _, original := range keep {
		isKept[original.place(original.Name)] = true
	}
	for _, original := range kept {
		if !isKept[original.place(original.Name)] {
			both = append(both, original)
		}
	}
	if err := o.save(both); err != nil {
		return err
	}
	if err := cli.ExchangeFile(file, doc, edited, o.Folder); err != nil {
		return err
	}
	if len(both) > len(keep) {
		return o.save(keep)
	}
	return nil
}

// atOnePath gives the originals of a file the path by which it is edited now. Another path may have
// led to it when it was wrapped, by a symbolic link.
func atOnePath(kept []Original, file string) {
	edited, err := os.Stat(file)
	if err != nil {
		return
	}
	for i := range kept {
		info, err := os.Stat(kept[i].File)
		if err == nil && os.SameFile(info, edited) {
			kept[i].File = file
		}
	}
}

// WrapAll is an [Edit]: it wraps servers of one file. front returns the words to be put before a
// server's command.
func WrapAll(servers []Server, front func(*Server) []string) Edit {
	return func(doc []byte, kept []Original) ([]byte, []Original, error) {
		edited, originals, err := wrapEach(doc, servers, front)
		if err != nil {
			return nil, nil, err
		}
		isWrapped := map[place]bool{}
		for _, o := range originals {
			isWrapped[o.place(o.Name)] = true
		}
		kept = slices.DeleteFunc(kept, func(k Original) bool { return isWrapped[k.place(k.Name)] })
		return edited, append(kept, originals...), nil
	}
}

// UnwrapAll is an [Edit]: it unwraps servers of one file. It calls told for each that is not
// [Exact], and says how it was unwrapped. What was kept of servers of this file that are not wrapped
// any more is forgotten.
func UnwrapAll(servers []Server, told func(*Server, Unwrapping)) Edit {
	return func(doc []byte, kept []Original) ([]byte, []Original, error) {
		byPlace := map[place]*Original{}
		var here []Server // what was kept of this file
		for i := range kept {
			k := &kept[i]
			byPlace[k.place(k.Name)] = k
			if k.File == servers[0].File {
				here = append(here, Server{Location: k.Location, Name: k.Name})
			}
		}
		were := make([]*Original, len(servers))
		for i := range servers {
			were[i] = byPlace[servers[i].place(servers[i].Name)]
		}
		edited, ways, err := unwrapEach(doc, servers, were)
		if err != nil {
			return nil, nil, err
		}
		for i, how := range ways {
			if how != Exact {
				told(&servers[i], how)
			}
		}
		isOver := map[place]bool{}
		left, faults := findSome(edited, here)
		for i, s := range left {
			isOver[here[i].place(here[i].Name)] = faults[i] != nil || s.State == Direct
		}
		keep := slices.DeleteFunc(slices.Clone(kept), func(k Original) bool { return isOver[k.place(k.Name)] })
		return edited, keep, nil
	}
}
