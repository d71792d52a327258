package external

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mcprec/mcprec/replay/external/child"
	"github.com/mcprec/mcprec/transport/mcp"
	"github.com/mcprec/mcprec/transport/procfs"
)

// confirm plays a schedule with a fault in fresh processes, patiently, and adds the finding if all of them
// show it.
func (x *explorer) confirm(schedule Schedule, first play) (err error) {
	defer x.watch(first.found.kind, schedule)()
	defer func() {
		if errors.Is(err, child.ErrStopped) {
			x.report.Unconfirmed = append(x.report.Unconfirmed, fmt.Sprintf("%s: %s", first.found.kind, schedule.Token()))
		}
	}()
	schedule, first, err = x.simplify(schedule, first)
	if err != nil {
		return err
	}
	if x.told[x.keyOf(first.found)] {
		return nil
	}
	kind := first.found.kind
	held, best, of := 1, first, times
	for count := 2; count <= of; count++ {
		patience := child.Confirming
		if (kind == Hang || kind == Lingers) && best.rank() == mostRank {
			patience = x.patience // its timers have run out once
		}
		played, err := x.playFor(first.found, schedule, patience)
		if err != nil {
			return err
		}
		if played.found != nil && played.found.kind == kind {
			held++
			if played.rank() >= best.rank() {
				best = played
			}
		}
		if count == times && held == times-1 && (kind == Died || kind == Lost || kind == Illegal || kind == Different) {
			of = mostTimes
		}
	}
	if kind == Different && of == mostTimes && 2*held >= of {
		if isSteady, err := x.isSteady(); err != nil || !isSteady {
			return err
		}
	}
	wasMoving := first.found.look.Activity == procfs.Timed || first.found.look.Activity == procfs.Outside
	if held < times && wasMoving && first.patience != child.Confirming {
		x.patience = child.Confirming // it only took its time, and is given it from now on
		if len(schedule) == 0 {
			return nil // the caller plays it again
		}
		played, err := x.playOnce(schedule, x.patience)
		if err != nil {
			return err
		}
		return x.judge(schedule, played)
	}
	key := x.keyOf(first.found)
	if held < times || 2*held < of {
		x.notHold(key, fmt.Sprintf("%s, %d of %d processes: %s", kind, held, of, schedule.Token()))
		return nil
	}
	x.hold(key)
	best.lines, err = x.linesOf(schedule, best.found)
	x.add(schedule, best.found, held, of, best)
	if errors.Is(err, child.ErrStopped) {
		return nil // the finding is confirmed, and the search ends before its next play
	}
	return err
}

// isSteady reports whether a client prints, and answers, the same in the recorded order each time.
func (x *explorer) isSteady() (bool, error) {
	for range mostTimes {
		again, err := x.peer.play(nil, x.patience)
		if err != nil || again.output != x.plain.output {
			return false, err
		}
		for seq, reply := range x.plain.replies {
			if again.replies[seq] != reply {
				return false, nil
			}
		}
	}
	return true, nil
}

// notHeld is a finding that not enough processes have shown.
type notHeld struct {
	key, text string // the text of the latest try
	tries     int
}

// notHold notes a finding that has not held.
func (x *explorer) notHold(key, text string) {
	at := slices.IndexFunc(x.notHeld, func(n notHeld) bool { return n.key == key })
	if at < 0 {
		at = len(x.notHeld)
		x.notHeld = append(x.notHeld, notHeld{key: key})
	}
	x.notHeld[at].text = text
	x.notHeld[at].tries++
	x.told[key] = x.notHeld[at].tries == mostTries
}

// hold notes that a finding has held: that others like it have not says no more.
func (x *explorer) hold(key string) {
	x.told[key] = true
	x.notHeld = slices.DeleteFunc(x.notHeld, func(n notHeld) bool { return n.key == key })
}

