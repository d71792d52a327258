package explore

import (
	"path/filepath"
	"runtime"
	"strings"
)

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
	for _, s := range all {
		head := "goroutine " + goroutine + " ["
		if goroutine != "" && strings.HasPrefix(s, head) && !strings.HasPrefix(s, head+"running") && !recordedStack(s) {
			return readPlace(s)
		}
	}
	return place{}
}

func readPlace(stack string) place {
	lines := strings.Split(strings.TrimSpace(stack), "\n")
	p := place{state: "goroutine"}
	if m := stateOf().FindStringSubmatch(lines[0]); m != nil {
		p.state = strings.TrimSuffix(m[1], " (durable)")
	}
	entry := ""
	for i := 1; i+1 < len(lines) && !strings.HasPrefix(lines[i], "created by "); i += 2 {
		function := frameArgs().ReplaceAllString(lines[i], "")
		file, _, _ := strings.Cut(strings.TrimSpace(lines[i+1]), " ")
		if hidden(function) || ours(function) || standard(function, file) {
			continue
		}
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

// shownCallers is how many functions of one's own a place names.
const shownCallers = 3

// ours reports whether a function is this project's, between the code under test
// and the gate, or around it.
func ours(function string) bool {
	own, is := strings.CutPrefix(function, "github.com/mcprec/mcprec/")
	for _, part := range []string{"transport.", "transport/gosdk.", "transport/mcpgo."} {
		if is && strings.HasPrefix(own, part) {
			return true
		}
	}
	return strings.Contains(function, "/explore.(*end).")
}

// standard reports whether a function is of the standard library.
func standard(function, file string) bool {
	dir, base := filepath.Split(function)
	name, _, _ := strings.Cut(base, ".")
	return strings.Contains(file, "/src/"+dir+name+"/")
}

// dependency reports whether a file is of a module that was fetched.
func dependency(file string) bool {
	return strings.Contains(file, "/pkg/mod/") || strings.Contains(file, "@v") || strings.Contains(file, "/vendor/")
}

// lineage names the calling goroutine and the one that created it, as who writes a
// frame may do so for who waits, and returns the caller's stack.
func lineage() (list []string, stack string) {
	buf := make([]byte, 16<<10)
	text := string(buf[:runtime.Stack(buf, false)])
	id, _, _ := strings.Cut(strings.TrimPrefix(text, "goroutine "), " ")
	list = append(list, id)
	if _, parent, ok := strings.Cut(text, " in goroutine "); ok {
		parent, _, _ = strings.Cut(parent, "\n")
		list = append(list, parent)
	}
	return list, text
}
