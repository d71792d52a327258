package running

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mcprec/mcprec/replay/why"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/phrase"
	"github.com/mcprec/mcprec/transport/procfs"
)

// Between is the time between two looks at an Instance, so that a session which moves is not called stuck.
const Between = 2 * time.Second

// Answer is what two looks at an Instance say.
type Answer struct {
	Findings []why.Finding
	Facts    []string // how each side stands, a sentence each
	Verdict  string   // "stuck", "may be stuck", "an orphan", "nothing is seen to be stuck"
}

// Judge says what two looks at an Instance prove. held are the unanswered calls in the server's memory; text that is
// quoted from them is masked. Judge does no I/O.
func Judge(i Instance, first, second Sight, held Held, mask func(string) string) Answer {
	j := &judging{i: i, a: first, b: second, held: held, mask: mask}
	if mask == nil {
		j.mask = func(s string) string { return s }
	}
	f := j.find()
	answer := Answer{Verdict: "nothing is seen to be stuck"}
	if f != nil {
		f.Waited = max(f.Waited, Between)
		answer.Findings = []why.Finding{*f}
		answer.Verdict = j.verdict
	}
	answer.Facts = j.facts(f)
	return answer
}

type judging struct {
	i       Instance
	a, b    Sight // the first and the second look
	held    Held
	mask    func(string) string
	verdict string
}

// The words for an Instance with a finding.
const (
	isStuck   = "stuck"
	mayBe     = "may be stuck"
	isOrphan  = "an orphan"
	fromLooks = "the two looks, 2 s apart"
)

// find returns the finding of the two looks, or nil.
func (j *judging) find() *why.Finding {
	toServer, toClient := stayed(j.a.ToServer, j.b.ToServer), stayed(j.a.ToClient, j.b.ToClient)
	j.verdict = isStuck
	switch {
	case j.b.IsGone:
		return nil
	case j.a.Server.State == procfs.Stopped && j.b.Server.State == procfs.Stopped:
		return j.stopped()
	case j.a.writing == "standard error" && j.b.writing == "standard error" && !j.serverMoved():
		return j.stderrNotRead()
	case toServer && toClient && (j.b.feeding || isFull(j.b.ToServer)) && j.b.writing == "output":
		return j.neitherReads()
	case toClient && j.i.Client.PID != 0:
		return j.clientNotReading()
	case toServer && !j.serverMoved() && !j.canGoOn():
		return j.serverNotReading()
	case j.i.Orphan != "":
		j.verdict = isOrphan
		return j.orphan()
	case j.cannotWake():
		return j.deadlock()
	}
	return j.openCall()
}

// stayed reports whether the same bytes lay unread in both looks.
func stayed(a, b procfs.Unread) bool {
	if a.Size == 0 || b.Size < a.Size {
		return false
	}
	least := min(len(a.Begin), len(b.Begin))
	return bytes.Equal(a.Begin[:least], b.Begin[:least])
}

// isFull reports whether a pipe may have no room. A message that does not fit into the last page takes a new one, so
// half of a full pipe may be empty.
func isFull(u procfs.Unread) bool { return u.Room > 0 && u.Size >= u.Room/2 }

// serverMoved reports whether the server did anything between the looks.
func (j *judging) serverMoved() bool {
	return moved(j.a.Server, j.b.Server)
}

// moved reports whether a side had a processor between the looks.
func moved(a, b Standing) bool {
	if b.IsKnown && b.Look.Activity == procfs.Busy || a.IsKnown && a.Look.Activity == procfs.Busy {
		return true
	}
	return b.Ran >= 0 && b.Ran < Between/2 || a.switches != b.switches
}

// canGoOn reports whether something may still wake the server: a timer soon, or something outside.
func (j *judging) canGoOn() bool {
	l := j.b.Server.Look
	return j.b.Server.IsKnown && (l.Activity == procfs.Outside && firstAddress(j.b.Server.Wakers) != "" || l.Activity == procfs.Timed && l.Timer < why.MostPatience)
}

// cannotWake reports whether in both looks nothing at all could wake the server.
func (j *judging) cannotWake() bool {
	still := func(s Standing) bool { return s.IsKnown && s.Look.Activity == procfs.Asleep && !s.Look.Ours }
	return still(j.a.Server) && still(j.b.Server)
}

