package main

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

	"github.com/spf13/cobra"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/exit"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/outfile"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/process"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/session"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/terminal"
	"github.com/mcprec/mcprec/fixtures"
	"github.com/mcprec/mcprec/recorder"
	"github.com/mcprec/mcprec/recorder/outage"
	"github.com/mcprec/mcprec/recorder/procstate"
	"github.com/mcprec/mcprec/replay/phrase"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/boltstore"
	"github.com/mcprec/mcprec/store/jsonl"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

type recordOptions struct {
	home
	label   labels
	out     string
	sync    string
	verbose bool
	mask    bool
	strict  bool
	frame   string // --max-frame
	http    targetOptions
	mode    fixtures.Mode // of serve, which can record; "" of record
}

func newRecord(std process.Streams) *cobra.Command {
	var o recordOptions
	cmd := &cobra.Command{
		Use:   "record [flags] -- COMMAND [ARG]...\n  mcprec record [flags] --target URL",
		Short: "Run a stdio server, or stand before a remote one, and record its sessions",
		Long: `record starts the server COMMAND, stands between it and the client on its own
stdin and stdout, and writes every frame, byte for byte, to the store before it
passes it on. Put it in front of the server's command in a client's
configuration.

stdout is the protocol's alone. On stderr is what the server says there, and a
word of mcprec's own only when something is wrong, or with -v. The exit status
is the server's.

record ends when its server has ended. Another process may still hold the server's
output then, such as one that npx has started: all that the server itself wrote is
passed on, and record ends at once if a signal asked for it, else when that output has
been silent for 250 ms. While the client is there and the other process still reads
what it says, the session goes on.

` + diskHelp + secretHelp + targetHelp + exitTable,
		Args: func(_ *cobra.Command, args []string) error {
			switch {
			case len(args) == 0 && o.http.target == "":
				return exit.Usagef("record: no command; use mcprec record -- COMMAND [ARG]..., or mcprec record --target URL")
			case len(args) > 0 && o.http.target != "":
				return exit.Usagef("record: --target and a command; give one of them")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.http.target != "" {
				return runTarget(cmd.Context(), std, o)
			}
			return runRecord(std, o, args)
		},
	}
	o.addMaskFlags(cmd)
	f := cmd.Flags()
	f.SetInterspersed(false)
	f.VarP(&o.label, "label", "l", "a `LABEL` for listings, or NAME=VALUE, by which prune and stats pick;\nmay be given several times")
	f.StringVarP(&o.out, "out", "o", "", "write the session to a fixture `FILE` as well, when it has ended;\nif FILE is there, to the next free name FILE-2, FILE-3, …; a FILE\nof this server in which a client asked for nothing but\nserver/discover is replaced: that was its probe")
	f.StringVar(&o.sync, "sync", "50ms", "how soon frames are on disk after the operating system has them:\na duration, always, or none")
	f.BoolVarP(&o.verbose, "verbose", "v", false, "say on stderr what was recorded")
	completeWords(cmd, "sync", "50ms", "always", "none")
	f.BoolVar(&o.mask, "mask", false, "keep no secrets: mask them when the session is moved from its spool into\nthe database, by 30 s or at its end; until the end the spool has them")
	f.StringVar(&o.frame, "max-frame", "0", "record at most `SIZE` of a frame, whose event then says that it is cut;\nit passes whole, as it stands in the spool of a live session; 0 records all")
	for name, value := range map[string]*string{"max-body": &o.frame, "memory": new(string)} { // of older versions
		f.StringVar(value, name, "0", "")
		_ = f.MarkHidden(name)
	}
	f.BoolVar(&o.strict, "strict", false, "end the session rather than let something pass unrecorded")
	f.StringVar(&o.http.target, "target", "", "record the HTTP server whose MCP endpoint is `URL`")
	f.StringVar(&o.http.listen, "listen", "127.0.0.1:7000", "with --target: the `ADDRESS` for clients; port 0 takes a free one")
	f.StringArrayVar(&o.http.origins, "allow-origin", nil, "with --target: let web pages of `ORIGIN` use it, not only those of\nthis machine; may be repeated; * lets all")
	f.BoolVar(&o.http.split, "split", false, "with --target: give each exchange without a session id a recording of its own")
	return cmd
}

const secretHelp = `The store keeps exactly what passed, for you alone, but for headers that carry
credentials. Whatever leaves it, shown or written, has its secrets masked: [redacted:…]
stands for each, the same for the same secret. --secrets leaves them as they are,
--mask-key and its like mask more, --mask keeps none once the session has ended, and mcprec
redact takes them out of a session for good.

`

const diskHelp = `If the disk does not answer, a frame waits for it for at most 100 ms; if the disk is
full, it does not wait. The session goes on, and what is to be recorded waits in memory,
up to 24 MiB, until the disk takes it. If that memory is full, a frame waits for room for
at most a second, of a disk that is only slow. What finds no room is counted, and the
recording says where it is missing. If mcprec is killed meanwhile, what waits is lost.
With --strict nothing passes that is not written: the session ends when the disk fails,
or does not answer for 5 s.

`

// recording is one run of record: a session on stdio, or the sessions of a remote server.
type recording struct {
	recordOptions
	std      process.Streams
	syncing  time.Duration    // of --sync
	maxFrame int64            // of --max-frame
	db       *boltstore.Store // nil if there is none, and nothing is recorded
	fail     func()           // ends the session, with --strict
	failed   atomic.Bool      // fail was called
}

// newRecording checks the flags, before there is anything to lose, and limits the memory of
// the process.
func newRecording(std process.Streams, o recordOptions) (*recording, error) {
	r := &recording{recordOptions: o, std: std}
	var err error
	if r.syncing, err = parseSync(o.sync); err != nil {
		return nil, exit.Usagef("--sync: %v", err)
	}
	if o.frame == "" { // of serve
		o.frame = "0"
	}
	if r.maxFrame, err = parseSize(o.frame); err != nil {
		return nil, exit.Usagef("--max-frame: %v", err)
	}
	if o.out == "-" {
		return nil, exit.Usagef("--out -: standard output is the protocol's; name a file")
	}
	if dir := filepath.Dir(o.out); o.out != "" { // or the fixture could not be written at the end
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			return nil, exit.Usagef("--out %s: there is no folder %s", o.out, dir)
		}
	}
	if o.mask && o.Secrets.Show {
		return nil, exit.Usagef("--mask and --secrets; give one of them")
	}
	if len(o.Secrets.Keys)+len(o.Secrets.Patterns)+len(o.Secrets.Pointers) > 0 { // the built-in rules take time to read
		if _, err := o.Secrets.Rules(); err != nil {
			return nil, err
		}
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(heapLimit)
	}
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(200) // little lives long in a recorder, and the limit holds in any case
	}
	return r, nil
}

