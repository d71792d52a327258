package order

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/transport/mcp"
)

// TestUsed: whatever ids a peer takes, in whatever order, all that were added are in the set, and no others. Of a
// peer that counts next to nothing is kept.
func TestUsed(t *testing.T) {
	const many = 4 * maxRanges
	for name, key := range map[string]func(i int) mcp.Key{
		"numbers":           func(i int) mcp.Key { return mcp.Key(fmt.Sprint(i)) },
		"every other":       func(i int) mcp.Key { return mcp.Key(fmt.Sprint(2 * i)) },
		"negative":          func(i int) mcp.Key { return mcp.Key(fmt.Sprint(-i)) },
		"beyond an int64":   func(i int) mcp.Key { return mcp.Key(fmt.Sprintf("99999999999999%05d", i)) },
		"fractions":         func(i int) mcp.Key { return mcp.Key(fmt.Sprintf("%d.5", i)) },
		"texts of numbers":  func(i int) mcp.Key { return mcp.Key(fmt.Sprintf("%q", fmt.Sprint(i))) },
		"what are no ids":   func(i int) mcp.Key { return mcp.Key(fmt.Sprintf("[%d]", i)) },
		"the largest int64": func(i int) mcp.Key { return mcp.Key(fmt.Sprint(int64(^uint64(0)>>1) - int64(i))) },
	} {
		for _, order := range [][]int{nil, rand.Perm(many)} {
			var set used
			for i := range many {
				if order != nil {
					i = order[i]
				}
				set.add(key(i))
				set.add(key(i))
			}
			for i := range many {
				if !set.has(key(i)) || !set.hasEither(key(i)) {
					t.Fatalf("%s: %s is not in the set", name, key(i))
				}
			}
			for _, other := range []mcp.Key{"", "null", `"other"`, "77777777", "-77777777", "0.25"} {
				if set.has(other) {
					t.Errorf("%s: %s is in the set", name, other)
				}
			}
			if n := len(set.ranges) + len(set.hashes); order == nil && (name == "numbers" || name == "negative") && n != 1 || len(set.ranges) > maxRanges {
				t.Errorf("%s: %d ranges and %d hashes", name, len(set.ranges), len(set.hashes))
			}
		}
	}
}

// TestRefusedMany: a client may send again under its id what HTTP refused, however many there are, and once only.
func TestRefusedMany(t *testing.T) {
	s := newSession("", []string{`>1`})
	s.model = timeline.NewModel(timeline.Remembered)
	for _, line := range shaken() {
		s.play(t, line)
	}
	const many = 3 * timeline.Remembered
	line := func(sign string, stream, id int) string {
		return fmt.Sprintf(`>%s%d {"id":%d,"method":"x"}`, sign, stream, id)
	}
	for id := range many {
		s.play(t, line("", 100+id, 1000+id))
		s.play(t, line("r", 100+id, 1000+id))
	}
	for id := range many {
		s.play(t, line("", 1000+id, 1000+id))
		s.play(t, fmt.Sprintf(`<%d {"id":%d,"result":{}}`, 1000+id, 1000+id))
	}
	if len(s.found) > 0 {
		t.Fatalf("found %v", s.found[0])
	}
	s.play(t, line("", 5000, 1000))
	if len(s.found) != 1 || s.found[0].Title != idNotUsed.title {
		t.Errorf("an id that was used again: found %v", s.found)
	}
}
