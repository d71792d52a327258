package report

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/mcprec/mcprec/cmd/mcprec/internal/session"
	"github.com/mcprec/mcprec/replay/why"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport/phrase"
	"github.com/mcprec/mcprec/transport/procfs"
)

// LiveNow is Live with the header of the log.
func LiveNow(ctx context.Context, s *session.Session) (live why.Live, err error) {
	if s.Now() == 0 {
		return live, nil
	}
	for e, err := range s.Recorded(ctx, 1, store.ReadOptions{}) {
		if err != nil {
			return live, err
		}
		header, err := store.ParseHeader(e.Payload)
		if err != nil {
			return live, err
		}
		return Live(ctx, s, header)
	}
	return live, nil
}

// Live returns what is known of a session that goes on beside its log.
func Live(ctx context.Context, s *session.Session, header store.Header) (live why.Live, err error) {
	live = why.Live{Now: s.Now(), Mask: s.Masker.Of(header).Text}
	if live.Now == 0 {
		return live, nil
	}
	if header.Processes != nil {
		server := serverOf(procfs.Tree(header.Processes.Server))
		live.Server = standOf(server)
		live.Server.Asleep, live.Server.Needs = needs(server)
		live.Client = standOf(procfs.Of(header.Processes.Client))
	}
	live.Lines, err = s.Store.OpenLines(ctx, s.ID)
	return live, err
}

// serverOf returns the process that reads the input of a server: a launcher, such as npx, has it
// as a child.
func serverOf(p procfs.Process) procfs.Process {
	for _, child := range p.Children {
		if child.Files[0] == p.Files[0] && child.Files[0] != "" {
			return serverOf(child)
		}
	}
	return p
}

// needs says in a sentence what can wake a server whose threads all sleep, and whether no timer can;
// "" where that is not certain.
func needs(server procfs.Process) (isAsleep bool, sentence string) {
	if server.State != procfs.Sleeping {
		return false, ""
	}
	w, err := procfs.Watch(server.PID, server.Files[:]...)
	if err != nil {
		return false, "" // not this system, or not our process
	}
	defer w.Close()
	look := w.Look()
	threads := fmt.Sprintf("All its %d threads sleep", look.Threads)
	if look.Threads == 1 {
		threads = "Its only thread sleeps"
	}
	switch {
	case look.Activity == procfs.Asleep && look.Ours:
		return true, threads + ", and only a message to it can wake it."
	case look.Activity == procfs.Asleep:
		return true, threads + ", and nothing can wake it: not even a message to it, because it does not read."
	case look.Activity == procfs.Timed && look.Timer >= time.Second:
		return false, fmt.Sprintf("%s; its next timer is in %v.", threads, phrase.Brief(look.Timer))
	}
	return false, ""
}

// standOf returns how a process stands.
func standOf(p procfs.Process) why.Process {
	if p.State == procfs.Unknown {
		return why.Process{}
	}
	known := why.Process{Name: p.Name, PID: p.PID, State: string(p.State)}
	if len(p.Calls) == 0 || p.State != procfs.Sleeping {
		return known
	}
	call := p.Calls[0]
	file := map[int]string{-1: "something", 0: "its input", 1: "its output", 2: "standard error"}[call.FD]
	if kind, _, _ := strings.Cut(call.File, ":"); file == "" && kind != call.File {
		file = "a " + kind // a pipe or a socket
	}
	known.Doing = map[string]string{
		"read": "in a read of " + cmp.Or(file, "a file"), "write": "in a write to " + cmp.Or(file, "a file"), "poll": "waiting for input or a timer",
		"futex": "waiting for another thread or a lock", "wait": "waiting for a child", "sleep": "waiting for a timer",
		"accept": "waiting for a connection", "connect": "waiting for a connection that it makes",
	}[call.Name]
	return known
}
