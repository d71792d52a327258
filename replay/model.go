package replay

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/mcprec/mcprec/transport"
)

// Model says how an end's reader and writer depend on each other. The zero value
// is Free. Models are compared with ==.
type Model struct {
	kind  modelKind
	queue int
}

type modelKind uint8

const (
	free modelKind = iota
	rigid
	inline
	inbox
	serial
)

var modelNames = [...]string{"free", "rigid", "inline", "inbox", "serial"}

var (
	// Free: the reader never waits for the writer. A send waits until every frame
	// that was recorded before it, the other way, was read.
	Free = Model{kind: free}
	// Rigid: one thread, one fixed order of sends and receives. Where the
	// recording leaves that order open, the send comes first.
	Rigid = Model{kind: rigid}
	// Inline: the reader writes the answers itself, and reads on when they were
	// taken. All else is sent as by Free.
	Inline = Model{kind: inline}
	// Serial: the receive loop runs each handler to its end before it reads on: of
	// a request until its answer was taken, of a notification until what the
	// handler asks the peer for was answered. So it never reads what a handler waits
	// for. Loops like it: the stdio server of mcp-go to v1.1.0 for all but tools/call
	// (issue 976), the client of mcp-go to v1.2.1 for notifications, and by their
	// reports, for they were not run, clients that list in a list_changed handler
	// awaited in the loop (agent-framework 4866, hermes-agent 17570).
	Serial = Model{kind: serial}
)

// Inbox returns the model of a receive loop that hands notifications to a queue
// of q, which nobody drains while a call of this end is in flight. With the
// queue full the loop is stuck. It sends as Free does.
func Inbox(q int) Model { return Model{kind: inbox, queue: max(q, 0)} }

// Queue returns the inner queue of an inbox model; false of the others.
func (m Model) Queue() (q int, ok bool) { return m.queue, m.kind == inbox }

// ParseModel reads "free", "rigid", "inline", "serial" or "inbox:Q".
func ParseModel(s string) (Model, error) {
	name, size, sized := strings.Cut(s, ":")
	for k, n := range modelNames {
		if n != name || sized != (modelKind(k) == inbox) {
			continue
		}
		if !sized {
			return Model{kind: modelKind(k)}, nil
		}
		q, err := strconv.ParseInt(size, 10, 32)
		if err != nil || q < 0 {
			return Model{}, fmt.Errorf("parse model %q: the queue of inbox:Q is a number from 0", s)
		}
		return Inbox(int(q)), nil
	}
	return Model{}, fmt.Errorf("parse model %q: want free, rigid, inline, serial, or inbox:Q with Q from 0", s)
}

// String returns what ParseModel reads.
func (m Model) String() string {
	if m.kind == inbox {
		return fmt.Sprintf("inbox:%d", m.queue)
	}
	return modelNames[m.kind]
}

// MarshalText writes the model as String does.
func (m Model) MarshalText() ([]byte, error) { return []byte(m.String()), nil }

// UnmarshalText reads what ParseModel reads.
func (m *Model) UnmarshalText(b []byte) (err error) {
	*m, err = ParseModel(string(b))
	return err
}

// Setup is what a closed replay runs under. The zero value is two free ends at
// capacity 0.
type Setup struct {
	Capacity Capacity
	Client   Model
	Server   Model
}

// model returns the model of the end that sends in direction dir.
func (s Setup) model(dir transport.Direction) Model {
	if dir == transport.ClientToServer {
		return s.Client
	}
	return s.Server
}

func (s Setup) with(dir transport.Direction, m Model) Setup {
	if dir == transport.ClientToServer {
		s.Client = m
	} else {
		s.Server = m
	}
	return s
}
