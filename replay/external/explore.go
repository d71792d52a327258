package external

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/mcprec/mcprec/replay/external/child"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport/leftover"
	"github.com/mcprec/mcprec/transport/phrase"
	"github.com/mcprec/mcprec/transport/procfs"
)

// Fault is a kind of finding.
type Fault string

// The kinds of findings.
const (
	Hang      Fault = "hang"             // a server at rest has not answered a request; a client at rest does not end
	Died      Fault = "died"             // a server ended by itself; either ended not with status 0
	Lost      Fault = "lost"             // a request that was read before the end of the input is never answered
	Lingers   Fault = "does not exit"    // a server goes on after the end of its input, a client after that of its server
	NotSerial Fault = "race"             // no order of the calls explains the answers to a burst of them
	Different Fault = "different output" // a client prints, or answers the server, otherwise than in the recorded order
	Unequal   Fault = "different answer" // a server answers otherwise for a split message, answers in another order or a list begun twice, lists what is old, or mixes two clients
	Illegal   Fault = "illegal"          // the end under test broke a MUST of the protocol
	NoSession Fault = "no new session"   // a client that got 404 for its session ended without beginning another
)

// possible are the words for a fault that is looked at again.
var possible = map[Fault]string{
	Hang: "possible hang", Died: "possible crash", Lost: "possible lost answer", Lingers: "it may not exit",
	NotSerial: "possible race", Different: "possible difference", Unequal: "possible other answer",
	NoSession: "it may begin no new session", Illegal: "a rule may be broken",
}

// Usual asks for as many schedules as play each choice by itself, but at least 100 and at most 250.
const Usual = -1

// usual returns how many schedules that are.
func usual(choices [][]Schedule) int {
	const plain, least, most = 1, 100, 250
	return min(max(least, plain+len(slices.Concat(choices...))), most)
}

// Options say how to search.
type Options struct {
	Schedules int // how many are played at most, or [Usual]
	// Jobs is how many schedules are tried at once, each with a process of its own; 0 is 1. The processes must
	// share nothing, and no port. What is found does not depend on Jobs.
	Jobs   int
	Seed   uint64
	Budget time.Duration // 0: none
	Token  string        // of the one schedule to play; "": search
	// SameOutput asks that a client prints what it prints in the recorded order, whatever the order is.
	SameOutput bool
	// Stop ends the search when it is closed, the plays that go on as well, and leaves their processes ended. What
	// was found so far is reported. It may be nil.
	Stop <-chan struct{}
	// NoLines leaves out the play in which a process that hangs is asked for lines of its source.
	NoLines bool
	// Keep asks for the Shown of the report.
	Keep bool
	// Progress, if not nil, is called when the search comes to something else, by the goroutine of the search.
	Progress func(Progress)
	// Found, if not nil, is called with each finding as soon as it is certain. The report has it as well.
	Found func(Finding)
}

// Progress is how far a search is.
type Progress struct {
	Played, Planned int // orders; Planned is 0 as long as the recorded order is played
	// Watched is a play that may show a fault, and is looked at again, which takes up to minutes: what it may
	// be, and what the recorded end does there. "": nothing is.
	Watched, Does string
}

// times is how many fresh processes must show a finding. What only some of them show gets mostTimes, if it is a fault wherever
// it is seen, and half of these must show it. Of a finding that does not hold mostTries orders are tried.
const times, mostTimes, mostTries = 3, 10, 3

// mostFindings is how many findings end a search: they are enough to begin with.
const mostFindings = 5

// explorer is one search.
type explorer struct {
	Options
	peer      peer
	began     time.Time
	patience  child.Patience // of the search
	plain     play
	unstable  map[uint64]bool
	told      map[string]bool // what was found, or did not hold
	notHeld   []notHeld       // each once
	isSettled bool            // the client has taken its time once, see settle
	bursts    [][]uint64      // the calls of those that are not serialisable
	shown     []Schedule      // those of the findings; one with the same choices and more would find the same
	report    Report
}

// Explore plays the client's half of a session to processes of a server, in many orders. A cancellation that put an end to
// a hang is left out of all of them.
func Explore(server Server, events []store.Event, options Options) (Report, error) {
	events = withoutEndsOfHangs(events)
	return explore(serverPeer{Server: server, events: events, stop: options.Stop, keeps: options.Keep}, options)
}

