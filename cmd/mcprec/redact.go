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

	"github.com/mcprec/mcprec/fixtures"
	"github.com/mcprec/mcprec/recorder"
	"github.com/mcprec/mcprec/recorder/redact"
	"github.com/mcprec/mcprec/replay/phrase"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/memstore"
)

type redactOptions struct {
	home
	secrets secretOptions
	scan    bool
	inPlace bool
	out     outFile
	format  string
}

func newRedact() *cobra.Command {
	var o redactOptions
	cmd := &cobra.Command{
		Use:   "redact [SESSION]",
		Short: "Take the secrets out of a recorded session, or find them",
		Long: `redact takes the secrets out of a session that was recorded with them, by the rules
of record and those of the flags. It writes a copy: of a session of the store a new
session, whose id it prints; with -o a fixture. With --in-place the copy takes the
session's place. A session without secrets is left as it is.

A session of the store that is redacted in place has a new id, and the old one is
removed; its bytes stay in the database's free pages until mcprec compact.
--scan changes nothing: it lists where there are secrets, never the secrets, and exits
with 1 if there are some. A key that was recorded is known: redacting the recording
does not call it back. Make a new one.

` + sessionHelp + `

` + exitTable,
		Args:              atMost(1),
		ValidArgsFunction: completeSessions,
		RunE: func(cmd *cobra.Command, args []string) error {
			arg := ""
			if len(args) > 0 {
				arg = args[0]
			}
			return runRedact(cmd, o, arg)
		},
	}
	o.addFlags(cmd)
	o.secrets.addRules(cmd)
	f := cmd.Flags()
	f.BoolVar(&o.scan, "scan", false, "only list where there are secrets")
	f.BoolVar(&o.inPlace, "in-place", false, "put the copy in the session's place")
	o.out.addFlags(cmd, "", "write the copy to the fixture `FILE`; - is standard output")
	f.StringVar(&o.format, "format", "text", "with --scan: text or json")
	completeWords(cmd, "format", "text", "json")
	return cmd
}

func (o *redactOptions) check(arg string) error {
	file := arg == "-" || arg != "" && looksLikeFile(arg)
	switch {
	case o.scan && (o.inPlace || o.out.name != ""):
		return usagef("redact: --scan writes nothing; leave out --in-place and --out")
	case o.inPlace && (o.out.name != "" || arg == "-"):
		return usagef("redact: --in-place has a place already; leave out --out, and name a session or a file")
	case file && !o.scan && !o.inPlace && o.out.name == "":
		return usagef("redact %s: where is the copy to go? Use --out FILE, or --in-place", arg)
	}
	return errors.Join(o.out.check(), oneOf("format", o.format, "text", "json"))
}

func runRedact(cmd *cobra.Command, o redactOptions, arg string) (err error) {
	defer frugal()()
	if err := o.check(arg); err != nil {
		return err
	}
	s, err := openSession(cmd, o.home, arg)
	if err != nil {
		return err
	}
	defer closeInto(&err, s)
	c := &cleaning{options: o, session: s, out: cmd.OutOrStdout()}
	var events []store.Event
	err = each(s.events(cmd.Context(), 1, store.ReadOptions{}), func(e store.Event) error {
		e, err := c.event(e)
		if !o.scan {
			events = append(events, e)
		}
		return err
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(plainTo(cmd.ErrOrStderr()), "mcprec: %s: %s in %s\n", plain(s.name), phrase.Plural(c.secrets, "secret"), phrase.Plural(c.events, "event"))
	switch {
	case o.scan && c.secrets > 0:
		return verdictError
	case o.scan, c.secrets == 0 && o.out.name == "":
		return nil
	}
	return c.keep(cmd, arg, events)
}

// cleaning is one session on its way through the rules.
type cleaning struct {
	options redactOptions
	session *session
	out     io.Writer
	cleaner *recorder.Cleaner
	found   []redact.Finding // of the event that is looked at
	secrets uint64
	events  uint64 // that have some
}

// event cleans one event, and lists what was in it.
func (c *cleaning) event(e store.Event) (store.Event, error) {
	if c.cleaner == nil {
		h, _ := store.ParseHeader(e.Payload) // of a session that does not begin with its header there is none
		r, err := c.redactor(h)
		if err != nil {
			return e, err
		}
		c.cleaner = recorder.NewCleaner(r.Reporting(func(f redact.Finding) { c.found = append(c.found, f) }))
	}
	c.found = c.found[:0]
	e = c.cleaner.Clean(e)
	if len(c.found) == 0 {
		return e, nil
	}
	c.secrets += uint64(len(c.found))
	c.events++
	if !c.options.scan {
		return e, nil
	}
	for _, f := range c.found {
		if err := c.list(e, f); err != nil {
			return e, err
		}
	}
	return e, nil
}

// redactor has the store's key, also for files, so that what is equal there is equal
// here.
func (c *cleaning) redactor(h store.Header) (*redact.Redactor, error) {
	var keyed store.Spooler = memstore.New()
	if c.session.db != nil {
		keyed = c.session.db
	}
	return c.options.secrets.redactor(keyed, h)
}

// list prints one finding. It never has the secret.
func (c *cleaning) list(e store.Event, f redact.Finding) error {
	if c.options.format == "json" {
		return json.NewEncoder(c.out).Encode(struct {
			Seq  uint64     `json:"seq"`
			Kind store.Kind `json:"kind"`
			Dir  string     `json:"dir,omitempty"`
			Rule string     `json:"rule"`
			Path string     `json:"path,omitempty"`
		}{e.Seq, e.Kind, e.Dir.String(), f.Rule, f.Path})
	}
	_, err := fmt.Fprintf(c.out, "%6d %-6s %-7s %-12s %s\n", e.Seq, cmp.Or(e.Dir.String(), "-"), e.Kind, f.Rule, named(f.Path))
	return err
}

// keep writes the copy where it is to go.
func (c *cleaning) keep(cmd *cobra.Command, arg string, events []store.Event) error {
	write := func(w io.Writer) error { return encode(w, fixtures.Each(events)) }
	switch {
	case c.options.out.name != "":
		return c.options.out.write(c.out, write)
	case c.session.db == nil:
		return replaceFile(arg, write)
	}
	return c.store(cmd.Context(), events)
}

// store makes a session of the copy and, in place, removes the other after it is there:
// who is interrupted has both.
func (c *cleaning) store(ctx context.Context, events []store.Event) error {
	old, db := c.session.id, c.session.db
	if head, err := db.Head(ctx, old); err != nil || !head.Sealed && c.options.inPlace {
		return errors.Join(err, fmt.Errorf("redact session %s: it did not end; only a copy can be made", old))
	}
	var text bytes.Buffer
	if err := encode(&text, fixtures.Each(events)); err != nil {
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
		cache{db, old}.remove()
	}
	_, err := fmt.Fprintln(c.out, id)
	return err
}
