package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/cli"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/output"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/report"
	"github.com/mcprec/mcprec/replay/closed"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
)

type replayOptions struct {
	home
	capacity string
	models   modelFlags
	format   string
	expect   bool
	list     bool // of the known SDKs
}

const replayHelp = `replay lets both ends of a session play their half of the recording through an
in-memory transport of the capacity you choose, each under a model of how such
an end works, and says whether the session comes to its end or hangs, who then
waits for whom, which frame is held by whom, and what would change the verdict.
No time passes in it: a hang is proved, for these models.

mcprec help models has the models of an end; --models lists the SDKs that are known by
name, as in python-sdk@1.3, with the source of each. A hang begins with a sentence: which
ends would hang on this session, and whether the recorded ones did.

--capacity is in frames: N for both directions, c2s=N,s2c=N, or unbounded; at 0 a
write ends when the other end reads.

--expect holds the session to the verdicts that its header states ("expect"),
instead of one given by the flags above.

If the recorded session itself hung, as mcprec why judges it, the first line is HUNG, with
who waited for whom, and the exit code is 1, whatever the models say below.

If a request of the client was neither answered nor cancelled when the recording ends,
UNANSWERED comes before the verdict, with who owes the answer and how long the client
waited, and the exit code is 1. Open requests of the server alone are a note, and so is a
request whose answer may be among messages that the log lacks. What the models
say follows: pass then means that a transport of this capacity is not the reason. If no
request of the client was answered otherwise, as where HTTP refused each or the server
died before, it says NOTHING TO REPLAY, and the exit code is 1. A verdict that --expect
states is of the models alone, and neither line comes with it.

--format json prints one object: verdict (pass, hang, or, where the models pass,
unanswered for an open request, nothing for a session in which none was answered, and
else hung for a session that hung itself), proved (true for a hang: no order of steps goes
on from there), category (head-on, swallowed, mutual call, never sent; empty for a pass),
explanation, summary (of a hang: the sentence that it begins with), capacity
({"c2s":N,"s2c":N}, N a number or "unbounded"), models ({"client","server"}), frames
({"c2s","s2c"}: recorded, taken, read), waits (a list of who, waits_for, holds, why, seq),
cycle (the names of those that wait for each other), assumptions, changes, sequence,
unanswered (a list of seq, call, owes, waited, cancelled: the event that
cancelled it, reason: that it gives, lost: the event of a gap that the answer may be in),
warnings, hung (what was stuck in the recorded session, a list of shape, culprit, text;
mcprec why has the rest).

`

// insteadOfReplay names the commands that play to a live end.
const insteadOfReplay = "to stand in for the server: mcprec serve; to play the client: mcprec drive SESSION -- COMMAND"

func newReplay() *cobra.Command {
	var o replayOptions
	cmd := &cobra.Command{
		Use:     "replay [SESSION]",
		Short:   "Play both halves of a session through a bounded transport and judge it",
		Long:    replayHelp + sessionHelp,
		Example: "  mcprec replay\n  mcprec replay --client python-sdk@1.3 SESSION\n  mcprec replay --capacity 1 --server inline session.jsonl",
		Args: func(cmd *cobra.Command, args []string) error {
			own, command := beforeDash(cmd, args)
			if len(command) > 0 {
				return cli.Usagef("replay plays both ends itself, and runs no command; %s", insteadOfReplay)
			}
			return atMost(1)(cmd, own)
		},
		ValidArgsFunction: completeSessions,
		RunE:              func(cmd *cobra.Command, args []string) error { return runReplay(cmd, o, firstOf(args)) },
	}
	o.home.addFlags(cmd)
	o.heedMaskFlags(cmd)
	f := cmd.Flags()
	f.StringVarP(&o.capacity, "capacity", "c", "0", "`N`, c2s=N,s2c=N, or unbounded")
	o.models.addFlags(cmd, "free", "")
	addChoice(cmd, &o.format, "format", "text or json", "text", "json")
	f.BoolVar(&o.list, "models", false, "list the SDKs whose models are known, and the source of each")
	f.BoolVar(&o.expect, "expect", false, "hold the session to the verdicts its header states")
	completeWords(cmd, "capacity", "0", "1", "c2s=", "unbounded")
	return cmd
}

func runReplay(cmd *cobra.Command, options replayOptions, arg string) (err error) {
	if options.list {
		return listModels(cmd.OutOrStdout())
	}
	capacity, err := closed.ParseCapacity(options.capacity)
	if err != nil {
		return cli.Usagef("--capacity: %v", err)
	}
	ends, err := options.models.parse()
	if err != nil {
		return err
	}
	s, err := openSession(cmd, options.home, arg)
	if err != nil {
		return err
	}
	defer closeInto(&err, s)
	recording, fold, err := report.LoadReplay(cmd.Context(), s)
	if err != nil {
		return err
	}
	if in, ok := cmd.InOrStdin().(*os.File); ok && arg != "-" && bytes.Contains(cli.Peek(in), []byte(`"jsonrpc"`)) {
		return cli.Usagef("replay plays both ends itself, and a client speaks on its standard input; %s", insteadOfReplay)
	}
	if !options.expect {
		told, err := report.Judge(cmd.Context(), s, arg, recording, fold, closed.Setup{Capacity: capacity, Client: ends.Client, Server: ends.Server})
		if err != nil {
			return err
		}
		return printVerdict(cmd, options.format, told, told.Verdict.Verdict == closed.Pass)
	}
	expectations, err := closed.ParseExpectation(recording.Header().Expect)
	if err != nil {
		return fmt.Errorf("%s: %w", s.Name, err)
	}
	if len(expectations) == 0 {
		return cli.Usagef(`%s: no "expect" in its header; add one to the first line, as in "expect":"pass; hang swallowed client=python-sdk@1.3"`, s.Name)
	}
	for _, x := range expectations {
		word := "ok  "
		fault := x.Check(recording)
		if fault != nil {
			word, err = "FAIL", cli.ErrVerdict
		}
		if _, werr := fmt.Fprintf(cmd.OutOrStdout(), "%s  %v\n", word, x); werr != nil {
			return werr
		}
		if fault != nil {
			fmt.Fprintf(cmd.OutOrStdout(), "      %v\n", fault)
		}
	}
	return err
}

