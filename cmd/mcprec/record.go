package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcprec/mcprec/fixtures"
	"github.com/mcprec/mcprec/recorder"
	"github.com/mcprec/mcprec/recorder/redact"
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
	http    targetOptions
	secrets secretOptions
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
	o.addFlags(cmd)
	f := cmd.Flags()
	f.SetInterspersed(false)
	f.VarP(&o.label, "label", "l", "a `LABEL` for listings, or NAME=VALUE, by which prune and stats pick;\nmay be given several times")
	f.StringVarP(&o.out, "out", "o", "", "write the session to a fixture `FILE` as well, when it has ended;\nif FILE is there, to the next free name FILE-2, FILE-3, …")
	f.StringVar(&o.sync, "sync", "50ms", "how soon frames are on disk after the operating system has them:\na duration, always, or none")
	f.BoolVarP(&o.verbose, "verbose", "v", false, "say on stderr what was recorded")
	completeWords(cmd, "sync", "50ms", "always", "none")
	o.disk.addFlags(cmd)
	o.secrets.addFlags(cmd)
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
	passed := passable(signals)
	o.disk.fail = func(error) { endProcess(process) }
	db, rec := startRecorder(std, o, syncing, command)
	keeping := keepPoints(db, rec)
	exited, err := rec.Run(recorder.Stdio{Client: std.in, Reply: std.out, Errors: std.err, Process: process, Signals: passed})
	keeping()
	if err != nil {
		return err
	}
	s := &status{code: exited.Code, signal: exited.Signal}
	if o.disk.ended.Load() { // it did not end of itself
		s = &status{code: exitLost}
	}
	rec.Seal()
	finished := make(chan bool, 1)
	go func() { finished <- finishRecord(std, o, db, rec.Close()) }()
	select {
	case whole := <-finished:
		if !whole && s.code == exitFine && s.signal == nil {
			s.code = exitLost
		}
	case <-passed:
		// Whoever wants this process gone now gets that: all is in the spool,
		// and the next mcprec does the rest.
	}
	return s
}

// check refuses flags that cannot be, before there is anything to lose.
func (o *recordOptions) check() (syncing time.Duration, err error) {
	if syncing, err = parseSync(o.sync); err != nil {
		return 0, usagef("--sync: %v", err)
	}
	if err := checkOut(o.out); err != nil {
		return 0, err
	}
	if _, err := o.secrets.rules(); err != nil {
		return 0, err
	}
	return syncing, o.disk.parse()
}

// checkOut refuses a fixture file that could not be written at the end.
func checkOut(name string) error {
	if name == "" {
		return nil
	}
	if name == "-" {
		return usagef("--out -: standard output is the protocol's; name a file")
	}
	if info, err := os.Stat(filepath.Dir(name)); err != nil || !info.IsDir() {
		return usagef("--out %s: there is no folder %s", name, filepath.Dir(name))
	}
	return nil
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

// passable leaves out what a terminal has sent to the child as well.
func passable(from <-chan os.Signal) <-chan os.Signal {
	to := make(chan os.Signal, cap(from))
	go func() { // lives as long as the process
		for sig := range from {
			if !fromTerminal(sig) {
				to <- sig
			}
		}
	}()
	return to
}

// startRecorder never fails: without a store the session goes on unrecorded,
// and says so.
func startRecorder(std streams, o recordOptions, syncing time.Duration, command []string) (*boltstore.Store, *recorder.Recorder) {
	db, err := o.open(boltstore.Options{Sync: syncing})
	var rec *recorder.Recorder
	if err == nil {
		h := store.Header{Transport: "stdio", Label: o.label.text, Labels: o.label.values, Command: command, Recorder: "mcprec " + version()}
		var secrets *redact.Redactor
		if secrets, err = o.redactor(std, db, h); err == nil {
			rec, err = recorder.New(context.Background(), db, h, o.recording(std, secrets)...)
		}
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

// redactor returns what takes the secrets out of the log. If it is only the store's key
// that is missing, that is said, and the session has a key of its own.
func (o *recordOptions) redactor(std streams, db *boltstore.Store, h store.Header) (*redact.Redactor, error) {
	r, err := o.secrets.redactor(db, h)
	if err != nil && r != nil {
		fmt.Fprintf(plainTo(std.err), "mcprec: %v; the placeholders of this session are its own\n", err)
		err = nil
	}
	return r, err
}

// finishRecord says what there is to say, writes the fixture, and reports
// whether all was recorded and written.
func finishRecord(std streams, o recordOptions, db *boltstore.Store, sum recorder.Summary) bool {
	whole := reportRecorded(std, o, db, sum)
	if db == nil || errors.Is(sum.Err, recorder.ErrNoAnswer) { // closing it would wait for the disk
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
func reportRecorded(std streams, o recordOptions, db *boltstore.Store, sum recorder.Summary) bool {
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
	if errors.Is(sum.Err, recorder.ErrNoAnswer) && o.out != "" {
		say("%s was not written; mcprec export %s writes it", o.out, sum.ID)
		return false
	}
	if o.out != "" {
		if err := writeFixture(std, o, db, sum); err != nil {
			say("%v", err)
			return false
		}
	}
	return sum.Err == nil && sum.Lost == 0
}

func writeFixture(std streams, o recordOptions, db *boltstore.Store, sum recorder.Summary) error {
	if o.mode != "" { // or it would be served for ever
		switch said, probed := contents(db, sum.ID); {
		case !said:
			return fmt.Errorf("the server said nothing; %s was not written", o.out)
		case probed:
			fmt.Fprintf(plainTo(std.err), "mcprec: the client only probed for what the server is; %s is for the session after it\n", o.out)
			return nil
		}
	}
	name := o.out
	write := func(w io.Writer) error {
		return encode(w, db.Read(context.Background(), sum.ID, 1, store.ReadOptions{}))
	}
	var err error
	if o.mode == fixtures.All {
		err = replaceFile(o.out, write)
	} else {
		name, err = writeNew(o.out, write)
	}
	if err != nil {
		return fmt.Errorf("%w; the session is in the store as %s", err, sum.ID)
	}
	if name != o.out && o.http.target == "" { // a target has several sessions
		fmt.Fprintf(plainTo(std.err), "mcprec: %s is there already; wrote %s\n", o.out, name)
	}
	return nil
}

// contents reports whether the server said something in a session, and whether the
// client asked for nothing but server/discover: some start a server for that alone,
// and another for their session. Of one that cannot be read it reports the first: the
// fault is told by who writes.
func contents(db store.Store, id store.SessionID) (said, probed bool) {
	asked := false
	for e, err := range db.Read(context.Background(), id, 1, store.ReadOptions{}) {
		if err != nil {
			return true, false
		}
		if e.Kind != store.Frame {
			continue
		}
		said = said || e.Dir == transport.ServerToClient
		messages, _ := e.AsFrame().Messages()
		for _, m := range messages {
			if e.Dir == transport.ClientToServer && m.Kind() == transport.Request {
				probed = m.Method == "server/discover" && (probed || !asked)
				asked = true
			}
		}
	}
	return said, probed
}
