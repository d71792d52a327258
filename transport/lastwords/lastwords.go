// Package lastwords finds the line of a program's standard error that says what went wrong.
//
// # What it promises
//
// It knows the crashes of node, deno, bun, Python with its exception groups, Go, Rust, Java, Ruby, PHP, C++, npm,
// docker and shells. In any other text it finds the last line alone.
//
// # What it refuses to do
//
// It changes no line, and does not guess a cause.
package lastwords

import (
	"strings"

	"github.com/mcprec/mcprec/transport/phrase"
)

// Find returns the indices of the headline, which says what went wrong, and of the last line worth a word; -1: none.
// Runtimes write the headline in different places: node before the stack, python behind it, java in the last "Caused
// by", rust a line below "panicked at".
func Find(lines []string) (headline, last int) {
	var texts []string
	for _, line := range lines {
		text := strings.TrimRight(line, " \t\r\n")
		if head, inside, ok := strings.Cut(text, "| "); ok && strings.Trim(head, " ") == "" { // of an exception group of python
			text = inside
		}
		texts = append(texts, text)
	}
	const mostBehind = 8 // ordinary lines behind a headline that still is one
	at, end, behind := -1, -1, 0
	inTrace, isIgnored := false, false
	for i, text := range texts {
		isIndented := strings.TrimLeft(text, " \t") != text
		isHead := headlines().MatchString(text)
		switch {
		case text == "" || isIndented || beside().MatchString(text):
			continue
		case strings.HasSuffix(text, "Traceback (most recent call last):"):
			inTrace = true
			continue
		case strings.HasPrefix(text, "Exception ignored"): // python, which goes on to end
			isIgnored = true
			continue
		case isIgnored:
			isIgnored = false
			inTrace = false
			continue
		case inTrace:
			isHead = true
		case at >= 0 && behind == 0 && isNPM(texts[at]) && isNPM(text) && !strings.Contains(texts[at], " code "):
			continue // its first line says it
		case at >= 0 && strings.HasPrefix(texts[at], "thread '") && strings.HasSuffix(texts[at], ":") && behind == 0:
			isHead = true // rust's message stands below
		case at >= 0 && i+1 < len(texts) && strings.HasPrefix(texts[i+1], "  "):
			continue // a line of the same message, with more below it
		}
		inTrace = false
		end = i
		behind++
		if isHead {
			at = i
			behind = 0
		}
	}
	if end < 0 {
		end = len(lines) - 1
	}
	if behind > mostBehind {
		at = -1
	}
	return at, end
}

func isNPM(text string) bool {
	return strings.HasPrefix(text, "npm ERR!") || strings.HasPrefix(text, "npm error")
}

// headlines matches lines that say what ended a process.
var headlines = phrase.Regexp(`^(Uncaught |error: Uncaught )?(\(in promise\) )?[\w.$:]*(Error|Exception|Panic|KeyboardInterrupt|SystemExit|NotCapable|PermissionDenied)( \[\w+\])?(:|$)` +
	`|^panic: |^fatal error: |^thread '.*'( \(\d+\))? panicked at|^Exception in thread |^Caused by: |^Unhandled exception|^terminate called |^what\(\): ` +
	`|^(error|Error|ERROR|fatal|Fatal|FATAL)(\[\w+\])?: |^(npm ERR!|npm error) |^[\w./-]+: (line )?(\d+: )?.*(not found|Permission denied|No such file or directory|cannot execute.*)$` +
	`|^\S+\.rb:\d+:in .*\((\w|::)*(Error|Exception)\)$|^PHP Fatal error: |^docker: |^Segmentation fault|\bEADDRINUSE\b|^[Cc]annot find module `)

// beside matches lines that runtimes write around a headline: frames of a stack, registers, versions, where to
// read more.
var beside = phrase.Regexp(`^[\]})>^~]+[;,]?$|^Node\.js v\d|^Bun v\d|^exit status \d+$|^signal: |^goroutine \d+ |^created by |^[\w./*()\[\]…-]+\((\.\.\.|0x[0-9a-f]|\{|\)|[\w*]+\.).*$|^[\w./]+\.[\w.()*]+\(.*\)$` +
	`|^\[signal |^r(ax|bx|cx|dx|di|si|bp|sp|ip|flags|\d+) |^note: |^stack backtrace:|^\(Use .node|^(npm ERR!|npm error)( A complete log.*| Log files.*| Run .*)?$` +
	`|^See '|^Run '|^For more information|^Require stack:$|^- /|^\+[-+ ]*[\d -]*$|^Process .*finished|^error Command failed|^\s*ELIFECYCLE|^The above exception|^During handling of|^Picked up `)
