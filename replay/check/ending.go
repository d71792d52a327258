package check

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mcprec/mcprec/replay/order"
	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/replay/why"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
	"github.com/mcprec/mcprec/transport/phrase"
)

// Rules E12, E13 and E15, and E10 of a client that leaves behind the handshake.
var (
	runsToEnd     = newDemand("E12", "a server runs until its client ends the session", order.Warning, "basic/lifecycle, Shutdown")
	serverStarts  = newDemand("E13", "a server starts", order.Error, "")
	someResult    = newDemand("E13", "a request is answered in the session", order.Warning, "")
	goesOn        = newDemand("E10", "a client goes on behind the handshake", order.Note, "basic/lifecycle, Initialization")
	endsWithInput = newDemand("E15", "a server ends when its input does", order.Warning, "basic/lifecycle, Shutdown")
)

// ending is how a session on a pipe ended so far.
type ending struct {
	closed  [3]moment // of each direction, by the sender
	exit    store.ExitInfo
	exited  moment         // of the server's process
	process *timeline.Exit // the same: it tells whether another process went on
	now     time.Duration  // of a session that goes on
	pid     int            // of the server's process; 0: not known
	sealed  bool           // the recording is complete

	greeted moment // the answer to initialize, until the client goes on
	early   bool   // the client went on before that answer, which rule P4 tells
}

// onMessage notes the answer to initialize, and that the client goes on.
func (n *ending) onMessage(step timeline.Step, m *timeline.Message) {
	switch {
	case step.Stream != 0:
	case step.Dir == transport.ClientToServer:
		n.greeted = moment{}
		n.early = n.early || m.Method == mcp.NotificationInitialized
	case m.Role == timeline.Answers && m.Call.Method == mcp.MethodInitialize && m.Result != nil && !n.early:
		n.greeted = moment{step.Seq, step.At}
	}
}

// judgeGreeting is rule E10 for a client that closed its end soon behind the answer to initialize. One that
// waited for longer is found by package why.
func (n *ending) judgeGreeting(r *reporter, revision string) {
	left := n.closed[transport.ClientToServer]
	if who, _ := n.first(); n.greeted.seq == 0 || left.seq < n.greeted.seq || who != transport.ClientToServer || left.at-n.greeted.at >= why.Patience {
		return
	}
	r.report(goesOn, transport.ClientToServer, revision, []uint64{n.greeted.seq, left.seq},
		"the client closed its end (#%d) %v behind the answer to initialize (#%d), without %s: it did not take that answer, or wanted no more",
		left.seq, phrase.Brief(left.at-n.greeted.at), n.greeted.seq, mcp.NotificationInitialized)
}

// hasExited reports whether the server's process has ended, and no other one had its output and went on.
func (n *ending) hasExited() bool { return n.exited.seq != 0 && !n.process.Outlived(n.now) }

// isOpen reports whether no event ends the session.
func (n *ending) isOpen() bool {
	return !n.sealed && !n.hasExited() && n.closed == [3]moment{}
}

// first returns the end to leave first and where, the client as ClientToServer; no direction
// if neither left. A client may also end the server by a signal.
func (n *ending) first() (end transport.Direction, at moment) {
	client, server := n.closed[transport.ClientToServer], n.closed[transport.ServerToClient]
	if n.hasExited() && (server.seq == 0 || n.exited.seq < server.seq) {
		server = n.exited
	}
	switch {
	case server.seq == 0 && client.seq == 0:
		return transport.NoDirection, moment{}
	case client.seq != 0 && (server.seq == 0 || client.seq < server.seq):
		return transport.ClientToServer, client
	case n.hasExited() && n.exit.AskedToEnd():
		return transport.ClientToServer, server
	}
	return transport.ServerToClient, server
}

const (
	// outlivesFor is how long a server may go on without a word after the end of the input.
	outlivesFor = time.Second
	// clientsWait is how long clients wait then before they send SIGTERM: the SDKs for TypeScript and Python wait 2 s,
	// those for Go and C# 5 s.
	clientsWait = 2 * time.Second
)

