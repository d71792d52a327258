package check

import (
	"fmt"
	"slices"
	"time"

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
	served := f.replies > 0 || f.refused != 0
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
	case f.asked > 0:
		f.finds(unavailing, transport.ServerToClient, "", []uint64{f.seq}, "%s of the client, and no answer", phrase.Plural(f.asked, "request"))
	}
}
