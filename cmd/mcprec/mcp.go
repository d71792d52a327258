package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/agent"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/cli"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/output"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/session"
)

func newMCP(std cli.Streams) *cobra.Command {
	var h home
	cmd := &cobra.Command{
		Use:               "mcp",
		Short:             "Let an agent ask about the recordings: an MCP server on stdin and stdout",
		Example:           "  mcprec mcp\n  mcprec mcp --store /var/lib/mcprec --mask-key customer",
		Args:              atMost(0),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, _ []string) error { return runMCP(cmd, std, h) },
	}
	h.addFlags(cmd)
	h.heedMaskRules(cmd)
	return cmd
}

func runMCP(cmd *cobra.Command, std cli.Streams, h home) (err error) {
	db, err := session.OpenReadOnly(cmd.Context(), h.Home)
	if err != nil {
		return err
	}
	server := agent.New(db, version())
	defer closeInto(&err, server)
	if output.IsTerminal(std.In) {
		fmt.Fprintln(cmd.ErrOrStderr(), "mcprec: mcp waits for an MCP client on standard input; see mcprec help mcp for how a client starts it")
	}
	ctx, cancel := context.WithCancel(cmd.Context())
	defer cancel()
	wanted := cli.UntilSignal(cancel)
	err = server.RunStdio(ctx, std.In, std.Out)
	if wanted() != nil && errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}
