package sourceline

import (
	"encoding/json"
	"fmt"
	"strings"
)

// pythonAnswer is what sitecustomize.py writes.
type pythonAnswer struct {
	Library string  `json:"library"` // the folder of the standard library
	Asked   []Asked `json:"asked"`
	Waits   []struct {
		Request *Request `json:"request"`
		Lines   []struct {
			File     string `json:"file"`
			Line     int    `json:"line"`
			Function string `json:"function"`
		} `json:"lines"`
	} `json:"waits"`
}

// readPython reads the answer of a program in Python. Lines of the standard library are left out.
func readPython(text []byte) (Answer, error) {
	var told pythonAnswer
	if err := json.Unmarshal(text, &told); err != nil {
		return Answer{}, fmt.Errorf("read what python tells of its tasks: %w", err)
	}
	answer := Answer{Asked: told.Asked}
	for _, w := range told.Waits {
		wait := Wait{Request: w.Request}
		for _, l := range w.Lines {
			isPackage := isBelow(l.File, "site-packages") || isBelow(l.File, "dist-packages")
			if !isPackage && (strings.HasPrefix(l.File, told.Library+"/") || strings.HasPrefix(l.File, "<")) {
				continue
			}
			wait.Lines = append(wait.Lines, Line{File: l.File, Number: l.Line, Function: l.Function, IsLibrary: isPackage})
		}
		if len(wait.Lines) > 0 {
			answer.Waits = append(answer.Waits, wait)
		}
	}
	return answer, nil
}
