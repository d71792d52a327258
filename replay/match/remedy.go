package match

import (
	"slices"
	"strconv"
	"strings"

	"github.com/mcprec/mcprec/transport/phrase"
)

// mostPlaces is how many places Remedy names one by one. Above that number it names the common
// beginning of the places.
const mostPlaces = 3

// Remedy returns the fewest pointers to ignore and normalizers under which a message with these differences, and
// more, would match. There are none for a difference outside the message, such as a status, and none that would hide
// a broken call: a whole result, an error, or isError.
func Remedy(differences []Difference, more int) (ignore, normalize []string) {
	var places []string
	normal := map[string]bool{}
	for _, d := range differences {
		path := d.Path + d.Within
		root := rootOf(path)
		switch {
		case !slices.Contains([]string{"/params", "/result", "/error"}, root):
			return nil, nil
		case more > 0: // the others may be anywhere below the root
			places = append(places, root)
		case d.Hint != "":
			for name := range strings.SplitSeq(d.Hint, ",") {
				normal[name] = true
			}
		default:
			for phrase.OneLine(path) != path { // the nearest printable place above
				path = path[:strings.LastIndexByte(path, '/')]
			}
			places = append(places, path)
		}
	}
	for _, n := range Normalizers() {
		if normal[n.Name] {
			normalize = append(normalize, n.Name)
		}
	}
	if ignore = combine(places); slices.ContainsFunc(ignore, hidesFailure) {
		return nil, nil
	}
	return ignore, normalize
}

// hidesFailure reports whether a call that fails would be as one that works if the place were ignored.
func hidesFailure(path string) bool {
	return path == "/result" || path == "/result/isError" || rootOf(path) == "/error"
}

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

func unique[T comparable](list []T) (kept []T) {
	for _, s := range list {
		if !slices.Contains(kept, s) {
			kept = append(kept, s)
		}
	}
	return kept
}