// explore searches, and returns a report also with an error.
func explore(peer peer, options Options) (Report, error) {
	if err := procfs.Supported(); err != nil {
		return Report{}, fmt.Errorf("explore a %s process: %w", peer.name(), err)
	}
	leftover.Sweep()
	x := newExplorer(peer, options)
	err := x.run()
	x.report.Took = time.Since(x.began)
	if errors.Is(err, child.ErrStopped) {
		x.report.Ended = interrupted
		x.report.Planned = cmp.Or(x.report.Planned, max(x.Schedules, 0), 1)
		err = nil
	}
	return x.report, err
}

// interrupted is how a search ended that Options.Stop has ended.
const interrupted = "interrupted"

func newExplorer(peer peer, options Options) *explorer {
	x := &explorer{Options: options, peer: peer, began: time.Now(), patience: child.Searching, unstable: map[uint64]bool{}, told: map[string]bool{}}
	x.report.Findings = []Finding{}
	return x
}

func (x *explorer) run() error {
	defer func() {
		for _, n := range x.notHeld {
			x.report.NotHeld = append(x.report.NotHeld, n.text)
		}
	}()
	if x.Token != "" {
		schedule, err := ParseToken(x.Token)
		if err != nil {
			return err
		}
		if len(schedule) == 0 {
			_, err = x.playPlain()
			x.show(schedule.Token(), nil, x.plain)
			return err
		}
		x.report.Planned = 1
	}
	if goesOn, err := x.playPlain(); err != nil || !goesOn {
		return err
	}
	choices := x.peer.choices(x.plain.frames)
	if x.Schedules == Usual {
		x.Schedules = usual(choices)
	}
	wanted := max(0, x.Schedules-1)
	schedules := list(choices, 2*wanted, rand.New(rand.NewPCG(x.Seed, 0))) // some are left out
	if x.Token != "" {
		schedule, _ := ParseToken(x.Token)
		if err := x.knows(schedule); err != nil {
			return err
		}
		schedules = []Schedule{schedule}
		wanted = 1
	}
	wanted = min(wanted, len(schedules))
	x.report.Planned = wanted + 1
	if x.Token == "" {
		x.report.Apart = x.apart()
	}
	x.tell("", "")
	return x.tryAll(schedules, wanted)
}

// attempt is a play of a schedule that may still go on.
type attempt struct {
	schedule Schedule
	ended    chan struct{} // closed when the play has ended
	play     play
	err      error
}

// begin plays a schedule on a goroutine of its own.
func (x *explorer) begin(schedule Schedule) *attempt {
	a := &attempt{schedule: schedule, ended: make(chan struct{})}
	patience := x.patience
	go func() {
		defer close(a.ended)
		a.play, a.err = x.playOnce(schedule, patience)
	}()
	return a
}

// tryAll tries schedules of a list, in its order, until as many as are wanted have been judged. Several are
// played at once if there are several jobs. One that contains the choices of a finding is left out: a hang takes long, and tells nothing new.
func (x *explorer) tryAll(schedules []Schedule, wanted int) error {
	var running []*attempt
	defer func() {
		for _, a := range running {
			<-a.ended
		}
	}()
	for wanted > 0 && len(running)+len(schedules) > 0 && !x.isOver() {
		for len(running) < min(max(1, x.Jobs), wanted) && len(schedules) > 0 {
			if !x.isShown(schedules[0]) {
				running = append(running, x.begin(schedules[0]))
			}
			schedules = schedules[1:]
		}
		if len(running) == 0 {
			break
		}
		first := running[0]
		<-first.ended
		running = running[1:]
		if x.isShown(first.schedule) { // by one before it that was still played when it began
			continue
		}
		wanted--
		if first.err != nil {
			return fmt.Errorf("order %s: %w", first.schedule.Token(), first.err)
		}
		x.count(first.play)
		if x.Token != "" {
			x.show(first.schedule.Token(), nil, first.play)
		}
		if err := x.judge(first.schedule, first.play); err != nil {
			return err
		}
	}
	return nil
}

