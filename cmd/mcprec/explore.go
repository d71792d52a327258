package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/cli"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/output"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/recording"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/report"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/session"
	"github.com/mcprec/mcprec/replay/closed"
	"github.com/mcprec/mcprec/replay/explore"
	"github.com/mcprec/mcprec/replay/external"
	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/replay/why"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/jsonl"
	"github.com/mcprec/mcprec/transport/phrase"
)

type exploreOptions struct {
	home
	models     modelFlags
	process    processOptions
	token      string
	strategy   string
	format     string
	level      string
	out        cli.File
	capacities []string
	schedules  int
	seed       uint64
	budget     time.Duration
	measure    bool
	chosen     func(flags ...string) bool // reports whether one of the flags was given
}

func newExplore() *cobra.Command {
	var o exploreOptions
	cmd := &cobra.Command{
		Use:   "explore [flags] [SESSION] [-- COMMAND [ARG]...]",
		Short: "Play a session in many orders and find what hangs",
		Example: `  mcprec explore -- npx -y @modelcontextprotocol/server-everything
  mcprec explore SESSION -- node dist/index.js
  mcprec explore --target http://localhost:%PORT/mcp -- node http.js %PORT
  mcprec explore SESSION --as-server -- node client.mjs %SERVER`,
		Args: func(cmd *cobra.Command, args []string) error {
			dash := cmd.ArgsLenAtDash()
			if o.process.script == "-" && dash > 0 && strings.HasSuffix(args[0], ".sh") {
				return cli.Usagef("explore --script %s: write --script=%[1]s", phrase.ShellWord(args[0]))
			}
			if dash > 1 || dash < 0 && len(args) > 1 {
				return cli.Usagef("explore: want one session, and a command behind --: mcprec explore SESSION -- COMMAND [ARG]...")
			}
			return nil
		},
		ValidArgsFunction: completeSessions,
		RunE: func(cmd *cobra.Command, args []string) error {
			own, command := beforeDash(cmd, args)
			switch {
			case len(command) > 0 && o.measure:
				return runMeasure(cmd, o, own, command)
			case len(command) > 0:
				return runExploreProcess(cmd, o, firstOf(own), command)
			}
			for _, name := range []string{"env", "dir", "target", "header", "as-server", "same-output", "jobs", "script", "call", "all-tools", "measure"} {
				if o.chosen(name) {
					return cli.Usagef("--%s is for a process: mcprec explore SESSION -- COMMAND [ARG]...", name)
				}
			}
			if external.IsToken(o.token) {
				return cli.Usagef("--token %s: an x1 token needs -- COMMAND, the process to play it to: mcprec explore --token %[1]s SESSION -- COMMAND [ARG]...", o.token)
			}
			return runExplore(cmd, o, firstOf(own))
		},
	}
	o.home.addFlags(cmd)
	o.heedMaskFlags(cmd)
	f := cmd.Flags()
	o.chosen = func(flags ...string) bool { return slices.ContainsFunc(flags, f.Changed) }
	o.models.addFlags(cmd, "independent", "")
	o.process.addFlags(cmd)
	f.StringArrayVarP(&o.capacities, "buffer", "c", []string{"sweep"}, "`N` messages, c2s=N,s2c=N, unbounded, or sweep (0, 1, unbounded); may be repeated")
	names := namesOf(explore.Strategies, func(s explore.NamedStrategy) string { return s.Name })
	addChoice(cmd, &o.strategy, "strategy", "how to choose the next step", names...)
	f.IntVarP(&o.schedules, "orders", "n", 400, "how many orders; COMMAND: 100 to 250")
	f.DurationVar(&o.budget, "limit", 0, "end the search after this time (2m; with COMMAND never)")
	f.Uint64Var(&o.seed, "seed", 0, "other choices of the same strategy")
	f.StringVar(&o.token, "token", "", "play the one order of this `TOKEN`")
	addChoice(cmd, &o.level, "vary", "vary delivery, or sending too", "delivery", "sending")
	f.BoolVar(&o.measure, "measure", false, "measure how the server COMMAND works: its model")
	addOutFlags(cmd, &o.out, "", "write the made session, or the smallest that hangs so, to `FILE`")
	addFormat(cmd, &o.format, "text", "json")
	completeWords(cmd, "buffer", "sweep", "0", "1", "c2s=", "unbounded")
	return cmd
}

