package closed

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mcprec/mcprec/transport"
)

// Expectation is the verdict that a recording must have under a setup.
type Expectation struct {
	Verdict  string
	Category string // "": any
	Setup    Setup
}

// ParseExpectation reads the Expect text of a session's header: expectations separated by
// ';', each a verdict, for a hang perhaps a category, and then any of client=MODEL,
// server=MODEL, buffer=N, c2s=N, s2c=N (N may be unbounded; [ParseEnd] reads a MODEL). The
// defaults are independent, independent and 0.
//
//	hang blocked behind a notification client=notification-queue=0; pass client=independent buffer=10
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
	var categories []string
	for _, term := range CategoryTerms() {
		categories = append(categories, term.Word)
	}
	if x.Category != "" && (x.Verdict == Pass || !slices.Contains(categories, x.Category)) {
		return x, fmt.Errorf("category %q: a hang may have one of: %s", x.Category, strings.Join(categories, ", "))
	}
	for _, w := range words[i:] {
		key, value, _ := strings.Cut(w, "=")
		var err error
		switch key {
		case "client":
			x.Setup.Client, err = ParseEnd(transport.ClientToServer, value)
		case "server":
			x.Setup.Server, err = ParseEnd(transport.ServerToClient, value)
		case "buffer":
			x.Setup.Capacity, err = ParseCapacity(value)
		case "c2s":
			x.Setup.Capacity.C2S, err = ParseRoom(value)
		case "s2c":
			x.Setup.Capacity.S2C, err = ParseRoom(value)
		default:
			err = fmt.Errorf("key %q: want client, server, buffer, c2s or s2c", key)
		}
		if err != nil {
			return x, err
		}
	}
	return x, nil
}

// String returns what ParseExpectation reads, with every default named.
func (x Expectation) String() string {
	verdict := x.Verdict
	if x.Category != "" {
		verdict += " " + x.Category
	}
	return fmt.Sprintf("%s client=%v server=%v c2s=%v s2c=%v", verdict, x.Setup.Client, x.Setup.Server, x.Setup.Capacity.C2S, x.Setup.Capacity.S2C)
}

// Check plays the recording and returns an error with the verdict's text if the verdict is
// another.
func (x Expectation) Check(recording *Recording) error {
	v := Replay(recording, x.Setup)
	if v.Verdict == x.Verdict && (x.Category == "" || x.Category == v.Category) {
		return nil
	}
	return fmt.Errorf("check expectation %q: got %s", x, v.Text())
}
