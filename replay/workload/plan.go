package workload

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
	"github.com/mcprec/mcprec/transport/phrase"
)

// Offer is what a server offers.
type Offer struct {
	Server    string   // its name and version
	Revision  string   // of the protocol
	Lists     []string // the methods that list what it has
	Tools     []OfferedTool
	Prompts   []OfferedPrompt
	Resources []string // URIs
	Updates   bool     // it tells who subscribes to a resource when that changes
	Logs      bool     // it sends log messages
	Completes bool     // it completes arguments
}

// OfferedTool is a tool as a server lists it.
type OfferedTool struct {
	Name       string
	Schema     json.RawMessage // of its arguments
	IsReadOnly bool            // it says that it only reads
	IsOutward  bool            // it says that it reaches out, to an open world

	SaysItWaits bool // it says that it waits, perhaps for what another call brings
}

// OfferedPrompt is a prompt as a server lists it, with the names of its arguments and of those that it needs.
type OfferedPrompt struct {
	Name      string
	Arguments []string
	Needs     []string
}

// Wishes are what a user says of the calls.
type Wishes struct {
	Calls    []NamedCall       // are made whatever a tool says of itself
	AllTools bool              // every tool is called
	Without  map[string]string // tools that are not called, each with the reason
	TooSlow  []NamedCall       // are not made, though others of their tools are
	Seen     Seen              // in a session with the server before
	Waits    []Wait            // calls that have no answer by themselves
}

// Wait is a call that has no answer until another comes.
type Wait struct {
	Call    NamedCall
	By      *NamedCall // what brings the answer; nil: all that change something are tried
	IsNever bool       // nothing brings it: the call is not made
}

// isApart reports whether a call is not made with the others: it has no answer by itself, or takes too long.
func (w Wishes) isApart(tool string, arguments json.RawMessage) bool {
	call := NamedCall{tool, arguments}
	return slices.ContainsFunc(w.TooSlow, call.Equal) || slices.ContainsFunc(w.Waits, func(wait Wait) bool { return call.Equal(wait.Call) })
}

// NamedCall is a call that a user names.
type NamedCall struct {
	Tool      string
	Arguments json.RawMessage // nil: they are made
}

// Equal reports whether two calls are of one tool, with the same arguments.
func (c NamedCall) Equal(other NamedCall) bool {
	return c.Tool == other.Tool && bytes.Equal(c.Arguments, other.Arguments)
}

// String shows the call with its arguments.
func (c NamedCall) String() string { return c.item().words() }

// item returns the request of the call.
func (c NamedCall) item() AgendaItem {
	return AgendaItem{Method: mcp.MethodCallTool, Target: c.Tool, Params: callOf(c.Tool, c.Arguments)}
}

// ParseCall reads a call as a user names it: a tool, and behind a blank its arguments, a JSON object.
func ParseCall(text string) (NamedCall, error) {
	tool, rest := strings.TrimSpace(text), ""
	if at := strings.IndexAny(tool, "{["); at > 0 && tool[at-1] == ' ' { // a name may have blanks
		tool, rest = strings.TrimSpace(tool[:at]), tool[at:]
	}
	switch value, err := mcp.Value([]byte(rest)); {
	case tool == "" || tool[0] == '{':
		return NamedCall{}, fmt.Errorf("%q: want a tool, and its arguments behind it, such as 'search {\"q\":\"x\"}'", text)
	case rest == "":
		return NamedCall{Tool: tool}, nil
	case err != nil:
		return NamedCall{}, fmt.Errorf("%q: the arguments are no JSON: %w", text, phrase.JSONFault(err))
	default:
		if _, isObject := value.(map[string]any); !isObject {
			return NamedCall{}, fmt.Errorf("%q: want a JSON object behind the tool", text)
		}
	}
	return NamedCall{tool, json.RawMessage(rest)}, nil
}

// Agenda is what a client asks for behind the lists.
type Agenda struct {
	Items   []AgendaItem
	Omitted []Omission
}

// AgendaItem is a request of an agenda.
type AgendaItem struct {
	Method string
	Target string // a tool, a prompt or a URI
	Params json.RawMessage
	How    Manner
	Again  bool // it was asked for before

	HasProgress bool              // it asks for progress
	reads       bool              // it is a call that changes nothing
	others      []json.RawMessage // other params for the same target
	schema      json.RawMessage   // of the arguments of a call
}

