package main

import (
	"testing"

	"github.com/spf13/cobra"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/cli"
)

// TestHelpOfCommands: every command that help lists is in a group and has an example, with
// which its help begins.
func TestHelpOfCommands(t *testing.T) {
	root := newRoot(cli.Streams{})
	root.InitDefaultHelpCmd()
	var visit func(*cobra.Command)
	visit = func(cmd *cobra.Command) {
		for _, c := range cmd.Commands() {
			visit(c)
			switch {
			case !c.IsAvailableCommand():
			case c.Example == "":
				t.Errorf("%s has no example", c.CommandPath())
			case c.GroupID == "" && cmd == root && c.Name() != "version":
				t.Errorf("%s is in no group: add it in newRoot", c.CommandPath())
			}
		}
	}
	visit(root)
	if count := len(root.Commands()); count < 20 {
		t.Errorf("only %d commands", count)
	}
}
