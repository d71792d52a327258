package external

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mcprec/mcprec/replay/external/child"
	"github.com/mcprec/mcprec/transport/procfs"
)

// mostSerial is how many calls a burst may have whose orders are all played.
const mostSerial = 3

// serial tells whether some order of the calls, one after the other, gives the answers that a burst of
// them gave.
type serial struct {
	unstable map[uint64]bool     // answers that differ between two plain plays
	outcomes []map[uint64]string // the answers of each order
}

// newSerial plays the calls of a burst in every order, each in a fresh process: a single call alone. ok is
// false if there is none or too many of them, or an order does not come to its end.
func newSerial(peer peer, calls []uint64, unstable map[uint64]bool, patience child.Patience) (s *serial, ok bool, err error) {
	if len(calls) == 0 || len(calls) > mostSerial {
		return nil, false, nil
	}
	s = &serial{unstable: unstable}
	for _, order := range permutations(calls) {
		played, err := peer.play(Schedule{{Kind: Order, First: slices.Min(calls), Last: slices.Max(calls), Frames: order}}, patience)
		if err != nil || !played.isWhole() {
			return nil, false, err
		}
		s.outcomes = append(s.outcomes, played.answers)
	}
	return s, true, nil
}

// explains reports whether the answers are those of some order.
func (s *serial) explains(answers map[uint64]string) bool {
	return slices.ContainsFunc(s.outcomes, func(outcome map[uint64]string) bool { return agree(outcome, answers, s.unstable, areAlike) })
}

// areAlike reports whether two answers to a call say the same. One may list what came in the order in which it came, and a call may be
// refused in other words: a tool that finds a thing taken only when it has paid for it says so.
func areAlike(answer, other string) bool {
	return haveSameParts(answer, other) || isPlainError(answer) && isPlainError(other)
}

// isPlainError reports whether an answer is an error of a tool that does not tell of a bug.
func isPlainError(answer string) bool {
	text := strings.ToLower(answer)
	return strings.Contains(text, `"iserror":true`) && !slices.ContainsFunc(ofBugs, func(word string) bool { return strings.Contains(text, word) })
}

// ofBugs are words of errors that a program does not mean to give.
var ofBugs = []string{"undefined", "not a function", "nil pointer", "null pointer", "out of range", "traceback", "exception", "typeerror", "keyerror", "attributeerror", "panic", "internal error"}

// same reports whether two plays have the same answers, apart from those that are unstable.
func same(a, b map[uint64]string, unstable map[uint64]bool) bool {
	return agree(a, b, unstable, func(answer, other string) bool { return answer == other })
}

// agree reports whether two plays have answers to the same requests, and answers that are alike, apart from those that are unstable.
func agree(a, b map[uint64]string, unstable map[uint64]bool, isAlike func(answer, other string) bool) bool {
	differ := func(a, b map[uint64]string) bool {
		for seq, answer := range a {
			if other, isThere := b[seq]; !unstable[seq] && (!isThere || !isAlike(answer, other)) {
				return true
			}
		}
		return false
	}
	return !differ(a, b) && !differ(b, a)
}

// haveSameParts reports whether two answers have the same parts, between commas, brackets and ends of lines, in whatever order.
func haveSameParts(answer, other string) bool {
	parts := func(text string) []string {
		list := strings.FieldsFunc(strings.ReplaceAll(text, `\n`, "\n"), func(r rune) bool { return strings.ContainsRune(",\n[]{}", r) })
		for i := range list {
			list[i] = strings.TrimSpace(list[i])
		}
		slices.Sort(list)
		return list
	}
	return answer == other || slices.Equal(parts(answer), parts(other))
}

// permutations returns the orders of a list, its own first.
func permutations(list []uint64) (orders [][]uint64) {
	if len(list) <= 1 {
		return [][]uint64{slices.Clone(list)}
	}
	for i, first := range list {
		rest := slices.Concat(list[:i], list[i+1:])
		for _, order := range permutations(rest) {
			orders = append(orders, append([]uint64{first}, order...))
		}
	}
	return orders
}

