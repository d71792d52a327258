package why

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"hash/maphash"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
	"github.com/mcprec/mcprec/transport/phrase"
)

// repeats keeps what comes again and again in a session: messages move, and nothing comes of it. The zero
// repeats is ready.
type repeats struct {
	worst    [repeatKinds]*repeat          // of each kind, what has come most often
	walks    map[lister]*walk              // lists that go from page to page
	asked    map[lister]*repeat            // what has been asked again and again since the last request of another kind
	failures map[lister]map[uint64]*repeat // requests that have failed since the last that did not, by what they ask
	rounds   map[uint64]*repeat            // calls that were answered with a demand for input, and sent again with one
}

// repeatKind is a kind of what repeats.
type repeatKind uint8

const (
	samePage   repeatKind = iota // a page whose answer names the page again
	sameList                     // a list that has not changed, and is said to have
	sameAnswer                   // a question whose answer is known, in quick succession
	sameFailure
	sameInput // a call that is answered by asking for the input that has just been supplied
	eagerPoll // a task that is polled much more often than its end asked for
	repeatKinds
)

// repeat is a request that comes again and again.
type repeat struct {
	kind        repeatKind
	call        *timeline.Call // one of the requests
	first, last moment
	count       int

	cursor  string // raw JSON
	leads   bool   // the answer names another page, and that one leads back
	answer  uint64 // of a list: the latest
	same    int    // how many answers in a row are the same
	changed int    // how often it was said that the list has changed
	isNew   bool   // it was said, and the list has not been asked for since
	how     failure
	failure string
	lacks   bool // the client's retries supply nothing
	isState bool // the demands have the requestState of the retries
	task    *timeline.Task
}

// mean is the time between two rounds.
func (r *repeat) mean() time.Duration { return r.took() / time.Duration(max(r.count-1, 1)) }

func (r *repeat) took() time.Duration { return r.last.at - r.first.at }

// failure is how a request failed.
type failure uint8

const (
	answeredByError failure = iota
	refusedByStatus
	hungUp
	gaveUp
)

// How often something comes at least, and how quickly, to be told. A heartbeat is slower, and so is a person
// who presses a key; a client that asks for a list each time that it has changed gets another one.
const (
	manyPages    = 5
	manyErrors   = 10
	manyRefusals = 5
	manyGivenUp  = 3 // each after givenUpAfter
	givenUpAfter = time.Second
	manyLists    = 20
	quickLists   = 250 * time.Millisecond
	quickChanges = 2 * time.Second
	manyPings    = 50
	quickPings   = 100 * time.Millisecond
	manyInputs   = 8
	manyPolls    = 20
	eagerTimes   = 4
)

// isTold reports whether what repeats is worth a word.
func (r *repeat) isTold() bool {
	switch r.kind {
	case samePage:
		if r.leads { // several clients may ask for it by turns
			return r.count >= manyLists
		}
		return r.count >= manyPages
	case sameFailure:
		return r.count >= map[failure]int{answeredByError: manyErrors, refusedByStatus: manyRefusals, hungUp: manyGivenUp, gaveUp: manyGivenUp}[r.how]
	case sameInput:
		return r.count >= manyInputs
	case eagerPoll:
		return r.count >= manyPolls && r.mean() <= r.task.Interval/eagerTimes
	case sameList:
		return r.count >= manyLists && r.same >= r.count-2 && r.mean() <= quickChanges
	}
	switch r.call.Method {
	case mcp.MethodReadResource: // a client may poll one
		return false
	case mcp.MethodPing:
		return r.count >= manyPings && r.mean() <= quickPings
	}
	return r.count >= manyLists && r.same >= r.count-2 && r.mean() <= quickLists
}

// keep remembers what has come to its end, if nothing of its kind came more often.
func (r *repeats) keep(one *repeat) {
	if one == nil || !one.isTold() {
		return
	}
	if worst := r.worst[one.kind]; worst == nil || worst.count < one.count || worst.count == one.count && one.first.seq < worst.first.seq {
		copied := *one
		r.worst[one.kind] = &copied
	}
}

// lister is what one end asks for with a method, and of which resource; over HTTP each session has its own.
type lister struct {
	scope  *timeline.Scope
	dir    transport.Direction
	method string
	uri    string
}

func listerOf(c *call) lister {
	key := lister{scope: c.Scope, dir: c.Dir, method: c.Method}
	if c.Method == mcp.MethodReadResource {
		key.uri = c.Target
	}
	return key
}

