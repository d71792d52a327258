package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/report"
	"github.com/mcprec/mcprec/replay/phrase"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/boltstore"
)

// retention says which sessions are to go. A limit that was not given is nil.
type retention struct {
	labels    labels
	olderThan *time.Duration // since they ended
	keep      *int           // the newest
	maxSize   *int64         // of all
}

// pruned is a session that is to go.
type pruned struct {
	store.Session
	stored int64
	why    string
}

// pick returns the sessions that go by any of the limits, oldest first. Of those it is
// given, newest first, only those with the labels count. Live ones stay, and one whose
// start is unknown has no age. Size is what all of them take, of which each has its
// stored share.
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
	labels    labels
	olderThan string
	keep      int
	maxSize   string
	dry       bool
	format    string
}

func newPrune() *cobra.Command {
	var o pruneOptions
	cmd := &cobra.Command{
		Use:   "prune --older-than DURATION | --keep N | --max-size SIZE",
		Short: "Remove old sessions from the store, by age, number or size",
		Long: `prune removes sessions from the store for good. A session goes if any of the limits
says so:

  --older-than 30d   it ended longer ago than that
  --keep 100         it is not among the newest 100
  --max-size 2GiB    the store takes more than that; the oldest go first

With --label only the sessions with that label go, and only they are counted, so that
each label can have limits of its own:

  mcprec prune --label env=ci --older-than 7d
  mcprec prune --label env=prod --keep 1000

A session that is being recorded stays. One whose start is unknown, as in what other
recorders wrote, has no age and counts as the oldest. --dry-run only lists what would
go. What is listed is id, end, size in the store, which limit, label and command.

The space is given back at once where it is worth it, as mcprec compact does.

` + exitLine,
		Args:              atMost(0),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, _ []string) error { return runPrune(cmd, o) },
	}
	o.addDoor(cmd)
	f := cmd.Flags()
	f.StringVar(&o.olderThan, "older-than", "", "remove what ended longer than `DURATION` ago: 12h, 7d, 2w")
	f.IntVar(&o.keep, "keep", 0, "remove all but the newest `N`")
	f.StringVar(&o.maxSize, "max-size", "", "remove the oldest until the store takes at most `SIZE`: 500MB, 2GiB")
	f.VarP(&o.labels, "label", "l", "only sessions with this `LABEL`, or NAME=VALUE; of several they must have all")
	f.BoolVarP(&o.dry, "dry-run", "n", false, "only list what would go")
	addChoice(cmd, &o.format, "format", "text or json", "text", "json")
	return cmd
}

// retention reads the limits.
func (o *pruneOptions) retention(cmd *cobra.Command) (r retention, err error) {
	r.labels = o.labels
	f := cmd.Flags()
	if f.Changed("older-than") {
		age, err := parseAge(o.olderThan)
		if err != nil {
			return r, usagef("--older-than: %v", err)
		}
		r.olderThan = &age
	}
	if f.Changed("keep") {
		r.keep = &o.keep
	}
	if f.Changed("max-size") {
		size, err := parseSize(o.maxSize)
		if err != nil {
			return r, usagef("--max-size: %v", err)
		}
		r.maxSize = &size
	}
	if r.olderThan == nil && r.keep == nil && r.maxSize == nil {
		return r, usagef("prune: which sessions? Use --older-than, --keep or --max-size")
	}
	return r, notNegative("keep", o.keep)
}

func runPrune(cmd *cobra.Command, o pruneOptions) (err error) {
	r, err := o.retention(cmd)
	if err != nil {
		return err
	}
	db, err := openStore(cmd, o.home)
	if err != nil {
		return err
	}
	defer closeInto(&err, db)
	p := &pruning{cmd: cmd, db: db, o: o, limits: r}
	again := true
	for err == nil && again {
		again, err = p.round()
	}
	p.conclude()
	return err
}

// pruning is one prune on its way.
type pruning struct {
	cmd           *cobra.Command
	db            *openedStore
	o             pruneOptions
	limits        retention
	before, after int64 // what the store takes
	removed       int
	live          int
	estimate      int64
}

// round removes what goes by the limits. What that gives back is known only then, so that
// the size may call for another round.
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
		if s.State == store.Live && p.limits.labels.of(s.Header) {
			p.live++
		}
	}
	usage, err := p.db.Usage(ctx)
	if faults = errors.Join(faults, err); faults != nil {
		return false, faults // of what cannot be read nothing is known
	}
	size := usage.Size()
	if p.before == 0 {
		p.before = size
	}
	p.after = size
	if p.removed == 0 { // what is free goes with the rest
		for _, d := range usage.Databases {
			size -= d.Free
		}
	}
	gone := p.limits.pick(sessions, time.Now(), size, usage.Stored)
	if len(gone) == 0 {
		return false, p.compact(size)
	}
	if p.o.dry {
		for _, s := range gone {
			p.removed++
			p.estimate += s.stored
			if err := p.print(p.cmd.OutOrStdout(), s); err != nil {
				return false, err
			}
		}
		return false, nil
	}
	ids, by := make([]store.SessionID, len(gone)), map[store.SessionID]pruned{}
	for i, s := range gone {
		ids[i], by[s.ID] = s.ID, s
	}
	had := p.removed
	var said error
	err = p.db.DeleteAll(ctx, ids, func(id store.SessionID) {
		checkpoints{db: p.db.Store, id: id}.remove()
		p.removed++
		said = errors.Join(said, p.print(p.cmd.OutOrStdout(), by[id]))
	})
	if err = errors.Join(err, said); err != nil {
		return false, err
	}
	return p.removed > had, p.compact(size)
}

// compact gives back what is free: where that is worth it, or the size calls for it.
func (p *pruning) compact(size int64) error {
	if p.o.dry {
		return nil
	}
	least := worthCompacting
	if p.limits.maxSize != nil && len(p.limits.labels.list()) == 0 && p.after > *p.limits.maxSize {
		least = 0
	}
	return p.db.Compact(p.cmd.Context(), least, func(c boltstore.Compacted) { p.after -= c.Before - c.After })
}

// print lists one session.
func (p *pruning) print(w io.Writer, s pruned) error {
	end := s.Start.Add(s.Head.At)
	s.Header = p.db.door.header(s.Header)
	if p.o.format == "json" {
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
	_, err := fmt.Fprintf(w, "%s  %-19s  %10s  %-6s  %s  %s\n", s.ID, ended, sizeText(s.stored), s.why, plain(labelOf(s.Session)), plain(commandOf(s.Session)))
	return err
}

// conclude says what was done.
func (p *pruning) conclude() {
	w := p.cmd.ErrOrStderr()
	if p.o.dry {
		fmt.Fprintf(w, "mcprec: would remove %s, about %s\n", phrase.Plural(p.removed, "session"), sizeText(p.estimate))
	} else {
		fmt.Fprintf(w, "mcprec: removed %s; the store took %s and takes %s\n", phrase.Plural(p.removed, "session"), sizeText(p.before), sizeText(p.after))
	}
	if p.live > 0 {
		fmt.Fprintf(w, "mcprec: %s being recorded, not touched\n", phrase.Plural(p.live, "session"))
	}
	if m := p.limits.maxSize; m != nil && !p.o.dry && len(p.limits.labels.list()) == 0 && p.after > *m {
		fmt.Fprintf(w, "mcprec: that is more than %s: what is left cannot be removed\n", sizeText(*m))
	}
}
