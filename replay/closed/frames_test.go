package closed

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mcprec/mcprec/replay/internal/replaytest"
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
	x, err := ParseExpectation(fmt.Sprintf("pass client=%s server=%s capacity=%s", f[0], f[1], f[2]))
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
