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
	c := contentsOf(fixtures.Decode(f))
	return c.probed && slices.Equal(c.header.Command, h.Command) && c.header.URL == h.URL
}
