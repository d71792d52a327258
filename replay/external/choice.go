package external

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/mcprec/mcprec/replay/external/webserver"
	"github.com/mcprec/mcprec/transport/mcp"
)

// Choice is what the recorded end does otherwise than the plain one, at its frame of the event number
// First. Last is the frame at which it ends, where it is about several.
type Choice struct {
	Kind        Kind
	First, Last uint64
	At          int      // the byte of a Split, the number of a Repeat, a Poll, a Step or a Flood, the [turn] of a Meet, a Visit or a Moved
	Frames      []uint64 // of an Order
}

// Kind is a kind of choice. Its value is its word in tokens.
type Kind string

// The kinds of choices of either end.
const (
	Join   Kind = "join"   // First to Last go out in one write
	Split  Kind = "split"  // First goes out in two writes
	Unread Kind = "unread" // the end reads nothing from First until Last has gone out
	End    Kind = "end"    // the end has ended its output right behind the write of First; a server is gone then
)

// The kinds of choices of a recorded client.
const (
	Ahead      Kind = "ahead"     // the client does not wait for the answer to First
	Hold       Kind = "hold"      // the client answers no question from First until Last has gone out
	Prompt     Kind = "prompt"    // the client sends Last as soon as the server tells it something behind First, and does not wait for the answer to First
	Busy       Kind = "busy"      // the client answers no question from First until the server is at rest with Last
	Alias      Kind = "alias"     // as Busy, and Last goes out under the id of the server's open question: each end has its own ids
	Withdraw   Kind = "withdraw"  // the client cancels First when the server is at rest and waits for an answer of the client, and answers then
	Refuse     Kind = "refuse"    // the client answers the questions behind First with an error, as when its user declines
	Relist     Kind = "relist"    // the client asks for a list or a resource as soon as the server says behind First that it has changed, and again when the server is at rest
	Between    Kind = "between"   // the client walks through the list of First, which asks for a further page of it, and makes the call of Last between two pages
	Moved      Kind = "moved"     // the client says that its roots have changed when the server has asked for them behind First, and answers the first question, with the old roots, behind the second
	Roots      Kind = "roots"     // the client says in the same write as First that its roots have changed
	Rewalk     Kind = "rewalk"    // the client begins the list of First again in front of First, which asks for a further page of it
	Reverse    Kind = "reverse"   // the client answers the questions behind First when the server is at rest, the last one first
	LastFirst  Kind = "lastfirst" // First and Last go out in one write, and the client answers the questions when the server is at rest, the last one first
	Cancel     Kind = "cancel"    // the client cancels First in the same write
	LateCancel Kind = "later"     // the client cancels First when the server is at rest, if it is unanswered
	Quit       Kind = "quit"      // First and Last, in their order, go out in one write, and the client cancels First when the server is at rest, if it is unanswered
	Crossed    Kind = "crossed"   // the client cancels First when it is answered, as if the two had crossed on the way
	Leave      Kind = "leave"     // First and Last go out in one write, and the client ends its output when the server is at rest
	LateEnd    Kind = "endrest"   // the client ends its output behind First when the server is at rest
	Term       Kind = "term"      // the client sends SIGTERM behind First when the server is at rest, and ends its output then
	Gone       Kind = "gone"      // the client reads no more when it sends First, and ends its output when the server is at rest
	Sip        Kind = "sip"       // First to Last go out in one write, and the client reads a page whenever the server is at rest, through a pipe of that size
	Flood      Kind = "flood"     // First goes out At times at once, each under an id of its own; over stdio the client reads as in a Sip, but nothing as long as the server has timers
	Step       Kind = "step"      // what First's other choice does when the server is at rest, or tells something, is done when it has moved by itself At times and has been at rest again for a while
	Swap       Kind = "swap"      // First and Last go out in one write, Last in front
	Slow       Kind = "slow"      // the client waits for a moment in front of each message; no token has it
	Order      Kind = "order"     // Frames go out in this order
)

// The kinds of choices of a recorded client that speaks HTTP.
const (
	Cut    Kind = "cut"    // the response to First is cut behind its first event with an id, and resumed
	Away   Kind = "away"   // the response to First is cut as by Cut, and the client comes back when Last has gone out
	Deaf   Kind = "deaf"   // the client ends its standalone stream when the server is at rest with First, and goes on without one
	Reopen Kind = "reopen" // the client opens another standalone stream when the server is at rest with First, and ends the first one then
	Miss   Kind = "miss"   // the client ends its standalone stream when the server is at rest with First, and comes back by the id of its last event when Last is answered
	HangUp Kind = "hangup" // the client hangs up on First right behind it
	Part   Kind = "part"   // another client, with a session of its own, ends that together with First
	// Unsubscribe: another client, with a session of its own, subscribes to what this one has subscribed to, and takes that back, in
	// front of First.
	Unsubscribe Kind = "unsubscribe"
	Desert      Kind = "desert" // another client, with a session of its own, makes the call of First, and ends that session together with First, while its call runs
	Clash       Kind = "clash"  // another client, with a session of its own, makes the call of First under its id when the server is at rest with First, and this one cancels First when the server is at rest with both
	Visit       Kind = "visit"  // another client, with a session of its own, asks what Last asks when First is answered, and the client goes on when the server has no timers
	Meet        Kind = "meet"   // another client, with a session of its own, asks what Last asks, together with First and under its id
)

