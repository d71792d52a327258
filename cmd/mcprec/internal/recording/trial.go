package recording

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/output"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/session"
	"github.com/mcprec/mcprec/recorder"
	"github.com/mcprec/mcprec/replay/fault"
	"github.com/mcprec/mcprec/replay/standin"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
)

// Trial is one session of serve, with what goes wrong in it, and with a recording of what is said.
type Trial struct {
	Rules     []fault.Rule
	Seed      uint64
	Store     *session.Store // nil: the session is not recorded
	Recorder  string         // the name and version in the header
	Label     string
	Transport string
	Errors    io.Writer

	machine *fault.Machine
	rec     *recorder.Recorder
}

// Begin sets the options of the session. The Trial must be ended.
func (t *Trial) Begin(options *standin.ServeOptions, say func(string)) {
	if len(t.Rules) > 0 {
		t.machine = fault.New(t.Rules, t.Seed)
		options.Faults = t.machine
		options.Stderr = t.Errors
		options.Told = say
	}
	if t.Store == nil {
		return
	}
	header := store.Header{
		Transport: t.Transport, Label: t.Label, Command: append([]string{"mcprec"}, os.Args[1:]...), Recorder: t.Recorder,
	}
	rec, err := recorder.New(context.Background(), t.Store, header)
	if err != nil {
		fmt.Fprintf(output.NewWriter(t.Errors), "mcprec: %v; the session goes on unrecorded\n", err)
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
}

// End ends the recording, and prints which faults fell on nothing.
func (t *Trial) End() {
	w := output.NewWriter(t.Errors)
	if t.machine != nil {
		for _, r := range t.machine.Unused() {
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