// Manner is how a request is made.
type Manner int

// The manners.
const (
	Alone     Manner = iota
	Beside           // it goes out together with the next one
	Cancelled        // it is cancelled at once
)

// Omission is a tool that is not called.
type Omission struct{ Tool, Why string }

// An agenda has at most so many tools, of which so many are called twice at once, so many prompts and resources each, and
// behind so many calls that change something one that only reads.
const mostTools, mostPairs, mostOthers, mostReads = 12, 4, 2, 4

// Choose makes the agenda for an offer. The calls that are made twice at once come first: what a server keeps from one call
// for the next it does not have then. The client is subscribed to some resources as long as it calls tools.
func Choose(offer Offer, wishes Wishes) Agenda {
	var a Agenda
	if offer.Logs {
		a.add(AgendaItem{Method: mcp.MethodSetLogLevel, Params: object("level", text("debug"))})
	}
	for _, uri := range offer.Resources[:min(len(offer.Resources), mostOthers)] {
		a.add(AgendaItem{Method: mcp.MethodReadResource, Target: uri, Params: object("uri", text(uri))})
	}
	for _, prompt := range offer.Prompts[:min(len(offer.Prompts), mostOthers)] {
		arguments := map[string]json.RawMessage{}
		for _, name := range prompt.Needs {
			arguments[name] = text("a")
		}
		encoded, _ := json.Marshal(arguments) // texts
		a.add(AgendaItem{Method: mcp.MethodGetPrompt, Target: prompt.Name, Params: object("name", text(prompt.Name), "arguments", encoded)})
	}
	a.addCompletions(offer)
	subscribe := func(method string) {
		for _, uri := range offer.Resources[:min(len(offer.Resources), mostOthers)] {
			if offer.Updates {
				a.add(AgendaItem{Method: method, Target: uri, Params: object("uri", text(uri))})
			}
		}
	}
	subscribe(mcp.MethodSubscribe)
	others := a.Items
	a.Items = nil
	a.addTools(offer, wishes)
	a.addVariants(others, wishes)
	a.addWaits(offer, wishes)
	subscribe(mcp.MethodUnsubscribe)
	return a
}

// addCompletions adds the completions of an argument, as while somebody types two letters.
func (a *Agenda) addCompletions(offer Offer) {
	at := slices.IndexFunc(offer.Prompts, func(p OfferedPrompt) bool { return len(p.Arguments) > 0 })
	if !offer.Completes || at < 0 {
		return
	}
	prompt := offer.Prompts[at]
	ref := object("type", text("ref/prompt"), "name", text(prompt.Name))
	for _, typed := range []string{"a", "ab"} {
		params := object("ref", ref, "argument", object("name", text(prompt.Arguments[0]), "value", text(typed)))
		item := AgendaItem{Method: mcp.MethodComplete, Target: prompt.Name, Params: params}
		if typed == "a" {
			item.How = Beside
		}
		a.add(item)
	}
}

// addTools adds the calls of the tools, those that the user names first.
func (a *Agenda) addTools(offer Offer, wishes Wishes) {
	omit := func(tool, why string) { a.Omitted = append(a.Omitted, Omission{tool, why}) }
	call := func(tool string, arguments json.RawMessage, others []json.RawMessage) {
		item := AgendaItem{Method: mcp.MethodCallTool, Target: tool, Params: callOf(tool, arguments)}
		if i := slices.IndexFunc(offer.Tools, func(t OfferedTool) bool { return t.Name == tool }); i >= 0 {
			item.reads, item.schema = offer.Tools[i].IsReadOnly, offer.Tools[i].Schema
		}
		for _, other := range others {
			if !wishes.isApart(tool, other) {
				item.others = append(item.others, callOf(tool, other))
			}
		}
		if !wishes.isApart(tool, arguments) {
			a.add(item)
		}
	}
	named := map[string]bool{}
	for _, c := range wishes.Calls {
		named[c.Tool] = true
		i := slices.IndexFunc(offer.Tools, func(t OfferedTool) bool { return t.Name == c.Tool })
		switch {
		case i < 0:
			omit(c.Tool, "the server offers no such tool")
		case c.Arguments != nil:
			call(c.Tool, c.Arguments, nil)
		default:
			if made, err := Arguments(offer.Tools[i].Schema); err != nil {
				omit(c.Tool, err.Error())
			} else {
				call(c.Tool, made, wishes.others(offer.Tools[i].Schema, made))
			}
		}
	}
	count := len(named)
	for _, tool := range offer.Tools {
		switch why := wishes.Without[tool.Name]; {
		case named[tool.Name]:
			continue
		case why != "":
			omit(tool.Name, why)
			continue
		case wishes.AllTools:
		case !tool.IsReadOnly:
			omit(tool.Name, "it does not say that it only reads")
			continue
		case tool.IsOutward:
			omit(tool.Name, "it says that it reaches out of this machine")
			continue
		}
		made, err := Arguments(tool.Schema)
		made = wishes.Seen.improve(tool.Name, tool.Schema, made)
		switch {
		case err != nil:
			omit(tool.Name, err.Error())
		case count >= mostTools:
			omit(tool.Name, fmt.Sprintf("%d tools are enough", mostTools))
		default:
			count++
			call(tool.Name, made, wishes.others(tool.Schema, made))
		}
	}
}

