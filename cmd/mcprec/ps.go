package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/cli"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/output"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/recording"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/report"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/session"
	"github.com/mcprec/mcprec/transport/phrase"
	"github.com/mcprec/mcprec/transport/procfs"
)

type psOptions struct {
	home
	format  string
	orphans bool
	failOn  string
}

func newPs() *cobra.Command {
	var o psOptions
	cmd := &cobra.Command{
		Use:               "ps",
		Short:             "List the MCP servers that run, recorded or not, and those left behind",
		Example:           "  mcprec ps\n  mcprec ps --orphans --fail-on orphans",
		Args:              atMost(0),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, _ []string) error { return runPs(cmd, o) },
	}
	o.home.addFlags(cmd)
	o.heedMaskRules(cmd)
	addFormat(cmd, &o.format, "text", "json")
	cmd.Flags().BoolVar(&o.orphans, "orphans", false, "only those whose client has gone")
	addChoice(cmd, &o.failOn, "fail-on", "what gives the exit code 1: never, orphans", "never", "orphans")
	return cmd
}

func runPs(cmd *cobra.Command, options psOptions) (err error) {
	if err := procfs.Supported(); err != nil {
		return fmt.Errorf("list the servers that run: %w", err)
	}
	db, err := openExisting(cmd, options.home)
	if err != nil {
		return err
	}
	defer closeInto(&err, db)
	found, err := report.Running(cmd.Context(), db)
	orphans := slices.DeleteFunc(slices.Clone(found.List), func(s report.RunningServer) bool { return s.Orphan == "" })
	if options.orphans {
		found.List = orphans
	}
	w, fault := screenOf(cmd)
	if fault != nil {
		return errors.Join(err, fault)
	}
	if options.format == output.JSON {
		enc := output.NewEncoder(w)
		for _, s := range found.List {
			err = errors.Join(err, enc.Encode(s))
		}
	} else {
		output.Table[report.RunningServer]{Rows: found.List, Columns: serverColumns}.Print(w)
	}
	err = errors.Join(err, w.Flush())
	options.tell(cmd, found, orphans)
	if err == nil && options.failOn == "orphans" && len(orphans) > 0 {
		return cli.ErrVerdict
	}
	return err
}

// tell says on standard error what the list has no room for.
func (o psOptions) tell(cmd *cobra.Command, found report.RunningServers, orphans []report.RunningServer) {
	say := func(format string, args ...any) { fmt.Fprintf(cmd.ErrOrStderr(), "mcprec: "+format+"\n", args...) }
	switch {
	case len(found.List) == 0 && o.orphans:
		say("no MCP server on stdio runs without its client")
	case len(found.List) == 0:
		say("no MCP server on stdio runs, as far as its pipes, its program, a recording or a client's configuration tell")
	}
	if len(orphans) > 0 && o.format != output.JSON {
		words := []string{"kill"}
		for _, s := range orphans {
			for _, pid := range s.Processes {
				words = append(words, fmt.Sprint(pid))
			}
		}
		say("%s; to end %s: %s", phrase.Plural(len(orphans), "orphan"), phrase.Agree(len(orphans), "it", "them"), strings.Join(words, " "))
	}
	if found.Hidden > 0 {
		say("%s of other users %s not yours to read; sudo mcprec ps looks at %s too",
			phrase.Plural(found.Hidden, "process"), phrase.Agree(found.Hidden, "is", "are"), phrase.Agree(found.Hidden, "it", "them"))
	}
}

// serverColumns returns the columns of ps.
//
// To add one: add it here, and to report.RunningServer what it has for --format json.
func serverColumns(int) []output.Column[report.RunningServer] {
	type server = report.RunningServer
	return []output.Column[server]{
		{Title: "PID", Right: true, UpTo: output.Narrowest, IsWhole: true, Cell: func(s server) string { return fmt.Sprint(s.PID) }},
		{Title: "SERVER", UpTo: output.Narrowest, Widens: true, Cell: server.Title},
		{Title: "CLIENT", UpTo: output.Narrowest, Cell: func(s server) string {
			switch {
			case s.Orphan != "":
				return "gone"
			case s.Client == nil:
				return "-"
			}
			return fmt.Sprintf("%s (%d)", s.Client.Name, s.Client.PID)
		}},
		{Title: "AGE", Right: true, UpTo: output.Narrowest, Cell: func(s server) string { return phrase.Brief(s.Age.Truncate(time.Second)).String() }},
		{Title: "MEMORY", Right: true, UpTo: output.Narrow, Cell: func(s server) string { return fmt.Sprintf("%d MB", s.Memory>>20) }},
		{Title: "RECORDED", Cell: func(s server) string {
			switch {
			case s.Session != "":
				return string(s.Session[:min(leastPrefix, len(s.Session))])
			case s.Recorded:
				return "elsewhere"
			}
			return "-"
		}},
		{Title: "DOES", UpTo: output.Narrowest, Cell: func(s server) string {
			switch {
			case s.Orphan != "":
				return "orphan: " + s.Orphan
			case s.Stuck > 0:
				return fmt.Sprintf("stuck %v: %s", s.Stuck.Truncate(time.Second), s.Doing)
			}
			return s.Doing
		}, Style: func(s server) output.Style {
			switch {
			case s.Orphan != "":
				return output.Yellow
			case s.Stuck > 0:
				return output.Red
			}
			return output.Unpainted
		}},
	}
}

type attachOptions struct {
	home
	label labels
}

func newAttach(std cli.Streams) *cobra.Command {
	var o attachOptions
	cmd := &cobra.Command{
		Use:               "attach PID",
		Short:             "Record a server that runs, from now on (Linux, with strace)",
		Example:           "  mcprec ps\n  mcprec attach 4711",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, args []string) error { return runAttach(cmd, std, o, args[0]) },
	}
	o.home.addFlags(cmd)
	o.heedMaskRules(cmd)
	o.label.addFlag(cmd, "a `LABEL`, or NAME=VALUE; may be repeated")
	return cmd
}

func runAttach(cmd *cobra.Command, std cli.Streams, o attachOptions, arg string) (err error) {
	pid, err := strconv.Atoi(arg)
	if err != nil || pid <= 0 {
		return cli.Usagef("attach %s: want the number of a process, which mcprec ps lists", phrase.ShellWord(arg))
	}
	if err := procfs.Supported(); err != nil {
		return fmt.Errorf("attach to process %d: %w", pid, err)
	}
	db, err := session.OpenUnmasked(cmd.Context(), o.Home)
	if err != nil {
		return err
	}
	server, err := report.Attachable(cmd.Context(), db, pid)
	if err = errors.Join(err, db.Close()); err != nil {
		return err
	}
	options := newRecordOptions().rec
	options.Home, options.Recorder, options.Label, options.Labels = o.Home, "mcprec "+version()+", by strace", o.label.text, o.label.values
	options.Sync = 50 * time.Millisecond
	options.Now = session.ClockOf(cmd.Context())
	return recording.Attach(cmd.Context(), std, options, server)
}
