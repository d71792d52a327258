// Package sourceline says which lines of a program's own source hold what waits in it: a request that is not answered, a
// call that does not return. It also says which lines keep a program alive, which have written something, and at which two
// requests meet that were under way together.
//
// # What it promises
//
// A program that was started with the environment of [Means.Environ] runs as it would without: what is switched on
// listens, and changes no answer. [Means.Ask] is for the end of a play: a program in Go does not survive it.
//
// The means are the program's own. Node loads preload.cjs, which notes where each pending promise was made. Python loads
// sitecustomize.py, which finds tasks and threads. Both are asked by SIGUSR2 and answer in a file. A program in Go writes
// the stacks of its goroutines when SIGQUIT ends it.
//
// # Data layout
//
// An [Answer] has a [Wait] for each thing that waits, with the lines at which it does, the innermost first, and, in Node and
// Python, the request that it is for: the message with a method and an id that was parsed last before, by the chain of
// what has started what. [Asked] are the requests that the program has written itself, and that have no answer. [Kept] is
// what keeps a program in Node alive: a timer, a child process, a connection. [Written] is what a program in Node or Python
// has written to standard output last, in Python by print alone. [Use] is what a request did to a file, and [Overtaken] a
// request in Node that waited while another went on.
//
// # Source files
//
//	sourceline.go   what is told, and the choice of lines
//	race.go         what is told of requests that were under way together
//	node.go, python.go, golang.go   the answers of each language
//	ask_linux.go, ask_other.go      how a process is asked
//
// # What it refuses
//
// It guesses no line: what waits in C, in a worker thread of Node, or without a promise is not seen. A program that is
// busy for good does not answer. It knows no other language.
package sourceline

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// Answer is what a program tells of itself.
type Answer struct {
	Waits   []Wait
	Asked   []Asked
	Kept    []Kept
	Written []Written // in order

	Uses      []Use       // in order
	Overtaken []Overtaken // in order
}

// Written is the beginning of something that a program has written to its standard output in one go.
type Written struct {
	Text  string
	Lines []Line // that wrote it, the innermost first
}

// Kept is a thing that keeps a program alive.
type Kept struct {
	What  string // such as "a child process"
	Lines []Line // at which it was made, the innermost first
}

// Wait is one thing that waits: an asynchronous function, a task, a thread or a goroutine.
type Wait struct {
	Request  *Request // that it works for; nil: not known
	Lines    []Line   // the innermost first
	State    string   // such as "chan receive"; "" where the language does not say
	blocking blocking
}

// blocking is how likely a wait holds up a call.
type blocking int

const (
	blocked blocking = iota - 1 // for a lock, a full channel or a reader: something has to let it go on
	waiting                     // for one thing to come, or not known
	idle                        // for any of several things, or for input: mostly a loop that has nothing to do
)

// Request is a request of JSON-RPC.
type Request struct {
	ID       json.RawMessage `json:"id"`
	Method   string          `json:"method"`
	Answered bool            `json:"answered"` // by this program
}

// Asked is a request that the program has written, and that has no answer.
type Asked struct {
	Request
	By *Request `json:"by"` // the request that it was written for; nil: not known
}

// Line is a line of source.
type Line struct {
	File      string
	Number    int
	Function  string // "" where it has no name
	IsLibrary bool   // the file belongs to a package that the program uses
}

// String returns the line as "server.mjs:12 (count)".
func (l Line) String() string {
	text := fmt.Sprintf("%s:%d", filepath.Base(l.File), l.Number)
	if l.Function != "" {
		text += " (" + l.Function + ")"
	}
	return text
}

// String returns the request as "tools/call (id 3)".
func (r Request) String() string { return fmt.Sprintf("%s (id %s)", r.Method, r.ID) }

// mostLines is how many lines of a wait are told, and one more if none of these is the program's own: a fault is in one of the
// first, or nobody finds it there.
const mostLines = 3

