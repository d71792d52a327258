// Package recording runs record and drive: it joins two live sides, or plays a recorded client to a
// server, and keeps what was said.
//
// # What it promises
//
// [Command] runs a server, and [Target] stands before a remote one; a local server has one recorder, a
// remote server a recorder for each session. If the store is missing or fails, the session goes on.
// [DriveCommand] and [DriveTarget] play the client's half of a recording to a live server, and return
// the new events; a drive that breaks off leaves nothing behind.
//
// # Source files
//
//	recording.go  a recording, from its options to what is said at its end
//	target.go     the sessions of a remote server
//	budget.go     the budget of the store, beside a recording and behind it
//	drive.go      drives
//	renew.go      the events of a drive in place of the recording
//	fill.go       secrets in place of their placeholders
//	settings.go   mcprec.json: flags for the fixtures of a folder
//	play.go       a play of package external as a session and as a script
//	trial.go      a session of serve with faults
//	attach.go     a server that runs already, by strace
//
// # What it refuses
//
// It never writes to standard output, which is the protocol's. It masks what is printed and what --out
// writes, and neither the wire nor the store.
package recording

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"slices"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/cli"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/output"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/retention"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/session"
	"github.com/mcprec/mcprec/fixtures"
	"github.com/mcprec/mcprec/recorder"
	"github.com/mcprec/mcprec/recorder/outage"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/jsonl"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
	"github.com/mcprec/mcprec/transport/phrase"
	"github.com/mcprec/mcprec/transport/procfs"
)

// Options are the options of a recording.
type Options struct {
	Home     session.Home
	Recorder string // the name and version in the header
	Label    string
	Labels   map[string]string
	Out      string           // the fixture to write at the end, or ""
	Mode     fixtures.Mode    // of serve, which writes the fixture for itself; "" of record
	Sync     time.Duration    // how soon frames are on the disk
	MaxFrame int64            // bytes of a frame to record; 0 is no limit
	Verbose  bool             // print a summary
	Now      func() time.Time // the clock of the recordings; nil: the system's
	// Stuck says what was stuck in a session when it ended, for the summary; nil says nothing.
	Stuck  func(context.Context, *session.Session) []string
	Mask   bool // keep no secrets
	Strict bool // end the session rather than pass a frame unrecorded
	Budget retention.Budget

	Remote      // of a server over HTTP
	Split  bool // each exchange without a session id is a recording
	Join   bool // record the sessions of the remote server as one
}

// Remote is a server over HTTP, and where mcprec listens in its place.
type Remote struct {
	Target  string   // the URL of its endpoint; "": there is none
	Listen  string   // the address for clients
	Origins []string // whose web pages may ask, apart from those of this machine
}

// recording is a run of record: a session on stdio, or the sessions of a remote server.
type recording struct {
	Options
	std    cli.Streams
	db     *session.Store // nil without a store, in an unrecorded session
	fail   func()         // ends the session, with --strict
	failed atomic.Bool    // fail was called

	attended bool // with a target: a person sees standard error
}

// newRecording checks the options, and limits the memory of the process.
func newRecording(std cli.Streams, options Options) (*recording, error) {
	if options.Out == "-" {
		return nil, cli.Usagef("--out -: standard output is the protocol's; name a file")
	}
	if dir := filepath.Dir(options.Out); options.Out != "" { // or the fixture could not be written at the end
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			return nil, cli.Usagef("--out %s: there is no folder %s", options.Out, dir)
		}
	}
	rules := options.Home.Secrets
	if len(rules.Keys)+len(rules.Patterns)+len(rules.Pointers) > 0 { // the built-in rules take time to read
		if _, err := rules.Rules(); err != nil {
			return nil, err
		}
	}
	// Within about 64 MiB, whatever disk and peers do: mcprec itself takes some more than the heap,
	// and so does a heap that the machine has no time to collect.
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(40 << 20)
	}
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(200) // little lives long in a recorder, and the limit holds in any case
	}
	return &recording{Options: options, std: std}, nil
}

