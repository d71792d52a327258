package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/cli"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/output"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/recording"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/report"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/session"
	"github.com/mcprec/mcprec/replay/external"
	"github.com/mcprec/mcprec/replay/external/child"
	"github.com/mcprec/mcprec/replay/probe"
	"github.com/mcprec/mcprec/replay/workload"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/jsonl"
	"github.com/mcprec/mcprec/transport/phrase"
)

// processOptions are the flags for a server or a client process.
type processOptions struct {
	env        []string
	folder     string
	target     recording.DriveTarget
	calls      []string
	allTools   bool
	asServer   bool
	sameOutput bool
	noLines    bool
	jobs       int
	script     string // a file; "-": standard output
}

func (p *processOptions) addFlags(cmd *cobra.Command) {
	p.addPeerFlags(cmd)
	f := cmd.Flags()
	f.StringArrayVar(&p.calls, "call", nil, "without SESSION: call this `TOOL`, too, its arguments behind it")
	f.BoolVar(&p.allTools, "all-tools", false, "without SESSION: call the tools that write, too")
	f.BoolVar(&p.noLines, "no-lines", false, "with COMMAND: name no lines of source")
	f.StringVar(&p.script, "script", "", "with COMMAND: the finding as a shell script, or in a `FILE`")
	f.Lookup("script").NoOptDefVal = "-"
	f.IntVarP(&p.jobs, "jobs", "j", 1, "with COMMAND: play `N` orders at once")
}

// addPeerFlags adds those that say what the process is.
func (p *processOptions) addPeerFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringArrayVar(&p.env, "env", nil, "with COMMAND: set `NAME=VALUE` for the process")
	f.StringVar(&p.folder, "dir", "", "with COMMAND: give each process a copy of `FOLDER`")
	f.StringVar(&p.target.URL, "target", "", "COMMAND is an HTTP server with its endpoint at `URL`")
	f.StringArrayVar(&p.target.Headers, "header", nil, "with --target: send this `HEADER`, too")
	f.BoolVar(&p.asServer, "as-server", false, "COMMAND is a client of %SERVER, or of %URL")
	f.BoolVar(&p.sameOutput, "same-output", false, "with --as-server: compare what the client prints")
}

// notOfProcesses are the flags of explore that say something about models, of which a process has none.
var notOfProcesses = []string{"client", "server", "buffer", "strategy", "vary"}

// checkProcess reads the flags for a process. client is what it is if it is one.
func (o exploreOptions) checkProcess(client external.Client) error {
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
		switch isClient := o.process.asServer; {
		case !schedule.NeedsHTTP():
		case isClient && !client.OverHTTP():
			return cli.Usagef("--token %s is of a client over HTTP: its command wants %%URL", o.token)
		case !isClient && o.process.target.URL == "":
			return cli.Usagef("--token %s is of a server over HTTP: it goes with --target", o.token)
		}
	}
	switch {
	case o.out.Name == "-":
		return cli.Usagef("--out -: standard output has the report; name a file")
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
	case o.process.asServer && client.Check() != nil:
		return cli.Usagef("%v", client.Check())
	case o.process.sameOutput && !o.process.asServer:
		return cli.Usagef("--same-output is about what a client prints: it goes with --as-server")
	}
	return nil
}

// isMade reports whether the session is made for the server: none was named, and no token, which is of one.
func (o exploreOptions) isMade(arg string) bool {
	return arg == "" && o.token == "" && !o.process.asServer
}

// wishes reads the flags about the calls of a session that is made.
func (p processOptions) wishes() (wishes workload.Wishes, err error) {
	wishes.AllTools = p.allTools
	for _, text := range p.calls {
		call, err := workload.ParseCall(text)
		if err != nil {
			return wishes, cli.Usagef("--call %v", err)
		}
		wishes.Calls = append(wishes.Calls, call)
	}
	return wishes, nil
}

