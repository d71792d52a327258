package explore

import (
	"slices"
	"strconv"
	"strings"
	"sync"
)

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
	lines := strings.Split(g.text, "\n")
	for i := 1; i+1 < len(lines); i += 2 {
		name := frameArgs().ReplaceAllString(lines[i], "")
		if !strings.HasPrefix(name, "sync.") && !strings.HasPrefix(name, "internal/sync.") && !strings.HasPrefix(name, "created by ") {
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
