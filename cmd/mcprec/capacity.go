package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/exit"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/report"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/terminal"
	"github.com/mcprec/mcprec/replay"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
)

type capacityOptions struct {
	home
	format   string
	models   modelFlags
	capacity string
}

const capacityHelp = `capacity says, from a recording alone, how much room a transport must have for the
session not to hang: the least number of frames it must hold each way, by how the two
ends work. A session that hangs with little room has a hang in it that buffers hide.

For each model (see mcprec help models) it prints the least capacity for both
directions; the frontier, which are the least pairs where one direction has less; and
the hang at one less. serial, and inbox:Q with too small a queue, may be safe at no
capacity: there an end waits for itself. The notification debt of an end is the
least inner queue that it needs if nobody drains that during a call, whatever the
transport holds: the least Q with which mcprec replay passes for inbox:Q.

What is said was played, and is exact for the recorded order. In an inline end the
answers and the other frames compete for one writer: for such there is also a bound,
which is safe in any order of these and may be more than is needed.

--client and --server ask about one pair of models. --capacity says how much room there
is: the slack is then what is left over in the tighter direction, and below 0 the session
can hang, which is exit code 1.

--format json prints one object a line: session, needs (a list of models, safe, least,
frontier, partial, bound, witness (capacity, category, explanation, events), slack), debt
({"client","server"}), warnings. A capacity is a number or "unbounded".

`

func newCapacity() *cobra.Command {
	var o capacityOptions
	cmd := &cobra.Command{
		Use:   "capacity [SESSION]...",
		Short: "Say how much room a transport must have for a session not to hang",
		Long:  capacityHelp + sessionHelp,
		Example: `  mcprec capacity
  mcprec capacity --client python-sdk@1.3 --server go-sdk SESSION
  mcprec capacity --capacity c2s=1,s2c=0 testdata/*.jsonl`,
		ValidArgsFunction: completeSessions,
		RunE:              func(cmd *cobra.Command, args []string) error { return runCapacity(cmd, o, args) },
	}
	o.addMaskFlags(cmd)
	f := cmd.Flags()
	addChoice(cmd, &o.format, "format", "text or json", "text", "json")
	o.models.addFlags(cmd, "", ": only this pair (the OTHER is free)")
	f.StringVarP(&o.capacity, "capacity", "c", "", "the transport's: `N`, c2s=N,s2c=N, or unbounded")
	completeWords(cmd, "capacity", "0", "1", "c2s=", "unbounded")
	return cmd
}

func runCapacity(cmd *cobra.Command, options capacityOptions, args []string) (err error) {
	var pairs []replay.Models
	asked := options.models != modelFlags{}
	if asked {
		pair, err := options.models.parse()
		if err != nil {
			return err
		}
		pairs = append(pairs, pair)
	} else {
		for _, m := range []replay.Model{replay.Free, replay.Rigid, replay.Inline, replay.Serial} {
			pairs = append(pairs, replay.Models{Client: m, Server: m})
		}
	}
	var room *replay.Capacity
	if options.capacity != "" {
		c, err := replay.ParseCapacity(options.capacity)
		if err != nil {
			return exit.Usagef("--capacity: %v", err)
		}
		room = &c
	}
	if len(args) == 0 {
		args = []string{""}
	}
	out := report.Report{Passed: true}
	for _, arg := range args {
		var answer needsLine
		answer, err = needsOf(cmd, options, arg, pairs, room)
		if err != nil {
			break
		}
		out.Sections = append(out.Sections, report.Section{Value: answer, Text: answer.text})
		for _, n := range answer.Needs { // a model that hangs at any capacity counts if it was asked for
			if room != nil && (n.Safe && n.slack < 0 || !n.Safe && asked) {
				out.Passed = false
			}
		}
	}
	out.Passed = out.Passed || err != nil // which has an exit code of its own
	return errors.Join(err, printReport(cmd, options.format, out))
}

// needsLine is the stable form of capacity --format json.
type needsLine struct {
	Session string      `json:"session"`
	Needs   []needShown `json:"needs"`
	Debt    struct {
		Client int `json:"client"`
		Server int `json:"server"`
	} `json:"debt"`
	Warnings []string `json:"warnings"`
}

type needShown struct {
	replay.Need
	Slack any `json:"slack,omitempty"` // a number, or "unbounded"
	slack replay.Room
}

func needsOf(cmd *cobra.Command, o capacityOptions, arg string, pairs []replay.Models, room *replay.Capacity) (line needsLine, err error) {
	s, err := openSession(cmd, o.home, arg)
	if err != nil {
		return line, err
	}
	defer closeInto(&err, s)
	r, err := replay.Load(s.Events(cmd.Context(), 1, store.ReadOptions{}))
	if err != nil {
		return line, fmt.Errorf("capacity of %s: %w", s.Name, err)
	}
	line = needsLine{Session: s.Name, Warnings: r.Warnings()}
	line.Debt.Client, line.Debt.Server = r.Debt(transport.ClientToServer), r.Debt(transport.ServerToClient)
	for _, pair := range pairs {
		n := needShown{Need: r.Need(pair.Client, pair.Server)}
		if room != nil && n.Safe {
			n.slack, _ = n.Need.Slack(*room)
			n.Slack = int(n.slack)
			if n.slack >= replay.Boundless {
				n.Slack = "unbounded"
			}
		}
		line.Needs = append(line.Needs, n)
	}
	return line, nil
}

func (l needsLine) text(w io.Writer) error {
	fmt.Fprintln(w, terminal.Plain(l.Session))
	for _, n := range l.Needs {
		pair := n.Models.Client.String()
		if n.Models.Client != n.Models.Server {
			pair = fmt.Sprintf("%v, %v", n.Models.Client, n.Models.Server)
		}
		fmt.Fprintf(w, "  %-11s %s", pair, n.Need)
		if n.Slack != nil {
			fmt.Fprintf(w, "; slack %v (room left over in the tighter direction)", n.Slack)
		}
		fmt.Fprintln(w)
		if n.Bound != nil && *n.Bound > n.Least {
			fmt.Fprintf(w, "              in any order of answers and other frames %v is enough one way (a bound)\n", *n.Bound)
		}
		if n.Witness != nil {
			fmt.Fprintf(w, "              at capacity %v it hangs: %s\n", n.Witness.Capacity, n.Witness.Explanation)
		}
	}
	_, err := fmt.Fprintf(w, "  debt        an inner queue of %d in the client, of %d in the server (notification debt: those that wait during a call), at any capacity\n", l.Debt.Client, l.Debt.Server)
	for _, warning := range l.Warnings {
		fmt.Fprintf(w, "  warning: %s\n", warning)
	}
	return err
}
