package closed

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/mcprec/mcprec/transport"
)

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

// The categories: why a session stands still. A closed replay finds the first four, package
// explore all.
//
// To add one: name it here and say it in [CategoryTerms], in the words of the table of
// docs/hang.md, which a test compares; find it where it is seen, in waitgraph.go or in
// replay/explore/hang, and give replay/explore's report its name.
const (
	// HeadOn: both ends are at a write, and no reader waits.
	HeadOn = "head-on"
	// Swallowed: a reader holds a frame and does not come back for the next one, and what is
	// waited for is behind it.
	Swallowed = "swallowed"
	// Mutual: each end works at a request of the other and waits for its own to the other.
	Mutual = "mutual call"
	// NeverSent: the awaited frame was not sent, or not to a reader; in a closed replay it is
	// not in the recording.
	NeverSent = "never sent"
	// LostAnswer: the request or the response was read, both ends are at rest, and the
	// operation gets no answer.
	LostAnswer = "lost answer"
	// BlockedHandler: every request was answered and no frame is on its way, but the handler
	// of a notification, in the user's own code, has not returned.
	BlockedHandler = "blocked handler"
	// Pool: as many handlers of one kind as an end runs at once stand at one place, and none
	// has begun for a request that the end has read.
	Pool = "pool"
	// Lock: a part waits for a mutex whose holder waits for ever.
	Lock = "lock"
	// TimerOnly: no hang but a failed check, after a timer alone had ended an operation.
	TimerOnly = "after a timer"
)

// Expectation is the verdict that a recording must have under a setup.
type Expectation struct {
	Verdict  string
	Category string // "": any
	Setup    Setup
}

// ParseExpectation reads the Expect text of a session's header: expectations separated by
// ';', each a verdict, for a hang perhaps a category, and then any of client=MODEL,
// server=MODEL, capacity=N, c2s=N, s2c=N (N may be unbounded; [ParseEnd] reads a MODEL). The
// defaults are free, free and 0.
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
	var categories []string
	for _, term := range CategoryTerms() {
		categories = append(categories, term.Word)
	}
	if x.Category != "" && (x.Verdict == Pass || !slices.Contains(categories, x.Category)) {
		return x, fmt.Errorf("category %q: a hang may have one of: %s", x.Category, strings.Join(categories, ", "))
	}
	for _, w := range words[i:] {
		key, value, _ := strings.Cut(w, "=")
		var err error
		switch key {
		case "client":
			x.Setup.Client, err = ParseEnd(transport.ClientToServer, value)
		case "server":
			x.Setup.Server, err = ParseEnd(transport.ServerToClient, value)
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
	v := Replay(recording, x.Setup)
	if v.Verdict == x.Verdict && (x.Category == "" || x.Category == v.Category) {
		return nil
	}
	return fmt.Errorf("check expectation %q: got %s", x, v.Text())
}
