package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/cli"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/output"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/session"
	"github.com/mcprec/mcprec/recorder"
	"github.com/mcprec/mcprec/replay/fault"
	"github.com/mcprec/mcprec/replay/standin"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
)

// faultFlags are the flags of serve about faults, and about a recording of what was said.
type faultFlags struct {
	texts  []string
	seed   *uint64
	record bool

	rules []fault.Rule
}

func (o *faultFlags) addFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringArrayVar(&o.texts, "fault", nil, "make something go wrong: `'FILTER ACTION'`; may be repeated")
	addParsed(cmd, &o.seed, "seed", "`N`, to take the same calls as an earlier run", func(text string) (uint64, error) {
		seed, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("want a number of 0 or more")
		}
		return seed, nil
	})
	f.BoolVar(&o.record, "record", false, "record the session, with the faults")
}

// parse reads the faults. overHTTP: the session is served over HTTP.
func (o *faultFlags) parse(overHTTP bool) error {
	for _, text := range o.texts {
		r, err := fault.Parse(text)
		if err != nil {
			return cli.Usagef("--%v", err)
		}
		if (r.Action == fault.Status || r.Action == fault.EndStream) && !overHTTP {
			return cli.Usagef("--fault %q: %s is for HTTP: add --listen, or take disconnect", text, r.Action)
		}
		o.rules = append(o.rules, r)
	}
	if o.seed != nil && len(o.rules) == 0 {
		return cli.Usagef("--seed is for --fault; give both")
	}
	return nil
}

// choose chooses a seed if none is given, and prints it if it matters.
func (o *faultFlags) choose(errs io.Writer) {
	if o.seed != nil {
		return
	}
	seed := uint64(rand.Uint32())
	o.seed = &seed
	for _, r := range o.rules {
		if r.Chance < 1 {
			fmt.Fprintf(errs, "mcprec: --seed %d takes the same calls again\n", seed)
			return
		}
	}
}

// trial is one session with faults, or with a recording.
type trial struct {
	*fault.Machine
	rec  *recorder.Recorder
	errs io.Writer
}

// begin sets the options of a session. The trial must be ended.
func (o *faultFlags) begin(s *service, options *standin.ServeOptions, transportName string, say func(string)) *trial {
	t := &trial{errs: s.errs}
	if len(o.rules) > 0 {
		t.Machine = fault.New(o.rules, *o.seed)
		options.Faults = t.Machine
		options.Stderr = s.errs
		options.Told = say
	}
	if s.db == nil {
		return t
	}
	header := store.Header{
		Transport: transportName, Label: s.recorded.Header.Label, Command: append([]string{"mcprec"}, os.Args[1:]...), Recorder: "mcprec " + version(),
	}
	rec, err := recorder.New(context.Background(), s.db, header)
	if err != nil {
		fmt.Fprintf(output.NewWriter(s.errs), "mcprec: %v; the session goes on unrecorded\n", err)
		rec = recorder.Unrecorded(err)
	}
	t.rec = rec
	options.Tap = func(conn transport.Conn) transport.Conn {
		return &endingConn{rec.Conn(conn, transport.ServerToClient), rec}
	}
	options.Told = func(text string) {
		rec.Record(store.Note, transport.ServerToClient, store.NoteInfo{Text: text})
		say(text)
	}
	return t
}

// end ends the recording, and prints which faults fell on nothing.
func (t *trial) end() {
	w := output.NewWriter(t.errs)
	if t.Machine != nil {
		for _, r := range t.Unused() {
			fmt.Fprintf(w, "mcprec: nothing fitted --fault %q\n", r)
		}
	}
	if t.rec == nil {
		return
	}
	t.rec.Record(store.EOF, transport.ServerToClient, store.EOFInfo{By: "sender"})
	sum := t.rec.Close()
	if sum.Err != nil {
		fmt.Fprintf(w, "mcprec: session %s: %v\n", sum.ID, sum.Err)
		return
	}
	fmt.Fprintf(w, "mcprec: what was said is session %s\n", sum.ID)
}

// endingConn records that the client has ended.
type endingConn struct {
	transport.Conn
	rec *recorder.Recorder
}

// Read implements [transport.Conn].
func (c *endingConn) Read(ctx context.Context) (transport.Frame, error) {
	f, err := c.Conn.Read(ctx)
	if err == io.EOF {
		c.rec.Record(store.EOF, transport.ClientToServer, store.EOFInfo{By: "sender"})
	}
	return f, err
}

// openTrials opens the store for --record; nil without it.
func (o *faultFlags) openTrials(cmd *cobra.Command, home home) (*session.Store, error) {
	if !o.record {
		return nil, nil
	}
	return openStore(cmd, home)
}