// linesOf plays a finding once more, to a process with the means of its own language switched on, and asks it which lines
// hold what waits, keep it alive, or wrote what is illegal, or where the requests of a burst met. It does not wait for
// timers: that the process hangs is known.
func (x *explorer) linesOf(schedule Schedule, found *fault) ([]string, error) {
	isAsked := found.kind == Hang || found.kind == Lingers || found.kind == Illegal || found.kind == NotSerial
	if x.NoLines || !isAsked {
		return nil, nil
	}
	played, err := x.peer.asking().play(schedule, child.Searching)
	if err == nil && found.kind == NotSerial {
		return played.met, nil
	}
	played = played.seeing(found)
	if err != nil || played.found == nil || x.keyOf(played.found) != x.keyOf(found) {
		return nil, err
	}
	return played.lines, nil
}

// settle notes, before answers are told to be wrong, which of them differ by now, or when the client takes its time: they have a
// clock in them, or what a timer of the server has done by then.
func (x *explorer) settle() error {
	if err := x.steady(); err != nil || x.isSettled {
		return err
	}
	x.isSettled = true
	slow, err := x.peer.play(Schedule{{Kind: Slow}}, x.patience)
	if err != nil || !slow.isWhole() {
		return err
	}
	for seq, answer := range x.plain.answers {
		if slow.answers[seq] != answer {
			x.unstable[seq] = true
		}
	}
	x.report.Unstable = slices.Sorted(maps.Keys(x.unstable))
	return nil
}

// steady plays plainly once more, and notes which answers are not the same again.
func (x *explorer) steady() error {
	if len(x.plain.answers) == 0 && !x.SameOutput {
		return nil
	}
	again, err := x.peer.play(nil, x.patience)
	if err != nil {
		return err
	}
	if x.SameOutput && again.output != x.plain.output {
		return fmt.Errorf("the client's output is not the same each time in the recorded order, and cannot be compared: %s", firstDifference(again.output, x.plain.output))
	}
	maps.DeleteFunc(x.plain.replies, func(seq uint64, reply string) bool { return again.replies[seq] != reply })
	x.plain.news = slices.DeleteFunc(x.plain.news, func(n news) bool { return !slices.Contains(again.news, n) })
	for seq, answer := range x.plain.answers {
		if again.answers[seq] != answer {
			x.unstable[seq] = true
		}
	}
	x.report.Unstable = slices.Sorted(maps.Keys(x.unstable))
	return nil
}

// otherThanPlain finds what a client printed, or answered the server, otherwise than in the recorded order. Its roots may have
// changed when the server asks for them sooner or later.
func (x *explorer) otherThanPlain(played play) *fault {
	found := &fault{kind: Different, look: procfs.Look{Activity: procfs.Ended}}
	if len(played.changes) > 0 {
		return x.otherAtChange(played)
	}
	isSameOrder := slices.EqualFunc(played.frames, x.plain.frames, isSameFrame)
	output, plain := played.output, x.plain.output
	if haveAnswersMoved(played.frames, x.plain.frames) { // it may print an answer when that comes
		output, plain = sortedLines(output), sortedLines(plain)
		isSameOrder = true
		found.about = "answers in another order"
	}
	if isSameOrder && output != plain {
		found.detail = firstDifference(output, plain)
		return found
	}
	if missed := x.missedChange(played); missed != "" && sortedLines(output) != sortedLines(plain) {
		found.about = "a change while it lists"
		found.detail = missed + "\n  " + firstDifference(output, plain)
		return found
	}
	for _, seq := range slices.Sorted(maps.Keys(x.plain.replies)) {
		reply, isThere := played.replies[seq]
		if isThere && reply != x.plain.replies[seq] && (isSameOrder || x.what(seq) != mcp.MethodListRoots) {
			found.events = []uint64{seq}
			found.about = x.what(seq) // of several questions of a kind the first is enough
			found.detail = fmt.Sprintf("by\n    %s\n  and in the recorded order by\n    %s", clip(reply), clip(x.plain.replies[seq]))
			return found
		}
	}
	return nil
}

// onlyMoves reports whether a choice of a server leaves its messages as they are, and says only when they go out.
func (c Choice) onlyMoves() bool {
	return slices.Contains([]Kind{Join, Split, Early, Late, Behind, Form}, c.Kind)
}