// others returns arguments that are others in one member, or ask for more.
func (w Wishes) others(schema, arguments json.RawMessage) (list []json.RawMessage) {
	all := append([]json.RawMessage{exchanged(schema, arguments), w.Seen.alike(schema, arguments, nil)}, w.Seen.otherArguments(schema, arguments)...)
	for _, other := range append(all, larger(schema, arguments)) {
		if other == nil {
			continue
		}
		if !slices.ContainsFunc(list, func(known json.RawMessage) bool { return bytes.Equal(known, other) }) {
			list = append(list, other)
		}
	}
	return list
}

// addVariants makes some requests in other manners, calls with progress: in front of all calls two at once of some tools, then, if
// they change something, one that changes it to something else and one that only reads what they have left, and one with other
// arguments; and behind them one that is cancelled and then made once more. Behind a call that changes something comes one that only
// reads what it has left, then one that changes it to something else, and another that reads. Where no tool is called these are other
// requests, or else pings.
func (a *Agenda) addVariants(others []AgendaItem, wishes Wishes) {
	calls := a.Items
	again := calls
	if len(again) == 0 {
		again = others
	}
	if len(again) == 0 {
		again = []AgendaItem{{Method: mcp.MethodPing}}
	}
	a.Items = others
	with := func(item AgendaItem, how Manner) {
		item.How, item.Again, item.HasProgress = how, true, item.Method == mcp.MethodCallTool
		a.add(item)
	}
	isChange := func(item AgendaItem) bool { return !item.reads }
	otherOf := func(item, read AgendaItem) json.RawMessage {
		other := otherAbout(item.schema, argumentsOf(item), argumentsOf(read), wishes.Seen)
		if wishes.isApart(item.Target, other) {
			return nil
		}
		return other
	}
	reads := slices.DeleteFunc(slices.Clone(calls), isChange)
	for _, item := range again[:min(mostPairs, len(again))] {
		with(item, Beside)
		with(item, Alone)
		if isChange(item) && len(reads) > 0 { // nothing was read since the first of the two
			read := nearest(reads, 0, item)
			if changed := otherOf(item, read); changed != nil {
				a.add(AgendaItem{Method: item.Method, Target: item.Target, Params: callOf(item.Target, changed), HasProgress: true})
			}
			with(read, Alone)
		}
		for _, params := range item.others {
			a.add(AgendaItem{Method: item.Method, Target: item.Target, Params: params, HasProgress: true})
		}
	}
	count := 0
	for i, item := range calls {
		a.add(item)
		isReadNext := i+1 < len(calls) && calls[i+1].reads
		if !isChange(item) || len(reads) == 0 || count == mostReads {
			continue
		}
		read := nearest(reads, count, item)
		changed := otherOf(item, read)
		if isReadNext && changed == nil {
			continue
		}
		count++
		with(read, Alone)
		if changed != nil { // what is read in between is old, unless the two calls wait for each other
			a.add(AgendaItem{Method: item.Method, Target: item.Target, Params: callOf(item.Target, changed)})
			with(read, Alone)
		}
	}
	last := again[len(again)-1]
	with(last, Cancelled)
	with(last, Alone)
	if isChange(last) && len(reads) > 0 {
		with(reads[0], Alone)
	}
}

