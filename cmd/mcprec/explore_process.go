package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/cli"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/output"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/recording"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/report"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/session"
	"github.com/mcprec/mcprec/replay/external"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/store/jsonl"
	"github.com/mcprec/mcprec/transport/phrase"
)

// serverOptions are the flags of explore and probe for a process.
type serverOptions struct {
	env    []string
	folder string
}

func (s *serverOptions) addFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringArrayVar(&s.env, "env", nil, "with COMMAND: set `NAME=VALUE` for the process")
	f.StringVar(&s.folder, "dir", "", "with COMMAND: give each process a copy of `FOLDER`")
}

// processOptions are the flags of explore for a server or a client process.
type processOptions struct {
	serverOptions
	target     recording.DriveTarget
	asServer   bool
	sameOutput bool
	jobs       int
	script     string // a file; "-": standard output
}

func (p *processOptions) addFlags(cmd *cobra.Command) {
	p.serverOptions.addFlags(cmd)
	f := cmd.Flags()
	f.StringVar(&p.target.URL, "target", "", "COMMAND is an HTTP server with its endpoint at `URL`")
	f.StringArrayVar(&p.target.Headers, "header", nil, "with --target: send this `HEADER`, too")
	f.BoolVar(&p.asServer, "as-server", false, "COMMAND is a client, which starts %SERVER")
	f.BoolVar(&p.sameOutput, "same-output", false, "with --as-server: compare what the client prints")
	f.StringVar(&p.script, "script", "", "with COMMAND: print a shell script of the finding, or\nwrite it with --script=`FILE`")
	f.Lookup("script").NoOptDefVal = "-"
	f.IntVarP(&p.jobs, "jobs", "j", 1, "with COMMAND: play `N` orders at once")
}

// notOfProcesses are the flags of explore that say something about models, of which a process has none.
var notOfProcesses = []string{"client", "server", "buffer", "strategy", "vary"}

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

// processSearch is the exploration of a process.
type processSearch struct {
	recorded *session.Recording
	server   external.Server // or the client
	explore  func(external.Options) (external.Report, error)
}

