package state

import (
	"cmp"
	"slices"

	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

// Follower tells how the facts of a session change with each event. An event costs as much as it
// changes, however much is open. [NewFollower] makes it.
type Follower struct {
	state    *State
	facts    map[factName]Fact // of the parts
	general  []Fact            // the other facts
	isQuiet  bool              // the queues have no facts: see View.Facts
	unmissed [3][]*call        // by direction: without an event behind them that says that the answer may be missing
}

// factName is unique among the facts of a view.
type factName struct{ topic, key string }

func (f Fact) name() factName { return factName{f.Topic, f.Key} }

// part is an element of a state that has a fact of its own: a *call, resource, taskKey, lane or
// streamNumber.
type part any

type (
	resource     string // the URI of a subscription
	streamNumber uint64
)

// touch notes that the event changes a part. It makes an interface of it only where somebody follows:
// that is an allocation.
func touch[P *call | resource | taskKey | lane | streamNumber](s *State, p P) {
	if s.isFollowed {
		s.changed = append(s.changed, p)
	}
}

// open opens a call.
func (s *State) open(c *call) {
	s.calls.add(c)
	touch(s, c)
}

// close closes a call.
func (s *State) close(c *call) {
	s.calls.close(c)
	touch(s, c)
}

// NewFollower returns a follower of a session before its first event.
func NewFollower() *Follower {
	f := &Follower{state: New(), facts: map[factName]Fact{}}
	f.state.isFollowed = true
	return f
}

// Take takes the next step. It returns the facts that are new or have another text after it, in the
// order of [View.Facts] and without Since, and the facts that no longer hold.
func (f *Follower) Take(step timeline.Step) (set, gone []Fact, err error) {
	s := f.state
	gaps := s.gaps
	s.changed = s.changed[:0]
	if err := s.Take(step); err != nil {
		return nil, nil, err
	}
	for dir, calls := range f.unmissed {
		if answers := index(transport.Direction(dir).Reverse()); len(s.gaps[answers]) > len(gaps[answers]) {
			for _, c := range calls {
				touch(s, c)
			}
			f.unmissed[dir] = nil
		}
	}
	if isQuiet := s.sealed && s.calls.open == 0; isQuiet != f.isQuiet {
		f.isQuiet = isQuiet
		for l := range s.queues.lanes {
			touch(s, l)
		}
	}
	for _, p := range s.changed {
		fact, holds := f.factOf(p)
		was, held := f.facts[fact.name()]
		switch {
		case holds && was != fact:
			f.facts[fact.name()] = fact
			set = append(set, fact)
			if c, isCall := p.(*call); isCall && !held {
				f.unmissed[index(c.Dir)] = append(f.unmissed[index(c.Dir)], c)
			}
		case held && !holds:
			delete(f.facts, fact.name())
			gone = append(gone, was)
		}
	}
	v := s.viewWithoutLists()
	general := append(v.introductions(), v.counts()...)
	for _, fact := range general {
		if !slices.Contains(f.general, fact) {
			set = append(set, fact)
		}
	}
	for _, was := range f.general {
		if !slices.ContainsFunc(general, func(fact Fact) bool { return fact.name() == was.name() }) {
			gone = append(gone, was)
		}
	}
	f.general = general
	slices.SortStableFunc(set, func(a, b Fact) int {
		return cmp.Or(slices.Index(topics, a.Topic)-slices.Index(topics, b.Topic), cmp.Compare(a.Order, b.Order))
	})
	return set, gone, nil
}

// factOf returns the fact of a part, of which the name is there also where it does not hold.
func (f *Follower) factOf(p part) (fact Fact, holds bool) {
	s := f.state
	switch p := p.(type) {
	case *call:
		if again := s.calls.pending[p.Call]; again != nil { // p itself, or the same call opened again
			p, holds = again, true
		}
		of := *p.Call
		of.ID = of.ID[:min(len(of.ID), textLimit+1)] // as much as the fact shows
		of.Token = ""
		shown := *p
		shown.Call = &of
		if p.Method == mcp.MethodListen {
			fact = shown.subscription().fact()
		} else {
			fact = s.viewOfCall(&shown, 0).fact()
		}
		fact.Since = ""
	case resource:
		var subscription Subscription
		subscription, holds = s.subscriptions[string(p)]
		subscription.URI = string(p)
		fact = subscription.fact()
	case taskKey:
		var task Task
		task, holds = s.tasks[p]
		fact = task.fact()
	case lane:
		fact = Queue{Dir: p.dir.String(), Stream: p.stream}.fact()
		if _, holds = s.queues.lanes[p]; holds {
			fact = s.viewOfQueue(p).fact()
		}
		holds = holds && !f.isQuiet
	case streamNumber:
		var stream Stream
		stream, holds = s.streams[uint64(p)]
		stream.Number = uint64(p)
		fact = stream.fact()
	}
	return fact, holds
}
