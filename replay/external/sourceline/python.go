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
		Request *Request     `json:"request"`
		Lines   []pythonLine `json:"lines"`
	} `json:"waits"`
	Written []struct {
		Text  string       `json:"text"`
		Lines []pythonLine `json:"lines"`
	} `json:"written"` // to standard output, in order
	Uses []struct {
		Use
		Lines []pythonLine `json:"lines"`
	} `json:"uses"` // of files, in order
}

type pythonLine struct {
	File     string `json:"file"`
	Line     int    `json:"line"`
	Function string `json:"function"`
}

// readPython reads the answer of a program in Python. Lines of the standard library are left out.
func readPython(text []byte) (Answer, error) {
	var told pythonAnswer
	if err := json.Unmarshal(text, &told); err != nil {
		return Answer{}, fmt.Errorf("read what python tells of its tasks: %w", err)
	}
	answer := Answer{Asked: told.Asked}
	for _, w := range told.Waits {
		if lines := told.linesOf(w.Lines); len(lines) > 0 {
			answer.Waits = append(answer.Waits, Wait{Request: w.Request, Lines: lines})
		}
	}
	for _, w := range told.Written {
		answer.Written = append(answer.Written, Written{w.Text, told.linesOf(w.Lines)})
	}
	for _, use := range told.Uses {
		use.Use.Lines = told.linesOf(use.Lines)
		answer.Uses = append(answer.Uses, use.Use)
	}
	return answer, nil
}

func (a *pythonAnswer) linesOf(lines []pythonLine) (list []Line) {
	for _, l := range lines {
		isPackage := isBelow(l.File, "site-packages") || isBelow(l.File, "dist-packages")
		if isPackage || !strings.HasPrefix(l.File, a.Library+"/") && !strings.HasPrefix(l.File, "<") {
			list = append(list, Line{File: l.File, Number: l.Line, Function: l.Function, IsLibrary: isPackage})
		}
	}
	return list
}
