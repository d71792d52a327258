package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/exit"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/process"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/report"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/session"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/terminal"
	"github.com/mcprec/mcprec/replay/phrase"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/boltstore"
)

// retention holds the limits of prune; one that is not given is nil.
type retention struct {
	labels    labels
	olderThan *time.Duration // since they ended
	keep      *int           // the newest
	maxSize   *int64         // of all
}

// pruned is a session to remove.
type pruned struct {
	store.Session
	stored int64
	why    string // the limit
}

// pick returns the sessions beyond any of the limits, oldest first. It is given all sessions,
// newest first, and considers those with the labels. A live session stays, and one whose start
// is unknown has no age. size is what the store takes, stored the share of each session.
func (r retention) pick(sessions []store.Session, now time.Time, size int64, stored map[store.SessionID]int64) []pruned {
	sessions = slices.DeleteFunc(slices.Clone(sessions), func(s store.Session) bool { return !r.labels.of(s.Header) })
	if len(r.labels.list()) > 0 {
		size = 0
		for _, s := range sessions {
			size += stored[s.ID]
		}
	}
	var gone, rest []pruned
	for i, s := range sessions {
		p := pruned{Session: s, stored: stored[s.ID]}
		switch {
		case s.State == store.Live:
			continue
		case r.olderThan != nil && !s.Start.IsZero() && now.Sub(s.Start.Add(s.Head.At)) > *r.olderThan:
			p.why = "age"
		case r.keep != nil && i >= *r.keep:
			p.why = "number"
		default:
			rest = append(rest, p)
			continue
		}
		size -= p.stored
		gone = append(gone, p)
	}
	for i := len(rest) - 1; i >= 0 && r.maxSize != nil && size > *r.maxSize; i-- {
		rest[i].why = "size"
		size -= rest[i].stored
		gone = append(gone, rest[i])
	}
	slices.SortStableFunc(gone, func(a, b pruned) int { return a.Start.Compare(b.Start) })
	return gone
}

// worthCompacting is the share of a database that must be free before prune compacts it.
const worthCompacting = 0.25

type pruneOptions struct {
	home
	retention
	dry    bool
	format string
}

func newPrune() *cobra.Command {
	var o pruneOptions
	var keep int
	cmd := &cobra.Command{
		Use:   "prune --older-than DURATION | --keep N | --max-size SIZE",
		Short: "Remove old sessions from the store, by age, number or size",
		Long: `prune removes sessions from the store for good. A session goes if any of the limits
says so:

  --older-than 30d   it ended longer ago than that
  --keep 100         it is not among the newest 100
  --max-size 2GiB    the store takes more than that; the oldest go first

With --label only the sessions with that label go, and only they are counted, so that
each label can have limits of its own.

A session that is being recorded stays. One whose start is unknown, as in what other
recorders wrote, has no age and counts as the oldest. --dry-run only lists what would
go. What is listed is id, end, size in the store, which limit, label and command.

The space is given back at once where it is worth it, as mcprec store compact does.`,
		Example: `  mcprec store prune --older-than 30d --dry-run
  mcprec store prune --label env=ci --older-than 7d
  mcprec store prune --label env=prod --keep 1000`,
		Args:              atMost(0),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("keep") {
				o.keep = &keep
			}
			if err := notNegative("keep", keep); err != nil {
				return err
			}
			return runPrune(cmd, o)
		},
	}
	o.addMaskFlags(cmd)
	f := cmd.Flags()
	addParsed(cmd, &o.olderThan, "older-than", "remove what ended longer than `DURATION` ago: 12h, 7d, 2w", session.ParseAge)
	f.IntVar(&keep, "keep", 0, "remove all but the newest `N`")
	addParsed(cmd, &o.maxSize, "max-size", "remove the oldest until the store takes at most `SIZE`: 500MB, 2GiB", parseSize)
	f.VarP(&o.labels, "label", "l", "only sessions with this `LABEL`, or NAME=VALUE; of several they must have all")
	f.BoolVar(&o.dry, "dry-run", false, "only list what would go")
	addChoice(cmd, &o.format, "format", "text or json", "text", "json")
	return cmd
}

