package explore

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Token names a schedule: what it deviates in from eager, by content. It is not a
// seed. Its text is
//
//	mcprec1.<c2s>-<s2c>.<level>.<engine>.<choices>
//
// with a capacity as a number or u for unbounded, level L0 or L1, engine a, and the
// choices as step:hash joined by "-", or the word eager. The hash is the low 32
// bits of the step's [Step.Hash] in hexadecimal.
type Token struct {
	Capacity Capacity
	Level    Level
	Choices  []Choice // by rising step
}

// Choice is one deviation: at this step (from 1), the step with this hash.
type Choice struct {
	Step int
	Hash uint32
}

const (
	tokenVersion = "mcprec1"
	tokenEngine  = "a" // the bubble
	tokenEager   = "eager"
)

// String returns the token's text.
func (t Token) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s.%s-%s.%s.%s.", tokenVersion, tokenFrames(t.Capacity.C2S), tokenFrames(t.Capacity.S2C), t.Level, tokenEngine)
	for i, c := range t.Choices {
		if i > 0 {
			b.WriteByte('-')
		}
		fmt.Fprintf(&b, "%d:%08x", c.Step, c.Hash)
	}
	if len(t.Choices) == 0 {
		b.WriteString(tokenEager)
	}
	return b.String()
}

func tokenFrames(n int) string {
	if n < 0 {
		return "u"
	}
	return strconv.Itoa(n)
}

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
		return t, fmt.Errorf("it has %d parts between dots, want 5: version, capacities, level, engine, choices", len(parts))
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
	if parts[3] != tokenEngine {
		return t, fmt.Errorf("engine %q: this version knows %s", shorten(parts[3]), tokenEngine)
	}
	t.Choices, err = parseChoices(parts[4])
	return t, err
}

func parseFrames(s string) (int, error) {
	if s == "u" {
		return Unbounded, nil
	}
	n, err := parseDecimal(s, 1<<30)
	if err != nil {
		return 0, fmt.Errorf("capacity %q: want u or a number of frames", shorten(s))
	}
	return n, nil
}

func parseChoices(s string) ([]Choice, error) {
	if s == tokenEager {
		return nil, nil
	}
	var list []Choice
	last := 0
	for part := range strings.SplitSeq(s, "-") {
		step, hash, _ := strings.Cut(part, ":")
		n, err := parseDecimal(step, 1<<30)
		if err != nil || n == 0 {
			return nil, fmt.Errorf("choice %q: want step:hash", shorten(part))
		}
		if n <= last {
			return nil, fmt.Errorf("choice %q: its step comes not after step %d", shorten(part), last)
		}
		h, err := strconv.ParseUint(hash, 16, 32)
		if err != nil || len(hash) != 8 || hash != strings.ToLower(hash) {
			return nil, fmt.Errorf("choice %q: want a hash of 8 lower-case hexadecimal digits", shorten(part))
		}
		list = append(list, Choice{Step: n, Hash: uint32(h)})
		last = n
	}
	return list, nil
}

var errDecimal = errors.New("not a plain decimal number")

// parseDecimal reads digits without sign or leading zero, so that a token has one
// spelling only.
func parseDecimal(s string, limit int) (int, error) {
	if s == "" || len(s) > 1 && s[0] == '0' || strings.Trim(s, "0123456789") != "" {
		return 0, errDecimal
	}
	n, err := strconv.Atoi(s)
	if err != nil || n > limit {
		return 0, errDecimal
	}
	return n, nil
}

// asToken names the schedule of the run.
func (r *Run) asToken() Token {
	return Token{Capacity: r.capacity, Level: r.level, Choices: r.choices}
}

// follow returns the step that the token names, eager's where it names none, or
// -1 and the verdict that the run has diverged.
func (r *Run) follow(at int, enabled []Step) int {
	if r.next == len(r.token.Choices) || r.token.Choices[r.next].Step != at {
		return 0
	}
	want := r.token.Choices[r.next]
	r.next++
	names := make([]string, len(enabled))
	for i, s := range enabled {
		if uint32(s.Hash()) == want.Hash {
			return i
		}
		names[i] = s.Name()
	}
	r.diverge(want, "enabled: "+strings.Join(names, "; "))
	return -1
}

// overrun says that a run came to rest before the token did.
func (r *Run) overrun() bool {
	if r.token == nil || r.next == len(r.token.Choices) {
		return false
	}
	r.diverge(r.token.Choices[r.next], fmt.Sprintf("the run ended after %d steps", len(r.steps)))
	return true
}

func (r *Run) diverge(want Choice, instead string) {
	r.verdict = Diverged
	r.why = fmt.Sprintf("DIVERGED at step %d: wanted %08x, %s", want.Step, want.Hash, instead)
}
