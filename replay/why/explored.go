package why

import (
	"strings"

	"github.com/mcprec/mcprec/replay/timeline"
)

// Proof begins the line of a note in which an exploration says that the session hangs. Such a session may have all
// its answers: what hangs is code of a side.
const Proof = "explore proved that this session hangs in this order: "

// onProof keeps the note of an exploration.
func (f *Fold) onProof(step timeline.Step) {
	for line := range strings.Lines(string(step.Payload)) {
		if strings.HasPrefix(line, Proof) {
			f.proved, f.proof = f.now, strings.TrimSpace(line)
		}
	}
}

// explored is the hang that an exploration proved, if the session is a run that it kept.
func (j *judge) explored() []Finding {
	if j.proof == "" {
		return nil
	}
	return []Finding{{
		Shape: Explored, Text: upper(j.proof) + ".", Calls: []uint64{}, since: j.proved,
		Evidence: []Evidence{{Seq: j.proved.seq, Text: "the note of explore"}},
		Proves:   "the order of the messages; the hang was proved by the exploration",
		Next:     "view SESSION",
	}}
}
