package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/mcprec/mcprec/replay/phrase"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/boltstore"
	"github.com/mcprec/mcprec/store/jsonl"
	"github.com/mcprec/mcprec/store/mask"
)

type redactOptions struct {
	home
	scan    bool
	inPlace bool
	out     outFile
	format  string
}

func newRedact() *cobra.Command {
	var o redactOptions
	cmd := &cobra.Command{
		Use:   "redact [SESSION]\n  mcprec redact --scan [SESSION]...",
		Short: "Take the secrets out of a recorded session, or find them",
		Long: `redact takes the secrets out of a session for good, where other commands only mask them
in what they show, by the same rules and those of the flags. It writes a copy: of a session of the store a new
session, whose id it prints; with -o a fixture. With --in-place the copy takes the
session's place. A session without secrets is left as it is.

A session of the store that is redacted in place has a new id, and the old one is
removed; its bytes stay in the database's free pages until mcprec compact.
--scan changes nothing: it lists where there are secrets, never the secrets, in every
session of the store, or in the sessions and files that are named, and exits with 1 if
there are some. A key that was recorded is known: redacting the recording
does not call it back. Make a new one.

` + sessionHelp + `

` + exitTable,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 && !o.scan {
				return usagef("redact: want one session; only --scan takes several")
			}
			return nil
		},
		ValidArgsFunction: completeSessions,
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.scan {
				return runScan(cmd, o, args)
			}
			return runRedact(cmd, o, firstOf(args))
		},
	}
	o.addFlags(cmd)
	o.secrets.addRules(cmd)
	f := cmd.Flags()
	f.BoolVar(&o.scan, "scan", false, "only list where there are secrets, in all sessions of the store if none is\nnamed")
	f.BoolVar(&o.inPlace, "in-place", false, "put the copy in the session's place")
	o.out.addFlags(cmd, "", "write the copy to the fixture `FILE`; - is standard output")
	addChoice(cmd, &o.format, "format", "with --scan: text or json", "text", "json")
	return cmd
}

func runRedact(cmd *cobra.Command, o redactOptions, arg string) (err error) {
	defer frugal()()
	file := arg == "-" || arg != "" && looksLikeFile(arg)
	switch {
	case o.inPlace && (o.out.name != "" || arg == "-"):
		return usagef("redact: --in-place has a place already; leave out --out, and name a session or a file")
	case file && !o.inPlace && o.out.name == "":
		return usagef("redact %s: where is the copy to go? Use --out FILE, or --in-place", arg)
	}
	if err := o.out.check(); err != nil {
		return err
	}
	s, err := openSession(cmd, o.home, arg)
	if err != nil {
		return err
	}
	defer closeInto(&err, s)
	c := &cleaning{options: o, session: s, door: s.door, out: cmd.OutOrStdout()}
	var events []store.Event
	err = each(s.exact(cmd.Context(), 1, store.ReadOptions{}), func(e store.Event) error {
		e, err := c.event(e)
		events = append(events, e)
		return err
	})
	if err != nil {
		return err
	}
	c.sayCounts(cmd.ErrOrStderr())
	if c.secrets == 0 && o.out.name == "" {
		return nil
	}
	write := func(w io.Writer) error { return encode(w, jsonl.Each(events)) }
	switch {
	case o.out.name != "":
		return o.out.write(c.out, write)
	case s.db == nil:
		return replaceFile(arg, write)
	}
	return c.store(cmd.Context(), events)
}

// runScan lists the secrets of sessions. The store may be read-only: the scan keeps no
// placeholder, so it makes its own key.
func runScan(cmd *cobra.Command, o redactOptions, args []string) (err error) {
	defer frugal()()
	if o.inPlace || o.out.name != "" {
		return usagef("redact: --scan writes nothing; leave out --in-place and --out")
	}
	d, err := o.door(nil)
	if err != nil {
		return err
	}
	o.secrets.show = true // it makes no key for what it opens
	x := &secretScan{cmd: cmd, options: o, door: d, alone: len(args) == 1}
	if len(args) == 0 {
		err = x.store()
	}
	for _, arg := range args {
		s, err := openSession(cmd, o.home, arg)
		if err != nil {
			return errors.Join(x.faults, err)
		}
		x.session(s)
		if s.db != nil {
			x.faults = errors.Join(x.faults, s.db.Close()) // without tidying it
		} else {
			x.faults = errors.Join(x.faults, s.Close())
		}
	}
	if err != nil {
		return err
	}
	if !x.alone {
		fmt.Fprintf(cmd.ErrOrStderr(), "mcprec: %s in %d of %s\n", phrase.Plural(x.secrets, "secret"), x.with, phrase.Plural(x.sessions, "session"))
	}
	switch {
	case x.faults != nil:
		return x.faults
	case x.secrets > 0:
		return verdictError
	}
	return nil
}

