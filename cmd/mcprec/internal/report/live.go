package report

import (
	"cmp"
	"context"
	"fmt"
	"slices"
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
		addProcesses(&live, *header.Processes)
	}
	live.Lines, err = s.Store.OpenLines(ctx, s.ID)
	return live, err
}

// addProcesses adds how the processes of a session stand.
func addProcesses(live *why.Live, of store.Processes) {
	started := procfs.Tree(of.Server)
	live.Server = serverStand(started)
	live.Server.Writes = true
	live.Server.Reads = reads(started, started.Files[0])
	below := started.Below()
	for _, p := range below {
		if p.Files[0] != started.Files[0] || p.Files[0] == "" {
			continue
		}
		stand := serverStand(p)
		stand.Writes = leads(below, p.Files[1], started.Files[1], 4) || procfs.Has(p.PID, started.Files[1])
		stand.Reads = reads(p, started.Files[0])
		live.Below = append(live.Below, stand)
	}
	live.Client = standOf(procfs.Of(of.Client))
	if recorder := procfs.Of(of.Recorder); waitsIn(recorder, "write", recorder.Files[2]) && procfs.Has(of.Recorder.PID, started.Files[2]) {
		for _, p := range append(below, started) {
			if waitsIn(p, "write", started.Files[2]) {
				live.Muted = standOf(p)
			}
		}
	}
}

// leads reports whether what is written to a file comes out at another: it is the same, or a process reads
// it and writes on, at most so many.
func leads(processes []procfs.Process, from, to string, most int) bool {
	if from == to {
		return from != ""
	}
	for _, p := range processes {
		if most > 0 && from != "" && p.Files[0] == from && leads(processes, p.Files[1], to, most-1) {
			return true
		}
	}
	return false
}

// waitsIn reports whether a thread of a process waits in a call of a file.
func waitsIn(p procfs.Process, call, file string) bool {
	return file != "" && slices.ContainsFunc(p.Calls, func(c procfs.Call) bool { return c.Name == call && c.File == file })
}

// reads reports whether a process waits in a read of a file.
func reads(p procfs.Process, file string) bool { return waitsIn(p, "read", file) }

// serverStand returns how a process stands, with what can wake it.
func serverStand(p procfs.Process) why.Process {
	known := standOf(p)
	known.Asleep, known.Needs = needs(p)
	return known
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
	known := why.Process{Name: p.Name, PID: p.PID, State: string(p.State), Age: p.Age}
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
