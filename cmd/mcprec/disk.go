package main

import (
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcprec/mcprec/recorder"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
)

// diskOptions are the flags of record for a disk that does not take what is written.
type diskOptions struct {
	strict bool
	frame  string
	max    int64 // of frame

	fail  func(error)  // ends the session
	ended *atomic.Bool // it did
}

const diskHelp = `If the disk does not answer, a frame waits for it 100 ms, at most; if it is full,
not at all. The session goes on, and what is to be recorded waits in memory, up to
24 MiB, until the disk takes it. For room there a frame waits a second, at most, of a
disk that is only slow. What finds none is counted, and the recording says where it is
missing. While something waits, a mcprec that is killed loses that. With --strict nothing passes that is not written: the session
ends when the disk fails, or does not answer for 5 s.

`

func (o *diskOptions) addFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&o.frame, "max-frame", "0", "record at most `SIZE` of a frame, whose event then says that it is cut;\nit passes whole; 0 records all")
	for name, taken := range map[string]*string{"max-body": &o.frame, "memory": new(string)} { // what older versions had
		f.StringVar(taken, name, "0", "")
		_ = f.MarkHidden(name)
	}
	f.BoolVar(&o.strict, "strict", false, "end the session rather than let something pass unrecorded")
}

// parse checks the flags and sets the limit for the process.
func (o *diskOptions) parse() (err error) {
	if o.frame == "" { // of serve, which records too
		o.frame = "0"
	}
	if o.max, err = parseSize(o.frame); err != nil {
		return usagef("--max-frame: %v", err)
	}
	o.ended = new(atomic.Bool)
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(heapLimit)
	}
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(lazyGC)
	}
	return nil
}

// lazyGC has the collector run half as often: little lives long in a recorder, and the
// limit holds in any case.
const lazyGC = 200

// heapLimit keeps a recorder within about 64 MiB, whatever disk and peers do: mcprec itself
// takes some more, and so does a heap that the machine has no time to collect.
const heapLimit = 40 << 20

// recording returns how a recorder of these options records.
func (o *recordOptions) recording(std streams) []recorder.Option {
	options := []recorder.Option{recorder.MaxFrame(o.disk.max), recorder.Trouble(func(err error) { o.disk.tell(std, err) })}
	if o.disk.strict {
		options = append(options, recorder.Strict())
	}
	return options
}

// tell says that the disk does not take what is written, and ends a strict session.
func (o *diskOptions) tell(std streams, err error) {
	switch {
	case !o.strict && errors.Is(err, store.ErrNotKept):
		fmt.Fprintf(plainTo(std.err), "mcprec: %v; the session goes on, and its recording says from which event on it is doubtful\n", err)
		return
	case !o.strict:
		fmt.Fprintf(plainTo(std.err), "mcprec: %v; the session goes on, and what is recorded waits in memory\n", err)
		return
	}
	if o.ended.Swap(true) {
		return
	}
	fmt.Fprintf(plainTo(std.err), "mcprec: %v; the session ends, as --strict asks\n", err)
	o.fail(err)
}

// unrecorded says that a session is not recorded, and ends it if that is asked for.
func (o *recordOptions) unrecorded(std streams, err error) {
	if o.disk.strict {
		o.disk.tell(std, err)
		return
	}
	fmt.Fprintf(plainTo(std.err), "mcprec: %v; the session goes on unrecorded\n", err)
}

// endProcess asks the server to end, and then makes it.
func endProcess(p *transport.Process) {
	p.Signal(syscall.SIGTERM)
	time.AfterFunc(2*time.Second, func() { p.Signal(os.Kill) })
}
