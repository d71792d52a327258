package why

import (
	"bytes"
	"cmp"
	"strings"

	"github.com/mcprec/mcprec/transport/phrase"
)

// keptStderr is how many of the latest lines of standard error a Fold keeps, and keptStderrLine how many
// bytes of each: what a process says when it crashes is no longer.
const (
	keptStderr     = 80
	keptStderrLine = 1000
)

// stderrLines are the latest lines of standard error.
type stderrLines struct {
	ring  []frame
	count int
}

func (s *stderrLines) add(at moment, text []byte) {
	line := frame{moment: at, text: bytes.Clone(text[:min(len(text), keptStderrLine)])}
	if len(s.ring) < keptStderr {
		s.ring = append(s.ring, line)
	} else {
		s.ring[s.count%keptStderr] = line
	}
	s.count++
}

// last returns the latest line; its seq is 0 if there is none.
func (s *stderrLines) last() (line frame) {
	if s.count > 0 {
		line = s.ring[(s.count-1)%len(s.ring)]
	}
	return line
}

// between returns the lines behind an event and before another one, in order; before 0: all behind.
func (s *stderrLines) between(after, before uint64) (lines []frame) {
	for i := range s.ring {
		line := s.ring[(s.count+i)%len(s.ring)]
		if line.seq > after && (before == 0 || line.seq < before) {
			lines = append(lines, line)
		}
	}
	return lines
}

// lastWords finds in lines of standard error the one that says what went wrong, and the last one. Runtimes
// write the first in different places: node before the stack, python behind it, java in the last "Caused
// by", rust a line below the "panicked at". headline.seq is 0 if no line says it.
func lastWords(lines []frame) (headline, last frame) {
	var texts []string
	for _, line := range lines {
		text := strings.TrimRight(string(line.text), " \t\r\n")
		if head, inside, ok := strings.Cut(text, "| "); ok && strings.Trim(head, " ") == "" { // of an exception group of python
			text = inside
		}
		texts = append(texts, text)
	}
	const (
		mostBehind = 8 // ordinary lines behind a headline that still is one
	)
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
	if end >= 0 {
		last = lines[end]
	} else if len(lines) > 0 {
		last = lines[len(lines)-1]
	}
	if at >= 0 && behind <= mostBehind {
		headline = lines[at]
	}
	return headline, last
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

// sayStderr tells the line of standard error that says what went wrong, and the last one.
func (w *words) sayStderr(lines []frame) {
	if len(lines) == 0 {
		return
	}
	w.next = "show SESSION --filter kind:stderr"
	headline, last := lastWords(lines)
	tell := func(line frame, what, verb string) {
		w.show(line.moment, "stderr: %s", w.text(line.text))
		w.headline = cmp.Or(w.headline, w.text(line.text))
		if w.first.shape == ServerEnded || w.first.shape == StreamCut { // there is no wait to count from
			w.say("%s: %s (#%d).", what, w.text(line.text), line.seq)
			return
		}
		w.say("%s%s %s, %s (#%d).", what, verb, w.text(line.text), w.ago(line.at), line.seq)
	}
	if headline.seq != 0 && headline.seq != lines[len(lines)-1].seq {
		tell(headline, "On standard error it said", "")
		if headline.seq == last.seq || w.exited.seq != 0 { // what follows is of its end
			return
		}
	}
	tell(last, "Its last line on standard error", " is")
}
