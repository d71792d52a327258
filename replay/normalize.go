package replay

import (
	"fmt"
	"strings"
)

// Normalizer makes the values of two runs comparable: a plain function with a name,
// applied to texts and numbers of both sides.
type Normalizer struct {
	Name  string
	Does  string // one line for a list
	Apply func(string) string
}

// Normalizers returns those that have a name on the command line.
func Normalizers() []Normalizer { return nil }

// ParseNormalizers reads a list of names: uuid,time.
func ParseNormalizers(names string) ([]Normalizer, error) {
	var list []Normalizer
	for name := range strings.SplitSeq(names, ",") {
		found := false
		for _, n := range Normalizers() {
			if n.Name == strings.TrimSpace(name) {
				list, found = append(list, n), true
			}
		}
		if !found {
			return nil, fmt.Errorf("normalizer %q: want some of %s", name, normalizerNames())
		}
	}
	return list, nil
}

func normalizerNames() string {
	var names []string
	for _, n := range Normalizers() {
		names = append(names, n.Name)
	}
	return strings.Join(names, ", ")
}