// isShown reports whether a schedule contains all choices of a schedule with a finding. A client that does not
// bear the end of one response does not bear that of another, and so on ([kinds]).
func (x *explorer) isShown(schedule Schedule) bool {
	return slices.ContainsFunc(x.shown, func(shown Schedule) bool {
		isMissing := func(c Choice) bool {
			return !slices.ContainsFunc(schedule, func(other Choice) bool {
				return reflect.DeepEqual(c, other) || kinds[c.Kind].toldOnce && c.Kind == other.Kind && c.At <= other.At && x.isHello(c.First) == x.isHello(other.First)
			})
		}
		return !slices.ContainsFunc(shown, isMissing)
	})
}

// isHello reports whether a frame begins the session, or answers that.
func (x *explorer) isHello(seq uint64) bool {
	return slices.ContainsFunc(x.plain.frames, func(f frame) bool { return f.seq == seq && f.isHello })
}

// knows returns an error if a schedule names a frame that the plain client does not send: such a choice
// would change nothing, and the play would say nothing of the schedule.
func (x *explorer) knows(schedule Schedule) error {
	var sent []uint64
	for _, f := range x.plain.frames {
		sent = append(sent, f.seq)
	}
	for _, c := range schedule {
		for _, seq := range append([]uint64{c.First, c.Last}, c.Frames...) {
			if !slices.Contains(sent, seq) {
				return fmt.Errorf("token %s: the recorded %s sends no message #%d in this session; it sends %v", schedule.Token(), x.peer.recorded(), seq, sent)
			}
		}
	}
	return nil
}

// apart lists the neighbours among the messages of the recorded end that no order joins.
func (x *explorer) apart() (list []Apart) {
	last := frame{isHello: true}
	for _, f := range x.plain.frames {
		if !x.peer.joins(f) || f.seq == 0 {
			continue
		}
		if !last.isHello && !slices.Contains(last.beside, f.seq) {
			list = append(list, Apart{last.seq, f.seq, x.peer.whyApart(last, f)})
		}
		last = f
	}
	return list
}

func (x *explorer) isOver() bool {
	switch {
	case child.IsClosed(x.Stop):
		x.report.Ended = interrupted
		return true
	case x.Budget > 0 && time.Since(x.began) > x.Budget:
		x.report.Ended = "time"
		return true
	case len(x.report.Findings) >= mostFindings:
		x.report.Ended = "findings"
		return true
	}
	return false
}

// playPlain plays without a choice, twice: what differs then is the server's own whim. It reports whether
// a search makes sense. A fault that does not hold was the server's slowness, and the play is not whole:
// it is played again.
func (x *explorer) playPlain() (goesOn bool, err error) {
	for range times {
		if x.plain, err = x.play(nil); err != nil {
			return false, err
		}
		if x.plain.found == nil {
			break
		}
		if err := x.confirm(nil, x.plain); err != nil {
			return false, err
		}
		if len(x.report.Findings) > 0 || x.plain.found.kind == Lingers {
			break
		}
	}
	if err := x.judgeRules(nil, x.plain); err != nil {
		return false, err
	}
	for _, f := range x.plain.frames {
		x.report.Frames++
		if f.isRequest {
			x.report.Requests++
		}
	}
	x.peer = x.peer.knowing(x.plain)
	x.report.Waiting = x.plain.addTo(nil, x.plain.waiting())
	x.report.Cancelled = x.plain.addTo(nil, x.plain.cancelled)
	if x.plain.found == nil {
		x.report.Status = x.plain.status
	}
	x.report.Requests += len(x.report.Cancelled)
	if x.plain.found == nil && x.failsPlain() {
		return false, nil
	}
	switch found := x.plain.found; {
	case found == nil || found.kind == Lingers:
		return true, x.steady()
	case len(x.report.Findings) == 0:
		return false, fmt.Errorf("the recorded order does not come to the same end each time: %s in some processes, and not in others", found.kind)
	}
	return false, nil
}