// secretScan is a search for secrets in several sessions.
type secretScan struct {
	cmd      *cobra.Command
	options  redactOptions
	door     door
	alone    bool // one session was named
	sessions uint64
	with     uint64 // sessions that have secrets
	secrets  uint64
	faults   error // sessions that could not be read
}

// store looks at every session of the store.
func (x *secretScan) store() (err error) {
	db, err := x.options.open(boltstore.Options{})
	if err != nil {
		return err
	}
	defer closeInto(&err, db)
	for s, err := range db.Sessions(x.cmd.Context(), store.Query{Newest: true}) {
		if err != nil {
			x.faults = errors.Join(x.faults, err)
			continue
		}
		x.session(&session{name: "session " + string(s.ID), id: s.ID, db: db, cmd: x.cmd})
	}
	if x.sessions == 0 && x.faults == nil {
		return usagef("no session in %s yet; make one with mcprec record -- COMMAND", db.Info().Location)
	}
	return nil
}

// session lists the secrets of one session.
func (x *secretScan) session(s *session) {
	c := &cleaning{options: x.options, session: s, door: x.door, out: x.cmd.OutOrStdout()}
	err := each(s.exact(x.cmd.Context(), 1, store.ReadOptions{}), func(e store.Event) error {
		_, err := c.event(e)
		return err
	})
	x.faults = errors.Join(x.faults, err)
	x.sessions++
	x.secrets += c.secrets
	if c.secrets > 0 {
		x.with++
	}
	if c.secrets > 0 || x.alone && err == nil {
		c.sayCounts(x.cmd.ErrOrStderr())
	}
}

// cleaning is one session on its way through the rules.
type cleaning struct {
	options redactOptions
	session *session
	door    door
	out     io.Writer
	masker  *mask.Session
	found   []mask.Finding // of the event that is looked at
	secrets uint64
	events  uint64 // that have some
}

// event cleans one event, and lists what was in it.
func (c *cleaning) event(e store.Event) (store.Event, error) {
	if c.masker == nil {
		c.masker = c.door.masker.Reporting(func(f mask.Finding) { c.found = append(c.found, f) }).Session()
	}
	c.found = c.found[:0]
	e = c.masker.Event(e)
	if len(c.found) == 0 {
		return e, nil
	}
	first := c.secrets == 0
	c.secrets += uint64(len(c.found))
	c.events++
	if !c.options.scan {
		return e, nil
	}
	if first && c.options.format == "text" {
		if _, err := fmt.Fprintln(c.out, plain(c.session.name)); err != nil {
			return e, err
		}
	}
	for _, f := range c.found {
		if err := c.list(e, f); err != nil {
			return e, err
		}
	}
	return e, nil
}

// sayCounts says how many secrets the session has.
func (c *cleaning) sayCounts(w io.Writer) {
	fmt.Fprintf(plainTo(w), "mcprec: %s: %s in %s\n", plain(c.session.name), phrase.Plural(c.secrets, "secret"), phrase.Plural(c.events, "event"))
}

// list prints one finding. It never has the secret.
func (c *cleaning) list(e store.Event, f mask.Finding) error {
	if c.options.format == "json" {
		file := ""
		if c.session.db == nil {
			file = c.session.name
		}
		return json.NewEncoder(c.out).Encode(struct {
			Seq  uint64     `json:"seq"`
			Kind store.Kind `json:"kind"`
			Dir  string     `json:"dir,omitempty"`
			Rule string     `json:"rule"`
			Path string     `json:"path,omitempty"`

			Session store.SessionID `json:"session,omitempty"`
			File    string          `json:"file,omitempty"`
		}{e.Seq, e.Kind, e.Dir.String(), f.Rule, f.Path, c.session.id, file})
	}
	_, err := fmt.Fprintf(c.out, "%6d %-6s %-7s %-12s %s\n", e.Seq, cmp.Or(e.Dir.String(), "-"), e.Kind, f.Rule, named(f.Path))
	return err
}

// store makes a session of the copy and, in place, removes the other after it is there:
// who is interrupted has both.
func (c *cleaning) store(ctx context.Context, events []store.Event) error {
	old, db := c.session.id, c.session.db
	if head, err := db.Head(ctx, old); err != nil || !head.Sealed && c.options.inPlace {
		return errors.Join(err, fmt.Errorf("redact session %s: it did not end; only a copy can be made", old))
	}
	var text bytes.Buffer
	if err := encode(&text, jsonl.Each(events)); err != nil {
		return err
	}
	id := store.DeriveSessionID(text.Bytes())
	events[0].Payload = bytes.Replace(events[0].Payload, []byte(old), []byte(id), 1)
	if _, err := storeEvents(ctx, db, events); err != nil {
		return fmt.Errorf("redact session %s: %w", old, err)
	}
	if c.options.inPlace {
		if err := db.Delete(ctx, old); err != nil {
			return err
		}
		cache{db: db, id: old}.remove()
	}
	_, err := fmt.Fprintln(c.out, id)
	return err
}