// nearest returns the one of some calls that only read which has the most arguments of another call; the one at a place if no other
// has more of them.
func nearest(reads []AgendaItem, place int, item AgendaItem) AgendaItem {
	read := reads[place%len(reads)]
	for _, other := range reads {
		if shared(argumentsOf(item), argumentsOf(other)) > shared(argumentsOf(item), argumentsOf(read)) {
			read = other
		}
	}
	return read
}

// addWaits adds the calls that have no answer by themselves, each with what brings it right behind.
func (a *Agenda) addWaits(offer Offer, wishes Wishes) {
	made := a.Items
	isRead := func(tool string) bool {
		return slices.ContainsFunc(offer.Tools, func(t OfferedTool) bool { return t.Name == tool && t.IsReadOnly })
	}
	for _, wait := range wishes.Waits {
		if wait.IsNever {
			continue
		}
		a.add(wait.Call.item())
		if wait.By != nil {
			a.add(wait.By.item())
			continue
		}
		tried := map[string]bool{}
		for _, item := range made {
			if item.Method == mcp.MethodCallTool && item.Target != wait.Call.Tool && !isRead(item.Target) && !tried[string(item.Params)] {
				tried[string(item.Params)] = true
				a.add(AgendaItem{Method: item.Method, Target: item.Target, Params: item.Params, Again: true})
			}
		}
		a.add(AgendaItem{Method: mcp.MethodPing, Again: true})
	}
}

func (a *Agenda) add(item AgendaItem) { a.Items = append(a.Items, item) }

// callOf returns the params of a call of a tool.
func callOf(tool string, arguments json.RawMessage) json.RawMessage {
	return object("name", text(tool), "arguments", arguments)
}

func argumentsOf(item AgendaItem) json.RawMessage { return transport.Member(item.Params, "arguments") }

// object writes a JSON object of names and values in turn.
func object(members ...any) json.RawMessage {
	var b strings.Builder
	for i := 0; i+1 < len(members); i += 2 {
		fmt.Fprintf(&b, ",%q:%s", members[i], members[i+1])
	}
	return json.RawMessage("{" + strings.TrimPrefix(b.String(), ",") + "}")
}

// text writes a JSON text.
func text(s string) json.RawMessage {
	encoded, _ := json.Marshal(s) // any text can be written
	return encoded
}

// mostShown is how many bytes of the arguments of a call a line shows.
const mostShown = 160

// Text returns the agenda for people, as it is said before the first call.
func (a Agenda) Text() string {
	var b strings.Builder
	for _, item := range a.Items {
		if !item.Again {
			fmt.Fprintf(&b, "  %s\n", item.words())
		}
	}
	var again []string
	how := ""
	for _, item := range a.Items {
		if !item.Again {
			continue
		}
		if item.HasProgress {
			how = ", with progress"
		}
		switch name := strings.TrimSpace(item.Method + " " + phrase.Name(item.Target)); item.How {
		case Beside:
			again = append(again, name+" twice at once")
		case Cancelled:
			again = append(again, name+" cancelled")
		}
	}
	fmt.Fprintf(&b, "  and again%s: %s\n", how, strings.Join(again, ", "))
	return b.String() + a.omittedText()
}

// words shows a request with its arguments.
func (item AgendaItem) words() string {
	words := strings.TrimSpace(item.Method + " " + phrase.Name(item.Target))
	value, err := mcp.Value(item.Params)
	members, _ := value.(map[string]any)
	for _, member := range []string{"arguments", "argument"} {
		if arguments, isThere := members[member]; err == nil && isThere {
			encoded, _ := json.Marshal(arguments)
			words += " " + phrase.Clip(string(encoded), mostShown)
		}
	}
	return words
}

// omittedText says which tools are not called, and why: those with the same reason on one line.
func (a Agenda) omittedText() string {
	var reasons []string
	tools := map[string][]string{}
	for _, o := range a.Omitted {
		if tools[o.Why] == nil {
			reasons = append(reasons, o.Why)
		}
		tools[o.Why] = append(tools[o.Why], phrase.Name(o.Tool))
	}
	var b strings.Builder
	for _, why := range reasons {
		names := tools[why]
		more := ""
		if over := len(names) - mostTools; over > 0 {
			names, more = names[:mostTools], fmt.Sprintf(" and %d more", over)
		}
		fmt.Fprintf(&b, "  not called: %s%s: %s\n", strings.Join(names, ", "), more, phrase.Clip(why, mostShown))
	}
	return b.String()
}