// walk is a list that is asked for page by page.
type walk struct {
	pages map[string]*repeat // by cursor
	again bool               // one of them has come again
	given string             // the cursor that the latest answer named
}

// changes has the notifications that a list has changed, by the method that lists.
var changes = map[string][]string{
	mcp.NotificationToolListChanged:     {mcp.MethodListTools},
	mcp.NotificationPromptListChanged:   {mcp.MethodListPrompts},
	mcp.NotificationResourceListChanged: {mcp.MethodListResources, mcp.MethodListResourceTemplates},
	mcp.NotificationRootsListChanged:    {mcp.MethodListRoots},
	mcp.NotificationResourceUpdated:     {mcp.MethodReadResource},
}

// isList reports whether a method lists something.
func isList(method string) bool {
	switch method {
	case mcp.MethodListTools, mcp.MethodListPrompts, mcp.MethodListResources, mcp.MethodListResourceTemplates, mcp.MethodListRoots, mcp.MethodListTasks:
		return true
	}
	return false
}

// isIdle reports whether a request asks for nothing that a session is for: what an end can do, whether it is
// there, what changes.
func isIdle(method string) bool {
	return isList(method) && method != mcp.MethodListTasks ||
		slices.Contains([]string{mcp.MethodPing, mcp.MethodDiscover, mcp.MethodInitialize, mcp.MethodListen}, method)
}

// mostPages is how many pages of one list are remembered.
const mostPages = 4096

// onRequest takes a request.
func (r *repeats) onRequest(c *call, m *transport.Message) {
	key := listerOf(c)
	if !isIdle(c.Method) {
		if len(r.asked) > 0 && c.Dir == c2s {
			r.endAsked(key)
		}
		if c.Method != mcp.MethodReadResource {
			return
		}
	}
	if isList(c.Method) {
		if cursor := transport.Member(m.Params, "cursor"); cursor != nil && string(cursor) != "null" {
			r.onPage(key, c, string(cursor))
			return
		}
		if w := r.walks[key]; w != nil {
			w.end(r)
			delete(r.walks, key)
		}
	}
	one := r.asked[key]
	if one == nil {
		if len(r.asked) == 0 || len(r.asked) >= mostRemembered {
			for _, other := range r.asked {
				r.keep(other.byChanges())
			}
			r.asked = map[lister]*repeat{}
		}
		one = &repeat{kind: sameAnswer, first: c.moment}
		r.asked[key] = one
	}
	one.call = c.Call
	one.last = c.moment
	one.count++
	if one.isNew {
		one.changed++
		one.isNew = false
	}
}

// endAsked ends what was asked again and again, for the client asks for something else.
func (r *repeats) endAsked(but lister) {
	for key, one := range r.asked {
		if key != but && key.scope == but.scope {
			r.keep(one.byChanges())
			delete(r.asked, key)
		}
	}
}

// byChanges returns the repeat with its kind, which is known at its end.
func (r *repeat) byChanges() *repeat {
	if r.changed >= r.count-2 && r.changed > 0 {
		r.kind = sameList
	} else {
		r.kind = sameAnswer
	}
	return r
}

// onPage takes a request for a page. A page that a list of this walk had before, and that the latest answer
// names, comes again.
func (r *repeats) onPage(key lister, c *call, cursor string) {
	w := r.walkOf(key)
	page := w.pages[cursor]
	switch {
	case page == nil: // the list goes on
		if w.again {
			w.end(r)
			for _, before := range w.pages {
				before.count = 1
				before.first = before.last
			}
			w.again = false
		}
		if len(w.pages) < mostPages {
			w.pages[cursor] = &repeat{kind: samePage, call: c.Call, cursor: cursor, first: c.moment, last: c.moment, count: 1}
		}
	case cursor == w.given:
		w.again = true
		page.count++
		page.last = c.moment
	}
}

// walkOf returns the list that goes from page to page.
func (r *repeats) walkOf(key lister) *walk {
	w := r.walks[key]
	if w == nil {
		if len(r.walks) == 0 || len(r.walks) >= mostRemembered {
			for _, other := range r.walks {
				other.end(r)
			}
			r.walks = map[lister]*walk{}
		}
		w = &walk{pages: map[string]*repeat{}}
		r.walks[key] = w
	}
	return w
}

// end keeps the page that came most often.
func (w *walk) end(r *repeats) {
	for _, page := range w.pages {
		r.keep(page)
	}
}

