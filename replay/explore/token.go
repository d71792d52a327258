package explore

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/mcprec/mcprec/replay/phrase"
	"github.com/mcprec/mcprec/transport"
)

// Token names a schedule: what it deviates in from eager, by content. It is not a
// seed. Its text is
//
//	mcprec1.<c2s>-<s2c>.<level>.<engine>.<choices>
//
// with a capacity as a number or u for unbounded, level L0 or L1, engine a or b,
// and the choices joined by "-", or the word eager. A choice is step:hash, the step that is
// released there, or step+hash, a step that is put off from there on: it waits for
// as long as anything else is enabled. Those put off come last, in the order in
// which they go when nothing else can. The hash is the low 32 bits of the step's
// [Step.Hash] in hexadecimal.
type Token struct {
	Capacity Capacity
	Level    Level
	Engine   Engine   // "" is the bubble
	Choices  []Choice // by rising step
	Holds    []Choice // put off, by their order
}

// Choice is one deviation: at this step (from 1), the step with this hash.
type Choice struct {
	Step int
	Hash uint32
}

const (
	tokenVersion = "mcprec1"
	tokenEager   = "eager"
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
		t.Level, cmp.Or(t.Engine, Bubble), cmp.Or(strings.Join(choices, "-"), tokenEager))
}

// Deviations is how many choices the schedule has that eager would not make.
func (t Token) Deviations() int { return len(t.Choices) + len(t.Holds) }

// ParseToken is the inverse of String.
func ParseToken(s string) (Token, error) {
	t, err := parseToken(s)
	if err != nil {
		return Token{}, fmt.Errorf("parse token %q: %w", shorten(s), err)
	}
	return t, nil
}

func parseToken(s string) (t Token, err error) {
	parts := strings.Split(s, ".")
	if parts[0] != tokenVersion {
		return t, fmt.Errorf("it begins with %q, want %s", shorten(parts[0]), tokenVersion)
	}
	if len(parts) != 5 {
		return t, fmt.Errorf("it has %s between dots, want 5: version, capacities, level, engine, choices", phrase.Plural(len(parts), "part"))
	}
	c2s, s2c, ok := strings.Cut(parts[1], "-")
	if !ok {
		return t, fmt.Errorf("capacities %q: want two, such as 0-0 or 1-u", shorten(parts[1]))
	}
	if t.Capacity.C2S, err = parseFrames(c2s); err != nil {
		return t, err
	}
	if t.Capacity.S2C, err = parseFrames(s2c); err != nil {
		return t, err
	}
	if t.Level, err = ParseLevel(parts[2]); err != nil {
		return t, err
	}
	switch t.Engine = Engine(parts[3]); t.Engine {
	case Bubble:
		t.Engine = ""
	case Settle:
	default:
		return t, fmt.Errorf("engine %q: this version knows %s and %s", shorten(parts[3]), Bubble, Settle)
	}
	if parts[4] == tokenEager {
		return t, nil
	}
	err = t.parseChoices(parts[4])
	return t, err
}

func parseFrames(s string) (int, error) {
	if s == "u" {
		return Unbounded, nil
	}
	n, ok := parseDecimal(s)
	if !ok {
		return 0, fmt.Errorf("capacity %q: want u or a number of frames", shorten(s))
	}
	return n, nil
}

// parseChoices reads choices joined by "-".
func (t *Token) parseChoices(s string) error {
	last := 0
	for part := range strings.SplitSeq(s, "-") {
		c, held, err := parseChoice(part)
		switch {
		case err != nil:
			return err
		case held:
			t.Holds = append(t.Holds, c)
		case len(t.Holds) > 0:
			return fmt.Errorf("choice %q: it comes after one that puts a step off", shorten(part))
		case c.Step <= last:
			return fmt.Errorf("choice %q: its step comes not after step %d", shorten(part), last)
		default:
			t.Choices = append(t.Choices, c)
			last = c.Step
		}
	}
	return nil
}

func parseChoice(part string) (c Choice, held bool, err error) {
	step, hash, ok := strings.Cut(part, ":")
	if !ok {
		step, hash, held = strings.Cut(part, "+")
	}
	c.Step, ok = parseDecimal(step)
	if !ok || c.Step == 0 {
		return c, held, fmt.Errorf("choice %q: want step:hash or step+hash", shorten(part))
	}
	h, err := strconv.ParseUint(hash, 16, 32)
	if err != nil || len(hash) != 8 || hash != strings.ToLower(hash) {
		return c, held, fmt.Errorf("choice %q: want a hash of 8 lower-case hexadecimal digits", shorten(part))
	}
	c.Hash = uint32(h)
	return c, held, nil
}

// parseDecimal reads digits without sign or leading zero, so that a token has one
// spelling only.
func parseDecimal(s string) (n int, ok bool) {
	n, err := strconv.Atoi(s)
	return n, err == nil && n >= 0 && n <= 1<<30 && strconv.Itoa(n) == s
}