// The kinds of choices of a recorded server.
const (
	Early    Kind = "early"        // First goes out as soon as the specification allows it
	Late     Kind = "late"         // First goes out when nothing else can happen
	Behind   Kind = "behind"       // First goes out behind the next frame, when the client is at rest, before it gets anything else
	Overdue  Kind = "overdue"      // First, an answer, goes out in front of the next one that the client has asked for without it
	Fresh    Kind = "fresh"        // First, the answer to a list or a resource, is what the server has when it goes out; no token has it
	Repeat   Kind = "repeat"       // First goes out At times, in one write
	Ping     Kind = mcp.MethodPing // a ping goes out in front of First, which waits for its answer
	Namesake Kind = "namesake"     // the server asks what First asks under the id of a call of the client that has no answer
	Twin     Kind = "twin"         // the server asks what First asks twice in one write, under two ids
	Retract  Kind = "retract"      // the server asks what First asks in front of it in the same write, under another id, and cancels that
	Change   Kind = "change"       // in front of First the server says that a list has changed, and sends nothing else between the two
	Gap      Kind = "gap"          // what is told by itself behind First, the answer to a subscription, has changed in front of it: it is not told, and reads get the latest
	Anyway   Kind = "anyway"       // in front of First the server answers what the client has cancelled, as if the two had crossed on the way
	Stderr   Kind = "stderr"       // in front of First the server writes lines to its standard error
	Close    Kind = "close"        // the server ends in place of First
)

// The kinds of choices of a recorded server that speaks HTTP.
const (
	Poll     Kind = "poll"     // the response of First ends At times in front of it, and the client can come back by the id of an event
	Drop     Kind = "drop"     // the response of First ends in place of it
	Break    Kind = "break"    // the connection of First ends in place of it
	Forget   Kind = "forget"   // the server has forgotten the session: the request that First answers, and all others, get 404
	Form     Kind = "form"     // First comes as a stream of events, if it came as application/json, or the other way round
	NoStream Kind = "nostream" // there is no standalone stream; First is the answer to initialize
	EndAlone Kind = "endalone" // the standalone stream ends in front of First
)

// kinds says of each kind of choice what its word in a token has, and where the choice can be made.
//
// To add one: add it here, to choices and words of the end that makes it, and where that end plays it.
var kinds = map[Kind]struct {
	has      numbers
	overHTTP bool // and only there
	toldOnce bool // a client that does not bear it at one message does not bear it at another
}{
	Join: {has: withLast}, Split: {has: withAt}, Unread: {has: withLast}, End: {},

	Ahead: {}, Prompt: {has: withLast}, Hold: {has: withLast}, Busy: {has: withLast}, Alias: {has: withLast}, Withdraw: {}, Refuse: {}, Relist: {}, Rewalk: {}, Between: {has: withLast}, Roots: {}, Moved: {}, Reverse: {}, LastFirst: {has: withLast}, Cancel: {}, LateCancel: {}, Quit: {has: withLast}, Crossed: {}, Leave: {has: withLast}, LateEnd: {}, Term: {}, Gone: {}, Sip: {has: withLast}, Flood: {has: withAt}, Step: {has: withAt}, Swap: {has: withLast}, Order: {has: listed},
	Cut: {overHTTP: true}, Away: {has: withLast, overHTTP: true}, Deaf: {overHTTP: true}, Reopen: {overHTTP: true}, Miss: {has: withLast, overHTTP: true}, HangUp: {overHTTP: true}, Part: {overHTTP: true}, Unsubscribe: {overHTTP: true}, Desert: {overHTTP: true}, Clash: {overHTTP: true}, Visit: {has: withLast, overHTTP: true}, Meet: {has: withLast, overHTTP: true},

	Early: {}, Late: {}, Behind: {}, Overdue: {}, Repeat: {has: withAt}, Ping: {}, Namesake: {}, Twin: {}, Retract: {}, Change: {toldOnce: true}, Gap: {}, Anyway: {}, Stderr: {toldOnce: true}, Close: {},
	Poll:   {has: withAt, overHTTP: true, toldOnce: true},
	Drop:   {overHTTP: true, toldOnce: true},
	Break:  {overHTTP: true, toldOnce: true},
	Forget: {overHTTP: true, toldOnce: true},
	Form:   {overHTTP: true}, NoStream: {overHTTP: true},
	EndAlone: {overHTTP: true, toldOnce: true},
}

