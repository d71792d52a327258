// Command mcprec records, keeps and replays MCP sessions. See the README for a tour, and
// mcprec help for the commands.
//
// A command has a file of its name: options, flags, constructor, run and report. Two have another:
// mcp answers an agent as view answers a browser, and is in view.go; explore of a process is in
// explore_process.go. The commands share command.go (arguments, and what a command opens and
// prints to), flags.go (flags of several commands) and help.go (how help is printed, and its
// topics). Below internal are
//
//	session, recording       what SESSION names, with its masking; record and drive
//	report                   what why, list, show, check, diff and replay say of sessions
//	output                   how it is printed: text, JSON, JUnit and SARIF, on a terminal or not
//	view, agent              the page of mcprec view, and its server; the MCP server of mcprec mcp
//	clientconfig, retention  the configuration files of MCP clients; which sessions the store keeps
//	releases                 the releases of a package, and which of them changed an outcome
//	cli                      how a command ends, signals, files
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/cli"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/output"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/session"
	"github.com/mcprec/mcprec/transport/phrase"
)

func main() { execute(context.Background()) }

// execute runs the command line of the process, and ends it.
func execute(ctx context.Context) {
	cobra.EnableCommandSorting = false // help lists the commands in the order of their use
	s := run(ctx, os.Args[1:], cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr})
	if s.Signal != nil {
		cli.DieOf(s.Signal)
	}
	os.Exit(s.Code)
}

// run executes a command line and returns how the process must end.
func run(ctx context.Context, args []string, std cli.Streams) *cli.Status {
	defer output.TakeLog(std.Err, func() (func(string) string, error) {
		masker, err := (&session.Home{}).Masker(nil)
		return masker.Text, err
	})()
	root := newRoot(std)
	out := output.NewWriter(std.Out)
	errs := output.NewMessages(std.Err)
	root.SetArgs(args)
	root.SetIn(std.In)
	root.SetOut(out)
	root.SetErr(errs)
	s := cli.StatusOf(root.ExecuteContext(ctx))
	s.Report(errs, args)
	_ = out.Close()
	_ = errs.Close() // each may hold half a character
	return s
}

func newRoot(std cli.Streams) *cobra.Command {
	root := &cobra.Command{
		Use:                   "mcprec COMMAND [ARG]...",
		DisableFlagsInUseLine: true,
		Short:                 "Record MCP sessions byte for byte, replay them, see the hang",
		Example: `  mcprec record -- npx -y @modelcontextprotocol/server-everything
  mcprec wrap --all
  mcprec why
  mcprec show -f
  mcprec demo`,
		Long: `A SESSION is an id that mcprec list shows, or the beginning of one, a label, or a path.
Where none is given, it is the newest in which something was asked.`,
		SuggestionsMinimumDistance: 2,
		Version:                    version(),
		SilenceErrors:              true,
		SilenceUsage:               true,
		Args:                       noSuchCommand,
		RunE:                       func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.PersistentFlags().String("color", "auto", "`WHEN` to colour: auto (on a terminal, without NO_COLOR), always or never")
	completeWords(root, "color", "auto", "always", "never")
	addRootMaskFlags(root)
	root.SetVersionTemplate("mcprec {{.Version}}\n")
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		var s *cli.Status
		if errors.As(err, &s) {
			return s
		}
		return cli.Usagef("%v; see %s --help", flagError(err), cmd.CommandPath())
	})
	root.SetHelpFunc(printHelp)
	root.SetHelpCommand(newHelp())
	// To add one: write newNAME in a file of the command's name and add it below, to its group; give it a row
	// in doors_test.go, and a script in testdata/script. The first group is the first page of help.
	add := func(group string, commands ...*cobra.Command) {
		root.AddGroup(&cobra.Group{ID: group, Title: group})
		for _, cmd := range commands {
			cmd.GroupID = group
		}
		root.AddCommand(commands...)
	}
	add(firstGroup, newRecord(std), newWrap(), newList(), newShow(), newView(), newWhy(), newCheck(), newExplore(), newCI(), newServe(std))
	add("Record", newDemo(), newAttach(std), newUnwrap(), newImport(), newExport())
	add("Look", newPs(), newState(), newStats(), newDiff(), newMCP(std))
	add("Play", newReplay(), newDrive(), newBisect())
	add("Keep", newDoctor(), newRemove(), newRedact(), newStore(), newShare(std))
	root.AddCommand(newPassOn())
	root.AddCommand(&cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Example: "  mcprec version",
		Args:    atMost(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "mcprec %s\n", version())
			return err
		},
	})
	root.InitDefaultCompletionCmd()
	explain(root)
	return root
}

func noSuchCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	near := slices.DeleteFunc(cmd.SuggestionsFor(args[0]), func(name string) bool {
		// A slip must not lead to a command that removes something, and of two letters any other two
		// are near.
		return name == "redact" || len(name) == 2
	})
	advice := "see mcprec --help"
	if len(near) > 0 {
		advice = "did you mean " + strings.Join(near, " or ") + "?"
	} else if _, err := exec.LookPath(args[0]); err == nil && (len(args) > 1 || strings.Contains(args[0], "/")) {
		advice = "did you mean mcprec record -- " + phrase.ShellLine(args...) + "?"
	}
	return cli.Usagef("unknown command %q; %s", args[0], advice)
}

// release is the version of a binary that has no module version.
const release = "0.1.0"

// version returns the module's version, or the release with the commit.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return release
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return release + "+" + s.Value[:min(12, len(s.Value))]
		}
	}
	return release
}
