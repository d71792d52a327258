package main

import (
	"embed"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/cli"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/clientconfig"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/output"
	"github.com/mcprec/mcprec/replay/closed"
	"github.com/mcprec/mcprec/replay/explore"
	"github.com/mcprec/mcprec/replay/match"
	"github.com/mcprec/mcprec/replay/state"
	"github.com/mcprec/mcprec/store/foreign"
)

// pages has the text of each command, help/COMMAND.txt, and of each topic, help/topics/TOPIC.txt. What the
// code knows stands there as {{NAME}}, alone on its line or within one: see tables.
//
//go:embed help
var pages embed.FS

// tables returns what stands in pages for {{NAME}}.
func tables(root *cobra.Command) *strings.Replacer {
	return strings.NewReplacer(
		"{{models}}", terms(closed.ModelTerms()),
		"{{strategies}}", helpTable(10, explore.Strategies, func(s explore.NamedStrategy) (string, string) { return s.Name, s.Means }),
		"{{normalizers}}", helpTable(8, match.Normalizers(), func(n match.Normalizer) (string, string) { return n.Name, n.Does }),
		"{{filters}}", filterWords(),
		"{{conditions}}", helpTable(20, state.Names(), func(n state.Name) (string, string) {
			if n.Of == "" {
				return n.Word, n.Says
			}
			return n.Word + "(" + n.Of + ")", n.Says
		}),
		"{{exports}}", helpTable(10, exportFormats, func(f exportFormat) (string, string) { return f.name, f.says }),
		"{{imports}}", helpTable(18, foreign.Formats, func(f foreign.Format) (string, string) { return f.Name, f.Says }),
		"{{clients}}", strings.Join(namesOf(clientconfig.Clients(), func(c clientconfig.Client) string { return c.Name }), ", "),
	)
}

// explain gives each command the text of its page.
func explain(root *cobra.Command) {
	fill := tables(root)
	walkCommands(root, func(cmd *cobra.Command) {
		name := strings.ReplaceAll(strings.TrimPrefix(cmd.CommandPath(), root.Name()+" "), " ", "-")
		if text, err := pages.ReadFile("help/" + name + ".txt"); err == nil {
			cmd.Long = fill.Replace(string(text))
		}
	})
}

// topic is a page of help for several commands.
type topic struct{ name, short string }

// text returns the page of a topic.
func (t topic) text(root *cobra.Command) string {
	text, err := pages.ReadFile("help/topics/" + t.name + ".txt")
	if err != nil {
		panic(err) // TestHelpOfTopics reads each
	}
	return tables(root).Replace(string(text))
}

// topics are the pages of mcprec help TOPIC.
func topics() []topic {
	return []topic{
		{"sessions", "the ways to name a SESSION"},
		{"hang", "from a session that hangs to a test that holds the fix"},
		{"filters", "what --filter selects"},
		{"formats", "what --format writes, and the members of JSON"},
		{"models", "how a client or a server works: --client and --server"},
		{"orders", "what explore varies: --vary, --strategy, --limit, -- COMMAND"},
		{"matching", "when two messages are the same: --match, --ignore, --normalize"},
		{"masking", "which secrets are masked, and how to show or remove them"},
		{"storage", "where sessions are kept, and what happens when the disk fails"},
		{"sharing", "sessions of many machines: push, pull and status of mcprec share"},
		{"exit", "the exit codes"},
	}
}

