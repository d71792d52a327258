package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/cli"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/output"
	"github.com/mcprec/mcprec/replay/closed"
)

// topic is a page of help for several commands.
type topic struct {
	name  string
	short string
	text  func(root *cobra.Command) string
}

// topics are the pages of mcprec help TOPIC.
func topics() []topic {
	plain := func(text string) func(*cobra.Command) string { return func(*cobra.Command) string { return text } }
	return []topic{
		{"sessions", "the ways to name a SESSION", plain(sessionsTopic)},
		{"hang", "a session that hangs: from who is stuck to a test that holds the fix", plain(hangTopic)},
		{"ci", "recordings in continuous integration: what fails, reports, a fixture as a test", plain(ciTopic)},
		{"filters", "what --filter selects", func(*cobra.Command) string { return filtersTopic + filterWords() }},
		{"formats", "what each command writes besides text", formatsTopic},
		{"models", "how a client or a server works: --client and --server", func(*cobra.Command) string { return modelsTopic() }},
		{"matching", "when two messages are the same: --match, --ignore, --normalize", func(*cobra.Command) string { return matchingTopic + normalizerHelp() }},
		{"masking", "which secrets are masked, and how to show or remove them", plain(maskingTopic)},
		{"storage", "where sessions are kept, and what happens when the disk fails", plain(storageTopic)},
		{"sharing", "sessions of many machines: push, pull and status of mcprec share", plain(sharingTopic)},
		{"exit", "the exit codes", plain(exitTopic)},
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
						return writeHelp(cmd.OutOrStdout(), strings.TrimRight(t.text(root), "\n")+"\n")
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
	if cmd.HasAvailableLocalFlags() {
		b.WriteString("\nFlags:\n" + flagTable(cmd.LocalFlags()))
	}
	if cmd.HasParent() {
		b.WriteString("\nFlags of every command:\n" + flagTable(cmd.InheritedFlags()))
		switch heeded := cmd.Annotations[heededMasks]; {
		case strings.Contains(heeded, "secrets"):
			b.WriteString("\nSecrets are masked; --secrets shows them. See mcprec help masking for more.\n")
		case heeded != "":
			b.WriteString("\nSecrets are masked. See mcprec help masking for more.\n")
		}
	}
	if cmd.HasParent() {
		b.WriteString("\nmcprec help exit has the exit codes.\n")
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

// flagTable lists flags, without those of masking, which have a topic.
func flagTable(flags *pflag.FlagSet) string {
	shown := pflag.NewFlagSet("", pflag.ContinueOnError)
	flags.VisitAll(func(f *pflag.Flag) {
		if !slices.Contains(maskFlags, f.Name) {
			shown.AddFlag(f)
		}
	})
	return strings.TrimRight(shown.FlagUsagesWrapped(helpColumns), "\n") + "\n"
}

// helpColumns is how wide a page of help is at most.
const helpColumns = 80

// writeHelp writes a page of help, as wide as the terminal, but for lines that nobody can read.
func writeHelp(w io.Writer, text string) error {
	columns := min(helpColumns, max(helpColumns/2, output.NewScreen(w, "never").Width))
	_, err := io.WriteString(w, output.Fold(text, columns))
	return err
}

const sessionsTopic = `A SESSION is

  -          a fixture on standard input
  a path     a fixture, or a file that another recorder wrote: a name with a dot or a
             slash in it, or the name of a file that is there
  a path@N   the Nth session of a file with several, such as a log of Claude Desktop or
             of VS Code; path@last is the newest. check and why take all of a file
  an id      or the beginning of one, if no other begins so: mcprec list shows them
  a label    the newest session with it, as record --label gave it: fs, or env=ci
  nothing    the session that started last

A word that begins the id of one session and is the label of another is taken as the id,
and stderr says so. rm takes a label only if it is that of one session.
`

const exitTopic = `Exit codes:

  0    fine
  1    a check failed: why, check, ci, verify, redact --scan or serve --fail found something;
       replay, explore or drive has another verdict than pass, or the session
       that replay or explore plays hung itself; diff found a difference; state --first
       found nothing; repair could not save everything
  2    usage: a flag, an argument, or an unknown or ambiguous session
  3    a store or a file that cannot be read or written
  4    record: the command exited 0, but not everything could be recorded
  126  record, serve, drive, ci: the command cannot be run
  127  record, serve, drive, ci: there is no such command

record otherwise exits with its command's status, or dies of its command's signal. A
command that is interrupted dies of the signal, after it has reported what it has.
`

func modelsTopic() string {
	return `replay and explore play each side of a session under a model of how such a side works:

` + terms(closed.ModelTerms()) + `
--client and --server choose them, by these words or by an SDK that works so, as in
python-sdk@1.3, go-sdk or typescript-sdk@1.x; without a version the newest known release
counts. mcprec replay --models lists the SDKs, with the source of each. mcprec probe measures
the model of a live server; in a Go test fixtures.Probe measures that of a client, too. A hang
is proved for these models: a side that works so hangs on this session.
`
}

// terms lists words, each with what it means below it.
func terms(words []closed.Term) string {
	var b strings.Builder
	for _, t := range words {
		fmt.Fprintf(&b, "  %s\n      %s\n", t.Word, t.Means)
	}
	return b.String()
}

const hangTopic = `  mcprec why                                        who is stuck now, since when, on what
  mcprec why --watch                                the same, again whenever it changes
  mcprec list --stuck                               the live sessions that are stuck
  mcprec show SESSION --filter status:pending       the calls without an answer
  mcprec replay SESSION --client python-sdk@1.3     does a client that works so hang on it?
  mcprec explore SESSION --client notification-queue=0           other orders, and the smallest session that hangs
  mcprec replay --need SESSION                           how much room the transport must have
  mcprec probe -- SERVER ARG                        which model a live server has

Begin with mcprec why, while the session hangs or after it. It names the end that has the
next step, with the events that show it. What a log cannot tell it says too: whether a
message was read inside a side is not recorded.

If why says that a side does not answer, look inside that end: the recording has nothing
more. If each waits for the other, or a side has stopped reading, play the session again:
replay and explore play both sides through a transport of the buffer that you choose,
each under a model of how such a side works. No time passes there, so a hang is proved.

  replay    one order, the recorded one: does it hang for these models, and at which
            buffer does it not?
  explore   many orders of delivery, and with --vary sending of the messages themselves; it
            prints a token, with which the same run can be played again

A pass with independent on both sides says that the transport alone is not the cause: name the
SDK of your sides (mcprec replay --models lists those that are known), or a model (mcprec
help models); mcprec probe measures that of a server.

To keep the hang as a test, write the session to a file and the verdict into its header:

  mcprec export -o hang.jsonl SESSION
  "expect":"hang blocked behind a notification client=python-sdk@1.3"   the member to add to the first line
  mcprec replay --expect hang.jsonl
`

const ciTopic = `  mcprec record --out run.jsonl -- SERVER ARG       the session of a job, also as a file
  mcprec check --fail-on warning run.jsonl          broken rules, calls that hang
  mcprec check --format junit run.jsonl             a test case for each rule
  mcprec check --format sarif testdata/*.jsonl      for code review: it points at the lines
  mcprec replay --expect testdata/*.jsonl           each fixture has the verdict in its header
  mcprec serve --fail run.jsonl                     the server of a test, from a recording
  mcprec drive run.jsonl -- SERVER ARG              the recorded client against a new server
  mcprec diff old.jsonl new.jsonl                   two sessions, compared by what they mean
  mcprec ci testdata -- SERVER ARG                  a gate: check, drive, and what the server offers

ci does it all in one run and one report, and is red if nothing was compared; docs/ci.md has
a workflow to copy. The others are its parts.

What fails a job is the exit code: 1 for what was found, 2 and 3 for a command or a file
that is wrong (mcprec help exit).

check finds what a recording alone shows. Its gates are yours to set:

  --fail-on warning      warnings fail, too
  --fail-on-timeout      a call whose sender gave up waiting is an error
  --fail-on-tool-error   a call to a tool that was answered with an error is an error
  --max-duration 2s      a call that takes longer is an error
  --expect-tool NAME     the client must call the tool; --forbid-tool: must not
  --baseline SESSION     the tools must be those of a session that was approved
  --schema               each message must fit the schema of its revision

A recording that leaves the machine has its secrets masked (mcprec help masking). What
differs from run to run, such as times and paths, is left out of a comparison by --ignore
and --normalize (mcprec help matching). A Go test imports the package fixtures and plays a
recording to the program's own client or server, in many orders.
`

const filtersTopic = `--filter 'tool:search status:pending' selects by terms that must all hold; -TERM or
!TERM must not. A value may be one of several (a|b), have * for anything, or stand in
quotes; a value without a field is looked for in the whole event. A term about a call
selects its request, answer, progress and cancellation. Given twice, both must fit.

`

const matchingTopic = `serve, drive and diff pair messages of two sessions.

  --match      what a request must have in common with the recorded one: params (method
               and params, the default), method, order (method and place), or strict
               (numbers and times as they are written, too)
  --ignore     a JSON pointer from the message's root, as /params/arguments/when or
               /result/content/*/text, to a place that is not compared; in a text that is
               JSON itself the pointer goes on
  --normalize  names of normalizers, which make values comparable

Where messages differ, drive, diff and serve name the flags that would let them match.

`

const maskingTopic = `The store keeps exactly what passed, for you alone, but for headers that carry
credentials. Whatever leaves the store, shown or written, has its secrets masked:
[redacted:…] stands for each, the same for the same secret.

  --secrets            shows and writes secrets as they are
  --mask-key KEY       masks what is under KEY, in JSON and in text; * stands for anything
  --mask-pattern RE    masks what a regular expression finds; of one with a group, the group
  --mask-pointer PTR   masks what is at a JSON pointer of a message
  --mask-env NAME      masks the value of an environment variable
  record --mask        keeps no secrets once the session has ended
  share push --mask-key-file FILE   on the way to the team's store, with the key of the team
  redact SESSION       takes the secrets out of a session for good
  redact --scan        lists where there are secrets, in the whole store

The first five are flags of mcprec itself, and stand before a command or behind it. A command
that has no use for one refuses it, as mcp and redact refuse --secrets.

A secret that nothing names and that looks like a word is not found: look before you
share. A key that was recorded is known: make a new one.
`

const storageTopic = `The store is --store, else $MCPREC_HOME, else $XDG_STATE_HOME/mcprec, else
~/.local/state/mcprec, on Windows %LOCALAPPDATA%\mcprec. Files are yours alone (0600). A
live session is a spool, a file to which messages are appended; when the session has ended
it is moved into a database. The spool of one that has a message of more than 64 MiB stays;
every command reads it there.

If mcprec dies, even by kill -9, everything that the other side saw is in the recording.

` + diskHelp + `The store has a limit: 2 GiB, and 30 days since a session ended. Recorders delete what is
beyond it, the oldest sessions first, beside a session or when it has ended; one recorder
does it, and none waits for another. Deleted are sessions that are too old, and, when the
store reaches 80 % of its size, the oldest until it is at 70 %. Never deleted are

  a session that is being recorded, however large it grows, nor the one that ended last
  what was recorded with --label keep, or with --label keep=WHY
  what mcprec store keep SESSION names
  what was imported, and copies that mcprec redact made

The last three are not counted, either. mcprec list and mcprec store size say what the
budget is, what of it is used, and what was last deleted for it.

  record --keep-size 10GiB --keep-age 26w    another limit; serve uses the default
  record --keep-size off --keep-age off      none
  MCPREC_KEEP_SIZE, MCPREC_KEEP_AGE          the same for every recorder

While a database is written anew to give space back to the disk, it is there twice.

mcprec store has the commands that keep it: verify, repair, compact, prune, keep and
size. What a user needs now and then is rm, which removes a session, and redact.
`

const sharingTopic = `A team reads what was recorded on many machines through a stream that they share, in NATS
JetStream. Recording knows nothing of it: a program of its own, mcprec-share, ships what stands
in the folder of a machine's store, and brings sessions into a folder of yours, where every
command works on them. mcprec share COMMAND runs it.

  mcprec share make nats://n1,n2,n3/MCPREC                 make the streams, once
  mcprec share push nats://n1,n2,n3/MCPREC                 on each machine: ship the store's sessions
  mcprec share pull --into team nats://n1,n2,n3/MCPREC     bring sessions, live ones too, into a folder
  mcprec why --store team; mcprec view --store team
  mcprec share status nats://n1,n2,n3/MCPREC               what is shipped, what waits, who is live

push masks secrets before they leave the machine, for good. Equal secrets have equal placeholders
if they were masked with the same key: push --mask-key-file FILE takes that of a team. Who may
read and write is for the servers to say. docs/shared-store.md has a walk from nothing to three
nodes, and a cluster to copy.
`

// formatsTopic lists the words of --format by command, and those of export with what they are.
func formatsTopic(root *cobra.Command) string {
	var b strings.Builder
	b.WriteString(`Every command prints text for people. --format FORMAT prints something else:

`)
	walkCommands(root, func(c *cobra.Command) {
		if f := c.Flags().Lookup("format"); f != nil && c.IsAvailableCommand() && c.Name() != "export" {
			if words, ok := f.Value.(*choice); ok {
				fmt.Fprintf(&b, "  %-14s  %s\n", strings.TrimPrefix(c.CommandPath(), root.Name()+" "), strings.Join(words.words, ", "))
			}
		}
	})
	b.WriteString(`
json, for which --json stands as well, is one object, or one a line where there are several. junit and sarif are for continuous integration.

mcprec export writes a whole session, and mcprec import reads jsonl and what other
recorders write:

` + helpTable(10, exportFormats, func(f exportFormat) (string, string) { return f.name, f.says }))
	b.WriteString("\nThe members of --json, where the help of the command does not name them. A name that ends in\n" +
		"_ns is a number of nanoseconds, at is a duration such as 1.5s, and a time is RFC 3339:\n\n")
	walkCommands(root, func(c *cobra.Command) {
		if fields := c.Annotations[jsonFields]; fields != "" {
			fmt.Fprintf(&b, "  %s\n      %s\n", strings.TrimPrefix(c.CommandPath(), root.Name()+" "), strings.ReplaceAll(fields, "\n", " "))
		}
	})
	return b.String()
}

// walkCommands calls f for the commands below cmd.
func walkCommands(cmd *cobra.Command, f func(*cobra.Command)) {
	for _, c := range cmd.Commands() {
		f(c)
		walkCommands(c, f)
	}
}
