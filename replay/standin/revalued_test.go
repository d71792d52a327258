package standin_test

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"github.com/mcprec/mcprec/replay/match"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
)

// revalued stands between the two halves of a session as if the server were another
// run of the recorded one: the task ids, cursors, request states and elicitation ids
// that it makes up are others, and it knows no others.
type revalued struct {
	live, recorded map[string]string
	clients        map[string]bool // made up by the client
}

var madeAnew = regexp.MustCompile(`"(taskId|nextCursor|cursor|requestState|elicitationId)": ?"([^"\\]+)"`)

func (r *revalued) translate(dir transport.Direction, frame []byte) (said, delivered []byte) {
	if dir == transport.ClientToServer {
		said = r.replace(frame, func(value string) string {
			if was, ok := r.recorded[value]; ok {
				return was
			}
			if _, known := r.live[value]; known {
				return "of the recording" // which the live server never said
			}
			return value
		})
		for _, found := range madeAnew.FindAllSubmatch(said, -1) {
			if value := string(found[2]); r.live[value] == "" {
				r.clients[value] = true
			}
		}
		return said, said
	}
	for _, found := range madeAnew.FindAllSubmatch(frame, -1) {
		if value := string(found[2]); string(found[1]) != "cursor" && r.live[value] == "" && !r.clients[value] {
			r.live[value], r.recorded[another(value)] = another(value), value
		}
	}
	return frame, r.replace(frame, func(value string) string {
		if live, ok := r.live[value]; ok {
			return live
		}
		return value
	})
}

// replace puts other values where the made up ones stand: in their members, and
// those that are long and opaque wherever they are.
func (r *revalued) replace(frame []byte, other func(string) string) []byte {
	frame = madeAnew.ReplaceAllFunc(frame, func(found []byte) []byte {
		value := madeAnew.FindSubmatch(found)[2]
		if opaque.Match(value) {
			return found // see below
		}
		at := bytes.LastIndex(found, value)
		return append(append(bytes.Clone(found[:at]), other(string(value))...), '"')
	})
	return opaque.ReplaceAllFunc(frame, func(value []byte) []byte { return []byte(other(string(value))) })
}

var opaque = regexp.MustCompile(`\b[0-9a-f]{32}\b|\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b`)

// another returns a value of the same sort.
func another(value string) string {
	if opaque.MatchString(value) {
		return strings.Map(func(c rune) rune {
			if c == '-' {
				return c
			}
			return rune("0123456789abcdef"[(strings.IndexRune("0123456789abcdef", c)+1)%16])
		}, value)
	}
	return "other-" + value
}

// TestSelfPlayRevalued: what a server makes up anew in every run is a variable, not
// a difference, and comes back as it was given.
func TestSelfPlayRevalued(t *testing.T) {
	mapped := 0
	eachSession(t, func(t *testing.T, events []store.Event) {
		r := &revalued{live: map[string]string{}, recorded: map[string]string{}, clients: map[string]bool{}}
		s := playBoth(events, transport.ClientToServer, r.translate)
		for _, v := range append(s.player.Verdicts(), s.driver.Verdicts()...) {
			if v.Result != match.Match {
				t.Errorf("%+v", v)
			}
			for _, m := range v.Mapped {
				if mapped++; m.By != "variable" {
					t.Errorf("%+v", v)
				}
			}
		}
		want := said(events)
		for i := range want {
			if got, want := at(s.trace, i), at(want, i); got != want {
				t.Fatalf("frame %d: said\n  %.300s\nfor\n  %.300s", i+1, got, want)
			}
		}
		if len(s.relents) > 0 {
			t.Errorf("relents: %q", s.relents)
		}
	})
	if mapped < 20 {
		t.Errorf("%d values were others: that shows little", mapped)
	}
}