// heapLimit keeps a recorder within about 64 MiB, whatever disk and peers do: mcprec itself
// takes some more, and so does a heap that the machine has no time to collect.
const heapLimit = 40 << 20

func parseSync(s string) (time.Duration, error) {
	switch s {
	case "always":
		return boltstore.SyncAlways, nil
	case "none":
		return boltstore.SyncNone, nil
	}
	d, err := time.ParseDuration(s)
	if err != nil || d <= 0 {
		return 0, fmt.Errorf("%q: want a duration such as 50ms, always, or none", s)
	}
	return d, nil
}

func runRecord(std process.Streams, o recordOptions, command []string) error {
	r, err := newRecording(std, o)
	if err != nil {
		return err
	}
	process.KeepPipeErrors()
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, process.ForwardedSignals()...)
	if r.std, err = process.MoveStdio(std); err != nil {
		return fmt.Errorf("take over standard input and output: %v", err)
	}
	child, err := transport.StartProcess(command...)
	if err != nil {
		return err
	}
	r.fail = func() { // the server gets the time to end
		child.Signal(syscall.SIGTERM)
		time.AfterFunc(2*time.Second, func() { child.Signal(os.Kill) })
	}
	rec := r.start(command, &store.Processes{
		Server: procstate.Identify(child.Pid()), Recorder: procstate.Identify(os.Getpid()), Client: procstate.Identify(os.Getppid()),
		Watched: recorder.Watched(child.Stdin, r.std.Out)})
	exited, err := rec.Run(recorder.Stdio{Client: r.std.In, Reply: r.std.Out, Errors: r.std.Err, Process: child, Signals: signals, Heard: process.FromTerminal})
	if err != nil {
		return err
	}
	s := &exit.Status{Code: exited.Code, Signal: exited.Signal}
	if r.failed.Load() { // the server did not end by itself
		s = &exit.Status{Code: exit.Lost}
	}
	rec.Seal()
	if !r.finishUnderSignals(rec, signals) && s.Code == exit.Fine && s.Signal == nil {
		s.Code = exit.Lost
	}
	return s
}

