package closed

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/mcprec/mcprec/replay/internal/replaytest"
	"github.com/mcprec/mcprec/transport"
)

// Judge and Replay are of one mind.
func TestJudge(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 11))
	hangs := 0
	for range 2000 {
		lines := replaytest.RandomLines(rng, rng.IntN(30))
		r, s := load(t, lines), randomSetup(rng)
		o, v := Judge(r, s), Replay(r, s)
		if o.Verdict != v.Verdict || o.Category != v.Category || o.C2S < v.Frames.C2S.Taken || o.S2C < v.Frames.S2C.Taken {
			t.Fatalf("%v: %+v\n%s\n%s", s, o, lines, v.Text())
		}
		if o.Verdict == Pass {
			continue
		}
		hangs++
		if o.Shape == "" || strings.ContainsAny(o.Shape, "#0123456789") || len(o.Involved) == 0 || !slices.IsSorted(o.Involved) {
			t.Errorf("%v: %+v", s, o)
		}
	}
	if hangs < 200 {
		t.Errorf("%d hangs: they say little", hangs)
	}
}

func TestJudgeShape(t *testing.T) {
	r := load(t, "> 1:call!\n< ~progress\n< 1=")
	o := Judge(r, Setup{Client: NotificationQueue(0)})
	if want := "client call > client answer > client reader (notification) > client queue"; o.Shape != want || len(o.Involved) != 3 {
		t.Errorf("%+v, want %s", o, want)
	}
	if r.Frames(transport.ServerToClient) != o.S2C {
		t.Errorf("%d messages said by the server, want %d: the answer was in its hand", o.S2C, r.Frames(transport.ServerToClient))
	}
}
