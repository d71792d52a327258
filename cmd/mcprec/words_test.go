package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/cli"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/output"
)

// unsaid are words that nobody says to a user, each with what is said instead.
var unsaid = []struct{ word, say string }{
	{`[Ss]wallow`, "blocked behind a notification"},
	{`[Hh]ead-on`, "both sides write and neither reads"},
	{`mutual call`, "each waits for the other's answer"},
	{`lost answer`, "answer lost"},
	{`\brigid\b`, "single-threaded"},
	{`\binbox:`, "notification-queue="},
	{`notification debt`, "notifications pile up before the answer"},
	{`\bslack\b`, "left"},
	{`\bcapacit(y|ies)\b`, "buffer"},
	{`\bschedules?\b`, "order"},
	{`\bL[01]\b|(^|[^.])(Delivery|Sending)Order`, "delivery, sending"},
	{`\beager\b`, "the default order"},
	{`HANG \(external\)`, "HANG (observed; not a proof)"},
	{`NOT SERIALISABLE`, "RACE"},
	{`LINGERS`, "DOES NOT EXIT"},
	{`\bin one write\b`, "arrive together"},
	{`in (the|its) hand\b`, "blocked writing it"},
	{`nobody drains`, "nobody reads from"},
	{`\bstands at\b`, "is blocked at"},
	{`fresh processes`, "reproduced 3 times out of 3"},
}

// A page of help has at most so many lines, and all of them together so many words. A page that is longer is not read.
const helpLines, helpWords = 70, 9306

// TestWords holds that help, the page of view and the pages of docs say what a colleague would say, and that help is no wider than its pages.
func TestWords(t *testing.T) {
	texts := map[string]string{}
	root := newRoot(cli.Streams{})
	root.InitDefaultHelpCmd()
	var visit func(*cobra.Command)
	visit = func(cmd *cobra.Command) {
		var out bytes.Buffer
		cmd.SetOut(&out)
		printHelp(cmd, nil)
		texts[cmd.CommandPath()+" --help"] = out.String()
		for _, c := range cmd.Commands() {
			visit(c)
		}
	}
	visit(root)
	for _, topic := range topics() {
		var out bytes.Buffer
		if err := writeHelp(&out, topic.text(root)); err != nil {
			t.Fatal(err)
		}
		texts["mcprec help "+topic.name] = out.String()
	}
	words := 0
	for name, text := range texts {
		words += len(strings.Fields(text))
		if lines := strings.Count(text, "\n"); lines > helpLines && name != "mcprec help formats" && name != "mcprec --help" {
			t.Errorf("%s has %d lines, and %d are enough", name, lines, helpLines)
		}
	}
	if words > helpWords {
		t.Errorf("help has %d words in all, and %d are enough: what a page of docs says need not stand there", words, helpWords)
	}
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil || len(pages) < 5 {
		t.Fatalf("%d pages, %v", len(pages), err)
	}
	sources, err := filepath.Glob("internal/view/page/*.jsx")
	if err != nil || len(sources) < 10 {
		t.Fatalf("%d sources of the page of mcprec view, %v", len(sources), err)
	}
	for _, page := range slices.Concat(pages, sources, []string{"../../README.md", "../../fixtures/README.md"}) {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		texts[filepath.Base(page)] = string(text)
	}
	for name, text := range texts {
		for number, line := range strings.Split(text, "\n") {
			if isHelp := strings.HasPrefix(name, "mcprec "); isHelp && output.Columns(line) > helpColumns {
				t.Errorf("%s, line %d has %d columns: %s", name, number+1, output.Columns(line), line)
			}
			for _, u := range unsaid {
				if regexp.MustCompile(u.word).MatchString(line) && !isAddress(line) {
					t.Errorf("%s, line %d: %q says %s; say %q", name, number+1, line, u.word, u.say)
				}
			}
		}
	}
}

// isAddress reports whether a line names packages or files, which are called as they are called in the code.
func isAddress(line string) bool {
	return strings.Contains(line, "](replay/") || strings.Contains(line, "](bugs/")
}