// finding begins a finding.
func (j *judging) finding(shape, culprit string) *why.Finding {
	return &why.Finding{Shape: shape, Culprit: culprit, Calls: []uint64{}, Next: fmt.Sprintf("mcprec attach %d", j.i.PID), Proves: "that " + fromLooks + ", saw the same"}
}

func (j *judging) stopped() *why.Finding {
	f := j.finding(why.ServerStopped, "server")
	f.Text = fmt.Sprintf("The server's process %d is stopped by a signal: it can neither read nor write until it gets SIGCONT.", j.i.PID)
	f.Proves = "that the process was stopped in both looks, 2 s apart"
	f.Unknown = "who stopped it: a debugger, or a shell's ^Z"
	f.Next = fmt.Sprintf("kill -CONT %d", j.i.PID)
	return f
}

func (j *judging) stderrNotRead() *why.Finding {
	f := j.finding(why.StderrNotRead, "client")
	f.Text = "The server waits in a write to its standard error, which is full: " + j.client() + " does not read it."
	f.Proves = "that the server waits in that write in both looks, 2 s apart"
	f.Suggests = "the program that started the server asked for its standard error, and reads it no more"
	f.Unknown = "what it wants to say"
	return f
}

func (j *judging) neitherReads() *why.Finding {
	f := j.finding(why.NeitherReads, "both")
	f.Text = fmt.Sprintf("Both sides write and neither reads: %s writes to the server's input, where %s lie unread, and the server waits in a write to its output, where %s lie unread.",
		j.client(), bytesOf(j.b.ToServer), bytesOf(j.b.ToClient))
	j.show(f, j.b.ToServer, "waits for the server")
	j.show(f, j.b.ToClient, "waits for the client")
	f.Proves = "that both buffers are full, and that nobody took a byte out of either between the two looks, 2 s apart"
	f.Suggests = "an end that does not read while it writes; a larger buffer only delays it"
	f.Unknown = "which message began it"
	return f
}

func (j *judging) clientNotReading() *why.Finding {
	f := j.finding(why.ClientNotReading, "client")
	f.Waited = j.since(j.b.Client)
	f.Text = fmt.Sprintf("%s does not read what the server says: %s lie unread in the server's output.", upper(j.client()), bytesOf(j.b.ToClient))
	if j.b.writing == "output" {
		f.Text += " The server waits in a write to it, and cannot go on before the client reads."
	}
	j.show(f, j.b.ToClient, "waits for the client")
	f.Proves = "that these bytes were there in both looks, 2 s apart, and that nobody took one"
	f.Unknown = "what the client waits for instead: the stack of its process says it"
	if moved(j.a.Client, j.b.Client) && j.b.writing != "output" {
		j.verdict = mayBe
		f.Unknown = "whether the client, which is running, reads in a moment"
	}
	return f
}

func (j *judging) serverNotReading() *why.Finding {
	f := j.finding(why.ServerNotReading, "server")
	f.Waited = j.since(j.b.Server)
	f.Text = fmt.Sprintf("The server does not read: %s lie unread in its input.", bytesOf(j.b.ToServer))
	if j.b.feeding {
		f.Text += fmt.Sprintf(" %s waits in a write to it, and cannot go on before the server reads.", upper(j.client()))
	}
	if j.i.Orphan != "" {
		f.Text += " " + upper(j.i.Orphan) + ", which it does not see."
	}
	j.show(f, j.b.ToServer, "waits for the server")
	f.Proves = "that these bytes were there in both looks, 2 s apart, and that no thread of the server ran between them"
	f.Suggests = "a handler that blocks the thread that reads: a call that waits for the client's answer, or for a lock"
	if j.b.Server.IsKnown && j.b.Server.Look.Activity == procfs.Asleep {
		f.Proves += "; only a message to it can wake it, and the message that is there did not"
	}
	f.Unknown = "what it did before it stopped reading"
	j.showHeld(f)
	return f
}

