package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/process"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/session"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/terminal"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/view"
)

type viewOptions struct {
	home
	listen string
	at     uint64
}

func newView() *cobra.Command {
	var o viewOptions
	cmd := &cobra.Command{
		Use:   "view [SESSION [SESSION]]",
		Short: "See a session in a browser: arrows, calls, state, replays, two sessions side by side",
		Long: `view prints an address that opens a page about a session, and answers it until it is
interrupted.

` + sessionHelp,
		Example: `  mcprec view
  mcprec view before.jsonl after.jsonl`,
		Args:              atMost(2),
		ValidArgsFunction: completeSessions,
		RunE:              func(cmd *cobra.Command, args []string) error { return runView(cmd, o, args) },
	}
	o.home.addMaskFlags(cmd)
	f := cmd.Flags()
	f.StringVar(&o.listen, "listen", "127.0.0.1:0", "listen at this `ADDRESS` of this machine; port 0 takes a free one")
	f.Uint64Var(&o.at, "at", 0, "open the page at event `SEQ`")
	return cmd
}

func runView(cmd *cobra.Command, o viewOptions, args []string) (err error) {
	if len(args) == 0 {
		args = []string{""}
	}
	var sessions []*session.Session
	for _, arg := range args {
		s, err := openSession(cmd, o.home, arg)
		if err != nil {
			for _, opened := range sessions {
				err = errors.Join(err, opened.Close())
			}
			return err
		}
		sessions = append(sessions, s)
	}
	ctx, cancel := context.WithCancel(cmd.Context())
	defer cancel()
	server, err := view.Listen(ctx, o.listen, sessions...)
	if err != nil {
		return err
	}
	defer closeInto(&err, server)
	at := server.URL()
	if o.at > 0 {
		at.Fragment = url.Values{"at": {strconv.FormatUint(o.at, 10)}}.Encode()
	}
	if _, err := fmt.Fprintln(cmd.OutOrStdout(), at); err != nil {
		return err
	}
	if terminal.IsTerminal(cmd.ErrOrStderr()) {
		fmt.Fprintln(cmd.ErrOrStderr(), "mcprec: open the address above in a browser; ^C ends it")
	}
	wanted := process.UntilSignal(cancel)
	err = server.Serve(ctx)
	_ = wanted()
	return err
}