// serialise looks for an order of the calls of a burst that explains its answers. Where none does, the smallest
// part of the burst that shows it is told.
func (x *explorer) serialise(schedule Schedule, played play) error {
	if !slices.Contains([]Kind{Join, Swap, LastFirst, Prompt}, schedule.only().Kind) {
		return nil
	}
	calls := x.callsOf(schedule[0])
	found := &fault{kind: NotSerial, events: calls}
	isKnown := func(told []uint64) bool { // in a smaller burst
		return !slices.ContainsFunc(told, func(seq uint64) bool { return !slices.Contains(calls, seq) })
	}
	if x.told[x.keyOf(found)] || slices.ContainsFunc(x.bursts, isKnown) {
		return nil
	}
	defer x.watch(NotSerial, schedule)()
	if len(calls) > mostSerial {
		return x.crowd(schedule, played, calls)
	}
	orders, ok, err := newSerial(x.peer, calls, x.unstable, x.patience)
	if err != nil || !ok || orders.explains(played.answers) {
		return err
	}
	if isFound, err := x.tryParts(schedule[0]); isFound || err != nil {
		return err
	}
	if err := x.settle(); err != nil {
		return err
	}
	held, err := x.repeat(schedule, func(again play) bool { return !orders.explains(again.answers) })
	if err != nil {
		return err
	}
	x.told[x.keyOf(found)] = true
	if held < times || orders.explains(played.answers) {
		return nil // answers that vary by themselves
	}
	x.bursts = append(x.bursts, calls)
	found.detail = x.difference(played.answers, orders)
	played.lines, err = x.linesOf(schedule, found)
	x.add(schedule, found, held, times, played)
	return err
}

// callsOf returns the requests of a burst.
func (x *explorer) callsOf(burst Choice) (calls []uint64) {
	for _, f := range x.plain.frames {
		if f.seq >= burst.First && f.seq <= burst.Last && f.isRequest {
			calls = append(calls, f.seq)
		}
	}
	return calls
}

// mayWait reports whether a play may be without the answers that it lacks: they are to calls of tools that wait in the recorded
// order, too, for another message, which in this one has not come, or has come before. Calls that meet must have their answers if
// they have them in each order, one after the other.
func (x *explorer) mayWait(schedule Schedule, found *fault) (bool, error) {
	isOther := func(seq uint64) bool {
		return !slices.ContainsFunc(x.report.Waiting, func(r Request) bool { return r.What == x.what(seq) })
	}
	isAbout := found.kind == Hang || found.kind == Lost
	only := schedule.only()
	switch {
	case !isAbout || len(schedule) == 0 || len(found.events) == 0 || slices.ContainsFunc(found.events, isOther) || only.Kind == Split:
		return false, nil
	case !slices.Contains([]Kind{Join, Swap, Prompt, LastFirst}, only.Kind):
		return true, nil
	}
	_, isEachWhole, err := newSerial(x.peer, x.callsOf(only), x.unstable, x.patience)
	return !isEachWhole, err
}

// mostCrowd is how many calls a burst may have whose failures are looked at.
const mostCrowd = 6

// crowd looks for calls that fail in a burst of more calls than are played in all orders, and in none of the orders that are
// tried: each of them first, and each of them last. Where a part of the burst shows it, that is told. A server may refuse what is
// too much at once, and say so.
func (x *explorer) crowd(burst Schedule, played play, calls []uint64) error {
	failing := func(played play) (list []uint64) {
		for _, seq := range calls {
			if played.failed[seq] && !x.plain.failed[seq] && !x.unstable[seq] && !isRefusal(played.answers[seq]) {
				list = append(list, seq)
			}
		}
		return list
	}
	found := &fault{kind: NotSerial, events: failing(played)}
	if len(calls) > mostCrowd || len(found.events) == 0 || burst[0].Kind != Join || x.told[x.keyOf(found)] {
		return nil
	}
	if isFound, err := x.tryParts(burst[0]); isFound || err != nil {
		return err
	}
	orders := &serial{unstable: x.unstable, outcomes: []map[uint64]string{x.plain.answers}}
	for i, seq := range calls {
		rest := slices.Delete(slices.Clone(calls), i, i+1)
		for _, order := range [][]uint64{append([]uint64{seq}, rest...), append(rest, seq)} {
			ordered, err := x.peer.play(Schedule{{Kind: Order, First: calls[0], Last: calls[len(calls)-1], Frames: order}}, x.patience)
			if err != nil || !ordered.isWhole() || len(failing(ordered)) > 0 {
				return err
			}
			orders.outcomes = append(orders.outcomes, ordered.answers)
		}
	}
	if err := x.settle(); err != nil {
		return err
	}
	held, err := x.repeat(burst, func(again play) bool { return len(failing(again)) > 0 })
	if err != nil || held < times || len(failing(played)) == 0 {
		return err
	}
	x.told[x.keyOf(found)] = true
	x.bursts = append(x.bursts, calls)
	found.detail = x.difference(played.answers, orders)
	played.lines, err = x.linesOf(burst, found)
	x.add(burst, found, held, times, played)
	return err
}