// makeSession makes a session with the server, and keeps it: in the file of --out, or in the store.
func (o exploreOptions) makeSession(cmd *cobra.Command, server external.Server) (_ *session.Recording, err error) {
	wishes, err := o.process.wishes()
	if err != nil {
		return nil, err
	}
	command := slices.Concat(server.Command, o.process.target.Headers)
	d, err := o.Home.Masker(nil)
	if err != nil {
		return nil, err
	}
	masker := d.Of(store.Header{Command: command, URL: server.URL})
	say := func(text string) { fmt.Fprintf(cmd.ErrOrStderr(), "mcprec: %s\n", masker.Text(text)) }
	stop, cancel := context.WithCancel(cmd.Context())
	defer cancel()
	wanted := cli.UntilSignal(cancel)
	events, err := recording.Making{Server: server, Wishes: wishes, Recorder: "mcprec " + version(), Say: say, Stop: stop.Done()}.Make()
	if sig := wanted(); sig != nil {
		return nil, &cli.Status{Code: cli.ExitFine, Signal: sig}
	}
	if err != nil {
		return nil, masker.Fault(err)
	}
	argument := o.out.Name
	if argument != "" {
		err = o.out.Write(exactOut(cmd), func(w io.Writer) error { return session.Encode(w, masker.Events(jsonl.Each(events))) })
	} else {
		var db *session.Store
		if db, err = openStore(cmd, o.home); err != nil {
			return nil, err
		}
		defer closeInto(&err, db)
		var id store.SessionID
		id, err = session.Save(cmd.Context(), db, jsonl.Each(events))
		argument = string(id)
	}
	if err != nil {
		return nil, err
	}
	say("the session is " + phrase.ShellWord(argument))
	return session.NewRecording(o.Home, argument, events, command, server.URL)
}

// processSearch is the exploration of a process.
type processSearch struct {
	recorded *session.Recording
	peer     string          // under test: "server" or "client"
	server   external.Server // or the client
	isWeb    bool            // the client speaks HTTP
	// explore searches, or plays a token; the command is started in a folder, "" is that of this process.
	explore func(in string, options external.Options) (external.Report, error)
}

// openProcess reads the flags, and the session that is played to a process.
func (o exploreOptions) openProcess(cmd *cobra.Command, arg string, command []string) (p processSearch, err error) {
	client := external.Client{Command: command, Env: o.process.env}
	if err := o.checkProcess(client); err != nil {
		return p, err
	}
	if isMade := o.isMade(arg); !isMade && (len(o.process.calls) > 0 || o.process.allTools) {
		return p, cli.Usagef("--call and --all-tools are for a session that is made: leave SESSION, --token and --as-server out")
	}
	if p.server, err = o.process.server(command); err != nil {
		return p, err
	}
	p.server.URL = o.process.target.URL
	if p.server.Header, err = o.process.target.Header(); err != nil {
		return p, err
	}
	if err := p.server.Check(o.process.jobs); err != nil {
		return p, cli.Usagef("--target: %v", err)
	}
	if isMade := o.isMade(arg); isMade {
		p.recorded, err = o.makeSession(cmd, p.server)
	} else {
		p.recorded, err = session.OpenRecording(cmd.Context(), o.Home, arg, cmd.InOrStdin(), cmd.ErrOrStderr(), slices.Concat(command, o.process.target.Headers), p.server.URL)
	}
	if err != nil {
		return p, err
	}
	if !p.recorded.HasRequests() {
		return p, cli.Usagef("explore %s: its client asked for nothing; name another session", p.recorded.Name)
	}
	p.peer = "server"
	server, events := p.server, p.recorded.Events
	p.explore = func(in string, options external.Options) (external.Report, error) {
		server.In = in
		return external.Explore(server, events, options)
	}
	if o.process.asServer {
		self, err := os.Executable()
		if err != nil {
			return p, fmt.Errorf("find this program: %w", err)
		}
		p.peer = "client"
		client.Folder, client.PassOn = p.server.Folder, []string{self, passOnName}
		p.isWeb = client.OverHTTP()
		p.explore = func(in string, options external.Options) (external.Report, error) {
			client.In = in
			return external.ExploreClient(client, events, options)
		}
	}
	return p, nil
}

