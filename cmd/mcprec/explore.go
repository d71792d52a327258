package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
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
	"github.com/mcprec/mcprec/replay/explore/shrink"
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
	chosen     func(flags ...string) bool // reports whether one of the flags was given
}

func newExplore() *cobra.Command {
	var o exploreOptions
	cmd := &cobra.Command{
		Use:   "explore [flags] [SESSION] [-- COMMAND [ARG]...]",
		Short: "Play a session in many orders of delivery and prove the hang",
		Long: exploreHelp + helpTable(10, explore.Strategies, func(s explore.NamedStrategy) (name, says string) {
			return s.Name, s.Means
		}) + exploreHelpOnward,
		Example: `  mcprec explore --client python-sdk@1.3
  mcprec explore --vary sending --client notification-queue=1 -o smallest.jsonl
  mcprec explore --client single-threaded --buffer 0 --buffer c2s=1 SESSION
  mcprec explore --client python-sdk@1.3 --token mcprec1.0-0.delivery.a.default
  mcprec explore SESSION -- node dist/index.js
  mcprec explore --target http://localhost:%PORT/mcp -- node http.js %PORT
  mcprec explore SESSION --as-server -- node client.mjs %SERVER`,
		Args: func(cmd *cobra.Command, args []string) error {
			if dash := cmd.ArgsLenAtDash(); dash > 1 || dash < 0 && len(args) > 1 {
				return cli.Usagef("explore: want one session, and a command behind --: mcprec explore SESSION -- COMMAND [ARG]...")
			}
			return nil
		},
		ValidArgsFunction: completeSessions,
		RunE: func(cmd *cobra.Command, args []string) error {
			own, command := beforeDash(cmd, args)
			if len(command) > 0 {
				return runExploreProcess(cmd, o, firstOf(own), command)
			}
			for _, name := range []string{"env", "dir", "target", "header", "as-server", "same-output", "jobs"} {
				if o.chosen(name) {
					return cli.Usagef("--%s is for a process: mcprec explore SESSION -- COMMAND [ARG]...", name)
				}
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
	f.StringArrayVarP(&o.capacities, "buffer", "c", []string{"sweep"}, "`N`, c2s=N,s2c=N, unbounded or sweep; may be given several times")
	names := namesOf(explore.Strategies, func(s explore.NamedStrategy) string { return s.Name })
	addChoice(cmd, &o.strategy, "strategy", "how to choose the steps: "+strings.Join(names, ", "), names...)
	f.IntVarP(&o.schedules, "orders", "n", 400, "how many orders to run, over all buffers; while only delivery varies one for each\ndecides, and is the default; with COMMAND the default is 100")
	f.DurationVar(&o.budget, "limit", 0, "end the search after this time, and report what was found so far; 0 is never.\nWithout it 2m, with COMMAND never")
	f.Uint64Var(&o.seed, "seed", 0, "other choices of the same strategy")
	f.StringVar(&o.token, "token", "", "run the one order of this `TOKEN`")
	addChoice(cmd, &o.level, "vary", "which order may change: that of delivery, or also that of sending", "delivery", "sending")
	addOutFlags(cmd, &o.out, "", "write the smallest session that hangs in the same way to this `FILE`")
	addFormat(cmd, &o.format, "", "text", "json")
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
			return ends, nil, cli.Usagef("--token: %v", err)
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
			return ends, nil, cli.Usagef("--buffer: %v", err)
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
	hung, err := report.RecordedHangIn(cmd.Context(), s, arg, &fold)
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
		if err := writeSmallest(cmd, o.out, events, ends, found); err != nil {
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

const exploreHelp = `explore plays both sides of a session through an in-memory transport, again and
again, each time in another order and at several buffers, until a run does not
come to its end. Then it says who waits for whom, which message is held by whom and
what the buffer changes, draws the run, prints a token, and shows the smallest
session that hangs in the same way. --token runs that one order again, on any
machine. No time passes in a run: a hang is proved, for these models of the sides.

If the recorded session itself hung, as mcprec why judges it, the first line is HUNG, with
who waited for whom, and the exit code is 1, whatever the models say below.

What may change, by --vary:

  delivery  only delivery: each side sends in its recorded order
  sending   each side also sends in any order that the specification allows it

With delivery these models have no choice of their own, and every order of delivery comes
to the same end: one order with each buffer decides, and no more are run unless
--orders or --strategy is given. With sending 400 are run.

mcprec help models has the models of a side. With --vary sending a single-threaded side has
nothing to choose, and is refused. To explore a live peer, write
a Go test; see package replay/explore.

Strategies, which choose the next step:
`

const exploreHelpOnward = `
With -- COMMAND a real server, in any language, stands in the place of the models (Linux). The
recorded client plays to a fresh process in each order: it joins messages so that they arrive together, splits
one, cancels, stops reading, keeps its answers back, or ends its output early. After each write
the server is left alone until the kernel shows that all of its threads sleep. What is
found was seen in three processes, and is one of these:

  HANG              a request has no answer, and nothing but mcprec could have moved the server
  SUSPECT           the same, but it had a timer, or waited for something outside, which is named
  DIED              it ended by itself, or not with status 0
  LOST              it ended when the client did, with a call in hand that it did not answer
  DOES NOT EXIT     it goes on after the end of its input
  RACE              calls that arrive together were answered as no order of them explains

With --target URL the COMMAND is a server over Streamable HTTP. %PORT in URL, in COMMAND and in
--env stands for a port that each process has for itself; mcprec plays when the server listens
there. Each message of the client is a request on a connection of its own. Messages overlap in the
place of a write that they share, an end is the DELETE of the session, and there is more: the
client hangs up on a call, or cuts the stream of its answer behind an event with an id and comes
back for the rest. Bytes that are on their way in a connection count: the server is at rest only
if there are none. After the session another one must be answered; a response that stays open
behind the DELETE is a note. LOST is then an answer whose
response has ended without it, DOES NOT EXIT is not there, and a server may end by itself, with
status 0, only behind the end of the session.

With --as-server the COMMAND is a client, and the recorded server plays to it: it joins messages
so that they arrive together, splits one, sends them sooner or later than recorded, repeats a notification a
hundred times, pings in the middle of a call, stops reading, or ends in place of an answer.
%SERVER in COMMAND and in --env stands for a program without arguments that the client must
start as its server. The client must end by itself, with status 0 in the recorded order: a test
or a script of one task.

  HANG              it has every answer, or its server has ended, and it does not end; or it does not
                    answer a question; and nothing but mcprec could have moved it
  SUSPECT           the same, but it had a timer, or waited for something outside, which is named
  DIED              its status is not 0; if the server ended early, it died of a signal
  DOES NOT EXIT     its session is over, and it does not end
  DIFFERENT OUTPUT  with --same-output: it was sent what was recorded, and printed otherwise

It is no proof: mcprec does not see into the process. --orders is 100 then, about a second
each. What a process has started and left is ended with it. %DIR in COMMAND and in --env stands
for a folder that each process has for itself: what it keeps it must keep there. --dir FOLDER puts a copy of FOLDER there, and in what the recorded
end sends the path of FOLDER becomes that of the copy. --jobs N tries N orders at once, which
is for processes that share nothing else. --token plays one order again.
--format json prints one object: findings (a list of kind, peer: server or client, certain:
false of a SUSPECT, requests (event, what: requests to a server, messages sent to a client),
stand, detail, choices, token, held, of), played, planned, ended, messages, requests, not_held,
not_joined (neighbours that no order joins: first, second, why),
unconfirmed (what an interrupt kept from being seen again), unstable (the requests whose
answers differ by themselves), dropped (the requests without an answer whose client
ended right behind them), open (the requests whose responses a server over HTTP left open
behind the DELETE of their session), unjudged (orders in which a client asked for what
the recording does not have), took_ns. An interrupt (^C) ends the processes at once.

The search ends after 2 minutes, or what --limit says, and so does an interrupt (^C): the report then
has what was found so far, how many orders were run, and which buffers were not tried. What is under way
then has 10 seconds more. If none was run, it is undecided.

--buffer is in messages: N for both directions, c2s=N,s2c=N, unbounded, or sweep
(0, 1 and unbounded, the default). It may be given several times.

-o FILE writes the smallest session that hangs so, as a fixture whose header states
the hang: mcprec replay --expect FILE holds it there. Where it takes an order to
show the hang, the token to play the file with is printed instead.

--format json prints one object: verdict (pass, hang, panic, leak, diverged,
undecided), category (of a hang: both sides write and neither reads, blocked behind a notification, each waits for the other's answer, never sent, answer lost,
blocked handler, pool, lock, after a timer), explanation, summary (of a hang: which sides would
hang so), level, buffer ({"c2s":N,"s2c":N}, N a number or "unbounded"), tried
(what each buffer gave: buffer, verdict, orders, and of --strategy exhaustive
classes and all: whether these are all there are), depends (in words, how the failure depends on the buffer), boundary
(from which buffer on this one order does not fail), orders (run up to the
failure), ended (of a pass: what ended the search: orders, all visited, time or
interrupted; of a failure: time or interrupted, if that cut the report short), planned
(of a pass: how many orders there would have been), coverage (classes of orders
that were seen, unseen: the chance that one more would be of a new class, races:
pairs of steps that could go either way, reversed: those seen both ways, uncounted: true
where there are more pairs than were counted, recent and new: how many of the last orders were of a new class), decided (of a
pass: true where one order decides with each buffer), steps,
failing and passing (left out where there is none: the order that fails and the nearest
that passes: token, verdict, buffer, total, first, and steps, a list of name, op, dir,
n, tick, operation: the total steps from the one with the index first on; messages: label,
kind, dir by name, such as c2s.1), apart (the
index of the step at which the two part), unfinished (the calls that had not returned), waits (a list of who, holds,
waits_for, why, blocked_at), broken (rules of the protocol that a live peer broke;
of these models none), chain (who waits for whom, one a line), sequence (the run,
drawn), stacks, token, choices (the token in words), shrunk (how the order became
so simple: from, to, runs, held, verified), smaller (null, or the smallest session
with the same failure: from and to how many messages, runs, token, held, verified,
boundary), leaked (whether goroutines were left), notes, hung (what was stuck in the
recorded session, a list of shape, culprit, text; mcprec why has the rest; it leaves the
verdict as it is). Lists are never null.

` + sessionHelp

// writeSmallest writes the smallest session that fails as in the report, and prints on stderr
// how to use it.
func writeSmallest(cmd *cobra.Command, out cli.File, events []store.Event, ends closed.Models, r explore.Report) error {
	if r.Verdict != explore.Hang {
		_, err := fmt.Fprintf(cmd.ErrOrStderr(), "mcprec: nothing written to %s: no run hangs\n", out.Name)
		return err
	}
	use := "mcprec replay --expect " + phrase.ShellWord(out.Name)
	if small, ok := replayable(events, ends, r); ok {
		events = small
	} else {
		token := r.Token
		if r.Smaller != nil {
			events, token = r.Smaller.Events, r.Smaller.Token
		}
		use = fmt.Sprintf("mcprec explore --client %v --server %v --token %s %s", ends.Client, ends.Server, token, phrase.ShellWord(out.Name))
	}
	err := out.Write(exactOut(cmd), func(w io.Writer) error { return session.Encode(w, jsonl.Each(events)) })
	if err == nil {
		_, err = fmt.Fprintf(cmd.ErrOrStderr(), "mcprec: written to %s; it hangs with %s\n", out.Name, use)
	}
	return err
}

// replayable returns the smallest session that hangs in this way when it is replayed in its
// own order, with the verdict in its header. At level SendingOrder its order is the failing run's. It
// returns false if the closed replay, which has no schedule, does not find the hang.
func replayable(events []store.Event, ends closed.Models, report explore.Report) ([]store.Event, bool) {
	if report.Level != explore.DeliveryOrder {
		events = inOrderOf(report.Events, events)
	}
	capacity := closed.Capacity{C2S: closed.Room(report.Capacity.C2S), S2C: closed.Room(report.Capacity.S2C)}
	found := shrink.Session(events, shrink.Closed(ends.Client, ends.Server), shrink.Options{Capacity: capacity})
	if !strings.HasPrefix(found.Fingerprint, closed.Hang+" "+report.Category+":") {
		return nil, false
	}
	events = found.Events
	i := slices.IndexFunc(events, func(event store.Event) bool { return event.Kind == store.Opened })
	if i < 0 {
		return events, true
	}
	header, err := store.ParseHeader(events[i].Payload)
	if err != nil {
		return events, true
	}
	header.Expect = closed.Expectation{
		Verdict: closed.Hang, Category: report.Category,
		Setup: closed.Setup{Capacity: found.Capacity, Client: ends.Client, Server: ends.Server},
	}.String()
	events = slices.Clone(events)
	events[i].Payload = header.Encode()
	return events, true
}

// inOrderOf returns the session with its frames in the order of a run that did not end. Frames
// that the run does not have follow in their own order.
func inOrderOf(run, session []store.Event) []store.Event {
	var events []store.Event
	if session[0].Kind == store.Opened {
		events = append(events, session[0])
	}
	said := map[string]int{}
	key := func(event store.Event) string { return event.Dir.String() + string(event.Payload) }
	for _, e := range run {
		if e.Kind == store.Frame {
			said[key(e)]++
			events = append(events, e)
		}
	}
	for _, e := range session {
		if e.Kind == store.Frame && said[key(e)] > 0 {
			said[key(e)]--
		} else if e.Kind == store.Frame {
			events = append(events, e)
		}
	}
	for i := range events {
		events[i].Seq = uint64(i + 1)
		events[i].At = 0
	}
	return events
}

// serverOptions are the flags of explore and probe for a process.
type serverOptions struct {
	env    []string
	folder string
}

func (s *serverOptions) addFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringArrayVar(&s.env, "env", nil, "with COMMAND: set `NAME=VALUE` for the process; may be repeated")
	f.StringVar(&s.folder, "dir", "", "with COMMAND: give each process a copy of this `FOLDER`, which takes its\nplace in what the recorded side sends")
}

// processOptions are the flags of explore for a server or a client process.
type processOptions struct {
	serverOptions
	target     recording.DriveTarget
	asServer   bool
	sameOutput bool
	jobs       int
}

func (p *processOptions) addFlags(cmd *cobra.Command) {
	p.serverOptions.addFlags(cmd)
	f := cmd.Flags()
	f.StringVar(&p.target.URL, "target", "", "with COMMAND: it is an HTTP server whose MCP endpoint is `URL`, such as\nhttp://localhost:%PORT/mcp")
	f.StringArrayVar(&p.target.Headers, "header", nil, "with --target: send `'NAME: VALUE'` with every request; may be repeated")
	f.BoolVar(&p.asServer, "as-server", false, "COMMAND is a client, which starts %SERVER: the recorded server plays to it")
	f.BoolVar(&p.sameOutput, "same-output", false, "with --as-server: the client must print what it prints in the recorded order,\nwherever it is sent the same messages in that order")
	f.IntVarP(&p.jobs, "jobs", "j", 1, "with COMMAND: try so many orders at once, each with a process of its own")
}

// notOfProcesses are the flags of explore that say something about models, of which a process has none.
var notOfProcesses = []string{"client", "server", "buffer", "strategy", "vary", "out"}

// checkProcess reads the flags for a process.
func (o exploreOptions) checkProcess() error {
	for _, name := range notOfProcesses {
		if o.chosen(name) {
			return cli.Usagef("--%s is about models of the sides; a process is what it is: leave it out", name)
		}
	}
	if o.token != "" && !external.IsToken(o.token) {
		return cli.Usagef("--token %s is of a model; with a process it begins with x1", o.token)
	}
	if o.token != "" {
		schedule, err := external.ParseToken(o.token)
		if err != nil {
			return cli.Usagef("--%v", err)
		}
		if schedule.NeedsHTTP() && o.process.target.URL == "" {
			return cli.Usagef("--token %s is of a server over HTTP: it goes with --target", o.token)
		}
	}
	switch {
	case o.schedules < 1:
		return cli.Usagef("--orders %d: want 1 or more", o.schedules)
	case o.budget < 0:
		return cli.Usagef("--limit %v: want 0 or more", o.budget)
	case o.process.jobs < 1:
		return cli.Usagef("--jobs %d: want 1 or more", o.process.jobs)
	case o.process.target.URL == "" && len(o.process.target.Headers) > 0:
		return cli.Usagef("--header is of HTTP: it goes with --target")
	case o.process.target.URL != "" && o.process.asServer:
		return cli.Usagef("--target is about a server, and --as-server about a client: leave one of the two out")
	case o.process.sameOutput && !o.process.asServer:
		return cli.Usagef("--same-output is about what a client prints: it goes with --as-server")
	}
	return nil
}

// runExploreProcess explores a server process, or a client process.
func runExploreProcess(cmd *cobra.Command, o exploreOptions, arg string, command []string) (err error) {
	if err := o.checkProcess(); err != nil {
		return err
	}
	server, err := o.process.server(command)
	if err != nil {
		return err
	}
	server.URL = o.process.target.URL
	if server.Header, err = o.process.target.Header(); err != nil {
		return err
	}
	if err := server.Check(o.process.jobs); err != nil {
		return cli.Usagef("--target: %v", err)
	}
	recorded, err := session.OpenRecording(cmd.Context(), o.Home, arg, cmd.InOrStdin(), cmd.ErrOrStderr(), slices.Concat(command, o.process.target.Headers), server.URL)
	if err != nil {
		return err
	}
	if !recorded.HasRequests() {
		return cli.Usagef("explore %s: its client asked for nothing; name another session", recorded.Name)
	}
	if !o.chosen("orders") {
		o.schedules = 100 // each is a process, and takes about a second
	}
	explore := func(options external.Options) (external.Report, error) {
		return external.Explore(server, recorded.Events, options)
	}
	if o.process.asServer {
		self, err := os.Executable()
		if err != nil {
			return fmt.Errorf("find this program: %w", err)
		}
		client := external.Client{Command: server.Command, Env: server.Env, Folder: server.Folder, PassOn: []string{self, passOnName}}
		explore = func(options external.Options) (external.Report, error) {
			return external.ExploreClient(client, recorded.Events, options)
		}
	}
	search := report.Search{Line: output.NewProgress(cmd.ErrOrStderr()), Mask: recorded.Masker.Text}
	if o.format != output.JSON {
		if search.Screen, err = screenOf(cmd); err != nil {
			return err
		}
	}
	stop, cancel := context.WithCancel(cmd.Context())
	defer cancel()
	wanted := cli.UntilSignal(cancel)
	end := search.Begin()
	found, err := explore(external.Options{
		Schedules: o.schedules, Jobs: o.process.jobs, Seed: o.seed, Budget: o.budget, Token: o.token, Stop: stop.Done(),
		SameOutput: o.process.sameOutput, Progress: search.Progress, Found: search.Found,
	})
	screenErr := end()
	sig := wanted()
	if err != nil {
		return recorded.Masker.Fault(err)
	}
	if screenErr != nil {
		return screenErr
	}
	for i := range found.Findings {
		found.Findings[i].Detail = recorded.Masker.Text(found.Findings[i].Detail)
	}
	if err := printVerdict(cmd, o.format, exploredProcess{found}, found.Passed()); sig == nil || !errors.Is(err, cli.ErrVerdict) && err != nil {
		return err
	}
	return &cli.Status{Code: cli.ExitVerdict, Signal: sig}
}

// exploredProcess is a report whose findings stand on the screen already.
type exploredProcess struct{ external.Report }

// Text returns the report without its findings.
func (e exploredProcess) Text() string { return e.Rest() }

// passOnName is the name of a command that mcprec calls itself.
const passOnName = "explored-server"

// newPassOn returns the command that a client under test starts as its server.
func newPassOn() *cobra.Command {
	return &cobra.Command{
		Use: passOnName + " NAME", Hidden: true, Short: "Pass standard input and output to a mcprec explore --as-server", Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error { return external.PassOn(args[0]) },
	}
}
