// Package stacks reads goroutine dumps, the text of runtime.Stack: where each goroutine
// of the process stands, its kind of wait, and which lines are code under test.
//
// # Data layout
//
// A [Dump] is a list of goroutines, each with its text and the parsed first and last lines:
//
//	goroutine 7 [select (durable), 2 minutes, synctest bubble 1]:
//	main.run(0x1)
//		/home/me/main.go:9 +0x1
//	created by main.main in goroutine 6
//		/home/me/main.go:12 +0x1d
//
// Frames are parsed on demand. Only [Take], [Self] and [Caller] look at the process; every
// other function reads the text.
//
// # What it refuses
//
// A dump does not show the holder of a mutex, nor the timer of a select or a context, and
// this package does not guess.
package stacks

import (
	"runtime"
	"slices"
	"strconv"
	"strings"
)

// Dump is a list of goroutines. The goroutine that takes a dump comes first in it.
type Dump []Goroutine

// Goroutine is a goroutine of a dump.
type Goroutine struct {
	ID, Parent int    // Parent is 0 where the dump does not say
	State      string // such as "select"
	Durable    bool   // a bubble of testing/synctest sees the wait
	Bubble     string // such as "synctest bubble 3", or ""
	Text       string
}

// Take returns a dump of the process. It stops the world.
func Take() Dump {
	buf := make([]byte, 64<<10)
	for {
		n := runtime.Stack(buf, true)
		if n == len(buf) {
			buf = make([]byte, 2*len(buf))
			continue
		}
		var dump Dump
		for text := range strings.SplitSeq(strings.TrimSpace(string(buf[:n])), "\n\n") {
			dump = append(dump, Parse(text))
		}
		return dump
	}
}

// Self returns the calling goroutine without frames and parent, which is cheap.
func Self() Goroutine {
	var buf [64]byte
	return Parse(string(buf[:runtime.Stack(buf[:], false)]))
}

// Caller returns the calling goroutine with up to 16 kB of its stack.
func Caller() Goroutine {
	buf := make([]byte, 16<<10)
	return Parse(string(buf[:runtime.Stack(buf, false)]))
}

// Parse reads the text of a goroutine.
func Parse(text string) Goroutine {
	g := Goroutine{Text: text}
	head, frames, _ := strings.Cut(text, "\n")
	id, bracket, _ := strings.Cut(strings.TrimPrefix(head, "goroutine "), " [")
	id, _, _ = strings.Cut(id, " ") // a process that a signal has ended tells more of it
	g.ID, _ = strconv.Atoi(id)
	bracket, _, _ = strings.Cut(strings.TrimSuffix(bracket, "]:"), " labels:{")
	if i := strings.Index(bracket, "synctest bubble "); i >= 0 {
		end := len("synctest bubble ")
		for end < len(bracket[i:]) && bracket[i+end] >= '0' && bracket[i+end] <= '9' { // the text may be cut short in the labels
			end++
		}
		g.Bubble = bracket[i : i+end]
	}
	g.State, _, _ = strings.Cut(bracket, ",")
	g.State = strings.TrimSuffix(g.State, " (scan)")
	g.State, g.Durable = strings.CutSuffix(g.State, " (durable)")
	if i := strings.LastIndex(frames, "\ncreated by "); i >= 0 {
		line, _, _ := strings.Cut(frames[i+1:], "\n")
		if _, parent, ok := strings.Cut(line, " in goroutine "); ok {
			g.Parent, _ = strconv.Atoi(parent)
		}
	}
	return g
}

// Find returns the goroutine with the number. Its Text is "" if it has ended.
func (d Dump) Find(id int) Goroutine {
	for _, g := range d {
		if g.ID == id && id != 0 {
			return g
		}
	}
	return Goroutine{}
}

// Bubble returns the goroutines of a bubble, but for those of synctest itself.
func (d Dump) Bubble(name string) (list Dump) {
	for _, g := range d {
		own := strings.Contains(g.Text, "internal/synctest.Run(") || strings.Contains(g.Text, ".testingSynctestTest(")
		if name != "" && g.Bubble == name && !own {
			list = append(list, g)
		}
	}
	return list
}

// IDs returns the set of the goroutines' numbers.
func (d Dump) IDs() map[int]bool {
	ids := make(map[int]bool, len(d))
	for _, g := range d {
		ids[g.ID] = true
	}
	return ids
}

// Wait is a kind of wait.
type Wait int

// The kinds of wait.
const (
	WaitNone    Wait = iota // the goroutine runs, or will without being woken
	WaitLock                // for a mutex
	WaitIO                  // for the network poller
	WaitSleep               // in time.Sleep
	WaitOther               // for another goroutine, or a timer
	WaitCall                // in a system call known to wait: for a process, for a lock on a file
	WaitSyscall             // in another system call, or in C: it may work, or wait
)

// waits maps the runtime's words to kinds of wait. A goroutine in another state runs, or
// will run again without being woken.
var waits = map[string]Wait{
	"sync.Mutex.Lock": WaitLock, "sync.RWMutex.Lock": WaitLock, "sync.RWMutex.RLock": WaitLock,
	"IO wait": WaitIO, "sleep": WaitSleep,
	"select": WaitOther, "chan receive": WaitOther, "chan send": WaitOther,
	"select (no cases)": WaitOther, "chan receive (nil chan)": WaitOther, "chan send (nil chan)": WaitOther,
	"synctest.Wait": WaitOther, "synctest.Run": WaitOther,
	"sync.Cond.Wait": WaitOther, "sync.WaitGroup.Wait": WaitOther, "coroutine": WaitOther,
}

// waitingCalls are functions of the standard library whose system calls wait: for a child
// process, in the ways of the various systems, and for the lock of a file.
var waitingCalls = []string{
	"os.(*Process).pidfdWait", "os.(*Process).blockUntilWaitable", "os.(*Process).wait", "syscall.wait4", "syscall.Wait4",
	"syscall.WaitForSingleObject", "syscall.Flock", "syscall.FcntlFlock",
}

// Wait returns the kind of the goroutine's wait.
func (g Goroutine) Wait() Wait {
	if g.State != "syscall" {
		return waits[g.State]
	}
	for _, function := range waitingCalls {
		if strings.Contains(g.Text, "\n"+function+"(") {
			return WaitCall
		}
	}
	return WaitSyscall
}

// Same reports whether a later dump shows the goroutine at the same place.
func (g Goroutine) Same(later Goroutine) bool {
	_, was, _ := strings.Cut(g.Text, "\n")
	_, is, _ := strings.Cut(later.Text, "\n")
	return g.ID == later.ID && g.State == later.State && was == is
}

// Lock returns the address of the mutex that the goroutine waits for, or "" where the
// stack does not show it. A mutex in a package's variable has an address too.
func (g Goroutine) Lock() string {
	slow := []string{
		"sync.(*Mutex).lockSlow(", "sync.runtime_SemacquireMutex(",
		"sync.runtime_SemacquireRWMutex(", "sync.runtime_SemacquireRWMutexR(",
	}
	for line := range strings.SplitSeq(g.Text, "\n") {
		for _, function := range slow {
			_, args, ok := strings.Cut(line, function)
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

// Outsider reports whether the goroutine lives in no bubble and may belong to anybody:
// it is not the runtime's, and does not wait for a test or for a run.
func (g Goroutine) Outsider() bool {
	if g.Bubble != "" || slices.ContainsFunc(searching, func(function string) bool { return strings.Contains(g.Text, function) }) {
		return false
	}
	return !hasPrefix(g.Function(), "testing.", "runtime.", "runtime/", "os/signal.")
}
