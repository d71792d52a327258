package explore

import (
	"iter"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/mcprec/mcprec/replay/phrase"
	"github.com/mcprec/mcprec/transport"
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

// stackHead returns the first line of the caller's stack.
func stackHead() string {
	var buf [64]byte
	return string(buf[:runtime.Stack(buf[:], false)])
}

// goroutineOf is the number that begins a stack.
func goroutineOf(stack string) string {
	id, _, _ := strings.Cut(strings.TrimPrefix(stack, "goroutine "), " ")
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

// ofBubble are the stacks of a bubble's goroutines, but its own.
func ofBubble(all []string, mark string) (list []string) {
	for _, s := range all {
		head, _, _ := strings.Cut(s, "\n")
		own := strings.Contains(s, "internal/synctest.Run(") || strings.Contains(s, ".testingSynctestTest(")
		if mark != "" && strings.Contains(head, mark+"]") && !own {
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

// recordedStack reports whether a goroutine plays a recorded half: where it is
// blocked says nothing of the code under test.
func recordedStack(s string) bool {
	return strings.Contains(s, "/replay/explore.(*half).") || strings.Contains(s, "/replay/explore.(*actor).")
}

var (
	frameArgs   = phrase.Regexp(`\((0x|\{|\.\.\.|\))[^()]*\)?$|\(\)$`)
	stateInHead = phrase.Regexp(`^goroutine \d+ [^\[\n]*\[([^,\]\n]*)`)
)

// trimStack keeps of a stack what a reader needs: the state, then function and
// file:line, without numbers that change from run to run and without the frames
// of the runtime and of this package's engine.
func trimStack(s string) string {
	text := "[" + stateOf(s) + "]"
	for function, file := range frames(s) {
		if !hidden(function) {
			text += "\n  " + filepath.Base(function) + " " + filepath.Base(file)
		}
	}
	return text
}

// frames yields the functions of a stack, the innermost first, each with the file:line
// where it stands.
func frames(stack string) iter.Seq2[string, string] {
	return func(yield func(function, file string) bool) {
		lines := strings.Split(strings.TrimSpace(stack), "\n")
		for i := 1; i+1 < len(lines) && !strings.HasPrefix(lines[i], "created by "); i += 2 {
			file, _, _ := strings.Cut(strings.TrimSpace(lines[i+1]), " ")
			if !yield(frameArgs().ReplaceAllString(lines[i], ""), file) {
				return
			}
		}
	}
}

// peerFrames are the frames outside of this project and of the standard library.
func peerFrames(stack string) iter.Seq2[string, string] {
	return func(yield func(function, file string) bool) {
		for function, file := range frames(stack) {
			dir, base := filepath.Split(function)
			name, _, _ := strings.Cut(base, ".")
			standard := strings.Contains(file, "/src/"+dir+name+"/")
			if !hidden(function) && !ours(function) && !standard && !yield(function, file) {
				return
			}
		}
	}
}

// stateOf returns what a goroutine does, such as select.
func stateOf(stack string) string {
	m := stateInHead().FindStringSubmatch(stack)
	if m == nil {
		return "goroutine"
	}
	return strings.TrimSuffix(m[1], " (durable)")
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

// goroutine is one of a snapshot.
type goroutine struct {
	id, parent int    // parent is 0 where the snapshot does not say
	state      string // such as "select"
	durable    bool   // a bubble sees the wait
	mark       string // of its bubble, or ""
	text       string
}

// The kinds of wait.
type wait int

const (
	waitNone    wait = iota // it runs, or will without being woken
	waitLock                // for a mutex
	waitIO                  // for the network poller
	waitSleep               // in time.Sleep
	waitOther               // for another goroutine, or a timer
	waitCall                // in a system call that is known to wait: for a process, for a lock on a file
	waitSyscall             // in another system call, or in C: it may work, or wait
)

// waits is what the runtime says of goroutines that wait. What is not in it runs,
// or does something that ends by itself.
var waits = map[string]wait{
	"sync.Mutex.Lock": waitLock, "sync.RWMutex.Lock": waitLock, "sync.RWMutex.RLock": waitLock,
	"IO wait": waitIO, "sleep": waitSleep,
	"select": waitOther, "chan receive": waitOther, "chan send": waitOther,
	"select (no cases)": waitOther, "chan receive (nil chan)": waitOther, "chan send (nil chan)": waitOther,
	"synctest.Wait": waitOther, "synctest.Run": waitOther,
	"sync.Cond.Wait": waitOther, "sync.WaitGroup.Wait": waitOther, "coroutine": waitOther,
}

func (g goroutine) wait() wait {
	if g.state != "syscall" {
		return waits[g.state]
	}
	for _, function := range waitingCalls {
		if strings.Contains(g.text, "\n"+function+"(") {
			return waitCall
		}
	}
	return waitSyscall
}

// waitingCalls are functions of the standard library whose system calls wait: for a child
// process, in the ways of the various systems, and for the lock of a file.
var waitingCalls = []string{
	"os.(*Process).pidfdWait", "os.(*Process).blockUntilWaitable", "os.(*Process).wait", "syscall.wait4", "syscall.Wait4",
	"syscall.WaitForSingleObject", "syscall.Flock", "syscall.FcntlFlock",
}

// goroutines parses a snapshot.
func goroutines(snapshot []string) []goroutine {
	list := make([]goroutine, len(snapshot))
	for i, s := range snapshot {
		list[i] = parseGoroutine(s)
	}
	return list
}

// parseGoroutine reads what runtime.Stack writes:
//
//	goroutine 7 [select (durable), 2 minutes, synctest bubble 1]:
//	frames, two lines each
//	created by main.run in goroutine 6
//		/home/me/main.go:12 +0x1d
func parseGoroutine(s string) goroutine {
	g := goroutine{text: s}
	head, frames, _ := strings.Cut(s, "\n")
	id, bracket, _ := strings.Cut(strings.TrimPrefix(head, "goroutine "), " [")
	g.id, _ = strconv.Atoi(id)
	bracket = strings.TrimSuffix(bracket, "]:")
	g.mark = bubbleMark(bracket)
	g.state, _, _ = strings.Cut(bracket, ",")
	g.state = strings.TrimSuffix(g.state, " (scan)")
	g.state, g.durable = strings.CutSuffix(g.state, " (durable)")
	if i := strings.LastIndex(frames, "\ncreated by "); i >= 0 {
		line, _, _ := strings.Cut(frames[i+1:], "\n")
		if _, parent, ok := strings.Cut(line, " in goroutine "); ok {
			g.parent, _ = strconv.Atoi(parent)
		}
	}
	return g
}

// same reports whether a later look shows the goroutine at the same place.
func (g goroutine) same(h goroutine) bool {
	_, was, _ := strings.Cut(g.text, "\n")
	_, is, _ := strings.Cut(h.text, "\n")
	return g.id == h.id && g.state == h.state && was == is
}

// engine reports whether the goroutine is the bubble's or the engine's own, and
// waits for the others. In Setup and Check the engine's is one of the peers.
func (g goroutine) engine() bool {
	return strings.HasPrefix(g.state, "synctest.") || strings.Contains(g.text, ".testingSynctestTest(") ||
		strings.Contains(g.text, ".(*bubble).rest(") || strings.Contains(g.text, ".(*bubble).reap(")
}

// leftBehind are the goroutines that settled runs of this process left behind, by
// number. What they hold is of those runs.
var leftBehind sync.Map

// outsider reports whether a goroutine lives in no bubble, and may be of anybody:
// neither of the runtime, nor one that waits for a test or for a run.
func (g goroutine) outsider() bool {
	if _, left := leftBehind.Load(g.id); left || g.mark != "" {
		return false
	}
	for _, own := range []string{"explore(", "(*series).", "(*Run).play"} {
		if strings.Contains(g.text, "/replay/explore."+own) {
			return false
		}
	}
	return !begins(g.function(), "testing.", "runtime.", "runtime/", "os/signal.")
}

// place says where in the peers' own code a goroutine is: function, file:line.
func (g goroutine) place() string {
	_, frames, _ := strings.Cut(trimStack(g.text), "\n")
	for frame := range strings.SplitSeq(frames, "\n") {
		frame = strings.TrimSpace(frame)
		first, _, _ := strings.Cut(frame, ".")
		if !slices.Contains([]string{"sync", "atomic", "time", "syscall", "unix", "os"}, first) && !strings.HasPrefix(frame, "explore.(*end).") {
			return frame
		}
	}
	return "a goroutine"
}

// function returns the function that place is in, as stacks write it.
func (g goroutine) function() string {
	for name := range frames(g.text) {
		if !begins(name, "sync.", "internal/sync.") {
			return name
		}
	}
	return ""
}

// lock returns the address of the mutex that a goroutine waits for, as its stack
// shows it, or "". The address of a mutex in a variable of a package is one too.
func (g goroutine) lock() string {
	for line := range strings.SplitSeq(g.text, "\n") {
		for _, slow := range []string{"sync.(*Mutex).lockSlow(", "sync.runtime_SemacquireMutex(", "sync.runtime_SemacquireRWMutex(", "sync.runtime_SemacquireRWMutexR("} {
			_, args, ok := strings.Cut(line, slow)
			if !ok {
				continue
			}
			address := args[:max(strings.IndexAny(args, ",)?"), 0)]
			if len(address) > len("0x10000") && !strings.HasPrefix(args[len(address):], "?") {
				return address
			}
		}
	}
	return ""
}

// place is where a goroutine stands.
type place struct {
	state string   // chan receive, select
	at    string   // function and file:line: where it is blocked, in code that is not ours
	entry string   // the function of a library that the caller's code called, if it is blocked in one
	from  []string // where that code did, and who called it there, up to the library that did
}

func (p place) String() string {
	if p.at == "" {
		return ""
	}
	text := "[" + p.state + "] " + p.at
	if p.entry != "" {
		text += ", in " + p.entry + ", called by " + strings.Join(p.from, ", by ")
	}
	return text
}

// placeOf finds where a goroutine stands among the stacks of all; nowhere when it
// has ended, plays a recorded half, or runs: that one is the engine's.
func placeOf(all []string, goroutine string) place {
	s := stackOf(all, goroutine)
	if s == "" || strings.HasPrefix(s, "goroutine "+goroutine+" [running") || recordedStack(s) {
		return place{}
	}
	return readPlace(s)
}

func readPlace(stack string) place {
	const shownCallers = 3
	p := place{state: stateOf(stack)}
	entry := ""
	for function, file := range peerFrames(stack) {
		spot := filepath.Base(function) + " " + filepath.Base(file)
		if p.at == "" {
			p.at = spot
		}
		switch own := !dependency(file); {
		case !own && len(p.from) > 0, len(p.from) == shownCallers:
			return p
		case own && entry == "":
			return p // it is blocked in code of its own
		case own:
			p.entry, p.from = entry, append(p.from, spot)
		default:
			entry = filepath.Base(function)
		}
	}
	return p
}

// ours reports whether a function is this project's, between the code under test
// and the gate, or around it.
func ours(function string) bool {
	own, is := strings.CutPrefix(function, "github.com/mcprec/mcprec/")
	return is && begins(own, "transport.", "transport/gosdk.", "transport/mcpgo.") || strings.Contains(function, "/explore.(*end).")
}

// dependency reports whether a file is of a module that was fetched.
func dependency(file string) bool {
	return strings.Contains(file, "/pkg/mod/") || strings.Contains(file, "@v") || strings.Contains(file, "/vendor/")
}

// lineage names the calling goroutine and the one that created it, as who writes a
// frame may do so for who waits, and returns the caller's stack.
func lineage() (list []string, stack string) {
	buf := make([]byte, 16<<10)
	stack = string(buf[:runtime.Stack(buf, false)])
	list = append(list, goroutineOf(stack))
	if _, parent, ok := strings.Cut(stack, " in goroutine "); ok {
		parent, _, _ = strings.Cut(parent, "\n")
		list = append(list, parent)
	}
	return list, stack
}

// observe notes, before a frame is given in a traced run, where those stand whom
// it may wake, and who there is: only so can be told afterwards what it did.
func (r *Run) observe(s Step) {
	f := s.flight
	if f == nil {
		return
	}
	l := r.gate.lane(s.Dir)
	if s.Kind != Give && (s.Kind != Take || l.cap != 0) {
		return
	}
	if f.answers == nil && r.live(s.Dir.Reverse()) {
		r.handed = f
	}
	asks, last := f.asks(), l.last != nil && l.last.alive != nil
	if !asks && f.answers == nil && !last {
		return
	}
	all := snapshot()
	if c := f.answers; c != nil {
		c.then = stanceAt(all, c, r.byName[c.request.op])
	}
	if last {
		l.last.until = alive(all)
	}
	if asks && len(l.readers) > 0 {
		f.reader, f.alive = l.readers[0].goroutine, alive(all)
	}
}

// asks reports whether a frame is a request.
func (f *flight) asks() bool {
	return slices.ContainsFunc(f.said.Messages, func(m transport.Message) bool { return m.Kind() == transport.Request })
}

// alive lists the goroutines of a snapshot.
func alive(all []string) map[int]bool {
	list := make(map[int]bool, len(all))
	for _, g := range goroutines(all) {
		list[g.id] = true
	}
	return list
}

// worker is the goroutine that took up a request: one that was started by the
// reader, or by who was, after the request was given and before the next frame was,
// and that does not wait for a frame. It is "" if none is seen.
func (g *gate) worker(c *call) string {
	f := c.request
	if f.alive == nil || len(f.reader) == 0 || len(g.all) == 0 {
		return ""
	}
	reader, _ := strconv.Atoi(f.reader[0])
	all := make(map[int]goroutine, len(g.all))
	for _, w := range goroutines(g.all) {
		all[w.id] = w
	}
	var likely []string
	for _, w := range goroutines(g.all) {
		id := strconv.Itoa(w.id)
		if f.alive[w.id] || f.until != nil && !f.until[w.id] || idle(w.text) || placeOf(g.all, id).at == "" {
			continue
		}
		switch by := f.ancestor(w, all, reader); {
		case by == reader:
			return id
		case by == 0 && g.alone && w.mark != "" && w.mark == all[reader].mark:
			likely = append(likely, id)
		}
	}
	if len(likely) == 1 {
		return likely[0]
	}
	return ""
}

// ancestor follows who started a goroutine, up to the reader or to one that was
// there before the frame. It is 0 where that has come and gone since.
func (f *flight) ancestor(w goroutine, all map[int]goroutine, reader int) int {
	for p := w.parent; ; {
		if p == reader || f.alive[p] {
			return p
		}
		next, there := all[p]
		if !there {
			return 0
		}
		p = next.parent
	}
}
