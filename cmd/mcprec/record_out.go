package main

import (
	"context"
	"fmt"
	"io"
	"iter"
	"os"
	"slices"

	"github.com/mcprec/mcprec/fixtures"
	"github.com/mcprec/mcprec/recorder"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/boltstore"
	"github.com/mcprec/mcprec/store/jsonl"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

func writeFixture(ctx context.Context, std streams, o recordOptions, db *boltstore.Store, sum recorder.Summary) error {
	d, err := o.door(db)
	if err != nil {
		return err
	}
	events := func(ctx context.Context) iter.Seq2[store.Event, error] {
		return d.events(db.Read(ctx, sum.ID, 1, store.ReadOptions{}))
	}
	held := contentsOf(events(ctx))
	if o.mode != "" { // or it would be served for ever
		switch {
		case !held.said:
			return fmt.Errorf("the server said nothing; %s was not written", o.out)
		case held.probed:
			fmt.Fprintf(plainTo(std.err), "mcprec: the client only probed for what the server is; %s is for the session after it\n", o.out)
			return nil
		}
	}
	name, replaced := o.out, false
	write := func(w io.Writer) error { return encode(w, until(ctx, events(ctx))) }
	if o.mode == fixtures.All {
		err = replaceFile(o.out, write)
	} else {
		name, replaced, err = writeNew(o.out, write, func(there string) bool { return probeOf(held.header, there) })
	}
	switch {
	case err != nil:
		return fmt.Errorf("%w; the session is in the store as %s", err, sum.ID)
	case replaced && o.verbose:
		fmt.Fprintf(plainTo(std.err), "mcprec: %s had only a client's probe for what the server is; it has the session now\n", name)
	case name != o.out && o.http.target == "": // a target has several sessions
		fmt.Fprintf(plainTo(std.err), "mcprec: %s is there already; wrote %s\n", o.out, name)
	}
	return nil
}

// until returns the events until the context is over, whose cause is an error then.
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

// contents says what a session holds.
type contents struct {
	header store.Header
	said   bool // the server said something
	probed bool // see contentsOf
}

// contentsOf returns what a session holds. A session is a probe if the client asked for
// nothing but server/discover: some start a server for that alone, and another for their
// session, as the TypeScript SDK does. A session that cannot be read counts as no probe in
// which the server spoke, so that it is written: that reports the fault.
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
		if c.said && asked && !c.probed { // nothing changes that
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
