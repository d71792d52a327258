package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcprec/mcprec/fixtures"
	"github.com/mcprec/mcprec/recorder"
	"github.com/mcprec/mcprec/recorder/outage"
	"github.com/mcprec/mcprec/replay/phrase"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/boltstore"
	"github.com/mcprec/mcprec/transport"
)

type recordOptions struct {
	home
	label   labels
	out     string
	sync    string
	verbose bool
	mask    bool
	http    targetOptions
	disk    diskOptions
	mode    fixtures.Mode // of serve, which records; "" of record
}

func newRecord(std streams) *cobra.Command {
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
				return usagef("record: no command; use mcprec record -- COMMAND [ARG]..., or mcprec record --target URL")
			case len(args) > 0 && o.http.target != "":
				return usagef("record: --target and a command; give one of them")
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
	o.addDoor(cmd)
	f := cmd.Flags()
	f.SetInterspersed(false)
	f.VarP(&o.label, "label", "l", "a `LABEL` for listings, or NAME=VALUE, by which prune and stats pick;\nmay be given several times")
	f.StringVarP(&o.out, "out", "o", "", "write the session to a fixture `FILE` as well, when it has ended;\nif FILE is there, to the next free name FILE-2, FILE-3, …; a FILE\nof this server in which a client asked for nothing but\nserver/discover is replaced: that was its probe")
	f.StringVar(&o.sync, "sync", "50ms", "how soon frames are on disk after the operating system has them:\na duration, always, or none")
	f.BoolVarP(&o.verbose, "verbose", "v", false, "say on stderr what was recorded")
	completeWords(cmd, "sync", "50ms", "always", "none")
	f.BoolVar(&o.mask, "mask", false, "keep no secrets: mask them when the session is moved from its spool into\nthe database, by 30 s or at its end; until the end the spool has them")
	o.disk.addFlags(cmd)
	o.http.addFlags(cmd)
	return cmd
}

func runRecord(std streams, o recordOptions, command []string) error {
	syncing, err := o.check()
	if err != nil {
		return err
	}
	keepPipeErrors()
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, forwarded()...)
	std, err = vacate(std)
	if err != nil {
		return fmt.Errorf("take over standard input and output: %v", err)
	}
	process, err := transport.StartProcess(command...)
	if err != nil {
		return err
	}
	o.disk.fail = func(error) { // the server gets the time to end
		process.Signal(syscall.SIGTERM)
		time.AfterFunc(2*time.Second, func() { process.Signal(os.Kill) })
	}
	db, rec := startRecorder(std, o, syncing, command)
	exited, err := rec.Run(recorder.Stdio{Client: std.in, Reply: std.out, Errors: std.err, Process: process, Signals: signals, Heard: fromTerminal})
	if err != nil {
		return err
	}
	s := &status{code: exited.Code, signal: exited.Signal}
	if o.disk.ended.Load() { // it did not end of itself
		s = &status{code: exitLost}
	}
	rec.Seal()
	if !finishUnderSignals(std, o, db, rec, signals) && s.code == exitFine && s.signal == nil {
		s.code = exitLost
	}
	return s
}

// errGivenUp says why a fixture is not written.
var errGivenUp = errors.New("given up at a second signal")

// finishUnderSignals does what is left when the session is over, and reports whether all
// was recorded and written. All is in the spool by now, and the next mcprec can do the
// rest, so a signal ends that. But nobody else writes the file of --out: only a second
// signal gives that up, with a message.
func finishUnderSignals(std streams, o recordOptions, db *boltstore.Store, rec *recorder.Recorder, signals <-chan os.Signal) (whole bool) {
	ctx, giveUp := context.WithCancelCause(context.Background())
	defer giveUp(nil)
	finished := make(chan bool, 1)
	go func() { finished <- finishRecord(ctx, std, o, db, rec.Close()) }()
	say := func(text string) { fmt.Fprintf(plainTo(std.err), "mcprec: %s %s\n", o.out, text) }
	select {
	case whole = <-finished:
		return whole
	case <-signals:
	}
	if o.out == "" {
		return true
	}
	say("is being written; another signal gives it up")
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
	say(fmt.Sprintf("was not written: %v; mcprec export -o %s %s writes it", errGivenUp, o.out, rec.ID()))
	return false
}

