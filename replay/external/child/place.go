package child

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/mcprec/mcprec/replay/external/sourceline"
	"github.com/mcprec/mcprec/transport/leftover"
)

// ErrStopped is the error of a play that ended early because its stop channel was closed.
var ErrStopped = errors.New("interrupted")

const (
	// FolderMark stands in a command and in its environment for the folder of the process.
	FolderMark = "%DIR"
	// ServerMark stands in a client's command and in its environment for the path of a program without
	// arguments, which it must start as its server.
	ServerMark = "%SERVER"
)

// Program says what is started.
type Program struct {
	Command []string
	Env     []string // NAME=VALUE, beside the environment of this process
	In      string   // the folder in which it is started; "": that of this process
	Marks   []string // pairs: a text in Command and Env, and its value; FolderMark needs none
}

// fill returns the program with its marks and these replaced.
func (p Program) fill(at Place, marks ...string) Program {
	marks = append(append([]string{FolderMark, at.Dir}, marks...), p.Marks...)
	return Program{Command: WithMarks(p.Command, marks...), Env: WithMarks(p.Env, marks...), In: p.In}
}

// WithMarks returns texts in which each mark is replaced by its value.
func WithMarks(texts []string, marks ...string) []string {
	replacer := strings.NewReplacer(marks...)
	list := make([]string, len(texts))
	for i, text := range texts {
		list[i] = replacer.Replace(text)
	}
	return list
}

// Place is where a process is run.
type Place struct {
	*leftover.Run                   // ends all processes that were started there
	Dir           string            // the folder of the process
	stop          <-chan struct{}   // its close ends the process at once; may be nil
	means         *sourceline.Means // to ask for lines of source at a hang; nil: nothing is asked
}

// InPlace calls play with a place that exists during the call. Its folder is a copy of original, or empty. asks says
// that its processes can be asked for lines of source ([Process.Lines]). stop may be nil; if it is closed already,
// nothing is played and the error is [ErrStopped].
func InPlace(original string, stop <-chan struct{}, asks bool, play func(Place) error) error {
	if IsClosed(stop) {
		return ErrStopped
	}
	run, err := leftover.Begin()
	if err != nil {
		return err
	}
	defer run.End()
	at := Place{Run: run, Dir: filepath.Join(run.Folder, "dir"), stop: stop}
	if err := os.Mkdir(at.Dir, 0o700); err != nil {
		return err
	}
	if original != "" {
		if err := os.CopyFS(at.Dir, os.DirFS(original)); err != nil {
			return fmt.Errorf("copy %s for a process: %w", original, err)
		}
	}
	if asks {
		if at.means, err = sourceline.Prepare(at.Folder); err != nil {
			return err
		}
	}
	return play(at)
}

// IsClosed reports whether a channel is closed on which nothing is sent. It may be nil.
func IsClosed(channel <-chan struct{}) bool {
	select {
	case <-channel:
		return true
	default:
		return false
	}
}
