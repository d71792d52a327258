package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/cli"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/output"
	"github.com/mcprec/mcprec/replay/external"
	"github.com/mcprec/mcprec/replay/probe"
)

type probeOptions struct {
	process       serverOptions
	call          string
	arguments     string
	notifications int
	format        string
}

func newProbe() *cobra.Command {
	var o probeOptions
	cmd := &cobra.Command{
		Use:   "probe [flags] -- COMMAND [ARG]...",
		Short: "Measure how a live server reads and writes: its model",
		Example: `  mcprec probe -- npx -y @modelcontextprotocol/server-everything
  mcprec probe --call search --args '{"query":"slow"}' -- node dist/index.js
  mcprec replay --server blocking-handlers SESSION          # what the model means for a session`,
		Args: func(cmd *cobra.Command, args []string) error {
			if own, command := beforeDash(cmd, args); len(own) > 0 || len(command) == 0 {
				return cli.Usagef("probe: want the server's command behind --: mcprec probe -- COMMAND [ARG]...")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			_, command := beforeDash(cmd, args)
			return runProbe(cmd, o, command)
		},
	}
	o.process.addFlags(cmd)
	f := cmd.Flags()
	f.StringVar(&o.call, "call", "", "call this `TOOL`: one that asks the client, or is slow")
	f.StringVar(&o.arguments, "args", "", "the arguments of --call, as `JSON`")
	f.IntVar(&o.notifications, "notifications", 256, "try at most `N` notifications")
	addFormat(cmd, &o.format, "text", "json")
	return cmd
}

func runProbe(cmd *cobra.Command, o probeOptions, command []string) error {
	switch {
	case o.notifications < 1:
		return cli.Usagef("--notifications %d: want 1 or more", o.notifications)
	case o.arguments != "" && o.call == "":
		return cli.Usagef("--args without --call: name the tool that they are for")
	case o.arguments != "" && !isObject(o.arguments):
		return cli.Usagef("--args %s: want a JSON object", o.arguments)
	}
	server, err := o.process.server(command)
	if err != nil {
		return err
	}
	stop, cancel := context.WithCancel(cmd.Context())
	defer cancel()
	line := output.NewProgress(cmd.ErrOrStderr())
	began := time.Now()
	wanted := cli.UntilSignal(cancel)
	options := probe.Options{Notifications: o.notifications, Call: o.call, Arguments: o.arguments}
	found, err := external.Probe(server, options, stop.Done(), func(experiments int) {
		line.Draw(time.Since(began), func() string { return fmt.Sprintf("probe: %d experiments; ^C ends it", experiments) })
	})
	line.Erase()
	if sig := wanted(); sig != nil && errors.Is(err, external.ErrStopped) {
		fmt.Fprintln(cmd.ErrOrStderr(), "mcprec: interrupted before the probe had a result")
		return &cli.Status{Code: cli.ExitFine, Signal: sig}
	}
	var refused *probe.Refusal
	if errors.As(err, &refused) {
		fmt.Fprintf(cmd.ErrOrStderr(), "mcprec: %v\n", err)
		return cli.ErrVerdict
	}
	if err != nil {
		return err
	}
	return printVerdict(cmd, o.format, found, true)
}

func isObject(text string) bool {
	var members map[string]json.RawMessage
	return json.Unmarshal([]byte(text), &members) == nil && members != nil
}

// server returns the server of a command with the flags for it.
func (s *serverOptions) server(command []string) (server external.Server, err error) {
	for _, setting := range s.env {
		if name, _, found := strings.Cut(setting, "="); !found || name == "" {
			return server, cli.Usagef("--env %s: want NAME=VALUE", setting)
		}
	}
	server = external.Server{Command: command, Env: s.env}
	if s.folder == "" {
		return server, nil
	}
	if server.Folder, err = filepath.Abs(s.folder); err != nil {
		return server, err
	}
	if info, err := os.Stat(server.Folder); err != nil || !info.IsDir() {
		return server, cli.Usagef("--dir %s: there is no such folder", s.folder)
	}
	return server, nil
}
