package why

import (
	"bytes"
	"cmp"

	"github.com/mcprec/mcprec/transport/lastwords"
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

// lastWords returns the line that says what went wrong, and the last one. headline.seq is 0 if no line says it.
func lastWords(lines []frame) (headline, last frame) {
	texts := make([]string, len(lines))
	for i, line := range lines {
		texts[i] = string(line.text)
	}
	first, end := lastwords.Find(texts)
	if first >= 0 {
		headline = lines[first]
	}
	if end >= 0 {
		last = lines[end]
	}
	return headline, last
}

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
