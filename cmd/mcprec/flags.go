package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/cli"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/recording"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/session"
	"github.com/mcprec/mcprec/replay/closed"
	"github.com/mcprec/mcprec/replay/filter"
	"github.com/mcprec/mcprec/replay/match"
	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/phrase"
)

func namesOf[T any](list []T, name func(T) string) []string {
	names := make([]string, len(list))
	for i, x := range list {
		names[i] = name(x)
	}
	return names
}

// helpTable formats names and their descriptions for a command's help.
func helpTable[T any](width int, list []T, row func(T) (name, says string)) string {
	var b strings.Builder
	for _, x := range list {
		name, says := row(x)
		fmt.Fprintf(&b, "  %-*s  %s\n", width, name, says)
	}
	return b.String()
}

// choice is a flag whose value is one of some words.
type choice struct {
	flag  string
	value *string
	words []string
}

// addChoice adds a flag whose value is one of some words. The first is the default.
func addChoice(cmd *cobra.Command, value *string, flag, usage string, words ...string) {
	*value = words[0]
	cmd.Flags().Var(&choice{flag, value, words}, flag, usage)
	completeWords(cmd, flag, words...)
}

// addFormat adds --format, whose value is one of some words, the first of which is the default; and --json, where json
// is among them.
func addFormat(cmd *cobra.Command, value *string, words ...string) {
	addChoice(cmd, value, "format", "what to print: "+strings.Join(words, ", "), words...)
	if !slices.Contains(words, "json") {
		return
	}
	cmd.Flags().BoolFunc("json", "--format json", func(text string) error {
		isJSON, err := strconv.ParseBool(text)
		if isJSON {
			*value = "json"
		}
		return err
	})
}

func (c *choice) list() string { return strings.Join(c.words, "|") }

func (c *choice) String() string { return *c.value }

func (c *choice) Set(word string) error {
	*c.value = word
	return oneOf(c.flag, word, c.words...)
}

func (c *choice) Type() string { return "WORD" }

// addParsed adds a flag that sets *value to a parsed value. Without the flag *value stays nil.
func addParsed[T any](cmd *cobra.Command, value **T, flag, usage string, parse func(string) (T, error)) {
	cmd.Flags().Func(flag, usage, func(text string) error {
		v, err := parse(text)
		if err != nil {
			return wrongValue(flag, text, err)
		}
		*value = &v
		return nil
	})
}

// eventNumber is a flag whose value is the number of an event, as 5 or #5.
type eventNumber uint64

func (n *eventNumber) String() string { return strconv.FormatUint(uint64(*n), 10) }

// Set implements pflag.Value.
func (n *eventNumber) Set(text string) error {
	seq, ok := session.ParseEvent(text)
	if !ok {
		return errors.New("no number of an event") // flagError says what is wanted
	}
	*n = eventNumber(seq)
	return nil
}

func (n *eventNumber) Type() string { return "EVENT" }

func oneOf(flag, value string, allowed ...string) error {
	if slices.Contains(allowed, value) {
		return nil
	}
	return cli.Usagef("--%s %s: want one of %s", flag, value, strings.Join(allowed, ", "))
}

// flagError replaces the error of the parser for a bad number, duration or bool with the wanted
// form.
func flagError(err error) error {
	var invalid *pflag.InvalidValueError
	if !errors.As(err, &invalid) {
		return err
	}
	wants := map[string]string{"int": "a number", "uint64": "a number of 0 or more", "duration": "a duration such as 500ms or 10s", "bool": "true or false", "EVENT": "the number of an event, such as 5"}
	flag := invalid.GetFlag()
	want, ok := wants[flag.Value.Type()]
	if !ok {
		return err
	}
	return fmt.Errorf("--%s %s: want %s", flag.Name, invalid.GetValue(), want)
}

// wrongValue returns the error of a flag whose value a parser refuses. The error may begin with the value, which
// is then said once.
func wrongValue(flag, value string, err error) error {
	_, reason, ok := strings.Cut(err.Error(), strconv.Quote(value)+": ")
	if !ok {
		reason = err.Error()
	}
	return cli.Usagef("--%s %s: %s", flag, phrase.ShellWord(value), reason)
}

