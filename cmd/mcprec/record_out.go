package main

import (
	"context"
	"fmt"
	"io"
	"iter"
	"os"
	"slices"

	"github.com/mcprec/mcprec/fixtures"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/jsonl"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

// writeFixture writes a session to the file of --out, until the context is over.
func (r *recording) writeFixture(ctx context.Context, id store.SessionID) error {
	d, err := r.masker(r.db)
	if err != nil {
		return err
	}
	events := until(ctx, d.events(r.db.Read(ctx, id, 1, store.ReadOptions{})))
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
	write := func(w io.Writer) error { return encode(w, events) }
	if r.mode == fixtures.All {
		err = replaceFile(r.out, write)
	} else {
		name, replaced, err = writeNew(r.out, write, func(there string) bool { return probeOf(held.header, there) })
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
