package schedule

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/mcprec/mcprec/replay/closed"
	"github.com/mcprec/mcprec/replay/explore/gate"
	"github.com/mcprec/mcprec/transport"
	"github.com/mcprec/mcprec/transport/phrase"
)

// Token names a schedule by its deviations from eager. Its text is
//
//	mcprec1.<c2s>-<s2c>.<level>.<engine>.<choices>
//
// with a capacity as a number or u for unbounded, level DeliveryOrder or SendingOrder, engine a or b, and the
// choices joined by "-", or the word eager. The choice step:hash releases the step with the
// hash as that step of the run. The choice step+hash puts the step off from there on: it
// waits while any other step is enabled. Choices that put off come last, in the order of the
// final releases. The hash is the low 32 bits of
// [gate.Step.Hash] in hexadecimal.
type Token struct {
	Capacity Capacity
	Level    Level
	Engine   Engine   // "" is the bubble
	Choices  []Choice // by rising step
	Holds    []Choice // put off, by their order
}

// Choice is a deviation: at this step (from 1), the step with this hash.
type Choice struct {
	Step int
	Hash uint32
}

// Engine chooses how a run is kept still between its steps.
type Engine string

const (
	// Bubble is the default: a testing/synctest bubble with virtual time. It proves hangs.
	Bubble Engine = "a"
	// Settle takes stacks of the whole process until the run stands still, for peers that
	// cannot live in a bubble. Time is real, and a hang is a stall.
	Settle Engine = "b"
)

const (
	tokenVersion = "mcprec1"
	// TokenEager stands for no choice.
	TokenEager = "default"
)

// String returns the token's text.
func (t Token) String() string {
	var choices []string
	for _, c := range t.Choices {
		choices = append(choices, fmt.Sprintf("%d:%08x", c.Step, c.Hash))
	}
	for _, c := range t.Holds {
		choices = append(choices, fmt.Sprintf("%d+%08x", c.Step, c.Hash))
	}
	return fmt.Sprintf("%s.%s-%s.%s.%s.%s", tokenVersion, roomText(t.Capacity.C2S, "u"), roomText(t.Capacity.S2C, "u"),
		t.Level, cmp.Or(t.Engine, Bubble), cmp.Or(strings.Join(choices, "-"), TokenEager))
}

// Deviations counts the choices that eager would not make.
func (t Token) Deviations() int { return len(t.Choices) + len(t.Holds) }

// Timers returns how many timers fire in [gate.Time] steps of the token, at most.
func (t Token) Timers() int {
	n := 0
	for slices.ContainsFunc(slices.Concat(t.Choices, t.Holds), func(choice Choice) bool {
		return choice.Hash == uint32(gate.TimeStep(n+1).Hash())
	}) {
		n++
	}
	return n
}

// ParseToken is the inverse of String.
func ParseToken(s string) (token Token, err error) {
	defer func() {
		if err != nil {
			token = Token{}
			err = fmt.Errorf("parse token %q: %w", gate.Shorten(s), err)
		}
	}()
	if strings.HasSuffix(s, "…") {
		return token, errors.New("paste the whole token: this is its beginning")
	}
	parts := strings.Split(s, ".")
	if parts[0] != tokenVersion {
		return token, fmt.Errorf("it begins with %q, want %s", gate.Shorten(parts[0]), tokenVersion)
	}
	if len(parts) != 5 {
		return token, fmt.Errorf("it has %s between dots, want 5: version, buffers, level, engine, choices",
			phrase.Plural(len(parts), "part"))
	}
	c2s, s2c, ok := strings.Cut(parts[1], "-")
	if !ok {
		return token, fmt.Errorf("buffers %q: want two, such as 0-0 or 1-u", gate.Shorten(parts[1]))
	}
	if token.Capacity.C2S, err = parseFrames(c2s); err != nil {
		return token, err
	}
	if token.Capacity.S2C, err = parseFrames(s2c); err != nil {
		return token, err
	}
	if token.Level, err = ParseLevel(parts[2]); err != nil {
		return token, err
	}
	switch token.Engine = Engine(parts[3]); token.Engine {
	case Bubble:
		token.Engine = ""
	case Settle:
	default:
		return token, fmt.Errorf("engine %q: this version knows %s and %s", gate.Shorten(parts[3]), Bubble, Settle)
	}
	if parts[4] != TokenEager {
		err = token.parseChoices(parts[4])
	}
	return token, err
}