// numbers are those that stand behind a kind in a token.
type numbers int

const (
	alone    numbers = iota // such as end5
	withLast                // such as join5-7
	withAt                  // such as split5@20
	listed                  // such as order7-5-6
)

// Schedule is a play: the choices that differ from the plain end's.
type Schedule []Choice

// only returns the choice of a schedule that has no other, but for the [Step] of that.
func (s Schedule) only() Choice {
	if len(s) == 1 || len(s) == 2 && s[1].Kind == Step && s[0].First == s[1].First {
		return s[0]
	}
	return Choice{}
}

// NeedsHTTP reports whether a schedule has choices that can be made over HTTP only.
func (s Schedule) NeedsHTTP() bool {
	return slices.ContainsFunc(s, func(c Choice) bool { return kinds[c.Kind].overHTTP })
}

// tokenHead begins a token, with the version of its form.
const tokenHead = "x1"

// Token returns the schedule as one word.
func (s Schedule) Token() string {
	words := []string{tokenHead}
	for _, c := range s {
		word := string(c.Kind) + strconv.FormatUint(c.First, 10)
		switch kinds[c.Kind].has {
		case withLast:
			word += "-" + strconv.FormatUint(c.Last, 10)
		case withAt:
			word += "@" + strconv.Itoa(c.At)
		case listed:
			word = string(c.Kind)
			for i, frame := range c.Frames {
				word += strings.Repeat("-", min(i, 1)) + strconv.FormatUint(frame, 10)
			}
		}
		words = append(words, word)
	}
	if len(s) == 0 {
		words = append(words, "default")
	}
	return strings.Join(words, ".")
}

// IsToken reports whether a text begins as a token of this package.
func IsToken(text string) bool { return strings.HasPrefix(text, tokenHead+".") }

// ParseToken is the inverse of Schedule.Token.
func ParseToken(text string) (Schedule, error) {
	rest, found := strings.CutPrefix(text, tokenHead+".")
	if !found {
		return nil, fmt.Errorf("token %q: want %q at its beginning", text, tokenHead+".")
	}
	var s Schedule
	if rest == "default" {
		return s, nil
	}
	for word := range strings.SplitSeq(rest, ".") {
		digits := strings.IndexAny(word, "0123456789")
		if digits < 0 {
			return nil, fmt.Errorf("token %q: %q has no number", text, word)
		}
		c := Choice{Kind: Kind(word[:digits])}
		var list []uint64
		for part := range strings.FieldsFuncSeq(word[digits:], func(r rune) bool { return r == '-' || r == '@' }) {
			number, err := strconv.ParseUint(part, 10, 63)
			if err != nil {
				return nil, fmt.Errorf("token %q: %q is no number", text, part)
			}
			list = append(list, number)
		}
		kind, isKind := kinds[c.Kind]
		if !isKind {
			return nil, fmt.Errorf("token %q: there is no choice %q", text, c.Kind)
		}
		want := map[numbers]int{alone: 1, withLast: 2, withAt: 2, listed: len(list)}[kind.has]
		if len(list) != want || want == 0 {
			return nil, fmt.Errorf("token %q: %q has %d numbers, want %d", text, word, len(list), want)
		}
		switch kind.has {
		case listed:
			c.First, c.Last, c.Frames = slices.Min(list), slices.Max(list), list
		case withAt:
			c.First, c.Last, c.At = list[0], list[0], int(list[1])
		default:
			c.First, c.Last = list[0], list[len(list)-1]
		}
		s = append(s, c)
	}
	return s, nil
}

