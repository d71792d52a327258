package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcprec/mcprec/replay"
)

// ruleFlags are the flags that say how live messages are compared with recorded
// ones.
type ruleFlags struct {
	by        string
	ignore    []string
	normalize []string
}

func (r *ruleFlags) addFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&r.by, "match", "params", "what a request must have in common with the recorded one: params,\nmethod, order (method and place), or strict")
	f.StringArrayVar(&r.ignore, "ignore", nil, "a JSON `POINTER` from the message's root, as /params/arguments/when or\n/result/content/*/text, to a place that is not compared; in a text that is\nJSON itself it goes on; may be repeated")
	f.StringSliceVar(&r.normalize, "normalize", nil, "the `NAMES` of normalizers, which make values comparable: see below")
	completeWords(cmd, "match", "params", "method", "order", "strict")
	completeWords(cmd, "normalize", normalizerWords()...)
}

// rules reads the flags.
func (r *ruleFlags) rules() (rules replay.Rules, err error) {
	if rules.By, err = replay.ParseStrictness(r.by); err != nil {
		return rules, usagef("--%v", err)
	}
	for _, text := range r.ignore {
		p, err := replay.ParsePointer(text)
		if err != nil {
			return rules, usagef("--ignore: %v", err)
		}
		rules.Ignore = append(rules.Ignore, p)
	}
	if len(r.normalize) > 0 {
		if rules.Normalize, err = replay.ParseNormalizers(strings.Join(r.normalize, ",")); err != nil {
			return rules, usagef("--normalize: %v", err)
		}
	}
	return rules, nil
}

// warnUnused says on w which --ignore named no place in any message. read passes the
// recorded sessions through a projection.
func (r *ruleFlags) warnUnused(w io.Writer, rules replay.Rules, read func(replay.Projection) error) error {
	places := rules.UnusedPlaces()
	if len(places.Left()) == 0 {
		return nil
	}
	if err := read(places); err != nil {
		return err
	}
	for _, p := range places.Left() {
		fmt.Fprintf(w, "mcprec: --ignore %s matches nothing: no message has that place\n", shellWord(p.String()))
	}
	return nil
}

func normalizerWords() (names []string) {
	for _, n := range replay.Normalizers() {
		names = append(names, n.Name)
	}
	return names
}

// normalizerHelp lists the normalizers for a command's help.
func normalizerHelp() string {
	var b strings.Builder
	b.WriteString("Normalizers, by name, none of which is on by itself:\n")
	for _, n := range replay.Normalizers() {
		fmt.Fprintf(&b, "  %-9s %s\n", n.Name, n.Does)
	}
	return b.String()
}