// asToken names the schedule of the run.
func (r *Run) asToken() Token {
	if r.token != nil {
		return *r.token
	}
	return Token{Capacity: r.capacity, Level: r.level, Engine: r.kind, Choices: r.choices}
}

// follow returns the step that the token names, eager's where it names none, or
// -1 and the verdict that the run has diverged.
func (r *Run) follow(at int, enabled []Step) int {
	for _, c := range r.token.Holds {
		if c.Step != at {
			continue
		}
		i := find(enabled, c.Hash)
		if i < 0 {
			r.diverge(c, "to put it off", enabled)
			return -1
		}
		r.turns = append(r.turns, fmt.Sprintf("from step %d on, «%s» waits for as long as anything else can go on", at, enabled[i].Name()))
	}
	if r.next == len(r.token.Choices) || r.token.Choices[r.next].Step != at {
		return r.token.first(at, enabled)
	}
	want := r.token.Choices[r.next]
	r.next++
	i := find(enabled, want.Hash)
	if i < 0 {
		r.diverge(want, "", enabled)
		return -1
	}
	r.turns = append(r.turns, fmt.Sprintf("at step %d, «%s» goes before «%s»", at, enabled[i].Name(), enabled[0].Name()))
	return i
}

// first is the first enabled step that is not put off, or of those the one that
// goes first.
func (t *Token) first(at int, enabled []Step) int {
	best, rank := 0, len(t.Holds)
	for i, s := range enabled {
		place := slices.IndexFunc(t.Holds, func(c Choice) bool { return c.Step <= at && c.Hash == uint32(s.Hash()) })
		switch {
		case place < 0:
			return i
		case place < rank:
			best, rank = i, place
		}
	}
	return best
}

// find returns the index of the step with the hash, or -1.
func find(enabled []Step, hash uint32) int {
	return slices.IndexFunc(enabled, func(s Step) bool { return uint32(s.Hash()) == hash })
}

// overrun says that a run came to rest before the token did.
func (r *Run) overrun() {
	if r.token == nil {
		return
	}
	if r.next < len(r.token.Choices) {
		r.diverge(r.token.Choices[r.next], "", nil)
		return
	}
	for _, c := range r.token.Holds {
		if c.Step > len(r.steps) {
			r.diverge(c, "to put it off", nil)
			return
		}
	}
}

// diverge ends a run in which the wanted step is not enabled; nothing is where it has ended.
func (r *Run) diverge(want Choice, why string, enabled []Step) {
	instead := "the run ended after " + phrase.Plural(len(r.steps), "step")
	if len(enabled) > 0 {
		names := make([]string, len(enabled))
		for i, s := range enabled {
			names[i] = s.Name()
		}
		instead = "enabled: " + strings.Join(names, "; ")
	}
	r.verdict = Diverged
	r.why = strings.TrimRight(fmt.Sprintf("DIVERGED at step %d: wanted %08x %s", want.Step, want.Hash, why), " ") + ", " + instead
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

// sweep is Sweep with the recorded capacity before the last, if it is another.
func sweep(recorded Capacity) []Capacity {
	if slices.Contains(Sweep, recorded) {
		return Sweep
	}
	return slices.Insert(slices.Clone(Sweep), len(Sweep)-1, recorded)
}

// String returns the form of reports: c2s=0 s2c=unbounded.
func (c Capacity) String() string {
	return fmt.Sprintf("c2s=%s s2c=%s", roomText(c.C2S, "unbounded"), roomText(c.S2C, "unbounded"))
}

func roomText(n int, unbounded string) string {
	if n < 0 {
		return unbounded
	}
	return strconv.Itoa(n)
}

// Level says what an exploration may change.
type Level uint8

const (
	// L0, transport-legal: only delivery moves, and every sender keeps its own
	// order. A failure is one of this pair.
	L0 Level = iota
	// L1, protocol-legal: a recorded half sends in any order that the specification
	// allows. A failure means that the other end is not robust against peers that
	// keep to it. Live ends are as at L0.
	L1
)

var levelNames = [...]string{"L0", "L1"}

// String returns "L0" or "L1".
func (l Level) String() string { return levelNames[l] }

// ParseLevel reads what String returns.
func ParseLevel(s string) (Level, error) {
	for l, name := range levelNames {
		if s == name {
			return Level(l), nil
		}
	}
	return L0, fmt.Errorf("level %q: this version knows L0 and L1", shorten(s))
}

// MarshalText writes the level as String does.
func (l Level) MarshalText() ([]byte, error) { return []byte(l.String()), nil }

// UnmarshalText reads what ParseLevel reads.
func (l *Level) UnmarshalText(b []byte) (err error) {
	*l, err = ParseLevel(string(b))
	return err
}
