package replaytest

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/mcprec/mcprec/transport/mcp"
)

// talk makes random sessions: what two peers might say, and some that no
// conforming peer says (orphans, ids used twice, noise).
type talk struct {
	*rand.Rand
	lines []string
	next  int
	open  [2][]int // ids of open requests, by who asked: 0 client, 1 server
}

// RandomLines returns a random session of about that many frames, in the words of Session.
func RandomLines(rng *rand.Rand, frames int) string {
	t := &talk{Rand: rng}
	if rng.IntN(2) == 0 {
		t.lines = append(t.lines, "> 0:initialize", "< 0=", "> ~initialized")
	}
	busy := rng.IntN(3) == 0 // both ends initiate and hardly answer
	for range frames {
		if busy && rng.IntN(8) > 0 {
			t.initiate(rng.IntN(2))
		} else {
			t.say(rng.IntN(2))
		}
	}
	return strings.Join(t.lines, "\n")
}

func (t *talk) say(who int) {
	arrow := "><"[who : who+1]
	word := ""
	switch n := t.IntN(100); {
	case n < 25:
		t.next++
		t.open[who] = append(t.open[who], t.next)
		word = fmt.Sprintf("%d:%s", t.next, [...]string{"call", "call!", mcp.MethodPing, mcp.MethodListen, mcp.MethodListTools}[t.IntN(5)])
	case n < 60 && len(t.open[1-who]) > 0:
		word = t.answer(1 - who)
	case n < 80:
		word = [...]string{"~progress", "~message", "~tools/list_changed"}[t.IntN(3)]
	case n < 84 && len(t.open[who]) > 0:
		word = fmt.Sprintf("~cancelled:%d", t.open[who][t.IntN(len(t.open[who]))])
	case n < 88 && len(t.open[1-who]) > 0:
		word = "[~progress " + t.answer(1-who) + "]"
	case n < 90:
		word = "not a message"
	case n < 92:
		word = "99="
	case n < 96:
		word = fmt.Sprintf("@%d", 1+t.IntN(len(t.lines)+1))
	default:
		word = "~message"
	}
	t.lines = append(t.lines, arrow+" "+word)
}

func (t *talk) initiate(who int) {
	t.next++
	word := "~message"
	if t.IntN(3) == 0 {
		t.open[who] = append(t.open[who], t.next)
		word = fmt.Sprintf("%d:ping", t.next)
	}
	t.lines = append(t.lines, "><"[who:who+1]+" "+word)
}

func (t *talk) answer(asked int) string {
	ids := t.open[asked]
	i := t.IntN(len(ids))
	id := ids[i]
	t.open[asked] = append(ids[:i:i], ids[i+1:]...)
	return fmt.Sprintf("%d=", id)
}