// Words tells the waits in sentences, at most most of them: those for a request that is not answered, then what an answered
// one has left behind, which may be what the others wait for; or all, where none is for a request. Where nothing waits it
// tells what keeps the program alive.
func (a Answer) Words(most int) (list []string) {
	if len(a.Waits) == 0 {
		return a.keepers(most)
	}
	waits := slices.Clone(a.Waits)
	if isForRequest := func(w Wait) bool { return w.Request != nil }; slices.ContainsFunc(waits, isForRequest) {
		waits = slices.DeleteFunc(waits, func(w Wait) bool { return w.Request == nil })
	}
	slices.SortStableFunc(waits, func(a, b Wait) int { return cmp.Compare(a.rank(), b.rank()) })
	for _, w := range waits {
		lines := w.told()
		if len(lines) == 0 || len(list) == most {
			continue
		}
		text := "held at " + lines[0].String()
		if w.State != "" {
			text += ", " + w.State
		}
		text += calledFrom(lines[1:])
		if w.Request != nil && w.Request.Answered {
			text = w.Request.String() + " was answered, but something that it began is still " + text
		} else if w.Request != nil {
			text = w.Request.String() + " is " + text
			for _, asked := range a.Asked {
				if asked.By != nil && string(asked.By.ID) == string(w.Request.ID) {
					text += "; it waits for the answer to its own " + asked.Request.String()
				}
			}
		}
		if !slices.Contains(list, text) {
			list = append(list, text)
		}
	}
	return list
}

// Alive tells what keeps the program alive in sentences, at most most of them; where that is not known, what waits in it.
func (a Answer) Alive(most int) []string {
	if list := a.keepers(most); len(list) > 0 {
		return list
	}
	return a.Words(most)
}

// keepers tells what keeps the program alive; nothing where that is not known.
func (a Answer) keepers(most int) (list []string) {
	for _, kept := range a.Kept {
		lines := Wait{Lines: kept.Lines}.told()
		if len(lines) == 0 || len(list) == most {
			continue
		}
		text := "kept alive by " + kept.What + ", made at " + lines[0].String() + calledFrom(lines[1:])
		if !slices.Contains(list, text) {
			list = append(list, text)
		}
	}
	return list
}

// Wrote tells where the program wrote a line of its standard output; nothing where that is not known. It may have written
// the line in pieces, or others with it.
func (a Answer) Wrote(line []byte) []string {
	const begin = 1000 // of the line
	start := string(line[:min(len(line), begin)])
	for _, w := range slices.Backward(a.Written) {
		text := strings.TrimSpace(w.Text)
		isIn := strings.Contains(w.Text, start) || text != "" && strings.Contains(start, text)
		if lines := (Wait{Lines: w.Lines}).told(); isIn && len(lines) > 0 {
			return []string{"written at " + lines[0].String() + calledFrom(lines[1:])}
		}
	}
	return nil
}

// calledFrom tells the lines that a line was called from.
func calledFrom(lines []Line) (text string) {
	for i, l := range lines {
		text += [...]string{", called from ", ", from "}[min(i, 1)] + l.String()
	}
	return text
}

// rank orders waits, the least first: those of open requests, of these the blocked ones, then those with lines of the program's
// own, and of these the ones that are not idle.
func (w Wait) rank() (rank int) {
	const perOwn, perRequest = 10, 100
	if w.Request != nil && w.Request.Answered {
		rank += perRequest
	}
	if w.blocking != blocked && !slices.ContainsFunc(w.Lines, func(l Line) bool { return !l.IsLibrary }) {
		rank += perOwn
	}
	return rank + int(w.blocking)
}

// told returns the lines to tell: those of libraries down to the program's own call, and then the program's own. A fault is in
// either: the library waits for what does not come, or the program calls it where it must not.
func (w Wait) told() (list []Line) {
	own := slices.DeleteFunc(slices.Clone(w.Lines), func(l Line) bool { return l.IsLibrary })
	libraries := slices.IndexFunc(w.Lines, func(l Line) bool { return !l.IsLibrary })
	if libraries < 0 {
		libraries = len(w.Lines)
	}
	list = callers(w.Lines[:libraries])
	list = list[:min(len(list), mostLines)]
	return append(list, own[:min(len(own), max(mostLines-len(list), 1))]...)
}

// callers returns of some lines those that another file is called from, or that wait: how a file has come to its line by itself
// says less.
func callers(lines []Line) (list []Line) {
	for i, l := range lines {
		if i == 0 || lines[i-1].File != l.File {
			list = append(list, l)
		}
	}
	return list
}

// isBelow reports whether a file lies below a folder of the name, such as node_modules.
func isBelow(file, folder string) bool {
	return strings.Contains(filepath.ToSlash(file), "/"+folder+"/")
}
