package standin

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mcprec/mcprec/replay/match"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
)

// A playbook is frames, one a line: "> " from the client, "< " from the server,
// "~" where the client falls silent, "." where it ends. Other lines are remarks.

// recordPlaybook makes the events of a session.
func recordPlaybook(text string) []store.Event {
	h := store.Header{ID: "00000000-0000-8000-8000-000000000000", Transport: "stdio"}
	events := []store.Event{{Seq: 1, Kind: store.Opened, Payload: h.Encode()}}
	for line := range strings.Lines(text) {
		mark, frame, _ := strings.Cut(strings.TrimSpace(line), " ")
		dir := map[string]transport.Direction{">": transport.ClientToServer, "<": transport.ServerToClient}[mark]
		if dir != transport.NoDirection {
			events = append(events, store.Event{Seq: uint64(len(events) + 1), Kind: store.Frame, Dir: dir, Payload: []byte(frame)})
		}
	}
	return events
}

// perform plays the client's lines of a playbook to p and returns the playbook
// with what p said.
func perform(p *Player, text string) string { return converse(p, text, ">", "<") }

// livePart is what Player and Driver have in common.
type livePart interface {
	Start() []transport.Frame
	Receive(transport.Frame) []transport.Frame
	GiveUpWaiting() []transport.Frame
}

// converse plays the other end's lines of a playbook, those with the mark, to p
// and returns the playbook with what p said.
func converse(p livePart, text, mark, own string) string {
	var b strings.Builder
	say := func(frames []transport.Frame) {
		for _, f := range frames {
			fmt.Fprintf(&b, "%s %s\n", own, f.Bytes)
		}
	}
	say(p.Start())
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		switch {
		case line == "~":
			b.WriteString("~\n")
			say(p.GiveUpWaiting())
		case line == ".":
			b.WriteString(".\n")
			if player, is := p.(*Player); is {
				say(player.End())
			}
		case strings.HasPrefix(line, mark+" "):
			b.WriteString(line + "\n")
			say(p.Receive(transport.Frame{Bytes: []byte(line[2:])}))
		}
	}
	return b.String()
}

// tidy drops a playbook's indentation and remarks.
func tidy(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line == "~" || line == "." || strings.HasPrefix(line, "> ") || strings.HasPrefix(line, "< ") {
			b.WriteString(line + "\n")
		}
	}
	return b.String()
}

// compareFindings compares what a replay found, in any order.
func compareFindings(t *testing.T, verdicts []match.StepVerdict, want []string) {
	t.Helper()
	var got []string
	for _, v := range verdicts {
		got = append(got, v.String())
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("findings\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