// openProcess reads the flags, and the session that is played to a process.
func (o exploreOptions) openProcess(cmd *cobra.Command, arg string, command []string) (p processSearch, err error) {
	if err := o.checkProcess(); err != nil {
		return p, err
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
	p.recorded, err = session.OpenRecording(cmd.Context(), o.Home, arg, cmd.InOrStdin(), cmd.ErrOrStderr(), slices.Concat(command, o.process.target.Headers), p.server.URL)
	if err != nil {
		return p, err
	}
	if !p.recorded.HasRequests() {
		return p, cli.Usagef("explore %s: its client asked for nothing; name another session", p.recorded.Name)
	}
	p.explore = func(options external.Options) (external.Report, error) {
		return external.Explore(p.server, p.recorded.Events, options)
	}
	if o.process.asServer {
		self, err := os.Executable()
		if err != nil {
			return p, fmt.Errorf("find this program: %w", err)
		}
		client := external.Client{Command: p.server.Command, Env: p.server.Env, Folder: p.server.Folder, PassOn: []string{self, passOnName}}
		p.explore = func(options external.Options) (external.Report, error) {
			return external.ExploreClient(client, p.recorded.Events, options)
		}
	}
	return p, nil
}

// runExploreProcess explores a server process, or a client process.
func runExploreProcess(cmd *cobra.Command, o exploreOptions, arg string, command []string) (err error) {
	p, err := o.openProcess(cmd, arg, command)
	if err != nil {
		return err
	}
	if !o.chosen("orders") {
		o.schedules = 100 // each is a process, and takes about a second
	}
	script := cli.File{Name: o.process.script, Force: o.out.Force}
	if err := errors.Join(o.out.Check(), script.Check()); err != nil {
		return err
	}
	stdout := exactOut(cmd)
	if script.Name == "-" {
		cmd.SetOut(cmd.ErrOrStderr()) // the script alone goes to standard output
	}
	search := report.Search{Line: output.NewProgress(cmd.ErrOrStderr()), Mask: p.recorded.Masker.Text}
	if o.format != output.JSON {
		if search.Screen, err = screenOf(cmd); err != nil {
			return err
		}
	}
	stop, cancel := context.WithCancel(cmd.Context())
	defer cancel()
	wanted := cli.UntilSignal(cancel)
	end := search.Begin()
	found, err := p.explore(external.Options{
		Schedules: o.schedules, Jobs: o.process.jobs, Seed: o.seed, Budget: o.budget, Token: o.token, Stop: stop.Done(),
		SameOutput: o.process.sameOutput, Progress: search.Progress, Found: search.Found, Keep: o.out.Name != "" || script.Name != "",
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
	if err := p.write(cmd, found, o.out, script, stdout); err != nil {
		return err
	}
	if err := printVerdict(cmd, o.format, exploredProcess{found, p.next(o, found, arg)}, found.Passed()); sig == nil || !errors.Is(err, cli.ErrVerdict) && err != nil {
		return err
	}
	return &cli.Status{Code: cli.ExitVerdict, Signal: sig}
}

// write writes the play of the first finding, or of the token, as a session and as a script.
func (p processSearch) write(cmd *cobra.Command, found external.Report, out, script cli.File, stdout io.Writer) error {
	say := func(format string, args ...any) { fmt.Fprintf(cmd.ErrOrStderr(), "mcprec: "+format+"\n", args...) }
	if found.Shown == nil && (out.Name != "" || script.Name != "") {
		say("nothing written: nothing was found")
		return nil
	}
	if out.Name != "" {
		if err := out.Write(stdout, p.session(found.Shown)); err != nil {
			return err
		}
		say("written to %s; see it with mcprec view %s", out.Name, phrase.ShellWord(out.Name))
	}
	if script.Name == "" {
		return nil
	}
	text, secrets, err := p.script(found.Shown)
	if err != nil {
		say("no script: %v", err)
		return nil
	}
	if err := script.Write(stdout, func(w io.Writer) error { _, err := w.Write(text); return err }); err != nil {
		return err
	}
	if script.Name != "-" {
		say("written to %s; run it with sh %s", script.Name, phrase.ShellWord(script.Name))
	}
	if secrets > 0 {
		say("%s in it masked: it may not show the same; --secrets writes the script with them", phrase.Plural(secrets, "secret")+phrase.Agree(int(secrets), " is", " are"))
	}
	return nil
}

// session returns a function that writes a play as a session.
func (p processSearch) session(shown *external.Shown) func(io.Writer) error {
	token := "x1.default"
	if shown.Finding != nil {
		token = shown.Finding.Token
	}
	header := store.Header{
		ID: store.DeriveSessionID([]byte(string(p.recorded.Header.ID) + token)), Start: time.Now(), Transport: "stdio",
		Label: "explore " + token, Command: p.server.Command, Recorder: "mcprec " + version(),
	}
	return func(w io.Writer) error {
		return session.Encode(w, p.recorded.Masker.Events(jsonl.Each(shown.Events(header))))
	}
}

// script returns a play as a script, and how many secrets are masked in it.
func (p processSearch) script(shown *external.Shown) (text []byte, secrets uint64, err error) {
	mask := p.recorded.Masker.InOrder()
	masked := shown.Masked(func(e store.Event) store.Event {
		e = mask(e)
		secrets += e.Redacted
		return e
	})
	if f := shown.Finding; f != nil {
		own := *f
		own.Detail = p.recorded.Masker.Text(f.Detail)
		masked.Finding = &own
	}
	server := p.server
	server.Command, server.Env = p.recorded.Masker.Texts(server.Command), p.recorded.Masker.Texts(server.Env)
	text, err = masked.Script(server)
	return text, secrets, err
}

// exploredProcess is a report whose findings stand on the screen already, and what to do with the first.
type exploredProcess struct {
	external.Report
	next string
}

// Text returns the report without its findings.
func (e exploredProcess) Text() string { return e.Rest() + e.next }

// next says how to see the first finding, and how to send it to somebody, if it was not written already.
func (p processSearch) next(o exploreOptions, found external.Report, arg string) string {
	if len(found.Findings) == 0 || found.Shown != nil {
		return ""
	}
	token := found.Findings[0].Token
	if o.chosen("env", "dir", "target", "as-server") || arg == "-" {
		return fmt.Sprintf("To see the first: the same command with --token %s -o FILE, then mcprec view FILE.\n", token)
	}
	rest := " -- " + phrase.ShellLine(p.recorded.Masker.Texts(p.server.Command)...) + "\n"
	if arg != "" {
		rest = " " + phrase.ShellWord(arg) + rest
	}
	return "See it:  mcprec view --token " + token + rest + "Send it: mcprec explore --token " + token + " --script=finding.sh" + rest
}

// playToken plays the order of a token to the server of a command, and makes the play the standard input of
// the command. It returns the arguments with which that is read.
func playToken(cmd *cobra.Command, h home, token string, args []string) ([]string, error) {
	own, command := beforeDash(cmd, args)
	if len(command) == 0 || len(own) > 1 {
		return nil, cli.Usagef("--token %s is an order for a real server: mcprec view --token %[1]s SESSION -- COMMAND plays it to COMMAND and shows that", token)
	}
	o := exploreOptions{home: h, token: token, schedules: 1, chosen: func(...string) bool { return false }}
	o.process.jobs = 1
	p, err := o.openProcess(cmd, firstOf(own), command)
	if err != nil {
		return nil, err
	}
	search := report.Search{Line: output.NewProgress(cmd.ErrOrStderr())}
	end := search.Begin()
	found, err := p.explore(external.Options{Schedules: 1, Token: token, Stop: cmd.Context().Done(), Progress: search.Progress, Keep: true})
	err = errors.Join(err, end())
	if err == nil && found.Shown == nil {
		err = errors.New("nothing was played to its end")
	}
	var play bytes.Buffer
	if err == nil {
		err = p.session(found.Shown)(&play)
	}
	cmd.SetIn(&play)
	return []string{"-"}, p.recorded.Masker.Fault(err)
}

// passOnName is the name of a command that mcprec calls itself.
const passOnName = "explored-server"

// newPassOn returns the command that a client under test starts as its server.
func newPassOn() *cobra.Command {
	return &cobra.Command{
		Use: passOnName + " NAME", Hidden: true, Short: "Pass standard input and output to a mcprec explore --as-server", Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error { return external.PassOn(args[0]) },
	}
}
