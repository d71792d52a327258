package why

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport/phrase"
)

// ending is the first event that ended a session.
type ending struct {
	moment
	by   string // "client", "server", "recorder"
	text string // a clause: "the client closed its end"

	before moment    // the event before
	sealed bool      // neither end had left
	of     *exchange // that ended, in place of the session
}

// endAt notes the end of the session, unless it has ended. The end of the server's process is no such
// end: what it and others have written is still to come. See [judge.setEnd].
func (f *Fold) endAt(by, text string) {
	if f.end.seq == 0 {
		f.end = ending{moment: f.now, by: by, text: text, before: f.before}
	}
}

func (f *Fold) onEOF(step timeline.Step) {
	info, err := store.DecodePayload[store.EOFInfo](step.Event)
	switch {
	case err != nil:
	case info.By == "sender" && step.Dir == c2s:
		f.endAt("client", "the client closed its end")
	case info.By == "sender":
		f.endAt("server", "the server closed its output")
	case info.By == "recorder":
		f.letGo = f.now
	case info.By == "receiver" && step.Dir == s2c:
		f.endAt("client", "the client closed its end")
		f.untaken = step.Seq
		if first, _, _ := f.offsets.At(step.Dir, info.Passed); info.Read > info.Passed && first != 0 {
			f.untaken = first
		}
	case info.By == "receiver" && f.end.seq == 0:
		if f.stalls[c2s].seq == 0 {
			f.stalls[c2s] = stall{moment: f.now, since: step.At}
		}
		f.stalls[c2s].closed = true
	}
}

// setEnd finds how the session ended: by the first event that ended it, or before that by the end of the
// server's process, unless another process had its output and went on.
func (j *judge) setEnd() {
	j.end = j.Fold.end
	j.stalls = j.Fold.stalls
	if j.Fold.exit == nil {
		return
	}
	exit := *j.Fold.exit
	switch {
	case exit.Outlived(j.live.Now):
		j.launcher = exit
	case exit.IsFinal(j.live.Now):
		j.exit = exit.Info
		j.exited = moment{exit.Seq, exit.At}
		if j.end.seq == 0 || j.end.seq > exit.Seq {
			j.end = ending{moment: j.exited, by: "server", text: "the server ended", before: momentOf(exit.Before)}
		}
		for i := range j.stalls { // a process that has ended reads nothing
			if j.stalls[i].seq > exit.Seq {
				j.stalls[i] = stall{}
			}
		}
	}
}

// flushes is how soon after the end of a session an answer comes that the end itself has caused, as when a
// server flushes its output because its input closes.
const flushes = time.Second

// isLate reports whether the answer to a call, which came behind the end of the session, came too late: the
// client no longer read, or it had waited in vain, and only the end brought the answer. Any other answer
// counts: a client that has closed its output may still read.
func (j *judge) isLate(c *call) bool {
	if c.exchange != nil || c.cancelled.seq != 0 { // the client had hung up, or given it up
		return true
	}
	if j.untaken != 0 && c.late.seq >= j.untaken {
		return true
	}
	return j.end.by != "server" && j.end.at-c.sign().at >= j.after && c.late.at-j.end.at < flushes
}

// openCalls lists the calls without an answer by direction, in order, and adds to the report those that
// were answered long behind the end.
func (j *judge) openCalls(r *Report) {
	calls := slices.SortedFunc(maps.Values(j.pending), func(a, b *call) int { return cmp.Compare(a.Number(), b.Number()) })
	for _, c := range calls {
		switch {
		case c.refused, j.hasTaken(c):
		case c.late.seq == 0 || j.isLate(c):
			j.calls[side(c.Dir)] = append(j.calls[side(c.Dir)], c)
		case j.end.at-c.at >= j.after:
			w := &wait{call: c, since: c.moment, until: j.end}
			r.Open = append(r.Open, j.notStuck(w, Left, "%s was answered %v after %s (#%d)", c.name(), phrase.Brief(c.late.at-j.end.at), j.end.text, c.late.seq))
		}
	}
}

