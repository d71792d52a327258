package explore

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mcprec/mcprec/replay/explore/gate"
	"github.com/mcprec/mcprec/replay/explore/hang"
	"github.com/mcprec/mcprec/replay/explore/schedule"
	"github.com/mcprec/mcprec/replay/explore/stacks"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport/mcp"
	"github.com/mcprec/mcprec/transport/phrase"
)

// outcome is how a run ended.
type outcome struct {
	verdict    string
	category   string
	seen       string // of a hang, the category as far as frames alone show it
	why        string
	shape      string         // of a hang, see fingerprint
	about      []*gate.Flight // the frames of a hang
	err        error
	late       bool     // a timer alone ended an operation
	cut        bool     // the chooser ended it, or it is unfinished
	unfinished bool     // the time of the search was up
	within     string   // Setup or Check, while it runs
	locked     string   // where a goroutine waited for a mutex while the bubble was at rest
	idled      int      // steps of periodic traffic in which the run stood still
	stuck      bool     // goroutines were left
	keeps      bool     // goroutines were left beside a session of MCP that the server did not end
	leaks      []string // where the goroutines of a leak stand
	froze      bool     // the run was given up
	frozen     *freeze  // of a run that repeats
	busy       bool     // the run was given up while a peer computed
	retry      bool     // undecided, and another way to see it at rest may tell: see fallback
	held       string   // why the run froze, in a few words
	notes      []string
	stacks     []string
	stood      []*Operation // unreturned operations
	open       *openWaits   // when the first operation failed; or nil
	waits      []hang.Wait
	waitsAt    string // of a failed check: when they were seen
	chain      []string
	blocked    []string
	broken     []gate.Breach // rules, by live ends
	unheeded   []string      // cancellations that a live end read, and went on
	excused    []string      // faults of an excused end, beside broken rules
	sequence   []string
	recording  []store.Event
	schedule   []ScheduleStep // of a run that failed, or keeps them
}

// openWaits are the waits of the operations that had not returned, at one moment of a run: for the
// report of a check that fails later, when all have returned.
type openWaits struct {
	when  string
	waits []hang.Wait
}

// note keeps the first remarks on the run.
func (o *outcome) note(text string) {
	if text != "" && len(o.notes) < 3 {
		o.notes = append(o.notes, text)
	}
}

// notePeriodic replaces the notes on periodic traffic, in a run that stands still, by a note of
// its kinds.
func (o *outcome) notePeriodic(traffic []gate.Step, passed string) {
	if len(traffic) == 0 {
		return
	}
	o.idled = len(traffic)
	names := kindsOf(traffic)
	o.notes = slices.DeleteFunc(o.notes, func(note string) bool {
		return slices.ContainsFunc(names, func(name string) bool {
			_, what, quoted := strings.Cut(name, " ")
			return quoted && strings.Contains(withoutOccurrence(note), strings.TrimSuffix(what, "»"))
		})
	})
	if len(names) > 3 {
		names = append(names[:3], "…")
	}
	o.notes = append([]string{fmt.Sprintf("for %s nothing but %s passed, %d steps of them; the token leaves them in the default order",
		passed, strings.Join(names, ", "), len(traffic))}, o.notes...)
}

// keep keeps the fingerprint, the waits and the chain of a diagnosis.
func (o *outcome) keep(d hang.Diagnosis) {
	o.seen = d.Seen
	o.shape = d.Shape
	o.about = d.About
	o.waits = d.Waits
	o.chain = d.Chain
	o.blocked = d.Blocked
}

// diverge fails a run that could not follow its token; "" is no divergence.
func (o *outcome) diverge(why string) {
	if why != "" {
		o.verdict = Diverged
		o.why = why
	}
}

// failCheck fails a run by the error of a check or of an operation.
func (o *outcome) failCheck(err error) {
	o.verdict, o.why, o.err = CheckFailed, err.Error(), err
}

// judgePanic makes a panic the verdict of a run that has no other; nil is none.
func (o *outcome) judgePanic(b *breakage) {
	if b == nil || o.verdict != Pass {
		return
	}
	o.verdict, o.stacks = Panic, []string{stacks.Parse(b.stack).Trim()}
	o.why = fmt.Sprintf("%s panicked: %v", b.where, b.value)
}

