package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/cli"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/output"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/retention"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/session"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport/phrase"
)

// worthCompacting is the share of a database that must be free before prune compacts it.
const worthCompacting = 0.25

type pruneOptions struct {
	home
	limits retention.Limits
	labels labels // of the sessions that may go
	kept   bool   // kept sessions may go, too
	dry    bool
	format string
}

func newPrune() *cobra.Command {
	var o pruneOptions
	var keep int
	cmd := &cobra.Command{
		Use:   "prune --older-than DURATION | --keep N | --max-size SIZE",
		Short: "Remove old sessions from the store, by age, number or size",
		Example: `  mcprec store prune --older-than 30d --dry-run
  mcprec store prune --label env=ci --older-than 7d
  mcprec store prune --label env=prod --keep 1000`,
		Args:              atMost(0),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("keep") {
				o.limits.Number = &keep
			}
			if err := notNegative("keep", keep); err != nil {
				return err
			}
			return runPrune(cmd, o)
		},
	}
	o.home.addFlags(cmd)
	o.heedMaskFlags(cmd)
	f := cmd.Flags()
	addParsed(cmd, &o.limits.OlderThan, "older-than", "remove what ended longer ago: 12h, 7d, 2w", phrase.ParseAge)
	f.IntVar(&keep, "keep", 0, "remove all but the newest `N`")
	addParsed(cmd, &o.limits.MaxSize, "max-size", "remove the oldest beyond this `SIZE`: 500MB, 2GiB", phrase.ParseSize)
	o.labels.addFlag(cmd, oneLabel)
	f.BoolVar(&o.kept, "kept", false, "remove kept sessions, too")
	f.BoolVar(&o.dry, "dry-run", false, "only list what would go")
	addFormat(cmd, &o.format, "text", "json")
	return cmd
}

