package closed

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/mcprec/mcprec/transport"
)

// Setup is the capacity and the models of a closed replay. The zero value is two independent ends
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
		return 0, fmt.Errorf("parse buffer %q: want a number of messages from 0, or unbounded", s)
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
			return Capacity{}, fmt.Errorf("parse buffer %q: want N, unbounded, or c2s=N,s2c=N", s)
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