func (j *judging) orphan() *why.Finding {
	f := j.finding(why.NotEnding, "server")
	f.Text = fmt.Sprintf("The server goes on, %v after its start, and %s.", phrase.Brief(j.i.Age), j.i.Orphan)
	f.Proves = "that no client holds both ends of its pipes"
	f.Suggests = "a server that does not end when its input does, or a launcher that was ended alone"
	f.Unknown = "since when: nobody recorded the session"
	words := []string{"kill"}
	for _, pid := range j.i.Started {
		words = append(words, fmt.Sprint(pid))
	}
	f.Next = strings.Join(words, " ")
	return f
}

func (j *judging) deadlock() *why.Finding {
	f := j.finding(why.NoAnswer, "server")
	f.Waited = j.since(j.b.Server)
	f.Text = fmt.Sprintf("The server can never go on: %s, and nothing can wake one: not a timer, not another process, not even a message, because no thread reads its input.", sleepers(j.b.Server.Look.Threads))
	f.Proves = "that in both looks, 2 s apart, each thread of the server waited for another one or for a lock"
	f.Suggests = "a deadlock in the server: locks that are taken in another order, or a thread that waits for itself"
	f.Unknown = "which locks: the stacks of its threads say it"
	j.showHeld(f)
	return f
}

// show adds what lies unread as evidence: its first message, masked.
func (j *judging) show(f *why.Finding, u procfs.Unread, whom string) {
	line, _, isWhole := bytes.Cut(u.Begin, []byte("\n"))
	if len(line) == 0 {
		return
	}
	f.Evidence = append(f.Evidence, why.Evidence{Text: fmt.Sprintf("%s: %s", whom, j.labelled(line, isWhole))})
}

// labelled names a message, or quotes the beginning of another text.
func (j *judging) labelled(line []byte, isWhole bool) string {
	messages, err := transport.Frame{Bytes: line}.Messages()
	if err == nil && len(messages) == 1 && messages[0].Kind() != transport.Invalid {
		m := messages[0]
		label := m.Kind().String()
		if m.Method != "" {
			label += " " + phrase.Name(j.mask(m.Method))
		}
		if name := transport.MemberText(m.Params, "name"); name != "" {
			label += " " + phrase.QuotedName(j.mask(name))
		}
		if m.ID != nil {
			label += " id " + phrase.Name(string(m.ID))
		}
		return label
	}
	const most = 120
	text := phrase.Clip(j.mask(string(line)), most)
	if !isWhole {
		return "a part of a message, or a long one: " + text
	}
	return text
}

// since is for how long a side has not run, as far as the kernel tells.
func (j *judging) since(side Standing) time.Duration { return max(side.Ran, Between) }

// client names the other side.
func (j *judging) client() string {
	if j.i.Client.PID == 0 {
		return "the client"
	}
	return fmt.Sprintf("the client %s (%d)", phrase.Name(j.i.Client.Name), j.i.Client.PID)
}