// judgeServer is rules E12 and E15, and E13 for the start of the server, at the end of a
// session. lastWord is the last frame of the server. judgeServer reports whether the server
// started.
func (n *ending) judgeServer(r *reporter, revision string, lastWord moment) (started bool) {
	if !n.hasExited() {
		return true
	}
	how := fmt.Sprintf("with exit status %d", n.exit.Code)
	if n.exit.Signal != "" {
		how = "by the signal " + clip(n.exit.Signal)
	}
	started = true
	first, _ := n.first()
	failed := n.exit.Code != 0 || n.exit.Signal != ""
	switch {
	case n.exit.NotStarted != "":
		r.report(serverStarts, transport.ServerToClient, "", []uint64{n.exited.seq}, "the server did not start: %s", clip(n.exit.NotStarted))
		started = false
	case failed && !n.exit.AskedToEnd() && lastWord.seq == 0:
		r.report(serverStarts, transport.ServerToClient, "", []uint64{n.exited.seq}, "the server ended %s and had sent nothing", how)
		started = false
	case failed && first == transport.ServerToClient:
		r.report(runsToEnd, transport.ServerToClient, revision, []uint64{n.exited.seq}, "the server ended %s before the client had closed its end", how)
	}
	eof := n.closed[transport.ClientToServer]
	took := n.exited.at - max(eof.at, lastWord.at)
	if eof.seq != 0 && n.exited.seq > eof.seq && lastWord.seq != 0 && took >= outlivesFor {
		d := endsWithInput
		if isByItself := !n.exit.AskedToEnd() && !n.exit.Killed(); isByItself && took < clientsWait {
			d.Severity = order.Note
		}
		process := ""
		if n.pid != 0 {
			process = fmt.Sprintf(" (process %d, started %v before)", n.pid, phrase.Brief(n.exited.at))
		}
		r.report(d, transport.ServerToClient, revision, []uint64{n.exited.seq, eof.seq},
			"the server%s ended %v after the client had closed its end (#%d), %s; meanwhile it sent nothing", process, phrase.Brief(took), eof.seq, how)
	}
	return started
}

// outcome counts the client's requests, without subscriptions, and their answers.
type outcome struct {
	asked    uint64
	answered uint64
	results  uint64 // answers without an error
	listens  bool   // the client asked for subscriptions

	failed uint64 // requests that came to something else than a result
	probes uint64 // of these, probes for revisions that were refused as an unknown method is
	kinds  []failureKind
}

// failureKind is a way in which requests failed.
type failureKind struct {
	text  string
	count uint64
}

// onResponse counts the response to a call of the client.
func (o *outcome) onResponse(call *call, message *timeline.Message) {
	if call.method == mcp.MethodListen {
		return
	}
	o.answered++
	if message.Error == nil {
		o.results++
		return
	}
	o.onFailure(call, errorText(message.Shown().Error), true)
}

// errorText returns the code and the message of a JSON-RPC error, for a sentence.
func errorText(fault json.RawMessage) string {
	code := transport.Member(fault, "code")
	said := "an error without a code"
	if code != nil {
		said = "error " + clip(string(code))
	}
	words := transport.MemberText(fault, "message")
	if text, isText := transport.Text(fault); isText { // the error is a text
		words = text
	}
	if words != "" {
		said += " (" + clip(words) + ")"
	}
	return said
}

// onFailure counts a failed request. isUnknownMethod says whether the failure is a server's
// usual answer to an unknown method.
func (o *outcome) onFailure(call *call, said string, isUnknownMethod bool) {
	if call.dir != transport.ClientToServer || call.method == mcp.MethodListen {
		return
	}
	o.failed++
	if isUnknownMethod && call.method == mcp.MethodDiscover {
		o.probes++
	}
	const maxKinds = 5 // the last kind is the rest
	i := slices.IndexFunc(o.kinds, func(kind failureKind) bool { return kind.text == said })
	switch {
	case i >= 0:
	case len(o.kinds) == maxKinds:
		i = maxKinds - 1
		o.kinds[i].text = "others"
	default:
		i = len(o.kinds)
		o.kinds = append(o.kinds, failureKind{text: said})
	}
	o.kinds[i].count++
}

// failures lists the failures, and how often each came if there are several.
func (o *outcome) failures() string {
	kinds := slices.Clone(o.kinds)
	if none := o.asked - min(o.failed, o.asked); none > 0 {
		kinds = append(kinds, failureKind{"no answer", none})
	}
	var list []string
	for _, k := range kinds {
		if len(kinds) > 1 {
			k.text = fmt.Sprintf("%s (%d)", k.text, k.count)
		}
		list = append(list, k.text)
	}
	return strings.Join(list, ", ")
}

// judge is rule E13, at the end of a session without results.
func (o *outcome) judge(r *reporter, frames, end uint64) {
	d := someResult
	at := []uint64{end}
	requests := phrase.Plural(o.asked, "request")
	switch {
	case frames == 0:
		r.report(d, transport.ClientToServer, "", at, "nothing was said: there is no message in the recording")
	case o.asked == 0 && !o.listens:
		r.report(d, transport.ClientToServer, "", at, "the client asked for nothing")
	case o.asked == 0:
	case o.probes == o.asked:
		d.Severity = order.Note
		r.report(d, transport.ServerToClient, "", at, "the client asked which revisions the server knows (%s), and nothing else: %s", mcp.MethodDiscover, o.failures())
	case o.failed == 0:
		r.report(d, transport.ServerToClient, "", at, "%s of the client, and no answer", requests)
	default:
		r.report(d, transport.ServerToClient, "", at, "%s of the client, and no result: %s", requests, o.failures())
	}
}
