package main

import (
	"io/fs"
	"slices"
	"strings"
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
			case c.Example == "" && !strings.Contains(c.CommandPath(), " completion"): // the page is the example
				t.Errorf("%s has no example", c.CommandPath())
			case c.GroupID == "" && cmd == root && c.Name() != "version" && c.Name() != "completion":
				t.Errorf("%s is in no group: add it in newRoot", c.CommandPath())
			}
		}
	}
	visit(root)
	if count := len(root.Commands()); count < 20 {
		t.Errorf("only %d commands", count)
	}
}

// TestFirstPage: mcprec, mcprec help and mcprec --help say the same: ten commands, in 40 lines at most, and no flag of
// masking.
func TestFirstPage(t *testing.T) {
	page, _, _ := inProcess(t, nil, "help")
	for _, args := range [][]string{nil, {"--help"}, {"-h"}} {
		if other, _, _ := inProcess(t, nil, args...); string(other) != string(page) {
			t.Errorf("mcprec %v says\n%s\nand mcprec help\n%s", args, other, page)
		}
	}
	lines := strings.Split(strings.TrimRight(string(page), "\n"), "\n")
	if len(lines) > 40 || slices.ContainsFunc(lines, func(l string) bool {
		return len(l) > 80 || strings.Contains(l, "--mask-") || strings.Contains(l, "--secrets")
	}) {
		t.Errorf("%d lines:\n%s", len(lines), page)
	}
	if !strings.Contains(string(page), "-v, --version") || !strings.Contains(string(page), "mcprec help more") {
		t.Errorf("no --version, or no way on:\n%s", page)
	}
	first := 0
	for _, c := range newRoot(cli.Streams{}).Commands() {
		if c.GroupID == firstGroup {
			first++
			if !strings.Contains(string(page), "\n  "+c.Name()+" ") {
				t.Errorf("%s is not on the page", c.Name())
			}
		}
	}
	if first != 10 {
		t.Errorf("%d commands on the first page", first)
	}
}

// TestHelpPages holds that each page belongs to a command or a topic, and that nothing is left in it to be filled in.
func TestHelpPages(t *testing.T) {
	root := newRoot(cli.Streams{})
	texts := map[string]string{}
	for _, topic := range topics() {
		texts["help/topics/"+topic.name+".txt"] = topic.text(root)
	}
	var visit func(*cobra.Command)
	visit = func(cmd *cobra.Command) {
		name := strings.ReplaceAll(strings.TrimPrefix(cmd.CommandPath(), "mcprec "), " ", "-")
		texts["help/"+name+".txt"] = cmd.Long
		for _, c := range cmd.Commands() {
			visit(c)
		}
	}
	visit(root)
	count := 0
	err := fs.WalkDir(pages, "help", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		count++
		switch text, ok := texts[path]; {
		case !ok:
			t.Errorf("%s belongs to no command and no topic", path)
		case text == "" || strings.Contains(text, "{{"):
			t.Errorf("%s: the page is empty, or has a table that is not filled in:\n%s", path, text)
		}
		return nil
	})
	if err != nil || count < 20 {
		t.Errorf("%d pages, %v", count, err)
	}
}