// onNotice takes a notification.
func (r *repeats) onNotice(m *timeline.Message) {
	for _, list := range changes[m.Method] {
		for key, one := range r.asked {
			if key.method == list && (key.uri == "" || key.uri == m.ShownTarget()) {
				one.isNew = true
			}
		}
	}
}

var seed = maphash.MakeSeed()

// onAnswer takes an answer.
func (r *repeats) onAnswer(c *call, m *transport.Message) {
	if m.Error != nil {
		r.onFailure(c, answeredByError, strings.TrimPrefix(c.Failure, "error "), moment{c.Response, c.At + c.Latency})
		return
	}
	if failed := r.failures[lister{dir: c.Dir, method: c.Method}]; len(failed) > 0 {
		key := subject(c)
		r.keep(failed[key])
		delete(failed, key)
	}
	switch {
	case isInputRequired(m):
		r.onInput(c, m)
	case len(r.rounds) > 0:
		key := maphash.String(seed, labelOf(c.Call))
		r.keep(r.rounds[key])
		delete(r.rounds, key)
	}
	key := listerOf(c)
	if isList(c.Method) {
		if next := transport.Member(m.Result, mcp.MemberNextCursor); next != nil {
			w := r.walkOf(key)
			w.given = string(next)
			if cursor := transport.Member(c.message().Params, "cursor"); cursor != nil && w.pages[string(cursor)] != nil {
				w.pages[string(cursor)].leads = string(cursor) != w.given
			}
		}
	}
	if one := r.asked[key]; one != nil {
		answer := maphash.Bytes(seed, m.Result)
		if answer != one.answer {
			one.same = 0
		}
		one.answer = answer
		one.same++
	}
}

// subject is what a request asks for, without what each has of its own.
func subject(c *call) uint64 {
	m := c.message()
	var h maphash.Hash
	h.SetSeed(seed)
	_, _ = h.WriteString(c.Dir.String() + " " + m.Method + "\n")
	var members map[string]json.RawMessage
	if json.Unmarshal(m.Params, &members) != nil {
		_, _ = h.Write(m.Params)
		return h.Sum64()
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if name != mcp.MemberMeta {
			_, _ = h.WriteString(name + "\n")
			_, _ = h.Write(members[name])
		}
	}
	return h.Sum64()
}

// mostRemembered is how many requests of a kind are remembered: those that failed, those that have to be sent again
// with an input, those for a list.
const mostRemembered = 1024

// onFailure takes a request that failed. A subscription that its client ends is none, nor a call that was given
// up soon.
func (r *repeats) onFailure(c *call, how failure, words string, now moment) {
	if (how == hungUp || how == gaveUp) && (c.Method == mcp.MethodListen || now.at-c.at < givenUpAfter) {
		return
	}
	failed := r.failures[lister{dir: c.Dir, method: c.Method}]
	if failed == nil {
		if len(r.failures) == 0 || len(r.failures) >= mostRemembered {
			r.endFailures()
			r.failures = map[lister]map[uint64]*repeat{}
		}
		failed = map[uint64]*repeat{}
		r.failures[lister{dir: c.Dir, method: c.Method}] = failed
	}
	if len(failed) >= mostRemembered {
		r.endFailures()
		clear(failed)
	}
	key := subject(c)
	one := failed[key]
	if one == nil {
		one = &repeat{kind: sameFailure, first: c.moment}
		failed[key] = one
	}
	one.call, one.last, one.how, one.failure = c.Call, c.moment, how, words
	one.count++
}

// endFailures keeps what has failed most often so far.
func (r *repeats) endFailures() {
	for _, failed := range r.failures {
		for _, one := range failed {
			r.keep(one)
		}
	}
}

// onInput takes an answer that asks for input, which repeats what the request before supplied an input for.
func (r *repeats) onInput(c *call, m *transport.Message) {
	key := maphash.String(seed, labelOf(c.Call))
	params := c.message().Params
	state := transport.Member(m.Result, mcp.MemberRequestState)
	inputs := transport.Member(m.Result, mcp.MemberInputRequests)
	given := transport.Member(params, mcp.MemberRequestState)
	supplied := transport.Member(params, mcp.MemberInputResponses)
	one := r.rounds[key]
	answer := maphash.Bytes(seed, inputs)
	isRetry := one != nil && (given != nil || supplied != nil)
	isSame := isRetry && (state != nil && bytes.Equal(state, given) || inputs != nil && one.answer == answer)
	if !isSame {
		r.keep(one)
		if len(r.rounds) == 0 || len(r.rounds) >= mostRemembered {
			for _, other := range r.rounds {
				r.keep(other)
			}
			r.rounds = map[uint64]*repeat{}
		}
		one = &repeat{kind: sameInput, first: c.moment}
		r.rounds[key] = one
	}
	one.call, one.last, one.answer = c.Call, c.moment, answer
	one.isState = isSame && state != nil && bytes.Equal(state, given)
	one.lacks = isSame && supplied == nil && inputs != nil
	one.count++
}