func parseFrames(s string) (int, error) {
	if s == "u" {
		return Unbounded, nil
	}
	n, ok := parseDecimal(s)
	if !ok {
		return 0, fmt.Errorf("buffer %q: want u or a number of messages", gate.Shorten(s))
	}
	return n, nil
}

// parseChoices reads choices joined by "-".
func (t *Token) parseChoices(s string) error {
	last := 0
	for part := range strings.SplitSeq(s, "-") {
		step, hash, released := strings.Cut(part, ":")
		if !released {
			step, hash, _ = strings.Cut(part, "+")
		}
		at, ok := parseDecimal(step)
		if !ok || at == 0 {
			return fmt.Errorf("choice %q: want step:hash or step+hash", gate.Shorten(part))
		}
		h, err := strconv.ParseUint(hash, 16, 32)
		if err != nil || len(hash) != 8 || hash != strings.ToLower(hash) {
			return fmt.Errorf("choice %q: want a hash of 8 lower-case hexadecimal digits", gate.Shorten(part))
		}
		c := Choice{Step: at, Hash: uint32(h)}
		switch {
		case !released:
			t.Holds = append(t.Holds, c)
		case len(t.Holds) > 0:
			return fmt.Errorf("choice %q: it comes after one that puts a step off", gate.Shorten(part))
		case at <= last:
			return fmt.Errorf("choice %q: its step comes not after step %d", gate.Shorten(part), last)
		default:
			t.Choices = append(t.Choices, c)
			last = at
		}
	}
	return nil
}

// parseDecimal reads digits without sign or leading zero: a token has a single spelling.
func parseDecimal(s string) (n int, ok bool) {
	n, err := strconv.Atoi(s)
	return n, err == nil && n >= 0 && n <= 1<<30 && strconv.Itoa(n) == s
}

// Follower chooses the steps that a token names.
type Follower struct {
	Token Token
	Turns []string // the choices so far, in words

	next int // index of the next of Token.Choices
}

// Choose returns the step that the token names, or the eager step. If the named step is not
// enabled, Choose returns -1 and says how the run has diverged.
func (f *Follower) Choose(at int, enabled []gate.Step) (i int, diverged string) {
	find := func(hash uint32) int {
		return slices.IndexFunc(enabled, func(step gate.Step) bool { return uint32(step.Hash()) == hash })
	}
	names := func() string {
		list := make([]string, len(enabled))
		for i, s := range enabled {
			list[i] = s.Name()
		}
		return "enabled: " + strings.Join(list, "; ")
	}
	for _, c := range f.Token.Holds {
		if c.Step != at {
			continue
		}
		i := find(c.Hash)
		if i < 0 {
			return -1, divergence(c, "to put it off", names())
		}
		how := "waits for as long as anything else can go on"
		if enabled[i].Kind == gate.Time {
			how = "once nothing else but the steps listed here can go on"
		}
		f.Turns = append(f.Turns, fmt.Sprintf("from step %d on, %s %s", at, quoted(enabled[i]), how))
	}
	if f.next == len(f.Token.Choices) || f.Token.Choices[f.next].Step != at {
		best := 0
		rank := len(f.Token.Holds) // the first step that is not put off, else the first in the order of Holds
		for i, s := range enabled {
			place := slices.IndexFunc(f.Token.Holds, func(c Choice) bool { return c.Step <= at && c.Hash == uint32(s.Hash()) })
			switch {
			case place < 0 && s.Kind == gate.Time:
			case place < 0:
				return i, ""
			case place < rank:
				best, rank = i, place
			}
		}
		return best, ""
	}
	want := f.Token.Choices[f.next]
	f.next++
	i = find(want.Hash)
	if i < 0 {
		return -1, divergence(want, "", names())
	}
	before := "goes before"
	if enabled[i].Kind == gate.Time {
		before = "before"
	}
	f.Turns = append(f.Turns, fmt.Sprintf("at step %d, %s %s %s", at, quoted(enabled[i]), before, quoted(enabled[0])))
	return i, ""
}

// quoted returns the name of a step for a sentence. Several Time steps may have the same name,
// which is that of the timer that may fire.
func quoted(step gate.Step) string {
	if step.Kind == gate.Time {
		return fmt.Sprintf("time passes (timer %d)", step.Timer())
	}
	if step.Kind == gate.Reach {
		return "the code at explore.Point «" + strings.TrimPrefix(step.Name(), "reach ") + "»"
	}
	return "«" + step.Name() + "»"
}

