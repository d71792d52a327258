package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/cli"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/output"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/recording"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/report"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/session"
	"github.com/mcprec/mcprec/fixtures"
	"github.com/mcprec/mcprec/replay/fault"
	"github.com/mcprec/mcprec/replay/match"
	"github.com/mcprec/mcprec/replay/standin"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/jsonl"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
	"github.com/mcprec/mcprec/transport/phrase"
	"github.com/mcprec/mcprec/transport/streamable"
)

type serveOptions struct {
	home
	ruleFlags
	mode     string
	timing   string
	maxGap   time.Duration
	patience time.Duration
	fail     bool
	listen   listenOptions
	faults   faultFlags
}

func newServe(std cli.Streams) *cobra.Command {
	var o serveOptions
	cmd := &cobra.Command{
		Use:   "serve [flags] [SESSION] [-- COMMAND [ARG]...]",
		Short: "Stand in for a session's server, on stdio or over HTTP",
		Example: `  mcprec serve SESSION
  mcprec serve --listen 127.0.0.1:7001 session.jsonl
  mcprec serve --fault 'tool:search delay 5s' SESSION
  mcprec serve --mode new_episodes session.jsonl -- node server.mjs`,
		Args: func(cmd *cobra.Command, args []string) error {
			own, _ := beforeDash(cmd, args)
			return atMost(1)(cmd, own)
		},
		ValidArgsFunction: completeSessions,
		RunE: func(cmd *cobra.Command, args []string) error {
			own, command := beforeDash(cmd, args)
			return runServe(cmd, std, o, firstOf(own), command)
		},
	}
	o.home.addFlags(cmd)
	o.home.heedMaskFlags(cmd)
	o.ruleFlags.addFlags(cmd)
	f := cmd.Flags()
	addRemoteFlags(cmd, &o.listen.Remote, "listen", "with --listen: the real server is at `URL`", "answer over HTTP at `ADDRESS`")
	f.StringArrayVar(&o.listen.headers, "header", nil, "with --target: send this `HEADER`, too")
	addChoice(cmd, &o.mode, "mode", "whom to ask, the recording or COMMAND", "once", "none", "all", "new_episodes")
	f.StringVar(&o.timing, "timing", "apart", "when answers come: none (at once), apart (10 ms behind a notification), recorded, or 2x")
	f.DurationVar(&o.maxGap, "max-gap", 0, "the longest wait of --timing; 0 is any")
	f.DurationVar(&o.patience, "patience", 500*time.Millisecond, "wait so long for what the client said next before the answer")
	o.faults.addFlags(cmd)
	f.BoolVar(&o.fail, "fail", false, "exit with 1 if the client does otherwise than recorded")
	completeWords(cmd, "timing", "apart", "none", "recorded", "2x", "0.5x")
	return cmd
}

func runServe(cmd *cobra.Command, std cli.Streams, o serveOptions, arg string, command []string) (err error) {
	rules, err := o.rules()
	if err != nil {
		return err
	}
	var pacer standin.Pacer = standin.Apart{By: cmp.Or(o.maxGap, 10*time.Millisecond)} // between a notification and a result
	if o.timing != "apart" {
		pacer, err = standin.ParsePacer(o.timing, o.maxGap)
		if err != nil {
			return cli.Usagef("--%v", err)
		}
	}
	switch {
	case o.maxGap < 0 || o.patience <= 0:
		return cli.Usagef("--max-gap and --patience take a duration such as 500ms")
	case arg == "-":
		return cli.Usagef("serve -: standard input is the client's; name a session or a file")
	}
	if err := o.listen.check(fixtures.Mode(o.mode), command); err != nil {
		return err
	}
	if err := o.faults.parse(o.listen.Listen != ""); err != nil {
		return err
	}
	records, err := o.records(arg, command)
	if err != nil {
		return err
	}
	if records && (len(o.faults.rules) > 0 || o.faults.record) {
		return cli.Usagef("--fault and --record are for a session that is played, and this one would be recorded; record it first")
	}
	if records {
		r := newRecordOptions()
		r.home = o.home
		r.rec = recording.Options{Out: arg, Mode: fixtures.Mode(o.mode), Remote: o.listen.Remote, Join: true}
		return runRecord(cmd.Context(), std, r, command)
	}
	recorded, err := o.load(cmd, std, arg, command)
	if err != nil {
		return err
	}
	rules.Mask = recorded.Masker.Value
	cli.KeepPipeErrors()
	errs := output.NewBackground(std.Err)
	s := &service{std: std, errs: errs, options: o, recorded: recorded, command: command, attended: output.IsTerminal(std.Err)}
	o.faults.choose(errs)
	s.options = o
	s.db, err = o.faults.openTrials(cmd, o.home)
	if err != nil {
		return err
	}
	if s.db != nil {
		defer closeInto(&err, s.db)
	}
	real, err := o.listen.real(errs, command, recorded.Events)
	options := standin.EndpointOptions{ServeOptions: standin.ServeOptions{Pacer: pacer, Patience: o.patience}}
	if fixtures.Mode(o.mode) == fixtures.NewEpisodes { // the real server is asked for what was not recorded
		options.NewLive = func() *standin.Live { return &standin.Live{Server: real} }
	}
	switch {
	case err != nil:
	case o.listen.Listen != "":
		err = s.playHTTP(rules, options)
	default:
		if options.NewLive != nil {
			options.Live = options.NewLive()
		}
		err = s.playStdio(standin.NewStreamPlayer(recorded.Events, rules), options.ServeOptions)
	}
	err = recorded.Masker.Fault(err)
	err = errors.Join(err, o.warnUnused(errs, rules, recorded.Project))
	if errs.Close() != nil && err != nil { // nobody reads it
		ended := *cli.StatusOf(err)
		ended.Cause = nil
		return &ended
	}
	return err
}