// otherThanAsked finds what a client asks for that it never asks for in the recording, if until then it was sent the same messages,
// or the same but for the order of answers: it takes one answer for another, perhaps.
func (x *explorer) otherThanAsked(played play) *fault {
	other := played.other
	if other == nil || other.behind > len(x.plain.frames) {
		return nil
	}
	frames, plain := played.frames[:other.behind], x.plain.frames[:other.behind]
	if !haveAnswersMoved(frames, plain) && !slices.EqualFunc(frames, plain, isSameFrame) {
		return nil
	}
	detail := asksFor + "\n    " + clip(other.wants)
	if len(other.instead) > 0 {
		detail += "\n  and in the recorded order for\n    " + clip(other.instead[0])
	}
	return &fault{kind: Different, look: procfs.Look{Activity: procfs.Ended}, about: "another request", detail: detail}
}

// missedChange says which change a client has missed whose like it heeds in the recorded order: it was told of it while it read
// what has changed, so that its answer may be older, and did not read it again. "": none.
func (x *explorer) missedChange(played play) string {
	for _, subject := range slices.Sorted(maps.Keys(played.missed)) {
		if x.plain.missed[subject] == 0 && x.plain.heeds[subject] {
			return fmt.Sprintf("it was told while it waited for %s that this had changed (#%d), and did not ask for it again", subject, played.missed[subject])
		}
	}
	return ""
}

// otherAtChange finds what a client prints that was told of a change that was none, if it is told of such a change in the
// recorded order as well. It may ask for lists more often, and print of them more often: it must print each word that it prints
// in the recorded order, as often as there, and no other word.
func (x *explorer) otherAtChange(played play) *fault {
	isTold := func(change string) bool {
		return slices.ContainsFunc(x.plain.frames, func(f frame) bool { return f.what == change })
	}
	if !slices.ContainsFunc(played.changes, isTold) {
		return nil
	}
	detail := otherWords(x.plain.output, played.output)
	if detail == "" {
		return nil
	}
	return &fault{kind: Different, look: procfs.Look{Activity: procfs.Ended}, about: "a change that was none", detail: detail}
}

// otherAtGap finds what a client prints that learns of all changes at once: it may print less of them, and nothing else.
func (x *explorer) otherAtGap(played play) *fault {
	detail := newWord(x.plain.output, played.output)
	if detail == "" {
		return nil
	}
	return &fault{kind: Different, look: procfs.Look{Activity: procfs.Ended}, about: "a change in front of its subscription", detail: detail}
}

// otherThanLate finds what a client does that gets an answer when it has given that up, and not when it gets the answer at its
// end: it is to ignore that (basic/utilities/cancellation, Behavior Requirements).
func (x *explorer) otherThanLate(overdue Choice, played play) (*fault, error) {
	late, err := x.peer.play(Schedule{{Kind: Late, First: overdue.First, Last: overdue.Last}}, played.patience)
	switch {
	case err != nil || late.found != nil || late.isUnjudged || played.isUnjudged:
		return nil, err
	case played.found != nil && played.found.kind == Died && played.status == late.status: // it says so that a call has failed
		played.found = nil
	}
	if played.found != nil || !x.SameOutput {
		return played.found, nil
	}
	for _, legal := range []string{x.plain.output, late.output} { // it made both calls at once, perhaps
		if sortedLines(played.output) == sortedLines(legal) {
			return nil, nil
		}
	}
	detail := strings.Replace(firstDifference(played.output, late.output), "in the recorded order", "if that answer comes at the end", 1)
	return &fault{kind: Different, look: procfs.Look{Activity: procfs.Ended}, about: "an answer that it has given up", detail: detail}, nil
}

// isOvertaken reports whether an answer to a list or a resource was kept back until a newer one had come, and nothing is wrong yet.
func isOvertaken(late Choice, played play) bool {
	at := slices.IndexFunc(played.frames, func(f frame) bool { return f.seq == late.First })
	return late.Kind == Late && at >= 0 && played.found == nil && !played.isUnjudged && slices.ContainsFunc(played.frames[:at], func(f frame) bool {
		return f.page != "" && f.page == played.frames[at].page && f.seq > late.First
	})
}