func notNegative(flag string, n int) error {
	if n < 0 {
		return cli.Usagef("--%s %d: want 0 or more", flag, n)
	}
	return nil
}

// completeWords makes a flag complete to one of the words.
func completeWords(cmd *cobra.Command, flag string, words ...string) {
	completeFlag(cmd, flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
}

// completeFlag makes a flag complete to what words finds. It does so only where a shell asks: cobra
// keeps each such flag, and all that it refers to, until the process ends, and a process of the tests
// runs thousands of command lines.
func completeFlag(cmd *cobra.Command, flag string, words cobra.CompletionFunc) {
	if len(os.Args) < 2 || !strings.HasPrefix(os.Args[1], cobra.ShellCompRequestCmd) {
		return
	}
	if err := cmd.RegisterFlagCompletionFunc(flag, words); err != nil {
		panic("unreachable: the flag is defined: " + err.Error())
	}
}

// home holds the flag for the store's folder, and what the flags of masking say.
type home struct{ session.Home }

func (h *home) addFlags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&h.Place, "store", "", "the store's `DIR`")
}

// unmasked returns h as with --secrets: what is opened by it masks nothing, and makes no key for
// placeholders in the store.
func (h home) unmasked() home {
	h.Secrets.Show = true
	return h
}

// The flags of masking stand on the root. A command heeds them or refuses them, so that none is given
// in vain: see refuseMaskFlags.
var (
	maskRuleFlags = []string{"mask-key", "mask-pattern", "mask-pointer", "mask-env"}
	maskFlags     = append([]string{"secrets"}, maskRuleFlags...)
)

// heededMasks is the annotation of a command with the flags of masking that it heeds.
const heededMasks = "mask flags"

// addRootMaskFlags adds the flags of masking to the root, for every command.
func addRootMaskFlags(root *cobra.Command) {
	f := root.PersistentFlags()
	f.Bool("secrets", false, "show and write secrets as they are")
	f.StringArray("mask-key", nil, "mask what is under `KEY`, in JSON and in text; * stands for anything; may be repeated, as the others")
	f.StringArray("mask-pattern", nil, "mask what the regular expression `RE` finds; of one with a group, the group")
	f.StringArray("mask-pointer", nil, "mask what is at the JSON `POINTER` of a message; * stands for any member")
	f.StringArray("mask-env", nil, "mask the value of the environment variable `NAME`")
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error { return refuseMaskFlags(cmd) }
}

// refuseMaskFlags returns a usage error for a flag of masking that a command does not heed.
func refuseMaskFlags(cmd *cobra.Command) error {
	heeded := strings.Fields(cmd.Annotations[heededMasks])
	for _, name := range maskFlags {
		if cmd.Flags().Changed(name) && !slices.Contains(heeded, name) {
			return cli.Usagef("%s takes no --%s; see mcprec help masking", cmd.CommandPath(), name)
		}
	}
	return nil
}

// heedMaskFlags makes a command that prints or writes recorded data heed the flags of masking.
func (h *home) heedMaskFlags(cmd *cobra.Command) { h.heed(cmd, maskFlags) }

// heedMaskRules makes a command that never shows a secret heed the flags that name more of them.
func (h *home) heedMaskRules(cmd *cobra.Command) { h.heed(cmd, maskRuleFlags) }

func (h *home) heed(cmd *cobra.Command, names []string) {
	cmd.Annotations = map[string]string{heededMasks: strings.Join(names, " ")}
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) (err error) {
		f := cmd.Flags()
		list := func(name string) []string {
			values, fault := f.GetStringArray(name)
			err = errors.Join(err, fault)
			return values
		}
		h.Secrets.MaskRules = store.MaskRules{Keys: list("mask-key"), Patterns: list("mask-pattern"), Pointers: list("mask-pointer"), Env: list("mask-env")}
		show, fault := f.GetBool("secrets")
		h.Secrets.Show = show
		return errors.Join(err, fault)
	}
}