// newHelp returns the command that prints the help of a command, or a topic.
func newHelp() *cobra.Command {
	return &cobra.Command{
		Use:     "help [COMMAND | TOPIC]",
		Short:   "Help about a command or a topic",
		Example: "  mcprec help record\n  mcprec help filters",
		ValidArgsFunction: func(cmd *cobra.Command, _ []string, prefix string) (words []cobra.Completion, _ cobra.ShellCompDirective) {
			for _, c := range cmd.Root().Commands() {
				if c.IsAvailableCommand() {
					words = append(words, cobra.CompletionWithDesc(c.Name(), c.Short))
				}
			}
			for _, t := range topics() {
				words = append(words, cobra.CompletionWithDesc(t.name, t.short))
			}
			words = append(words, cobra.CompletionWithDesc(more, "the other commands, and the topics"))
			words = slices.DeleteFunc(words, func(w string) bool { return !strings.HasPrefix(w, prefix) })
			return words, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			root := cmd.Root()
			root.InitDefaultVersionFlag()
			if len(args) == 1 {
				if args[0] == more {
					return writeHelp(cmd.OutOrStdout(), moreTopic(root))
				}
				for _, t := range topics() {
					if t.name == args[0] {
						return writeHelp(cmd.OutOrStdout(), t.text(root))
					}
				}
			}
			found, rest, err := root.Find(args)
			if err != nil || len(rest) > 0 {
				names := namesOf(topics(), func(t topic) string { return t.name })
				return cli.Usagef("no help on %q: mcprec help more lists the commands, and the topics are %s", strings.Join(args, " "), strings.Join(names, ", "))
			}
			found.InitDefaultHelpFlag()
			return found.Help()
		},
	}
}

// printHelp prints the help of a command: first its purpose, usage and examples, then the
// details.
func printHelp(cmd *cobra.Command, _ []string) {
	var b strings.Builder
	fmt.Fprintf(&b, "%s.\n\nUsage:\n  %s\n", cmd.Short, cmd.UseLine())
	if len(cmd.Aliases) > 0 {
		fmt.Fprintf(&b, "  the same: %s\n", strings.Join(cmd.Aliases, ", "))
	}
	if cmd.HasExample() {
		fmt.Fprintf(&b, "\nExamples:\n%s\n", strings.TrimRight(cmd.Example, "\n"))
	}
	if cmd.Long != "" {
		fmt.Fprintf(&b, "\n%s\n", strings.TrimRight(cmd.Long, "\n"))
	}
	if cmd.HasParent() {
		b.WriteString(commandTables(cmd, func(string) bool { return false }))
	} else {
		b.WriteString(commandTables(cmd, func(group string) bool { return group != firstGroup }) + "\nmcprec help COMMAND says more of one, mcprec help more names the other commands and the topics.\n")
	}
	flags := flagTable(cmd.LocalFlags())
	if also := alsoFlags(cmd); also != "" {
		flags += "      " + also + "\n"
	}
	if flags != "" {
		b.WriteString("\nFlags:\n" + flags)
	}
	var further []string // topics
	if cmd.HasParent() {
		if strings.Contains(cmd.UseLine(), "SESSION") {
			further = append(further, "sessions")
		}
		if cmd.Flags().Lookup("filter") != nil {
			further = append(further, "filters")
		}
		if cmd.Flags().Lookup("format") != nil && cmd.Name() != "export" {
			further = append(further, "formats")
		}
		if cmd.Annotations[heededMasks] != "" {
			further = append(further, "masking")
		}
		if len(further) > 0 {
			fmt.Fprintf(&b, "\nMore: mcprec help %s\n", strings.Join(append(further, "exit"), ", "))
		}
	}
	_ = writeHelp(cmd.OutOrStdout(), b.String())
}

// more is the word of mcprec help for what the first page of help leaves out.
const more = "more"

// firstGroup is the title of the commands that the first page of help has. The others stand in mcprec help more.
const firstGroup = "Commands"