func upper(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

func bytesOf(u procfs.Unread) string { return phrase.Plural(u.Size, "byte") }

func sleepers(threads int) string {
	if threads == 1 {
		return "its only thread sleeps"
	}
	return fmt.Sprintf("all %d threads sleep", threads)
}

// facts say how each side stands, and what could wake the server.
func (j *judging) facts(f *why.Finding) (list []string) {
	if j.b.IsGone {
		return []string{"The server has ended between the two looks."}
	}
	if f == nil {
		list = append(list, j.quiet())
	}
	server := j.b.Server
	if server.IsKnown && server.State != procfs.Stopped && (f == nil || !strings.Contains(f.Text, "threads sleep")) {
		list = append(list, fmt.Sprintf("The server (%s, %d): %s.", phrase.Name(server.Name), j.i.PID, j.needs(server)))
	}
	if client := j.b.Client; client.PID != 0 && client.State != "" && client.State != procfs.Unknown {
		list = append(list, upper(j.client())+j.clientStand(client))
	}
	return list
}

// quiet says what lies in the pipes of a session in which nothing is stuck.
func (j *judging) quiet() string {
	switch {
	case j.b.IsHidden():
		return "What lies in its pipes is not yours to read: another user holds an end."
	case j.b.ToServer.Size == 0 && j.b.ToClient.Size == 0:
		return "Everything that was sent has been read, both ways."
	case j.b.ToServer.Size > 0:
		return fmt.Sprintf("%s lie unread in the server's input, and it may still read them.", upper(bytesOf(j.b.ToServer)))
	}
	return fmt.Sprintf("%s lie unread in the server's output, and the client still reads.", upper(bytesOf(j.b.ToClient)))
}

// needs says what can wake the server.
func (j *judging) needs(server Standing) string {
	l := server.Look
	ran := ""
	if server.Ran >= Between {
		ran = fmt.Sprintf("; it last ran %v ago", phrase.Brief(server.Ran))
	}
	switch l.Activity {
	case procfs.Busy:
		return "it is running"
	case procfs.Full:
		return sleepers(l.Threads) + ", one in a write to the client" + ran
	case procfs.Outside:
		return fmt.Sprintf("%s, and something outside can wake it: %s%s", sleepers(l.Threads), strings.Join(server.Wakers, ", "), ran)
	case procfs.Timed:
		return fmt.Sprintf("%s; its next timer is in %v%s", sleepers(l.Threads), phrase.Brief(l.Timer), ran)
	case procfs.Ended:
		return "it has ended"
	}
	if l.Ours {
		return sleepers(l.Threads) + ", and nobody but the client can wake " + pick(l.Threads) + ran
	}
	return sleepers(l.Threads) + ", and nothing can wake " + pick(l.Threads) + ran
}

func pick(threads int) string { return phrase.Agree(threads, "it", "them") }

// clientStand says how the client's process stands.
func (j *judging) clientStand(client Standing) string {
	switch {
	case moved(j.a.Client, client):
		return " is running."
	case client.Ran >= Between:
		return fmt.Sprintf(" is %s; it last ran %v ago.", client.State, phrase.Brief(client.Ran))
	}
	return fmt.Sprintf(" is %s.", client.State)
}

// openCall tells of an unanswered call in the server's memory, if nothing moved and nobody else can move the server. A
// question that a side asks during a call is told before the call.
func (j *judging) openCall() *why.Finding {
	if len(j.held.Open) == 0 || j.serverMoved() || j.canGoOn() || j.i.Client.PID == 0 {
		return nil
	}
	if slices.ContainsFunc(j.held.Open, func(c HeldCall) bool { return c.AsksPerson }) {
		return nil // somebody is asked, and may take a while
	}
	j.verdict = mayBe
	for _, told := range []struct{ shape, text string }{
		{why.AsksClient, "The server has asked the client for %s, and has no answer; everything that was sent has been read."},
		{why.InputMissing, "The server has answered %s with a request for input, and the client has not sent it; everything that was sent has been read."},
		{why.NotInitialized, "The server has answered %s, and the client has not said that it is initialized: nothing else may pass before."},
		{why.NotAcknowledged, "The server has read %s, and has not acknowledged it; it has read everything, and said nothing between the two looks."},
		{why.NoAnswer, "The server has read %s, and has not answered; it has read everything, and said nothing between the two looks."},
	} {
		calls := slices.DeleteFunc(slices.Clone(j.held.Open), func(c HeldCall) bool { return c.Shape != told.shape })
		if len(calls) > 0 {
			f := j.finding(told.shape, calls[0].Culprit)
			f.Text = fmt.Sprintf(told.text, j.named(calls))
			return j.fromMemory(f, calls)
		}
	}
	return nil
}

// fromMemory ends a finding about calls of the server's memory.
func (j *judging) fromMemory(f *why.Finding, calls []HeldCall) *why.Finding {
	f.Waited = j.since(j.b.Server)
	for _, call := range calls {
		f.Evidence = append(f.Evidence, why.Evidence{Text: "in the server's memory: " + call.label(j.mask)})
	}
	f.Proves = "that nothing lies unread, and that neither side moved between the two looks, 2 s apart"
	f.Suggests = "the other side still waits: the request is in the memory of the server, and what has to follow it is not"
	f.Unknown = "whether that was said, and its bytes are gone from memory"
	return f
}

// showHeld adds the calls that the server has in its memory without an answer.
func (j *judging) showHeld(f *why.Finding) {
	for _, call := range j.held.Open {
		f.Evidence = append(f.Evidence, why.Evidence{Text: "in the server's memory, without an answer: " + call.label(j.mask)})
	}
}

// named lists calls.
func (j *judging) named(calls []HeldCall) string {
	var list []string
	for _, call := range calls {
		list = append(list, call.label(j.mask))
	}
	return strings.Join(list, ", ")
}
