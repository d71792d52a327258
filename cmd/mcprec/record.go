package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/cli"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/recording"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/retention"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/session"
	"github.com/mcprec/mcprec/transport/phrase"
)

type recordOptions struct {
	home
	rec      recording.Options
	label    labels
	sync     string
	frame    string   // --max-message
	size     string   // --keep-size
	age      string   // --keep-age
	warnings []string // about the environment
}

// newRecordOptions returns the values of record's flags where none is given, also for serve. A
// variable that is wrong is a warning: it must not keep a client from its server.
func newRecordOptions() recordOptions {
	o := recordOptions{sync: "50ms", frame: "0", size: "2GiB", age: "30d"}
	if size := os.Getenv("MCPREC_KEEP_SIZE"); size != "" {
		if _, err := parseKeepSize(size); err != nil {
			o.warnings = append(o.warnings, fmt.Sprintf("MCPREC_KEEP_SIZE is %v; it is not used, and the default is %s", err, o.size))
		} else {
			o.size = size
		}
	}
	if age := os.Getenv("MCPREC_KEEP_AGE"); age != "" {
		if _, err := parseKeepAge(age); err != nil {
			o.warnings = append(o.warnings, fmt.Sprintf("MCPREC_KEEP_AGE is %v; it is not used, and the default is %s", err, o.age))
		} else {
			o.age = age
		}
	}
	return o
}

func newRecord(std cli.Streams) *cobra.Command {
	o := newRecordOptions()
	o.rec.Listen = "127.0.0.1:7000"
	cmd := &cobra.Command{
		Use:   "record [flags] -- COMMAND [ARG]...\n  mcprec record [flags] --target URL",
		Short: "Record the sessions of a server: on stdio, or a remote one",
		Example: `  mcprec record -- npx -y @modelcontextprotocol/server-everything
  mcprec record --label nightly -o session.jsonl -- ./server --stdio
  mcprec record --target http://localhost:3000/mcp`,
		Args: func(_ *cobra.Command, args []string) error {
			switch {
			case len(args) == 0 && o.rec.Target == "":
				return cli.Usagef("record: no command; use mcprec record -- COMMAND [ARG]..., or mcprec record --target URL")
			case len(args) > 0 && o.rec.Target != "":
				return cli.Usagef("record: --target and a command; give one of them")
			case len(args) > 0 && (strings.HasPrefix(args[0], "http://") || strings.HasPrefix(args[0], "https://")):
				return cli.Usagef("record runs a command; to record a server at a URL: mcprec record --target URL")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return runRecord(cmd.Context(), std, o, args)
		},
	}
	o.home.addFlags(cmd)
	o.heedMaskFlags(cmd)
	f := cmd.Flags()
	f.SetInterspersed(false)
	o.label.addFlag(cmd, "a `LABEL`, or NAME=VALUE; may be repeated")
	f.StringVarP(&o.rec.Out, "out", "o", "", "also write the session to `FILE` when it has ended; if that is there, to FILE-2, FILE-3, …")
	f.StringVar(&o.sync, "sync", o.sync, "sync messages to disk `WHEN`: after a duration, always, or none")
	f.BoolVarP(&o.rec.Verbose, "verbose", "v", false, "say on stderr what was recorded")
	completeWords(cmd, "sync", "50ms", "always", "none")
	f.BoolVar(&o.rec.Mask, "mask", false, "keep no secrets: mask them when the session has ended")
	f.StringVar(&o.frame, "max-message", o.frame, "record at most `SIZE` of a message; it passes whole")
	f.StringVar(&o.size, "keep-size", o.size, "keep the store below `SIZE`, or off")
	f.StringVar(&o.age, "keep-age", o.age, "delete sessions after this `AGE`: 12h, 7d, 2w, or off")
	completeWords(cmd, "keep-size", "off", "500MB", "2GiB", "10GiB")
	completeWords(cmd, "keep-age", "off", "7d", "30d", "26w")
	f.BoolVar(&o.rec.Strict, "strict", false, "end the session rather than miss a message")
	addRemoteFlags(cmd, &o.rec.Remote, "target", "record the HTTP server at `URL`", "with --target: the `ADDRESS` for clients")
	f.BoolVar(&o.rec.Split, "split", false, "with --target: one recording for each exchange that has no session id")
	return cmd
}

// runRecord checks the flags, before there is anything to lose, and records.
func runRecord(ctx context.Context, std cli.Streams, o recordOptions, command []string) (err error) {
	options := o.rec
	options.Home, options.Recorder, options.Label, options.Labels = o.Home, "mcprec "+version(), o.label.text, o.label.values
	switch o.sync {
	case "always":
		options.Sync = session.SyncAlways
	case "none":
		options.Sync = session.SyncNone
	default:
		options.Sync, err = time.ParseDuration(o.sync)
		if err != nil || options.Sync <= 0 {
			return cli.Usagef("--sync %s: want a duration such as 50ms, always, or none", phrase.ShellWord(o.sync))
		}
	}
	if options.MaxFrame, err = phrase.ParseSize(o.frame); err != nil {
		return wrongValue("max-message", o.frame, err)
	}
	if options.Budget, err = o.budget(); err != nil {
		return err
	}
	if o.rec.Mask && o.Secrets.Show {
		return cli.Usagef("--mask and --secrets; give one of them")
	}
	if o.Place != "" { // a wrong variable must not keep a client from its server
		if _, err := o.Absolute(); err != nil {
			return err
		}
	}
	for _, warning := range o.warnings {
		fmt.Fprintf(std.Err, "mcprec: %s\n", warning)
	}
	options.Now = session.ClockOf(ctx)
	options.Stuck = stuckIn
	if o.rec.Target != "" {
		return recording.Target(ctx, std, options)
	}
	return recording.Command(std, options, command)
}

// budget reads the limits of the store.
func (o *recordOptions) budget() (limits retention.Budget, err error) {
	if limits.Size, err = parseKeepSize(o.size); err != nil {
		return limits, cli.Usagef("--keep-size %v", err)
	}
	if limits.Age, err = parseKeepAge(o.age); err != nil {
		return limits, cli.Usagef("--keep-age %v", err)
	}
	return limits, nil
}

// parseKeepSize reads how many bytes the store may take; 0 is no limit.
func parseKeepSize(text string) (int64, error) {
	if text == "off" {
		return 0, nil
	}
	size, err := phrase.ParseSize(text)
	if err != nil || size == 0 {
		return 0, fmt.Errorf("%q: want a size such as 500MB or 2GiB, or off", text)
	}
	return size, nil
}

// parseKeepAge reads how long sessions stay; 0 is no limit.
func parseKeepAge(text string) (time.Duration, error) {
	if text == "off" {
		return 0, nil
	}
	age, err := phrase.ParseAge(text)
	if err != nil || age == 0 {
		return 0, fmt.Errorf("%q: want a duration such as 12h, 7d or 2w, or off", text)
	}
	return age, nil
}