// Command starts the server and records the session, until the server ends.
func Command(std cli.Streams, options Options, command []string) error {
	r, err := newRecording(std, options)
	if err != nil {
		return err
	}
	cli.KeepPipeErrors()
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, cli.ForwardedSignals()...)
	if r.std, err = cli.MoveStdio(std); err != nil {
		return fmt.Errorf("take over standard input and output: %v", err)
	}
	child, err := transport.StartProcess(command...)
	if err != nil {
		r.recordNoStart(command, err)
		return err
	}
	r.fail = func() { // the server gets the time to end
		child.Signal(syscall.SIGTERM)
		time.AfterFunc(2*time.Second, func() { child.Signal(os.Kill) })
	}
	rec := r.start(command, &store.Processes{
		Server: procfs.Identify(child.Pid()), Recorder: procfs.Identify(os.Getpid()), Client: procfs.Identify(os.Getppid()),
		Watched: recorder.Watched(child.Stdin, r.std.Out)})
	if output.IsTerminal(r.std.In) && output.IsTerminal(r.std.Err) && r.db != nil {
		r.Verbose = true
		r.say("recording session %s; a client is to speak on standard input, here the keyboard; ^D ends it", rec.ID())
	}
	endTidying := r.tidyBeside()
	exited, err := rec.Run(recorder.Stdio{Client: r.std.In, Reply: r.std.Out, Errors: r.std.Err, Process: child, Signals: signals, Heard: cli.FromTerminal,
		Held: func(text string) { r.say("session %s: %s", rec.ID(), text) }})
	if err != nil {
		return err
	}
	s := &cli.Status{Code: exited.Code, Signal: exited.Signal}
	if r.failed.Load() { // the server did not end by itself
		s = &cli.Status{Code: cli.ExitLost}
	}
	rec.Seal()
	if !r.finishUnderSignals(rec, signals, endTidying) && s.Code == cli.ExitFine && s.Signal == nil {
		s.Code = cli.ExitLost
	}
	return s
}

// recordNoStart records why a server did not start, so that mcprec why can say it later: a client often shows only
// that the server is gone. Its own faults are not reported: standard error has the reason alone.
func (r *recording) recordNoStart(command []string, cause error) {
	var start *transport.StartError
	if !errors.As(cause, &start) {
		return
	}
	db, err := session.OpenRecorder(r.Home, r.Sync)
	if err != nil {
		return
	}
	defer db.Close()
	r.db = db
	rec, err := recorder.New(context.Background(), db, r.headerOf(command))
	if err != nil {
		return
	}
	rec.Record(store.Exited, transport.NoDirection, store.ExitInfo{Code: start.Code, NotStarted: start.Reason()})
	rec.Close()
	_, _, _ = r.Budget.Enforce(context.Background(), db.Store, time.Now(), tidyPatience) // the next recorder reports a fault
}

// start opens the store and begins the session. Without a store the session
// goes on unrecorded, and stderr says so.
func (r *recording) start(command []string, processes *store.Processes) *recorder.Recorder {
	db, err := session.OpenRecorder(r.Home, r.Sync)
	if err != nil {
		return r.unrecorded(err)
	}
	h := r.headerOf(command)
	h.Processes = processes
	rec, err := recorder.New(context.Background(), db, h, r.options()...)
	if err != nil {
		return r.unrecorded(errors.Join(err, db.Close()))
	}
	r.db = db
	return rec
}

// headerOf returns the header of a session with a local server.
func (r *recording) headerOf(command []string) store.Header {
	h := r.header()
	h.Transport = "stdio"
	h.Command = command
	return h
}

func (r *recording) header() store.Header {
	h := store.Header{Label: r.Label, Labels: r.Labels, Recorder: r.Recorder}
	if r.Mask {
		h.Masked = &r.Home.Secrets.MaskRules
	}
	return h
}

func (r *recording) options() []recorder.Option {
	options := []recorder.Option{recorder.MaxFrame(r.MaxFrame), recorder.Trouble(r.trouble)}
	if r.Strict {
		options = append(options, recorder.Strict())
	}
	if r.Now != nil {
		options = append(options, recorder.Clock(r.Now))
	}
	return options
}