func runPrune(cmd *cobra.Command, options pruneOptions) (err error) {
	if options.limits == (retention.Limits{}) {
		return cli.Usagef("prune: which sessions? Use --older-than, --keep or --max-size")
	}
	db, err := openExisting(cmd, options.home)
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
	if removed := phrase.Plural(p.removed, "session"); p.dry {
		fmt.Fprintf(w, "mcprec: would remove %s, about %s\n", removed, output.Size(p.estimate))
	} else {
		fmt.Fprintf(w, "mcprec: removed %s; the store took %s and takes %s\n", removed, output.Size(p.before), output.Size(p.after))
	}
	if p.live > 0 {
		fmt.Fprintf(w, "mcprec: %s being recorded, not touched\n", phrase.Plural(p.live, "session"))
	}
	if p.spared > 0 {
		fmt.Fprintf(w, "mcprec: %s kept, not touched; --kept removes these, too\n", phrase.Plural(p.spared, "session"))
	}
	if m := p.limits.MaxSize; m != nil && !p.dry && len(p.labels.list()) == 0 && p.after > *m {
		fmt.Fprintf(w, "mcprec: that is more than %s: what is left cannot be removed\n", output.Size(*m))
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
	live, spared  int   // sessions that stay because they are live, or kept
	estimate      int64 // bytes, with --dry-run
}

// round removes the sessions that the limits name. Only then is it known how much space that
// gives back, so the limit of the size may need another round.
func (p *pruning) round() (again bool, err error) {
	ctx := p.cmd.Context()
	sessions, space, err := retention.List(ctx, p.db)
	if err != nil {
		return false, err // sessions that cannot be read may be the ones to keep
	}
	if p.before == 0 {
		p.before = space.Files
	}
	p.after = space.Files
	size := space.Files
	if p.removed == 0 { // free pages go with the sessions
		size -= space.Free
	}
	selected := p.labels.list()
	if len(selected) > 0 {
		sessions = slices.DeleteFunc(sessions, func(s retention.Session) bool { return !p.labels.of(s.Header) })
		size = 0
	}
	p.live, p.spared = 0, 0
	for i, s := range sessions {
		if s.State == store.Live {
			p.live++
		}
		if len(selected) > 0 {
			size += s.Stored
		}
		sessions[i].Kept = s.Kept && !p.kept
		if sessions[i].Kept {
			p.spared++
		}
	}
	gone := p.limits.Choose(sessions, time.Now(), size)
	if len(gone) == 0 {
		return false, p.compact(size)
	}
	if p.dry {
		for _, s := range gone {
			p.removed++
			p.estimate += s.Stored
			if err := p.print(p.cmd.OutOrStdout(), s); err != nil {
				return false, err
			}
		}
		return false, nil
	}
	ids := make([]store.SessionID, len(gone))
	by := map[store.SessionID]retention.Removal{}
	for i, s := range gone {
		ids[i] = s.ID
		by[s.ID] = s
	}
	had := p.removed
	var said error
	err = p.db.DeleteAll(ctx, ids, func(id store.SessionID) {
		retention.Forget(p.db.Folder, id)
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
	if p.limits.MaxSize != nil && len(p.labels.list()) == 0 && p.after > *p.limits.MaxSize {
		least = 0
	}
	return p.db.Compact(p.cmd.Context(), least, func(c store.Compacted) { p.after -= c.Before - c.After })
}

func (p *pruning) print(w io.Writer, s retention.Removal) error {
	end := s.Start.Add(s.Head.At)
	s.Header = p.db.Masker.Header(s.Header)
	if p.format == "json" {
		return output.NewEncoder(w).Encode(struct {
			ID     store.SessionID   `json:"id"`
			Label  string            `json:"label"`
			Labels map[string]string `json:"labels,omitempty"`
			End    time.Time         `json:"end"`
			Stored int64             `json:"stored"`
			Limit  string            `json:"limit"`
		}{s.ID, s.Label, s.Labels, end, s.Stored, s.Limit})
	}
	ended := end.Local().Format(time.DateTime)
	if s.Start.IsZero() {
		ended = ""
	}
	_, err := fmt.Fprintf(w, "%s  %-19s  %10s  %-6s  %s  %s\n", s.ID, ended, output.Size(s.Stored), s.Limit, output.Plain(labelOf(s.Session.Session)), output.Plain(commandOf(s.Session.Session)))
	return err
}

func newKeep() *cobra.Command {
	var h home
	var off bool
	cmd := &cobra.Command{
		Use:     "keep SESSION...",
		Short:   "Keep sessions whatever the limit of the store is",
		Example: "  mcprec store keep 0190aaaa\n  mcprec store keep --off 0190aaaa",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cli.Usagef("store keep: no session; use mcprec store keep SESSION...")
			}
			return nil
		},
		ValidArgsFunction: completeSessions,
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			db, err := openExisting(cmd, h)
			if err != nil {
				return err
			}
			defer closeInto(&err, db)
			for _, arg := range args {
				found, err := db.Find(cmd.Context(), arg)
				if err == nil {
					err = retention.Keep(db.Folder, found.ID, off)
				}
				if err == nil {
					_, err = fmt.Fprintln(cmd.OutOrStdout(), found.ID)
				}
				if err != nil {
					return err
				}
			}
			return nil
		},
	}
	h.addFlags(cmd)
	cmd.Flags().BoolVar(&off, "off", false, "they may be removed again")
	return cmd
}

