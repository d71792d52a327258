package explore

import "fmt"

// Level says what an exploration may change.
type Level uint8

const (
	// L0, transport-legal: only delivery moves, and every sender keeps its own
	// order. A failure is one of this pair.
	L0 Level = iota
	// L1, protocol-legal: a recorded half sends in any order that the specification
	// allows. A failure means that the other end is not robust against peers that
	// keep to it. Live ends are as at L0.
	L1
)

var levelNames = [...]string{"L0", "L1"}

// String returns "L0" or "L1".
func (l Level) String() string { return levelNames[l] }

// ParseLevel reads what String returns.
func ParseLevel(s string) (Level, error) {
	for l, name := range levelNames {
		if s == name {
			return Level(l), nil
		}
	}
	return L0, fmt.Errorf("level %q: this version knows L0 and L1", shorten(s))
}

// MarshalText writes the level as String does.
func (l Level) MarshalText() ([]byte, error) { return []byte(l.String()), nil }

// UnmarshalText reads what ParseLevel reads.
func (l *Level) UnmarshalText(b []byte) (err error) {
	*l, err = ParseLevel(string(b))
	return err
}