// judgeRace fails a run in which the race detector reported a race, if nothing else did. The
// goroutines of a burst, and all that the last step woke, ran in parallel.
func (o *outcome) judgeRace(raced bool, steps []gate.Step, workers int) {
	if !raced || o.verdict != Pass {
		return
	}
	o.verdict = DataRace
	o.why = "the race detector reported a data race, in the output of the test above"
	if n := len(steps); n > 0 {
		o.why += fmt.Sprintf(", after step %d, «%s»", n, steps[n-1].Name())
	}
	if workers > 1 {
		o.note(fmt.Sprintf("%d orders ran at once, and the race may be of another: with 1 worker it is this one", workers))
	}
}

// judgeIllegal fails a run in which a live end broke a rule of the protocol, and reports whether
// one did.
func (o *outcome) judgeIllegal(p *peers) bool {
	b, ok := p.illegal()
	if ok {
		o.verdict = Illegal
		o.category = b.Rule
		o.why = fmt.Sprintf("%s: %s; at step %d, %s", b.Text, b.Title, b.Step, b.Frame)
	}
	return ok
}

// judgeRules fails a run in which a live end broke a rule of the protocol, or owes a
// response.
func (o *outcome) judgeRules(p *peers) {
	if o.judgeIllegal(p) {
		return
	}
	if c := p.owed(false); c != nil {
		o.verdict = Lost
		o.why = lostText(c)
	}
	if c := p.owed(true); c != nil {
		o.excused = append(o.excused, lostText(c))
	}
}

// judgeRemains judges a run that could not be emptied; nil is one that could.
func (o *outcome) judgeRemains(left *remains) {
	if left == nil {
		return
	}
	if len(o.stacks) == 0 {
		o.stacks = left.stacks()
	}
	o.stuck = true
	switch {
	case left.doubt != "" && o.verdict == Pass:
		o.verdict = Undecided
		o.why = "the gate is closed and the context cancelled, but " + left.doubt
	case o.within != "":
		o.verdict = Leak
		o.why = o.within + " has not returned: what waits for the other side belongs into an operation or a goroutine"
	case o.verdict == Pass:
		o.verdict = Leak
		o.leaks = innermost(o.stacks)
		o.why = "the gate is closed and the context cancelled, but goroutines are left that nothing ends: " +
			strings.Join(o.leaks, ", ") + ". Is a session left open? Close it in an operation with AfterAll"
	}
}

// innermost lists where trimmed stacks stand: the state, the function and file:line of each.
func innermost(trimmed []string) (list []string) {
	for _, stack := range trimmed {
		state, frames, _ := strings.Cut(stack, "\n  ")
		first, _, _ := strings.Cut(frames, "\n")
		list = append(list, state+" "+first)
	}
	return list
}

// leaksAlone reports whether the run came to its end and left goroutines behind.
func (o *outcome) leaksAlone() bool { return o.verdict == Leak && o.within == "" && !o.froze }

// behindMutex reports whether the run is a proved hang behind a mutex. It was given up, and so is
// each run like it.
func (o *outcome) behindMutex() bool { return o.froze && o.verdict == Hang && o.category == Lock }

// fingerprint identifies the bug of a failing run, for comparison with a smaller run. It has
// no numbers, no names of frames and no other stuck operations: these change with the
// schedule.
func (o *outcome) fingerprint() string {
	text := o.verdict + " " + o.category
	switch {
	case stands(o.verdict): // a traced run shows more, and must not differ
		return o.verdict + " " + cmp.Or(o.seen, o.category) + ": " + o.shape
	case o.err != nil:
		return text + ": " + anonymous(o.err.Error())
	case o.verdict == Panic:
		return text + ": " + anonymous(o.why)
	case o.verdict == Leak:
		return text + ": " + anonymous(strings.Join(o.leaks, ", "))
	}
	return text
}

// anonymous takes numbers and quoted names out of a message.
func anonymous(s string) string { return particular().ReplaceAllString(s, "_") }

var particular = phrase.Regexp(`"(?:[^"\\]|\\.)*"|[0-9]+`)

// String says in a line how the run ended.
func (o *outcome) String() string {
	what := strings.TrimSpace(o.verdict + " " + o.category)
	why, _, _ := strings.Cut(o.why, "\n")
	switch {
	case why == "":
		return what
	case o.verdict == Diverged: // why begins with the word
		return why
	}
	return what + ": " + why
}

