package main

import (
	"fmt"
	"io"

	"github.com/mcprec/mcprec/fixtures"
	"github.com/mcprec/mcprec/replay"
	"github.com/mcprec/mcprec/replay/phrase"
	"github.com/mcprec/mcprec/store"
)

// episodes is a recording that is served, and to which what is new is added. It holds the
// events.
type episodes struct {
	std     streams
	errs    io.Writer // standard error; never waits for its reader
	o       serveOptions
	file    string
	name    string
	command []string
	events  []store.Event
	door    door // of what is said of them
}

// play serves on stdio or over HTTP, and asks the real server where that is wanted.
func (e *episodes) play(rules replay.Rules, options replay.ServeOptions) error {
	real, err := e.o.listen.real(e.errs, e.command, e.events)
	if err != nil {
		return err
	}
	live := func() *replay.Live { return &replay.Live{Server: real} }
	if e.o.listen.address == "" {
		if fixtures.Mode(e.o.mode) == fixtures.NewEpisodes {
			options.Live = live()
		}
		return playServer(e.std, e.errs, e.o, e.door, replay.NewStreamPlayer(e.events, rules), options, func(added []store.Event) error {
			return e.keep(added, replay.Extend)
		})
	}
	over := replay.EndpointOptions{ServeOptions: options}
	if fixtures.Mode(e.o.mode) == fixtures.NewEpisodes {
		over.NewLive = live
	}
	return playHTTP(e.o, e.events, rules, over, &served{std: e.std, errs: e.errs, door: e.door, keep: e.keepServed})
}

// keep adds what passed to the file.
func (e *episodes) keep(added []store.Event, extend func(recorded, added []store.Event) []store.Event) error {
	fmt.Fprintf(plainTo(e.errs), "mcprec: %s: %s added\n", e.name, phrase.Plural(len(added), "frame"))
	d, err := e.o.door(nil)
	if err != nil {
		return err
	}
	d = d.of(store.Header{Command: e.command, URL: e.o.listen.target})
	for i := range added {
		added[i] = d.event(added[i])
	}
	e.events = extend(e.events, added)
	return replaceFile(e.file, func(w io.Writer) error {
		return encode(w, fixtures.Each(e.events))
	})
}

// keepServed adds what passed in one of the sessions over HTTP. One at a time.
func (e *episodes) keepServed(session replay.Served) error {
	return e.keep(session.Added, func(recorded, _ []store.Event) []store.Event { return session.Extend(recorded) })
}
