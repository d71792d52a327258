package replay

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/mcprec/mcprec/replay/phrase"
	"github.com/mcprec/mcprec/transport"
)

const (
	laneWidth  = 56 // columns between the client's line and the server's
	shownQueue = 3  // queued frames shown of each direction
)

// sequence draws the last frames that were read, then what stands in the lanes
// and in the writers' hands.
func (s stand) sequence() []string {
	gap := strings.Repeat(" ", laneWidth-len("client"))
	lines := []string{"client" + gap + "server"}
	if skipped := s.trail.n - trailLen; skipped > 0 {
		lines = append(lines, arrow(0, fmt.Sprintf("%s before", phrase.Plural(skipped, "frame")), ""))
	}
	for _, f := range s.trail.frames() {
		lines = append(lines, arrow(s.recording.frames[f].dir, s.recording.label(f), s.grip(f)))
	}
	for _, dir := range directions {
		lines = append(lines, s.standing(dir)...)
	}
	return lines
}

// grip says that a frame which was read is still in the reader's hand.
func (s stand) grip(index int32) string {
	f := s.recording.frames[index]
	e := s.ends[f.dir.Reverse()]
	if f.n == e.given && e.stopped() != nil {
		return "held by the " + f.dir.Receiver() + " reader"
	}
	return ""
}

// standing draws the frames of a direction that were offered and not read.
func (s stand) standing(dir transport.Direction) []string {
	var lines []string
	given, acked, offered := s.ends[dir.Reverse()].given, s.ends[dir].acked, s.ends[dir].offered
	for n := given + 1; n <= acked; n++ {
		if n > given+shownQueue {
			lines = append(lines, arrow(0, fmt.Sprintf("%d more queued in %v", acked-n+1, dir), ""))
			break
		}
		lines = append(lines, arrow(dir, s.recording.label(s.recording.nth(dir, int(n))), fmt.Sprintf("queued in %v, not read", dir)))
	}
	if offered > acked {
		f := s.recording.nth(dir, int(offered))
		lines = append(lines, arrow(dir, s.recording.label(f), fmt.Sprintf("in the hand of the %s's writer", dir.Sender())))
	}
	return lines
}

// arrow draws one frame. One that did not arrive has a note and no head.
func arrow(dir transport.Direction, label, note string) string {
	arrived := note == "" || strings.HasPrefix(note, "held")
	fill, left, right := "-", "-", "-"
	switch {
	case dir == transport.NoDirection:
		fill, left, right = " ", " ", " "
	case !arrived:
		fill = " "
		if dir == transport.ClientToServer {
			right = " "
		} else {
			left = " "
		}
	case dir == transport.ClientToServer:
		right = ">"
	case dir == transport.ServerToClient:
		left = "<"
	}
	pad := laneWidth - 5 - utf8.RuneCountInString(label)
	line := "  |" + left + " " + label + " " + strings.Repeat(fill, max(pad, 0)) + right + "|"
	if note != "" {
		line += " " + note
	}
	return line
}