// onPoll takes a message about a task that is not over.
func (r *repeats) onPoll(t *timeline.Task) {
	if t.Interval > 0 && t.Polls > 0 && t.Maker != nil {
		r.keep(&repeat{kind: eagerPoll, call: t.Maker, task: t, count: t.Polls, first: momentOf(t.FirstPoll), last: momentOf(t.Polled)})
	}
}

// goesRound tells what comes again and again, each kind once.
func (j *judge) goesRound() (list []Open) {
	all := repeats{worst: j.repeats.worst, failures: j.repeats.failures}
	for _, w := range j.repeats.walks {
		w.end(&all)
	}
	for _, one := range j.repeats.asked {
		copied := *one
		all.keep(copied.byChanges())
	}
	all.endFailures()
	for _, one := range j.repeats.rounds {
		all.keep(one)
	}
	for _, one := range all.worst {
		if one != nil {
			list = append(list, j.tellRepeat(one))
		}
	}
	return list
}

// tellRepeat says what comes again and again, and who makes it so.
func (j *judge) tellRepeat(r *repeat) Open {
	asker, other := r.call.Dir.Sender(), r.call.Dir.Receiver()
	culprit := asker
	verb, where := "sent", fmt.Sprintf("(#%d to #%d)", r.first.seq, r.last.seq)
	if j.endOfSession().seq == 0 {
		verb = "has sent"
	}
	often := fmt.Sprintf("%d times in %v", r.count, phrase.Brief(r.took()))
	text := ""
	switch r.kind {
	case samePage:
		culprit = other
		again := "and each answer names that cursor again"
		if r.leads {
			again = "and the pages behind it lead back to it each time"
		}
		text = fmt.Sprintf("the %s %s %s with the cursor %s %s, %s %s", asker, verb, clip(r.call.Method), clip(r.cursor), often, again, where)
	case sameList:
		culprit = other
		what := "the list"
		if r.call.Method == mcp.MethodReadResource {
			what = "it"
		}
		text = fmt.Sprintf("the %s %s %s %s, for the %s says each time that %s has changed, and each answer is the same %s", asker, verb, labelOf(r.call), often, other, what, where)
	case sameAnswer:
		text = fmt.Sprintf("the %s %s %s %s, and each answer is the same %s", asker, verb, clip(r.call.Method), often, where)
		if r.call.Method == mcp.MethodPing {
			text = fmt.Sprintf("the %s %s %s %s %s", asker, verb, clip(r.call.Method), often, where)
		}
	case sameFailure:
		text = fmt.Sprintf("the %s %s %s %s, %s %s", asker, verb, j.sameRequest(r), often, r.outcome(), where)
	case sameInput:
		culprit = other
		again := "by asking for the same input again"
		if r.isState {
			again = "by asking for input again with the same requestState"
		}
		text = fmt.Sprintf("the %s answered %s %s %s %s", other, labelOf(r.call), often, again, where)
		if r.lacks {
			culprit = asker
			text += fmt.Sprintf(": the %s repeats the call and supplies none", asker)
		}
	case eagerPoll:
		text = fmt.Sprintf("the %s asked for %s %s %s, and the %s had asked for a poll each %v", asker, nameOf(r.task), often, where, other, r.task.Interval)
	}
	return Open{Why: Repeats, Culprit: culprit, Waited: r.took(), Text: text, Events: []uint64{r.first.seq, r.last.seq}}
}

// sameRequest names what was asked for again and again.
func (j *judge) sameRequest(r *repeat) string {
	if r.call.Method == mcp.MethodCallTool {
		return labelOf(r.call) + " with the same arguments"
	}
	return labelOf(r.call)
}

// outcome says how each request came to nothing.
func (r *repeat) outcome() string {
	switch r.how {
	case refusedByStatus:
		return "and each was refused: " + clip(cmp.Or(r.failure, "by its HTTP status"))
	case hungUp:
		return "and hung up each time"
	case gaveUp:
		return "and gave it up each time"
	}
	return "and each answer is an error: " + clip(r.failure)
}
