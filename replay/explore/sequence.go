package explore

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/mcprec/mcprec/replay/phrase"
	"github.com/mcprec/mcprec/transport"
)

const (
	laneWidth  = 64 // columns between the client's line and the server's
	shownLines = 24
	shownQueue = 3 // standing frames shown of each direction
)

// draw shows the run: what was read, when operations began, a Write that returned
// late, and at the end the frames that stand.
func (r *Run) draw() []string {
	var lines []string
	lastGive := 0
	for i, s := range r.shown() {
		at := i + 1
		f := s.flight
		switch {
		case f != nil && f.given == at:
			lines = append(lines, arrow(at, s.Dir, f.name, ""))
			lastGive = at
		case s.Kind == Ack && f.given > 0 && lastGive > f.given:
			lines = append(lines, arrow(at, 0, "only now returns the Write of "+f.name, ""))
		case s.Kind == Start, s.Kind == Close, s.Kind == End, s.Kind == Relent, s.Kind == HalfClose, s.Kind == Reach:
			lines = append(lines, arrow(at, 0, s.Name(), ""))
		}
	}
	if over := len(lines) - shownLines; over > 0 {
		lines = append([]string{"     … " + phrase.Plural(over, "line") + " before"}, lines[over:]...)
	}
	head := "      client" + strings.Repeat(" ", laneWidth-len("client")) + "server"
	lines = append([]string{head}, lines...)
	for i := range r.gate.lanes {
		lines = append(lines, r.gate.lanes[i].standing()...)
	}
	return lines
}

// standing draws the frames of a direction that nobody has read.
func (l *lane) standing() []string {
	var lines []string
	for i, f := range append(l.queue[:len(l.queue):len(l.queue)], l.waiting...) {
		if i == shownQueue {
			return append(lines, fmt.Sprintf("     … %d more in %v", len(l.queue)+len(l.waiting)-i, l.dir))
		}
		note := fmt.Sprintf("queued in %v", l.dir)
		if f.taken == 0 {
			note = fmt.Sprintf("in the hand of the %s's writer", l.dir.Sender())
		}
		lines = append(lines, arrow(0, l.dir, f.name, note))
	}
	return lines
}

// arrow draws one line: of a frame that was read a whole arrow, of one that was
// not its first half and a note, of anything else the words alone.
func arrow(at int, dir transport.Direction, label, note string) string {
	fill, left, right := "-", "-", "-"
	switch {
	case dir == transport.NoDirection:
		fill, left, right = " ", " ", " "
	case dir == transport.ClientToServer && note == "":
		right = ">"
	case dir == transport.ClientToServer:
		fill, right = " ", " "
	case note == "":
		left = "<"
	default:
		fill, left = " ", " "
	}
	number := "    "
	if at > 0 {
		number = fmt.Sprintf("%4d", at)
	}
	pad := strings.Repeat(fill, max(laneWidth-5-utf8.RuneCountInString(label), 0))
	return strings.TrimRight(fmt.Sprintf("%s  |%s %s %s%s| %s", number, left, label, pad, right, note), " ")
}