// records reports whether serve must record the real server, and refuses a mode that lacks a
// file or a server.
func (o *serveOptions) records(arg string, command []string) (bool, error) {
	mode := fixtures.Mode(o.mode)
	if mode == fixtures.None {
		return false, nil
	}
	if mode != fixtures.Once {
		switch {
		case !session.IsPath(arg):
			return false, cli.Usagef("--mode %s writes to a fixture; name a file, as mcprec export -o FILE makes one", mode)
		case len(command) == 0 && o.listen.Target == "" && o.listen.Listen != "":
			return false, cli.Usagef("--mode %s asks the real server; add its --target URL", mode)
		case len(command) == 0 && o.listen.Target == "":
			return false, cli.Usagef("--mode %s asks the real server; add its command: mcprec serve --mode %s %s -- COMMAND", mode, mode, phrase.ShellWord(arg))
		}
	}
	if mode == fixtures.All {
		return true, nil
	}
	absent := false
	if session.IsPath(arg) {
		_, err := os.Stat(session.FileOf(arg))
		absent = errors.Is(err, fs.ErrNotExist)
	}
	if absent && o.listen.Listen != "" && len(command) > 0 {
		return false, cli.Usagef("--listen records what passes over HTTP: give the real server's --target URL in place of COMMAND, or name a file that is there")
	}
	return absent && (len(command) > 0 || o.listen.Target != ""), nil
}

// load reads the session, and prints why its answers may be other ones than the recorded.
func (o *serveOptions) load(cmd *cobra.Command, std cli.Streams, arg string, command []string) (*session.Recording, error) {
	r, err := session.OpenRecording(cmd.Context(), o.Home, arg, cmd.InOrStdin(), cmd.ErrOrStderr(), slices.Concat(command, o.listen.headers), o.listen.Target)
	if err != nil {
		return nil, err
	}
	if r.File == "" && fixtures.Mode(o.mode) == fixtures.NewEpisodes {
		return nil, cli.Usagef("--mode new_episodes writes to a fixture, and %s is none; make one of it with mcprec import, and mcprec export -o FILE", r.Name)
	}
	if !r.HasRequests() && fixtures.Mode(o.mode) != fixtures.NewEpisodes {
		return nil, cli.Usagef("serve %s: its client asked for nothing; name another session", r.Name)
	}
	w := output.NewWriter(std.Err)
	if lost := r.Lost(); lost > 0 {
		fmt.Fprintf(w, "mcprec: %s: %s could not be recorded; what %s is neither answered nor said\n",
			r.Name, phrase.Plural(lost, "event"), phrase.Agree(lost, "it was", "they were"))
	}
	if failed := r.Masker.Texts(standin.Unstreamed(r.Events)); o.listen.Listen == "" && len(failed) > 0 {
		fmt.Fprintf(w, "mcprec: %s: failed over HTTP: %s; on stdio such a request gets another recorded answer or an error, --listen fails it as recorded\n", r.Name, strings.Join(failed, ", "))
	}
	if what := session.Unanswered(r.Events); what != "" {
		fmt.Fprintf(w, "mcprec: %s has no answer to %s, and gives none\n", r.Name, r.Masker.Text(what))
	}
	return r, nil
}

