package sourceline

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/mcprec/mcprec/replay/explore/stacks"
)

// readGo reads the stacks that a program in Go writes when SIGQUIT ends it. Goroutines that only wait for input are
// left out, unless there are no others.
func readGo(text []byte) Answer {
	var answer Answer
	var reading []Wait
	_, dump, _ := strings.Cut(string(text), "SIGQUIT: quit")
	for part := range strings.SplitSeq(dump, "\n\n") {
		part = strings.TrimSpace(part)
		if !strings.HasPrefix(part, "goroutine ") {
			continue
		}
		g := stacks.Parse(part)
		w := Wait{State: g.State, unlikely: unlikelihood(g)}
		calls := g.Calls()
		slices.Reverse(calls) // the innermost first
		for _, c := range calls {
			if strings.Contains(c.Function, ".gowrap") { // the compiler's, around a go statement
				continue
			}
			colon := strings.LastIndexByte(c.Line, ':')
			number, _ := strconv.Atoi(c.Line[colon+1:])
			w.Lines = append(w.Lines, Line{File: c.Line[:max(colon, 0)], Number: number, Function: filepath.Base(c.Function), IsLibrary: c.Library})
		}
		switch {
		case len(w.Lines) == 0:
		case (g.Wait() == stacks.WaitIO || g.State == "syscall") && w.unlikely > 0:
			reading = append(reading, w)
		default:
			answer.Waits = append(answer.Waits, w)
		}
	}
	if len(answer.Waits) == 0 {
		answer.Waits = reading
	}
	return answer
}

// unlikelihood is -1 for a goroutine that waits until another one, or who reads, lets it go on; 0 for one that waits for one
// thing to come; and 1 for one that waits for any of several: mostly a loop that has nothing to do.
func unlikelihood(g stacks.Goroutine) int {
	switch isWrite := strings.Contains(g.Text, ").Write(") && !strings.Contains(g.Text, ").Read("); {
	case strings.HasSuffix(g.State, "Lock"), g.State == "chan send", isWrite:
		return -1
	case strings.HasPrefix(g.State, "select"), g.State == "sleep", g.State == "IO wait", g.State == "syscall":
		return 1
	}
	return 0
}