// start opens the store and begins the session. It never fails: without a store the session
// goes on unrecorded, and stderr says so.
func (r *recording) start(command []string, processes *store.Processes) *recorder.Recorder {
	db, err := r.Open(boltstore.Options{Sync: r.syncing})
	if err != nil {
		return r.unrecorded(err)
	}
	h := r.header()
	h.Transport, h.Command, h.Processes = "stdio", command, processes
	rec, err := recorder.New(context.Background(), db, h, r.options()...)
	if err != nil {
		return r.unrecorded(errors.Join(err, db.Close()))
	}
	r.db = db
	return rec
}

func (r *recording) header() store.Header {
	h := store.Header{Label: r.label.text, Labels: r.label.values, Recorder: "mcprec " + version()}
	if r.mask {
		h.Masked = &r.Secrets.MaskRules
	}
	return h
}

func (r *recording) options() []recorder.Option {
	options := []recorder.Option{recorder.MaxFrame(r.maxFrame), recorder.Trouble(r.trouble)}
	if r.strict {
		options = append(options, recorder.Strict())
	}
	return options
}

// say prints a line on stderr, in one write: several sessions may end at once.
func (r *recording) say(format string, args ...any) {
	fmt.Fprintf(terminal.NewWriter(r.std.Err), "mcprec: "+format+"\n", args...)
}

// trouble reports that the disk does not take what is written, and ends a strict session.
func (r *recording) trouble(err error) {
	switch {
	case r.strict && !r.failed.Swap(true):
		r.say("%v; the session ends, as --strict asks", err)
		r.fail()
	case r.strict:
	case errors.Is(err, store.ErrNotKept):
		r.say("%v; the session goes on, and its recording says from which event on it is doubtful", err)
	default:
		r.say("%v; the session goes on, and what is recorded waits in memory", err)
	}
}

// unrecorded reports that a session is not recorded, and ends a strict one.
func (r *recording) unrecorded(err error) *recorder.Recorder {
	if r.strict {
		r.trouble(err)
	} else {
		r.say("%v; the session goes on unrecorded", err)
	}
	return recorder.Unrecorded(err)
}

var errGivenUp = errors.New("given up at a second signal")

// finishUnderSignals does the work at the end of a session, and reports whether all was
// recorded and written. Everything is in the spool by now, and the next mcprec can do the
// rest, so a signal ends the work. But nobody else writes the file of --out: only a second
// signal gives that up, with a message.
func (r *recording) finishUnderSignals(rec *recorder.Recorder, signals <-chan os.Signal) (whole bool) {
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
	if r.out == "" {
		return true
	}
	r.say("%s is being written; another signal gives it up", r.out)
	select {
	case whole = <-finished:
		return whole
	case <-signals:
		giveUp(errGivenUp)
	}
	select {
	case whole = <-finished: // it has said so
		return whole
	case <-time.After(time.Second): // the disk does not answer
	}
	r.say("%s was not written: %v; mcprec export -o %s %s writes it", r.out, errGivenUp, r.out, rec.ID())
	return false
}