// commandTables lists the commands below cmd by their groups, those of none last, and leaves out some groups.
func commandTables(cmd *cobra.Command, leaveOut func(group string) bool) string {
	var b strings.Builder
	list := func(title, group string) {
		commands := slices.DeleteFunc(slices.Clone(cmd.Commands()), func(c *cobra.Command) bool { return !c.IsAvailableCommand() || c.GroupID != group })
		if len(commands) > 0 && !leaveOut(group) {
			fmt.Fprintf(&b, "\n%s:\n%s", title, helpTable(10, commands, func(c *cobra.Command) (string, string) { return c.Name(), c.Short }))
		}
	}
	for _, g := range cmd.Groups() {
		list(g.Title, g.ID)
	}
	if cmd.HasParent() {
		list("Commands", "")
	} else {
		list("More", "")
	}
	return b.String()
}

// moreTopic lists the commands that the first page of help leaves out, and the topics.
func moreTopic(root *cobra.Command) string {
	rest := commandTables(root, func(group string) bool { return group == firstGroup })
	return strings.TrimLeft(rest, "\n") + "\nTopics, for mcprec help TOPIC:\n" +
		helpTable(10, topics(), func(t topic) (string, string) { return t.name, t.short })
}

// common are the flags that many commands have, for which a line is enough: see alsoFlags.
var common = []string{"help", "store", "format", "json", "no-descriptions"}

// alsoFlags names the common flags of a command.
func alsoFlags(cmd *cobra.Command) string {
	var also []string
	if f := cmd.Flags().Lookup("store"); f != nil {
		also = append(also, "--store DIR")
	}
	if f := cmd.Flags().Lookup("format"); f != nil {
		also = append(also, "--format "+f.Value.(*choice).list())
	}
	if f := cmd.Flags().Lookup("json"); f != nil {
		also = append(also, "--json")
	}
	return strings.Join(also, "  ")
}

// flagTable lists flags, without those of masking, which have a topic, and the common ones.
func flagTable(flags *pflag.FlagSet) string {
	shown := pflag.NewFlagSet("", pflag.ContinueOnError)
	flags.VisitAll(func(f *pflag.Flag) {
		if !slices.Contains(maskFlags, f.Name) && !slices.Contains(common, f.Name) {
			shown.AddFlag(inWords(f))
		}
	})
	return optionalValue.ReplaceAllStringFunc(shown.FlagUsagesWrapped(helpColumns), func(text string) string {
		return fmt.Sprintf("%-*s", len(text), optionalValue.ReplaceAllString(text, "$1[=$2]"))
	})
}

// valueTypes are the words for what pflag calls the values of flags that name none.
var valueTypes = map[string]string{"string": "TEXT", "duration": "DURATION"}

// typed is the value of a flag under another name of its type.
type typed struct {
	pflag.Value
	name string
}

func (t typed) Type() string { return t.name }

// inWords returns a flag for a page of help, with a word in capitals for its value.
func inWords(f *pflag.Flag) *pflag.Flag {
	name := valueTypes[f.Value.Type()]
	if name == "" {
		return f
	}
	shown := *f
	shown.Value = typed{f.Value, name}
	if shown.DefValue == "0s" { // none
		shown.DefValue = ""
	}
	return &shown
}

// optionalValue is how pflag writes a flag that may have a value.
var optionalValue = regexp.MustCompile(`(--[a-z-]+) ([A-Z]+)\[="?[^]]*\]`)

// helpColumns is how wide a page of help is at most.
const helpColumns = 80

// writeHelp writes a page of help, as wide as the terminal, but for lines that nobody can read.
func writeHelp(w io.Writer, text string) error {
	columns := min(helpColumns, max(helpColumns/2, output.NewScreen(w, "never").Width))
	_, err := io.WriteString(w, output.Fold(text, columns))
	return err
}

// terms lists words, each with what it means below it.
func terms(words []closed.Term) string {
	var b strings.Builder
	for _, t := range words {
		fmt.Fprintf(&b, "  %s\n      %s\n", t.Word, t.Means)
	}
	return b.String()
}

// walkCommands calls f for the commands below cmd.
func walkCommands(cmd *cobra.Command, f func(*cobra.Command)) {
	for _, c := range cmd.Commands() {
		f(c)
		walkCommands(c, f)
	}
}
