package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/cli"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/output"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/retention"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/session"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/jsonl"
	"github.com/mcprec/mcprec/store/mask"
	"github.com/mcprec/mcprec/transport/phrase"
)

type redactOptions struct {
	home
	scan    bool
	inPlace bool
	out     cli.File
	format  string
}

func newRedact() *cobra.Command {
	var o redactOptions
	cmd := &cobra.Command{
		Use:   "redact [SESSION]\n  mcprec redact --scan [SESSION]...",
		Short: "Take the secrets out of a recorded session, or find them",
		Example: `  mcprec redact SESSION
  mcprec redact --in-place SESSION
  mcprec redact --scan`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 && !o.scan {
				return cli.Usagef("redact: want one session; only --scan takes several")
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
	o.home.addFlags(cmd)
	o.heedMaskRules(cmd)
	f := cmd.Flags()
	f.BoolVar(&o.scan, "scan", false, "only list where there are secrets")
	f.BoolVar(&o.inPlace, "in-place", false, "put the copy in the session's place")
	addOutFlags(cmd, &o.out, "", "write the copy to `FILE`; - is standard output")
	addFormat(cmd, &o.format, "text", "json")
	return cmd
}

func runRedact(cmd *cobra.Command, options redactOptions, arg string) (err error) {
	defer cli.LimitMemory()()
	file := arg == "-" || arg != "" && session.IsPath(arg)
	switch {
	case options.inPlace && (options.out.Name != "" || arg == "-"):
		return cli.Usagef("redact: --in-place has a place already; leave out --out, and name a session or a file")
	case file && !options.inPlace && options.out.Name == "":
		return cli.Usagef("redact %s: where is the copy to go? Use --out FILE, or --in-place", arg)
	}
	if err := options.out.Check(); err != nil {
		return err
	}
	s, err := openSession(cmd, options.home, arg)
	if err != nil {
		return err
	}
	defer closeInto(&err, s)
	var events []store.Event
	count, err := s.Masker.Find(s.Recorded(cmd.Context(), 1, store.ReadOptions{}), func(e store.Event, _ []mask.Finding) error {
		events = append(events, e)
		return nil
	})
	if err != nil {
		return err
	}
	printCount(cmd.ErrOrStderr(), s, count)
	write := func(w io.Writer) error { return session.Encode(w, jsonl.Each(events)) }
	switch {
	case options.out.Name != "":
		return options.out.Write(cmd.OutOrStdout(), write)
	case count.Secrets == 0:
		return nil
	case s.Store == nil:
		return cli.ReplaceFile(arg, write)
	}
	return storeRedacted(cmd, s, events, options.inPlace)
}

// storeRedacted stores the copy as a session. In place it then removes the original: if this
// is interrupted, both are there.
func storeRedacted(cmd *cobra.Command, s *session.Session, events []store.Event, inPlace bool) error {
	ctx := cmd.Context()
	if head, err := s.Store.Head(ctx, s.ID); err != nil || !head.Sealed && inPlace {
		return errors.Join(err, fmt.Errorf("redact session %s: it did not end; only a copy can be made", s.ID))
	}
	var text bytes.Buffer
	if err := session.Encode(&text, jsonl.Each(events)); err != nil {
		return err
	}
	id := store.DeriveSessionID(text.Bytes())
	events[0].Payload = bytes.Replace(events[0].Payload, []byte(s.ID), []byte(id), 1)
	if _, err := session.Save(ctx, s.Store, jsonl.Each(events)); err != nil {
		return fmt.Errorf("redact session %s: %w", s.ID, err)
	}
	if !inPlace { // a copy that somebody made, of a session that may be of any age
		if err := retention.Keep(s.Store.Folder, id, false); err != nil {
			return err
		}
	} else {
		if err := s.Store.Delete(ctx, s.ID); err != nil {
			return err
		}
		retention.Replace(s.Store.Folder, s.ID, id)
	}
	_, err := fmt.Fprintln(cmd.OutOrStdout(), id)
	return err
}

// printCount prints how many secrets a session has.
func printCount(w io.Writer, s *session.Session, n session.SecretCount) {
	fmt.Fprintf(output.NewWriter(w), "mcprec: %s: %s in %s\n", output.Plain(s.Name), phrase.Plural(n.Secrets, "secret"), phrase.Plural(n.Events, "event"))
}

// secretScan searches sessions for secrets.
type secretScan struct {
	redactOptions
	cmd      *cobra.Command
	masker   session.Masker
	named    bool // sessions were named
	alone    bool // one was
	sessions uint64
	with     uint64 // sessions that have secrets
	secrets  uint64
	faults   error // of sessions that could not be read
}

// runScan lists the secrets of sessions. The store may be read-only: the scan keeps no
// placeholder, so it makes its own key.
func runScan(cmd *cobra.Command, options redactOptions, args []string) (err error) {
	defer cli.LimitMemory()()
	if options.inPlace || options.out.Name != "" {
		return cli.Usagef("redact: --scan writes nothing; leave out --in-place and --out")
	}
	x := &secretScan{redactOptions: options, cmd: cmd, named: len(args) > 0, alone: len(args) == 1}
	if x.masker, err = options.Masker(nil); err != nil {
		return err
	}
	if len(args) == 0 { // every session of the store
		db, err := session.OpenUnmasked(cmd.Context(), x.Home)
		if err != nil {
			return err
		}
		for s, err := range db.Sessions(cmd.Context(), store.Query{Newest: true}) {
			if err != nil {
				x.faults = errors.Join(x.faults, err)
				continue
			}
			x.session(db.Unmasked(s.ID))
		}
		empty := x.sessions == 0 && x.faults == nil
		if x.faults = errors.Join(x.faults, db.Close()); empty {
			return cli.Usagef("no session in %s yet; make one with mcprec record -- COMMAND", db.Info().Location)
		}
	}
	for _, arg := range args {
		s, err := openPrinted(cmd, x.home.unmasked(), arg)
		if err != nil {
			return errors.Join(x.faults, err)
		}
		x.session(s)
		x.faults = errors.Join(x.faults, s.Release())
	}
	if !x.alone {
		fmt.Fprintf(cmd.ErrOrStderr(), "mcprec: %s in %d of %s\n", phrase.Plural(x.secrets, "secret"), x.with, phrase.Plural(x.sessions, "session"))
	}
	if x.faults == nil && x.secrets > 0 {
		return cli.ErrVerdict
	}
	return x.faults
}

// session lists the secrets of a session: where they are, never what they are.
func (x *secretScan) session(s *session.Session) {
	titled := false
	out := x.cmd.OutOrStdout()
	encoder := json.NewEncoder(out)
	count, err := x.masker.Find(s.Recorded(x.cmd.Context(), 1, store.ReadOptions{}), func(e store.Event, found []mask.Finding) (err error) {
		for _, f := range found {
			if x.format == "json" {
				line := secretJSON{Seq: e.Seq, Kind: kindShown(e.Kind), Dir: e.Dir.String(), Rule: f.Rule, Path: f.Path, Session: s.ID}
				if s.Store == nil {
					line.File = s.Name
				}
				err = encoder.Encode(line)
			} else {
				if !titled {
					titled = true
					fmt.Fprintln(out, output.Plain(s.Name))
				}
				_, err = fmt.Fprintf(out, "%6d %-6s %-7s %-12s %s\n", e.Seq, cmp.Or(e.Dir.String(), "-"), kindShown(e.Kind), f.Rule, output.PlainName(f.Path))
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	if session.IsGone(err) && !x.named {
		return // removed since it was listed
	}
	x.faults = errors.Join(x.faults, err)
	x.sessions++
	x.secrets += count.Secrets
	if count.Secrets > 0 {
		x.with++
	}
	if count.Secrets > 0 || x.alone && err == nil {
		printCount(x.cmd.ErrOrStderr(), s, count)
	}
}

// secretJSON is the stable form of redact --scan --format json.
type secretJSON struct {
	Seq  uint64 `json:"seq"`
	Kind string `json:"kind"`
	Dir  string `json:"dir,omitempty"`
	Rule string `json:"rule"`
	Path string `json:"path,omitempty"`

	Session store.SessionID `json:"session,omitempty"`
	File    string          `json:"file,omitempty"`
}

// kindShown is the kind of an event as users know it.
func kindShown(kind store.Kind) string {
	if kind == store.Frame {
		return "message"
	}
	return string(kind)
}
