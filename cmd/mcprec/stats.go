package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/exit"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/report"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/retention"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/terminal"
	"github.com/mcprec/mcprec/replay/phrase"
	"github.com/mcprec/mcprec/store"
)

// statsLabels is how many labels the text lists: the largest ones.
const statsLabels = 20

type statsOptions struct {
	home
	labels labels
	format string
}

func newStats() *cobra.Command {
	var o statsOptions
	cmd := &cobra.Command{
		Use:   "stats",
		Short: "Count what is in the store and what it takes on the disk",
		Long: `stats counts the sessions of the store, in all and by label: events, bytes of frames
as they passed (recorded), and what they take in the store (stored). It says how much
of the databases is free, which mcprec store compact gives back, how many spools there
are: files of live sessions, and of those that ended and are not yet moved; and what the
budget of the store is (mcprec help storage), with what was last deleted for it.

With --label only the sessions with that label are counted.`,
		Example:           "  mcprec store stats\n  mcprec store stats --label env=ci --format json",
		Args:              atMost(0),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, _ []string) error { return runStats(cmd, o) },
	}
	o.addMaskFlags(cmd)
	cmd.Flags().VarP(&o.labels, "label", "l", "only sessions with this `LABEL`, or NAME=VALUE; of several they must have all")
	addChoice(cmd, &o.format, "format", "text or json", "text", "json")
	return cmd
}

// counts are the totals of some sessions.
type counts struct {
	Sessions int                 `json:"sessions"`
	States   map[store.State]int `json:"states"`
	Events   uint64              `json:"events"`
	Frames   uint64              `json:"frames"`
	Lost     uint64              `json:"lost"`
	Recorded uint64              `json:"recorded"` // bytes of frames
	Stored   int64               `json:"stored"`
	Oldest   *time.Time          `json:"oldest"` // start
	Newest   *time.Time          `json:"newest"`
}

// statistics is the stable form of stats --format json.
type statistics struct {
	Store string `json:"store"`
	counts
	Databases     int               `json:"databases"`
	DatabaseBytes int64             `json:"database_bytes"`
	FreeBytes     int64             `json:"free_bytes"`
	Removed       int               `json:"removed"` // sessions that left a tombstone
	Chunks        int               `json:"chunks"`
	Spools        int               `json:"spools"`
	SpoolBytes    int64             `json:"spool_bytes"`
	Damaged       int               `json:"damaged"` // files that repair kept
	DamagedBytes  int64             `json:"damaged_bytes"`
	Budget        *retention.Memory `json:"budget"` // null: no recorder has set one
	Labels        map[string]counts `json:"labels"`
}

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

func runStats(cmd *cobra.Command, options statsOptions) (err error) {
	db, err := openStore(cmd, options.home)
	if err != nil {
		return err
	}
	defer closeInto(&err, db)
	usage, err := db.Usage(cmd.Context())
	x := statistics{
		Store: db.Info().Location, Spools: usage.Spools.Files, SpoolBytes: usage.Spools.Bytes,
		Damaged: usage.Damaged.Files, DamagedBytes: usage.Damaged.Bytes, Labels: map[string]counts{},
	}
	x.States = map[store.State]int{}
	for _, d := range usage.Databases {
		x.Databases++
		x.DatabaseBytes += d.Bytes
		x.FreeBytes += d.Free
		x.Removed += d.Deleted
		x.Chunks += d.Chunks.Files
	}
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
	budget, fault := retention.Recall(x.Store)
	err = errors.Join(err, fault)
	if budget != (retention.Memory{}) {
		x.Budget = &budget
	}
	if options.format == "json" {
		return errors.Join(err, report.NewEncoder(cmd.OutOrStdout()).Encode(x))
	}
	if wanted := options.labels.String(); wanted != "" && x.Sessions == 0 && err == nil {
		return exit.Usagef("no session has the label %s in %s", wanted, x.Store)
	}
	return errors.Join(err, x.text(cmd.OutOrStdout()))
}

func (x *statistics) text(w io.Writer) error {
	row := func(name, format string, args ...any) {
		fmt.Fprintf(w, "%-10s %s\n", name, fmt.Sprintf(format, args...))
	}
	row("store", "%s", terminal.Plain(x.Store))
	row("sessions", "%d: %d closed, %d live, %d crashed", x.Sessions, x.States[store.Ended], x.States[store.Live], x.States[store.Crashed])
	row("events", "%d, %d of them frames, %d lost", x.Events, x.Frames, x.Lost)
	if x.Oldest != nil {
		row("started", "%s to %s", x.Oldest.Local().Format(time.DateTime), x.Newest.Local().Format(time.DateTime))
	}
	row("recorded", "%s", terminal.Size(int64(x.Recorded)))
	row("stored", "%s in %s", terminal.Size(x.Stored), phrase.Plural(x.Chunks, "chunk"))
	row("databases", "%d with %s, %s of it free", x.Databases, terminal.Size(x.DatabaseBytes), terminal.Size(x.FreeBytes))
	row("spools", "%d with %s", x.Spools, terminal.Size(x.SpoolBytes))
	if x.Budget != nil {
		row("budget", "%s", x.Budget.Text(x.DatabaseBytes+x.SpoolBytes))
	}
	if x.Damaged > 0 {
		row("damaged", "%d with %s, kept beside", x.Damaged, terminal.Size(x.DamagedBytes))
	}
	if len(x.Labels) == 0 {
		return nil
	}
	names := slices.Collect(maps.Keys(x.Labels))
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(x.Labels[b].Stored, x.Labels[a].Stored), cmp.Compare(a, b))
	})
	const format = "%8v  %8v  %10s  %10s  %-19s  %s\n"
	fmt.Fprintf(w, "\n"+format, "SESSIONS", "EVENTS", "RECORDED", "STORED", "NEWEST", "LABEL")
	for _, name := range names[:min(len(names), statsLabels)] {
		c, newest := x.Labels[name], ""
		if c.Newest != nil {
			newest = c.Newest.Local().Format(time.DateTime)
		}
		fmt.Fprintf(w, format, c.Sessions, c.Events, terminal.Size(int64(c.Recorded)), terminal.Size(c.Stored), newest, terminal.Plain(name))
	}
	if n := len(names) - statsLabels; n > 0 {
		fmt.Fprintf(w, "%d more with --format json\n", n)
	}
	return nil
}