// otherThanFresh finds what a client prints that gets the answer to an earlier request behind that to a later one. If it prints
// each as it comes, it prints what it prints in the recorded order; if it keeps the latest, it prints what it prints where the
// late answer is as new as the other.
func (x *explorer) otherThanFresh(late Choice, played play) (*fault, error) {
	fresh, err := x.peer.play(Schedule{late, {Kind: Fresh, First: late.First, Last: late.First}}, played.patience)
	if err != nil || fresh.found != nil || fresh.isUnjudged {
		return nil, err
	}
	for _, legal := range []string{x.plain.output, fresh.output} {
		if sortedLines(played.output) == sortedLines(legal) {
			return nil, nil
		}
	}
	detail := "it goes by an old answer that has come behind a newer one\n  " + strings.Replace(firstDifference(played.output, fresh.output), "in the recorded order", "if the two answers are the same", 1)
	return &fault{kind: Different, look: procfs.Look{Activity: procfs.Ended}, about: "an old answer behind a newer one", detail: detail}, nil
}

// newWord shows the first line of an output with a word that the plain one does not have. "": there is none.
func newWord(plain, output string) string {
	words := strings.Fields(unnumbered(plain))
	for i, line := range strings.Split(output, "\n") {
		for word := range strings.FieldsSeq(unnumbered(line)) {
			if !slices.Contains(words, word) {
				return fmt.Sprintf("line %d is\n    %s\n  and in the recorded order it prints no such line", i+1, clip(line))
			}
		}
	}
	return ""
}

// otherWords shows the first line of an output with a word that the plain one does not have, or else the first line of the plain one
// with a word that the other has less often. "": there is none.
func otherWords(plain, output string) string {
	if detail := newWord(plain, output); detail != "" {
		return detail
	}
	times := map[string]int{}
	for word := range strings.FieldsSeq(unnumbered(plain)) {
		times[word]++
	}
	for word := range strings.FieldsSeq(unnumbered(output)) {
		times[word]--
	}
	for i, line := range strings.Split(plain, "\n") {
		for word := range strings.FieldsSeq(unnumbered(line)) {
			if times[word] > 0 {
				return fmt.Sprintf("it does not print, as in the recorded order in line %d\n    %s", i+1, clip(line))
			}
		}
	}
	return ""
}

// unnumbered returns a text without its digits: how often something was told may stand in it.
func unnumbered(text string) string {
	return strings.Map(func(r rune) rune {
		if '0' <= r && r <= '9' {
			return -1
		}
		return r
	}, text)
}

// haveAnswersMoved reports whether two plays differ, and only in which answer stood where.
func haveAnswersMoved(played, plain []frame) bool {
	return !slices.EqualFunc(played, plain, isSameFrame) &&
		slices.EqualFunc(played, plain, func(a, b frame) bool { return a.seq == b.seq || a.isAnswer && b.isAnswer })
}

// isSameFrame reports whether two frames of two plays are one of the recording.
func isSameFrame(a, b frame) bool { return a.seq == b.seq }

