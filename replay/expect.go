package replay

import (
	"fmt"
	"slices"
	"strings"
)

// categories are the words that may follow "hang".
var categories = []string{HeadOn, Swallowed, NeverSent, "lost answer", Mutual, "blocked handler", "lock", "timer only"}

// Expectation is a verdict that a recording must give under a setup.
type Expectation struct {
	Verdict  string
	Category string // "": any
	Setup    Setup
}

// ParseExpectation reads the Expect text of a session's header: expectations
// separated by ';', each a verdict word, for a hang perhaps its category, and
// then any of client=MODEL, server=MODEL, capacity=N, c2s=N, s2c=N (N may be
// unbounded). What is not named is free, free and 0.
//
//	hang swallowed client=inbox:0; pass client=free capacity=10
func ParseExpectation(s string) ([]Expectation, error) {
	var list []Expectation
	for part := range strings.SplitSeq(s, ";") {
		if strings.TrimSpace(part) == "" {
			continue
		}
		x, err := parseExpectation(strings.Fields(part))
		if err != nil {
			return nil, fmt.Errorf("parse expectation %q: %w", strings.TrimSpace(part), err)
		}
		list = append(list, x)
	}
	return list, nil
}

func parseExpectation(words []string) (Expectation, error) {
	i := slices.IndexFunc(words, func(w string) bool { return strings.Contains(w, "=") })
	if i < 0 {
		i = len(words)
	}
	if i == 0 || words[0] != Pass && words[0] != Hang {
		return Expectation{}, fmt.Errorf("begin with %s or %s", Pass, Hang)
	}
	x := Expectation{Verdict: words[0], Category: strings.Join(words[1:i], " ")}
	if x.Category != "" && (x.Verdict == Pass || !slices.Contains(categories, x.Category)) {
		return x, fmt.Errorf("category %q: a hang may have one of: %s", x.Category, strings.Join(categories, ", "))
	}
	for _, w := range words[i:] {
		key, value, _ := strings.Cut(w, "=")
		if err := x.Setup.set(key, value); err != nil {
			return x, err
		}
	}
	return x, nil
}

func (s *Setup) set(key, value string) (err error) {
	switch key {
	case "client":
		s.Client, err = ParseModel(value)
	case "server":
		s.Server, err = ParseModel(value)
	case "capacity":
		s.Capacity, err = ParseCapacity(value)
	case "c2s":
		s.Capacity.C2S, err = ParseRoom(value)
	case "s2c":
		s.Capacity.S2C, err = ParseRoom(value)
	default:
		err = fmt.Errorf("key %q: want client, server, capacity, c2s or s2c", key)
	}
	return err
}

// String returns what ParseExpectation reads, with every default named.
func (x Expectation) String() string {
	verdict := x.Verdict
	if x.Category != "" {
		verdict += " " + x.Category
	}
	return fmt.Sprintf("%s client=%v server=%v c2s=%v s2c=%v", verdict, x.Setup.Client, x.Setup.Server, x.Setup.Capacity.C2S, x.Setup.Capacity.S2C)
}

// Check plays the recording and returns an error, with the verdict's text, when
// it is not what was expected.
func (x Expectation) Check(r *Recording) error {
	v := Closed(r, x.Setup)
	if v.Verdict == x.Verdict && (x.Category == "" || x.Category == v.Category) {
		return nil
	}
	return fmt.Errorf("check expectation %q: got %s", x, v.Text())
}