// endOfSession is now, or how the session ended.
func (j *judge) endOfSession() ending {
	switch {
	case j.end.seq != 0:
		return j.end
	case j.live.Now > 0:
		return ending{moment: moment{0, max(j.live.Now, j.now.at)}}
	}
	return ending{moment: j.now, by: "recorder", text: BrokeOff}
}

// endOf is how and when a call was no longer waited for. A cancellation ends a wait, and the
// end of an exchange does unless the answer may still come on another one.
func (j *judge) endOf(c *call) ending {
	end := j.endOfExchange(c.exchange)
	earlier := func(at moment) bool { return at.seq != 0 && (end.seq == 0 || at.seq < end.seq) }
	if stream := j.streams[c.Scope]; stream != nil && stream.What != store.HTTPLeft && earlier(momentOf(stream.Ended)) {
		end = endingOf(stream)
		end.at = max(end.at, c.at) // it may have ended before the call
	}
	if at := j.deleted[c.Scope]; at.seq > c.seq && earlier(at) {
		end = ending{moment: at, by: "client", text: "the client ended its session with DELETE"}
	}
	if earlier(c.cancelled) || c.cancelled.seq != 0 && c.cancelled.seq == end.seq { // it may be the last event
		end = ending{moment: c.cancelled, by: c.Dir.Sender(), text: "the " + c.Dir.Sender() + " gave it up"}
	}
	return end
}

// wasAskedToEnd reports whether other programs asked the server to end, and it did.
func (j *judge) wasAskedToEnd() bool { return j.exited.seq != 0 && j.exit.AskedToEnd() }

// leftByItself reports whether the server's process ended with a status of its own.
func (j *judge) leftByItself() bool {
	return j.exited.seq != 0 && j.exit.Signal == "" && !j.exit.AskedToEnd()
}

// howExited says how the server's process ended.
func (j *judge) howExited() string { return howExited(j.exit) }

func howExited(exit store.ExitInfo) string {
	if exit.Signal != "" {
		return "by the signal " + clip(exit.Signal)
	}
	return fmt.Sprintf("with exit status %d", exit.Code)
}

// sayResumed says that the answer to a call was to come on another exchange.
func (w *words) sayResumed(c *call) {
	if x := c.exchange.latest(); x != nil && x.resumes {
		w.say("The client resumed the stream of its answer %s (exchange %d, #%d).", w.ago(x.Asked.At), x.Number, x.Asked.Seq)
		w.show(momentOf(x.Asked), "the client resumes the stream")
	}
}

// sayLauncher says that the process that was started has ended, and that others go on.
func (w *words) sayLauncher() {
	if x := w.launcher; x.Seq != 0 {
		w.say("The process that was started ended %s (#%d), %s; another process %s its output.", w.ago(x.At), x.Seq, howExited(x.Info), w.tense("has", "had"))
		w.show(moment{x.Seq, x.At}, "the process that was started ended %s; another one had its output", howExited(x.Info))
	}
}

// notStarted tells of a server whose command could not be started.
func (j *judge) notStarted() Finding {
	f := Finding{Shape: NotStarted, Culprit: "server", Calls: []uint64{}, since: j.exited,
		Evidence: []Evidence{{j.exited.seq, fmt.Sprintf("exit status %d: %s", j.exit.Code, clip(j.exit.NotStarted))}},
		Proves:   "that the recorder could not start the command", Next: "doctor"}
	program := "its command"
	if len(j.header.Command) > 0 {
		program = clip(j.header.Command[0])
	}
	f.Text = fmt.Sprintf("The server did not start: %s: %s.", program, clip(j.exit.NotStarted))
	if j.exit.Code == 127 && !strings.ContainsAny(program, `/\`) {
		f.Text += " A client may have another PATH than a shell: name the program by its full path."
	}
	return f
}
