package closed

// Term is a word of models, setups and verdicts, with what it means in a phrase.
type Term struct {
	Word  string `json:"word"`
	Means string `json:"means"`
}

// ModelTerms returns the models that [ParseModel] reads, with how an end of each works. The
// inbox model stands for all its sizes, as inbox:Q.
func ModelTerms() []Term {
	return []Term{
		{Free.String(), "its reader never waits for its writer"},
		{Rigid.String(), "one thread: the recorded local order of sends and receives is its control flow"},
		{Inline.String(), "its reader writes the answers itself, and meanwhile does not read"},
		{Serial.String(), "its reader runs each handler to its end before it reads on: " +
			"what a handler asks the other end for is never answered"},
		{SerialExceptTools.String(), "as serial, but tools/call runs beside the reader"},
		{"inbox:Q", "its reader hands notifications to a queue of Q that nobody drains during a call"},
	}
}

// VerdictTerms returns the other words of a verdict.
func VerdictTerms() []Term {
	return []Term{
		{"proved", "no order of steps goes on from there, for ends of these models"},
		{"capacity", "how many frames the transport holds each way"},
		{"c2s", "client to server"},
		{"s2c", "server to client"},
		{"frame", "what is sent at once: a request, an answer or a notification"},
		{"reader", "the part of an end that reads frames, its receive loop"},
		{"writer", "the part of an end that writes frames; at capacity 0 it waits until the other end reads"},
		{"in the hand", "of a writer: not yet in the transport; of a reader: read, and not dealt with"},
		{"inner queue", "where a reader puts notifications, inside its end; no transport capacity makes it larger"},
		{"notification debt", "how many notifications come during a call, before its answer"},
	}
}