// usualBudget ends a search with models: of a session with thousands of calls a schedule may take seconds.
const usualBudget = 2 * time.Minute

// check reads the flags before a session is opened, and returns a function that puts them
// into a plan.
func (o exploreOptions) check() (ends closed.Models, apply func(*explore.Plan), err error) {
	for _, name := range []string{"buffer", "orders", "strategy", "seed", "vary", "limit"} {
		if o.token != "" && o.chosen(name) {
			return ends, nil, cli.Usagef("--%s beside --token: the token is one order, and says what varies and with which buffer; leave one of the two out", name)
		}
	}
	switch {
	case o.schedules < 1:
		return ends, nil, cli.Usagef("--orders %d: want 1 or more", o.schedules)
	case o.budget < 0:
		return ends, nil, cli.Usagef("--limit %v: want 0 or more", o.budget)
	case o.out.Name == "-":
		return ends, nil, cli.Usagef("--out -: standard output has the report; name a file")
	}
	if ends, err = o.models.parse(); err != nil {
		return ends, nil, err
	}
	level, err := explore.ParseLevel(o.level)
	if err != nil {
		return ends, nil, err
	}
	if o.token != "" {
		token, err := explore.ParseToken(o.token)
		if err != nil {
			return ends, nil, wrongValue("token", o.token, err)
		}
		level = token.Level
	}
	var capacities []explore.Capacity
	for _, w := range o.capacities {
		if w == "sweep" {
			capacities = append(capacities, explore.Sweep...)
			continue
		}
		c, err := closed.ParseCapacity(w)
		if err != nil {
			return ends, nil, wrongValue("buffer", w, err)
		}
		capacities = append(capacities, explore.Capacity{C2S: int(c.C2S), S2C: int(c.S2C)})
	}
	tried := map[explore.Capacity]bool{}
	capacities = slices.DeleteFunc(capacities, func(c explore.Capacity) bool { again := tried[c]; tried[c] = true; return again })
	if level == explore.SendingOrder && (ends.Client == closed.SingleThreaded || ends.Server == closed.SingleThreaded) {
		return ends, nil, cli.Usagef("a single-threaded side has one order only, and nothing to choose in what it sends: use another model")
	}
	return ends, func(p *explore.Plan) {
		p.Capacities = capacities
		p.Level = level
		p.Schedules = o.schedules
		p.Seed = o.seed
		p.Token = o.token
		p.Budget = o.budget
		if !o.chosen("limit") {
			p.Budget = usualBudget
		}
		p.Strategy = explore.Strategies[slices.IndexFunc(explore.Strategies, func(s explore.NamedStrategy) bool { return s.Name == o.strategy })].Strategy
		p.Workers = runtime.GOMAXPROCS(0) // the models of different runs share nothing
		if level == explore.DeliveryOrder && !o.chosen("orders", "strategy") {
			p.Schedules = len(capacities) // every order ends in the same way
		}
	}, o.out.Check()
}

