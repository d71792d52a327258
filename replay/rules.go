package replay

import "fmt"

// Rules say how live messages are compared with recorded ones. The zero value
// compares everything but ids, progress tokens and who asks.
type Rules struct {
	By        Strictness
	Ignore    []Pointer                                 // places that are not compared
	Normalize []Normalizer                              // applied to both sides before they are compared
	Match     Matcher                                   // gives requests their Key; nil: By decides
	Mask      func(place []string, value []byte) []byte // what reports show of a JSON value; nil: all of it
	AnyOrder  bool                                      // a notification may come on either side of its call's answer, and before an earlier one
}

// Strictness says what a live request must have in common with the recorded one
// whose answer it gets.
type Strictness uint8

const (
	// ByParams: the method and the params.
	ByParams Strictness = iota
	// ByMethod: the method alone; the queue is in recorded order.
	ByMethod
	// ByOrder: the method, and its place among the requests.
	ByOrder
	// Strict: as ByParams, with the identities in _meta and numbers as written.
	Strict
)

var strictnesses = [...]string{"params", "method", "order", "strict"}

// String returns the name that ParseStrictness takes.
func (s Strictness) String() string {
	if int(s) < len(strictnesses) {
		return strictnesses[s]
	}
	return fmt.Sprintf("Strictness(%d)", s)
}

// ParseStrictness reads params, method, order or strict.
func ParseStrictness(name string) (Strictness, error) {
	for i, n := range strictnesses {
		if n == name {
			return Strictness(i), nil
		}
	}
	return 0, fmt.Errorf("match %q: want params, method, order or strict", name)
}
