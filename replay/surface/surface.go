// Package surface reads from a session what its server offers, and says how that differs from what
// it offered in another session, by how much the difference matters to a client.
//
// A [Surface] is a projection: the revision and the capabilities that the server settled on, and
// its tools, prompts, resources and resource templates, as it listed them last. [Compare] is pure.
// A [Change] has one of three tiers:
//
//	breaking  a client that worked may fail: a tool is gone, an argument is now required, a type,
//	          an enum or a bound is narrower, the server settled on another revision
//	risky     a client works as before, but a model may act otherwise: a description, a default or
//	          an annotation is different, or a schema is in a way that the package cannot judge
//	minor     there is more than before: a tool, an optional argument, a wider type
//
// What a server says of itself in its output schemas is judged the other way round: there a wider
// type breaks. Versions and icons are not compared. A list is compared only if both sessions have
// it whole, to the page without a next cursor; the package calls no tool and asks no server.
package surface

import (
	"encoding/json"
	"slices"

	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

// Surface is what a server offers. The zero value takes the steps of a session by [Surface.Take].
type Surface struct {
	greeting item // the result of initialize or server/discover
	wanted   any  // the revision that the client asked for
	lists    map[string]*list
	asked    map[*timeline.Call]question
	answers  map[string][]uint64 // by the method that they answer
}

// item is one thing that is offered.
type item struct {
	seq     uint64 // the event that says so; 0: none does
	members map[string]any
}

// list is a list of items by name, as it was answered last.
type list struct {
	seq    uint64 // of its last page
	begins bool   // the session has its first page
	whole  bool
	items  map[string]item
}

// question is a request for a part of the surface.
type question struct {
	method string
	isPage bool // a further page of a list
	wanted any  // of initialize: the revision that the client asks for
}

// listing is a method that lists things: in which member, what they are, and what names them.
type listing struct{ method, member, noun, name string }

var listings = []listing{
	{mcp.MethodListTools, "tools", "tool", "name"},
	{mcp.MethodListPrompts, "prompts", "prompt", "name"},
	{mcp.MethodListResources, "resources", "resource", "uri"},
	{mcp.MethodListResourceTemplates, "resourceTemplates", "resource template", "uriTemplate"},
}

// Take takes the next step.
func (s *Surface) Take(step timeline.Step) error {
	if step.Cut > 0 {
		return nil
	}
	if s.asked == nil {
		s.asked = map[*timeline.Call]question{}
	}
	for i := range step.Messages {
		m := &step.Messages[i]
		isListing := slices.ContainsFunc(listings, func(l listing) bool { return l.method == m.Method })
		switch {
		case m.Call == nil || m.Call.Dir != transport.ClientToServer:
		case m.Role == timeline.Asks && (isListing || m.Method == mcp.MethodInitialize || m.Method == mcp.MethodDiscover):
			s.asked[m.Call] = question{m.Method, transport.Member(m.Params, "cursor") != nil, decode(transport.Member(m.Params, mcp.MemberProtocolVersion))}
		case m.Role == timeline.Answers:
			if asked, isAsked := s.asked[m.Call]; isAsked {
				delete(s.asked, m.Call)
				s.onAnswer(step.Seq, asked, m.Result)
			}
		}
	}
	return nil
}

// onAnswer takes the answer to a question.
func (s *Surface) onAnswer(seq uint64, asked question, result json.RawMessage) {
	members, isObject := decode(result).(map[string]any)
	if !isObject {
		return
	}
	if s.lists == nil {
		s.lists, s.answers = map[string]*list{}, map[string][]uint64{}
	}
	s.answers[asked.method] = append(s.answers[asked.method], seq)
	place := slices.IndexFunc(listings, func(l listing) bool { return l.method == asked.method })
	if place < 0 {
		s.greeting = item{seq, members}
		s.wanted = asked.wanted
		return
	}
	kind := listings[place]
	found := s.lists[asked.method]
	if found == nil || !asked.isPage {
		found = &list{items: map[string]item{}, begins: !asked.isPage}
		s.lists[asked.method] = found
	}
	found.seq = seq
	found.whole = found.begins && members[mcp.MemberNextCursor] == nil
	entries, _ := members[kind.member].([]any)
	for _, entry := range entries {
		object, _ := entry.(map[string]any)
		if name, named := object[kind.name].(string); named {
			found.items[name] = item{seq, object}
		}
	}
}

// Answers returns the events of the answers that are compared, in no order: those of a list that is not
// whole are not.
func (s *Surface) Answers() (events []uint64) {
	for method, answers := range s.answers {
		if l := s.lists[method]; l == nil || l.whole { // nil: a greeting
			events = append(events, answers...)
		}
	}
	return events
}

// Items returns how many tools, prompts, resources and resource templates there are in whole lists.
func (s *Surface) Items() (count int) {
	for _, l := range s.lists {
		if l.whole {
			count += len(l.items)
		}
	}
	return count
}