// runExploreProcess explores a server process, or a client process.
func runExploreProcess(cmd *cobra.Command, o exploreOptions, arg string, command []string) (err error) {
	script := cli.File{Name: o.process.script, Force: o.out.Force}
	if err := errors.Join(o.out.Check(), script.Check()); err != nil {
		return err
	}
	p, err := o.openProcess(cmd, arg, command)
	if err != nil {
		return err
	}
	if o.isMade(arg) {
		arg = p.recorded.Argument
		o.out = cli.File{} // it has the session
	}
	if !o.chosen("orders") {
		o.schedules = external.Usual // each is a process, and takes about a second
	}
	stdout := exactOut(cmd)
	if script.Name == "-" {
		cmd.SetOut(cmd.ErrOrStderr()) // the script alone goes to standard output
	}
	search := report.Search{Line: output.NewProgress(cmd.ErrOrStderr()), Mask: p.recorded.Masker.Text}
	hung := report.RecordedHangOf(p.recorded)
	if o.format != output.JSON {
		if search.Screen, err = screenOf(cmd); err != nil {
			return err
		}
		search.Screen.PaintVerdict(hung.Line())
		if err := search.Screen.Flush(); err != nil {
			return err
		}
	}
	stop, cancel := context.WithCancel(cmd.Context())
	defer cancel()
	wanted := cli.UntilSignal(cancel)
	end := search.Begin()
	found, err := p.explore("", external.Options{
		Schedules: o.schedules, Jobs: o.process.jobs, Seed: o.seed, Budget: o.budget, Token: o.token, Stop: stop.Done(),
		SameOutput: o.process.sameOutput, NoLines: o.process.noLines, Progress: search.Progress, Found: search.Found, Keep: o.out.Name != "" || script.Name != "",
	})
	screenErr := end()
	sig := wanted()
	if err != nil {
		return p.recorded.Masker.Fault(err)
	}
	if screenErr != nil {
		return screenErr
	}
	for i := range found.Findings {
		found.Findings[i].Detail = p.recorded.Masker.Text(found.Findings[i].Detail)
	}
	if err := p.play(found.Shown).Write(o.out, script, stdout, cmd.ErrOrStderr()); err != nil {
		return err
	}
	if err := printVerdict(cmd, o.format, exploredProcess{found, hung, p.peer, p.next(o, found, arg)}, found.Passed()); sig == nil || !errors.Is(err, cli.ErrVerdict) && err != nil {
		return err
	}
	return &cli.Status{Code: cli.ExitVerdict, Signal: sig}
}

// play returns what can be written of a play.
func (p processSearch) play(shown *external.Shown) recording.Play {
	return recording.Play{Shown: shown, Of: p.recorded, Server: p.server, OverHTTP: p.isWeb, Recorder: "mcprec " + version()}
}

// exploredProcess is a report whose findings stand on the screen already, and what to do with the first.
type exploredProcess struct {
	external.Report
	report.RecordedHang
	peer string // "server" or "client"
	next string
}

// Text returns the report without its findings.
func (e exploredProcess) Text() string {
	text := e.Rest() + e.next
	if len(e.Hung) > 0 && e.Passed() {
		text += fmt.Sprintf("the recorded session hung; this %s does not in %s\n", e.peer, phrase.Plural(uint64(e.Played), "order"))
	}
	return text
}

// next says how to see the first finding, and how to send it to somebody, if it was not written already.
func (p processSearch) next(o exploreOptions, found external.Report, arg string) string {
	if len(found.Findings) == 0 || found.Shown != nil {
		return ""
	}
	token := found.Findings[0].Token
	if o.chosen("env", "dir", "target", "as-server") || arg == "-" {
		with := "--token " + token + " -o FILE"
		if arg != "" && arg != "-" {
			with = "the session " + phrase.ShellWord(arg) + " and " + with
		}
		return fmt.Sprintf("To see the first: the same command with %s, then mcprec view FILE.\n", with)
	}
	rest := " " + p.recorded.Argument + " -- " + phrase.ShellLine(p.recorded.Masker.Texts(p.server.Command)...) + "\n"
	return "See it:  mcprec view --token " + token + rest + "Send it: mcprec explore --token " + token + " --script=finding.sh" + rest
}

