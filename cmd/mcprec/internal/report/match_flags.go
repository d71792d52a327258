package report

import (
	"slices"
	"strconv"
	"strings"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/output"
	"github.com/mcprec/mcprec/replay/match"
	"github.com/mcprec/mcprec/transport/phrase"
)

// mostPlaces is how many places --ignore names one by one. Above that number it names the common
// beginning of the places.
const mostPlaces = 3

// MatchFlags returns the fewest flags under which a message with these differences, and more, would
// match. A difference outside the message, such as a status, has no flag.
func MatchFlags(differences []match.Difference, more int) (flags []string) {
	var places []string
	normalize := map[string]bool{}
	for _, d := range differences {
		path := d.Path + d.Within
		root := rootOf(path)
		switch {
		case !slices.Contains([]string{"/params", "/result", "/error"}, root):
			return nil
		case more > 0: // the others may be anywhere below the root
			places = append(places, root)
		case d.Hint != "":
			for name := range strings.SplitSeq(d.Hint, ",") {
				normalize[name] = true
			}
		default:
			for output.Plain(path) != path { // the nearest printable place above
				path = path[:strings.LastIndexByte(path, '/')]
			}
			places = append(places, path)
		}
	}
	for _, path := range combine(places) {
		flags = append(flags, "--ignore "+phrase.ShellWord(path))
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

// MatchLine returns the line with the flags.
func MatchLine(flags []string) string { return "to let it match: " + strings.Join(flags, " ") }

func rootOf(path string) string {
	root, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	return "/" + root
}

// combine returns a few pointers that cover the places: with * for the elements of lists, or
// else with the common beginnings.
func combine(places []string) []string {
	all := unique(places)
	places = slices.DeleteFunc(slices.Clone(all), func(path string) bool { // a place above is in the list
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
		x := strings.Split(common[i], "/")
		y := strings.Split(path, "/")
		n := 0
		for n < min(len(x), len(y)) && x[n] == y[n] {
			n++
		}
		common[i] = strings.Join(x[:n], "/")
	}
	return common
}

// UnexpectedLines returns the lines with the flags under which the unexpected requests of a client
// would match, and with the way to record them. No flag lets a request for another tool or
// resource match.
func UnexpectedLines(verdicts []match.StepVerdict) []string {
	var flags []string
	missed := false
	for _, v := range verdicts {
		if v.Result != match.Extra || len(v.Differences) == 0 {
			continue
		}
		missed = true
		other := func(d match.Difference) bool { return d.Path == "/params/name" || d.Path == "/params/uri" }
		if !slices.ContainsFunc(v.Differences, other) {
			flags = append(flags, MatchFlags(v.Differences, v.More)...)
		}
	}
	const record = "to record it as well: --mode new_episodes FILE -- COMMAND"
	switch {
	case !missed:
		return nil
	case len(flags) == 0:
		return []string{record}
	}
	return []string{MatchLine(unique(flags)) + "; " + record}
}

func unique[T comparable](list []T) (kept []T) {
	for _, s := range list {
		if !slices.Contains(kept, s) {
			kept = append(kept, s)
		}
	}
	return kept
}
