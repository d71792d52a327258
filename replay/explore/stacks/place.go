package stacks

import (
	"fmt"
	"iter"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcprec/mcprec/transport/phrase"
)

// Stacks show the explorer's own functions between the code under test and the gate, and
// around both. These names tell them from the peers' functions; a renamed function must be
// renamed here too.
const (
	explorePackage = "/replay/explore."
	gateEnd        = "/explore/gate.(*End)."
	gateBytes      = "/explore/gate.(*Bytes)."
	gatePoint      = "/explore/gate.Point"
	explorePoint   = explorePackage + "Point"
)

var (
	// searching are functions that wait for a run.
	searching = []string{explorePackage + "explore(", explorePackage + "(*series).", explorePackage + "(*Run).play"}
	// engineMethods begin the names of functions in package explore that a report leaves out.
	engineMethods = []string{"(*Run).", "(*peers).", "(*Operation).", "(*bubble).", "(*settled)."}
	// endMethods are called by the methods that peers call.
	endMethods = []string{"offer", "Await", "askToEnd"}
)

// Engine reports whether the goroutine belongs to the bubble or to its engine, and waits
// for the others. During Setup and Check the engine's goroutine counts as a peer.
func (g Goroutine) Engine() bool {
	return strings.HasPrefix(g.State, "synctest.") || strings.Contains(g.Text, ".testingSynctestTest(") ||
		strings.Contains(g.Text, ".(*bubble).look(") || strings.Contains(g.Text, ".(*bubble).passTime(") ||
		strings.Contains(g.Text, ".(*bubble).reap(")
}

// Recorded reports whether the goroutine plays a recorded end: where it is blocked says
// nothing about the code under test.
func (g Goroutine) Recorded() bool {
	return strings.Contains(g.Text, "/replay/explore/halves.")
}

// Reading reports whether the goroutine waits for the next frame.
func (g Goroutine) Reading() bool { return strings.Contains(g.Text, gateEnd+"Read(") }

// Writing reports whether the goroutine is in the Write of a frame.
func (g Goroutine) Writing() bool {
	return strings.Contains(g.Text, gateEnd+"Write(") || strings.Contains(g.Text, gateBytes+"Write(")
}

// hidden reports whether a function says nothing about the code under test.
func hidden(function string) bool {
	if function == "panic" || hasPrefix(function, "runtime.", "runtime/debug.", "internal/sync.", "sync.runtime_") {
		return true
	}
	if _, name, ok := strings.Cut(function, "/mcprec/fixtures."); ok && hasPrefix(name, "(*Fixture).", "(*scheduleTB).") {
		return true
	}
	if _, name, ok := strings.Cut(function, gateEnd); ok {
		return hasPrefix(name, endMethods...)
	}
	_, name, ok := strings.Cut(function, explorePackage)
	return ok && hasPrefix(name, engineMethods...)
}

// between reports whether a function of this project stands between the code under test
// and the gate.
func between(function string) bool {
	own, is := strings.CutPrefix(function, "github.com/mcprec/mcprec/")
	return is && hasPrefix(own, "transport.", "transport/gosdk.", "transport/mcpgo.") ||
		strings.Contains(function, gateEnd) || strings.Contains(function, gateBytes) ||
		strings.HasSuffix(function, gatePoint) || strings.HasSuffix(function, explorePoint)
}

// versioned is the folder of a module that was fetched, wherever the module cache is.
var versioned = phrase.Regexp(`@v\d+\.\d+\.\d+[^/]*/`)

// library reports whether a file belongs to a module that was fetched.
func library(file string) bool {
	return versioned().MatchString(file) || strings.Contains(file, "/vendor/")
}

// standardRoots are the first elements of the standard library's packages; vendor has those that it
// copies.
var standardRoots = strings.Fields(`archive bufio bytes cmp compress container context crypto database debug embed
	encoding errors expvar flag fmt go hash html image index internal io iter log maps math mime net os path plugin
	reflect regexp runtime slices sort strconv strings structs sync syscall testing text time unicode unique vendor weak`)

