package closed

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mcprec/mcprec/replay/internal/replaytest"
	"github.com/mcprec/mcprec/store/jsonl"
)

func load(t testing.TB, lines string) *Recording {
	t.Helper()
	r, err := Load(replaytest.SequenceOf(replaytest.Session(t, lines)))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// setup reads "client server capacity".
func setup(t testing.TB, words string) Setup {
	t.Helper()
	f := strings.Fields(words)
	x, err := ParseExpectation(fmt.Sprintf("pass client=%s server=%s buffer=%s", f[0], f[1], f[2]))
	if err != nil {
		t.Fatal(err)
	}
	return x[0].Setup
}

// The sessions that several tests play.
const (
	seed = `> 1:initialize
		< 1=
		> ~initialized
		> 2:call!
		< ~progress
		< 2=`
	crossing = `> 1:call
		< 1:sampling/createMessage
		> 1=
		< 1=`
	flood = `> ~a
		< ~b
		> ~a
		< ~b
		> ~a
		< ~b`
)

// TestRefusedAnswer: an answer that HTTP refuses is not the answer of its request.
func TestRefusedAnswer(t *testing.T) {
	r, err := Load(jsonl.Decode(strings.NewReader(replaytest.RefusedAnswer)))
	if err != nil {
		t.Fatal(err)
	}
	got := ""
	for i, m := range r.messages {
		if m.pair >= 0 {
			got += fmt.Sprintf("%d-%d ", r.frameOf(int32(i)).seq, r.frameOf(m.pair).seq)
		}
	}
	if want := "3-13 5-11 11-5 13-3 "; got != want {
		t.Errorf("the pairs are %s, want %s", got, want)
	}
}
