package replay

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/mcprec/mcprec/transport"
)

// Model says how an end's reader and writer depend on each other. The zero value is Free.
// Compare models with ==.
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
	// Free: the reader never waits for the writer. A send waits until every frame of the
	// other direction that was recorded before was read.
	Free = Model{kind: free}
	// Rigid: one thread, one fixed order of sends and receives. If the recording leaves the
	// order open, the send comes first.
	Rigid = Model{kind: rigid}
	// Inline: the reader writes the answers and reads on when the answers were taken. Other
	// frames are sent as by Free.
	Inline = Model{kind: inline}
	// Serial: the receive loop runs each handler to its end before it reads on: the handler
	// of a request until the answer was taken, the handler of a notification until the
	// handler's own call was answered. So the loop never reads the frame that a handler
	// waits for. Such loops: the stdio server of mcp-go to v1.1.0 except for tools/call
	// (issue 976), the client of mcp-go to v1.2.1 for notifications, and by reports that
	// were not verified, clients with an awaited list_changed handler that lists
	// (agent-framework 4866, hermes-agent 17570).
	Serial = Model{kind: serial}
)

// Inbox returns the model of a receive loop that hands notifications to a queue of q, which
// no goroutine drains while a call of this end is in flight. If the queue is full, the loop
// is stuck. An inbox sends as Free does.
func Inbox(q int) Model { return Model{kind: inbox, queue: max(q, 0)} }

// Queue returns the inner queue of an inbox model; false for other models.
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
func (m *Model) UnmarshalText(data []byte) (err error) {
	*m, err = ParseModel(string(data))
	return err
}

// Setup is the capacity and the models of a closed replay. The zero value is two free ends
// at capacity 0.
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

func (s Setup) with(dir transport.Direction, model Model) Setup {
	if dir == transport.ClientToServer {
		s.Client = model
	} else {
		s.Server = model
	}
	return s
}

// Room is the capacity of one direction, in frames; [Unbounded] always has room.
type Room int

// Unbounded is the room of a lane that never blocks its writer.
const Unbounded Room = transport.Unbounded

// ParseRoom reads a number of frames, or "unbounded".
func ParseRoom(s string) (Room, error) {
	if s == "unbounded" {
		return Unbounded, nil
	}
	n, err := strconv.ParseInt(s, 10, 32)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("parse capacity %q: want a number of frames from 0, or unbounded", s)
	}
	return Room(n), nil
}

// String returns the number, or "unbounded".
func (r Room) String() string {
	if r < 0 {
		return "unbounded"
	}
	return strconv.Itoa(int(r))
}

// MarshalJSON writes a number, or the string "unbounded".
func (r Room) MarshalJSON() ([]byte, error) {
	if r < 0 {
		return []byte(`"unbounded"`), nil
	}
	return strconv.AppendInt(nil, int64(r), 10), nil
}

// UnmarshalJSON reads what MarshalJSON writes.
func (r *Room) UnmarshalJSON(data []byte) (err error) {
	s := string(data)
	if len(data) > 0 && data[0] == '"' {
		if err := json.Unmarshal(data, &s); err != nil {
			return err
		}
	}
	*r, err = ParseRoom(s)
	return err
}

// Capacity is the room of the two directions. The zero value is rendezvous both ways: a write
// returns when the other end reads.
type Capacity struct {
	C2S Room `json:"c2s"`
	S2C Room `json:"s2c"`
}

// ParseCapacity reads "N" or "unbounded" for both directions, or "c2s=N,s2c=N"; an omitted
// direction has 0.
func ParseCapacity(s string) (Capacity, error) {
	if !strings.Contains(s, "=") {
		r, err := ParseRoom(s)
		return Capacity{r, r}, err
	}
	var c Capacity
	for part := range strings.SplitSeq(s, ",") {
		key, value, _ := strings.Cut(part, "=")
		r, err := ParseRoom(value)
		if err != nil {
			return Capacity{}, err
		}
		switch key {
		case "c2s":
			c.C2S = r
		case "s2c":
			c.S2C = r
		default:
			return Capacity{}, fmt.Errorf("parse capacity %q: want N, unbounded, or c2s=N,s2c=N", s)
		}
	}
	return c, nil
}