// listModels prints the SDKs that --client and --server know by name.
func listModels(w io.Writer) error {
	for _, p := range closed.Presets() {
		end := "both ends"
		if p.End != 0 {
			end = p.End.Sender()
		}
		condition := ""
		if p.If != "" {
			condition = ", if " + p.If
		}
		_, err := fmt.Fprintf(w, "%s %s, %s: %v%s\n  %s\n  source: %s\n  shown by: fixtures/%s (%s)\n",
			p.SDK, p.Releases(), end, p.Model, condition, p.Why, p.Source, p.Fixture, p.Expect)
		if err != nil {
			return err
		}
	}
	return nil
}

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
can hang, which is exit code 1. So is NOTHING TO REPLAY: a session in which no request was sent.

--format json prints one object a line: session, needs (a list of models, safe, least,
frontier, partial, bound, witness (capacity, category, explanation, events), slack), debt
({"client","server"}), warnings, nothing (why no need is told). A capacity is a number or
"unbounded".

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
	o.home.addFlags(cmd)
	o.heedMaskFlags(cmd)
	f := cmd.Flags()
	addChoice(cmd, &o.format, "format", "text or json", "text", "json")
	o.models.addFlags(cmd, "", ": only this pair (the OTHER is free)")
	f.StringVarP(&o.capacity, "capacity", "c", "", "the transport's: `N`, c2s=N,s2c=N, or unbounded")
	completeWords(cmd, "capacity", "0", "1", "c2s=", "unbounded")
	return cmd
}

func runCapacity(cmd *cobra.Command, options capacityOptions, args []string) (err error) {
	var pairs []closed.Models
	asked := options.models != modelFlags{}
	if asked {
		pair, err := options.models.parse()
		if err != nil {
			return err
		}
		pairs = append(pairs, pair)
	} else {
		for _, m := range []closed.Model{closed.Free, closed.Rigid, closed.Inline, closed.Serial} {
			pairs = append(pairs, closed.Models{Client: m, Server: m})
		}
	}
	var room *closed.Capacity
	if options.capacity != "" {
		c, err := closed.ParseCapacity(options.capacity)
		if err != nil {
			return cli.Usagef("--capacity: %v", err)
		}
		room = &c
	}
	if len(args) == 0 {
		args = []string{""}
	}
	out := output.Document{Passed: true}
	for _, arg := range args {
		var answer needsLine
		answer, err = needsOf(cmd, options, arg, pairs, room)
		if err != nil {
			break
		}
		out.Sections = append(out.Sections, output.Section{Value: answer, Text: answer.text})
		if answer.Nothing != "" {
			out.Passed = false
		}
		for _, n := range answer.Needs { // a model that hangs at any capacity counts if it was asked for
			if room != nil && (n.Safe && n.slack < 0 || !n.Safe && asked) {
				out.Passed = false
			}
		}
	}
	out.Passed = out.Passed || err != nil // which has an exit code of its own
	return errors.Join(err, printDocument(cmd, options.format, out))
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
	Nothing  string   `json:"nothing,omitempty"` // why no need is told
}

type needShown struct {
	closed.Need
	Slack any `json:"slack,omitempty"` // a number, or "unbounded"
	slack closed.Room
}

func needsOf(cmd *cobra.Command, o capacityOptions, arg string, pairs []closed.Models, room *closed.Capacity) (line needsLine, err error) {
	s, err := openSession(cmd, o.home, arg)
	if err != nil {
		return line, err
	}
	defer closeInto(&err, s)
	r, err := closed.Load(s.Events(cmd.Context(), 1, store.ReadOptions{}))
	if err != nil {
		return line, fmt.Errorf("capacity of %s: %w", s.Name, err)
	}
	line = needsLine{Session: s.Name, Warnings: r.Warnings()}
	if line.Nothing = r.WhyNothing(); line.Nothing != "" {
		line.Needs = []needShown{}
		return line, nil
	}
	line.Debt.Client, line.Debt.Server = r.Debt(transport.ClientToServer), r.Debt(transport.ServerToClient)
	for _, pair := range pairs {
		n := needShown{Need: r.Need(pair.Client, pair.Server)}
		if room != nil && n.Safe {
			n.slack, _ = n.Need.Slack(*room)
			n.Slack = int(n.slack)
			if n.slack >= closed.Boundless {
				n.Slack = "unbounded"
			}
		}
		line.Needs = append(line.Needs, n)
	}
	return line, nil
}

func (l needsLine) text(w io.Writer) error {
	fmt.Fprintln(w, output.Plain(l.Session))
	if l.Nothing != "" {
		_, err := fmt.Fprintf(w, "  NOTHING TO REPLAY: %s\n", l.Nothing)
		return err
	}
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