// service is one run of serve. It adds what is new to the recording and to its file.
type service struct {
	std      cli.Streams
	errs     io.Writer // standard error; it never waits for its reader
	options  serveOptions
	recorded *session.Recording
	command  []string

	attended bool           // a person sees standard error
	db       *session.Store // of --record; nil without it

	mu       sync.Mutex
	sessions int   // that have begun over HTTP
	verdicts int   // on all sessions over HTTP
	err      error // of all sessions over HTTP
}

// playStdio serves until the client has ended or a signal ends the process, and prints how the
// client differed from the recorded one.
func (s *service) playStdio(player *standin.Player, options standin.ServeOptions) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	wanted := cli.UntilSignal(cancel)
	conn, err := transport.Stdio{In: s.std.In, Out: s.std.Out}.Connect(ctx)
	if err != nil {
		return err
	}
	notices := newNotices(s.errs, s.recorded.Masker)
	options.Say = notices.print
	trial := s.newTrial("stdio")
	trial.Begin(&options, notices.print)
	err = standin.Serve(ctx, conn, player, options)
	trial.End()
	introduced, verdicts := differing(player)
	notices.end(player, slices.Concat(introduced, s.told(verdicts)))
	for _, text := range report.UnexpectedLines(verdicts) {
		fmt.Fprintf(output.NewWriter(s.errs), "mcprec: %s\n", output.Plain(text))
	}
	if options.Live != nil {
		err = errors.Join(err, options.Live.Err())
		if added := options.Live.Added(); len(added) > 0 {
			err = errors.Join(err, s.keep(added, standin.Extend))
		}
	}
	if sig := wanted(); sig != nil {
		return &cli.Status{Code: cli.ExitFine, Signal: sig}
	}
	if err == nil && s.options.fail && len(verdicts) > 0 {
		return cli.ErrVerdict
	}
	return err
}

// told returns the verdicts to print: without --fail one alone, the first, on what was not
// asked, for a client need not ask for everything.
func (s *service) told(verdicts []match.StepVerdict) (told []match.StepVerdict) {
	missing := 0
	for _, v := range verdicts {
		if v.Result == match.Missing {
			missing++
		}
		if v.Result != match.Missing || s.options.fail || missing == 1 {
			told = append(told, v)
		}
	}
	if !s.options.fail && missing > 1 {
		told = append(told, match.StepVerdict{Result: match.Missing, Text: fmt.Sprintf("%d more; --fail lists them, and exits with 1", missing-1)})
	}
	return told
}

// keep adds events to the recording and to its file.
func (s *service) keep(added []store.Event, extend func(recorded, added []store.Event) []store.Event) error {
	fmt.Fprintf(output.NewWriter(s.errs), "mcprec: %s: %s added\n", s.recorded.Name, phrase.Plural(len(added), "message"))
	for i := range added {
		added[i] = s.recorded.Masker.Event(added[i])
	}
	s.recorded.Events = extend(s.recorded.Events, added)
	return cli.ReplaceFile(s.recorded.File, func(w io.Writer) error { return session.Encode(w, jsonl.Each(s.recorded.Events)) })
}

// differing returns the verdicts on what the client did otherwise than the recorded one: what
// it asked, and what it answered. How it introduced itself, such as with another revision, is
// apart and no fault: it was told the recorded revision and went on with it.
func differing(player *standin.Player) (introduced, verdicts []match.StepVerdict) {
	verdicts = player.Close()
	for _, v := range player.Verdicts() {
		switch {
		case v.Result != match.Mismatch:
		case v.What == mcp.MethodInitialize:
			introduced = append(introduced, v)
		case strings.HasPrefix(v.What, "the answer to "):
			verdicts = append(verdicts, v)
		}
	}
	return introduced, verdicts
}

// listenOptions are the flags of serve for clients that ask over HTTP.
type listenOptions struct {
	recording.Remote // Target is the real server, or ""
	headers          []string
}