// isRefusal reports whether an answer says that there was too much to do.
func isRefusal(answer string) bool {
	answer = strings.ToLower(answer)
	return slices.ContainsFunc([]string{"too many", "busy", "rate limit", "try again", "retry", "overload", "queue is full"}, func(word string) bool { return strings.Contains(answer, word) })
}

// repeat plays a schedule again, and returns in how many processes its answers show what they have shown in the first.
func (x *explorer) repeat(schedule Schedule, shows func(play) bool) (held int, err error) {
	held = 1
	for range times - 1 {
		again, err := x.peer.play(schedule, x.patience)
		if err != nil {
			return held, err
		}
		if again.isWhole() && shows(again) {
			held++
		}
	}
	return held, nil
}

// tryParts tries a burst without its first frame, and without its last, and reports whether that is a finding.
func (x *explorer) tryParts(burst Choice) (isFound bool, err error) {
	var frames []uint64
	for _, f := range x.plain.frames {
		if f.seq >= burst.First && f.seq <= burst.Last {
			frames = append(frames, f.seq)
		}
	}
	count := len(frames)
	if count < 3 {
		return false, nil
	}
	before := len(x.report.Findings)
	for _, part := range [][]uint64{frames[1:], frames[:count-1]} {
		schedule := Schedule{{Kind: Join, First: part[0], Last: part[len(part)-1]}}
		played, err := x.playOnce(schedule, x.patience)
		if err == nil {
			err = x.judge(schedule, played)
		}
		if err != nil || len(x.report.Findings) > before {
			return true, err
		}
	}
	return false, nil
}

// difference shows an answer of the burst that no order gives, or else the first that differs.
func (x *explorer) difference(answers map[uint64]string, orders *serial) string {
	for _, isAlone := range []bool{true, false} {
		for _, f := range x.plain.frames {
			answer, isThere := answers[f.seq]
			inOrder := orders.outcomes[0][f.seq]
			isNowhere := !slices.ContainsFunc(orders.outcomes, func(outcome map[uint64]string) bool { return areAlike(outcome[f.seq], answer) })
			if isThere && !x.unstable[f.seq] && answer != inOrder && (isNowhere || !isAlone) {
				return fmt.Sprintf("%s (#%d) is answered by\n    %s\n  and in the recorded order by\n    %s", f.what, f.seq, clip(answer), clip(inOrder))
			}
		}
	}
	return ""
}

// compareAnswers confirms that a server answers otherwise although its requests are whole and in the recorded order: a
// message came in two parts, a list was begun again between two of its pages, the answers to its questions came in another
// order, or another client has left. Of the latter two only a call that fails is a fault: an answer may list what came in the
// order in which it came, or count the clients.
func (x *explorer) compareAnswers(schedule Schedule, played play) error {
	isExact := schedule[0].Kind == Split || schedule[0].Kind == Rewalk
	others := func(played play) (list []uint64) {
		for _, f := range x.plain.frames {
			answer, isThere := played.answers[f.seq]
			isOther := isThere && !x.unstable[f.seq] && answer != x.plain.answers[f.seq]
			if isOther && (isExact || played.failed[f.seq] && !x.plain.failed[f.seq]) { // made arguments may fail anyway
				list = append(list, f.seq)
			}
		}
		return list
	}
	found := &fault{kind: Unequal, events: others(played), look: procfs.Look{Activity: procfs.Ended}, at: schedule[0].Kind}
	if len(found.events) == 0 || x.told[x.keyOf(found)] {
		return nil
	}
	defer x.watch(Unequal, schedule)()
	held, err := x.repeat(schedule, func(again play) bool { return len(others(again)) > 0 })
	if err != nil {
		return err
	}
	if err := x.settle(); err != nil {
		return err
	}
	if held < times || len(others(played)) == 0 {
		return nil // answers that vary by themselves
	}
	x.told[x.keyOf(found)] = true
	found.detail = x.difference(played.answers, &serial{unstable: x.unstable, outcomes: []map[uint64]string{x.plain.answers}})
	x.add(schedule, found, held, times, played)
	return nil
}

