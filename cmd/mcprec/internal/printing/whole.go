package printing

import (
	"fmt"
	"time"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/output"
	"github.com/mcprec/mcprec/replay/phrase"
	"github.com/mcprec/mcprec/replay/timeline"
)

// Whole prints one entry of a session with its time, its pair and its payload. start is the
// start of the session, zero if it is not known.
func Whole(s *output.Screen, session string, start time.Time, e timeline.Entry) {
	row := func(name, text string) {
		s.Paint(output.Dim, fmt.Sprintf("%-8s", name))
		s.Paint(output.Unpainted, output.Plain(text)+"\n")
	}
	row("event", fmt.Sprintf("#%d of %s", e.Seq, session))
	at := fmt.Sprintf("%v after the start", phrase.Brief(e.At))
	if !start.IsZero() {
		at = start.Add(e.At).Local().Format("2006-01-02 15:04:05.000000") + ", " + at
	}
	row("at", at)
	_, direction, text := e.Parts()
	row("what", direction+text)
	if pairs := e.Pairs(); pairs != "" {
		row("pair", pairs)
	}
	s.Paint(output.Unpainted, "\n")
	output.Body{}.Print(s, e.Payload)
}
