package sourceline

import (
	"fmt"
	"path/filepath"
	"slices"
)

// Use is what a program did to a file for a request.
type Use struct {
	Request Request `json:"request"`
	Does    string  `json:"does"` // "read", "looked at", "wrote" or "removed"
	Path    string  `json:"path"`
	Lines   []Line  `json:"-"` // that did it, the innermost first
}

// changes reports whether the file is another behind it.
func (u Use) changes() bool { return u.Does == "wrote" || u.Does == "removed" }

// Overtaken is a request that waited while another one went on.
type Overtaken struct {
	Request Request `json:"request"`
	By      Request `json:"by"`
	Lines   []Line  `json:"-"` // at which it waited, the innermost first
}

// Met tells in sentences where requests met that were under way together: in a file that one of them changed while another
// was between its reading and its writing; where there is none, at which lines, at most most of them, one waited while
// another went on.
func (a Answer) Met(most int) (list []string) {
	for _, does := range []string{"read", "looked at"} {
		for i, use := range a.Uses {
			if between, change, isFound := a.changed(i); isFound && use.Does == does {
				return []string{
					use.words(filepath.Base(use.Path)),
					"then " + between.words("it"),
					"then " + change.words("it"),
				}
			}
		}
	}
	var known []Line // those that wait for a line that is told say nothing new
	for _, o := range a.Overtaken {
		lines := Wait{Lines: o.Lines}.told()
		if len(lines) == 0 || lines[0].IsLibrary || slices.Contains(known, lines[0]) || len(list) == most {
			continue
		}
		known = append(known, lines...)
		list = append(list, fmt.Sprintf("%s waited at %s%s, while %s went on", o.Request, lines[0], calledFrom(lines[1:]), o.By))
	}
	return list
}

// changed finds the use of another request that changed a file behind a use of it, before the request of that one changed it.
func (a Answer) changed(at int) (between, change Use, isFound bool) {
	first := a.Uses[at]
	if first.changes() || len(first.Lines) == 0 {
		return between, change, false
	}
	for _, use := range a.Uses[at+1:] {
		isSame := use.Request.String() == first.Request.String()
		switch {
		case use.Path != first.Path || !use.changes() || len(use.Lines) == 0:
		case isSame:
			return between, use, isFound
		case !isFound:
			between, isFound = use, true
		}
	}
	return between, change, false
}

// words says who did it and where: "tools/call (id 5) read notes.json at store.ts:12 (load), called from store.ts:30 (add)".
func (u Use) words(file string) string {
	lines := Wait{Lines: u.Lines}.told()
	return fmt.Sprintf("%s %s %s at %s%s", u.Request, u.Does, file, lines[0], calledFrom(lines[1:]))
}