func runExplore(cmd *cobra.Command, o exploreOptions, arg string) (err error) {
	ends, apply, err := o.check()
	if err != nil {
		return err
	}
	s, err := openSession(cmd, o.home, arg)
	if err != nil {
		return err
	}
	defer closeInto(&err, s)
	events, err := session.Collect(s.Events(cmd.Context(), 1, store.ReadOptions{}))
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(events, func(event store.Event) bool { return event.Kind == store.Frame }) {
		return cli.Usagef("explore %s: nothing was said in it; name another session", s.Name)
	}
	var fold why.Fold
	_ = timeline.Project(timeline.Steps(jsonl.Each(events)), &fold) // what cannot be read shows no hang
	hung, err := report.RecordedHangIn(cmd.Context(), s, &fold)
	if err != nil {
		return err
	}
	if r, err := closed.Load(jsonl.Each(events)); err == nil && r.WhyNothing() != "" && len(hung.Hung) == 0 {
		return cli.Usagef("explore %s: %s, so nothing can hang; name another session", s.Name, r.WhyNothing())
	}
	plan, err := explore.Modeled(events, ends.Client, ends.Server)
	if err != nil {
		return fmt.Errorf("%s: %w", s.Name, err)
	}
	apply(&plan)
	stop, cancel := context.WithCancel(cmd.Context())
	defer cancel()
	plan.Stop = stop.Done()
	line := output.NewProgress(cmd.ErrOrStderr())
	plan.Progress = func(p explore.Progress) {
		line.Draw(p.Elapsed, func() string { return progressText(p, plan.Budget) })
	}
	wanted := cli.UntilSignal(cancel)
	found, err := explore.Judge(plan)
	line.Erase()
	sig := wanted()
	if err != nil {
		return err
	}
	if found.Verdict == explore.Hang {
		found.Summary = ends.Summary()
		if plan.Level == explore.SendingOrder && found.Summary != "" {
			found.Summary += ", in an order that the specification allows"
		}
	}
	found.Decided = found.Verdict == explore.Pass && plan.Level == explore.DeliveryOrder && plan.Token == ""
	if o.out.Name != "" {
		if err := recording.WriteSmallest(o.out, exactOut(cmd), cmd.ErrOrStderr(), events, ends, found); err != nil {
			return err
		}
	}
	told := judgedExplore{found, hung, ends}
	if err := printVerdict(cmd, o.format, told, found.Verdict == explore.Pass && len(hung.Hung) == 0); sig == nil || !errors.Is(err, cli.ErrVerdict) && err != nil {
		return err
	}
	return &cli.Status{Code: cli.ExitVerdict, Signal: sig}
}

// judgedExplore is the report of an exploration, and what was stuck in the recorded session itself.
type judgedExplore struct {
	explore.Report
	report.RecordedHang
	models closed.Models
}

// Text returns what hung in the recording, then the report, and of a failure the command that
// shows its schedule beside the nearest that passes.
func (j judgedExplore) Text() string {
	text := j.RecordedHang.Line() + j.Report.Text()
	if j.Failing != nil {
		text += j.SeeIt(j.models, "--token", j.Token)
	}
	return text
}

// MarshalJSON writes the members of the report, which has a MarshalJSON of its own, and then hung.
func (j judgedExplore) MarshalJSON() ([]byte, error) {
	members, err := j.Report.MarshalJSON()
	var hung bytes.Buffer
	if err = errors.Join(err, output.NewEncoder(&hung).Encode(j.RecordedHang)); err != nil {
		return nil, err
	}
	members = bytes.TrimSuffix(bytes.TrimSpace(members), []byte("}"))
	return append(append(members, ','), hung.Bytes()[1:]...), nil
}

// progressText is the line of a search under way: how far it is, how fast, and how much time is
// left, at most the budget, if there is one.
func progressText(p explore.Progress, budget time.Duration) string {
	rate := float64(p.Done) / max(p.Elapsed, time.Millisecond).Seconds()
	left := time.Duration(math.MaxInt64)
	if seconds := float64(p.Total-p.Done) / rate; p.Done > 0 && seconds < math.MaxInt64/1e9 {
		left = time.Duration(seconds * 1e9)
	}
	if budget > 0 {
		left = max(min(left, budget-p.Elapsed), 0)
	}
	text := fmt.Sprintf("explore: %d of %d orders, %.0f/s", p.Done, p.Total, rate)
	if left < math.MaxInt64 {
		text += fmt.Sprintf(", %v left", left.Round(time.Second))
	}
	return text + "; ^C ends it with a report"
}