func runPrune(cmd *cobra.Command, options pruneOptions) (err error) {
	if options.olderThan == nil && options.keep == nil && options.maxSize == nil {
		return exit.Usagef("prune: which sessions? Use --older-than, --keep or --max-size")
	}
	db, err := openStore(cmd, options.home)
	if err != nil {
		return err
	}
	defer closeInto(&err, db)
	p := &pruning{pruneOptions: options, cmd: cmd, db: db}
	again := true
	for err == nil && again {
		again, err = p.round()
	}
	w := cmd.ErrOrStderr()
	if p.dry {
		fmt.Fprintf(w, "mcprec: would remove %s, about %s\n", phrase.Plural(p.removed, "session"), terminal.Size(p.estimate))
	} else {
		fmt.Fprintf(w, "mcprec: removed %s; the store took %s and takes %s\n", phrase.Plural(p.removed, "session"), terminal.Size(p.before), terminal.Size(p.after))
	}
	if p.live > 0 {
		fmt.Fprintf(w, "mcprec: %s being recorded, not touched\n", phrase.Plural(p.live, "session"))
	}
	if m := p.maxSize; m != nil && !p.dry && len(p.labels.list()) == 0 && p.after > *m {
		fmt.Fprintf(w, "mcprec: that is more than %s: what is left cannot be removed\n", terminal.Size(*m))
	}
	return err
}

// pruning is one run of prune.
type pruning struct {
	pruneOptions
	cmd           *cobra.Command
	db            *session.Store
	before, after int64 // bytes of the store
	removed       int
	live          int
	estimate      int64 // bytes, with --dry-run
}

// round removes the sessions that the limits name. Only then is it known how much space that
// gives back, so the limit of the size may need another round.
func (p *pruning) round() (again bool, err error) {
	ctx := p.cmd.Context()
	var sessions []store.Session // newest first
	var faults error
	p.live = 0
	for s, err := range p.db.Sessions(ctx, store.Query{Newest: true}) {
		if err != nil {
			faults = errors.Join(faults, err)
			continue
		}
		sessions = append(sessions, s)
		if s.State == store.Live && p.labels.of(s.Header) {
			p.live++
		}
	}
	usage, err := p.db.Usage(ctx)
	if faults = errors.Join(faults, err); faults != nil {
		return false, faults // sessions that cannot be read may be the ones to keep
	}
	size := usage.Size()
	if p.before == 0 {
		p.before = size
	}
	p.after = size
	if p.removed == 0 { // free pages go with the sessions
		for _, d := range usage.Databases {
			size -= d.Free
		}
	}
	gone := p.pick(sessions, time.Now(), size, usage.Stored)
	if len(gone) == 0 {
		return false, p.compact(size)
	}
	if p.dry {
		for _, s := range gone {
			p.removed++
			p.estimate += s.stored
			if err := p.print(p.cmd.OutOrStdout(), s); err != nil {
				return false, err
			}
		}
		return false, nil
	}
	ids := make([]store.SessionID, len(gone))
	by := map[store.SessionID]pruned{}
	for i, s := range gone {
		ids[i] = s.ID
		by[s.ID] = s
	}
	had := p.removed
	var said error
	err = p.db.DeleteAll(ctx, ids, func(id store.SessionID) {
		removePoints(p.db, id)
		p.removed++
		said = errors.Join(said, p.print(p.cmd.OutOrStdout(), by[id]))
	})
	if err = errors.Join(err, said); err != nil {
		return false, err
	}
	return p.removed > had, p.compact(size)
}

// compact gives free space back if that is worth it, or if the limit of the size needs it.
func (p *pruning) compact(size int64) error {
	if p.dry {
		return nil
	}
	least := worthCompacting
	if p.maxSize != nil && len(p.labels.list()) == 0 && p.after > *p.maxSize {
		least = 0
	}
	return p.db.Compact(p.cmd.Context(), least, func(c boltstore.Compacted) { p.after -= c.Before - c.After })
}

