package main

import (
	"iter"
	"os"
	"slices"

	"github.com/mcprec/mcprec/fixtures"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
)

// contents says what a session holds.
type contents struct {
	header sessionOf
	said   bool // the server said something
	probed bool // see contentsOf
}

// sessionOf is the header of a session.
type sessionOf store.Header

// contentsOf returns what a session holds. A session is a probe if the client asked for
// nothing but server/discover: some start a server for that alone, and another for their
// session, as the TypeScript SDK does. A session that cannot be read is none, and said
// something: the fault is told by who writes it.
func contentsOf(events iter.Seq2[store.Event, error]) (c contents) {
	asked := false
	for e, err := range events {
		if err == nil && e.Kind == store.Opened {
			var h store.Header
			h, err = store.ParseHeader(e.Payload)
			c.header = sessionOf(h)
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
				c.probed = m.Method == "server/discover" && (c.probed || !asked)
				asked = true
			}
		}
		if c.said && asked && !c.probed { // nothing changes that
			return c
		}
	}
	return c
}

// probedIn reports whether a file is a recording of the same server, and a probe.
func (h sessionOf) probedIn(name string) bool {
	info, err := os.Lstat(name)
	if err != nil || !info.Mode().IsRegular() || h.Command == nil && h.URL == "" {
		return false
	}
	f, err := os.Open(name)
	if err != nil {
		return false
	}
	defer f.Close()
	c := contentsOf(fixtures.Decode(f))
	return c.probed && slices.Equal(c.header.Command, h.Command) && c.header.URL == h.URL
}