// report prints what is wrong with a recorded session, or with -v what was recorded, and
// writes its fixture. It reports whether all was recorded and written.
func (r *recording) report(ctx context.Context, sum recorder.Summary) (whole bool) {
	amount := phrase.Plural(sum.Frames, "frame") + ", " + phrase.Plural(sum.Bytes, "byte")
	switch {
	case r.db == nil:
		r.say("%s %s not recorded", phrase.Plural(sum.Lost, "event"), phrase.Agree(sum.Lost, "was", "were"))
		if r.out != "" {
			r.say("%s was not written", r.out)
		}
		return false
	case sum.Lost > 0:
		r.say("session %s: %s could not be recorded: %v", sum.ID, phrase.Plural(sum.Lost, "event"), sum.Err)
	case sum.Err != nil:
		r.say("session %s: %v", sum.ID, sum.Err)
	case sum.Cut > 0:
		r.say("session %s: cut to --max-frame in the recording: %s", sum.ID, phrase.Plural(sum.Cut, "frame"))
	case sum.Trouble != nil:
		r.say("session %s: all is recorded: %s", sum.ID, amount)
	case r.verbose:
		r.say("recorded session %s: %s", sum.ID, amount)
	}
	if errors.Is(sum.Err, outage.ErrNoAnswer) && r.out != "" {
		r.say("%s was not written; mcprec export %s writes it", r.out, sum.ID)
		return false
	}
	if r.out != "" {
		if err := r.writeFixture(ctx, sum.ID); err != nil {
			r.say("%v", err)
			return false
		}
	}
	return sum.Err == nil && sum.Lost == 0
}

// writeFixture writes a session to the file of --out, until the context is over.
func (r *recording) writeFixture(ctx context.Context, id store.SessionID) error {
	d, err := r.Masker(r.db)
	if err != nil {
		return err
	}
	events := until(ctx, d.Events(r.db.Read(ctx, id, 1, store.ReadOptions{})))
	held := contentsOf(events)
	if r.mode != "" { // or it would be served for ever
		switch {
		case !held.said:
			return fmt.Errorf("the server said nothing; %s was not written", r.out)
		case held.probed:
			r.say("the client only probed for what the server is; %s is for the session after it", r.out)
			return nil
		}
	}
	name, replaced := r.out, false
	write := func(w io.Writer) error { return session.Encode(w, events) }
	if r.mode == fixtures.All {
		err = outfile.Replace(r.out, write)
	} else {
		name, replaced, err = outfile.WriteNew(r.out, write, func(there string) bool { return probeOf(held.header, there) })
	}
	switch {
	case err != nil:
		return fmt.Errorf("%w; the session is in the store as %s", err, id)
	case replaced && r.verbose:
		r.say("%s had only a client's probe for what the server is; it has the session now", name)
	case name != r.out && r.http.target == "": // a target has several sessions
		r.say("%s is there already; wrote %s", r.out, name)
	}
	return nil
}

// until yields events until the context is over, and then its cause as an error.
func until(ctx context.Context, events iter.Seq2[store.Event, error]) iter.Seq2[store.Event, error] {
	return func(yield func(store.Event, error) bool) {
		for e, err := range events {
			if ctx.Err() != nil {
				e, err = store.Event{}, context.Cause(ctx)
			}
			if !yield(e, err) || err != nil {
				return
			}
		}
	}
}

// contents says what a session is worth as a fixture.
type contents struct {
	header store.Header
	said   bool // the server said something
	probed bool // the client asked for nothing but server/discover
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

// probeOf reports whether a file is a recording of the same server as h, and a probe.
func probeOf(h store.Header, name string) bool {
	info, err := os.Lstat(name)
	if err != nil || !info.Mode().IsRegular() || h.Command == nil && h.URL == "" {
		return false
	}
	f, err := os.Open(name)
	if err != nil {
		return false
	}
	defer f.Close()
	c := contentsOf(jsonl.Decode(f))
	return c.probed && slices.Equal(c.header.Command, h.Command) && c.header.URL == h.URL
}