// runMeasure measures the model of a server.
func runMeasure(cmd *cobra.Command, o exploreOptions, own, command []string) error {
	wishes, err := o.process.wishes()
	switch {
	case err != nil:
		return err
	case len(own) > 0 || o.token != "" || o.out.Name != "" || o.process.script != "" || o.process.asServer || o.process.allTools:
		return cli.Usagef("--measure needs no session, and finds none: mcprec explore --measure -- COMMAND [ARG]...")
	case o.process.target.URL != "":
		return cli.Usagef("--measure is for a server on its standard input and output, not for --target")
	case len(wishes.Calls) > 1:
		return cli.Usagef("--measure with several --call: name one tool, that asks the client or is slow")
	}
	server, err := o.process.server(command)
	if err != nil {
		return err
	}
	options := probe.Options{}
	if len(wishes.Calls) > 0 {
		options.Call, options.Arguments = wishes.Calls[0].Tool, string(wishes.Calls[0].Arguments)
	}
	stop, cancel := context.WithCancel(cmd.Context())
	defer cancel()
	line := output.NewProgress(cmd.ErrOrStderr())
	began := time.Now()
	wanted := cli.UntilSignal(cancel)
	found, err := external.Probe(server, options, stop.Done(), func(experiments int) {
		line.Draw(time.Since(began), func() string { return fmt.Sprintf("explore: %d experiments; ^C ends it", experiments) })
	})
	line.Erase()
	if sig := wanted(); sig != nil && errors.Is(err, child.ErrStopped) {
		fmt.Fprintln(cmd.ErrOrStderr(), "mcprec: interrupted before there was a result")
		return &cli.Status{Code: cli.ExitFine, Signal: sig}
	}
	var refused *probe.Refusal
	if errors.As(err, &refused) {
		fmt.Fprintf(cmd.ErrOrStderr(), "mcprec: %v\n", err)
		return cli.ErrVerdict
	}
	if err != nil {
		return err
	}
	return printVerdict(cmd, o.format, found, true)
}

// server returns the server of a command with the flags for it.
func (p processOptions) server(command []string) (server external.Server, err error) {
	for _, setting := range p.env {
		if name, _, found := strings.Cut(setting, "="); !found || name == "" {
			return server, cli.Usagef("--env %s: want NAME=VALUE", setting)
		}
	}
	server = external.Server{Command: command, Env: p.env}
	if p.folder == "" {
		return server, nil
	}
	if server.Folder, err = filepath.Abs(p.folder); err != nil {
		return server, err
	}
	if info, err := os.Stat(server.Folder); err != nil || !info.IsDir() {
		return server, cli.Usagef("--dir %s: there is no such folder", p.folder)
	}
	return server, nil
}

// playToken plays the order of a token to the server of a command, and makes the play the standard input of
// the command. It returns what that is called in messages.
func playToken(cmd *cobra.Command, h home, token string, args []string) (name string, err error) {
	own, command := beforeDash(cmd, args)
	if len(command) == 0 || len(own) > 1 {
		return "", cli.Usagef("--token %s is an order for a real server: mcprec view --token %[1]s SESSION -- COMMAND plays it to COMMAND and shows that", token)
	}
	o := exploreOptions{home: h, token: token, schedules: 1, chosen: func(...string) bool { return false }}
	o.process.jobs = 1
	p, err := o.openProcess(cmd, firstOf(own), command)
	if err != nil {
		return "", err
	}
	words := p.recorded.Masker.Texts(command)
	fmt.Fprintf(output.NewWriter(cmd.ErrOrStderr()), "mcprec: %s\n",
		output.Plain(fmt.Sprintf("starting %s several times to play %s to it; watching a hang may take a minute or more", phrase.ShellLine(words...), token)))
	search := report.Search{Line: output.NewProgress(cmd.ErrOrStderr())}
	end := search.Begin()
	found, err := p.explore("", external.Options{Schedules: 1, Token: token, Stop: cmd.Context().Done(), Progress: search.Progress, Keep: true})
	err = errors.Join(err, end())
	if err == nil && found.Shown == nil {
		err = errors.New("nothing was played to its end")
	}
	var play bytes.Buffer
	if err == nil {
		err = p.play(found.Shown).Session(&play)
	}
	cmd.SetIn(&play)
	return fmt.Sprintf("%s, played as %s", p.recorded.Name, token), p.recorded.Masker.Fault(err)
}

// passOnName is the name of a command that mcprec calls itself.
const passOnName = "explored-server"

// newPassOn returns the command that a client under test starts as its server.
func newPassOn() *cobra.Command {
	return &cobra.Command{
		Use: passOnName + " NAME", Hidden: true, Short: "Pass standard input and output to a mcprec explore --as-server", Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error { return child.PassOn(args[0]) },
	}
}