func newRemove() *cobra.Command {
	var h home
	cmd := &cobra.Command{
		Use:     "rm SESSION...",
		Aliases: []string{"remove", "delete"},
		Short:   "Remove sessions from the store for good",
		Example: "  mcprec rm 0190aaaa\n  mcprec rm nightly",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cli.Usagef("rm: no session; use mcprec rm SESSION...")
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
	db, err := openExisting(cmd, home)
	if err != nil {
		return err
	}
	defer closeInto(&err, db)
	for _, arg := range args {
		if arg == "" {
			return cli.Usagef("rm: an empty session name")
		}
		found, err := db.Find(cmd.Context(), arg)
		if err != nil {
			return err
		}
		if !strings.HasPrefix(string(found.ID), strings.ToLower(arg)) {
			if labelled, err := db.Labelled(cmd.Context(), arg); err != nil || len(labelled) > 1 {
				return errors.Join(err, cli.Usagef("rm: %s is the label of %d sessions; name one by its id, or see mcprec store prune --label", arg, len(labelled)))
			}
		}
		if err := db.Delete(cmd.Context(), found.ID); err != nil {
			return err
		}
		retention.Forget(db.Folder, found.ID)
		if _, err := fmt.Fprintln(cmd.OutOrStdout(), found.ID); err != nil {
			return err
		}
	}
	return nil
}

// sizeLabels is how many labels the text lists: the largest ones.
const sizeLabels = 20

type sizeOptions struct {
	home
	labels labels
	format string
}

func newSize() *cobra.Command {
	var o sizeOptions
	cmd := &cobra.Command{
		Use:               "size",
		Short:             "Count what is in the store and what it takes on the disk",
		Example:           "  mcprec store size\n  mcprec store size --label env=ci --format json",
		Args:              atMost(0),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, _ []string) error { return runSize(cmd, o) },
	}
	o.home.addFlags(cmd)
	o.heedMaskFlags(cmd)
	o.labels.addFlag(cmd, oneLabel)
	addFormat(cmd, &o.format, "text", "json")
	return cmd
}

// counts are the totals of some sessions.
type counts struct {
	Sessions int                 `json:"sessions"`
	States   map[store.State]int `json:"states"`
	Events   uint64              `json:"events"`
	Frames   uint64              `json:"messages"`
	Lost     uint64              `json:"lost"`
	Recorded uint64              `json:"recorded"` // bytes of frames
	Stored   int64               `json:"stored"`
	Oldest   *time.Time          `json:"oldest"` // start
	Newest   *time.Time          `json:"newest"`
}

// statistics is the stable form of store size --format json.
type statistics struct {
	Store string `json:"store"`
	counts
	diskStatistics
	Budget *retention.Memory `json:"limit"` // null: no recorder has set one
	Labels map[string]counts `json:"labels"`
}

// diskStatistics are the files of a store.
type diskStatistics struct {
	Databases     int   `json:"databases"`
	DatabaseBytes int64 `json:"database_bytes"`
	FreeBytes     int64 `json:"free_bytes"`
	Removed       int   `json:"removed"` // sessions that left a tombstone
	Chunks        int   `json:"chunks"`
	Spools        int   `json:"spools"`
	SpoolBytes    int64 `json:"spool_bytes"`
	Damaged       int   `json:"damaged"` // files that repair kept
	DamagedBytes  int64 `json:"damaged_bytes"`
}

// newDiskStatistics counts the files of a store.
func newDiskStatistics(usage store.Usage) diskStatistics {
	x := diskStatistics{
		Spools: usage.Spools.Files, SpoolBytes: usage.Spools.Bytes,
		Damaged: usage.Damaged.Files, DamagedBytes: usage.Damaged.Bytes,
	}
	for _, d := range usage.Databases {
		x.Databases++
		x.DatabaseBytes += d.Bytes
		x.FreeBytes += d.Free
		x.Removed += d.Deleted
		x.Chunks += d.Chunks.Files
	}
	return x
}

// add counts a session, which takes so many bytes in the store.
func (c *counts) add(session store.Session, stored int64) {
	if c.States == nil {
		c.States = map[store.State]int{}
	}
	c.Sessions++
	c.States[session.State]++
	c.Events += session.Head.Seq
	c.Frames += session.Frames
	c.Lost += session.Lost
	c.Recorded += session.Bytes
	c.Stored += stored
	if session.Start.IsZero() {
		return
	}
	if c.Oldest == nil || session.Start.Before(*c.Oldest) {
		c.Oldest = &session.Start
	}
	if c.Newest == nil || session.Start.After(*c.Newest) {
		c.Newest = &session.Start
	}
}

