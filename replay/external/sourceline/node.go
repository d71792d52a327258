package sourceline

import (
	"encoding/json"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/mcprec/mcprec/transport/phrase"
)

// nodeAnswer is what preload.cjs writes.
type nodeAnswer struct {
	Program string  `json:"program"` // the path of the script
	Asked   []Asked `json:"asked"`
	Open    []struct {
		Request *Request `json:"request"`
		Waits   bool     `json:"waits"` // it was made by an await or a then; else by a call, or by new Promise
		Stack   string   `json:"stack"`
	} `json:"open"` // pending promises, in the order in which they were made
	Kept []struct {
		What  string `json:"what"`
		Stack string `json:"stack"`
	} `json:"kept"` // what keeps the program alive, in the order in which it was made
	Written []struct {
		Text  string `json:"text"`
		Stack string `json:"stack"`
	} `json:"written"` // to standard output, in order
	Uses []struct {
		Use
		Stack string `json:"stack"`
	} `json:"uses"` // of files, in order
	Overtaken []struct {
		Overtaken
		Stack string `json:"stack"`
	} `json:"overtaken"` // in order
}

// readNode reads the answer of a program in Node. What is awaited is made before who awaits it: the order of the
// promises of a request is that of the lines, the innermost first.
func readNode(text []byte) (Answer, error) {
	var told nodeAnswer
	if err := json.Unmarshal(text, &told); err != nil {
		return Answer{}, fmt.Errorf("read what node tells of its promises: %w", err)
	}
	answer := Answer{Asked: told.Asked}
	program := packageOf(told.Program)
	linesOf := func(stack string) []Line { return entries(nodeFrames(stack, program)) }
	for _, kept := range told.Kept {
		answer.Kept = append(answer.Kept, Kept{kept.What, linesOf(kept.Stack)})
	}
	for _, written := range told.Written {
		answer.Written = append(answer.Written, Written{written.Text, linesOf(written.Stack)})
	}
	for _, use := range told.Uses {
		use.Lines = linesOf(use.Stack)
		answer.Uses = append(answer.Uses, use.Use)
	}
	for _, overtaken := range told.Overtaken {
		overtaken.Lines = linesOf(overtaken.Stack)
		answer.Overtaken = append(answer.Overtaken, overtaken.Overtaken)
	}
	waits := map[string]int{}    // places in the answer, by request
	foreign := map[int]*[]Line{} // by place: of promises that a library made by itself
	for _, promise := range told.Open {
		isMade := strings.Contains(promise.Stack, "at new Promise ")
		frames := nodeFrames(promise.Stack, program)
		if len(frames) == 0 || !promise.Waits && !isMade && !frames[0].isNode { // what an async function returns
			continue
		}
		frames = slices.DeleteFunc(frames, func(f nodeFrame) bool { return f.isNode })
		if len(frames) == 0 {
			continue
		}
		lines := []Line{frames[0].Line}
		own := slices.IndexFunc(frames, func(f nodeFrame) bool { return !f.IsLibrary })
		if own > 0 { // the library works for it
			lines = append(lines, frames[own].Line)
		}
		key := "" // of a request; what is for none known is each for itself
		if promise.Request != nil {
			key = promise.Request.String()
		}
		at, isKnown := waits[key]
		if !isKnown || key == "" {
			at = len(answer.Waits)
			waits[key] = at
			answer.Waits = append(answer.Waits, Wait{Request: promise.Request})
		}
		to := &answer.Waits[at].Lines
		if own < 0 {
			to = foreign[at]
			if to == nil {
				to = new([]Line)
				foreign[at] = to
			}
		}
		for _, line := range lines {
			if !slices.Contains(*to, line) {
				*to = append(*to, line)
			}
		}
	}
	for at, lines := range foreign {
		if w := &answer.Waits[at]; len(w.Lines) == 0 {
			w.Lines = *lines
		}
	}
	return answer, nil
}

// entries returns the lines of frames that are not Node's own, of a library the first in a row alone: what is made in one
// package is mostly made for another, which should have ended it.
func entries(frames []nodeFrame) (list []Line) {
	for _, f := range frames {
		isFurther := f.IsLibrary && len(list) > 0 && packageOf(f.File) == packageOf(list[len(list)-1].File)
		if !f.isNode && !isFurther {
			list = append(list, f.Line)
		}
	}
	return list
}

// nodeFrame is a frame of a stack.
type nodeFrame struct {
	Line
	isNode bool // Node's own
}

var nodeFrameText = phrase.Regexp(`^\s*at (?:async )?(?:(.*?) (?:\[as [^\]]*\] )?\()?([^()]+):(\d+):\d+\)?$`)

// nodeFrames reads a stack, without the frames of the hook. own is the package of the program itself.
func nodeFrames(stack, own string) (list []nodeFrame) {
	for text := range strings.SplitSeq(stack, "\n") {
		parts := nodeFrameText().FindStringSubmatch(text)
		if parts == nil || strings.HasSuffix(parts[2], "/preload.cjs") || strings.HasPrefix(parts[2], "node:internal/async_hooks") {
			continue
		}
		file, number := parts[2], 0
		if address, err := url.Parse(file); err == nil && address.Scheme == "file" {
			file = address.Path
		}
		number, _ = strconv.Atoi(parts[3]) // of a match
		function := parts[1]
		if strings.HasSuffix(function, "<anonymous>") {
			function = ""
		}
		list = append(list, nodeFrame{
			Line:   Line{File: file, Number: number, Function: function, IsLibrary: isBelow(file, "node_modules") && packageOf(file) != own},
			isNode: strings.HasPrefix(file, "node:"),
		})
	}
	return list
}

// packageOf returns the path of the package in node_modules to which a file belongs; "" for another.
func packageOf(file string) string {
	const modules = "/node_modules/"
	at := strings.LastIndex(file, modules)
	if at < 0 {
		return ""
	}
	name, rest, _ := strings.Cut(file[at+len(modules):], "/")
	if strings.HasPrefix(name, "@") {
		second, _, _ := strings.Cut(rest, "/")
		name = path.Join(name, second)
	}
	return file[:at+len(modules)] + name
}