// addRemoteFlags adds the flags of a command that listens for clients over HTTP. needs is the flag
// without which --allow-origin has no meaning.
func addRemoteFlags(cmd *cobra.Command, r *recording.Remote, needs, target, listen string) {
	f := cmd.Flags()
	f.StringVar(&r.Target, "target", "", target)
	f.StringVar(&r.Listen, "listen", r.Listen, listen+"; port 0 takes a free one")
	f.StringArrayVar(&r.Origins, "allow-origin", nil, "with --"+needs+": let web pages of `ORIGIN` ask, too; * lets all")
}

// filterFlag is the --filter of a command.
type filterFlag struct{ expr string }

func (o *filterFlag) addFlags(cmd *cobra.Command) {
	cmd.Flags().Func("filter", "only what fits `FILTER`, as 'tool:search'", func(expr string) error {
		o.expr = strings.TrimSpace(o.expr + " " + expr)
		return nil
	})
}

// parse reads the expression. Without one the filter selects everything.
func (o filterFlag) parse() (*filter.Filter, error) {
	f, err := filter.Parse(o.expr)
	if err != nil {
		return nil, wrongValue("filter", o.expr, err)
	}
	return f, nil
}

// didYouMean returns what follows the report that a filter selects nothing.
func didYouMean(f *filter.Filter) string {
	if hint := f.Hint(); hint != "" {
		return "; did you mean " + hint + "?"
	}
	return ""
}

// filterWords lists the fields of a filter with what they select.
func filterWords() string {
	var b strings.Builder
	for _, f := range filter.Fields() {
		fmt.Fprintf(&b, "  %-8s %s\n", f.Name+":", f.Says)
		if f.List {
			fmt.Fprintf(&b, "           %s\n", f.Wants)
		}
	}
	return b.String()
}

// labels is the flag --label: the labels of a recorded session, or those to select by.
type labels struct {
	text   string            // one without a value
	values map[string]string // NAME=VALUE
}

// oneLabel is the help of a --label that selects sessions.
const oneLabel = "only sessions with this `LABEL`"

// addFlag adds --label, which completes to the labels of the newest sessions.
func (l *labels) addFlag(cmd *cobra.Command, usage string) {
	cmd.Flags().VarP(l, "label", "l", usage)
	completeFlag(cmd, "label", func(cmd *cobra.Command, _ []string, prefix string) ([]cobra.Completion, cobra.ShellCompDirective) {
		_, found, err := newestSessions(cmd, prefix)
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		return found, cobra.ShellCompDirectiveNoFileComp
	})
}

func (l *labels) String() string { return strings.Join(l.list(), " ") }

// Set implements pflag.Value. The flag may be given several times.
func (l *labels) Set(s string) error {
	name, value, ok := strings.Cut(s, "=")
	if !ok || name == "" {
		l.text = s
		return nil
	}
	if l.values == nil {
		l.values = map[string]string{}
	}
	l.values[name] = value
	return nil
}

func (l *labels) Type() string { return "LABEL" }

func (l *labels) list() []string { return session.LabelList(l.text, l.values) }

// of reports whether a session has all of the labels. Its plain label may be NAME=VALUE.
func (l *labels) of(header store.Header) bool {
	return !slices.ContainsFunc(l.list(), func(label string) bool { return !session.HasLabel(header, label) })
}

// labelOf returns the labels of a session for a listing.
func labelOf(s store.Session) string { return session.Labels(s.Header) }

// ruleFlags are the flags for comparing live messages with recorded ones.
type ruleFlags struct {
	by        string
	ignore    []string
	normalize []string
}

func (r *ruleFlags) addFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&r.by, "match", "params", "pair requests by `RULE`: params, method, order, strict")
	f.StringArrayVar(&r.ignore, "ignore", nil, "do not compare `POINTER`: 'tool:now /result/content/0/text'")
	f.StringSliceVar(&r.normalize, "normalize", nil, "compare these `KINDS` alike: uuid, time, duration, port")
	completeWords(cmd, "match", "params", "method", "order", "strict")
	completeWords(cmd, "normalize", namesOf(match.Normalizers(), func(n match.Normalizer) string { return n.Name })...)
}