// compareQuit confirms that of two calls at once, one of which is cancelled, the other has an answer that it has in no order of the
// two, nor when the one is cancelled before the other is made, or that a later call of that tool fails as in none of these.
func (x *explorer) compareQuit(schedule Schedule, played play) error {
	quit, stays := schedule[0].First, schedule[0].Last
	first, last := min(quit, stays), max(quit, stays)
	others := func(played play) (list []uint64) {
		for _, f := range x.plain.frames {
			answer, isThere := played.answers[f.seq]
			isOther := isThere && f.seq != quit && f.seq >= first && f.what == x.what(quit) && (f.seq == stays || played.failed[f.seq])
			if isOther && !x.unstable[f.seq] && answer != x.plain.answers[f.seq] {
				list = append(list, f.seq)
			}
		}
		return list
	}
	found := &fault{kind: Unequal, events: others(played), look: procfs.Look{Activity: procfs.Ended}, at: Quit}
	if len(found.events) == 0 || x.told[x.keyOf(found)] || !played.isWhole() {
		return nil
	}
	defer x.watch(Unequal, schedule)()
	isLike := func(answers map[uint64]string) bool {
		return !slices.ContainsFunc(found.events, func(seq uint64) bool { return answers[seq] != played.answers[seq] })
	}
	orders := &serial{unstable: x.unstable, outcomes: []map[uint64]string{x.plain.answers}}
	for _, other := range []Schedule{
		{{Kind: Order, First: first, Last: last, Frames: []uint64{last, first}}},
		{{Kind: Cancel, First: quit, Last: quit}},
		append(Schedule{{Kind: LateCancel, First: quit, Last: quit}}, schedule[1:]...),
	} {
		ordered, err := x.peer.play(other, x.patience)
		if err != nil || !ordered.isWhole() || isLike(ordered.answers) {
			return err
		}
		orders.outcomes = append(orders.outcomes, ordered.answers)
	}
	if err := x.settle(); err != nil {
		return err
	}
	held, err := x.repeat(schedule, func(again play) bool { return isLike(again.answers) })
	if err != nil || held < times || len(others(played)) < len(found.events) {
		return err
	}
	x.told[x.keyOf(found)] = true
	found.detail = x.difference(played.answers, orders)
	x.add(schedule, found, held, times, played)
	return nil
}

// compareMeeting confirms that a server over HTTP answers two clients that ask at once otherwise than one after the other, in
// either order: they have the state of the server in common, perhaps, but not their sessions.
func (x *explorer) compareMeeting(schedule Schedule, played play) error {
	found := &fault{kind: Unequal, events: []uint64{schedule[0].First}, look: procfs.Look{Activity: procfs.Ended}, at: Meet}
	if x.told[x.keyOf(found)] || same(played.answers, x.plain.answers, map[uint64]bool{guestAnswer: true}) && strings.HasPrefix(played.answers[guestAnswer], refused) {
		return nil
	}
	defer x.watch(Unequal, schedule)()
	orders := &serial{unstable: x.unstable}
	for _, turn := range []turn{before, before, after} {
		choice := schedule[0]
		choice.At = int(turn)
		ordered, err := x.peer.play(Schedule{choice}, x.patience)
		if err != nil || !ordered.isWhole() {
			return err
		}
		orders.outcomes = append(orders.outcomes, ordered.answers)
	}
	if orders.explains(played.answers) {
		return nil
	}
	if err := x.settle(); err != nil {
		return err
	}
	orders.unstable = maps.Clone(x.unstable)
	orders.unstable[guestAnswer] = orders.outcomes[0][guestAnswer] != orders.outcomes[1][guestAnswer]
	held, err := x.repeat(schedule, func(again play) bool { return !orders.explains(again.answers) })
	if err != nil {
		return err
	}
	if held < times || orders.explains(played.answers) {
		return nil
	}
	x.told[x.keyOf(found)] = true
	found.detail = x.difference(played.answers, orders)
	if found.detail == "" {
		found.detail = fmt.Sprintf("the other client, which asks for %s, gets\n    %s\n  and when it asks first\n    %s",
			x.what(schedule[0].Last), clip(played.answers[guestAnswer]), clip(orders.outcomes[0][guestAnswer]))
	}
	x.add(schedule, found, held, times, played)
	return nil
}

// compareClash confirms that a server over HTTP does not answer a client whose call has the id of a call that another client has
// cancelled.
func (x *explorer) compareClash(schedule Schedule, played play) error {
	found := &fault{kind: Unequal, events: []uint64{schedule[0].First}, look: procfs.Look{Activity: procfs.Ended}, at: Clash, about: "cancelled by another client"}
	isLost := func(played play) bool { return strings.HasPrefix(played.answers[guestAnswer], unanswered) }
	if x.told[x.keyOf(found)] || !isLost(played) {
		return nil
	}
	defer x.watch(Unequal, schedule)()
	held, err := x.repeat(schedule, isLost)
	if err != nil || held < times {
		return err
	}
	x.told[x.keyOf(found)] = true
	found.detail = "the other client, which has cancelled nothing, gets " + played.answers[guestAnswer]
	x.add(schedule, found, held, times, played)
	return nil
}

