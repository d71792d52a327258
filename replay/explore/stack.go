package explore

import (
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/mcprec/mcprec/replay/phrase"
)

const bubbleWord = "synctest bubble "

// bubbleMark returns what names a goroutine's bubble in the head of its stack, such
// as "synctest bubble 3", or "".
func bubbleMark(stack string) string {
	at := strings.Index(stack, bubbleWord)
	if at < 0 {
		return ""
	}
	end := at + len(bubbleWord)
	for end < len(stack) && '0' <= stack[end] && stack[end] <= '9' {
		end++
	}
	return stack[at:end]
}

// stacks returns the trimmed stacks of the goroutines in the caller's bubble that
// belong to the code under test, in an order that does not change between runs.
func stacks() []string {
	all := snapshot()
	return inBubble(all[1:], bubbleMark(all[0])) // the caller comes first
}

// bubbleStacks is stacks for a bubble that the caller is not in.
func bubbleStacks(mark string) []string { return inBubble(snapshot(), mark) }

// bubbleOfCaller returns the mark of the caller's bubble.
func bubbleOfCaller() string {
	var buf [64]byte
	return bubbleMark(string(buf[:runtime.Stack(buf[:], false)]))
}

// goroutineID returns the caller's number, as stacks write it.
func goroutineID() string {
	var buf [32]byte
	head := string(buf[:runtime.Stack(buf[:], false)])
	id, _, _ := strings.Cut(strings.TrimPrefix(head, "goroutine "), " ")
	return id
}

// snapshot returns the stack of each goroutine of the process.
func snapshot() []string {
	buf := make([]byte, 64<<10)
	for {
		n := runtime.Stack(buf, true)
		if n < len(buf) {
			return strings.Split(strings.TrimSpace(string(buf[:n])), "\n\n")
		}
		buf = make([]byte, 2*len(buf))
	}
}

// inBubble trims and sorts those of a bubble.
func inBubble(all []string, mark string) []string { return trimStacks(ofBubble(all, mark)) }

// ofBubble are the stacks of a bubble's goroutines, but its own.
func ofBubble(all []string, mark string) (list []string) {
	for _, s := range all {
		head, _, _ := strings.Cut(s, "\n")
		if mark != "" && strings.Contains(head, mark+"]") && !ownStack(s) {
			list = append(list, s)
		}
	}
	return list
}

// trimStacks trims and sorts. Recorded halves, and who is only in code that is hidden,
// have nothing to tell.
func trimStacks(all []string) []string {
	var list []string
	for _, s := range all {
		if trimmed := trimStack(s); strings.Contains(trimmed, "\n") && !recordedStack(s) {
			list = append(list, trimmed)
		}
	}
	slices.Sort(list)
	return list
}

// ownStack reports whether a goroutine belongs to the bubble itself.
func ownStack(s string) bool {
	return strings.Contains(s, "internal/synctest.Run(") || strings.Contains(s, ".testingSynctestTest(")
}

// recordedStack reports whether a goroutine plays a recorded half: where it is
// blocked says nothing of the code under test.
func recordedStack(s string) bool {
	return strings.Contains(s, "/replay/explore.(*half).") || strings.Contains(s, "/replay/explore.(*actor).")
}

var (
	frameArgs = phrase.Regexp(`\((0x|\{|\.\.\.|\))[^()]*\)?$|\(\)$`)
	stateOf   = phrase.Regexp(`^goroutine \d+ [^\[]*\[([^,\]]*)`)
)

// trimStack keeps of a stack what a reader needs: the state, then function and
// file:line, without numbers that change from run to run and without the frames
// of the runtime and of this package's engine.
func trimStack(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	var b strings.Builder
	state := "goroutine"
	if m := stateOf().FindStringSubmatch(lines[0]); m != nil {
		state = strings.TrimSuffix(m[1], " (durable)")
	}
	b.WriteString("[" + state + "]")
	for i := 1; i+1 < len(lines); i += 2 {
		function, place := lines[i], strings.TrimSpace(lines[i+1])
		if strings.HasPrefix(function, "created by ") {
			break
		}
		function = frameArgs().ReplaceAllString(function, "")
		if hidden(function) {
			continue
		}
		place, _, _ = strings.Cut(place, " ")
		fmt.Fprintf(&b, "\n  %s %s", filepath.Base(function), filepath.Base(place))
	}
	return b.String()
}

// hidden reports whether a function says nothing about the code under test.
func hidden(function string) bool {
	if function == "panic" || begins(function, "runtime.", "runtime/debug.", "internal/sync.", "sync.runtime_") {
		return true
	}
	if _, name, own := strings.Cut(function, "/mcprec/fixtures."); own && begins(name, "(*Fixture).", "(*scheduleTB).") {
		return true
	}
	_, name, own := strings.Cut(function, "/replay/explore.")
	return own && begins(name, "(*Run).", "(*bubble).", "(*settled).", "(*end).s", "(*end).a")
}

func begins(s string, with ...string) bool {
	return slices.ContainsFunc(with, func(prefix string) bool { return strings.HasPrefix(s, prefix) })
}
