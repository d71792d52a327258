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
		Use:   "mcp",
		Short: "Let an agent ask about the recordings: an MCP server on stdin and stdout",
		Long: `mcp is an MCP server over the store, on its standard input and output. An MCP client starts
it, so that an agent can ask itself why a call of its hangs:

  claude mcp add mcprec -- mcprec mcp

Its tools, with the command whose words each says, and whose --format json is its data:

  why_stuck      why               list_sessions  list       state_at      state
  check_session  check             get_session    show       diff_sessions diff
  explain_hang   replay            get_event      show '#N'  search        list --filter

A resource mcprec://session/ID is the recording of a session as JSON Lines, in pages. The
prompt «My MCP call hangs» says how to go about it.

It reads, and does nothing else: no tool starts a process, speaks to a server or writes.
Answers are bounded, that to why_stuck to 4 kB, and say what they leave out. Secrets are
masked, and there is no flag that shows them; recorded text is marked as data, for it comes
from other programs and may address the agent. Sessions of mcprec mcp, its own before all,
are never told of.
`,
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
