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
		w := Wait{State: g.State}
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
		case g.Wait() == stacks.WaitIO || g.State == "syscall":
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