func (r *ruleFlags) rules() (rules match.Rules, err error) {
	if rules.By, err = match.ParseStrictness(r.by); err != nil {
		return rules, cli.Usagef("--%v", err)
	}
	for _, text := range r.ignore {
		p, err := recording.ParseIgnore(text)
		if err != nil {
			return rules, wrongValue("ignore", text, err)
		}
		rules.Ignore = append(rules.Ignore, p)
	}
	if len(r.normalize) > 0 {
		rules.Normalize, err = match.ParseNormalizers(strings.Join(r.normalize, ","))
		if err != nil {
			return rules, wrongValue("normalize", strings.Join(r.normalize, ","), err)
		}
	}
	return rules, nil
}

// fillFlag is the flag --fill, and the settings beside a fixture, which also have rules.
type fillFlag struct{ fill []string }

func (f *fillFlag) addFlags(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar(&f.fill, "fill", nil, "send a secret for its placeholder: `NAME=VALUE`")
}

// fixtureTerms are what holds for a fixture: of the flags, and of the settings beside it.
type fixtureTerms struct {
	home     home // masks the secrets, too
	rules    match.Rules
	fill     recording.Fill
	settings recording.Settings
}

// beside returns what holds for a fixture. named are the files and folders of the arguments.
func (f fillFlag) beside(h home, r ruleFlags, fixture string, named []string) (t fixtureTerms, err error) {
	t.home = h
	fill, err := recording.ParseFill(f.fill)
	if err != nil {
		return t, err
	}
	t.settings, err = recording.SettingsFor(fixture, named)
	if err != nil {
		return t, err
	}
	t.fill = t.settings.With(fill)
	t.home.Secrets.Values = slices.Concat(h.Secrets.Values, t.fill.Values())
	r.ignore = slices.Concat(r.ignore, t.settings.Ignore)
	r.normalize = slices.Concat(r.normalize, t.settings.Normalize)
	t.rules, err = r.rules()
	return t, err
}

// warnUnused prints which --ignore names no place in any message. read passes the recorded
// sessions through a projection.
func (r *ruleFlags) warnUnused(w io.Writer, rules match.Rules, read func(timeline.Projection) error) error {
	places := rules.UnusedPlaces()
	if len(places.Left()) == 0 {
		return nil
	}
	if err := read(places); err != nil {
		return err
	}
	for _, p := range places.Left() {
		if !slices.Contains(r.ignore, p.String()) { // of the settings of many fixtures
			continue
		}
		fmt.Fprintf(w, "mcprec: --ignore %s matches nothing: no message has that place\n", phrase.ShellWord(p.String()))
	}
	return nil
}

// modelFlags are the flags --client and --server.
type modelFlags struct{ client, server string }

func (m *modelFlags) addFlags(cmd *cobra.Command, initial, more string) {
	add := func(end, other string, value *string) {
		cmd.Flags().StringVar(value, end, initial, "the "+end+"'s `MODEL`"+strings.ReplaceAll(more, "OTHER", other))
		words := append(closed.ModelNames(), "notification-queue=")
		for _, p := range closed.Presets() {
			if p.End == 0 || p.End.Sender() == end {
				words = append(words, p.SDK+"@"+p.Through)
			}
		}
		completeWords(cmd, end, words...)
	}
	add("client", "server", &m.client)
	add("server", "client", &m.server)
}

// parse reads the models. A model that is not given is free.
func (m modelFlags) parse() (ends closed.Models, err error) {
	if m.client != "" {
		ends.Client, err = closed.ParseEnd(transport.ClientToServer, m.client)
		if err != nil {
			return ends, wrongValue("client", m.client, err)
		}
	}
	if m.server != "" {
		ends.Server, err = closed.ParseEnd(transport.ServerToClient, m.server)
		if err != nil {
			return ends, wrongValue("server", m.server, err)
		}
	}
	return ends, nil
}
