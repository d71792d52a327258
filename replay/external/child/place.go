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

// ErrStopped is the error of what was ended early because the channel of its [Place] was closed.
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
	Marks   []string // pairs: what stands in Command and Env, and what takes its place, beside [FolderMark]
}

// fill returns the program with all marks replaced, and with these as well.
func (p Program) fill(at Place, marks ...string) Program {
	marks = append(append([]string{FolderMark, at.Dir}, marks...), p.Marks...)
	return Program{Command: WithMarks(p.Command, marks...), Env: WithMarks(p.Env, marks...), In: p.In}
}

// WithMarks returns texts with the values of marks, such as the folder of a process, in their place.
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
	*leftover.Run                   // ends what the process has started
	Dir           string            // the folder that it has for itself
	stop          <-chan struct{}   // closed when the process is to end at once; nil: never
	means         *sourceline.Means // with which the process is asked at a hang; nil: it is not
}

// InPlace calls play with a place that is there as long as the call lasts. Its folder is a copy of another
// one, or empty. If stop is closed, which may be nil, nothing is played: the error is [ErrStopped]. asks says
// that a process there can be asked for lines of its source ([Process.Lines]).
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
