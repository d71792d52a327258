package why

import (
	"fmt"

	"github.com/mcprec/mcprec/transport/phrase"
)

// setProcesses finds the process that is the server, among the one that was started and those below it, and
// those that have the server's input though they are not the server.
//
// A launcher, such as npx, has started the server: so the innermost process that can write to the client is
// the server, if it was there before the server said its first word. What has the server's input and was
// started later, or cannot write to the client, is a child that a tool has started without an input of its own.
func (j *judge) setProcesses() {
	started := j.live.Server
	for _, p := range j.live.Below {
		if wasThere := j.spoke.seq == 0 || p.Age == 0 || j.live.Now-p.Age <= j.spoke.at; p.Writes && wasThere {
			j.live.Server = p
			continue
		}
		if p.Reads && j.reader.PID == 0 {
			j.reader = p
		}
		if j.sharer.PID == 0 {
			j.sharer = p
		}
	}
	if j.live.Server.PID == 0 {
		j.live.Server = started
	}
}

// called names a process: cat (4711).
func (p Process) called() string { return fmt.Sprintf("%s (%d)", clip(p.Name), p.PID) }

// sayReader says that a child of the server reads its input, and reports whether one does.
func (w *words) sayReader() bool {
	if !w.goesOn || w.reader.PID == 0 {
		return false
	}
	who := w.reader.called() + ", a process that " + w.live.Server.called() + " has started"
	if w.live.Server.Reads {
		w.say("What was sent to it has been read by it or by %s: that reads the server's input too.", who)
	} else {
		w.say("What was sent to it is read by %s: that has the server's input, and waits in a read of it.", who)
	}
	w.suggests = "a tool of the server started " + w.reader.called() + " without an input of its own, so that it takes the messages of the client (python: stdin=subprocess.DEVNULL; node: stdio: ['ignore', …])"
	return true
}

// stderrFull reports whether the server can write no more to its standard error: it is seen to wait there, or
// the log has that its pipe is full.
func (j *judge) stderrFull(w *wait) bool {
	muted := j.live.Muted.PID != 0 && j.live.Now-max(j.stderr.last().at, w.since.at) >= surelyRead
	full := j.stalls[0]
	return muted || full.seq != 0 && w.until.at-full.since >= surelyRead
}

// stderrNotRead tells a server that waits for its standard error to be read.
func (w *words) stderrNotRead() {
	client := "the client"
	if w.goesOn && w.live.Client.Name != "" {
		client = "the client's process " + w.live.Client.called()
	}
	w.proves = "that no answer passed the recorder"
	full := w.stalls[0]
	if full.seq != 0 {
		w.show(full.moment, "standard error is full")
		w.proves += ", and that nobody took what the recorder passed on of standard error"
	}
	if muted := w.live.Muted; w.goesOn && muted.PID != 0 {
		w.say("The server's process %s waits in a write to its standard error, which is full: %s does not read what the recorder passes on to it.", muted.called(), client)
		w.proves += "; where the processes wait is seen at this moment"
	} else {
		w.say("The server's standard error %s full for %v (#%d): %d bytes %s in its pipe, because %s %s not read what the recorder passed on to it.",
			w.tense("has been", "was"), phrase.Brief(w.first.until.at-full.since), full.seq, full.info.Unread, w.tense("lie", "lay"), client, w.tense("does", "did"))
		w.unknown = "whether the server waits in a write to it"
	}
	if e := w.stderr.last(); e.seq != 0 {
		w.say("The last line that got through is %s, %s (#%d).", w.text(e.text), w.ago(e.at), e.seq)
		w.show(e.moment, "the last line of standard error: %s", w.text(e.text))
	}
	w.suggests = "the program that started the server asked for its standard error, and reads it no more"
	w.next = "show SESSION --filter kind:stderr"
}

// aged says how old the server's process is.
func (j *judge) aged() string {
	if p := j.live.Server; p.Age != 0 && p.Name != "" {
		return fmt.Sprintf(": process %d, which was started %v ago", p.PID, phrase.Brief(p.Age))
	}
	return ""
}