// standard reports whether a function belongs to the standard library. Its files lie below src of
// Go's folder; with -trimpath they begin with the package, as those of any module do.
func standard(function, file string) bool {
	dir, base := filepath.Split(function)
	name, _, _ := strings.Cut(base, ".")
	root, _, _ := strings.Cut(dir+name, "/")
	if !slices.Contains(standardRoots, root) {
		return false
	}
	return strings.Contains(file, "/src/"+dir+name+"/") || strings.HasPrefix(file, dir+name+"/") ||
		dir == "" && (strings.Contains(file, "/src/runtime/") || strings.HasPrefix(file, "runtime/")) // such as time.Sleep
}

func hasPrefix(s string, prefixes ...string) bool {
	return slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(s, prefix) })
}

var frameArgs = phrase.Regexp(`\((0x|\{|\.\.\.|\))[^()]*\)?$|\(\)$`)

// frames yields the functions of the stack, the innermost first, each with its file:line.
func (g Goroutine) frames() iter.Seq2[string, string] {
	return func(yield func(function, file string) bool) {
		lines := strings.Split(strings.TrimSpace(g.Text), "\n")
		for i := 1; i+1 < len(lines) && !strings.HasPrefix(lines[i], "created by "); i += 2 {
			if !yield(frameArgs().ReplaceAllString(lines[i], ""), fileLine(lines[i+1])) {
				return
			}
		}
	}
}

// fileLine returns the file:line of a frame. The folder of a file may have a blank in its name,
// and "+0x" is not written where the frame stands at the function's entry.
func fileLine(line string) string {
	line = strings.TrimSpace(line)
	if end := strings.LastIndex(line, " +0x"); end >= 0 {
		line = line[:end]
	}
	return line
}

// peerFrames yields the frames outside of this project and of the standard library.
func (g Goroutine) peerFrames() iter.Seq2[string, string] {
	return func(yield func(function, file string) bool) {
		for function, file := range g.frames() {
			if !hidden(function) && !between(function) && !standard(function, file) && !yield(function, file) {
				return
			}
		}
	}
}

// Trim returns the stack as a report shows it: the state, then function and file:line
// without addresses, without the frames of the runtime and of the explorer.
func (g Goroutine) Trim() string {
	text := "[" + g.State + "]"
	for function, file := range g.frames() {
		if !hidden(function) {
			text += "\n  " + filepath.Base(function) + " " + filepath.Base(file)
		}
	}
	return text
}

// Trim returns the trimmed stacks, sorted; a stack of several goroutines comes once, with
// their number. Goroutines of recorded ends are left out, and goroutines with hidden frames
// alone.
func (d Dump) Trim() []string {
	count := map[string]int{}
	for _, g := range d {
		if trimmed := g.Trim(); strings.Contains(trimmed, "\n") && !g.Recorded() {
			count[trimmed]++
		}
	}
	var list []string
	for _, trimmed := range slices.Sorted(maps.Keys(count)) {
		if n := count[trimmed]; n > 1 {
			head, frames, _ := strings.Cut(trimmed, "\n")
			trimmed = fmt.Sprintf("%s, %d goroutines\n%s", head, n, frames)
		}
		list = append(list, trimmed)
	}
	return list
}

// Where returns the function and file:line in the peers' own code at which the goroutine
// stands.
func (g Goroutine) Where() string {
	for frame := range strings.SplitSeq(g.Trim(), "\n  ") {
		first, _, _ := strings.Cut(frame, ".")
		waiting := slices.Contains([]string{"sync", "atomic", "time", "syscall", "unix", "os"}, first)
		if !strings.HasPrefix(frame, "[") && !waiting && !hasPrefix(frame, "gate.(*End).", "gate.(*Bytes).", "gate.Point ", "explore.Point ") {
			return frame
		}
	}
	return "a goroutine"
}