func (o *listenOptions) check(mode fixtures.Mode, command []string) error {
	switch {
	case o.Listen == "" && len(o.Origins) > 0:
		return cli.Usagef("--allow-origin is for --listen; give both")
	case o.Listen == "" && o.Target != "":
		return cli.Usagef("--target is for --listen; give both, or the real server's COMMAND")
	case o.Target == "" && len(o.headers) > 0:
		return cli.Usagef("--header is for --target; give both")
	case o.Target != "" && len(command) > 0:
		return cli.Usagef("serve: a COMMAND and --target; give one of them")
	case o.Listen != "" && mode == fixtures.All && len(command) > 0:
		return cli.Usagef("--listen --mode all records what passes over HTTP: give the real server's --target URL in place of COMMAND")
	}
	return nil
}

// real returns the real server, which is reached as the recorded one was; nil if there is none.
func (o *listenOptions) real(errs io.Writer, command []string, events []store.Event) (transport.Transport, error) {
	switch {
	case o.Target != "":
		t := recording.DriveTarget{URL: o.Target, Headers: o.headers}
		header, err := t.Header()
		if err == nil {
			err = t.Check(nil)
		}
		legacy := standin.Dial(events, o.Target).Legacy
		return streamable.Client{URL: o.Target, Header: header, Legacy: legacy, Listen: streamable.ListenInitialized}, err
	case len(command) > 0:
		return transport.Command{Args: command, Stderr: errs}, nil
	}
	return nil, nil
}

// playHTTP serves to every client until a signal ends the process.
func (s *service) playHTTP(rules match.Rules, options standin.EndpointOptions) error {
	address := s.options.listen.Listen
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return recording.ListenFault(address, err)
	}
	options.Origins = s.options.listen.Origins
	options.Watch = s.watch
	endpoint := standin.NewEndpoint(s.recorded.Events, rules, options)
	ctx, end := context.WithCancel(context.Background())
	defer end()
	interrupted, cancel := context.WithCancel(ctx)
	defer cancel()
	wanted := cli.UntilSignal(cancel)
	var playing sync.WaitGroup
	playing.Go(func() { _ = endpoint.Run(ctx) })
	server := cli.NewHTTPServer(endpoint)
	server.Protocols = new(http.Protocols)
	server.Protocols.SetHTTP1(true)
	server.Protocols.SetUnencryptedHTTP2(true)
	fmt.Fprintln(output.NewWriter(s.std.Out), &url.URL{Scheme: "http", Host: listener.Addr().String(), Path: endpoint.Path()})
	if s.attended {
		fmt.Fprintln(s.errs, "mcprec: clients are to use the URL above; ^C ends it")
	}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	select {
	case err = <-failed:
	case <-interrupted.Done():
	}
	endpoint.Close()
	patience, stop := context.WithTimeout(ctx, time.Second)
	defer stop()
	if server.Shutdown(patience) != nil { // a client does not read
		end()
	}
	err = errors.Join(err, server.Close())
	playing.Wait()
	_ = wanted()
	switch {
	case err != nil:
		return fmt.Errorf("serve --listen %s: %w", address, err)
	case s.err == nil && s.options.fail && s.verdicts > 0:
		return cli.ErrVerdict
	}
	return s.err
}