// Unreached says that a run ended, after a number of steps, before its token; or "".
func (f *Follower) Unreached(steps int) (diverged string) {
	left := f.Token.Choices[f.next:]
	why := ""
	if len(left) == 0 {
		left = slices.DeleteFunc(slices.Clone(f.Token.Holds), func(choice Choice) bool { return choice.Step <= steps })
		why = "to put it off"
	}
	if len(left) == 0 {
		return ""
	}
	return divergence(left[0], why, "the run ended after "+phrase.Plural(steps, "step"))
}

// divergence says that the wanted step is not enabled, and names the enabled steps.
func divergence(want Choice, why, instead string) string {
	return strings.TrimRight(fmt.Sprintf("this token belongs to another recording or another version of the code: at step %d wanted %08x %s", want.Step, want.Hash, why), " ") + ", " + instead
}

// Unbounded is the capacity of a direction that always has room.
const Unbounded = transport.Unbounded

// Capacity is how many frames each direction may queue.
type Capacity struct {
	C2S int `json:"c2s"`
	S2C int `json:"s2c"`
}

// Sweep is the default: hand to hand, one frame, no limit.
var Sweep = []Capacity{{0, 0}, {1, 1}, {Unbounded, Unbounded}}

// String returns the form of reports: c2s=0 s2c=unbounded.
func (c Capacity) String() string {
	return fmt.Sprintf("c2s=%s s2c=%s", roomText(c.C2S, "unbounded"), roomText(c.S2C, "unbounded"))
}

// Short is the capacity as one number, where both directions have the same.
func (c Capacity) Short() string {
	if c.C2S == c.S2C {
		return roomText(c.C2S, "unbounded")
	}
	return c.String()
}

// Rooms is the capacity as package replay/closed has it.
func (c Capacity) Rooms() closed.Capacity {
	return closed.Capacity{C2S: closed.Room(c.C2S), S2C: closed.Room(c.S2C)}
}

// CapacityOf is the inverse of Rooms.
func CapacityOf(capacity closed.Capacity) Capacity {
	return Capacity{C2S: int(capacity.C2S), S2C: int(capacity.S2C)}
}

// MarshalJSON writes numbers, and "unbounded".
func (c Capacity) MarshalJSON() ([]byte, error) { return json.Marshal(c.Rooms()) }

// UnmarshalJSON is the inverse of MarshalJSON.
func (c *Capacity) UnmarshalJSON(data []byte) error {
	var r closed.Capacity
	err := json.Unmarshal(data, &r)
	if err == nil {
		*c = CapacityOf(r)
	}
	return err
}

func roomText(n int, unbounded string) string {
	if n < 0 {
		return unbounded
	}
	return strconv.Itoa(n)
}

// Level is the freedom of an exploration.
type Level uint8

const (
	// DeliveryOrder, transport-legal: only delivery changes, and every sender keeps its own order. A
	// failure is a bug of this pair of peers.
	DeliveryOrder Level = iota
	// SendingOrder, protocol-legal: a recorded half sends in any order that the specification allows.
	// A failure means that the other end does not tolerate every legal order. Live ends keep
	// the order of DeliveryOrder.
	SendingOrder
)

var levelNames = [...]string{"delivery", "sending"}

// String returns "delivery" or "sending".
func (l Level) String() string { return levelNames[l] }

// Words returns the level as a report names it.
func (l Level) Words() string {
	if l == DeliveryOrder {
		return "delivery order only"
	}
	return "sending order too"
}

// Meaning says in words what may change at a level.
func (l Level) Meaning() string {
	if l == DeliveryOrder {
		return "only delivery changes, every sender keeps its order"
	}
	return "delivery changes, and a sender may take any order that the specification allows"
}

// ParseLevel is the inverse of String.
func ParseLevel(s string) (Level, error) {
	for l, name := range levelNames {
		if s == name {
			return Level(l), nil
		}
	}
	return DeliveryOrder, fmt.Errorf("%q: this version knows delivery and sending", gate.Shorten(s))
}

// MarshalText writes the level as String does.
func (l Level) MarshalText() ([]byte, error) { return []byte(l.String()), nil }

// UnmarshalText is the inverse of MarshalText.
func (l *Level) UnmarshalText(data []byte) (err error) {
	*l, err = ParseLevel(string(data))
	return err
}
