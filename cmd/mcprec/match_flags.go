package main

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/exit"
	"github.com/mcprec/mcprec/cmd/mcprec/internal/terminal"
	"github.com/mcprec/mcprec/replay/match"
	"github.com/mcprec/mcprec/replay/timeline"
)

// ruleFlags are the flags for comparing live messages with recorded ones.
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
	completeWords(cmd, "normalize", namesOf(match.Normalizers(), func(n match.Normalizer) string { return n.Name })...)
}

func (r *ruleFlags) rules() (rules match.Rules, err error) {
	if rules.By, err = match.ParseStrictness(r.by); err != nil {
		return rules, exit.Usagef("--%v", err)
	}
	for _, text := range r.ignore {
		p, err := match.ParsePointer(text)
		if err != nil {
			return rules, exit.Usagef("--ignore: %v", err)
		}
		rules.Ignore = append(rules.Ignore, p)
	}
	if len(r.normalize) > 0 {
		if rules.Normalize, err = match.ParseNormalizers(strings.Join(r.normalize, ",")); err != nil {
			return rules, exit.Usagef("--normalize: %v", err)
		}
	}
	return rules, nil
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
		fmt.Fprintf(w, "mcprec: --ignore %s matches nothing: no message has that place\n", terminal.ShellWord(p.String()))
	}
	return nil
}

func normalizerHelp() string {
	return "Normalizers, by name, none of which is on by itself:\n" +
		helpTable(8, match.Normalizers(), func(n match.Normalizer) (string, string) { return n.Name, n.Does })
}

// mostPlaces is how many places --ignore names one by one. Of more places it names what they
// have in common.
const mostPlaces = 3

// flagsToMatch returns the flags under which a message would match that differs in these places
// and in so many more: as few as will do. There are none for a difference outside the message,
// such as a status.
func flagsToMatch(differences []match.Difference, more int) (flags []string) {
	var places []string
	normalize := map[string]bool{}
	for _, d := range differences {
		path := d.Path + d.Within
		root := rootOf(path)
		switch {
		case !slices.Contains([]string{"/params", "/result", "/error"}, root):
			return nil
		case more > 0: // those may be anywhere below the root
			places = append(places, root)
		case d.Hint != "":
			for name := range strings.SplitSeq(d.Hint, ",") {
				normalize[name] = true
			}
		default:
			for terminal.Plain(path) != path { // the nearest place above that can be printed as it is
				path = path[:strings.LastIndexByte(path, '/')]
			}
			places = append(places, path)
		}
	}
	for _, path := range combine(places) {
		flags = append(flags, "--ignore "+terminal.ShellWord(path))
	}
	var names []string
	for _, n := range match.Normalizers() {
		if normalize[n.Name] {
			names = append(names, n.Name)
		}
	}
	if len(names) > 0 {
		flags = append(flags, "--normalize "+strings.Join(names, ","))
	}
	return flags
}

func letMatch(flags []string) string { return "to let it match: " + strings.Join(flags, " ") }

func rootOf(path string) string {
	root, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	return "/" + root
}

// combine returns a few pointers that cover all of these: with * for elements of lists, or else
// with what the pointers have in common.
func combine(places []string) []string {
	all := unique(places)
	places = slices.DeleteFunc(slices.Clone(all), func(path string) bool { // one above it is among them
		return slices.ContainsFunc(all, func(above string) bool { return strings.HasPrefix(path, above+"/") })
	})
	if len(places) <= mostPlaces {
		return places
	}
	for i, path := range places {
		steps := strings.Split(path, "/")
		for j, step := range steps {
			if _, err := strconv.ParseUint(step, 10, 64); err == nil {
				steps[j] = "*"
			}
		}
		places[i] = strings.Join(steps, "/")
	}
	if places = unique(places); len(places) <= mostPlaces {
		return places
	}
	var common []string
	for _, path := range places {
		i := slices.IndexFunc(common, func(c string) bool { return rootOf(c) == rootOf(path) })
		if i < 0 {
			common = append(common, path)
			continue
		}
		x, y := strings.Split(common[i], "/"), strings.Split(path, "/")
		n := 0
		for n < min(len(x), len(y)) && x[n] == y[n] {
			n++
		}
		common[i] = strings.Join(x[:n], "/")
	}
	return common
}

// advice returns the lines that say which flags would let a client's unexpected requests match,
// and how to record them. No flag makes a request match that is for another tool or resource.
func advice(verdicts []match.StepVerdict) []string {
	var flags []string
	missed := false
	for _, v := range verdicts {
		if v.Result != match.Extra || len(v.Differences) == 0 {
			continue
		}
		missed = true
		other := func(d match.Difference) bool { return d.Path == "/params/name" || d.Path == "/params/uri" }
		if !slices.ContainsFunc(v.Differences, other) {
			flags = append(flags, flagsToMatch(v.Differences, v.More)...)
		}
	}
	const record = "to record it as well: --mode new_episodes FILE -- COMMAND"
	switch {
	case !missed:
		return nil
	case len(flags) == 0:
		return []string{record}
	}
	return []string{letMatch(unique(flags)) + "; " + record}
}