// answer is a request of a run and its response.
type answer struct {
	name    string
	params  json.RawMessage // of the request
	result  json.RawMessage // or the error
	excused bool            // of an excused end: a change is no verdict
}

// comparison holds the first answer to each request of a search. Runs are added in the
// order of the numbers: the findings are the same on every machine.
type comparison struct {
	first  map[string][]*variant         // by content name
	told   int                           // changed answers
	follow func(schedule.Token) []answer // runs a schedule again
}

// variant is the first answer to a request with certain parameters. Twins offered in another
// order swap names.
type variant struct {
	params []byte // canonical
	raw    answer
	token  schedule.Token
	done   bool // known to change
}

// shownAnswers is how many changing answers a report tells of.
const shownAnswers = 3

// add returns a text on each answer that differs from the answer to the same request in an
// earlier run, up to the first that depends on the order if fails is set. Differences in
// bytes alone, or in ids and progress tokens, do not count.
func (c *comparison) add(answers []answer, token schedule.Token, fails bool) (changes []string, different bool) {
	if c.first == nil {
		c.first = map[string][]*variant{}
	}
	for _, a := range answers {
		v := c.changed(a, token)
		if v == nil {
			continue
		}
		v.done = true
		c.told++
		if c.told > shownAnswers {
			break
		}
		text, random := c.prove(v, a, token)
		changes = append(changes, text)
		if fails && !random && !a.excused {
			return changes, true
		}
	}
	return changes, false
}

// changed returns the first answer to a request if this answer differs from it.
func (c *comparison) changed(answer answer, token schedule.Token) *variant {
	known := c.first[answer.name]
	if len(known) > 0 && bytes.Equal(known[0].raw.params, answer.params) &&
		(known[0].done || bytes.Equal(known[0].raw.result, answer.result)) {
		return nil
	}
	params := canonical(answer.params)
	for _, v := range known {
		if !bytes.Equal(v.params, params) {
			continue
		}
		if v.done || bytes.Equal(canonical(v.raw.result), canonical(answer.result)) {
			return nil
		}
		return v
	}
	c.first[answer.name] = append(known, &variant{params: params, raw: answer, token: token})
	return nil
}

// prove follows both schedules again: an answer that changes within a schedule does not
// depend on the order.
func (c *comparison) prove(variant *variant, answer answer, token schedule.Token) (text string, random bool) {
	answerOf := func(token schedule.Token) []byte {
		for _, again := range c.follow(token) {
			if again.name == answer.name {
				return canonical(again.result)
			}
		}
		return nil
	}
	one := answerOf(variant.token)
	other := answerOf(token)
	if !bytes.Equal(one, canonical(variant.raw.result)) || !bytes.Equal(other, canonical(answer.result)) {
		return "the answer to " + answer.name + " is another one in the same order, too: " +
			"it is random, or depends on something outside", true
	}
	before, after := excerpts(one, other)
	return fmt.Sprintf("the answer to %s changes with the order: %s (token %v), but %s (token %v)",
		answer.name, before, variant.token, after, token), false
}

// canonical returns JSON with sorted keys, numbers in one spelling and without _meta, which holds progress tokens
// and ids.
func canonical(raw json.RawMessage) []byte {
	v, err := mcp.Value(raw)
	if err != nil {
		return raw
	}
	if object, ok := v.(map[string]any); ok {
		delete(object, mcp.MemberMeta)
	}
	b, err := json.Marshal(v)
	if err != nil {
		return raw
	}
	return b
}

// excerpts returns both texts from a little before their first difference.
func excerpts(a, b []byte) (string, string) {
	at := 0
	for at < len(a) && at < len(b) && a[at] == b[at] {
		at++
	}
	at = max(0, at-20)
	for at > 0 && !utf8.RuneStart(a[at]) {
		at--
	}
	return excerpt(a, at), excerpt(b, at)
}

func excerpt(data []byte, from int) string {
	const most = 60
	s := ""
	to := min(len(data), from+most)
	for to < len(data) && !utf8.RuneStart(data[to]) {
		to--
	}
	if from > 0 {
		s = "…"
	}
	s += string(data[from:to])
	if to < len(data) {
		s += "…"
	}
	return s
}