func (p *pruning) print(w io.Writer, s pruned) error {
	end := s.Start.Add(s.Head.At)
	s.Header = p.db.Masker.Header(s.Header)
	if p.format == "json" {
		return report.NewEncoder(w).Encode(struct {
			ID     store.SessionID   `json:"id"`
			Label  string            `json:"label"`
			Labels map[string]string `json:"labels,omitempty"`
			End    time.Time         `json:"end"`
			Stored int64             `json:"stored"`
			Limit  string            `json:"limit"`
		}{s.ID, s.Label, s.Labels, end, s.stored, s.why})
	}
	ended := end.Local().Format(time.DateTime)
	if s.Start.IsZero() {
		ended = ""
	}
	_, err := fmt.Fprintf(w, "%s  %-19s  %10s  %-6s  %s  %s\n", s.ID, ended, terminal.Size(s.stored), s.why, terminal.Plain(labelOf(s.Session)), terminal.Plain(commandOf(s.Session)))
	return err
}

func newRemove() *cobra.Command {
	var h home
	cmd := &cobra.Command{
		Use:     "rm SESSION...",
		Aliases: []string{"remove", "delete"},
		Short:   "Remove sessions from the store for good",
		Long: `rm removes sessions from the store. Each SESSION is an id, the beginning of one, or a
label that no other session has. A session that is being recorded cannot be removed.

The space is used again by later sessions; mcprec store compact gives it back to the disk.
mcprec store prune removes many sessions, by age, number or size.`,
		Example: "  mcprec rm 0190aaaa\n  mcprec rm nightly",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return exit.Usagef("rm: no session; use mcprec rm SESSION...")
			}
			return nil
		},
		ValidArgsFunction: completeSessions,
		RunE:              func(cmd *cobra.Command, args []string) error { return runRemove(cmd, h, args) },
	}
	h.addFlags(cmd)
	return cmd
}

func runRemove(cmd *cobra.Command, home home, args []string) (err error) {
	db, err := openStore(cmd, home)
	if err != nil {
		return err
	}
	defer closeInto(&err, db)
	for _, arg := range args {
		if arg == "" {
			return exit.Usagef("rm: an empty session name")
		}
		found, err := db.Find(cmd.Context(), arg)
		if err != nil {
			return err
		}
		if !strings.HasPrefix(string(found.ID), strings.ToLower(arg)) {
			if labelled, err := db.Labelled(cmd.Context(), arg); err != nil || len(labelled) > 1 {
				return errors.Join(err, exit.Usagef("rm: %s is the label of %d sessions; name one by its id, or see mcprec store prune --label", arg, len(labelled)))
			}
		}
		if err := db.Delete(cmd.Context(), found.ID); err != nil {
			return err
		}
		removePoints(db, found.ID)
		if _, err := fmt.Fprintln(cmd.OutOrStdout(), found.ID); err != nil {
			return err
		}
	}
	return nil
}

func newCompact() *cobra.Command {
	var h home
	cmd := &cobra.Command{
		Use:   "compact",
		Short: "Give the space of removed sessions back to the disk",
		Long: `compact writes each database of the store that has free space anew, without it, and
checks every event on the way. The new file takes the old one's place at once, when it
is whole and on the disk: who interrupts compact, or loses power, has the old one.
What was removed is then in none of the store's files. A damaged database stays as it
is; see mcprec store repair.

Recorders and readers go on meanwhile; commands that remove or import sessions wait. There
must be room for the largest database once more.`,
		Example:           "  mcprec store compact",
		Args:              atMost(0),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, _ []string) error { return runCompact(cmd, h) },
	}
	h.addFlags(cmd)
	return cmd
}

func runCompact(cmd *cobra.Command, home home) (err error) {
	defer process.LimitMemory()()
	db, err := openStore(cmd, home.unmasked())
	if err != nil {
		return err
	}
	defer closeInto(&err, db)
	var before, after int64
	err = db.Compact(cmd.Context(), 0, func(c boltstore.Compacted) {
		before, after = before+c.Before, after+c.After
		if c.After < c.Before {
			fmt.Fprintf(cmd.OutOrStdout(), "%s: %s, now %s\n", c.Path, terminal.Size(c.Before), terminal.Size(c.After))
		}
	})
	fmt.Fprintf(cmd.ErrOrStderr(), "mcprec: %s given back; the databases take %s\n", terminal.Size(before-after), terminal.Size(after))
	return err
}

// removePoints removes the files that older releases kept of a session to answer state sooner:
// they hold payloads.
func removePoints(db *session.Store, id store.SessionID) {
	names, _ := filepath.Glob(filepath.Join(db.Info().Location, "cache", string(id)+".*"))
	for _, name := range names {
		_ = os.Remove(name)
	}
}
