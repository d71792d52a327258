package state

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/phrase"
)

// Fact is a line about the state of a session.
type Fact struct {
	Topic string // call, task, …
	Key   string // the same while the fact lasts; unique in its Topic
	Text  string
	Since string        // how long it has lasted; Diff ignores it
	Asked time.Duration // of a call: when
	Order uint64        // among the facts of the topic; facts of one event may share it
}

// topicCall is the topic of the facts that go on with time: see [Fact.Since].
const topicCall = "call"

// Topics returns the topics of facts in the order of [View.Facts].
func Topics() []string { return slices.Clone(topics) }

// topics lists the topics of facts in order.
var topics = []string{
	"revision", "client", "server", "log level", topicCall, "subscription", "task", "queue", "stream", "line", "messages", "failures", "lost", "ended",
}

// String returns the fact as a line.
func (f Fact) String() string {
	return fmt.Sprintf("%-13s %s%s", f.Topic, f.Text, f.Since)
}

// Lasts reports whether the fact goes on with time: it is about an open call.
func (f Fact) Lasts() bool { return f.Topic == topicCall }

// Facts lists the facts of a view by topic.
func (v View) Facts() []Fact {
	facts := v.introductions()
	for _, c := range v.Calls {
		facts = append(facts, c.fact())
	}
	for _, s := range v.Subscriptions {
		facts = append(facts, s.fact())
	}
	for _, t := range v.Tasks {
		facts = append(facts, t.fact())
	}
	if !v.Ended.Sealed || len(v.Calls) > 0 { // else nobody waited for these frames
		for _, q := range v.Queues {
			facts = append(facts, q.fact())
		}
	}
	for _, s := range v.Streams {
		facts = append(facts, s.fact())
	}
	for _, l := range v.Lines {
		facts = append(facts, Fact{Topic: "line", Key: l.Pipe,
			Text: fmt.Sprintf("%s, %d B without an end, since %s, for %s", l.Pipe, l.Bytes, l.Since, l.Open)})
	}
	return append(facts, v.counts()...)
}

// introductions are the facts about the two ends.
func (v View) introductions() []Fact {
	facts := []Fact{
		{Topic: "revision", Text: clip(cmp.Or(v.Revision, "(none)"))},
		{Topic: "client", Text: v.Client.String()},
		{Topic: "server", Text: v.Server.String()},
	}
	if v.LogLevel != "" {
		facts = append(facts, Fact{Topic: "log level", Text: clip(v.LogLevel)})
	}
	return facts
}

// counts are the facts about the whole session.
func (v View) counts() []Fact {
	facts := []Fact{{Topic: "messages", Text: fmt.Sprintf("%d c2s, %d s2c", v.Frames.C2S, v.Frames.S2C)}}
	if v.Failures > 0 {
		facts = append(facts, Fact{Topic: "failures", Text: strconv.FormatUint(v.Failures, 10)})
	}
	if v.Lost > 0 {
		facts = append(facts, Fact{Topic: "lost", Text: phrase.Plural(v.Lost, "event")})
	}
	if v.Ended != (Ended{}) {
		facts = append(facts, Fact{Topic: "ended", Text: v.Ended.String()})
	}
	return facts
}

func (c Call) fact() Fact {
	return Fact{topicCall, strconv.Itoa(c.number), c.String(), ", open for " + phrase.Brief(c.waited).String(), c.asked, uint64(c.number)}
}

func (s Subscription) fact() Fact {
	return Fact{Topic: "subscription", Key: s.key(), Text: s.String(), Order: s.Since}
}

// key names a resource's subscription by the URI, and a listen request by its number.
func (s Subscription) key() string {
	if s.Listen != nil {
		return "listen " + strconv.Itoa(s.number)
	}
	return "resource " + s.URI
}

func (t Task) fact() Fact {
	return Fact{Topic: "task", Key: t.By + " " + t.ID, Text: t.String(), Order: t.Since}
}

func (q Queue) fact() Fact {
	dir, _ := transport.ParseDirection(q.Dir) // of a view
	return Fact{Topic: "queue", Key: fmt.Sprintf("%s %d", q.Dir, q.Stream), Text: q.String(), Order: 3*q.Stream + uint64(dir)}
}

func (s Stream) fact() Fact {
	return Fact{Topic: "stream", Key: strconv.FormatUint(s.Number, 10), Text: s.String(), Order: s.Number}
}

// Change is a difference between two points of a session.
type Change struct {
	Topic  string `json:"topic"`
	Before string `json:"before,omitempty"` // "": it did not hold
	After  string `json:"after,omitempty"`  // "": it no longer holds
}

// Diff lists the different facts by topic: first changed facts, then new facts.
func Diff(before, after View) []Change {
	now := map[factName]Fact{}
	later := after.Facts()
	for _, f := range later {
		now[f.name()] = f
	}
	changes := []Change{}
	was := map[factName]bool{}
	for _, f := range before.Facts() {
		was[f.name()] = true
		if g := now[f.name()]; g.Text != f.Text {
			changes = append(changes, Change{f.Topic, f.Text, g.Text})
		}
	}
	for _, f := range later {
		if !was[f.name()] {
			changes = append(changes, Change{Topic: f.Topic, After: f.Text})
		}
	}
	slices.SortStableFunc(changes, func(a, b Change) int {
		return cmp.Compare(slices.Index(topics, a.Topic), slices.Index(topics, b.Topic))
	})
	return changes
}
