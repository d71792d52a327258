package replay

import (
	"fmt"

	"github.com/mcprec/mcprec/transport"
)

// Guard makes the driver refuse to send what a redaction left in the place of a
// secret, unless the live server has given the value by then: a real server must not
// take it for one. It returns what it is bound to refuse, for the recorded server
// never gave it. Call it before Start.
func (d *Driver) Guard() (refused []string) {
	d.guarded = true
	given := map[string]bool{}
	heard := 0
	for _, l := range d.lines {
		for ; heard < l.before; heard++ {
			for _, mask := range maskPattern.FindAll(d.turns[heard].msg().Raw, -1) {
				given[string(mask)] = true
			}
		}
		for _, mask := range maskPattern.FindAll(l.frame.Bytes, -1) {
			if !given[string(mask)] {
				refused = append(refused, l.holds(mask))
				break
			}
		}
	}
	return refused
}

func (l *line) holds(mask []byte) string {
	return fmt.Sprintf("#%d %s holds %s", l.seq, l.what(), mask)
}

// refuses reports whether the frame of a line must not be sent, which ends the
// client's side.
func (d *Driver) refuses(l *line, f transport.Frame) bool {
	if !d.guarded {
		return false
	}
	mask := maskPattern.Find(f.Bytes)
	if mask == nil {
		return false
	}
	d.refused, d.ended = l.holds(mask), true
	return true
}