// Function returns the innermost function outside of package sync, or "".
func (g Goroutine) Function() string {
	for name := range g.frames() {
		if !hasPrefix(name, "sync.", "internal/sync.") {
			return name
		}
	}
	return ""
}

// Place is where a goroutine is blocked in the code under test.
type Place struct {
	State string // chan receive, select
	At    string // function and file:line
	// Entry is the library's function that the caller's own code called, if the goroutine
	// is blocked in a library. From are the lines of the caller's own code: the call of
	// Entry, then its callers, up to a library's function.
	Entry string
	From  []string
}

// Place returns where the goroutine stands.
func (g Goroutine) Place() Place {
	const shownCallers = 3
	p := Place{State: g.State}
	entry := ""
	for function, file := range g.peerFrames() {
		line := filepath.Base(function) + " " + filepath.Base(file)
		if p.At == "" {
			p.At = line
		}
		switch own := !library(file); {
		case !own && len(p.From) > 0, len(p.From) == shownCallers:
			return p
		case own && entry == "":
			return p // blocked in the caller's own code
		case own:
			p.Entry = entry
			p.From = append(p.From, line)
		default:
			entry = filepath.Base(function)
		}
	}
	return p
}

// Place returns where a goroutine of the dump stands: nowhere if it has ended, plays a
// recorded end, or runs, as the engine's own does.
func (d Dump) Place(id int) Place {
	g := d.Find(id)
	if g.Text == "" || g.State == "running" || g.Recorded() {
		return Place{}
	}
	return g.Place()
}

// String returns the form of reports, "" for nowhere.
func (p Place) String() string {
	if p.At == "" {
		return ""
	}
	text := "[" + p.State + "] " + p.At
	if p.Entry != "" {
		text += ", in " + p.Entry + ", called by " + strings.Join(p.From, ", by ")
	}
	return text
}

// IsClose reports whether a function is a Close, Shutdown or Stop by its name.
func IsClose(function string) bool {
	return strings.HasSuffix(function, ".Close") || strings.HasSuffix(function, ".Shutdown") || strings.HasSuffix(function, ".Stop")
}

// Call is a line of the code under test or of a library at which a goroutine stands, or
// has called the next function.
type Call struct {
	Function, Line string
	Library        bool
}

// Calls returns the goroutine's frames outside of this project, the outermost first.
func (g Goroutine) Calls() []Call {
	var list []Call
	for function, file := range g.peerFrames() {
		list = append(list, Call{function, filepath.Base(file), library(file)})
	}
	slices.Reverse(list)
	return list
}

// SameCall reports whether two looks at a goroutine show it in the same call of its
// outermost function.
func SameCall(a, b []Call) bool { return len(a) > 0 && len(b) > 0 && a[0] == b[0] }

// LeftLibrary reports whether a goroutine that was in a call of a library has left it, or
// is in another call: the caller's own lines up to the library differ.
func LeftLibrary(then, now []Call) bool {
	n := slices.IndexFunc(then, func(call Call) bool { return call.Library })
	return n > 0 && (len(now) < n || !slices.Equal(then[:n], now[:n]))
}

// Handler is a function of the caller's own code, called by a library, that has not
// returned. The function is blocked itself, or in its own call of the library.
type Handler struct {
	Goroutine int
	Place     Place
	Line      string // file:line at which it is blocked, or calls the library
	By        string // the library's calling function
}

// Handler finds the handler that the goroutine is in.
func (g Goroutine) Handler() (handler Handler, ok bool) {
	if g.Recorded() || g.Reading() {
		return handler, false
	}
	for function, file := range g.peerFrames() {
		switch fetched := library(file); {
		case fetched && strings.HasPrefix(function, "github.com/mcprec/mcprec/"):
			return handler, false
		case fetched && handler.Line == "": // a library below the caller's code, if there is any
		case fetched:
			handler.Place, handler.By, handler.Goroutine = g.Place(), filepath.Base(function), g.ID
			return handler, g.State != "running" && g.State != "runnable"
		case handler.Line == "":
			handler.Line = filepath.Base(file)
		}
	}
	return handler, false
}