// say prints a line on stderr, in one write, because several sessions may end at once.
func (r *recording) say(format string, args ...any) {
	fmt.Fprintf(output.NewWriter(r.std.Err), "mcprec: "+format+"\n", args...)
}

// trouble reports a failing disk, and ends a strict session.
func (r *recording) trouble(err error) {
	switch {
	case r.Strict && !r.failed.Swap(true):
		r.say("%v; the session ends, as --strict asks", err)
		r.fail()
	case r.Strict:
	case errors.Is(err, store.ErrNotKept):
		r.say("%v; the session goes on, and its recording says from which event on it is doubtful", err)
	default:
		r.say("%v; the session goes on, and what is recorded waits in memory", err)
	}
}

// unrecorded reports an unrecorded session, and ends a strict session.
func (r *recording) unrecorded(err error) *recorder.Recorder {
	if r.Strict {
		r.trouble(err)
	} else {
		r.say("%v; the session goes on unrecorded", err)
	}
	return recorder.Unrecorded(err)
}

var errGivenUp = errors.New("given up at a second signal")

// finishUnderSignals does the work at the end of a session, and reports whether everything was
// recorded and written. Everything is in the spool by now, and the next mcprec can do the
// rest, so a signal ends the work. But no other process writes the file of --out: only a second
// signal gives the file up, with a message.
func (r *recording) finishUnderSignals(rec *recorder.Recorder, signals <-chan os.Signal, endTidying func()) (whole bool) {
	ctx, giveUp := context.WithCancelCause(context.Background())
	defer giveUp(nil)
	finished := make(chan bool, 1)
	go func() {
		sum := rec.Close()
		whole := r.report(ctx, sum)
		if r.db == nil || errors.Is(sum.Err, outage.ErrNoAnswer) { // closing the store would wait for the disk
			finished <- false
			return
		}
		if err := r.db.Exposed(); err != nil {
			r.say("%v", err)
		}
		endTidying()
		r.tidy(tidyPatience)
		if err := r.db.Close(); err != nil {
			r.say("%v", err)
			whole = false
		}
		finished <- whole
	}()
	select {
	case whole = <-finished:
		return whole
	case <-signals:
	}
	if r.Out == "" {
		return true
	}
	r.say("%s is being written; another signal gives it up", r.Out)
	select {
	case whole = <-finished:
		return whole
	case <-signals:
		giveUp(errGivenUp)
	}
	select {
	case whole = <-finished: // the message is printed
		return whole
	case <-time.After(time.Second): // the disk does not answer
	}
	r.say("%s was not written: %v; mcprec export -o %s %s writes it", r.Out, errGivenUp, phrase.ShellWord(r.Out), rec.ID())
	return false
}

// report prints the faults of a recorded session, or a summary with -v, and writes the fixture.
// The result is true if everything was recorded and written.
func (r *recording) report(ctx context.Context, sum recorder.Summary) (whole bool) {
	amount := phrase.Plural(sum.Frames, "message") + ", " + phrase.Plural(sum.Bytes, "byte")
	switch {
	case r.db == nil:
		r.say("%s %s not recorded", phrase.Plural(sum.Lost, "event"), phrase.Agree(sum.Lost, "was", "were"))
		if r.Out != "" {
			r.say("%s was not written", r.Out)
		}
		return false
	case sum.Lost > 0:
		r.say("session %s: %s could not be recorded: %v", sum.ID, phrase.Plural(sum.Lost, "event"), sum.Err)
	case sum.Err != nil:
		r.say("session %s: %v", sum.ID, sum.Err)
	case sum.Cut > 0:
		r.say("session %s: cut to --max-message in the recording: %s", sum.ID, phrase.Plural(sum.Cut, "message"))
	case sum.Trouble != nil:
		r.say("session %s: all is recorded: %s", sum.ID, amount)
	case r.Verbose:
		r.say("recorded session %s: %s", sum.ID, amount)
	}
	if d, err := r.Home.Masker(r.db); err == nil && r.Verbose && r.Stuck != nil {
		s := r.db.Unmasked(sum.ID)
		s.Masker = d
		for _, text := range r.Stuck(ctx, s) {
			r.say("%s", text)
		}

	}
	if errors.Is(sum.Err, outage.ErrNoAnswer) && r.Out != "" {
		r.say("%s was not written; mcprec export -o %s %s writes it", r.Out, phrase.ShellWord(r.Out), sum.ID)
		return false
	}
	if r.Out != "" {
		if err := r.writeFixture(ctx, sum.ID); err != nil {
			r.say("%v", err)
			return false
		}
	}
	return sum.Err == nil && sum.Lost == 0
}

