package releases

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Range is a part of the releases of a package.
type Range struct {
	Kind        string // of the registry: npm or go
	Name        string
	First, Last string // versions; "": the oldest, the newest
}

// ParseRange reads a range such as npm:@scope/name@1.0.0..2.0.0.
func ParseRange(text string) (r Range, err error) {
	kind, rest, hasKind := strings.Cut(text, ":")
	at := strings.LastIndexByte(rest, '@')
	if !hasKind || at <= 0 || !strings.Contains(rest[at:], "..") {
		return r, fmt.Errorf("%s: want npm:NAME@A..B or go:MODULE@A..B", text)
	}
	if registries[kind] == nil {
		return r, fmt.Errorf("%s: there is no registry %q here; want npm:NAME@A..B or go:MODULE@A..B", text, kind)
	}
	r = Range{Kind: kind, Name: rest[:at]}
	r.First, r.Last, _ = strings.Cut(rest[at+1:], "..")
	if strings.HasPrefix(r.Name, "-") || strings.ContainsAny(r.Name, " \t\n\\") {
		return r, fmt.Errorf("%s: %q is no name of a package", text, r.Name)
	}
	if r.First != "" && r.Last != "" && Compare(r.First, r.Last) > 0 {
		return r, fmt.Errorf("%s: %s comes before %s", text, r.Last, r.First)
	}
	return r, nil
}

// String is the inverse of ParseRange.
func (r Range) String() string { return fmt.Sprintf("%s:%s@%s..%s", r.Kind, r.Name, r.First, r.Last) }

// of returns the versions of a list that lie in the range, in their order. A pre-release counts only where it is
// an end of the range.
func (r Range) of(versions []string) (list []string, err error) {
	for _, end := range []string{r.First, r.Last} {
		if end != "" && !slices.Contains(versions, end) {
			return nil, fmt.Errorf("%s has no release %s; the newest is %s", r.Name, end, newest(versions))
		}
	}
	for _, v := range versions {
		isEnd := v == r.First || v == r.Last
		isIn := (r.First == "" || Compare(v, r.First) >= 0) && (r.Last == "" || Compare(v, r.Last) <= 0)
		if _, _, isPre := strings.Cut(withoutBuild(v), "-"); isEnd || isIn && !isPre {
			list = append(list, v)
		}
	}
	slices.SortFunc(list, Compare)
	return slices.Compact(list), nil
}

func newest(versions []string) string {
	if len(versions) == 0 {
		return "none"
	}
	return slices.MaxFunc(versions, Compare)
}

func withoutBuild(version string) string {
	version, _, _ = strings.Cut(version, "+")
	return version
}

// Compare compares two versions as Semantic Versioning 2.0.0 does, with or without a leading v.
func Compare(a, b string) int {
	numbers := func(version string) (core []string, pre string) {
		version, pre, _ = strings.Cut(strings.TrimPrefix(withoutBuild(version), "v"), "-")
		return strings.Split(version, "."), pre
	}
	coreA, preA := numbers(a)
	coreB, preB := numbers(b)
	if order := slices.CompareFunc(coreA, coreB, compareParts); order != 0 {
		return order
	}
	switch {
	case preA == preB:
		return 0
	case preA == "": // a release comes behind its pre-releases
		return 1
	case preB == "":
		return -1
	}
	return slices.CompareFunc(strings.Split(preA, "."), strings.Split(preB, "."), compareParts)
}

// compareParts compares two parts of versions: numbers by their value, and before words.
func compareParts(a, b string) int {
	x, errX := strconv.ParseUint(a, 10, 64)
	y, errY := strconv.ParseUint(b, 10, 64)
	switch {
	case errX == nil && errY == nil:
		return cmp.Compare(x, y)
	case errX == nil:
		return -1
	case errY == nil:
		return 1
	}
	return strings.Compare(a, b)
}
