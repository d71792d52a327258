package report

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/session"
	"github.com/mcprec/mcprec/replay/summary"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport/phrase"
)

// ListedSession is the stable form of list --format json.
type ListedSession struct {
	ID        store.SessionID   `json:"id"`
	Label     string            `json:"label"`
	Start     time.Time         `json:"start"`
	Command   []string          `json:"command"`
	Transport string            `json:"transport"`
	Frames    uint64            `json:"messages"`
	Bytes     uint64            `json:"bytes"`
	Lost      uint64            `json:"lost"`
	Doubtful  uint64            `json:"doubtful,omitempty"`
	State     store.State       `json:"state"`
	Exit      any               `json:"exit"`
	Labels    map[string]string `json:"labels,omitempty"`
	Masked    bool              `json:"masked,omitempty"`
	Stuck     time.Duration     `json:"stuck_ns,omitempty"`
	Hung      time.Duration     `json:"hung_ns,omitempty"`
	session.Introduction
}

// ListSession returns the form of a session, whose header is masked. found is what hangs, or hung, in it,
// and ends is what its ends said of themselves, where that is wanted.
func ListSession(s store.Session, found Hangs, ends session.Introduction) ListedSession {
	line := ListedSession{
		ID: s.ID, Label: s.Label, Start: s.Start, Command: s.Command, Transport: s.Transport,
		Frames: s.Frames, Bytes: s.Bytes, Lost: s.Lost, Doubtful: s.Doubtful, State: s.State,
		Labels: s.Labels, Masked: s.Masked != nil, Introduction: ends,
	}
	if s.State == store.Live {
		line.Stuck = found.Longest()
	} else {
		line.Hung = found.Longest()
	}
	if line.Command == nil {
		line.Command = []string{}
	}
	if s.Exit != "" {
		line.Exit = s.Exit
		if code, err := strconv.Atoi(s.Exit); err == nil {
			line.Exit = code
		}
	}
	return line
}

// Longest returns for how long a session has been stuck; 0 for one that is not.
func (a Hangs) Longest() (longest time.Duration) {
	for _, f := range a.Findings {
		longest = max(longest, f.Waited)
	}
	return longest
}

// StateText returns the state of a session for people: "live, stuck 5m0s", "closed, hung 14s", or "closed, exit 1"
// of one whose server ended so, where nothing had hung for long. exit is as in its head.
func (a Hangs) StateText(state store.State, exit string) string {
	_, err := strconv.Atoi(exit)
	isStatus := err == nil && exit != "0"
	word := ""
	switch {
	case a.Stuck() && state == store.Live:
		word = "stuck"
	case a.Stuck() && a.Longest() >= a.After:
		word = "hung"
	case isStatus:
		return fmt.Sprintf("%s, exit %s", state, exit)
	case a.Stuck() && exit != "" && exit != "0":
		return fmt.Sprintf("%s, %s", state, strings.TrimPrefix(exit, "signal: "))
	case a.Stuck():
		word = "hung"
	default:
		return string(state)
	}
	if a.Verdict() != "stuck" {
		word += "?"
	}
	if lasted := a.Longest().Truncate(time.Second); lasted > 0 {
		word += " " + lasted.String()
	}
	return fmt.Sprintf("%s, %s", state, word)
}

// EndedWithin reports whether a session has ended, and not longer ago.
func EndedWithin(s store.Session, last time.Duration) bool {
	return s.State != store.Live && time.Since(s.Start.Add(s.Head.At)) < last
}

// Introductions returns what the ends of sessions said of themselves, masked, from their summaries.
func Introductions(ctx context.Context, db *session.Store, sessions []store.Session) (map[store.SessionID]session.Introduction, error) {
	found, err := db.Summaries(ctx, sessions)
	ends := make(map[store.SessionID]session.Introduction, len(sessions))
	for id, x := range found {
		ends[id] = IntroductionOf(db.Masker, x)
	}
	return ends, err
}

// IntroductionOf returns what the ends of a session said of themselves.
func IntroductionOf(masker session.Masker, of summary.Summary) session.Introduction {
	name := func(s string) string { return phrase.Name(masker.Text(s)) }
	return session.Introduction{Server: name(of.Server.String()), Client: name(of.Client.String()), Revision: name(of.Revision)}
}
