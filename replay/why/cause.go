package why

import (
	"fmt"

	"github.com/mcprec/mcprec/transport/framing"
)

// cause says what the side that must move next did, and how sure that is.
func (w *words) cause() {
	w.proves = "who asked what when, and that no answer passed the recorder"
	switch w.first.shape {
	case AsksClient:
		w.asksClient()
	case ProgressStopped:
		w.progressStopped()
	case HalfFrame:
		w.halfFrame()
	case StrayText:
		w.strayText()
	case NoNewline, OtherFraming:
		w.sayNoNewline()
	case BrokenAnswer:
		w.brokenAnswer()
	case MalformedAnswer:
		w.sayDropped()
	case BrokenRequest:
		w.brokenRequest()
	case WrongID:
		w.wrongID()
	case LateAnswer:
		w.lateAnswer()
	case ClientNotReading, ServerNotReading, NeitherReads:
		w.notReading()
	case ServerEnded:
		w.serverEnded()
	case StreamCut:
		w.responseEnded()
	case SessionStreamCut:
		w.sessionStreamEnded()
	case NotTaken:
		w.notTaken()
	case HalfBody:
		w.halfBody()
	case ServerStopped:
		w.say("The server's process (%s, %d) is stopped by a signal (SIGSTOP, Ctrl-Z or a debugger): it does nothing until it is continued (kill -CONT).", clip(w.live.Server.Name), w.live.Server.PID)
		w.proves = "that no answer passed the recorder; the state of the process is that of this moment"
	case StderrNotRead:
		w.stderrNotRead()
	case NoResponse, Accepted, StreamSilent, NotResumed:
		w.response()
	case ClientSilent:
		w.clientSilent()
	case NotInitialized:
		w.notInitialized()
	case TaskNotPolled:
		w.causeOfTask()
	case InputMissing:
		w.inputMissing()
	case NotEnding:
		w.notEnding()
	default:
		w.noAnswer()
	}
}

// progressStopped tells of a call whose progress has stopped.
func (w *words) progressStopped() {
	c := w.first.call
	w.say("Its latest progress is %s, %s (#%d); since then it %s nothing of this call.", w.progressOf(c), w.ago(c.progress.at), c.progress.seq, w.tense("has said", "said"))
	w.show(c.progress.moment, "progress %s", w.progressOf(c))
	w.serverDid(c)
	w.explore()
	w.unknown = "whether the server still works on it"
}

// strayText tells of text that stands in a line of the server's output and never ends.
func (w *words) strayText() {
	c := w.first.call
	text, at, when := w.lineOf()
	w.say("The server's output stands in a line that is no message and has no end: %s%s.", text, when)
	w.show(at, "a line without an end: %s", text)
	w.serverDid(c)
	w.suggests = "the server prints to its standard output, which belongs to the protocol; logs go to standard error"
}

// brokenRequest tells of a request that no server can read.
func (w *words) brokenRequest() {
	n := w.noise[c2s]
	form := framing.InLine(n.text)
	w.say("The client wrote a request %s (#%d) %s: %s. No server can read it.", w.ago(n.at), n.seq, form.Says(), w.text(n.text[max(0, form.At-1-before):]))
	w.show(n.moment, "a request that is not JSON: %s", w.text(n.text))
	w.proves = "that the request left the client like this"
	w.unknown = "whether the client waits for an answer"
}

// wrongID tells of a response that answers no request.
func (w *words) wrongID() {
	if w.first.dropped != nil {
		w.sayDropped()
		return
	}
	w.say("The server sent a response under the id %s %s (#%d), with which nobody asked.", clip(string(w.shown(w.orphan).ID)), w.ago(w.orphan.at), w.orphan.seq)
	w.show(w.orphan.moment, "response to id %s, to no request", clip(string(w.shown(w.orphan).ID)))
	w.suggests = "it was meant as the answer"
}

// lateAnswer tells of an answer that came too late to be read.
func (w *words) lateAnswer() {
	c := w.first.call
	w.show(c.late, "the answer")
	if w.untaken != 0 && c.late.seq >= w.untaken && c.late.at-w.end.at >= flushes {
		w.say("The answer came when the client no longer read (#%d).", c.late.seq)
		return
	}
	w.say("The answer came when the session was over (#%d).", c.late.seq)
	w.suggests = "the server buffers its output and does not flush it (python: print(..., flush=True)), or answers only at the end of its input"
}

// notInitialized tells of a client that has not said that it is initialized.
func (w *words) notInitialized() {
	w.say("The server answered initialize %s (#%d), and the client has not said that it is initialized: nothing else may pass before.", w.ago(w.greeted.at), w.greeted.seq)
	w.show(w.greeted.moment, "the answer to initialize")
	w.proves = "that the answer passed the recorder and nothing came back"
	w.unknown = "whether the client has read the answer, or does not accept it"
	if w.first.misfit != "" {
		w.say("The answer does not fit the schema of %s: %s.", clip(w.revision), w.first.misfit)
		w.suggests = "the client refuses the answer for that"
		w.unknown = "whether the client has read the answer"
	}
}

// inputMissing tells of a request that the client has not sent again with what it was asked for.
func (w *words) inputMissing() {
	if w.first.task != nil {
		w.causeOfTask()
		return
	}
	w.say("The client has not sent the request again since.")
	w.lastOf(c2s)
	w.proves = "that no request with the requestState or with inputResponses came"
}

// notEnding tells of a server that goes on behind its client.
func (w *words) notEnding() {
	w.say("The client closed its end %s (#%d), and the server goes on%s.", w.ago(w.end.at), w.end.seq, w.aged())
	w.show(w.end.moment, "%s", w.end.text)
	w.explore()
	w.unknown = "what holds the server: a timer, a thread, another process"
}

// noAnswer tells of a call that nothing else is known of than that it waits.
func (w *words) noAnswer() {
	c := w.first.call
	w.sayResumed(c)
	w.serverDid(c)
	w.explore()
	w.unknown = "whether the server still works on it, as a slow tool without progress does"
	switch {
	case !w.goesOn || !w.live.Server.Asleep:
	case w.reader.PID != 0:
		w.unknown = ""
	case w.sharer.PID != 0:
		w.unknown = fmt.Sprintf("whether %v, which has the server's input too, has read what was sent to the server", w.sharer.called())
	default:
		w.unknown = "where in the server's code it waits"
	}
}
