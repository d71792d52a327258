package state

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/mcprec/mcprec/replay/phrase"
)

// Fact is one thing that holds at a point of a session.
type Fact struct {
	Topic string `json:"topic"` // calls, tasks, …
	Key   string `json:"key"`   // the same while the fact lasts; with Topic it names one fact
	Text  string `json:"text"`
	Since string `json:"since,omitempty"` // how long it has lasted: no part of what is compared
}

// topics are those of facts, in their order.
var topics = []string{
	"revision", "client", "server", "log level", "call", "subscription", "task", "queue", "stream", "frames", "failures", "lost", "ended",
}

// String returns the fact as a line.
func (f Fact) String() string {
	return fmt.Sprintf("%-13s %s%s", f.Topic, f.Text, f.Since)
}

// Facts tells a view a line each, by topic.
func (v View) Facts() []Fact {
	facts := []Fact{
		{Topic: "revision", Text: orNone(v.Revision)},
		{Topic: "client", Text: v.Client.String()},
		{Topic: "server", Text: v.Server.String()},
	}
	add := func(topic, key, format string, args ...any) {
		facts = append(facts, Fact{Topic: topic, Key: key, Text: fmt.Sprintf(format, args...)})
	}
	if v.LogLevel != "" {
		add("log level", "", "%s", clip(v.LogLevel))
	}
	same := 0 // calls before of the same frame: those of a batch may have one id
	for i, c := range v.Calls {
		if same++; i == 0 || v.Calls[i-1].Request != c.Request {
			same = 0
		}
		facts = append(facts, Fact{"call", fmt.Sprintf("%d %s %d", c.Request, c.ID, same), c.String(), ", open for " + phrase.Brief(c.waited).String()})
	}
	for _, s := range v.Subscriptions {
		add("subscription", fmt.Sprintf("%s %s %d", s.URI, s.Listen, s.Since), "%v", s)
	}
	for _, t := range v.Tasks {
		add("task", t.By+" "+t.ID, "%v", t)
	}
	for _, q := range v.Queues {
		add("queue", fmt.Sprintf("%s %d", q.Dir, q.Stream), "%v", q)
	}
	for _, s := range v.Streams {
		add("stream", strconv.FormatUint(s.Number, 10), "%v", s)
	}
	add("frames", "", "%d c2s, %d s2c", v.Frames.C2S, v.Frames.S2C)
	if v.Failures > 0 {
		add("failures", "", "%d", v.Failures)
	}
	if v.Lost > 0 {
		add("lost", "", "%s", phrase.Plural(v.Lost, "event"))
	}
	if v.Ended != (Ended{}) {
		add("ended", "", "%v", v.Ended)
	}
	return facts
}

// String names a peer and what it can do.
func (p Peer) String() string {
	s := strings.TrimSpace(clip(p.Name) + " " + clip(p.Version))
	switch {
	case s == "" && p.info == "" && p.Capabilities == nil:
		return "(not known)"
	case s == "":
		s = "(no name)"
	}
	if names := p.capabilities(); len(names) > 0 {
		s += ", can " + strings.Join(names, ", ")
	}
	return s
}

// String tells a call without how long it has waited.
func (c Call) String() string {
	s := clip(c.Method)
	if c.Target != "" {
		s += " " + strconv.Quote(shorten(c.Target))
	}
	s += fmt.Sprintf(" id %s, %s, asked as #%d", clip(string(c.ID)), c.Dir, c.Request)
	if c.Reports > 0 {
		s += fmt.Sprintf(", progress %s", clip(string(c.Progress)))
		if c.Total != nil {
			s += " of " + clip(string(c.Total))
		}
		if c.Message != "" {
			s += " " + strconv.Quote(shorten(c.Message))
		}
	}
	if c.Cancelled != 0 {
		s += fmt.Sprintf(", cancelled as #%d", c.Cancelled)
	}
	if c.Cut != 0 {
		s += fmt.Sprintf(", its exchange ended as #%d", c.Cut)
	}
	return s
}

// String tells a subscription.
func (s Subscription) String() string {
	what := "resource " + strconv.Quote(shorten(s.URI))
	if s.Listen != nil {
		what = fmt.Sprintf("listen id %s %s", clip(string(s.Listen)), clip(string(s.Filter)))
	}
	what += fmt.Sprintf(" since #%d", s.Since)
	if s.Pending {
		return what + ", not acknowledged"
	}
	return what + ", " + phrase.Plural(s.Notified, "notification")
}

// String tells a task.
func (t Task) String() string {
	s := fmt.Sprintf("%s of the %s: %s (#%d)", clip(t.ID), t.By, clip(t.Status), t.Told)
	if t.Message != "" {
		s += " " + strconv.Quote(shorten(t.Message))
	}
	return s
}

// String tells what is in a queue.
func (q Queue) String() string {
	s := fmt.Sprintf("%s %s, #%d", q.Dir, phrase.Plural(q.Frames, "frame"), q.First)
	if q.Stream != 0 {
		s = fmt.Sprintf("[%d] %s", q.Stream, s)
	}
	if q.Frames > 1 {
		s += fmt.Sprintf(" to #%d", q.Last)
	}
	s += ", not shown to be taken"
	if q.Blocked != "" {
		s += fmt.Sprintf("; a write had blocked for %s (#%d)", q.Blocked, q.Delivered)
	}
	return s
}

// String tells an exchange.
func (s Stream) String() string {
	text := strings.TrimSpace(fmt.Sprintf("[%d] %s %s", s.Number, clip(s.Method), clip(s.Path)))
	if s.Status != 0 {
		text += fmt.Sprintf(" %d", s.Status)
	}
	return fmt.Sprintf("%s since #%d, frames: %d c2s, %d s2c", text, s.Since, s.C2S, s.S2C)
}

// String tells what is over.
func (e Ended) String() string {
	var parts []string
	if e.C2S != "" {
		parts = append(parts, "c2s by the "+clip(e.C2S))
	}
	if e.S2C != "" {
		parts = append(parts, "s2c by the "+clip(e.S2C))
	}
	if e.Exit != "" {
		parts = append(parts, "exit "+clip(e.Exit))
	}
	if e.Sealed {
		parts = append(parts, "the recording")
	}
	return strings.Join(parts, ", ")
}

func orNone(s string) string {
	if s == "" {
		return "(none)"
	}
	return clip(s)
}

// textLimit is how much of what a peer chose is in a fact.
const textLimit = 60

func clip(s string) string    { return phrase.Clip(s, textLimit) }
func shorten(s string) string { return phrase.Shorten(s, textLimit) }