// watch has one session reported on while it is served, and returns a function that reports at its
// end.
func (s *service) watch(options *standin.ServeOptions) (done func(standin.Served)) {
	notices := newNotices(s.errs, s.recorded.Masker)
	s.mu.Lock()
	s.sessions++
	number := s.sessions
	s.mu.Unlock()
	progress := func(word string) {
		if s.attended {
			fmt.Fprintf(s.errs, "mcprec: session %d %s\n", number, word)
		}
	}
	progress("begins")
	options.Say = notices.print
	trial := s.newTrial("http")
	trial.Begin(options, notices.print)
	return func(session standin.Served) {
		trial.End()
		_, verdicts := differing(session.Player)
		notices.end(session.Player, s.told(verdicts))
		progress("ended")
		if session.Unsent > 0 {
			fmt.Fprintf(s.errs, "mcprec: %s had no stream to go out on: of no open request, and the client asked for no other stream\n", phrase.Plural(session.Unsent, "message"))
		}
		var fault error
		if len(session.Added) > 0 {
			fault = s.keep(session.Added, func(recorded, _ []store.Event) []store.Event { return session.Extend(recorded) })
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.verdicts += len(verdicts)
		s.err = errors.Join(s.err, fault)
		if !errors.Is(session.Err, context.Canceled) {
			s.err = errors.Join(s.err, session.Err)
		}
	}
}

// notices prints the messages about one served session: each text once, and no more
// than maxNotices.
type notices struct {
	w      io.Writer
	masker session.Masker

	mu       sync.Mutex
	printed  map[string]bool
	left     int // how many more are printed
	withheld int
}

// maxNotices is how many lines are printed while a session is served, and again at the end: a
// client may send unrecorded requests for ever.
const maxNotices = 20

// newNotices returns the notices of one session, printed to w.
func newNotices(w io.Writer, masker session.Masker) *notices {
	return &notices{w: w, masker: masker, printed: map[string]bool{}, left: maxNotices}
}

// print prints a text, unless it was printed before or the limit is reached.
func (n *notices) print(text string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case n.printed[text]: // the answer to each retry says the same
	case n.left > 0:
		n.printed[text] = true
		n.left--
		fmt.Fprintf(output.NewWriter(n.w), "mcprec: %s\n", output.Plain(n.masker.Text(text)))
	default:
		if n.withheld++; n.withheld == 1 {
			fmt.Fprintf(n.w, "mcprec: more lines of this session are counted, and not shown\n")
		}
	}
}

// end prints how many lines were withheld, and the verdicts that were not printed while the
// session was served.
func (n *notices) end(player *standin.Player, verdicts []match.StepVerdict) {
	n.printWithheld()
	n.left = maxNotices
	found := map[string]bool{}
	for _, v := range player.Findings() {
		found[v.String()] = true
	}
	for _, v := range verdicts {
		if !found[v.String()] {
			n.print(v.String())
		}
	}
	n.printWithheld()
}

func (n *notices) printWithheld() {
	if n.withheld > 0 {
		fmt.Fprintf(n.w, "mcprec: %s more of this session not shown\n", phrase.Plural(n.withheld, "line"))
	}
	n.withheld = 0
}

// faultFlags are the flags of serve about faults, and about a recording of what was said.
type faultFlags struct {
	texts  []string
	seed   *uint64
	record bool

	rules []fault.Rule
}

func (o *faultFlags) addFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringArrayVar(&o.texts, "fault", nil, "make something go wrong: `'FILTER ACTION'`; may be repeated")
	addParsed(cmd, &o.seed, "seed", "`N`, to take the same calls as an earlier run", func(text string) (uint64, error) {
		seed, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("want a number of 0 or more")
		}
		return seed, nil
	})
	f.BoolVar(&o.record, "record", false, "record the session, with the faults")
}

// parse reads the faults. overHTTP: the session is served over HTTP.
func (o *faultFlags) parse(overHTTP bool) error {
	for _, text := range o.texts {
		r, err := fault.Parse(text)
		if err != nil {
			return cli.Usagef("--%v", err)
		}
		if (r.Action == fault.Status || r.Action == fault.EndStream) && !overHTTP {
			return cli.Usagef("--fault %q: %s is for HTTP: add --listen, or take disconnect", text, r.Action)
		}
		o.rules = append(o.rules, r)
	}
	if o.seed != nil && len(o.rules) == 0 {
		return cli.Usagef("--seed is for --fault; give both")
	}
	return nil
}

// choose chooses a seed if none is given, and prints it if it matters.
func (o *faultFlags) choose(errs io.Writer) {
	if o.seed != nil {
		return
	}
	seed := uint64(rand.Uint32())
	o.seed = &seed
	for _, r := range o.rules {
		if r.Chance < 1 {
			fmt.Fprintf(errs, "mcprec: --seed %d takes the same calls again\n", seed)
			return
		}
	}
}

// openTrials opens the store for --record; nil without it.
func (o *faultFlags) openTrials(cmd *cobra.Command, home home) (*session.Store, error) {
	if !o.record {
		return nil, nil
	}
	return openStore(cmd, home)
}

// newTrial returns what serves a session with the faults of the flags.
func (s *service) newTrial(transportName string) *recording.Trial {
	o := s.options.faults
	return &recording.Trial{
		Rules: o.rules, Seed: *o.seed, Store: s.db, Recorder: "mcprec " + version(), Label: s.recorded.Header.Label,
		Transport: transportName, Errors: s.errs,
	}
}