// check refuses flags that cannot be, before there is anything to lose.
func (o *recordOptions) check() (syncing time.Duration, err error) {
	if syncing, err = parseSync(o.sync); err != nil {
		return 0, usagef("--sync: %v", err)
	}
	if o.out == "-" {
		return 0, usagef("--out -: standard output is the protocol's; name a file")
	}
	if dir := filepath.Dir(o.out); o.out != "" { // or the fixture could not be written at the end
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			return 0, usagef("--out %s: there is no folder %s", o.out, dir)
		}
	}
	if o.mask && o.secrets.show {
		return 0, usagef("--mask and --secrets; give one of them")
	}
	if len(o.secrets.Keys)+len(o.secrets.Patterns)+len(o.secrets.Pointers) > 0 { // the built-in rules take time to read
		if _, err := o.secrets.rules(); err != nil {
			return 0, err
		}
	}
	return syncing, o.disk.parse()
}

// masked is what the header says of --mask.
func (o *recordOptions) masked() *store.MaskRules {
	if !o.mask {
		return nil
	}
	return &o.secrets.MaskRules
}

// parseSync reads the --sync flag.
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

// startRecorder never fails: without a store the session goes on unrecorded,
// and says so.
func startRecorder(std streams, o recordOptions, syncing time.Duration, command []string) (*boltstore.Store, *recorder.Recorder) {
	db, err := o.open(boltstore.Options{Sync: syncing})
	var rec *recorder.Recorder
	if err == nil {
		h := store.Header{Transport: "stdio", Label: o.label.text, Labels: o.label.values, Command: command, Masked: o.masked(), Recorder: "mcprec " + version()}
		rec, err = recorder.New(context.Background(), db, h, o.recording(std)...)
	}
	if err != nil {
		if db != nil {
			err = errors.Join(err, db.Close())
		}
		o.unrecorded(std, err)
		return nil, recorder.Unrecorded(err)
	}
	return db, rec
}

// finishRecord says what there is to say, writes the fixture, and reports
// whether all was recorded and written.
func finishRecord(ctx context.Context, std streams, o recordOptions, db *boltstore.Store, sum recorder.Summary) bool {
	whole := reportRecorded(ctx, std, o, db, sum)
	if db == nil || errors.Is(sum.Err, outage.ErrNoAnswer) { // closing it would wait for the disk
		return false
	}
	if err := db.Exposed(); err != nil {
		fmt.Fprintf(plainTo(std.err), "mcprec: %v\n", err)
	}
	if err := db.Close(); err != nil {
		fmt.Fprintf(plainTo(std.err), "mcprec: %v\n", err)
		return false
	}
	return whole
}

// reportRecorded says what there is to say of one session, and writes its fixture.
func reportRecorded(ctx context.Context, std streams, o recordOptions, db *boltstore.Store, sum recorder.Summary) bool {
	say := func(format string, args ...any) { fmt.Fprintf(plainTo(std.err), "mcprec: "+format+"\n", args...) }
	switch {
	case db == nil:
		say("%s %s not recorded", phrase.Plural(sum.Lost, "event"), phrase.Agree(sum.Lost, "was", "were"))
		if o.out != "" {
			say("%s was not written", o.out)
		}
		return false
	case sum.Lost > 0:
		say("session %s: %s could not be recorded: %v", sum.ID, phrase.Plural(sum.Lost, "event"), sum.Err)
	case sum.Err != nil:
		say("session %s: %v", sum.ID, sum.Err)
	case sum.Cut > 0 && sum.Err == nil:
		say("session %s: cut to --max-frame in the recording: %s", sum.ID, phrase.Plural(sum.Cut, "frame"))
	case sum.Trouble != nil:
		say("session %s: all is recorded: %s, %s", sum.ID, phrase.Plural(sum.Frames, "frame"), phrase.Plural(sum.Bytes, "byte"))
	case o.verbose:
		say("recorded session %s: %s, %s", sum.ID, phrase.Plural(sum.Frames, "frame"), phrase.Plural(sum.Bytes, "byte"))
	}
	if errors.Is(sum.Err, outage.ErrNoAnswer) && o.out != "" {
		say("%s was not written; mcprec export %s writes it", o.out, sum.ID)
		return false
	}
	if o.out != "" {
		if err := writeFixture(ctx, std, o, db, sum); err != nil {
			say("%v", err)
			return false
		}
	}
	return sum.Err == nil && sum.Lost == 0
}

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
	f.StringVar(&o.frame, "max-frame", "0", "record at most `SIZE` of a frame, whose event then says that it is cut;\nit passes whole, as it stands in the spool of a live session; 0 records all")
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