// frame is a frame of the recorded end as the plain play has sent it.
type frame struct {
	seq       uint64
	id        json.RawMessage // of a request
	what      string          // such as "tools/call echo"
	isRequest bool            // and is answered
	isHello   bool            // initialize, which nobody may cancel
	split     int             // the byte at which it is split in two; 0: it has only one
	beside    []uint64        // it, and the frames that could have gone out with it, in order
	needs     []uint64        // frames before it, whose answers it needs
	questions int             // of the server, which came before the next frame
	size      int             // of the answer, in bytes
	rests     int             // how many times the server came to rest before it had answered
	asksRoots bool            // one of these was for the client's roots
	isTold    bool            // a notification came before the next frame
	hasChange bool            // the server said that a list or a resource has changed before the next frame
	isPage    bool            // it asks for a further page of a list
	waits     bool            // it was answered, if at all, when another message had come

	isResumable bool // of its response a client can come back for the rest

	// Of a frame of the server:
	isNotice     bool // a notification that may come several times
	isAhead      bool // it may go out before its recorded place
	isAmong      bool // something else could happen in its place
	isTicking    bool // the client is about to do something by itself, on a timer
	isSubscribed bool // the answer to a subscription, behind which something has changed by itself
	isInCall     bool // a call of the client has no answer
	isAnswer     bool
	page         string        // of a list or a resource that is answered, see [standin.Reading]
	hasCalledOff bool          // the client has cancelled a call that has no answer
	canFill      bool          // the standard error of the server is a pipe or a socket, which the client has to empty
	changes      string        // of the answer to initialize: what the server may say of a list; "": nothing
	way          webserver.Way // over HTTP
}

// choices collects choices that are tried by themselves: alone, or one with another.
type choices struct {
	byKind map[Kind][]Schedule
	told   map[string]bool // kinds with what they are about
}

func newChoices() choices { return choices{map[Kind][]Schedule{}, map[string]bool{}} }

func (c choices) add(choice Choice, others ...Choice) {
	c.byKind[choice.Kind] = append(c.byKind[choice.Kind], append(Schedule(others), choice))
}

func (c choices) at(kind Kind, f frame) { c.until(kind, f, f) }

func (c choices) until(kind Kind, f, last frame) {
	c.add(Choice{Kind: kind, First: f.seq, Last: last.seq})
}

// isNew reports whether it was not asked before for a kind and what its choice is about: of some kinds one choice for each
// thing is enough.
func (c choices) isNew(kind Kind, what string) bool {
	key := string(kind) + "\n" + what
	isNew := !c.told[key]
	c.told[key] = true
	return isNew
}

// inTurn returns the choices of some kinds.
func (c choices) inTurn(kinds ...Kind) (list [][]Schedule) {
	for _, kind := range kinds {
		list = append(list, c.byKind[kind])
	}
	return list
}

// list returns the schedules to try beside the plain one, the simple ones first: each choice alone, in
// turns by kind, then two and three at random, mostly about the same frames: a cancellation in a burst does more
// than one in front of it.
func list(single [][]Schedule, count int, random *rand.Rand) (schedules []Schedule) {
	for round := 0; ; round++ {
		isAny := false
		for _, choices := range single {
			if round < len(choices) {
				isAny = true
				schedules = append(schedules, choices[round])
			}
		}
		if !isAny || len(schedules) >= count {
			break
		}
	}
	var all []Choice
	for _, schedule := range slices.Concat(single...) {
		all = append(all, schedule...)
	}
	seen := map[string]bool{}
	for tries := 0; len(schedules) < count && len(all) > 1 && tries < 20*count; tries++ {
		first := all[random.IntN(len(all))]
		beside := slices.DeleteFunc(slices.Clone(all), func(c Choice) bool {
			return min(c.First, c.Last) > max(first.First, first.Last) || max(c.First, c.Last) < min(first.First, first.Last) // another client may ask for what comes before
		})
		s := Schedule{first}
		for range 1 + random.IntN(2) {
			from := all
			if random.IntN(4) > 0 {
				from = beside
			}
			s = append(s, from[random.IntN(len(from))])
		}
		slices.SortFunc(s, func(a, b Choice) int {
			return cmp.Or(cmp.Compare(a.First, b.First), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Last, b.Last))
		})
		s = slices.CompactFunc(s, func(a, b Choice) bool { return a.Kind == b.Kind && a.First == b.First })
		if token := s.Token(); !seen[token] && len(s) > 1 {
			seen[token] = true
			schedules = append(schedules, s)
		}
	}
	return schedules[:min(count, len(schedules))]
}

// splitOf returns the byte at which a frame is split: the middle, or in a frame with characters of several bytes the place
// inside one that is nearest to the middle. A reader that decodes each piece by itself breaks that character.
func splitOf(data []byte) int {
	middle := len(data) / 2
	for away := range middle {
		for _, at := range []int{middle - away, middle + away} {
			if at < len(data) && !utf8.RuneStart(data[at]) {
				return at
			}
		}
	}
	return middle
}

// joins returns the bursts of two, of three, of six and of twelve frames.
func joins(frames []frame) [][]Schedule {
	sizes := []int{2, 3, 6, 12}
	list := make([][]Schedule, len(sizes))
	for _, f := range frames {
		for i, size := range sizes {
			if len(f.beside) >= size {
				list[i] = append(list[i], Schedule{{Kind: Join, First: f.seq, Last: f.beside[size-1]}})
			}
		}
	}
	return list
}
