package running

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/mcprec/mcprec/transport/phrase"
	"github.com/mcprec/mcprec/transport/procfs"
)

// Sight is one look at an Instance.
type Sight struct {
	IsGone   bool // the server has ended
	ToServer procfs.Unread
	ToClient procfs.Unread
	Server   Standing
	Client   Standing

	hidden  error // why an end could not be looked at
	stderr  string
	writing string // what a process of the server's waits in a write to: "output", "standard error", or "" for neither
	feeding bool   // the client waits in a write to the server's input
}

// Standing is how one side stands: the client's process, or the server's with all that it has started.
type Standing struct {
	procfs.Process
	Look    procfs.Look
	IsKnown bool // Look is
	// Ran is how long ago any of its threads had a processor; negative: not known.
	Ran    time.Duration
	Wakers []string // what outside can wake it, by address where that is known

	switches uint64 // how often its threads went to sleep
}

// See looks at an Instance, and copies at most so many unread bytes. The Table says who holds which end; if a process
// has ended since, the Sight says so.
func (t *Table) See(i Instance, most int) Sight {
	s := Sight{stderr: t.byPID[i.PID].At(2)}
	s.Server = standing(i.ID)
	s.Server.look(i.root, i.input, i.output, s.stderr)
	s.IsGone = s.Server.State == procfs.Gone || s.Server.State == procfs.Zombie
	if s.IsGone {
		return s
	}
	var err error
	if s.ToServer, err = t.peek(i.toServer.pid, i.toServer.fd, most); err != nil {
		s.hidden = err
	}
	if i.toClient.pid != 0 {
		if s.ToClient, err = t.peek(i.toClient.pid, i.toClient.fd, most); err != nil {
			s.hidden = err
		}
	}
	for _, p := range append(procfs.Tree(procfs.ID{PID: i.root, Birth: t.byPID[i.root].Birth}).Below(), s.Server.Process) {
		for _, call := range p.Calls {
			switch {
			case call.Name != "write" || call.File == "":
			case call.File == i.output:
				s.writing = "output"
			case call.File == s.stderr && s.writing == "":
				s.writing = "standard error"
			}
		}
	}
	if i.Client.PID == 0 || t.IsHidden(i.Client.PID) {
		s.Client.Ran = -1
		return s
	}
	client := t.byPID[i.Client.PID]
	input, output := i.input, i.output
	var ends []string
	for _, h := range append(t.across(input, true, nil), t.across(output, false, nil)...) {
		if h.pid == client.PID {
			ends = append(ends, h.File)
		}
	}
	s.Client = standing(client.ID())
	for _, call := range s.Client.Calls {
		if call.Name == "write" && slices.Contains(ends, call.File) {
			s.feeding = true
		}
	}
	return s
}

// standing looks at a process. It does not ask what could wake a client: with many servers it has many descriptors.
func standing(id procfs.ID) Standing {
	s := Standing{Process: procfs.Of(id), Ran: -1}
	if s.State == procfs.Gone || s.State == procfs.Zombie {
		return s
	}
	if ago, ok := procfs.LastRan(id.PID); ok {
		s.Ran = ago
	}
	for _, count := range procfs.Switches(id.PID) {
		s.switches += count
	}
	return s
}

// look finds out what could wake a server, its launchers and their other children. ours are the pipes between the two
// sides.
func (s *Standing) look(root int, ours ...string) {
	if s.State == procfs.Gone || s.State == procfs.Zombie {
		return
	}
	w, err := procfs.Watch(root, ours...)
	if err != nil {
		return
	}
	defer w.Close()
	s.Look, s.IsKnown = w.Look(), true
	for _, name := range s.Look.Outside {
		s.Wakers = append(s.Wakers, cmp.Or(procfs.Address(s.PID, name), name))
	}
}

// IsHidden reports whether an end could not be looked at because it is another user's.
func (s Sight) IsHidden() bool { return errors.Is(s.hidden, procfs.ErrNotYours) }

// Doing says in a few words what a server does. stuck is how long nothing has moved though bytes wait to be read; 0: it
// is not stuck.
func (s Sight) Doing() (words string, stuck time.Duration) {
	still := func(sides ...Standing) time.Duration { // for how long none of them has run
		least := time.Duration(-1)
		for _, side := range sides {
			if side.Ran < 0 {
				return 0
			}
			if least < 0 || side.Ran < least {
				least = side.Ran
			}
		}
		return max(least, 0)
	}
	const surely = 2 * time.Second
	waits := func(by time.Duration, words string) (string, time.Duration) {
		if by >= surely {
			return words, by
		}
		return words, 0
	}
	switch {
	case s.IsGone:
		return "has ended", 0
	case s.Server.State == procfs.Stopped:
		return "stopped by a signal", 0
	case s.writing == "standard error":
		return waits(still(s.Server), "waits to write to standard error, which nobody reads")
	case s.ToClient.Size > 0:
		return waits(still(s.Client), phrase.Plural(s.ToClient.Size, "byte")+" of its output not read by the client")
	case s.ToServer.Size > 0:
		return waits(still(s.Server, s.Client), phrase.Plural(s.ToServer.Size, "byte")+" of its input not read")
	case !s.Server.IsKnown:
		return string(s.Server.State), 0
	case s.Server.Look.Activity == procfs.Busy:
		return "works", 0
	case s.Server.Look.Activity == procfs.Outside && firstAddress(s.Server.Wakers) != "":
		return "waits for " + firstAddress(s.Server.Wakers), 0
	case s.Server.Look.Activity == procfs.Asleep && !s.Server.Look.Ours:
		return waits(still(s.Server), "asleep, and nothing can wake it")
	}
	return "idle", 0
}

// firstAddress returns the first of some wakers that is in the network.
func firstAddress(wakers []string) string {
	for _, w := range wakers {
		if _, rest, found := strings.Cut(w, " "); found && strings.Contains(rest, ":") {
			return w
		}
	}
	return ""
}

// Files returns what the descriptors 0, 1 and 2 of the server are.
func (i Instance) Files() [3]string {
	return [3]string{i.input, i.output, procfs.Of(i.ID).Files[2]}
}

// UnreadOutput returns how many bytes of its output its client has not read now.
func (i Instance) UnreadOutput() int {
	if i.toClient.pid == 0 {
		return 0
	}
	u, _ := procfs.Peek(i.toClient.pid, i.toClient.fd, 0) // of a process that has ended nothing is unread
	return u.Size
}