// sortedLines returns a text with its lines sorted.
func sortedLines(text string) string {
	lines := strings.Split(text, "\n")
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// firstDifference shows the first line that differs between two outputs.
func firstDifference(output, plain string) string {
	is, was := strings.Split(output, "\n"), strings.Split(plain, "\n")
	for i := range max(len(is), len(was)) {
		line := func(lines []string) string {
			if i < len(lines) {
				return clip(lines[i])
			}
			return "nothing more"
		}
		if line(is) != line(was) || i >= len(is) || i >= len(was) {
			return fmt.Sprintf("line %d is\n    %s\n  and in the recorded order\n    %s", i+1, line(is), line(was))
		}
	}
	return ""
}

// judgeRules confirms that the end under test broke rules that were not known to be broken. Where one order is played, by its
// token, a rule that is broken in the recorded order as well is not what it shows.
func (x *explorer) judgeRules(schedule Schedule, played play) error {
	for _, found := range played.broken {
		switch {
		case x.told[x.keyOf(found)]:
		case x.Token != "" && len(schedule) == 0 && x.Token != schedule.Token():
			x.told[x.keyOf(found)] = true
		default:
			played.found = found
			if err := x.confirm(schedule, played); err != nil {
				return err
			}
		}
	}
	return nil
}

// judge confirms what the play of a schedule has found.
func (x *explorer) judge(schedule Schedule, played play) error {
	if err := x.judgeRules(schedule, played); err != nil {
		return err
	}
	only := schedule.only().Kind
	if slices.Contains([]Kind{Reopen, Miss, Part, Unsubscribe, Prompt}, only) && played.found == nil {
		if err := x.compareNews(schedule, played); err != nil {
			return err
		}
	}
	switch {
	case played.found != nil && !x.isTold(played.found):
		if waits, err := x.mayWait(schedule, played.found); err != nil || waits {
			return err
		}
		return x.confirm(schedule, played)
	case !played.isWhole():
		return nil // a known finding
	case only == Meet:
		return x.compareMeeting(schedule, played)
	case only == Moved:
		return x.compareMoved(schedule, played)
	case only == Clash:
		return x.compareClash(schedule, played)
	case only == Visit:
		return x.compareVisit(schedule, played)
	case only == Reopen || only == Part || only == Unsubscribe:
		return x.compareAnswers(schedule, played)
	case only == Between, only == Desert: // what the call has changed shows in the answers to others
		return nil
	case played.isUnjudged && !x.plain.isUnjudged, same(played.answers, x.plain.answers, x.unstable):
		return nil
	case slices.Contains([]Kind{Split, Reverse, Rewalk}, only):
		return x.compareAnswers(schedule, played)
	case only == Quit:
		return x.compareQuit(schedule, played)
	}
	return x.serialise(schedule, played)
}

// isTold reports whether a finding is known. An answer that is lost at the end of the input is no other finding when more are
// lost with it.
func (x *explorer) isTold(found *fault) bool {
	isTold := x.told[x.keyOf(found)]
	for _, seq := range found.events {
		isTold = isTold || found.kind == Lost && x.told[x.keyOf(&fault{kind: Lost, events: []uint64{seq}})]
	}
	return isTold
}

// keyOf tells findings apart: the same calls show one bug in many schedules.
func (x *explorer) keyOf(found *fault) string {
	if found.kind == Died || found.kind == NoSession {
		return string(found.kind)
	}
	if found.kind == Lingers { // one that goes on when its input closes does so at the rougher ends, too
		if x.told[string(Lingers)] || found.at == "" {
			return string(Lingers)
		}
		return string(Lingers) + "\n" + string(found.at)
	}
	words := []string{string(found.kind)}
	if found.about != "" {
		return string(found.kind) + "\n" + found.about
	}
	switch found.kind {
	case Different:
		words = append(words, found.detail)
	case Unequal: // by a split and by answers in another order are two bugs
		words = append(words, string(found.at))
	}
	for _, seq := range found.events {
		words = append(words, x.what(seq))
	}
	slices.Sort(words)
	return strings.Join(slices.Compact(words), "\n")
}

// simplify takes away each choice that the fault does not need; with an error, those that it has come to.
func (x *explorer) simplify(schedule Schedule, first play) (Schedule, play, error) {
	for i := 0; len(schedule) > 1 && i < len(schedule); {
		fewer := slices.Delete(slices.Clone(schedule), i, i+1)
		played, err := x.playFor(first.found, fewer, x.patience)
		if err != nil {
			return schedule, first, err
		}
		if played.found != nil && x.keyOf(played.found) == x.keyOf(first.found) {
			schedule, first = fewer, played
		} else {
			i++
		}
	}
	return x.simplifyEnd(schedule, first)
}

// simplifyEnd puts the end of the input in the place of a rougher end of a server that does not exit, if that is enough.
func (x *explorer) simplifyEnd(schedule Schedule, first play) (Schedule, play, error) {
	at := slices.IndexFunc(schedule, func(c Choice) bool { return first.found.at != "" && c.Kind == first.found.at })
	if at < 0 {
		return schedule, first, nil
	}
	simpler := slices.Clone(schedule)
	simpler[at].Kind = LateEnd
	played, err := x.playOnce(simpler, x.patience)
	if err == nil && played.found != nil && played.found.kind == Lingers {
		return simpler, played, nil
	}
	return schedule, first, err
}
