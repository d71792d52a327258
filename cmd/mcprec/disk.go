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
	"github.com/mcprec/mcprec/recorder/redact"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
)

// diskOptions are the flags of record for a disk that does not take what is written.
type diskOptions struct {
	memory string
	strict bool
	frame  string
	max    int64 // of frame

	budget *recorder.Budget
	fail   func(error)  // ends the session
	ended  *atomic.Bool // it did
}

const diskHelp = `If the disk does not answer, a frame waits for it 100 ms, at most; if it is full,
not at all. The session goes on, and what is to be recorded waits in memory, up to
two fifths of --memory, until the disk takes it. For room there a frame waits a second, at
most, of a disk that is only slow. What finds none is counted, and the recording says
where it is missing. While something waits, a mcprec that is
killed loses that. With --strict nothing passes that is not written: the session
ends when the disk fails, or does not answer for 5 s.

`

func (o *diskOptions) addFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&o.memory, "memory", "64MiB", "the `SIZE` of memory to keep to, whatever disk and peers do, 40MiB or\nmore; two fifths of it are for what waits for the disk")
	f.StringVar(&o.frame, "max-frame", "0", "record at most `SIZE` of a frame, whose event then says that it is cut;\nit passes whole; 0 records all")
	f.BoolVar(&o.strict, "strict", false, "end the session rather than let something pass unrecorded")
}

// parse checks the flags and sets the limit for the process.
func (o *diskOptions) parse() error {
	if o.memory == "" { // of serve, which records too
		o.memory = "64MiB"
	}
	n, err := parseSize(o.memory)
	if err != nil {
		return usagef("--memory: %v", err)
	}
	if o.frame == "" {
		o.frame = "0"
	}
	if o.max, err = parseSize(o.frame); err != nil {
		return usagef("--max-frame: %v", err)
	}
	o.budget, o.ended = recorder.NewBudget(n/5*2), new(atomic.Bool)
	if n > 0 {
		debug.SetMemoryLimit(max(n-ownSize, leastHeap))
		if os.Getenv("GOGC") == "" {
			debug.SetGCPercent(lazyGC)
		}
	}
	return nil
}

// lazyGC has the collector run half as often: little lives long in a recorder, and the
// limit holds in any case.
const lazyGC = 200

// ownSize is what is in memory besides what a limit of Go's counts: mcprec itself, and what
// goes beyond the limit where the machine has no time to collect.
const ownSize = 24 << 20

// leastHeap is what the collector needs not to be busy all the time.
const leastHeap = 16 << 20

// recording returns how a recorder of these options records.
func (o *recordOptions) recording(std streams, secrets *redact.Redactor) []recorder.Option {
	options := []recorder.Option{recorder.Redact(secrets), recorder.MaxFrame(o.disk.max), recorder.Trouble(func(err error) { o.disk.tell(std, err) })}
	switch {
	case o.disk.strict:
		return append(options, recorder.Strict())
	case o.disk.budget == nil:
		return options
	}
	return append(options, recorder.Within(o.disk.budget))
}

// tell says that the disk does not take what is written, and ends a strict session.
func (o *diskOptions) tell(std streams, err error) {
	switch {
	case !o.strict && errors.Is(err, store.ErrNotKept):
		fmt.Fprintf(plainTo(std.err), "mcprec: %v; the session goes on, and is recorded in a new file\n", err)
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
