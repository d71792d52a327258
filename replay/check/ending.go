package check

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mcprec/mcprec/replay/order"
	"github.com/mcprec/mcprec/replay/phrase"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
)

// ending is how a session on a pipe ended, as far as it has come.
type ending struct {
	closed [3]moment // of each direction, by its sender
	exit   store.ExitInfo
	exited moment // of the server's process
	gaveUp uint64 // the event at which the recorder no longer read the server
	sealed bool   // the recording came to its end
}

// live reports whether nothing says that the session ended.
func (n *ending) live() bool {
	return !n.sealed && n.exited.seq == 0 && n.closed == [3]moment{}
}

// server returns where the server's end shows first.
func (n *ending) server() moment {
	end := n.closed[transport.ServerToClient]
	if x := n.exited; end.seq == 0 || x.seq != 0 && x.seq < end.seq {
		end = x
	}
	return end
}

// first returns which end left first and where, the client as ClientToServer; no
// direction where none left. A server that ends by a signal that asks it to was asked by
// its client, which closes its end that way.
func (n *ending) first() (who transport.Direction, at moment) {
	client, server := n.closed[transport.ClientToServer], n.server()
	switch {
	case server.seq == 0 && client.seq == 0:
		return transport.NoDirection, moment{}
	case client.seq != 0 && (server.seq == 0 || client.seq < server.seq):
		return transport.ClientToServer, client
	case n.exited.seq != 0 && askedToEnd(n.exit):
		return transport.ClientToServer, server
	}
	return transport.ServerToClient, server
}

// askedToEnd reports whether a process ended by SIGHUP, SIGINT or SIGTERM, or with the
// status that a shell gives to one that did.
func askedToEnd(exit store.ExitInfo) bool {
	return slices.Contains([]string{"hangup", "interrupt", "terminated"}, exit.Signal) ||
		exit.Signal == "" && slices.Contains([]int{128 + 1, 128 + 2, 128 + 15}, exit.Code)
}

// endedWith says how a process ended.
func endedWith(exit store.ExitInfo) string {
	if exit.Signal != "" {
		return "by the signal " + clip(exit.Signal)
	}
	return fmt.Sprintf("with exit status %d", exit.Code)
}

// outlivesFor is how long a server may go on without a word when its input has ended.
const outlivesFor = time.Second

// judgeEnding applies the rules E12, E13 and E15 at the end of a session: how the server
// ended, and whether anything was answered.
func (f *Fold) judgeEnding() {
	n := &f.end
	who, _ := n.first()
	failed := n.exited.seq != 0 && (n.exit.Code != 0 || n.exit.Signal != "")
	served := f.results > 0
	switch x := n.exited; {
	case failed && !askedToEnd(n.exit) && f.last[transport.ServerToClient].seq == 0:
		f.finds(notStarted, transport.ServerToClient, "", []uint64{x.seq}, "the server ended %s and had sent nothing", endedWith(n.exit))
		served = true // the finding above says it
	case failed && who == transport.ServerToClient:
		f.finds(ranOut, transport.ServerToClient, f.scopes.session.rules.Revision(), []uint64{x.seq}, "the server ended %s before the client had closed its end", endedWith(n.exit))
	}
	if eof := n.closed[transport.ClientToServer]; eof.seq != 0 && n.exited.seq > eof.seq && f.last[transport.ServerToClient].seq != 0 {
		quiet := max(eof.at, f.last[transport.ServerToClient].at)
		if took := n.exited.at - quiet; took >= outlivesFor {
			f.finds(outlives, transport.ServerToClient, f.scopes.session.rules.Revision(), []uint64{n.exited.seq, eof.seq},
				"the server ended %v after the client had closed its end (#%d), %s; meanwhile it sent nothing", phrase.Brief(took), eof.seq, endedWith(n.exit))
		}
	}
	if served || n.live() || f.lost != 0 {
		return
	}
	switch {
	case f.frames == 0:
		f.finds(unavailing, transport.ClientToServer, "", []uint64{f.seq}, "nothing was said: there is no frame in the recording")
	case f.asked == 0 && !f.listens:
		f.finds(unavailing, transport.ClientToServer, "", []uint64{f.seq}, "the client asked for nothing")
	case f.asked > 0 && f.came.probes == f.asked:
		d := unavailing
		d.Severity = order.Note
		f.finds(d, transport.ServerToClient, "", []uint64{f.seq}, "the client asked which revisions the server knows (%s), and nothing else: %s", methodDiscover, f.came.list(f.asked))
	case f.asked > 0 && f.came.count == 0:
		f.finds(unavailing, transport.ServerToClient, "", []uint64{f.seq}, "%s of the client, and no answer", phrase.Plural(f.asked, "request"))
	case f.asked > 0:
		f.finds(unavailing, transport.ServerToClient, "", []uint64{f.seq}, "%s of the client, and no result: %s", phrase.Plural(f.asked, "request"), f.came.list(f.asked))
	}
}

// failures counts what came instead of results to the requests of the client, but for
// subscriptions.
type failures struct {
	count  uint64
	probes uint64   // of these, probes for revisions that were refused as an unknown method is
	said   []string // what came, in its order, each once
	times  []uint64 // how often each came
}

// mostFailures is how many kinds of failures are told apart; the others are one.
const mostFailures = 5

// add counts what came to a call. unknown is whether a server that does not know its method
// may say so.
func (n *failures) add(c *call, said string, unknown bool) {
	if c.dir != transport.ClientToServer || c.method == methodListen {
		return
	}
	n.count++
	if unknown && c.method == methodDiscover {
		n.probes++
	}
	i := slices.Index(n.said, said)
	if i < 0 && len(n.said) == mostFailures {
		i, n.said[mostFailures-1] = mostFailures-1, "others"
	} else if i < 0 {
		i, n.said, n.times = len(n.said), append(n.said, said), append(n.times, 0)
	}
	n.times[i]++
}

// list names what came to so many requests, and how often where that is not plain.
func (n *failures) list(asked uint64) string {
	said, times := slices.Clone(n.said), slices.Clone(n.times)
	if none := asked - min(n.count, asked); none > 0 {
		said, times = append(said, "no answer"), append(times, none)
	}
	if len(said) > 1 {
		for i := range said {
			said[i] = fmt.Sprintf("%s (%d)", said[i], times[i])
		}
	}
	return strings.Join(said, ", ")
}

// errorSaid names the error of a response.
func errorSaid(m *transport.Message) string {
	said := "error " + clip(string(transport.Member(m.Error, "code")))
	var words string
	if json.Unmarshal(transport.Member(m.Error, "message"), &words) == nil && words != "" {
		said += " (" + clip(words) + ")"
	}
	return said
}