func runSize(cmd *cobra.Command, options sizeOptions) (err error) {
	db, err := openExisting(cmd, options.home)
	if err != nil {
		return err
	}
	defer closeInto(&err, db)
	x := statistics{Store: db.Info().Location, Labels: map[string]counts{}}
	x.States = map[store.State]int{}
	usage, err := db.Usage(cmd.Context())
	x.diskStatistics = newDiskStatistics(usage)
	for s, serr := range db.Sessions(cmd.Context(), store.Query{}) {
		if serr != nil {
			err = errors.Join(err, serr) // the other parts are still counted
		} else if options.labels.of(s.Header) {
			s.Header = db.Masker.Header(s.Header)
			x.add(s, usage.Stored[s.ID])
			for _, label := range (&labels{s.Label, s.Labels}).list() {
				c := x.Labels[label]
				c.add(s, usage.Stored[s.ID])
				x.Labels[label] = c
			}
		}
	}
	budget, fault := retention.Recall(db.Folder)
	err = errors.Join(err, fault)
	if budget != (retention.Memory{}) {
		x.Budget = &budget
	}
	if options.format == "json" {
		return errors.Join(err, output.NewEncoder(cmd.OutOrStdout()).Encode(x))
	}
	if wanted := options.labels.String(); wanted != "" && x.Sessions == 0 && err == nil {
		return cli.Usagef("no session has the label %s in %s", wanted, x.Store)
	}
	return errors.Join(err, x.text(cmd.OutOrStdout()))
}

func (x *statistics) text(w io.Writer) error {
	row := func(name, format string, args ...any) {
		fmt.Fprintf(w, "%-10s %s\n", name, fmt.Sprintf(format, args...))
	}
	row("store", "%s", output.Plain(x.Store))
	row("sessions", "%d: %d closed, %d live, %d cut short", x.Sessions, x.States[store.Ended], x.States[store.Live], x.States[store.Crashed])
	row("events", "%d, %d of them messages, %d lost", x.Events, x.Frames, x.Lost)
	if x.Oldest != nil {
		row("started", "%s to %s", x.Oldest.Local().Format(time.DateTime), x.Newest.Local().Format(time.DateTime))
	}
	row("recorded", "%s", output.Size(int64(x.Recorded)))
	row("stored", "%s in %s", output.Size(x.Stored), phrase.Plural(x.Chunks, "chunk"))
	row("databases", "%d with %s, %s of it free", x.Databases, output.Size(x.DatabaseBytes), output.Size(x.FreeBytes))
	row("spools", "%d with %s", x.Spools, output.Size(x.SpoolBytes))
	if x.Budget != nil {
		row("limit", "%s", x.Budget.Text(x.DatabaseBytes+x.SpoolBytes))
	}
	if x.Damaged > 0 {
		row("damaged", "%d with %s, kept beside", x.Damaged, output.Size(x.DamagedBytes))
	}
	if len(x.Labels) == 0 {
		return nil
	}
	names := slices.Collect(maps.Keys(x.Labels))
	slices.SortFunc(names, func(a, b string) int {
		x, y := x.Labels[a], x.Labels[b]
		return cmp.Or(cmp.Compare(y.Stored, x.Stored), cmp.Compare(a, b))
	})
	const format = "%8v  %8v  %10s  %10s  %-19s  %s\n"
	fmt.Fprintf(w, "\n"+format, "SESSIONS", "EVENTS", "RECORDED", "STORED", "NEWEST", "LABEL")
	for _, name := range names[:min(len(names), sizeLabels)] {
		c, newest := x.Labels[name], ""
		if c.Newest != nil {
			newest = c.Newest.Local().Format(time.DateTime)
		}
		fmt.Fprintf(w, format, c.Sessions, c.Events, output.Size(int64(c.Recorded)), output.Size(c.Stored), newest, output.Plain(name))
	}
	if n := len(names) - sizeLabels; n > 0 {
		fmt.Fprintf(w, "%d more with --format json\n", n)
	}
	return nil
}
