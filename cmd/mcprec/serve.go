package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/mcprec/mcprec/replay"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
)

func newServe(std streams) *cobra.Command {
	var h home
	cmd := &cobra.Command{
		Use:   "serve [SESSION]",
		Short: "Stand in for a session's server, on stdio",
		Long: `serve plays the server's half of a recording to a live client on stdin and
stdout. Requests are matched by method and params; recorded answers come back in
recorded order, with the ids and progress tokens that the client uses now, and
notifications stand where they stood. A request that was never recorded gets a
JSON-RPC error that names the nearest one, also said on stderr; so is, at the end,
what was recorded and never asked for. Answers come at once, not at the recorded
times: a client that loses notifications when they come together with the result
shows it here.

SESSION is an id, a unique prefix of one, the path of a fixture, or nothing for the
newest session in the store.

` + exitLine,
		Args:              atMost(1),
		ValidArgsFunction: completeSessions,
		RunE:              func(cmd *cobra.Command, args []string) error { return runServe(cmd, std, h, firstOf(args)) },
	}
	h.addFlags(cmd)
	return cmd
}

func runServe(cmd *cobra.Command, std streams, h home, arg string) (err error) {
	if arg == "-" {
		return usagef("serve -: standard input is the client's; name a session or a file")
	}
	s, err := openSession(cmd, h, arg)
	if err != nil {
		return err
	}
	var events []store.Event
	err = each(s.events(cmd.Context(), 1, store.ReadOptions{}), func(e store.Event) error {
		events = append(events, e)
		return nil
	})
	closeInto(&err, s)
	if err != nil {
		return err
	}
	if !asks(events) {
		return usagef("serve %s: its client asked for nothing; name another session", s.name)
	}
	conn, err := transport.Stdio{In: std.in, Out: std.out}.Connect(cmd.Context())
	if err != nil {
		return err
	}
	player := replay.NewPlayer(events, replay.Rules{})
	err = replay.Serve(cmd.Context(), conn, player, replay.ServeOptions{})
	for _, f := range player.Close() {
		fmt.Fprintf(std.err, "mcprec: %v\n", f)
	}
	return err
}

// asks reports whether the recorded client sent a request.
func asks(events []store.Event) bool {
	for _, e := range events {
		if e.Kind != store.Frame || e.Dir != transport.ClientToServer {
			continue
		}
		messages, _ := e.AsFrame().Messages()
		for _, m := range messages {
			if m.Kind() == transport.Request {
				return true
			}
		}
	}
	return false
}
