package main

import (
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/exit"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/terminal"
)

// storeCommands returns the commands that keep the store.
func storeCommands() []*cobra.Command {
	return []*cobra.Command{newVerify(), newRepair(), newCompact(), newPrune(), newStats()}
}

func newStore() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "store COMMAND",
		Short: "Keep the store: verify, repair, compact, prune, stats",
		Example: `  mcprec store stats
  mcprec store verify
  mcprec store prune --older-than 30d --dry-run`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return exit.Usagef("store has no command %q; see mcprec store --help", args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(storeCommands()...)
	return cmd
}

// movedToStore returns the commands of the store under their names until 0.2, hidden from the
// help. On a terminal they print their new names.
func movedToStore() []*cobra.Command {
	commands := storeCommands()
	for _, cmd := range commands {
		name := cmd.Name()
		f := cmd.Flags()
		cmd.Hidden = true
		cmd.Long = fmt.Sprintf("mcprec %s is mcprec store %[1]s now; the old name still works.\n\n", name) + cmd.Long
		cmd.PreRun = func(cmd *cobra.Command, _ []string) {
			if w := cmd.ErrOrStderr(); terminal.IsTerminal(w) {
				fmt.Fprintf(w, "mcprec: this is mcprec store %s now; the old name still works\n", name)
			}
		}
		if dry := f.Lookup("dry-run"); dry != nil { // -n is a number elsewhere
			f.AddFlag(&pflag.Flag{Name: "n", Shorthand: "n", Value: dry.Value, DefValue: dry.DefValue, NoOptDefVal: "true", Hidden: true})
		}
	}
	return commands
}
