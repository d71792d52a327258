package check

import "time"

// Summary is what a session was, in numbers.
type Summary struct {
	Events   uint64        `json:"events"`
	Frames   uint64        `json:"frames"`
	Took     time.Duration `json:"took_ns"`
	Revision string        `json:"revision"` // the last that was settled; "" of exchanges without a session
	Errors   int           `json:"errors"`
	Warnings int           `json:"warnings"`
	Notes    int           `json:"notes"`
	Asked    uint64        `json:"requests"` // of the client, but for subscriptions
	Answered uint64        `json:"answered"` // of these
	Results  uint64        `json:"results"`  // those of the answers that are no error
	Exit     string        `json:"exit"`     // how the server's process ended; "" where that is not recorded
	Tallies  []Tally       `json:"calls"`
}

func (f *Fold) summary() Summary {
	exit := ""
	if f.end.exited.seq != 0 {
		exit = f.end.exit.String()
	}
	return Summary{
		Asked: f.asked, Answered: f.replies, Results: f.results, Exit: exit,
		Events: f.seq, Frames: f.frames, Took: f.at, Revision: f.scopes.session.rules.Revision(),
		Errors: f.found["error"], Warnings: f.found["warning"], Notes: f.found["note"],
		Tallies: f.tallies.all(),
	}
}
