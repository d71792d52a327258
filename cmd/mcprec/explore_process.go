package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/exit"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/process"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/session"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/terminal"
	"github.com/mcprec/mcprec/replay/external"
)

// serverOptions are the flags of explore and probe for a process.
type serverOptions struct {
	env    []string
	folder string
}

func (s *serverOptions) addFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringArrayVar(&s.env, "env", nil, "with COMMAND: set `NAME=VALUE` for the process; may be repeated")
	f.StringVar(&s.folder, "dir", "", "with COMMAND: give each process a copy of this `FOLDER`, which takes its\nplace in what the recorded end sends")
}

// processOptions are the flags of explore for a server or a client process.
type processOptions struct {
	serverOptions
	asServer   bool
	sameOutput bool
}

func (p *processOptions) addFlags(cmd *cobra.Command) {
	p.serverOptions.addFlags(cmd)
	f := cmd.Flags()
	f.BoolVar(&p.asServer, "as-server", false, "COMMAND is a client, which starts %SERVER: the recorded server plays to it")
	f.BoolVar(&p.sameOutput, "same-output", false, "with --as-server: the client must print the same in every order")
}

// notOfProcesses are the flags of explore that say something about models, of which a process has none.
var notOfProcesses = []string{"client", "server", "capacity", "strategy", "level", "out"}

// checkProcess reads the flags for a process.
func (o exploreOptions) checkProcess() error {
	for _, name := range notOfProcesses {
		if o.chosen(name) {
			return exit.Usagef("--%s is about models of the ends; a process is what it is: leave it out", name)
		}
	}
	if o.token != "" && !external.IsToken(o.token) {
		return exit.Usagef("--token %s is of a model; with a process it begins with x1", o.token)
	}
	if o.token != "" {
		if _, err := external.ParseToken(o.token); err != nil {
			return exit.Usagef("--%v", err)
		}
	}
	switch {
	case o.schedules < 1:
		return exit.Usagef("--schedules %d: want 1 or more", o.schedules)
	case o.budget < 0:
		return exit.Usagef("--budget %v: want 0 or more", o.budget)
	case o.process.sameOutput && !o.process.asServer:
		return exit.Usagef("--same-output is about what a client prints: it goes with --as-server")
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
	recorded, err := session.OpenRecording(cmd.Context(), o.Home, arg, cmd.InOrStdin(), cmd.ErrOrStderr(), command, "")
	if err != nil {
		return err
	}
	if !recorded.HasRequests() {
		return exit.Usagef("explore %s: its client asked for nothing; name another session", recorded.Name)
	}
	if !o.chosen("schedules") {
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
	stop, cancel := context.WithCancel(cmd.Context())
	defer cancel()
	line := terminal.NewProgress(cmd.ErrOrStderr())
	wanted := process.UntilSignal(cancel)
	found, err := explore(external.Options{
		Schedules: o.schedules, Seed: o.seed, Budget: o.budget, Token: o.token, Stop: stop.Done(), SameOutput: o.process.sameOutput,
		Progress: func(done, total int, elapsed time.Duration) {
			line.Draw(elapsed, func() string {
				return fmt.Sprintf("explore: %d of %d schedules in %v; ^C ends it with a report", done, total, elapsed.Round(time.Second))
			})
		},
	})
	line.Erase()
	sig := wanted()
	if err != nil {
		return recorded.Masker.Fault(err)
	}
	for i := range found.Findings {
		found.Findings[i].Detail = recorded.Masker.Text(found.Findings[i].Detail)
	}
	if err := printVerdict(cmd, o.format, found, found.Passed()); sig == nil || !errors.Is(err, exit.ErrVerdict) && err != nil {
		return err
	}
	return &exit.Status{Code: exit.Verdict, Signal: sig}
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