// String returns what ParseCapacity reads, in its shortest form.
func (c Capacity) String() string {
	if c.C2S == c.S2C || c.C2S < 0 && c.S2C < 0 {
		return c.C2S.String()
	}
	return fmt.Sprintf("c2s=%v,s2c=%v", c.C2S, c.S2C)
}

func (c Capacity) of(dir transport.Direction) Room {
	if dir == transport.ClientToServer {
		return c.C2S
	}
	return c.S2C
}

func (c Capacity) with(dir transport.Direction, room Room) Capacity {
	if dir == transport.ClientToServer {
		c.C2S = room
	} else {
		c.S2C = room
	}
	return c
}

// categories are the words that may follow "hang".
var categories = []string{HeadOn, Swallowed, NeverSent, "lost answer", Mutual, "blocked handler", "lock", "timer only"}

// Expectation is the verdict that a recording must have under a setup.
type Expectation struct {
	Verdict  string
	Category string // "": any
	Setup    Setup
}

// ParseExpectation reads the Expect text of a session's header: expectations separated by
// ';', each a verdict, for a hang perhaps a category, and then any of client=MODEL,
// server=MODEL, capacity=N, c2s=N, s2c=N (N may be unbounded). The defaults are free, free
// and 0.
//
//	hang swallowed client=inbox:0; pass client=free capacity=10
func ParseExpectation(s string) ([]Expectation, error) {
	var list []Expectation
	for part := range strings.SplitSeq(s, ";") {
		if strings.TrimSpace(part) == "" {
			continue
		}
		x, err := parseExpectation(strings.Fields(part))
		if err != nil {
			return nil, fmt.Errorf("parse expectation %q: %w", strings.TrimSpace(part), err)
		}
		list = append(list, x)
	}
	return list, nil
}

func parseExpectation(words []string) (Expectation, error) {
	i := slices.IndexFunc(words, func(w string) bool { return strings.Contains(w, "=") })
	if i < 0 {
		i = len(words)
	}
	if i == 0 || words[0] != Pass && words[0] != Hang {
		return Expectation{}, fmt.Errorf("begin with %s or %s", Pass, Hang)
	}
	x := Expectation{Verdict: words[0], Category: strings.Join(words[1:i], " ")}
	if x.Category != "" && (x.Verdict == Pass || !slices.Contains(categories, x.Category)) {
		return x, fmt.Errorf("category %q: a hang may have one of: %s", x.Category, strings.Join(categories, ", "))
	}
	for _, w := range words[i:] {
		key, value, _ := strings.Cut(w, "=")
		var err error
		switch key {
		case "client":
			x.Setup.Client, err = ParseModel(value)
		case "server":
			x.Setup.Server, err = ParseModel(value)
		case "capacity":
			x.Setup.Capacity, err = ParseCapacity(value)
		case "c2s":
			x.Setup.Capacity.C2S, err = ParseRoom(value)
		case "s2c":
			x.Setup.Capacity.S2C, err = ParseRoom(value)
		default:
			err = fmt.Errorf("key %q: want client, server, capacity, c2s or s2c", key)
		}
		if err != nil {
			return x, err
		}
	}
	return x, nil
}

// String returns what ParseExpectation reads, with every default named.
func (x Expectation) String() string {
	verdict := x.Verdict
	if x.Category != "" {
		verdict += " " + x.Category
	}
	return fmt.Sprintf("%s client=%v server=%v c2s=%v s2c=%v", verdict, x.Setup.Client, x.Setup.Server, x.Setup.Capacity.C2S, x.Setup.Capacity.S2C)
}

// Check plays the recording and returns an error with the verdict's text if the verdict is
// another.
func (x Expectation) Check(recording *Recording) error {
	v := Closed(recording, x.Setup)
	if v.Verdict == x.Verdict && (x.Category == "" || x.Category == v.Category) {
		return nil
	}
	return fmt.Errorf("check expectation %q: got %s", x, v.Text())
}
