package replay

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mcprec/mcprec/replay/phrase"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

// reactionTime is how soon an end that reads goes on after an answer. A stuck end may send
// something as well, when a timer ends or a person gives up, but hardly so soon.
const reactionTime = time.Second

// Summary says in a sentence which ends of these models would hang on a session that hangs
// under them, such as "a client such as python-sdk 1.3 would hang on this session". It is ""
// if both are free.
func (m Models) Summary() string {
	var ends []string
	for _, dir := range directions {
		if model := (Setup{Client: m.Client, Server: m.Server}).model(dir); model.kind != free {
			ends = append(ends, fmt.Sprintf("a %s %s", dir.Sender(), model.like(dir)))
		}
	}
	if len(ends) == 0 {
		return ""
	}
	return strings.Join(ends, " with ") + " would hang on this session"
}

// summary is the summary of the ends that take part in the hang, with what the recorded ends
// did. An end that reads takes no part.
func (s blockedState) summary() string {
	var stuck Setup
	var recorded []string
	for _, dir := range directions {
		m := s.ends[dir].model
		if m.kind == free || s.ends[dir].reading() {
			continue
		}
		stuck = stuck.with(dir, m)
		if fact := s.recordedEnd(dir); fact != "" {
			recorded = append(recorded, fact)
		}
	}
	return strings.Join(slices.Insert(recorded, 0, Models{stuck.Client, stuck.Server}.Summary()), "; ")
}

// recordedEnd says whether the recorded end got past the place where the model of the end is
// stuck, or "" where the recording does not tell. A tap between the ends does not see what
// an end reads, but an end that answered an unread request has read it, and one that went
// on at once after the awaited frame was not stuck.
func (s blockedState) recordedEnd(dir transport.Direction) string {
	r := s.recording
	e := s.ends[dir]
	who := "this " + dir.Sender()
	if e.given == 0 {
		return ""
	}
	from := r.frames[r.nth(dir.Reverse(), int(e.given))]
	if stop := e.stopped(); stop != nil && stop.awaited >= 0 {
		from = r.frameOf(stop.awaited)
	}
	until := r.lastAt
	fact := ""
	if dir == transport.ClientToServer && r.closed > from.at {
		until = r.closed
		fact = fmt.Sprintf("closed the session right after #%d", from.seq)
	}
	for _, f := range r.byDirection[dir][e.offered:] {
		sent := r.frames[f]
		if answered, _ := r.answers(sent); answered > e.given {
			return fmt.Sprintf("%s did not: it answered #%d with #%d", who, r.frames[r.nth(dir.Reverse(), int(answered))].seq, sent.seq)
		}
		cancels := slices.ContainsFunc(r.messagesOf(sent), func(m recordedMessage) bool { return m.method == mcp.NotificationCancelled })
		if sent.seq > from.seq && !cancels {
			until = sent.at
			fact = fmt.Sprintf("went on right after #%d, with %s", from.seq, r.label(f))
			break
		}
	}
	silent := until - from.at
	switch {
	case silent >= reactionTime:
		return fmt.Sprintf("%s may have: it sent nothing for %v after #%d", who, phrase.Brief(silent), from.seq)
	case fact != "":
		return fmt.Sprintf("%s did not: it %s", who, fact)
	}
	return ""
}
