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
JSON-RPC error that names the nearest one, also said on stderr.

` + sessionHelp + `
SESSION - is not possible here: standard input is the client's.

` + exitTable,
		Args: atMost(1),
		RunE: func(cmd *cobra.Command, args []string) error { return runServe(cmd, std, h, firstOf(args)) },
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
	conn, err := transport.Stdio{In: std.in, Out: std.out}.Connect(cmd.Context())
	if err != nil {
		return err
	}
	player := replay.NewPlayer(events, replay.MatchParams)
	err = replay.Serve(cmd.Context(), conn, player)
	for _, f := range player.Close() {
		fmt.Fprintf(std.err, "mcprec: %v\n", f)
	}
	return err
}
