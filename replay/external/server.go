package external

import (
	"fmt"

	"github.com/mcprec/mcprec/replay/match"
	"github.com/mcprec/mcprec/replay/standin"
	"github.com/mcprec/mcprec/replay/timeline"
	"github.com/mcprec/mcprec/store"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/mcp"
)

// Server says how the server under test is started.
type Server struct {
	Command []string
	Env     []string // NAME=VALUE, beside the environment of this process
	// Folder is copied for each process. The copy takes the place of its path in the client's frames.
	Folder string // "": each process has an empty folder
}

// serverPeer is a server under test, to which the recorded client plays.
type serverPeer struct {
	Server
	events []store.Event
}

func (serverPeer) name() string     { return "server" }
func (serverPeer) recorded() string { return "client" }

// connection carries frames between the recorded client and a server process.
type connection interface {
	// send hands frames over in one go. If it is to be split, at bytes of the first frame, it calls rest
	// between the parts.
	send(frames []sending, splits []int, rest func())
	// said returns what the server has said since the last call.
	said() []transport.Frame
	// untaken returns how many bytes the server has not read.
	untaken() int
	// end says to the server that the client has ended.
	end()
}

// play starts a process, plays the schedule and ends the process.
func (s serverPeer) play(schedule Schedule, patience patience) (played play, err error) {
	err = inFolder(s.Folder, func(dir string) error {
		process, line, err := startServer(s.Server, dir)
		if err != nil {
			return err
		}
		defer process.kill()
		driver := standin.NewDriver(s.events, match.Rules{By: match.ByMethod})
		driver.AllowReorder()
		p := &player{
			schedule: schedule, patience: patience, dir: dir, recorded: s.Folder, driver: driver, process: process, line: line,
			dropped: cancelledIn(s.events), open: map[mcp.Key]frame{}, ahead: map[mcp.Key]bool{}, play: play{answers: map[uint64]string{}},
			sent: map[mcp.Key]uint64{}, cancelled: map[mcp.Key]*cancelled{},
		}
		p.run()
		played = p.play
		return nil
	})
	return played, err
}

// cancelledIn returns the requests that the recorded client gave up, or that are answered when a stream
// ends.
func cancelledIn(events []store.Event) map[mcp.Key]bool {
	list := map[mcp.Key]bool{}
	for _, e := range events {
		if e.Kind != store.Frame || e.Dir != transport.ClientToServer {
			continue
		}
		for _, m := range timeline.MessagesOf(e.AsFrame()) {
			if id := timeline.CancelledID(m); id != nil {
				list[mcp.KeyOf(id)] = true
			}
			if m.Method == mcp.MethodListen {
				list[mcp.KeyOf(m.ID)] = true
			}
		}
	}
	return list
}

// choices returns the choices of the client that can be made alone, by kind.
func (serverPeer) choices(frames []frame) [][]Choice {
	var ends, cancels, splits, holds, unread []Choice
	for i, f := range frames {
		ends = append(ends, Choice{Kind: End, First: f.seq, Last: f.seq})
		if f.isRequest && !f.isHello {
			cancels = append(cancels, Choice{Kind: Cancel, First: f.seq, Last: f.seq}, Choice{Kind: LateCancel, First: f.seq, Last: f.seq})
		}
		if f.size > 1 {
			splits = append(splits, Choice{Kind: Split, First: f.seq, Last: f.seq, At: f.size / 2})
		}
		last := frames[min(i+3, len(frames)-1)].seq
		if f.asks {
			holds = append(holds, Choice{Kind: Hold, First: f.seq, Last: last})
		}
		if f.isRequest && !f.isHello {
			unread = append(unread, Choice{Kind: Unread, First: f.seq, Last: last})
		}
	}
	return append(joins(frames), ends, cancels, splits, holds, unread)
}

// words says what a choice of the client does.
func (serverPeer) words(c Choice, name func(uint64) string) string {
	first, last := name(c.First), name(c.Last)
	switch c.Kind {
	case Join:
		return fmt.Sprintf("%s to %s go out in one write", first, last)
	case Split:
		return fmt.Sprintf("%s goes out in two writes, split at byte %d", first, c.At)
	case Ahead:
		return fmt.Sprintf("the client does not wait for the answer to %s", first)
	case Unread:
		return fmt.Sprintf("the client reads nothing from %s until %s has gone out", first, last)
	case Hold:
		return fmt.Sprintf("the client answers no question from %s until %s has gone out", first, last)
	case Cancel:
		return fmt.Sprintf("the client cancels %s in the same write", first)
	case LateCancel:
		return fmt.Sprintf("the client cancels %s when the server is at rest", first)
	case End:
		return fmt.Sprintf("the client ends its output right behind %s", first)
	}
	return Schedule{c}.Token()
}