// astray returns what a server tells another client in place of the recorded one: of a kind of notification that one gets fewer
// than when the other has asked before, and the other gets more. "": nothing. Their texts are not compared: a number in them may
// be given in the order in which the two ask.
func astray(played, ordered play) string {
	times := func(list []string, method string) (count int) {
		for _, text := range list {
			if strings.HasPrefix(text, method+" ") {
				count++
			}
		}
		return count
	}
	for _, text := range slices.Backward(played.toldGuest) {
		method, _, _ := strings.Cut(text, " ")
		if times(played.told, method) < times(ordered.told, method) && times(played.toldGuest, method) > times(ordered.toldGuest, method) {
			return text
		}
	}
	return ""
}

// compareVisit confirms that a server tells another client, which asks behind a call, what is for the client that has made the
// call.
func (x *explorer) compareVisit(schedule Schedule, played play) error {
	found := &fault{kind: Unequal, events: []uint64{schedule[0].First}, look: procfs.Look{Activity: procfs.Ended}, at: Visit, about: "told to another client"}
	if x.told[x.keyOf(found)] || len(played.toldGuest) == 0 {
		return nil
	}
	defer x.watch(Unequal, schedule)()
	choice := schedule[0]
	choice.At = int(before)
	var text string
	for range times {
		ordered, err := x.peer.play(Schedule{choice}, x.patience)
		if err != nil || !ordered.isWhole() {
			return err
		}
		if text = astray(played, ordered); text == "" {
			return nil // it may be told to both, or to either
		}
		held, err := x.repeat(schedule, func(again play) bool { return astray(again, ordered) != "" })
		if err != nil || held < times {
			return err
		}
	}
	x.told[x.keyOf(found)] = true
	found.detail = "the other client is told, and this one is told less than when the other has asked before\n    " + clip(text)
	x.add(schedule, found, times, times, played)
	return nil
}

// compareMoved confirms that a server whose client's roots have changed while it asked for them goes by the roots that came last,
// and not by those that it asked for last.
func (x *explorer) compareMoved(schedule Schedule, played play) error {
	found := &fault{kind: Unequal, events: []uint64{schedule[0].First}, look: procfs.Look{Activity: procfs.Ended}, at: Moved}
	if x.told[x.keyOf(found)] {
		return nil
	}
	defer x.watch(Unequal, schedule)()
	choice := schedule[0]
	choice.At = int(before)
	var orders *serial
	for range times {
		ordered, err := x.peer.play(Schedule{choice}, x.patience)
		if err != nil || !ordered.isWhole() || same(played.answers, ordered.answers, x.unstable) {
			return err
		}
		if orders != nil && !orders.explains(ordered.answers) {
			return nil // answers that vary by themselves
		}
		orders = &serial{unstable: x.unstable, outcomes: []map[uint64]string{ordered.answers}}
	}
	if err := x.settle(); err != nil {
		return err
	}
	held, err := x.repeat(schedule, func(again play) bool { return !orders.explains(again.answers) })
	if err != nil || held < times || orders.explains(played.answers) {
		return err
	}
	x.told[x.keyOf(found)] = true
	found.detail = strings.Replace(x.difference(played.answers, orders), "in the recorded order by", "when they are answered in turn by", 1)
	x.add(schedule, found, held, times, played)
	return nil
}

// compareNews confirms that a server over HTTP does not tell any more of a change of which it has told in the recorded order,
// though the client listens.
func (x *explorer) compareNews(schedule Schedule, played play) error {
	missing := func(played play) (untold []news) {
		for _, n := range x.plain.news {
			isTold := slices.ContainsFunc(played.news, func(other news) bool { return other.what == n.what && other.behind >= n.behind })
			isIn := n.behind > schedule[0].First || n.behind == schedule[0].First && schedule[0].Kind == Unsubscribe
			if isIn && played.isWhole() && !isTold && !played.isDeaf {
				untold = append(untold, n)
			}
		}
		return untold
	}
	untold := missing(played)
	found := &fault{kind: Unequal, look: procfs.Look{Activity: procfs.Ended}, at: schedule[0].Kind}
	if len(untold) == 0 || x.told[x.keyOf(found)] {
		return nil
	}
	defer x.watch(Unequal, schedule)()
	x.told[x.keyOf(found)] = true
	held, err := x.repeat(schedule, func(again play) bool { return slices.Contains(missing(again), untold[0]) })
	if err != nil || held < times {
		return err
	}
	found.events = []uint64{untold[0].behind}
	found.detail = untold[0].what + " came behind that in the recorded order, and comes no more"
	x.add(schedule, found, held, times, played)
	return nil
}
