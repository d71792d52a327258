package external

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/mcprec/mcprec/replay/external/sourceline"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/leftover"
	"github.com/mcprec/mcprec/transport/procfs"
)

// peer is the end under test, to which the recorded other end plays.
type peer interface {
	// name is "server" or "client".
	name() string
	// recorded is the name of the end that plays to it.
	recorded() string
	// play starts a process, plays a schedule to it, and ends it. The error is [ErrStopped] if that was cut short.
	play(schedule Schedule, patience patience) (play, error)
	// asking returns the peer with processes that are asked for lines of source at a hang.
	asking() peer
	// results returns the events of the recorded requests that were answered with a result.
	results() []uint64
	// choices returns the choices that can be made alone, by kind, of the frames of a plain play.
	choices(frames []frame) [][]Choice
	// joins reports whether a message of the recorded end is worth joining to its neighbour.
	joins(f frame) bool
	// whyApart says why two neighbours cannot be sent together.
	whyApart(first, second frame) string
	// words says what a choice does. name names the frame of an event.
	words(c Choice, name func(seq uint64) string) string
}

// patience is how long a play waits for what is not at rest.
type patience struct {
	running time.Duration // for one that runs on
	timer   time.Duration // for a timer; a later one is not waited for
	outside time.Duration // for something outside
	own     time.Duration // in place of running, while only V8's own timer goes on
}

// v8Timer is the wait of a program on V8, such as node, that has nothing to do: V8 looks every 8 s, and the slack of
// 100 ms, whether it should collect its garbage, and when it has, half a second later whether again. It took up to 50 s.
// A timer of the program that is sooner than that shows in its place, and one that is later shows when V8 has finished.
const v8Timer = 8100 * time.Millisecond

// isOfV8 reports whether a timer looks like that of V8. Others do, too: it is only a reason to wait longer.
func isOfV8(timer time.Duration) bool {
	return timer == v8Timer || 500*time.Millisecond < timer && timer <= 600*time.Millisecond
}

var (
	// searching is short: what looks stuck is looked at again.
	searching = patience{running: 15 * time.Second, timer: 2500 * time.Millisecond, outside: 2500 * time.Millisecond}
	// confirming outlasts the timers of an idle runtime.
	confirming = patience{running: 30 * time.Second, timer: 30 * time.Second, outside: 10 * time.Second, own: 75 * time.Second}
)

// isWorthIt reports whether an end at rest is worth waiting for.
func (p patience) isWorthIt(look procfs.Look, waited time.Duration) bool {
	switch look.Activity {
	case procfs.Timed:
		return look.Timer <= p.timer && waited < p.running || isOfV8(look.Timer) && waited < p.own
	case procfs.Outside:
		return waited < p.outside
	}
	return false
}

// play is what came of a schedule.
type play struct {
	found   *fault            // nil: nothing is wrong
	answers map[uint64]string // of a server, by the event of the request, without ids and folders
	errors  map[uint64]string // of a server: its answers that are errors, by the event of the request, and with its name
	output  string            // of a client, without the folder
	frames  []frame           // as they went out

	patience patience // it was played with

	unheeded  []uint64 // requests that a server answered after it had come to rest with their cancellation
	dropped   []uint64 // requests behind which the client ended, and which a server did not answer any more
	cancelled []uint64 // requests that the recorded client cancels, so that none of them is owed an answer
	open      []uint64 // requests whose responses a server left open behind the DELETE of their session

	isUnjudged bool // a client asked for what the recording does not have

	trace *trace   // nil: not kept
	lines []string // of a hang whose process was asked: which lines hold what waits
}

// isWhole reports whether all was said: a server that only goes on after the end has answered everything.
func (p play) isWhole() bool { return p.found == nil || p.found.kind == Lingers }

// fault is what a play has found.
type fault struct {
	kind   Fault
	events []uint64 // the requests that it is about, or of a client the frames
	look   procfs.Look
	detail string
}

// isCertain reports whether nothing else than mcprec could have moved the process.
func (f *fault) isCertain() bool {
	return f.look.Activity == procfs.Asleep || f.look.Activity == procfs.Full || f.look.Activity == procfs.Ended ||
		f.kind == NotSerial || f.kind == Different
}

// sending is a frame that the recorded end may send now.
type sending struct {
	number int    // as its half of the recording counts
	seq    uint64 // of the recorded event; 0: an unrecorded answer
	frame  transport.Frame
}

// folderMark stands in the command and in the environment for the folder of the process.
const folderMark = "%DIR"

// place is where a process is run.
type place struct {
	*leftover.Run                   // ends what the process has started
	dir           string            // the folder that it has for itself
	stop          <-chan struct{}   // closed when the process is to end at once; nil: never
	means         *sourceline.Means // with which the process is asked at a hang; nil: it is not
}

// prepare makes the means to ask the process.
func (at *place) prepare(asks bool) (err error) {
	if asks {
		at.means, err = sourceline.Prepare(at.Folder)
	}
	return err
}

// inPlace calls play with a place that is there as long as the call lasts. Its folder is a copy of another
// one, or empty. If stop is closed, which may be nil, nothing is played: the error is [ErrStopped].
func inPlace(original string, stop <-chan struct{}, play func(place) error) error {
	if isClosed(stop) {
		return ErrStopped
	}
	run, err := leftover.Begin()
	if err != nil {
		return err
	}
	defer run.End()
	at := place{Run: run, dir: filepath.Join(run.Folder, "dir"), stop: stop}
	if err := os.Mkdir(at.dir, 0o700); err != nil {
		return err
	}
	if original != "" {
		if err := os.CopyFS(at.dir, os.DirFS(original)); err != nil {
			return fmt.Errorf("copy %s for a process: %w", original, err)
		}
	}
	return play(at)
}

// isClosed reports whether a channel is closed on which nothing is sent.
func isClosed(channel <-chan struct{}) bool {
	select {
	case <-channel:
		return true
	default:
		return false
	}
}

// withMarks returns texts with the values of marks, such as the folder of a process, in their place.
func withMarks(texts []string, marks ...string) []string {
	replacer := strings.NewReplacer(marks...)
	list := make([]string, len(texts))
	for i, text := range texts {
		list[i] = replacer.Replace(text)
	}
	return list
}

// lastWords returns the last line of what a process wrote before it ended, without those behind it that node
// adds to each error: its stack, its members, and the version of node. Of a program in Go that panics it is the panic.
func lastWords(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for _, line := range slices.Backward(lines) {
		if strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ") {
			return line
		}
	}
	added := []string{" ", "}", "Node.js v", "Emitted 'error' event"}
	for _, line := range slices.Backward(lines) {
		isAdded := func(prefix string) bool { return strings.HasPrefix(line, prefix) }
		if line != "" && !slices.ContainsFunc(added, isAdded) {
			return strings.TrimSuffix(line, " {")
		}
	}
	return lines[len(lines)-1]
}