// failsPlain notes the errors in the recorded order where the recorded server had results, and reports whether it
// has nothing else.
func (x *explorer) failsPlain() bool {
	results := x.peer.results()
	for _, seq := range slices.Sorted(maps.Keys(x.plain.errors)) {
		if slices.Contains(results, seq) {
			x.report.Unlike = append(x.report.Unlike, x.plain.errors[seq])
		}
	}
	if len(results) == 0 || len(x.plain.errors) == 0 || len(x.plain.errors) < len(x.plain.answers) {
		return false
	}
	for _, seq := range slices.Sorted(maps.Keys(x.plain.errors)) {
		x.report.Failed = append(x.report.Failed, x.plain.errors[seq])
	}
	x.report.Unlike = nil
	return true
}

// play plays a schedule of the search.
func (x *explorer) play(schedule Schedule) (play, error) {
	played, err := x.playOnce(schedule, x.patience)
	if err == nil {
		x.count(played)
	}
	return played, err
}

// count adds a play of the search to the report.
func (x *explorer) count(played play) {
	x.report.Played++
	if played.isUnjudged && played.found == nil && !x.plain.isUnjudged {
		x.report.Unjudged++
	}
	x.report.Unheeded = played.addTo(x.report.Unheeded, played.unheeded)
	x.report.Dropped = played.addTo(x.report.Dropped, played.dropped)
	if how, isRefused := strings.CutPrefix(played.answers[guestAnswer], refused); isRefused {
		x.report.Refused = how
	}
	x.report.Blocked = played.addTo(x.report.Blocked, played.blocked)
	x.report.Open = played.addTo(x.report.Open, played.open)
	x.report.Outlasted = played.addTo(x.report.Outlasted, played.outlasted)
	x.tell("", "")
}

// tell tells how far the search is, and what it looks at.
func (x *explorer) tell(watched, does string) {
	if x.Progress != nil {
		x.Progress(Progress{x.report.Played, x.report.Planned, watched, does})
	}
}

// watch tells that what a schedule shows is looked at again. It returns a function that tells the end of that.
func (x *explorer) watch(kind Fault, schedule Schedule) (end func()) {
	does := "the recorded order"
	if len(schedule) > 0 {
		does = strings.Join(x.inWords(schedule), ", ")
	}
	x.tell(possible[kind], does)
	return func() { x.tell("", "") }
}

// inWords returns the choices of a schedule in words.
func (x *explorer) inWords(schedule Schedule) []string {
	words := []string{}
	for _, c := range schedule {
		words = append(words, x.peer.words(c, x.name))
	}
	return words
}

// addTo adds requests of a play, by their events, to a list that may have some of them already.
func (p play) addTo(list []Request, seqs []uint64) []Request {
	for _, seq := range seqs {
		isTold := func(r Request) bool { return r.Event == seq }
		if i := slices.IndexFunc(p.frames, func(f frame) bool { return f.seq == seq }); i >= 0 && !slices.ContainsFunc(list, isTold) {
			list = append(list, Request{Event: seq, What: p.frames[i].what})
		}
	}
	return list
}

// playOnce plays a schedule to a fresh process, and compares a client's output, and what it answers, where that is asked for.
// A client that heard something else may say so. One that heard the same in another order may print so: a line that comes
// behind an answer cannot be printed in front of it.
func (x *explorer) playOnce(schedule Schedule, patience child.Patience) (play, error) {
	played, err := x.peer.play(schedule, patience)
	played.patience = patience
	saysMore := func(c Choice) bool {
		return c.Kind == Repeat || c.Kind == Twin || c.Kind == Retract || c.Kind == Anyway || c.Kind == Overdue && played.isPassed || c.Kind == Stderr || c.Kind == Change && len(schedule) > 1
	}
	if err == nil && x.SameOutput && played.isUnjudged && played.found == nil && !slices.ContainsFunc(schedule, func(c Choice) bool { return !c.onlyMoves() }) {
		played.found = x.otherThanAsked(played)
	}
	if err == nil && x.SameOutput && len(schedule) > 0 && !slices.ContainsFunc(schedule, saysMore) && played.found == nil && !played.isUnjudged && !played.hasCancelled {
		played.found = x.otherThanPlain(played)
		if len(schedule) == 1 && schedule[0].Kind == Gap && played.found == nil {
			played.found = x.otherAtGap(played)
		}
	}
	if err == nil && len(schedule) == 1 && schedule[0].Kind == Overdue && played.isPassed {
		played.found, err = x.otherThanLate(schedule[0], played)
	}
	if err == nil && x.SameOutput && len(schedule) == 1 && isOvertaken(schedule[0], played) {
		played.found, err = x.otherThanFresh(schedule[0], played)
	}
	return played, err
}

