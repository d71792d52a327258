package main

import (
	"bytes"
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
	"github.com/mcprec/mcprec/transport/phrase"
)

type replayOptions struct {
	home
	capacity string
	models   modelFlags
	format   string
	expect   bool
	need     bool
	list     bool // of the known SDKs
}

// insteadOfReplay names the commands that play to a live end.
const insteadOfReplay = "to stand in for the server: mcprec serve; to play the client: mcprec drive SESSION -- COMMAND"

func newReplay() *cobra.Command {
	var o replayOptions
	cmd := &cobra.Command{
		Use:     "replay [SESSION]",
		Short:   "Simulate both sides of a session, and say whether they hang",
		Example: "  mcprec replay\n  mcprec replay --client python-sdk@1.3 SESSION\n  mcprec replay --buffer 1 --server answers-inline session.jsonl",
		Args: func(cmd *cobra.Command, args []string) error {
			own, command := beforeDash(cmd, args)
			if len(command) > 0 {
				return cli.Usagef("replay plays both sides itself, and runs no command; %s", insteadOfReplay)
			}
			return atMost(1)(cmd, own)
		},
		ValidArgsFunction: completeSessions,
		RunE:              func(cmd *cobra.Command, args []string) error { return runReplay(cmd, o, firstOf(args)) },
	}
	o.home.addFlags(cmd)
	o.heedMaskFlags(cmd)
	f := cmd.Flags()
	f.StringVarP(&o.capacity, "buffer", "c", "0", "`N` messages, c2s=N,s2c=N, or unbounded")
	o.models.addFlags(cmd, "independent", "")
	addFormat(cmd, &o.format, "text", "json")
	f.BoolVar(&o.list, "models", false, "list the SDKs whose models are known")
	f.BoolVar(&o.need, "need", false, "say the least buffer without a hang, for each model")
	f.BoolVar(&o.expect, "expect", false, "the verdict must be that of the session's header")
	completeWords(cmd, "buffer", "0", "1", "c2s=", "unbounded")
	return cmd
}

func runReplay(cmd *cobra.Command, options replayOptions, arg string) (err error) {
	if options.list {
		screen, err := screenOf(cmd)
		if err != nil {
			return err
		}
		return flush(screen, listModels(screen))
	}
	if options.need {
		return runNeed(cmd, options, arg)
	}
	capacity, err := closed.ParseCapacity(options.capacity)
	if err != nil {
		return wrongValue("buffer", options.capacity, err)
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
		return cli.Usagef("replay plays both sides itself, and a client speaks on its standard input; %s", insteadOfReplay)
	}
	if !options.expect {
		told, err := report.Judge(cmd.Context(), s, recording, fold, closed.Setup{Capacity: capacity, Client: ends.Client, Server: ends.Server})
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
		return cli.Usagef(`%s: no "expect" in its header; add one to the first line, as in "expect":"pass; hang blocked behind a notification client=python-sdk@1.3"`, s.Name)
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
		end := "both sides"
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

// runNeed says how much buffer a session needs: of the pair of models that was asked for, or of
// every model at both sides.
func runNeed(cmd *cobra.Command, options replayOptions, arg string) error {
	flags := cmd.Flags()
	pair, err := options.models.parse()
	if err != nil {
		return err
	}
	isAsked := flags.Changed("client") || flags.Changed("server")
	pairs := []closed.Models{pair}
	if !isAsked {
		pairs = nil
		for _, m := range []closed.Model{closed.Independent, closed.SingleThreaded, closed.AnswersInline, closed.BlockingHandlers} {
			pairs = append(pairs, closed.Models{Client: m, Server: m})
		}
	}
	var buffer *closed.Capacity
	if flags.Changed("buffer") {
		c, err := closed.ParseCapacity(options.capacity)
		if err != nil {
			return wrongValue("buffer", options.capacity, err)
		}
		buffer = &c
	}
	answer, err := needsOf(cmd, options.home, arg, pairs, buffer)
	if err != nil {
		return err
	}
	passed := answer.Nothing == ""
	for _, n := range answer.Needs { // a model that hangs with any buffer counts if it was asked for
		if buffer != nil && (n.Safe && n.left < 0 || !n.Safe && isAsked) {
			passed = false
		}
	}
	return printDocument(cmd, options.format, output.Document{
		Sections: []output.Section{{Value: answer, Text: answer.text}}, Passed: passed,
	})
}

// needsLine is the stable form of replay --need --format json.
type needsLine struct {
	Session string      `json:"session"`
	Needs   []needShown `json:"needs"`
	// PileUp is how many notifications come during a call, before its answer.
	PileUp struct {
		Client int `json:"client"`
		Server int `json:"server"`
	} `json:"pile_up"`
	Warnings []string `json:"warnings"`
	Nothing  string   `json:"nothing,omitempty"` // why no need is reported
}

// needShown is what a pair of models needs, and how much of a buffer it leaves.
type needShown struct {
	closed.Need
	Left any `json:"left,omitempty"` // messages, less than 0 if it is short, or "unbounded"
	left closed.Room
}

func needsOf(cmd *cobra.Command, place home, arg string, pairs []closed.Models, buffer *closed.Capacity) (line needsLine, err error) {
	s, err := openSession(cmd, place, arg)
	if err != nil {
		return line, err
	}
	defer closeInto(&err, s)
	r, err := closed.Load(s.Events(cmd.Context(), 1, store.ReadOptions{}))
	if err != nil {
		return line, fmt.Errorf("need of %s: %w", s.Name, err)
	}
	line = needsLine{Session: s.Name, Warnings: r.Warnings()}
	if line.Nothing = r.WhyNothing(); line.Nothing != "" {
		line.Needs = []needShown{}
		return line, nil
	}
	line.PileUp.Client, line.PileUp.Server = r.Debt(transport.ClientToServer), r.Debt(transport.ServerToClient)
	for _, pair := range pairs {
		n := needShown{Need: r.Need(pair.Client, pair.Server)}
		if buffer != nil && n.Safe {
			n.left, _ = n.Need.Slack(*buffer)
			n.Left = int(n.left)
			if n.left >= closed.Boundless {
				n.Left = "unbounded"
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
		fmt.Fprintf(w, "  %-18s %s%s\n", pair, n.Need, n.leftOver())
		if n.Bound != nil && *n.Bound > n.Least {
			fmt.Fprintf(w, "                     in any order of answers and other messages %v is enough one way (a bound)\n", *n.Bound)
		}
		if n.Witness != nil {
			fmt.Fprintf(w, "                     with buffer %v it hangs: %s\n", n.Witness.Capacity, n.Witness.Explanation)
		}
	}
	_, err := fmt.Fprintf(w, "  before the answer to a call, %s pile up in the client and %d in the server, with any buffer\n",
		phrase.Plural(l.PileUp.Client, "notification"), l.PileUp.Server)
	for _, warning := range l.Warnings {
		fmt.Fprintf(w, "  warning: %s\n", warning)
	}
	return err
}

// leftOver says how much of the buffer is left, or how much it is short.
func (n needShown) leftOver() string {
	switch left, isNumber := n.Left.(int); {
	case n.Left == nil || !isNumber:
		return ""
	case left < 0:
		return fmt.Sprintf("; %d short", -left)
	case left == 0:
		return "; just enough"
	default:
		return fmt.Sprintf("; %d more than it needs", left)
	}
}