// writeFixture writes a session to the file of --out, until the context is over.
func (r *recording) writeFixture(ctx context.Context, id store.SessionID) error {
	d, err := r.Home.Masker(r.db)
	if err != nil {
		return err
	}
	events := until(ctx, d.Events(r.db.Read(ctx, id, 1, store.ReadOptions{})))
	held := contentsOf(events)
	if r.Mode != "" { // else an empty session would be served for ever
		switch {
		case !held.said:
			return fmt.Errorf("the server said nothing; %s was not written", r.Out)
		case held.probed:
			r.say("the client only probed for what the server is; %s is for the session after it", r.Out)
			return nil
		}
	}
	name, replaced := r.Out, false
	write := func(w io.Writer) error { return session.Encode(w, events) }
	if r.Mode == fixtures.All {
		err = cli.ReplaceFile(r.Out, write)
	} else {
		name, replaced, err = cli.WriteNewFile(r.Out, write, func(there string) bool { return probeOf(held.header, there) })
	}
	switch {
	case err != nil:
		return fmt.Errorf("%w; the session is in the store as %s", err, id)
	case replaced && r.Verbose:
		r.say("%s had only a client's probe for what the server is; it has the session now", name)
	case name != r.Out && r.Target == "": // a target has several sessions
		r.say("%s is there already; wrote %s", r.Out, name)
	}
	return nil
}

// until yields events until the context is over, and then its cause as an error.
func until(ctx context.Context, events iter.Seq2[store.Event, error]) iter.Seq2[store.Event, error] {
	return func(yield func(store.Event, error) bool) {
		for e, err := range events {
			if ctx.Err() != nil {
				e = store.Event{}
				err = context.Cause(ctx)
			}
			if !yield(e, err) || err != nil {
				return
			}
		}
	}
}

// contents tells a session worth a fixture from a probe.
type contents struct {
	header store.Header
	said   bool // the server sent a frame
	probed bool // the client sent no request but server/discover
}

// contentsOf returns the contents of a session. Some clients start a server to probe it with
// server/discover alone, and another one for their session, as the TypeScript SDK does. A
// session that cannot be read counts as no probe in which the server spoke: it is written, and
// the writing reports the fault.
func contentsOf(events iter.Seq2[store.Event, error]) (c contents) {
	asked := false
	for e, err := range events {
		if err == nil && e.Kind == store.Opened {
			c.header, err = store.ParseHeader(e.Payload)
		}
		if err != nil {
			return contents{said: true}
		}
		if e.Kind != store.Frame {
			continue
		}
		c.said = c.said || e.Dir == transport.ServerToClient
		messages, _ := e.AsFrame().Messages()
		for _, m := range messages {
			if e.Dir == transport.ClientToServer && m.Kind() == transport.Request {
				c.probed = m.Method == mcp.MethodDiscover && (c.probed || !asked)
				asked = true
			}
		}
		if c.said && asked && !c.probed { // no other event changes the result
			return c
		}
	}
	return c
}

// probeOf reports whether a file is a recording of the same server as header, and a probe.
func probeOf(header store.Header, name string) bool {
	info, err := os.Lstat(name)
	if err != nil || !info.Mode().IsRegular() || header.Command == nil && header.URL == "" {
		return false
	}
	f, err := os.Open(name)
	if err != nil {
		return false
	}
	defer f.Close()
	c := contentsOf(jsonl.Decode(f))
	return c.probed && slices.Equal(c.header.Command, header.Command) && c.header.URL == header.URL
}