// playFor plays a schedule again to see a fault that it has shown. Of the rules that are broken only that one counts.
func (x *explorer) playFor(sought *fault, schedule Schedule, patience child.Patience) (play, error) {
	played, err := x.playOnce(schedule, patience)
	return played.seeing(sought), err
}

// what names the frame of an event.
func (x *explorer) what(seq uint64) string {
	for _, f := range x.plain.frames {
		if f.seq == seq {
			return f.what
		}
	}
	return ""
}

// mostRank is the rank of a patient play that left nothing open.
const mostRank = 3

// rank orders the plays that show a finding by what they prove: in one of them the process may still have a timer of
// its runtime, and in the next none.
func (p play) rank() (rank int) {
	if p.found.isCertain() {
		rank += 2
	}
	if p.patience == child.Confirming {
		rank++
	}
	return rank
}

// clip returns a text, or its beginning if it is long.
func clip(text string) string { return phrase.Shorten(text, 300) }

// unequalWhen says when a server answers otherwise, by the choice that brings it.
var unequalWhen = map[Kind]string{
	Split:       "a message comes in two parts",
	Reverse:     "two questions of the server are answered in the other order",
	Relist:      "the client asks for a list or a resource as soon as the server says that it has changed, and is told nothing after",
	Reopen:      "the client opens another standalone stream and ends the first one then",
	Miss:        "the client ends its standalone stream and comes back by the id of its last event",
	Quit:        "one of two calls at once is cancelled",
	Prompt:      "the client goes on as soon as it is told something",
	Unsubscribe: "another client unsubscribes",
	Part:        "another client ends its session at the same time",
	Clash:       "another client cancels its call of the same id",
	Between:     "a call is made between two of its pages",
	Moved:       "the roots change while the server asks for them, and its questions are answered in the other order",
	Rewalk:      "the client begins a list again between two of its pages",
	Visit:       "another client asks behind that",
	Meet:        "another client asks at the same time",
}

// add adds a confirmed finding to the report.
func (x *explorer) add(schedule Schedule, found *fault, held, of int, played play) {
	f := Finding{Kind: found.kind, Peer: x.peer.name(), Token: schedule.Token(), Held: held, Of: of, Detail: found.detail, Choices: []string{}, Requests: []Request{}}
	for _, seq := range found.events {
		f.Requests = append(f.Requests, Request{Event: seq, What: x.what(seq)})
	}
	f.Choices = x.inWords(schedule)
	f.Certain = found.isCertain()
	f.Lines = played.lines
	if found.kind == Lingers && x.peer.name() == "server" {
		f.When = map[Kind]string{"": "its input closes", Term: "it gets SIGTERM, and its input closes then", Gone: "its output closes, and its input then"}[found.at]
	}
	if found.kind == Unequal {
		f.When = unequalWhen[found.at]
	}
	if found.kind == Hang || found.kind == Lingers {
		f.Stand = found.look.String()
		switch {
		case found.look.Activity != procfs.Asleep:
		case found.look.Ours:
			f.Stand += fmt.Sprintf(", and only a new message from the %s could wake it", x.peer.recorded())
		default:
			f.Stand += ", and nothing could wake it"
		}
	}
	waited := child.Confirming.For(found.look.Timer)
	if f.Stand != "" && found.look.Activity == procfs.Timed && waited > 0 {
		f.Stand += fmt.Sprintf("; mcprec has waited for %v", waited) // one timer behind the other
	}
	x.report.Findings = append(x.report.Findings, f)
	x.show(f.Token, &f, played)
	if x.Found != nil {
		x.Found(f)
	}
	// A burst is compared when it is all that a schedule has, and a broken rule ends no play.
	if len(schedule) > 0 && found.kind != NotSerial && found.kind != Illegal {
		x.shown = append(x.shown, schedule)
	}
}

func (x *explorer) name(seq uint64) string { return fmt.Sprintf("%s (#%d)", x.what(seq), seq) }
